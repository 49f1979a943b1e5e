"""Linear algebra beyond ``numpy.linalg``: matrix functions, Schur, LU, structured matrices."""

from ricci._absent import or_advise as _or_advise
from ricci_ir import guard_public as _guard_public
from ricci_scipy.linalg import *

_guard_public(globals())
globals()["__getattr__"] = _or_advise(__name__)  # not seen by checkers, which know the names
