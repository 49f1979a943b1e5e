"""Grids and joined arrays, written as indices: ``mgrid``, ``ogrid``, ``r_`` and ``c_``."""

import builtins
from typing import Any, final, overload

import numpy as np

import ricci_lax as lax
from ricci_ir import Array, ArrayLike, composite
from ricci_numpy._promotion import promote_dtypes
from ricci_numpy.arrays._creation import array
from ricci_numpy.arrays._filling import zeros
from ricci_numpy.shapes._joining import concatenate
from ricci_numpy.shapes._reshaping import atleast_1d

from ._ranges import arange, linspace

__all__ = ["c_", "mgrid", "ogrid", "r_"]

_INT32 = np.dtype(np.int32)


def _points(entry: slice) -> Array:
    """The numbers of a slice; an imaginary step is their count, the end then included."""
    start, step = entry.start or 0, entry.step or 1
    if isinstance(step, complex):
        return linspace(start, entry.stop, int(builtins.abs(step)))
    return arange(start, entry.stop, step)


@composite("mgrid")
def _dense(*vectors: Array) -> Array:
    shape = (1, *(x.shape[0] for x in vectors))
    parts = [
        lax.broadcast_in_dim(x, shape, (axis,))
        for axis, x in enumerate(promote_dtypes(*vectors), 1)
    ]
    return lax.concatenate(parts, 0)


@composite("ogrid")
def _open(*vectors: Array) -> tuple[Array, ...]:
    ones = (1,) * len(vectors)
    return tuple(
        lax.reshape(x, (*ones[:axis], x.shape[0], *ones[axis + 1 :]))
        for axis, x in enumerate(promote_dtypes(*vectors))
    )


def _vectors(name: str, key: tuple[slice, ...]) -> list[Array]:
    for entry in key if isinstance(key, tuple) else (key,):
        if not isinstance(entry, slice):
            raise TypeError(f"{name} takes slices such as {name}[0:3, 0:1:5j], got {entry!r}.")
    return [_points(entry) for entry in key]


@final
class MGrid:
    """Dense grids: the coordinates of all points, from a slice for each dimension.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.mgrid[0:2, 0:3].tolist()
      [[[0, 0, 0], [1, 1, 1]], [[0, 1, 2], [0, 1, 2]]]

    Source: numpy.mgrid.
    """

    def __getitem__(self, key: slice | tuple[slice, ...]) -> Array:
        if isinstance(key, slice):
            return _points(key)
        vectors = _vectors("mgrid", key)
        return _dense(*vectors) if vectors else zeros((0,), _INT32)


@final
class OGrid:
    """Open grids: an array for each dimension, from a slice; they broadcast against each other.

    Example:
      >>> import ricci.numpy as jnp
      >>> [x.tolist() for x in jnp.ogrid[0:2, 0:3]]
      [[[0], [1]], [[0, 1, 2]]]

    Source: numpy.ogrid.
    """

    @overload
    def __getitem__(self, key: slice) -> Array: ...
    @overload
    def __getitem__(self, key: tuple[slice, ...]) -> list[Array]: ...
    def __getitem__(self, key: slice | tuple[slice, ...]) -> Array | list[Array]:
        if isinstance(key, slice):
            return _points(key)
        vectors = _vectors("ogrid", key)
        return list(_open(*vectors)) if vectors else []


class _Directive:
    """Options of a join: axis, least rank, and place of an array's dimensions.

    Args:
      text: ``"axis"``, ``"axis,rank"`` or ``"axis,rank,place"``; ``"r"`` or ``"c"`` for a matrix
        of one row or column.
      place: which dimension of the result the last dimension of an array of lower rank becomes; its
        other dimensions are rotated with it.
    """

    def __init__(self, text: str | None, axis: int, rank: int, place: int):
        self.axis, self.rank, self.place = axis, rank, place
        self.matrix = text if text in ("r", "c") else None
        if text is None or self.matrix:
            return
        try:
            numbers = [int(part) for part in text.split(",")]
        except ValueError:
            raise ValueError(
                f"r_ and c_ do not understand the directive {text!r}; write 'axis', 'axis,rank' or "
                "'axis,rank,place' with numbers, or 'r' or 'c'."
            ) from None
        self.axis, self.rank, self.place = (*numbers, *(axis, rank, place)[len(numbers) :])[:3]

    def shaped(self, x: ArrayLike) -> Array:
        """An array with at least ``rank`` dimensions."""
        x = atleast_1d(x)
        missing = self.rank - x.ndim
        if missing <= 0:
            return x
        x = lax.expand_dims(x, tuple(range(missing)))
        turn = (self.rank - 1 - self.place) % self.rank
        return lax.transpose(x, (*range(turn, self.rank), *range(turn))) if turn else x

    def joined(self, parts: list[ArrayLike]) -> Array:
        """The concatenated arrays."""
        result = concatenate([self.shaped(part) for part in parts], self.axis)
        if self.matrix is None or result.ndim != 1:
            return result
        return lax.expand_dims(result, (0,) if self.matrix == "r" else (1,))


class _Joiner:
    """The class of ``r_`` and ``c_``, which differ in how they join by default."""

    __slots__ = ("_defaults",)

    def __init__(self, axis: int, rank: int, place: int):
        self._defaults = (axis, rank, place)

    def __getitem__(self, key: Any) -> Array:
        entries = list(key) if isinstance(key, tuple) else [key]
        if not entries:
            raise IndexError("r_ and c_ join arrays; give at least one.")
        text = entries.pop(0) if isinstance(entries[0], str) else None
        if any(isinstance(entry, str) for entry in entries):
            raise ValueError("r_ and c_: the directive, a string, comes first.")
        directive = _Directive(text, *self._defaults)
        return directive.joined([_part(entry) for entry in entries])


def _part(entry: object) -> Any:
    if isinstance(entry, slice):
        return _points(entry)
    return entry if np.isscalar(entry) else array(entry)


mgrid: MGrid = MGrid()
ogrid: OGrid = OGrid()
# ``r_`` joins along the first axis, ``c_`` joins vectors as columns.
r_: _Joiner = _Joiner(0, 1, -1)
c_: _Joiner = _Joiner(-1, 2, 0)
