"""Linear algebra beyond ``numpy.linalg``: matrix functions, Schur, LU, structured matrices."""

from ricci_ir import guard_public as _guard_public
from ricci_scipy.linalg import *

_guard_public(globals())
