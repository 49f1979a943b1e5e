"""Changing the shape of an array: ``reshape``, ``squeeze``, ``collapse``."""

from collections.abc import Iterator, Sequence
from operator import index
from typing import Any

import ricci_ir as ir
from ricci_autodiff import linear
from ricci_batching import move_dim
from ricci_ir import Array, ArrayLike, FactorMap, Primitive, Shape, ShapedArray
from ricci_stablehlo import Lowering, Value, write_reshape

from . import _exact_rules as exact
from ._broadcasting import expand_dims
from ._operand_types import as_sizes, bind_placed, canonical_axis, shape_of
from ._transposing import inverse, lower_transpose, transpose

__all__ = ["collapse", "reshape", "reshape_p", "squeeze", "squeeze_p"]

# reshape


def _reshape_aval(
    x: ShapedArray, *, new_sizes: Shape, dimensions: Shape | None, sharding
) -> ShapedArray:
    if any(size < 0 for size in new_sizes):
        raise TypeError(
            f"reshape: the new shape {new_sizes} has a negative size. Work the size out "
            "from those of the operand."
        )
    out = x.resized(new_sizes)
    if ir.surely_different(out.size, x.size):
        raise TypeError(
            f"reshape: {x.size} elements, of shape {x.shape}, do not fill shape "
            f"{new_sizes}, which has {out.size}."
        )
    if dimensions is not None and sorted(dimensions) != list(range(x.ndim)):
        raise TypeError(
            f"reshape: dimensions={dimensions} does not list each dimension of shape "
            f"{x.shape} once."
        )
    return out


def _reshape_transpose(ct, x, *, new_sizes, dimensions, sharding):
    shape = x.aval.shape
    if dimensions is None:
        return [reshape(ct, shape)]
    permuted = reshape(ct, tuple(shape[d] for d in dimensions))
    return [transpose(permuted, inverse(dimensions))]


def _reshape_batch(axis, args, dims, *, new_sizes, dimensions, sharding):
    x = move_dim(args[0], dims[0], 0)
    if dimensions is not None:
        dimensions = (0, *(d + 1 for d in dimensions))
    sizes = (shape_of(x)[0], *new_sizes)
    return reshape_p.bind(x, new_sizes=sizes, dimensions=dimensions, sharding=sharding), 0


def _reshape_lower(ctx: Lowering, x: Value, *, dimensions: Shape | None, **params: object) -> Value:
    out = ctx.out
    if dimensions is not None:
        x = lower_transpose(ctx, x, dimensions)
    return write_reshape(ctx, x, out)


_ADVICE = "Specify the sharding of the result: lax.reshape(x, sizes, out_sharding=P(...))."


def _reshape_factors(x: ShapedArray, *, new_sizes: Shape, **params: object) -> FactorMap:
    """Sharding factors: merged dimensions keep their axes; a split one passes its to the first.

    Dimensions of size 1 are left out. The others are grouped so that each group of the operand has
    the size of a group of the result.
    """
    operand: list[int | None] = [None] * x.ndim
    results: list[int | tuple[int, ...] | None] = [None] * len(new_sizes)
    for old, new in _groups(x.shape, new_sizes):
        if len(old) == 1 or len(new) == 1:
            for i in old:
                operand[i] = i
            results[new[0]] = old[0] if len(old) == 1 else tuple(old)
    return FactorMap((tuple(operand),), (tuple(results),), advice=_ADVICE)


def _groups(old_sizes: Shape, new_sizes: Shape) -> Iterator[tuple[list[int], list[int]]]:
    """Yield groups of old and of new dimensions, which have equal sizes, without sizes of 1."""
    old_dims = [i for i, size in enumerate(old_sizes) if size != 1]
    new_dims = [i for i, size in enumerate(new_sizes) if size != 1]
    # Extend the group of old or of new dimensions, whichever has the smaller product, until both
    # have the same size: then the group is a merge, a split, or neither.
    while old_dims and new_dims:
        old, new = [old_dims.pop(0)], [new_dims.pop(0)]
        sizes = [old_sizes[old[0]], new_sizes[new[0]]]
        while sizes[0] != sizes[1] and (old_dims if sizes[0] < sizes[1] else new_dims):
            if sizes[0] < sizes[1]:
                old.append(old_dims.pop(0))
                sizes[0] *= old_sizes[old[-1]]
            else:
                new.append(new_dims.pop(0))
                sizes[1] *= new_sizes[new[-1]]
        yield old, new


