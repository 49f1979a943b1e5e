"""Batches of matrices: their adjoints, products, diagonals and triangles, and the identity."""

from typing import Any

import numpy as np

from ricci_ir import Array, ArrayLike, issubdtype
from ricci_lax.contractions._dot import dot_general
from ricci_lax.elementwise import add, conj, eq, ge, lt, select_n
from ricci_lax.elementwise._conversion import converted
from ricci_lax.elementwise._factories import filled_like, scalar
from ricci_lax.shapes._dimension_numbers import GatherDimensionNumbers, GatherScatterMode
from ricci_lax.shapes._gather import gather
from ricci_lax.shapes._joining import concatenate
from ricci_lax.shapes._slicing import slice
from ricci_lax.structure import broadcast_in_dim, broadcasted_iota, iota, transpose
from ricci_lax.structure._operand_types import array_aval, shape_of
from ricci_stablehlo import Value

_INT32 = np.dtype(np.int32)


def dtype_of(x: ArrayLike | Value) -> np.dtype:
    """The dtype of an array, a tracer or a lowered value."""
    aval = array_aval(x)
    return aval.dtype


def is_complex(x: ArrayLike | Value) -> bool:
    """Whether an array or a lowered value is complex."""
    return issubdtype(dtype_of(x), np.complexfloating)


def conjugate(x: Array) -> Array:
    """The conjugate of an array; a real one unchanged."""
    return conj(x) if is_complex(x) else x


def adjoint(x: ArrayLike) -> Array:
    """A batch of matrices, each transposed and its elements conjugated."""
    rank = len(shape_of(x))
    return conjugate(transpose(x, (*range(rank - 2), rank - 1, rank - 2)))


def product(x: ArrayLike, y: ArrayLike, **options: Any) -> Array:
    """The products of two batches of matrices; options are those of ``dot_general``."""
    rank = len(shape_of(x))
    batch = tuple(range(rank - 2))
    return dot_general(x, y, (((rank - 1,), (rank - 2,)), (batch, batch)), **options)


def part(x: ArrayLike, rows: tuple[int, int], columns: tuple[int, int]) -> ArrayLike:
    """Some rows and columns of a batch of matrices, each range given by its start and end."""
    *batch, height, width = shape_of(x)
    if rows == (0, height) and columns == (0, width):
        return x
    starts = (*(0,) * len(batch), rows[0], columns[0])
    return slice(x, starts, (*batch, rows[1], columns[1]))


def _from_start(places: ArrayLike, size: int) -> Array:
    """Positions counted from the start; negative ones count from the end."""
    negative = lt(places, scalar(0, _INT32))
    return select_n(negative, places, add(places, scalar(size, _INT32)))


def rows_at(x: ArrayLike, places: ArrayLike) -> Array:
    """The rows of each matrix of a batch at positions, which may differ between matrices."""
    return _lines_at(x, places, 0)


def columns_at(x: ArrayLike, places: ArrayLike) -> Array:
    """The columns of each matrix of a batch at positions, which may differ between matrices."""
    return _lines_at(x, places, 1)


def _lines_at(x: ArrayLike, places: ArrayLike, axis: int) -> Array:
    *batch, height, width = shape_of(x)
    rank = len(batch)
    places = _from_start(places, (height, width)[axis])
    shape = shape_of(places)
    # Rows or columns by one gather, in which the batch dimensions of matrices and positions pair
    # up.
    numbers = GatherDimensionNumbers(
        offset_dims=(rank + 1 - axis,),
        collapsed_slice_dims=(rank + axis,),
        start_index_map=(rank + axis,),
        operand_batching_dims=tuple(range(rank)),
        start_indices_batching_dims=tuple(range(rank)),
    )
    line = (height, 1) if axis else (1, width)
    return gather(
        x,
        broadcast_in_dim(places, (*shape, 1), tuple(range(len(shape)))),
        numbers,
        (*(1,) * rank, *line),
        mode=GatherScatterMode.PROMISE_IN_BOUNDS,
    )


def identity(rows: int, columns: int, dtype: np.dtype) -> ArrayLike:
    """Ones on the main diagonal of a matrix, zeros elsewhere."""
    shape = rows, columns
    below = add(broadcasted_iota(_INT32, shape, 0), scalar(0, _INT32))
    return converted(eq(below, broadcasted_iota(_INT32, shape, 1)), dtype)


def in_batch(matrix: ArrayLike, rank: int) -> ArrayLike:
    """A matrix as one of a batch: with dimensions of size 1 before its own, up to a rank."""
    if rank == 2:
        return matrix
    shape = (*(1,) * (rank - 2), *shape_of(matrix))
    return broadcast_in_dim(matrix, shape, (rank - 2, rank - 1))


def _diagonal_places(indices: Array) -> Array:
    """The places of the diagonal, as indices for ``gather`` and ``scatter``."""
    (size,) = shape_of(indices)
    places = []
    for _ in range(2):
        places.append(_from_start(indices, size))
    return concatenate([broadcast_in_dim(p, (size, 1), (0,)) for p in places], 1)


def diagonal(x: ArrayLike) -> Array:
    """The main diagonals of a batch of square matrices."""
    *batch, size, _ = shape_of(x)
    rank = len(batch)
    numbers = GatherDimensionNumbers(
        offset_dims=tuple(range(rank)),
        collapsed_slice_dims=(rank, rank + 1),
        start_index_map=(rank, rank + 1),
    )
    return gather(
        x,
        _diagonal_places(iota(_INT32, size)),
        numbers,
        (*batch, 1, 1),
        mode=GatherScatterMode.PROMISE_IN_BOUNDS,
    )


def _on_or_below(x: ArrayLike, diagonal: int, index: np.dtype) -> Array:
    """The mask of the elements of a batch of matrices on a diagonal or below it."""
    shape = shape_of(x)
    matrix, rank = shape[-2:], len(shape)
    rows = add(broadcasted_iota(index, matrix, 0), scalar(diagonal, index))
    mask = ge(rows, broadcasted_iota(index, matrix, 1))
    return mask if rank == 2 else broadcast_in_dim(mask, shape, (rank - 2, rank - 1))


def _zeros(x: ArrayLike) -> Array:
    return filled_like(x, 0)


def lower_triangle(x: ArrayLike, diagonal: int = 0, index: np.dtype = _INT32) -> Array:
    """Matrices with zeros above a diagonal: 0 is the main one, -1 the one below.

    Args:
      index: the dtype that rows and columns are counted in.
    """
    mask = _on_or_below(x, diagonal, index)
    return select_n(mask, _zeros(x), x)


def upper_triangle(x: ArrayLike, diagonal: int = 0, index: np.dtype = _INT32) -> Array:
    """Matrices with zeros below a diagonal: 0 is the main one, 1 the one above.

    Args:
      index: the dtype that rows and columns are counted in.
    """
    # The elements below the diagonal are those on or below the next one.
    mask = _on_or_below(x, diagonal - 1, index)
    return select_n(mask, x, _zeros(x))
