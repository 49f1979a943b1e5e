"""Linear algebra with sparse matrices. See ``ricci_sparse.linalg``."""

from ricci_ir import guard_public as _guard_public
from ricci_sparse.linalg import *

_guard_public(globals())
