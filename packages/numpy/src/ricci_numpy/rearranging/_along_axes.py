"""Functions applied along axes."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_batching import vmap
from ricci_numpy import _promotion as promotion

__all__ = ["apply_along_axis", "apply_over_axes"]


def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: ir.ArrayLike, *args: object, **kwargs: object
) -> ir.Array:
    """A function of vectors applied along a dimension.

    Args:
      func1d: takes a vector, then ``args`` and ``kwargs``.
      axis: the dimension that the vectors lie along.
      arr: an array.
      *args, **kwargs: passed to the function.

    Returns:
      An array whose dimension ``axis`` is replaced by those of the function's result.

    Raises:
      ValueError: if ``axis`` does not exist.
      TypeError: if ``arr`` is not an array.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.apply_along_axis(jnp.sum, 0, jnp.ones((2, 3))).tolist()
      [2.0, 2.0, 2.0]

    See also:
      ``vectorize``, ``ricci.vmap``.

    Source: numpy.apply_along_axis.
    """
    (arr,) = promotion.operands("apply_along_axis", arr)
    ndim = np.ndim(arr)
    axis = promotion.canonical_axis(axis, ndim)
    # The dimensions before ``axis`` come before those of the function's result, the others after.
    mapped = vmap_over(lambda x: func1d(x, *args, **kwargs), ndim - 1 - axis, -1, -1)
    return vmap_over(mapped, axis, 0, 0)(arr)


def apply_over_axes(
    func: Callable[[ir.Array, int], ir.Array], a: ir.ArrayLike, axes: Sequence[int]
) -> ir.Array:
    """A reduction applied along several dimensions in turn, which become size 1.

    Args:
      func: called with an array and an axis; its result may lack that dimension.
      a: an array.
      axes: the dimensions.

    Returns:
      An array with as many dimensions as ``a``.

    Raises:
      ValueError: if a result has neither the same number of dimensions nor one less.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.apply_over_axes(jnp.sum, jnp.ones((2, 3)), [0, 1]).tolist()
      [[6.0]]

    Source: numpy.apply_over_axes.
    """
    (a,) = promotion.operands("apply_over_axes", a)
    rank = np.ndim(a)
    for axis in axes:
        reduced = func(a, axis)
        if np.ndim(reduced) == rank - 1:
            reduced = lax.expand_dims(reduced, (promotion.canonical_axis(axis, rank),))
        if np.ndim(reduced) != rank:
            raise ValueError(
                f"apply_over_axes: func returned an array of {np.ndim(reduced)} dimensions for one "
                f"of {rank}; it must keep them, or remove the axis."
            )
        a = reduced
    return a


def vmap_over(
    fun: Callable[..., Any], count: int, in_axis: int, out_axis: int
) -> Callable[..., Any]:
    """``fun`` mapped over ``count`` dimensions, one inside the other."""
    for _ in range(count):
        fun = vmap(fun, in_axes=in_axis, out_axes=out_axis)
    return fun
