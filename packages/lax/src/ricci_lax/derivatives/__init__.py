"""Derivatives of functions: Jacobians, rematerialisation, and the residuals of reverse mode."""

from ._checkpoint import *
from ._custom_remat import *
from ._fwd_and_bwd import *
from ._jacobian import *
from ._recomputation import *
from ._saved_residuals import *
