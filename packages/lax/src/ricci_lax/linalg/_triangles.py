"""Parts of matrices on one side of a diagonal."""

import numpy as np

from ricci_ir import Array, ArrayLike
from ricci_lax.elementwise._addition import add
from ricci_lax.elementwise._comparison import ge, select_n
from ricci_lax.elementwise._factories import filled_like, scalar
from ricci_lax.structure._broadcasting import broadcast_in_dim
from ricci_lax.structure._filling import broadcasted_iota
from ricci_lax.structure._operand_types import shape_of

_INT32 = np.dtype(np.int32)


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
    mask = _on_or_below(x, diagonal - 1, index)
    return select_n(mask, x, _zeros(x))
