"""Reordering the dimensions of an array, and emitting transpositions and reductions."""

from collections.abc import Sequence
from operator import index

import numpy as np

import ricci_ir as ir
from ricci_autodiff import linear
from ricci_ir import ArrayLike, ShapedArray
from ricci_stablehlo import Expansion, Lowering, Value, int_list, signature, stored

from . import _exact_rules as exact
from ._operand_types import shape_of

# XLA's CPU backend gives reductions of so many elements to its library.
_LEAST_SIZE = 4096

__all__ = ["transpose", "transpose_p"]


def lower_transpose(ctx: Lowering, x: Value, permutation: Sequence[int]) -> Value:
    """Write a transposition of a value."""
    out = x.aval.resized(tuple(x.shape[d] for d in permutation))
    return ctx.emit("stablehlo.transpose", [x], out, f", dims = {int_list(permutation)}", full=True)


def lower_reduce(ctx: Lowering, op: str, x: Value, init: ArrayLike, axes: Sequence[int]) -> Value:
    """Write a reduction by one operation, such as ``stablehlo.add``, from the value ``init``."""
    out = x.aval.resized(tuple(n for i, n in enumerate(x.shape) if i not in axes))
    if goes_to_library(ctx, x) and Expansion(ctx, x).slices:
        # The library would take the operations behind the slices, and each slice be stored.
        x = stored(ctx, x)
    start = ctx.constant(init, ShapedArray((), x.dtype))
    body = f"({x} init: {start}) applies {op} across dimensions = {int_list(axes)}"
    return ctx.append("stablehlo.reduce", body, [out], signature([x, start], [out]))[0]


def goes_to_library(ctx: Lowering, x: Value) -> bool:
    """Whether XLA's CPU backend gives a reduction to its library YNNPACK."""
    if ctx.platform != "cpu" or not ir.issubdtype(x.dtype, np.floating):
        return False
    return ir.is_static_shape(x.shape) and x.aval.size >= _LEAST_SIZE


def _transpose_aval(x: ir.ShapedArray, *, permutation: ir.Shape) -> ir.ShapedArray:
    if sorted(permutation) != list(range(x.ndim)):
        raise TypeError(
            f"transpose: permutation={permutation} does not list each dimension of shape "
            f"{x.shape} once."
        )
    return x.resized(tuple(x.shape[d] for d in permutation))


def inverse(permutation: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted(range(len(permutation)), key=permutation.__getitem__))


def _transpose_batch(axis, args, dims, *, permutation):
    dim = dims[0]
    return transpose(args[0], (dim, *(p + (p >= dim) for p in permutation))), 0


def _transpose_factors(x: ir.ShapedArray, *, permutation: ir.Shape) -> ir.FactorMap:
    return ir.FactorMap((tuple(range(x.ndim)),), (tuple(permutation),))


transpose_p: ir.Primitive = ir.define(
    "transpose",
    sharding=ir.factors(_transpose_factors),
    sums=ir.linear_in_all,
    abstract_eval=_transpose_aval,
    jvp=linear,
    transpose=lambda ct, x, *, permutation: [transpose(ct, inverse(permutation))],
    batch=_transpose_batch,
    lower=lambda ctx, x, *, permutation: lower_transpose(ctx, x, permutation),
    exact=exact.transpose,
)


@ir.may_return_operand
def transpose(operand: ir.ArrayLike, permutation: Sequence[int] | np.ndarray) -> ir.Array:
    """Reorder an array's dimensions: the result's dimension ``i`` is ``permutation[i]``.

    Args:
      operand: an array of any dtype.
      permutation: for each dimension of the result, the operand's that it is.

    Returns:
      An array of the same elements.

    Raises:
      TypeError: if it is not a permutation of the operand's dimensions.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> images = jnp.zeros((8, 32, 24, 3))  # batch, height, width, channels
      >>> lax.transpose(images, (0, 3, 1, 2)).shape
      (8, 3, 32, 24)

    Source: StableHLO ``transpose``.
    """
    order = tuple(map(index, permutation))
    if order == tuple(range(len(order))) and len(order) == len(shape_of(operand)):
        return ir.as_array(operand)
    return transpose_p.bind(operand, permutation=order)
