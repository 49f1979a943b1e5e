"""Outer products, and products over chosen axes."""

from collections.abc import Sequence
from operator import index as as_int
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_numpy import _promotion as promotion
from ricci_numpy.shapes._reshaping import ravel

from ._products import contract, product

__all__ = ["outer", "tensordot"]


@ir.dispatched("out")
def outer(a: ir.ArrayLike, b: ir.ArrayLike, out: None = None) -> ir.Array:
    """The products of all pairs of elements, flattened operands giving rows and columns.

    Args:
      a, b: arrays, which are flattened.
      out: must be ``None``.

    Returns:
      A matrix of shape ``(a.size, b.size)``.

    Raises:
      TypeError: if an operand is not an array.
      NotImplementedError: if ``out`` is given.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.outer(jnp.array([1, 2]), jnp.array([3, 4])).tolist()
      [[3, 4], [6, 8]]

    Source: numpy.outer.
    """
    promotion.no_out("outer", out)
    a, b = promotion.promote_dtypes(*promotion.operands("outer", a, b))
    aval = ir.get_aval(a)
    times = lax.bitwise_and if aval.dtype == ir.BOOL else lax.mul
    return times(lax.expand_dims(ravel(a), (1,)), lax.expand_dims(ravel(b), (0,)))


@ir.public
@product("axes", "out_sharding")
def tensordot(
    a: ir.ArrayLike,
    b: ir.ArrayLike,
    axes: int | Sequence[int] | Sequence[Sequence[int]] = 2,
    *,
    precision: lax.PrecisionLike = None,
    preferred_element_type: ir.DTypeLike | None = None,
    out_sharding: object = None,
) -> ir.Array:
    """The sums of products over several pairs of dimensions.

    Args:
      a, b: arrays.
      axes: the number of last dimensions of ``a`` and first of ``b`` to sum over, or the
        dimensions of each: a pair of ints or of sequences of ints.
      precision, preferred_element_type, out_sharding: see ``dot``.

    Returns:
      An array of the other dimensions of ``a``, followed by those of ``b``.

    Raises:
      TypeError: if the axes do not match, or an operand is not an array.

    Example:
      >>> import ricci.numpy as jnp
      >>> a, b = jnp.ones((2, 3, 4)), jnp.ones((4, 3, 5))
      >>> jnp.tensordot(a, b, axes=([1, 2], [1, 0])).shape
      (2, 5)
      >>> jnp.tensordot(a, b, axes=1).shape
      (2, 3, 3, 5)

    See also:
      ``einsum``, which names the dimensions.

    Source: numpy.tensordot.
    """
    a, b = promotion.operands("tensordot", a, b)
    rank_a, rank_b = np.ndim(a), np.ndim(b)
    if isinstance(axes, int | np.integer):
        count = as_int(axes)
        if count > min(rank_a, rank_b):
            raise TypeError(
                f"tensordot: axes={count} exceeds the number of dimensions of operands of shapes "
                f"{np.shape(a)} and {np.shape(b)}."
            )
        # A number means the last dimensions of the first array with the first ones of the second.
        pair = tuple(range(rank_a - count, rank_a)), tuple(range(count))
    else:
        axis_lists: tuple[Any, ...] = tuple(axes)
        if len(axis_lists) != 2:
            raise TypeError(
                f"tensordot: axes={axes} is neither a count of axes nor a pair of lists of them."
            )
        pair = (
            promotion.canonical_axes(axis_lists[0], rank_a),
            promotion.canonical_axes(axis_lists[1], rank_b),
        )
        if len(pair[0]) != len(pair[1]):
            raise TypeError(
                f"tensordot: axes must name as many dimensions of each operand, got {axes}."
            )
    dims = (pair, ((), ()))
    return contract("tensordot", a, b, dims, precision, preferred_element_type, out_sharding)
