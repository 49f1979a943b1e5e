"""Repeating an array along dimensions, and sums over them: each is the other's transpose."""

from collections.abc import Sequence
from operator import index
from typing import Any

import ricci_ir as ir
from ricci_autodiff import linear
from ricci_batching import move_dim
from ricci_ir import Array, ArrayLike, FactorMap, Primitive, Shape, ShapedArray
from ricci_lax.rules._checkify import checks_nan
from ricci_stablehlo import Lowering, Value, write_broadcast

from . import _exact_rules as exact
from ._few_terms import write_few_terms
from ._operand_types import (
    array_aval,
    as_sizes,
    bind_placed,
    canonical_axis,
    check_dtype,
    check_nonnegative,
    numeric,
    shape_of,
)
from ._row_sums import write_row_sums
from ._transposing import inverse, lower_reduce, transpose

__all__ = ["broadcast", "broadcast_in_dim", "broadcast_in_dim_p", "broadcast_shapes"]
__all__ += ["broadcast_to_rank", "expand_dims", "reduce_sum", "reduce_sum_p"]

# broadcast_in_dim


def _broadcast_in_dim_aval(
    x: ShapedArray, *, shape: Shape, broadcast_dimensions: Shape, sharding
) -> ShapedArray:
    dims = broadcast_dimensions
    check_nonnegative("broadcast_in_dim", shape)
    if len(dims) != x.ndim:
        raise TypeError(
            f"broadcast_in_dim: broadcast_dimensions={dims} does not say where each of the "
            f"{x.ndim} dimensions of the operand goes."
        )
    if x.ndim > len(shape):
        raise TypeError(
            f"broadcast_in_dim: an operand of rank {x.ndim} does not fit into a shape of "
            f"{len(shape)} dimensions, {shape}."
        )
    if any(not 0 <= d < len(shape) for d in dims):
        raise TypeError(
            f"broadcast_in_dim: broadcast_dimensions={dims} names a dimension that shape "
            f"{shape} lacks."
        )
    if any(size not in (1, shape[d]) for size, d in zip(x.shape, dims, strict=True)):
        raise TypeError(
            f"broadcast_in_dim: an operand of shape {x.shape} cannot be laid along "
            f"dimensions {dims} of {shape}. Sizes must agree there, or be 1 in the operand."
        )
    if len(set(dims)) != len(dims):
        raise TypeError(
            f"broadcast_in_dim: broadcast_dimensions={dims} must name each dimension only "
            "once, in increasing order."
        )
    return x.resized(shape)


def _broadcast_in_dim_transpose(ct, x, *, shape, broadcast_dimensions, sharding):
    sizes = x.aval.shape
    repeated = tuple(i for i, size in enumerate(sizes) if size == 1)
    others = [d for size, d in zip(sizes, broadcast_dimensions, strict=True) if size != 1]
    summed = tuple(d for d in range(len(shape)) if d not in others)
    # The sum has the operand's dimensions in ascending order of the result's. ``inverse`` sorts,
    # and applied twice it ranks: the transposition puts them in the operand's order.
    total = transpose(reduce_sum(ct, summed), inverse(inverse(others)))
    return [expand_dims(total, repeated)]


def _broadcast_in_dim_batch(axis, args, dims, *, shape, broadcast_dimensions, sharding):
    x = move_dim(args[0], dims[0], 0)
    new_dims = (0, *(d + 1 for d in broadcast_dimensions))
    new_shape = (shape_of(x)[0], *shape)
    result = broadcast_in_dim_p.bind(
        x, shape=new_shape, broadcast_dimensions=new_dims, sharding=sharding
    )
    return result, 0


def _broadcast_in_dim_lower(
    ctx: Lowering, x: Value, *, broadcast_dimensions: Shape, **params: object
) -> Value:
    return write_broadcast(ctx, x, broadcast_dimensions, ctx.out)


_broadcast_in_dim_usual = ir.hides(broadcast_dimensions=(), sharding=None)


