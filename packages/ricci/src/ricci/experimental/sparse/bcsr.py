"""BCSR arrays. See ``ricci_sparse.bcsr``."""

from ricci_ir import guard_public as _guard_public
from ricci_sparse.bcsr import *

_guard_public(globals())
