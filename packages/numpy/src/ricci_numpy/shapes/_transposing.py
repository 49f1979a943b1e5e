"""Functions that put an array's dimensions into another order."""

from collections.abc import Sequence
from operator import index as as_int
from typing import Any

import numpy as np

import ricci_lax as lax
from ricci_ir import Array, ArrayLike, dispatched, may_return_operand
from ricci_numpy._promotion import canonical_axes, canonical_axis

from ._reshaping import checked_operand

__all__ = ["matrix_transpose", "moveaxis", "permute_dims", "rollaxis", "swapaxes", "transpose"]


@may_return_operand
def transpose(a: ArrayLike, axes: Sequence[int] | None = None) -> Array:
    """An array with its dimensions in another order, by default backwards.

    Args:
      a: an array or scalar.
      axes: for each dimension of the result, the one of ``a`` that it is.

    Returns:
      An array of the same elements.

    Raises:
      ValueError: if ``axes`` is not a permutation.
      TypeError: if ``a`` is not an array.

    A vector stays a vector: a column is ``v[:, None]``. Of a stack of matrices all dimensions are
    reversed; each matrix is transposed by ``x.mT``.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.transpose(jnp.ones((2, 3, 4)), (1, 0, 2)).shape
      (3, 2, 4)

    Source: numpy.transpose.
    """
    a = checked_operand("transpose", a)
    ndim = np.ndim(a)
    if axes is None:
        return lax.transpose(a, tuple(range(ndim))[::-1])
    order = canonical_axes(tuple(axes), ndim, "axes")
    if len(order) != ndim:
        raise ValueError(f"axes must name all {ndim} dimensions of the array, got {axes}.")
    return lax.transpose(a, order)


@may_return_operand
def permute_dims(a: ArrayLike, /, axes: Sequence[int]) -> Array:
    """An array with its dimensions in another order; see ``transpose``.

    Args:
      a, axes: as for ``transpose``.

    Returns:
      An array of the same elements.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.permute_dims(jnp.ones((2, 3)), (1, 0)).shape
      (3, 2)

    Source: numpy.permute_dims.
    """
    return transpose(a, axes)


@may_return_operand
def matrix_transpose(x: ArrayLike, /) -> Array:
    """An array with its last two dimensions exchanged.

    Args:
      x: an array of shape (..., rows, columns).

    Returns:
      An array of shape (..., columns, rows).

    Raises:
      ValueError: if it has fewer than two.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.matrix_transpose(jnp.ones((2, 3, 4))).shape
      (2, 4, 3)

    Source: numpy.matrix_transpose.
    """
    x = checked_operand("matrix_transpose", x)
    ndim = np.ndim(x)
    if ndim < 2:
        raise ValueError(f"matrix_transpose needs at least two dimensions, got {ndim}.")
    return lax.transpose(x, (*range(ndim - 2), ndim - 1, ndim - 2))


@dispatched("source", "destination")
@may_return_operand
def moveaxis(a: ArrayLike, source: int | Sequence[int], destination: int | Sequence[int]) -> Array:
    """An array with some dimensions moved, the others keeping their order.

    Args:
      a: an array.
      source, destination: the dimensions to move, and where to.

    Returns:
      An array of the same elements.

    Raises:
      ValueError: if a dimension does not exist or is given twice, or the numbers differ.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.moveaxis(jnp.ones((2, 3, 4)), 0, -1).shape
      (3, 4, 2)

    Source: numpy.moveaxis.
    """
    a = checked_operand("moveaxis", a)
    ndim = np.ndim(a)
    old = canonical_axes(source, ndim, "source")
    new = canonical_axes(destination, ndim, "destination")
    if len(old) != len(new):
        raise ValueError(
            f"moveaxis: source and destination must name as many axes, got {source} and "
            f"{destination}."
        )
    order = [axis for axis in range(ndim) if axis not in old]
    # In the order of destinations, so that an insertion does not move those before it.
    for to, axis in sorted(zip(new, old, strict=True)):
        order.insert(to, axis)
    return lax.transpose(a, order)


@dispatched("axis1", "axis2")
@may_return_operand
def swapaxes(a: ArrayLike, axis1: int, axis2: int) -> Array:
    """An array with two dimensions exchanged.

    Args:
      a: an array.
      axis1, axis2: the dimensions.

    Returns:
      An array of the same elements.

    Raises:
      ValueError: if one does not exist.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.swapaxes(jnp.ones((2, 3, 4)), 0, 2).shape
      (4, 3, 2)

    Source: numpy.swapaxes.
    """
    a = checked_operand("swapaxes", a)
    ndim = np.ndim(a)
    order = list(range(ndim))
    i, j = canonical_axis(axis1, ndim), canonical_axis(axis2, ndim)
    order[i], order[j] = order[j], order[i]
    return lax.transpose(a, order)


@dispatched("axis", "start")
@may_return_operand
def rollaxis(a: ArrayLike, axis: int, start: int = 0) -> Array:
    """An array with one dimension moved to stand before ``start``.

    Args:
      a: an array.
      axis: the dimension that is moved.
      start: the dimension that it then stands before.

    Returns:
      An array of the same elements.

    Raises:
      ValueError: if one does not exist.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.rollaxis(jnp.ones((2, 3, 4)), 2).shape
      (4, 2, 3)

    See also:
      ``moveaxis``, which is easier to read.

    Source: numpy.rollaxis.
    """
    a = checked_operand("rollaxis", a)
    ndim = np.ndim(a)
    axis = canonical_axis(axis, ndim)
    start = as_int(start)
    if not -ndim <= start <= ndim:
        raise ValueError(
            f"rollaxis: start={start} is out of range for {ndim} axes; it goes from {-ndim} to "
            f"{ndim}."
        )
    start = start + ndim if start < 0 else start
    # ``start`` counts the dimensions before this one is taken out.
    return moveaxis(a, axis, start - 1 if start > axis else start)


def transpose_method(x: Array, *args: Any) -> Array:
    """``x.transpose(1, 0)`` or ``x.transpose((1, 0))``: see ``transpose``."""
    if not args:
        return transpose(x)
    if len(args) == 1 and (args[0] is None or isinstance(args[0], Sequence)):
        return transpose(x, args[0])
    return transpose(x, args)
