"""Copies of an array side by side, and elements in reverse order: ``tile`` and ``rev``."""

from collections.abc import Sequence
from operator import index

import ricci_ir as ir
from ricci_autodiff import linear
from ricci_lax.structure import reduce_sum, reshape
from ricci_stablehlo import Lowering, Value, int_list, write_broadcast, write_reshape

__all__ = ["rev", "rev_p", "tile", "tile_p"]

# tile


def _tile_aval(x: ir.ShapedArray, *, reps: ir.Shape) -> ir.ShapedArray:
    if len(reps) != x.ndim:
        raise TypeError(
            f"tile: reps has {len(reps)} entries for an array of rank {x.ndim}. Give one "
            "for each dimension."
        )
    if any(r < 0 for r in reps):
        raise TypeError(f"tile: reps {reps} holds a negative count.")
    return x.resized(tuple(n * r for n, r in zip(x.shape, reps, strict=True)))


def _tile_transpose(ct, x, *, reps):
    shape = x.aval.shape
    # A dimension of the result is a pair: the copy and the position in it. Copies are summed.
    pairs = tuple(size for pair in zip(reps, shape, strict=True) for size in pair)
    return [reduce_sum(reshape(ct, pairs), tuple(range(0, 2 * len(shape), 2)))]


def _tile_batch(axis, args, dims, *, reps):
    dim = dims[0]
    return tile_p.bind(args[0], reps=(*reps[:dim], 1, *reps[dim:])), dim


def _tile_lower(ctx: Lowering, x: Value, *, reps: ir.Shape) -> Value:
    out = ctx.out
    # A dimension of size 1 before each one is repeated, then merged with it.
    ones = tuple(size for n in x.shape for size in (1, n))
    pairs = tuple(size for pair in zip(reps, x.shape, strict=True) for size in pair)
    x = ctx.reshape(x, ones)
    x = write_broadcast(ctx, x, range(len(pairs)), x.aval.resized(pairs))
    return write_reshape(ctx, x, out)


tile_p: ir.Primitive = ir.define(
    "tile",
    sharding=ir.factors(ir.same_dimensions),
    abstract_eval=_tile_aval,
    jvp=linear,
    transpose=_tile_transpose,
    batch=_tile_batch,
    lower=_tile_lower,
)


def tile(operand: ir.ArrayLike, reps: Sequence[int]) -> ir.Array:
    """Repeat an array along each of its dimensions, one whole copy after another.

    Args:
      operand: an array of any dtype.
      reps: for each dimension, how many copies.

    Returns:
      An array of the operand's shape times ``reps``.

    Raises:
      TypeError: if there is not one count for each dimension.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> lax.tile(jnp.array([[1, 2]]), (2, 2)).tolist()
      [[1, 2, 1, 2], [1, 2, 1, 2]]

    Source: NumPy ``tile``.
    """
    return tile_p.bind(operand, reps=ir.to_sizes(reps))


# rev


def _rev_aval(x: ir.ShapedArray, *, dimensions: ir.Shape) -> ir.ShapedArray:
    if len(set(dimensions)) != len(dimensions):
        raise TypeError(f"rev: dimensions {dimensions} names a dimension twice.")
    if any(d < 0 for d in dimensions):
        raise TypeError(f"rev: dimensions {dimensions} holds a negative number; count from 0.")
    if any(d >= x.ndim for d in dimensions):
        raise TypeError(
            f"rev: dimensions {dimensions} names a dimension that an array of rank {x.ndim} lacks."
        )
    return x


def _rev_batch(axis, args, dims, *, dimensions):
    dim = dims[0]
    return rev_p.bind(args[0], dimensions=tuple(d + (d >= dim) for d in dimensions)), dim


rev_p: ir.Primitive = ir.define(
    "rev",
    sharding=ir.factors(ir.same_dimensions),
    sums=ir.linear_in_all,
    abstract_eval=_rev_aval,
    jvp=linear,
    transpose=lambda ct, x, *, dimensions: [rev(ct, dimensions)],
    batch=_rev_batch,
    lower=lambda ctx, x, *, dimensions: ctx.emit(
        "stablehlo.reverse", [x], ctx.out, f", dims = {int_list(dimensions)}"
    ),
)


def rev(operand: ir.ArrayLike, dimensions: Sequence[int]) -> ir.Array:
    """Reverse the order of the elements along some dimensions.

    Args:
      operand: an array of any dtype.
      dimensions: which to reverse, non-negative and distinct.

    Returns:
      An array of the operand's shape.

    Raises:
      TypeError: if a dimension is given twice, is negative or out of bounds.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> lax.rev(jnp.array([[1, 2], [3, 4]]), (1,)).tolist()
      [[2, 1], [4, 3]]

    Source: StableHLO ``reverse``.
    """
    return rev_p.bind(operand, dimensions=tuple(map(index, dimensions)))
