"""The methods of arrays for indexing, shapes, sorting and products."""

from typing import Any

from ricci_ir import Array, ArrayLike, define_array_methods
from ricci_numpy._promotion import is_arraylike
from ricci_numpy.indexing._at import at
from ricci_numpy.indexing._brackets import getitem
from ricci_numpy.indexing._take import choose, compress, take
from ricci_numpy.indexing._where import nonzero
from ricci_numpy.linalg._products import cached_product, dot, matmul
from ricci_numpy.rearranging._moving import repeat
from ricci_numpy.sequences._diagonals import diagonal, trace
from ricci_numpy.shapes._reshaping import ravel, reshape_method, squeeze
from ricci_numpy.shapes._transposing import swapaxes, transpose_method
from ricci_numpy.sorting._searching import searchsorted
from ricci_numpy.sorting._sorting import argpartition, argsort, sort


def _flatten(self, order: str = "C", *, out_sharding: object = None) -> Array:
    """The elements in one dimension; see ``ravel``."""
    return ravel(self, order, out_sharding=out_sharding)


def _argsort(
    self,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
) -> Array:
    """The positions of the elements in sorted order; see ``argsort``."""
    return argsort(self, axis, kind=kind, order=order, stable=stable, descending=descending)


def _matmul(self, other: Any, /) -> Array:
    """``self @ other``."""
    cached = cached_product(self, other)
    if cached is not None:
        return cached(self, other)
    if not is_arraylike(other):
        return _refused(other)
    return matmul(self, other)


def _rmatmul(self, other: Any, /) -> Array:
    """``other @ self``."""
    if not is_arraylike(other):
        return _refused(other)
    return matmul(other, self)


def _refused(other: object) -> Any:
    """Return ``NotImplemented``; for a list or tuple, raise an error with advice."""
    if isinstance(other, list | tuple):
        raise TypeError(
            f"unsupported operand for @: an array and a {type(other).__name__}. Make an array of "
            "it first, with numpy.asarray(...)."
        )
    return NotImplemented


def _compress(
    self: Array,
    condition: ArrayLike,
    axis: int | None = None,
    *,
    out: None = None,
    size: int | None = None,
    fill_value: ArrayLike = 0,
) -> Array:
    """The slices along an axis for which a condition holds; see ``numpy.compress``."""
    return compress(condition, self, axis, out=out, size=size, fill_value=fill_value)


define_array_methods(
    {
        "__getitem__": getitem,
        "__matmul__": _matmul,
        "__rmatmul__": _rmatmul,
        "argpartition": argpartition,
        "argsort": _argsort,
        "at": property(at),
        "choose": choose,
        "compress": _compress,
        "diagonal": diagonal,
        "dot": dot,
        "flatten": _flatten,
        "nonzero": nonzero,
        "ravel": ravel,
        "repeat": repeat,
        "reshape": reshape_method,
        "searchsorted": searchsorted,
        "sort": sort,
        "squeeze": squeeze,
        "swapaxes": swapaxes,
        "take": take,
        "trace": trace,
        "transpose": transpose_method,
    }
)
