"""Derivatives of functions: Jacobians, rematerialisation, and the residuals of reverse mode."""

from ._checkpoint import *
from ._jacobian import *
from ._recomputation import *
from ._residuals import *