class _ReshapeSharding(ir.factors):
    """The factors of a reshape, where the parts of a split dimension share its mesh axes.

    The first part has the leading axes. If these divide it into pieces of size 1, the next part has
    the next axes: ``f32[8@(x,y)]`` becomes ``f32[2@x,4@y]``.
    """

    __slots__ = ()

    def __call__(self, primitive, avals, params):
        x: Any = avals[0]
        new_sizes = params["new_sizes"]
        sharding = x.type_sharding
        if params["sharding"] is not None or sharding is None or sharding.mesh is None:
            return super().__call__(primitive, avals, params)
        first, others = list(sharding.parts), {}
        for old, new in _groups(x.shape, new_sizes):
            sharded = [bool(first[i]) for i in old]
            if len(new) == 1 and sharded != sorted(sharded, reverse=True):
                # The elements of a device would be strided in the merged dimension.
                if not ir.lenient_sharding.value:
                    raise ir.ShardingTypeError(
                        f"reshape of {x.str_short(True)} to {new_sizes}: of the dimensions that "
                        f"are merged a later one is sharded, but not an earlier one. {_ADVICE}"
                    )
                first = [() if i in old else part for i, part in enumerate(first)]
                x = x.with_sharding(sharding.update(parts=tuple(first)))
            if len(old) == 1 and len(first[old[0]]) > 1:
                parts = _shared_axes(first[old[0]], [new_sizes[i] for i in new], sharding.mesh)
                if parts is not None:
                    first[old[0]] = parts[0]
                    others.update(zip(new[1:], parts[1:], strict=True))
        x = x.with_sharding(sharding.update(parts=tuple(first))) if others else x
        result: Any = super().__call__(primitive, [x], params)
        if not others:
            return result
        parts = [others.get(i, part) for i, part in enumerate(result.type_sharding.parts)]
        return result.with_sharding(result.type_sharding.update(parts=tuple(parts)))


def _shared_axes(axes: tuple, sizes: Sequence[int], mesh: Any) -> list[tuple] | None:
    """Return the mesh axes of each part of a split dimension; ``None`` if they do not fit."""
    parts: list[tuple] = []
    for size in sizes:
        part: tuple = ()
        while axes and size % mesh.shape[axes[0]] == 0:
            part, axes, size = (*part, axes[0]), axes[1:], size // mesh.shape[axes[0]]
        parts.append(part)
        if size > 1:
            break
    return None if axes else [*parts, *[()] * (len(sizes) - len(parts))]


reshape_p: Primitive = ir.define(
    "reshape",
    sharding=ir.makes_sharding(_ReshapeSharding(_reshape_factors)),
    sums=ir.linear_in_all,
    abstract_eval=_reshape_aval,
    jvp=linear,
    transpose=_reshape_transpose,
    batch=_reshape_batch,
    lower=_reshape_lower,
    exact=exact.reshape,
)


@ir.may_return_operand
def reshape(
    operand: ArrayLike,
    new_sizes: Sequence[int],
    dimensions: Sequence[int] | None = None,
    *,
    out_sharding: object = None,
) -> Array:
    """Change the shape of an array to another of the same size.

    Args:
      operand: an array of any dtype.
      new_sizes: the result's shape.
      dimensions: the order in which the operand's dimensions are read, by default as they are.
      out_sharding: the sharding of the result.

    Returns:
      An array of shape ``new_sizes`` with the same elements, in row-major order.

    Raises:
      TypeError: if the sizes differ, or ``dimensions`` is not a permutation.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> x = jnp.array([[1, 2, 3], [4, 5, 6]])
      >>> lax.reshape(x, (3, 2)).tolist()
      [[1, 2], [3, 4], [5, 6]]
      >>> lax.reshape(x, (6,), dimensions=(1, 0)).tolist()  # column by column
      [1, 4, 2, 5, 3, 6]

    Source: StableHLO ``reshape``.
    """
    sizes, shape = as_sizes(new_sizes), shape_of(operand)
    if dimensions is not None:
        dimensions = tuple(map(index, dimensions))
        if dimensions == tuple(range(len(shape))):
            dimensions = None
    if sizes == shape and dimensions is None and out_sharding is None:
        return ir.as_array(operand)
    if out_sharding is None:
        return reshape_p.bind(operand, new_sizes=sizes, dimensions=dimensions, sharding=None)
    params = {"new_sizes": sizes, "dimensions": dimensions}
    return bind_placed(reshape_p, (operand,), len(sizes), out_sharding, params)


