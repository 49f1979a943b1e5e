"""Derivatives as functions: Jacobians, checkpoints, and what reverse mode keeps."""

from ._checkpoint import *
from ._fwd_and_bwd import *
from ._jacobian import *
from ._saved_residuals import *
