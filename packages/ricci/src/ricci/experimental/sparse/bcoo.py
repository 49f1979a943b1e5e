"""BCOO arrays. See ``ricci_sparse.bcoo``."""

from ricci_ir import guard_public as _guard_public
from ricci_sparse.bcoo import *

_guard_public(globals())
