"""Linear algebra: products, decompositions, eigenvalues, norms, solving of equations."""

import typing as _typing

import ricci_numpy.linalg as _source
from ricci_ir import guard_lazily as _guard_lazily

if _typing.TYPE_CHECKING:
    from ricci_numpy.linalg import *
else:
    __getattr__, __dir__ = _guard_lazily(
        globals(),
        {_source.__name__: _source.__all__},
        unlisted={name for name in _source.__all__ if name.endswith("Result")},
    )
