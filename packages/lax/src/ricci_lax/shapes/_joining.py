"""Joining and splitting arrays along an axis, and along a new one."""

from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_autodiff import instantiate, is_undefined_primal, linear
from ricci_batching import batched_at
from ricci_lax.elementwise import convert_element_type
from ricci_lax.structure import _exact_rules as exact
from ricci_lax.structure._broadcasting import broadcast_in_dim
from ricci_lax.structure._filling import full
from ricci_lax.structure._identity import optimization_barrier
from ricci_lax.structure._operand_types import array_aval, canonical_axis, shape_of
from ricci_lax.structure._transposing import inverse, transpose
from ricci_stablehlo import (
    Lowering,
    Value,
    native_kernel,
    traced,
    write_broadcast,
    write_reshape,
    write_slice,
)

__all__ = [
    "concatenate",
    "concatenate_p",
    "shape_as_value",
    "split",
    "split_p",
    "stack",
    "stack_p",
    "unstack",
    "unstack_p",
]


# XLA's CPU backend concatenates along any dimension but the first by a chain of selections, which
# takes LLVM seconds to compile from some 150 operands on. Along the first, it copies.
_MANY = 128


def check_dtypes_match(name: str, avals: Sequence[ir.ShapedArray], tip: str = "") -> None:
    """Raise ``TypeError`` unless all operands have one dtype."""
    if any(aval.dtype != avals[0].dtype for aval in avals):
        raise TypeError(
            f"{name}: the arrays differ in dtype: "
            f"{', '.join(str(aval.dtype) for aval in avals)}. Convert them with astype "
            f"first.{tip}"
        )


def _join_batch(primitive, batch_axis, args, dims, **params):
    args = [batched_at(x, d, batch_axis, 0) for x, d in zip(args, dims, strict=True)]
    return primitive.bind(*args, **{name: dim + 1 for name, dim in params.items()}), 0


# concatenate


def _concatenate_aval(*avals: ir.ShapedArray, dimension: int) -> ir.ShapedArray:
    shapes = ", ".join(str(aval.shape) for aval in avals)
    first = avals[0]
    if any(aval.ndim != first.ndim for aval in avals):
        raise TypeError(
            f"concatenate: the arrays have different numbers of dimensions, by their shapes "
            f"{shapes}."
        )
    if not 0 <= dimension < first.ndim:
        raise TypeError(
            f"concatenate: dimension={dimension} is out of bounds for arrays of shapes {shapes}."
        )
    before, after = first.shape[:dimension], first.shape[dimension + 1 :]
    if any(a.shape[:dimension] != before or a.shape[dimension + 1 :] != after for a in avals):
        raise TypeError(
            f"concatenate: shapes {shapes} cannot be joined along dimension {dimension}: "
            "all their other sizes must agree."
        )
    tip = " The concatenate of ricci.numpy promotes them by itself."
    check_dtypes_match("concatenate", avals, tip)
    size = sum(aval.shape[dimension] for aval in avals)
    weak = all(aval.weak_type for aval in avals)
    return ir.ShapedArray((*before, size, *after), first.dtype, weak)


def _concatenate_transpose(ct, *args, dimension):
    avals = [x.aval if is_undefined_primal(x) else array_aval(x) for x in args]
    parts = split(ct, tuple(aval.shape[dimension] for aval in avals), dimension)
    return _of_linear(args, parts)


