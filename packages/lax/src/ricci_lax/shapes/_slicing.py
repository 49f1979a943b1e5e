"""Slices at fixed positions, and padding."""

from collections.abc import Sequence
from math import prod
from typing import Any

import ricci_ir as ir
from ricci_autodiff import is_undefined_primal, linear
from ricci_batching import batched_at, move_dim
from ricci_ir import Array, ArrayLike, FactorMap, Primitive, Shape, ShapedArray
from ricci_lax.elementwise import select_n, sub
from ricci_lax.rules._checkify import checks_nan
from ricci_lax.structure import _exact_rules as exact
from ricci_lax.structure import broadcast_in_dim, full, reduce_sum, squeeze
from ricci_lax.structure._broadcasting import zeros_of
from ricci_lax.structure._operand_types import array_aval, canonical_axis, shape_of
from ricci_stablehlo import Lowering, Value, write_pad, write_slice

__all__ = ["index_in_dim", "pad", "pad_p", "slice", "slice_in_dim", "slice_p"]

# slice


def _slice_aval(
    x: ShapedArray, *, start_indices: Shape, limit_indices: Shape, strides: Shape | None
) -> ShapedArray:
    names = ("start_indices", "limit_indices", "strides")
    values = (start_indices, limit_indices, (1,) * x.ndim if strides is None else strides)
    for name, value in zip(names, values, strict=True):
        if len(value) != x.ndim:
            raise TypeError(
                f"{name}={value} does not have one number for each dimension of shape {x.shape}"
            )
    shape = []
    for size, start, limit, stride in zip(x.shape, *values, strict=True):
        if start < 0:
            problem = f"start_indices={start_indices} holds a negative number; count from 0"
        elif limit > size:
            problem = (
                f"limit_indices={limit_indices} lies beyond the end of an array of shape {x.shape}"
            )
        elif start > limit:
            problem = f"start_indices={start_indices} lies past limit_indices={limit_indices}"
        elif stride <= 0:
            problem = f"strides={strides} holds a number below 1"
        else:
            shape.append(-((start - limit) // stride))
            continue
        raise TypeError(f"slice: {problem}.")
    return x.resized(tuple(shape))


def _slice_transpose(ct, x, *, start_indices, limit_indices, strides):
    config = []
    for i, (size, start, limit) in enumerate(
        zip(x.aval.shape, start_indices, limit_indices, strict=True)
    ):
        stride = 1 if strides is None else strides[i]
        count = shape_of(ct)[i]
        # The padding ends at the last element read, which the limit may exceed by less than a
        # stride.
        end = limit if stride == 1 else start + (count - 1) * stride + 1 if count else start
        config.append((start, size - end, stride - 1))
    return [pad(ct, ir.exact_scalar(0, x.aval.dtype), config)]


def _slice_batch(axis, args, dims, *, start_indices, limit_indices, strides):
    (x,), (dim,) = args, dims

    def with_batch(values, value):
        return (*values[:dim], value, *values[dim:])

    result = slice_p.bind(
        x,
        start_indices=with_batch(start_indices, 0),
        limit_indices=with_batch(limit_indices, axis.size),
        strides=None if strides is None else with_batch(strides, 1),
    )
    return result, dim


def _slice_lower(
    ctx: Lowering, x: Value, *, start_indices: Shape, limit_indices: Shape, strides: Shape | None
) -> Value:
    strides = (1,) * len(start_indices) if strides is None else strides
    return write_slice(ctx, x, start_indices, limit_indices, strides, ctx.out)


def sliced_dimensions(operands: Sequence[ShapedArray], sizes: Shape) -> FactorMap:
    """Sharding factors of a slice: the first operand's; a one-element slice is replicated."""
    dims = tuple(range(len(sizes)))
    scalars = ((),) * (len(operands) - 1)
    if prod(sizes) == 1:
        return FactorMap((dims, *scalars), ((None,) * len(sizes),), reduced=frozenset(dims))
    return FactorMap((dims, *scalars), (dims,))


def _slice_factors(x: ShapedArray, **params: Any) -> FactorMap:
    return sliced_dimensions((x,), _slice_aval(x, **params).shape)


slice_p: Primitive = ir.define(
    "slice",
    sharding=ir.factors(_slice_factors),
    sums=ir.linear_in_all,
    abstract_eval=_slice_aval,
    jvp=linear,
    transpose=_slice_transpose,
    batch=_slice_batch,
    lower=_slice_lower,
    exact=exact.slice_of,
)


def slice(
    operand: ArrayLike,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None = None,
) -> Array:
    """A part of an array, at a fixed position.

    Args:
      operand: an array of any dtype.
      start_indices, limit_indices: for each dimension, where the part starts and ends.
      strides: for each dimension, the step between elements.

    Returns:
      An array of the part's shape.

    Raises:
      TypeError: if the part does not lie within the array.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> x = jnp.arange(12).reshape(3, 4)
      >>> lax.slice(x, (0, 1), (2, 4), (1, 2)).tolist()
      [[1, 3], [5, 7]]

    Source: StableHLO ``slice``.
    """
    return slice_p.bind(
        operand,
        start_indices=ir.to_sizes(start_indices),
        limit_indices=ir.to_sizes(limit_indices),
        strides=None if strides is None else ir.to_sizes(strides),
    )


def slice_in_dim(
    operand: ArrayLike,
    start_index: int | None,
    limit_index: int | None,
    stride: int = 1,
    axis: int = 0,
) -> Array:
    """A part of an array along one axis; negative positions count from the end.

    Args:
      operand: an array of any dtype.
      start_index, limit_index: where the part starts and ends; ``None`` for the array's ends.
      stride: the step between elements.
      axis: the axis.

    Returns:
      An array of the operand's shape, but for the part's size along the axis.

    Raises:
      TypeError: if the part does not lie within the array.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> x = jnp.arange(6).reshape(2, 3)
      >>> lax.slice_in_dim(x, 1, None, axis=1).tolist()
      [[1, 2], [4, 5]]
    """
    shape = shape_of(operand)
    axis = canonical_axis(axis, len(shape))
    size = shape[axis]

    def position(i: int | None, default: int) -> int:
        i = default if i is None else ir.as_size(i)
        return i + size if i < 0 else i

    starts, limits, strides = [0] * len(shape), list(shape), [1] * len(shape)
    starts[axis], limits[axis] = position(start_index, 0), position(limit_index, size)
    strides[axis] = ir.as_size(stride)
    return slice(operand, starts, limits, strides)


def index_in_dim(operand: ArrayLike, index: int, axis: int = 0, keepdims: bool = True) -> Array:
    """One position of an array along an axis.

    Args:
      operand: an array of any dtype.
      index: the position; a negative one counts from the end.
      axis: the axis.
      keepdims: whether the result keeps the axis, with size 1.

    Returns:
      An array of the operand's shape, with size 1 along the axis, or without it.

    Raises:
      IndexError: if the position is out of bounds.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> x = jnp.arange(6).reshape(2, 3)
      >>> lax.index_in_dim(x, -1, axis=1, keepdims=False).tolist()
      [2, 5]
    """
    axis = canonical_axis(axis, len(shape_of(operand)))
    size = shape_of(operand)[axis]
    if not -size <= index < size:
        raise IndexError(
            f"index_in_dim: index {index} is out of bounds for axis {axis}, which has size {size}."
        )
    index = index + size if index < 0 else index
    part = slice_in_dim(operand, index, index + 1, 1, axis)
    return part if keepdims else squeeze(part, (axis,))


# pad

# For each dimension: how many to add before, after and between the elements.
PaddingConfig = Sequence[tuple[int, int, int]]


def _pad_aval(
    x: ShapedArray, padding_value: ShapedArray, *, padding_config: PaddingConfig
) -> ShapedArray:
    if x.dtype != padding_value.dtype:
        raise TypeError(
            f"pad: the operand is {x.dtype} and padding_value is {padding_value.dtype}. "
            "Convert the value to the operand's dtype."
        )
    if padding_value.shape:
        raise ValueError(
            f"pad: padding_value has shape {padding_value.shape}, and one scalar fills all "
            "of the padding."
        )
    if len(padding_config) != x.ndim:
        raise ValueError(
            f"pad: padding_config {padding_config} has {len(padding_config)} entries for an "
            f"operand of shape {x.shape}. Give (low, high, interior) for each dimension."
        )
    if any(interior < 0 for _, _, interior in padding_config):
        raise ValueError(
            f"pad: padding_config {padding_config} has a negative interior, but elements "
            "cannot be taken out from between others. Use slice with strides."
        )
    shape = tuple(
        low + high + (n if n == 0 else n + (n - 1) * interior)
        for n, (low, high, interior) in zip(x.shape, padding_config, strict=True)
    )
    if any(n < 0 for n in shape):
        raise ValueError(
            f"pad: padding_config {padding_config} cuts off more than an operand of shape "
            f"{x.shape} has; a size would be negative, as in {shape}."
        )
    return ShapedArray(shape, x.dtype, x.weak_type and padding_value.weak_type)


def _pad_transpose(ct, x, padding_value, *, padding_config):
    aval = x.aval if is_undefined_primal(x) else array_aval(x)
    zero = ir.exact_scalar(0, aval.dtype)
    # Negative padding removes the padding again, and a strided slice the elements between.
    cut = [(-low, -high, 0) for low, high, _ in padding_config]
    spread = pad(ct, zero, cut)
    starts, steps = [0] * aval.ndim, [interior + 1 for *_, interior in padding_config]
    inner = slice(spread, starts, shape_of(spread), steps)
    ct_value = None
    if is_undefined_primal(padding_value):
        every = tuple(range(aval.ndim))
        # The value is in all elements of the result but those of the operand.
        ct_value = sub(reduce_sum(ct, every), reduce_sum(inner, every))
    return [inner if is_undefined_primal(x) else None, ct_value]


def _pad_batch(axis, args, dims, *, padding_config):
    x, value = args
    dim, value_dim = dims
    if dim is None:
        x, dim = batched_at(x, None, axis, 0), 0
    config = (*padding_config[:dim], (0, 0, 0), *padding_config[dim:])
    if value_dim is None:
        return pad_p.bind(x, value, padding_config=config), dim
    # Pad with anything, then put each example's own value where no element of the operand is.
    aval = array_aval(x)
    keys = ir.is_extended(aval.dtype)  # the dtype of keys lacks a zero
    filling = index_in_dim(value, 0, keepdims=False) if keys else ir.exact_scalar(0, aval.dtype)
    padded = pad(x, filling, config)
    inside = pad(full(aval.shape, True), False, config)
    values = broadcast_in_dim(move_dim(value, value_dim, 0), shape_of(padded), (dim,))
    return select_n(inside, values, padded), dim


def _pad_lower(
    ctx: Lowering, x: Value, padding_value: Value, *, padding_config: PaddingConfig
) -> Value:
    return write_pad(ctx, x, padding_value, padding_config, ctx.out)


pad_p: Primitive = ir.define(
    "pad",
    sharding=ir.factors(ir.same_dimensions),
    sums=ir.linear_in_all,
    abstract_eval=_pad_aval,
    jvp=linear,
    transpose=_pad_transpose,
    batch=_pad_batch,
    lower=_pad_lower,
    checkify=checks_nan,
)


def pad(operand: ArrayLike, padding_value: ArrayLike, padding_config: PaddingConfig) -> Array:
    """Add copies of a value around an array, and between its elements.

    Args:
      operand: an array of any dtype.
      padding_value: a scalar of that dtype.
      padding_config: for each dimension, how many to add before, after and between the elements;
        the first two may be negative, which removes elements.

    Returns:
      An array of the operand's dtype, larger by the padding.

    Raises:
      TypeError: if the dtypes differ.
      ValueError: if the configuration does not fit the operand.

    Example:
      One zero before, none after, and one between the elements:

      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> lax.pad(jnp.array([1, 2, 3]), 0, [(1, 0, 1)]).tolist()
      [0, 1, 0, 2, 0, 3]
      >>> lax.pad(jnp.array([1, 2, 3]), 0, [(-1, 2, 0)]).tolist()  # negative: takes away
      [2, 3, 0, 0]

    Source: StableHLO ``pad``.
    """
    config = tuple(ir.to_sizes(triple) for triple in padding_config)
    aval = array_aval(operand)
    if (sharding := aval.type_sharding) is not None and sharding.sums[0]:
        padding_value = _term_of(padding_value, aval, sharding)
    return pad_p.bind(operand, padding_value, padding_config=config)


def _term_of(value: ArrayLike, aval: ShapedArray, sharding: Any) -> ArrayLike:
    """Return a scalar as one term on each device of a sum: possible for zero alone."""
    if isinstance(value, ir.Tracer) or shape_of(value) or value:
        return value
    scalar = aval.resized((), weak_type=False)
    return zeros_of(scalar.with_sharding(sharding.update(parts=())))