def _broadcast_in_dim_shown(*, shape: Shape, **params: object) -> dict[str, Any]:
    return _broadcast_in_dim_usual(**params)  # the result's type has the shape


def _broadcast_in_dim_factors(
    x: ShapedArray, *, shape: Shape, broadcast_dimensions: Shape, **params: object
) -> FactorMap:
    dims: list[int | None] = [None] * len(shape)
    for i, d in enumerate(broadcast_dimensions):
        if x.shape[i] == shape[d]:
            dims[d] = i
    return FactorMap((tuple(range(x.ndim)),), (tuple(dims),))


broadcast_in_dim_p: Primitive = ir.define(
    "broadcast_in_dim",
    sharding=ir.makes_sharding(ir.factors(_broadcast_in_dim_factors)),
    sums=ir.linear_in_all,
    abstract_eval=_broadcast_in_dim_aval,
    jvp=linear,
    transpose=_broadcast_in_dim_transpose,
    batch=_broadcast_in_dim_batch,
    lower=_broadcast_in_dim_lower,
    shown=_broadcast_in_dim_shown,
    exact=exact.broadcast_in_dim,
)


@ir.may_return_operand
def broadcast_in_dim(
    operand: ArrayLike,
    shape: Sequence[int],
    broadcast_dimensions: Sequence[int],
    *,
    out_sharding: object = None,
) -> Array:
    """Repeat an array along new dimensions, and along those of size 1.

    Args:
      operand: an array of any dtype.
      shape: the result's shape.
      broadcast_dimensions: for each dimension of the operand, the dimension of the result that
        it becomes; their sizes must be equal unless the operand's is 1.
      out_sharding: the sharding of the result.

    Returns:
      An array of shape ``shape`` and the operand's dtype.

    Raises:
      TypeError: if the dimensions do not fit the shapes.

    Example:
      A vector as each row, and as each column, of a matrix:

      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> x = jnp.array([1, 2])
      >>> lax.broadcast_in_dim(x, (2, 2), (1,)).tolist()
      [[1, 2], [1, 2]]
      >>> lax.broadcast_in_dim(x, (2, 2), (0,)).tolist()
      [[1, 1], [2, 2]]

    Source: StableHLO ``broadcast_in_dim``.
    """
    shape, dims = as_sizes(shape), tuple(map(index, broadcast_dimensions))
    if shape_of(operand) == shape and dims == tuple(range(len(shape))) and out_sharding is None:
        return ir.as_array(operand)
    if out_sharding is None:
        return broadcast_in_dim_p.bind(
            operand, shape=shape, broadcast_dimensions=dims, sharding=None
        )
    params = {"shape": shape, "broadcast_dimensions": dims}
    return bind_placed(broadcast_in_dim_p, (operand,), len(shape), out_sharding, params)


@ir.may_return_operand
def broadcast(operand: ArrayLike, sizes: Sequence[int], *, out_sharding: object = None) -> Array:
    """Repeat an array along new leading dimensions of the given sizes.

    Args:
      operand: an array of any dtype.
      sizes: the sizes of the new dimensions.
      out_sharding: the sharding of the result.

    Returns:
      An array of shape ``(*sizes, *operand.shape)``.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> lax.broadcast(jnp.array([1, 2]), (3,)).tolist()
      [[1, 2], [1, 2], [1, 2]]
    """
    sizes, shape = as_sizes(sizes), shape_of(operand)
    dims = range(len(sizes), len(sizes) + len(shape))
    return broadcast_in_dim(operand, (*sizes, *shape), dims, out_sharding=out_sharding)


