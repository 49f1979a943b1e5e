"""Derivatives with respect to sparse arrays."""

from ricci_ir import guard_public as _guard_public
from ricci_sparse.ad import *

_guard_public(globals())