# squeeze


def _check_ones(shape: Shape, dimensions: Shape) -> None:
    if any(shape[d] != 1 for d in dimensions):
        raise ValueError(
            f"squeeze: of dimensions {tuple(dimensions)} of shape {shape}, one has a size other "
            "than 1, which cannot be left out."
        )


def _squeeze_aval(x: ShapedArray, *, dimensions: Shape) -> ShapedArray:
    if not all(0 <= d < x.ndim for d in dimensions):
        raise ValueError(
            f"squeeze: dimensions {tuple(dimensions)} are not all dimensions of shape {x.shape}."
        )
    _check_ones(x.shape, dimensions)
    return x.resized(tuple(n for i, n in enumerate(x.shape) if i not in dimensions))


def _squeeze_batch(axis, args, dims, *, dimensions):
    x = move_dim(args[0], dims[0], 0)
    return squeeze_p.bind(x, dimensions=tuple(d + 1 for d in dimensions)), 0


def _squeeze_factors(x: ShapedArray, *, dimensions: Shape) -> FactorMap:
    dims = tuple(range(x.ndim))
    return FactorMap((dims,), (tuple(i for i in dims if i not in dimensions),))


squeeze_p: Primitive = ir.define(
    "squeeze",
    sharding=ir.factors(_squeeze_factors),
    sums=ir.linear_in_all,
    abstract_eval=_squeeze_aval,
    jvp=linear,
    transpose=lambda ct, x, *, dimensions: [expand_dims(ct, dimensions)],
    batch=_squeeze_batch,
    lower=lambda ctx, x, *, dimensions: write_reshape(ctx, x, ctx.out),
    exact=exact.squeeze,
)


@ir.may_return_operand
def squeeze(array: ArrayLike, dimensions: Sequence[int]) -> Array:
    """Remove dimensions of size 1.

    Args:
      array: an array of any dtype.
      dimensions: which to remove; negative ones count from the end.

    Returns:
      An array of the same elements without these dimensions.

    Raises:
      ValueError: if a dimension is given twice, is out of bounds or has another size.

    Example:
      >>> import numpy as np
      >>> from ricci import lax
      >>> lax.squeeze(np.ones((1, 2, 1)), (0, -1)).shape
      (2,)
    """
    shape = shape_of(array)
    dims = tuple(canonical_axis(d, len(shape)) for d in dimensions)
    if len(set(dims)) != len(dims):
        raise ValueError(f"squeeze: dimensions {dims} name one dimension twice.")
    _check_ones(shape, dims)
    return ir.as_array(array) if not dims else squeeze_p.bind(array, dimensions=dims)


# collapse


@ir.may_return_operand
def collapse(operand: ArrayLike, start_dimension: int, stop_dimension: int | None = None) -> Array:
    """Merge a range of dimensions into one; an empty range inserts a dimension of size 1.

    Args:
      operand: an array.
      start_dimension, stop_dimension: the range, as in a slice of the shape.

    Returns:
      An array of the same elements, whose dimensions in the range are one.

    Raises:
      ValueError: if the range is not one.

    Example:
      >>> import numpy as np
      >>> from ricci import lax
      >>> lax.collapse(np.ones((2, 3, 4)), 1).shape
      (2, 12)
    """
    shape = shape_of(operand)
    start, stop, _ = slice(start_dimension, stop_dimension).indices(len(shape))
    if stop < start:
        raise ValueError(
            f"collapse: from dimension {start_dimension} to {stop_dimension} is not a range of "
            f"dimensions of shape {shape}."
        )
    size = 1
    for n in shape[start:stop]:
        size *= n
    return reshape(operand, (*shape[:start], size, *shape[stop:]))