@ir.may_return_operand
def expand_dims(array: ArrayLike, dimensions: Sequence[int]) -> Array:
    """Insert dimensions of size 1, at these positions of the result.

    Args:
      array: an array of any dtype.
      dimensions: where the result has the new dimensions; negative ones count from its end.

    Returns:
      An array of the same elements.

    Raises:
      ValueError: if a position is given twice, or is out of bounds.

    Example:
      >>> import numpy as np
      >>> from ricci import lax
      >>> lax.expand_dims(np.ones((2, 3)), (0, -1)).shape
      (1, 2, 3, 1)
    """
    shape, dimensions = shape_of(array), tuple(dimensions)
    ndim = len(shape) + len(dimensions)
    inserted = {canonical_axis(d, ndim) for d in dimensions}
    if len(inserted) != ndim - len(shape):
        raise ValueError(f"expand_dims: dimensions {dimensions} name one place twice.")
    if not inserted:
        return ir.as_array(array)
    sizes = iter(shape)
    new_shape = tuple(1 if d in inserted else next(sizes) for d in range(ndim))
    positions = tuple(d for d in range(ndim) if d not in inserted)
    return broadcast_in_dim_p.bind(
        array, shape=new_shape, broadcast_dimensions=positions, sharding=None
    )


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that arrays of these shapes have when broadcast together, by NumPy's rules.

    Args:
      shapes: sequences of sizes.

    Returns:
      The common shape, a tuple.

    Raises:
      ValueError: if they do not broadcast to one shape.
      TypeError: if a size is negative or not an integer.

    Example:
      >>> from ricci import lax
      >>> lax.broadcast_shapes((2, 1), (3,))
      (2, 3)
    """
    sizes = [ir.to_sizes(shape) for shape in shapes]
    for shape in sizes:
        if any(n < 0 for n in shape):
            raise TypeError(f"broadcast_shapes: shape {shape!r} holds a negative size.")
    ndim = max(map(len, sizes), default=0)
    result = []
    for column in zip(*[(1,) * (ndim - len(shape)) + shape for shape in sizes], strict=True):
        wide = {n for n in column if n != 1}
        if len(wide) > 1:
            raise ValueError(
                f"broadcast_shapes: {', '.join(map(str, sizes))} do not broadcast to one shape. "
                "Along each dimension, sizes must agree or be 1."
            )
        result.append(wide.pop() if wide else 1)
    return tuple(result)


def broadcast_to_rank(x: ArrayLike, rank: int) -> Array:
    """Add leading dimensions of size 1 to an array up to a number of dimensions.

    Args:
      x: an array.
      rank: how many dimensions the result has.

    Returns:
      An array of the same elements; ``x`` itself if it has that many.

    Example:
      >>> import numpy as np
      >>> from ricci import lax
      >>> lax.broadcast_to_rank(np.ones((2, 3)), 4).shape
      (1, 1, 2, 3)
    """
    return expand_dims(x, range(rank - len(shape_of(x))))


# reduce_sum


def reduced_aval(x: ShapedArray, axes: Sequence[int]) -> ShapedArray:
    """The type of a reduction of an array over some of its axes.

    Raises:
      ValueError: if an axis is given twice or is out of bounds.
    """
    if len(set(axes)) != len(axes):
        raise ValueError(f"reduction: axes={axes} names an axis twice. Name each dimension once.")
    if not all(0 <= a < x.ndim for a in axes):
        raise ValueError(
            f"reduction: axes={axes} names an axis that is out of bounds for the {x.ndim} "
            f"dimensions of {x.dtype}[{','.join(map(str, x.shape))}]; count from 0."
        )
    return x.resized(tuple(n for i, n in enumerate(x.shape) if i not in axes))


def batched_axes(axes: Sequence[int], dim: int) -> tuple[tuple[int, ...], int]:
    """The axes to reduce of a batch at ``dim``, and the batch dimension of the result."""
    return tuple(a + (a >= dim) for a in axes), dim - sum(a < dim for a in axes)


def _reduce_sum_aval(x: ShapedArray, *, axes: Shape, out_sharding) -> ShapedArray:
    check_dtype("reduce_sum", x, numeric)
    return reduced_aval(x, axes)


def _reduce_sum_transpose(ct, x, *, axes, out_sharding):
    remaining = tuple(d for d in range(x.aval.ndim) if d not in axes)
    return [broadcast_in_dim(ct, x.aval.shape, remaining)]


def _reduce_sum_batch(axis, args, dims, *, axes, out_sharding):
    axes, dim = batched_axes(axes, dims[0])
    if out_sharding is not None:
        sharding = array_aval(args[0]).type_sharding
        part = () if sharding is None else sharding.parts[dims[0]]
        out_sharding = out_sharding.insert_dimension(dim, part)
    return reduce_sum_p.bind(args[0], axes=axes, out_sharding=out_sharding), dim


def _reduce_sum_lower(ctx: Lowering, x: Value, *, axes: Shape, out_sharding: object) -> Value:
    result = write_few_terms(ctx, "stablehlo.add", x, axes)
    if result is None:
        result = write_row_sums(ctx, x, axes)
    return lower_reduce(ctx, "stablehlo.add", x, 0, axes) if result is None else result


def reduction_factors(*avals: ShapedArray, axes: Shape, **params: object) -> FactorMap:
    """The factor map of a reduction over axes, which may be sharded."""
    dims = tuple(range(avals[0].ndim))
    remaining = tuple(i for i in dims if i not in axes)
    return FactorMap((dims,) * len(avals), (remaining,), frozenset(axes))


reduce_sum_p: Primitive = ir.define(
    "reduce_sum",
    sharding=ir.makes_sharding(ir.factors(reduction_factors)),
    sums=ir.linear_in_all,
    abstract_eval=_reduce_sum_aval,
    jvp=linear,
    transpose=_reduce_sum_transpose,
    batch=_reduce_sum_batch,
    lower=_reduce_sum_lower,
    checkify=checks_nan,
)


def reduce_sum(operand: ArrayLike, axes: Sequence[int], *, out_sharding: object = None) -> Array:
    """The sum of an array over some of its axes, in the array's own dtype.

    Args:
      operand: an array of a numeric dtype.
      axes: which axes to sum over, non-negative and distinct.
      out_sharding: the sharding of the result.

    Returns:
      An array without these axes, of the operand's dtype.

    Raises:
      ValueError: if an axis is given twice, is negative or out of bounds.
      TypeError: if the dtype is boolean.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> lax.reduce_sum(jnp.array([[1, 2], [3, 4]]), (0,)).tolist()
      [4, 6]

    Notes:
      Small dtypes are not widened: the sum of an int8 array is an int8, and may overflow.
      ``jnp.sum`` takes ``dtype``.

    Source: StableHLO ``reduce``.
    """
    axes = tuple(map(index, axes))
    if out_sharding is None:
        return reduce_sum_p.bind(operand, axes=axes, out_sharding=None)
    rank = len(shape_of(operand)) - len(axes)
    return bind_placed(reduce_sum_p, (operand,), rank, out_sharding, {"axes": axes}, "out_sharding")


def weak_scalar(value: Any) -> ArrayLike:
    """A weakly typed scalar of the value and dtype of another, of NumPy or an array.

    It is a Python scalar, unless those of its kind have another width now.
    """
    scalar = value.item()
    if ir.python_scalar_dtype(type(scalar)) == value.dtype:
        return scalar
    # The conversion is defined with the arithmetic, which builds on this module.
    return ir.primitives["convert_element_type"].bind(
        ir.unnarrowed(value), new_dtype=value.dtype, weak_type=True, sharding=None
    )


def zeros_of(aval: ShapedArray) -> Array:
    """An array of zeros of a given type."""
    if aval.dtype == ir.float0:
        return ir.float0_zeros(aval.shape)
    if isinstance(aval.dtype, ir.ExtendedDType):
        words = aval.dtype.physical_aval(ShapedArray((), aval.dtype))
        zero = aval.dtype.from_physical(zeros_of(words))
    else:
        zero = ir.exact_scalar(0, aval.dtype)
    fill = weak_scalar(zero) if aval.weak_type else zero
    sharding = aval.type_sharding
    if sharding is None:
        return broadcast_in_dim(fill, aval.shape, ())
    divided = None if sharding.mesh is None else sharding
    zeros = broadcast_in_dim_p.bind(
        fill, shape=aval.shape, broadcast_dimensions=(), sharding=divided
    )
    return ir.cast_varying(zeros, sharding.varying)
