"""Decompositions and triangular solves as primitives: ``cholesky``, ``qr``, ``svd``, ``eigh``."""

import typing as _typing

import ricci_lax.linalg as _source
from ricci_ir import guard_lazily as _guard_lazily

if _typing.TYPE_CHECKING:
    from ricci_lax.linalg import *
else:
    __getattr__, __dir__ = _guard_lazily(globals(), {_source.__name__: _source.__all__})
