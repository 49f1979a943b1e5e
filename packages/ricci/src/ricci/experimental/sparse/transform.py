"""Functions of arrays, applied to sparse ones. See ``ricci_sparse.transform``."""

from ricci_ir import guard_public as _guard_public
from ricci_sparse.transform import *

_guard_public(globals())