def _of_linear(args: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
    """The cotangents of the linear operands, ``None`` for the others."""
    return [ct if is_undefined_primal(x) else None for x, ct in zip(args, cts, strict=True)]


def _lower_concatenate(
    ctx: Lowering, operands: Sequence[Value], dimension: int, out: ir.ShapedArray
) -> Value:
    if ctx.platform == "cpu" and dimension and len(operands) >= _MANY:
        order = [dimension, *(d for d in range(out.ndim) if d != dimension)]

        # The barrier separates the transposition, which XLA would move into the concatenation
        # again.
        def concatenate_rows(*xs: ir.Array) -> ir.Array:
            rows = concatenate_p.bind(*(transpose(x, order) for x in xs), dimension=0)
            return transpose(optimization_barrier(rows), inverse(order))

        return traced(concatenate_rows)(ctx, *operands)
    return ctx.emit("stablehlo.concatenate", operands, out, f", dim = {dimension}", full=True)


def _concatenate_factors(*avals: ir.ShapedArray, dimension: int) -> ir.FactorMap:
    dims = tuple(range(avals[0].ndim))
    return ir.FactorMap((dims,) * len(avals), (dims,), alike=tuple(range(len(avals))))


concatenate_p: ir.Primitive = ir.define(
    "concatenate",
    sharding=ir.factors(_concatenate_factors),
    sums=ir.linear_in_all,
    abstract_eval=_concatenate_aval,
    jvp=linear,
    transpose=_concatenate_transpose,
    batch=lambda axis, args, dims, **params: _join_batch(concatenate_p, axis, args, dims, **params),
    lower=lambda ctx, *xs, dimension: _lower_concatenate(ctx, xs, dimension, ctx.out),
    exact=exact.concatenate,
)


@ir.may_return_operand
def concatenate(operands: ir.ArrayLike | Sequence[ir.ArrayLike], dimension: int) -> ir.Array:
    """Join arrays along one of their dimensions.

    Args:
      operands: arrays of one dtype, whose shapes are equal but along ``dimension``.
      dimension: the dimension, counted from the start.

    Returns:
      An array whose size along ``dimension`` is the sum of the operands'.

    Raises:
      ValueError: if there are no operands.
      TypeError: if the shapes or dtypes differ, or the dimension is out of bounds.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> lax.concatenate([jnp.array([[1, 2]]), jnp.array([[3]])], 1).tolist()
      [[1, 2, 3]]

    Source: StableHLO ``concatenate``.
    """
    operands = tuple(operands) if isinstance(operands, Sequence) else unstack(operands)
    if not operands:
        raise ValueError("concatenate: operands is empty; give at least one array.")
    if len(operands) == 1 and shape_of(operands[0]):
        return ir.as_array(operands[0])
    return concatenate_p.bind(*operands, dimension=index(dimension))


# split


def _split_aval(x: ir.ShapedArray, *, sizes: ir.Shape, axis: int) -> list[ir.ShapedArray]:
    if any(size < 0 for size in sizes):
        raise ValueError(f"split: sizes {list(sizes)} holds a negative size.")
    if sum(sizes) != x.shape[axis]:
        raise ValueError(
            f"split: the sizes add up to {sum(sizes)}, but axis {axis} of shape {x.shape} "
            f"has {x.shape[axis]} elements."
        )
    return [x.resized((*x.shape[:axis], size, *x.shape[axis + 1 :])) for size in sizes]


def _split_batch(batch_axis, args, dims, *, sizes, axis):
    dim = dims[0]
    results = split_p.bind(args[0], sizes=sizes, axis=axis + (dim <= axis))
    return results, [dim] * len(results)


def _write_part(ctx: Lowering, x: Value, axis: int, start: int, size: int) -> Value:
    starts, limits = [0] * len(x.shape), list(x.shape)
    starts[axis], limits[axis] = start, start + size
    shape = tuple(size if d == axis else n for d, n in enumerate(x.shape))
    return write_slice(ctx, x, starts, limits, [1] * len(starts), x.aval.resized(shape))


def _split_lower(ctx: Lowering, x: Value, *, sizes: ir.Shape, axis: int) -> list[Value]:
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    return [_write_part(ctx, x, axis, a, size) for a, size in zip(starts, sizes, strict=True)]


def _split_factors(x: ir.ShapedArray, *, sizes: ir.Shape, axis: int) -> ir.FactorMap:
    dims = tuple(range(x.ndim))
    return ir.FactorMap((dims,), (dims,) * len(sizes))


split_p: ir.Primitive = ir.define(
    "split",
    sharding=ir.factors(_split_factors),
    sums=ir.linear_in_all,
    abstract_eval=_split_aval,
    multiple_results=True,
    jvp=linear,
    transpose=lambda ct, x, *, sizes, axis: [
        concatenate_p.bind(*map(instantiate, ct), dimension=axis)
    ],
    batch=_split_batch,
    lower=_split_lower,
    exact=exact.split,
)


def split(operand: ir.ArrayLike, sizes: Sequence[int], axis: int = 0) -> list[ir.Array]:
    """Split an array along an axis into pieces of some sizes.

    Args:
      operand: an array of any dtype.
      sizes: the pieces' sizes along the axis.
      axis: the axis.

    Returns:
      A list of arrays, one for each size.

    Raises:
      ValueError: if the sizes do not add up to the array's, or the axis is out of bounds.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> [piece.tolist() for piece in lax.split(jnp.arange(6), (2, 3, 1))]
      [[0, 1], [2, 3, 4], [5]]
    """
    axis = canonical_axis(axis, len(shape_of(operand)))
    return split_p.bind(operand, sizes=ir.to_sizes(sizes), axis=axis)


# stack and unstack


def _stack_aval(*avals: ir.ShapedArray, axis: int) -> ir.ShapedArray:
    first = avals[0]
    shapes = ", ".join(str(aval.shape) for aval in avals)
    if any(aval.ndim != first.ndim for aval in avals):
        raise ValueError(
            f"stack: the arrays have different numbers of dimensions, by their shapes {shapes}."
        )
    if any(aval.shape != first.shape for aval in avals):
        raise ValueError(
            f"stack: the arrays have different shapes: {shapes}. Broadcast them to one first."
        )
    check_dtypes_match("stack", avals)
    if not 0 <= axis <= first.ndim:
        raise ValueError(f"stack: axis {axis} is out of range for arrays of shape {shapes}.")
    shape = (*first.shape[:axis], len(avals), *first.shape[axis:])
    return ir.ShapedArray(shape, first.dtype, all(aval.weak_type for aval in avals))


def _stack_lower(ctx: Lowering, *xs: Value, axis: int) -> Value:
    out = ctx.out
    # XLA compiles a part of its operation for each operand, which takes as long as copying it many
    # times. Operands that are computed may be fused into it.
    if not axis and all(x.is_argument for x in xs):
        kernel = native_kernel(ctx, "stack", out, 0)
        if kernel is not None:
            return ctx.custom_call(kernel.target, xs, [out])[0]
    shape = (*xs[0].shape[:axis], 1, *xs[0].shape[axis:])
    dims = [d for d in range(len(shape)) if d != axis]
    parts = [write_broadcast(ctx, x, dims, x.aval.resized(shape)) for x in xs]
    return _lower_concatenate(ctx, parts, axis, out)


def _stack_batch(batch_axis, args, dims, *, axis):
    dim = dims[0]
    if dim is None or any(d != dim for d in dims):
        return _join_batch(stack_p, batch_axis, args, dims, axis=axis)
    # The new axis and the batch dimension count each other where the other one comes first.
    axis += dim < axis
    return stack_p.bind(*args, axis=axis), dim + (axis <= dim)


def _stack_factors(*avals: ir.ShapedArray, axis: int) -> ir.FactorMap:
    dims = tuple(range(avals[0].ndim))
    result = (*dims[:axis], None, *dims[axis:])
    return ir.FactorMap((dims,) * len(avals), (result,), alike=tuple(range(len(avals))))


stack_p: ir.Primitive = ir.define(
    "stack",
    sharding=ir.factors(_stack_factors),
    abstract_eval=_stack_aval,
    jvp=linear,
    transpose=lambda ct, *args, axis: _of_linear(args, unstack_p.bind(ct, axis=axis)),
    batch=_stack_batch,
    lower=_stack_lower,
)


def stack(operands: ir.ArrayLike | Sequence[ir.ArrayLike], axis: int = 0) -> ir.Array:
    """Join arrays of one shape along a new axis.

    Args:
      operands: arrays of one shape and dtype.
      axis: the position of the new axis in the result.

    Returns:
      An array with one more axis, whose size is the number of operands.

    Raises:
      ValueError: if there are no operands, their shapes differ or the axis is out of bounds.
      TypeError: if their dtypes differ.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> lax.stack([jnp.array([1, 2]), jnp.array([3, 4])], axis=1).tolist()
      [[1, 3], [2, 4]]
    """
    operands = tuple(operands) if isinstance(operands, Sequence) else unstack(operands)
    if not operands:
        raise ValueError("stack: operands is empty; give at least one array.")
    axis = canonical_axis(axis, len(shape_of(operands[0])) + 1)
    return stack_p.bind(*operands, axis=axis)


def _unstack_aval(x: ir.ShapedArray, *, axis: int) -> list[ir.ShapedArray]:
    return [x.resized((*x.shape[:axis], *x.shape[axis + 1 :]))] * x.shape[axis]


def _unstack_batch(batch_axis, args, dims, *, axis):
    dim = dims[0]
    axis += dim <= axis
    results = unstack_p.bind(args[0], axis=axis)
    return results, [dim - (axis < dim)] * len(results)


def _unstack_lower(ctx: Lowering, x: Value, *, axis: int) -> list[Value]:
    outs = ctx.outs
    results = []
    for i, out in enumerate(outs):
        part = _write_part(ctx, x, axis, i, 1)
        results.append(write_reshape(ctx, part, out))
    return results


def _unstack_factors(x: ir.ShapedArray, *, axis: int) -> ir.FactorMap:
    other_dims = tuple(i for i in range(x.ndim) if i != axis)
    dims = tuple(None if i == axis else i for i in range(x.ndim))
    return ir.FactorMap((dims,), (other_dims,) * x.shape[axis])


unstack_p: ir.Primitive = ir.define(
    "unstack",
    sharding=ir.factors(_unstack_factors),
    abstract_eval=_unstack_aval,
    multiple_results=True,
    jvp=linear,
    transpose=lambda ct, x, *, axis: [stack([instantiate(c) for c in ct], axis)],
    batch=_unstack_batch,
    lower=_unstack_lower,
)


def unstack(x: ir.ArrayLike, axis: int = 0) -> tuple[ir.Array, ...]:
    """The slices of an array along one of its axes, without that axis.

    Args:
      x: an array.
      axis: the axis to cut along.

    Returns:
      A tuple of as many arrays as the axis is long.

    Raises:
      ValueError: if the axis is out of bounds.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> x, y, z = lax.unstack(jnp.array([[1, 2, 3], [4, 5, 6]]), axis=1)
      >>> z.tolist()
      [3, 6]
    """
    axis = canonical_axis(axis, len(shape_of(x)))
    return tuple(unstack_p.bind(x, axis=axis))


def stack_scalars(
    scalars: Sequence[ir.ArrayLike], dims: Sequence[int | None], size: int
) -> tuple[ir.Array, int | None]:
    """The vector of several scalars, or ``size`` such vectors if a scalar is batched.

    Returns:
      The array, and its batch dimension.
    """
    if all(d is None for d in dims):
        return concatenate([broadcast_in_dim(x, (1,), ()) for x in scalars], 0), None
    columns = [
        broadcast_in_dim(x, (size, 1), () if d is None else (0,))
        for x, d in zip(scalars, dims, strict=True)
    ]
    return concatenate(columns, 1), 0


def shape_as_value(shape: Sequence[int]) -> ir.Array | np.ndarray:
    """A shape as an integer array of one dimension.

    Args:
      shape: the shape; its sizes may be symbolic.

    Returns:
      A vector of dtype int32; of Python integers' dtype if a size is symbolic.

    Raises:
      TypeError: if ``shape`` is not a sequence of integers.

    Example:
      >>> from ricci import lax
      >>> lax.shape_as_value((2, 3))
      array([2, 3], dtype=int32)
    """
    sizes = list(map(ir.as_size, shape))
    if not ir.is_static_shape(sizes):
        dtype = ir.python_scalar_dtype(int)
        scalars = [convert_element_type(ir.as_array(size), dtype) for size in sizes]
        return stack_scalars(scalars, [None] * len(sizes), 1)[0]
    return np.array(sizes, np.int32) if sizes else full((0,), 0, np.dtype(np.int32))
