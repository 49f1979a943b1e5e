"""Decompositions and triangular solves as primitives: ``cholesky``, ``qr``, ``svd``, ``eigh``."""

from ricci_ir import guard_public as _guard_public
from ricci_lax.linalg import *

_guard_public(globals())
