"""Gather: reading slices of an array at computed positions."""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

import ricci_ir as ir
from ricci_autodiff import cotangent_aval, is_undefined_primal, linear_given
from ricci_batching import move_dim
from ricci_lax.elementwise import add, lt, rem, select_n
from ricci_lax.elementwise._comparison import write_select
from ricci_lax.structure._broadcasting import expand_dims, zeros_of
from ricci_lax.structure._operand_types import array_aval, as_sizes, canonical_axis, shape_of
from ricci_lax.structure._transposing import lower_reduce
from ricci_stablehlo import Lowering, Value, write_gather

from . import _dimension_numbers as numbering
from ._joining import concatenate

__all__ = ["gather", "gather_p", "index_take"]


def _check_gather(
    operand: ir.ShapedArray,
    indices: ir.ShapedArray,
    dims: numbering.GatherDimensionNumbers,
    slice_sizes: ir.Shape,
) -> None:
    numbering.check_index_map(
        "gather", "start_index_map", dims.start_index_map, indices, operand.ndim
    )
    ndim = len(dims.offset_dims) + indices.ndim - 1
    numbering.check_dims("gather", "offset_dims", dims.offset_dims, ndim)
    numbering.check_dims("gather", "collapsed_slice_dims", dims.collapsed_slice_dims, operand.ndim)
    numbering.check_batching(
        "gather",
        (
            "collapsed_slice_dims",
            "start_index_map",
            "operand_batching_dims",
            "start_indices_batching_dims",
        ),
        dims.collapsed_slice_dims,
        dims.start_index_map,
        dims.operand_batching_dims,
        dims.start_indices_batching_dims,
        operand,
        indices,
    )
    if len(slice_sizes) != operand.ndim:
        raise TypeError(
            f"gather: slice_sizes has {len(slice_sizes)} entries for an operand of rank "
            f"{operand.ndim}."
        )
    for i, (size, bound) in enumerate(zip(slice_sizes, operand.shape, strict=True)):
        # An empty index array reads nothing, so any size fits.
        if size < 0 or (size > bound and indices.size):
            raise TypeError(
                f"gather: slice_sizes[{i}]={size} does not fit into a dimension of size {bound}."
            )
    for name in ("collapsed_slice_dims", "operand_batching_dims"):
        for d in getattr(dims, name):
            if slice_sizes[d] > 1 or (slice_sizes[d] != 1 and name == "collapsed_slice_dims"):
                raise TypeError(
                    f"gather: {name} drops dimension {d}, for which slice_sizes asks "
                    f"{slice_sizes[d]} elements. Ask for 1 there, or keep the dimension."
                )
    count = operand.ndim - len(dims.collapsed_slice_dims) - len(dims.operand_batching_dims)
    if len(dims.offset_dims) != count:
        raise TypeError(
            f"gather: offset_dims {tuple(dims.offset_dims)} must name one dimension of the result "
            f"for each of the {count} dimensions of a slice that are not collapsed."
        )


def _gather_aval(
    operand: ir.ShapedArray,
    indices: ir.ShapedArray,
    *,
    dimension_numbers: numbering.GatherDimensionNumbers,
    slice_sizes: ir.Shape,
    **params: object,
) -> ir.ShapedArray:
    dims = dimension_numbers
    _check_gather(operand, indices, dims, slice_sizes)
    left_out = {*dims.collapsed_slice_dims, *dims.operand_batching_dims}
    window = iter(n for i, n in enumerate(slice_sizes) if i not in left_out)
    batch = iter(indices.shape[:-1])
    ndim = len(dims.offset_dims) + indices.ndim - 1
    shape = tuple(next(window if d in dims.offset_dims else batch) for d in range(ndim))
    return operand.resized(shape)


def _gather_tangent(result, primals, tangents, *, fill_value, mode, **params):
    # Filled elements do not depend on the operand: their tangents are zero.
    fill = 0 if mode is numbering.FILL else None
    return gather_p.bind(tangents[0], primals[1], fill_value=fill, mode=mode, **params)


def _gather_batch(axis, args, batch_dims, *, dimension_numbers, slice_sizes, **params):
    operand, indices = args
    dims: numbering.GatherDimensionNumbers = dimension_numbers
    mapped, mapped_indices = (d is not None for d in batch_dims)
    if mapped:
        operand = move_dim(operand, batch_dims[0], 0)
        dims = dims._replace(
            collapsed_slice_dims=numbering.shifted(dims.collapsed_slice_dims),
            start_index_map=numbering.shifted(dims.start_index_map),
            operand_batching_dims=numbering.shifted(dims.operand_batching_dims),
        )
    if mapped_indices:
        indices = move_dim(indices, batch_dims[1], 0)
        dims = dims._replace(
            start_indices_batching_dims=numbering.shifted(dims.start_indices_batching_dims)
        )
    # A batch of indices alone is a further dimension of the indices; one of the operand alone is
    # read whole, as a dimension of each slice; and one of both pairs their examples.
    offset_dims = numbering.shifted(dims.offset_dims)
    if not mapped:
        dims = dims._replace(offset_dims=offset_dims)
        # The indices of a batch need not have the properties of each example's indices.
        params = {**params, "indices_are_sorted": False, "unique_indices": False}
    elif not mapped_indices:
        dims = dims._replace(offset_dims=(0, *offset_dims))
        slice_sizes = (axis.size, *slice_sizes)
    else:
        dims = dims._replace(
            offset_dims=offset_dims,
            operand_batching_dims=(0, *dims.operand_batching_dims),
            start_indices_batching_dims=(0, *dims.start_indices_batching_dims),
        )
        # An empty batch has no slice of size 1.
        slice_sizes = (min(1, axis.size), *slice_sizes)
    result = gather_p.bind(
        operand, indices, dimension_numbers=dims, slice_sizes=slice_sizes, **params
    )
    return result, 0


def _in_bounds(ctx: Lowering, indices: Value, bounds: Sequence[int]) -> Value:
    """For each index, whether all of its components are between 0 and their bounds."""
    ndim = len(indices.shape)
    kind = "UNSIGNED" if ir.issubdtype(indices.dtype, np.unsignedinteger) else "SIGNED"
    limit = ir.iinfo(indices.dtype).max
    # A bound that the indices' dtype cannot represent would wrap around; no index exceeds its
    # limit.
    clamped = [b if ir.is_symbolic_dim(b) else min(b, limit) for b in bounds]
    upper = ctx.integers(clamped, indices.dtype)
    upper = ctx.broadcast(upper, indices.shape, [ndim - 1])
    lower = ctx.broadcast(ctx.constant(np.zeros((), indices.dtype)), indices.shape, ())
    flags = indices.aval.update(dtype=np.dtype(bool))
    above = ctx.emit("stablehlo.compare GE,", [indices, lower], flags, f", {kind}", full=True)
    below = ctx.emit("stablehlo.compare LE,", [indices, upper], flags, f", {kind}", full=True)
    both = ctx.emit("stablehlo.and", [above, below], flags)
    return lower_reduce(ctx, "stablehlo.and", both, np.True_, [ndim - 1])


def _gather_lower(
    ctx: Lowering,
    operand: Value,
    indices: Value,
    *,
    dimension_numbers: numbering.GatherDimensionNumbers,
    slice_sizes: ir.Shape,
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: numbering.GatherScatterMode,
    fill_value: ir.ArrayLike | None,
) -> Value:
    out, dims = ctx.out, dimension_numbers
    if mode is numbering.GatherScatterMode.ONE_HOT:
        raise NotImplementedError('gather: mode "one_hot" cannot be lowered; use another mode')
    if 0 in out.shape:
        # A slice may be larger than an operand from which no element is read.
        return ctx.broadcast(ctx.constant(0, out.resized(())), out.shape, ())
    mask = None
    if mode is numbering.FILL:
        indices = numbering.comparable_indices(ctx, indices)
        bounds = [operand.shape[d] - slice_sizes[d] for d in dims.start_index_map]
        mask = _in_bounds(ctx, indices, bounds)
    numbers = numbering.dims_attribute(
        [
            ("offset_dims", dims.offset_dims),
            ("collapsed_slice_dims", dims.collapsed_slice_dims),
            ("operand_batching_dims", dims.operand_batching_dims),
            ("start_indices_batching_dims", dims.start_indices_batching_dims),
            ("start_index_map", dims.start_index_map),
        ],
        len(indices.shape) - 1,
    )
    result = write_gather(ctx, operand, indices, numbers, slice_sizes, out, indices_are_sorted)
    if mask is None:
        return result
    batch = [d for d in range(out.ndim) if d not in dims.offset_dims]
    # StableHLO moves slices into bounds: those that were outside are replaced afterwards.
    mask = ctx.broadcast(mask, out.shape, batch)
    scalar = ctx.constant(np.asarray(fill_value).astype(out.dtype), out.resized(()))
    return write_select(ctx, mask, result, ctx.broadcast(scalar, out.shape, ()))


def _gather_transpose(
    ct, operand, indices, *, dimension_numbers, fill_value, slice_sizes, **params
):
    if is_undefined_primal(indices):
        raise NotImplementedError("gather is not linear in its indices")
    # The fields of both correspond one to one: the slices that a gather reads are a scatter's
    # windows.
    dims = numbering.ScatterDimensionNumbers(*dimension_numbers)
    aval: Any = operand.aval.strip_weak_type()
    sharding = array_aval(ct).type_sharding
    if sharding is not None and sharding.sums[0]:
        aval = cotangent_aval(aval)
    # Scatter is defined on top of this module.
    into = ir.primitives["scatter-add"].bind(
        zeros_of(aval),
        indices,
        ct,
        dimension_numbers=dims,
        update_jaxpr=numbering.combiner(add, operand.aval.dtype),
        update_consts=(),
        **params,
    )
    return [into, None]


def _gather_factors(
    operand: ir.ShapedArray,
    indices: ir.ShapedArray,
    *,
    dimension_numbers: numbering.GatherDimensionNumbers,
    slice_sizes: ir.Shape,
    **params: object,
) -> ir.FactorMap:
    """The sharding factors: dimensions that are read whole, or are batches, may be sharded."""
    dims = dimension_numbers
    batches = {i: operand.ndim + i for i in range(indices.ndim - 1)}
    # Dimensions of the operand and the indices that pair up are one factor.
    paired = dict(zip(dims.operand_batching_dims, dims.start_indices_batching_dims, strict=True))
    factors = [
        batches[paired[i]] if i in paired else i if slice_sizes[i] == size else None
        for i, size in enumerate(operand.shape)
    ]
    gone = {*dims.collapsed_slice_dims, *dims.operand_batching_dims}
    offsets = iter([f for i, f in enumerate(factors) if i not in gone])
    batch_factors = iter(batches.values())
    rank = len(dims.offset_dims) + len(batches)
    result = tuple(
        next(offsets) if i in dims.offset_dims else next(batch_factors) for i in range(rank)
    )
    of_operand = tuple(
        None if i in dims.collapsed_slice_dims else factor for i, factor in enumerate(factors)
    )
    advice = "Specify the sharding of the result: x.at[index].get(out_sharding=P(...))."
    return ir.FactorMap((of_operand, (*batches.values(), None)), (result,), advice=advice)


def _gather_sums(
    *avals: ir.ShapedArray, mode: numbering.GatherScatterMode, **params: object
) -> ir.SumsRule:
    """Return the rule for unreduced terms, which are not filled: that takes two operations."""
    return ir.SumsRule("none" if mode is numbering.FILL else "all", beside=slice(1, 2))


gather_p: ir.Primitive = ir.define(
    "gather",
    sharding=ir.factors(_gather_factors),
    sums=_gather_sums,
    abstract_eval=_gather_aval,
    **linear_given(_gather_tangent),
    transpose=_gather_transpose,
    batch=_gather_batch,
    lower=_gather_lower,
)


def default_fill(dtype: ir.DTypeLike | ir.ExtendedDType) -> float | bool:
    """Return the default fill value: the element that is read out of bounds.

    Args:
      dtype: the dtype of the array that is read.

    Returns:
      NaN, the least number of a signed or the greatest of an unsigned integer dtype, or ``True``.

    Example:

      >>> from ricci_lax.authoring import default_fill
      >>> default_fill("uint8"), default_fill("int8")
      (255, -128)
    """
    if isinstance(dtype, ir.ExtendedDType):  # the numbers behind the elements
        dtype = dtype.physical_aval(ir.ShapedArray((), dtype)).dtype
    if ir.issubdtype(dtype, np.inexact):
        return np.nan
    if ir.issubdtype(dtype, np.signedinteger):
        return int(ir.iinfo(dtype).min)
    if ir.issubdtype(dtype, np.unsignedinteger):
        return int(ir.iinfo(dtype).max)
    return True


def _checked_fill(value: ir.ArrayLike, dtype: ir.DTypeLike | ir.ExtendedDType) -> complex:
    """A fill value as a Python scalar; an int may be out of range of the default dtype."""
    if isinstance(getattr(value, "dtype", None), ir.ExtendedDType):
        raise TypeError(
            f"gather: fill_value must be a number, got {array_aval(value).str_short()}. Read in "
            "another mode, and select among the results."
        )
    if np.ndim(value):
        raise ValueError(f"gather: fill_value must be a scalar, got shape {np.shape(value)}.")
    item = getattr(value, "item", None)
    number: complex = cast(complex, value) if item is None else item()
    takes_complex = ir.issubdtype(dtype, np.complexfloating) or dtype == np.bool_
    if isinstance(number, complex) and not takes_complex:
        raise TypeError(
            f"gather: fill_value={number} is complex and the array is of dtype {dtype}. Pass its "
            "real part."
        )
    return ir.static_number(number)


def gather(
    operand: ir.ArrayLike,
    start_indices: ir.ArrayLike,
    dimension_numbers: numbering.GatherDimensionNumbers,
    slice_sizes: Sequence[int],
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: str | numbering.GatherScatterMode | None = None,
    fill_value: ir.ArrayLike | None = None,
) -> ir.Array:
    """Read slices of an array, all of one size, each at a computed position.

    Args:
      operand: the array that is read.
      start_indices: integers; the last dimension holds the components of each position.
      dimension_numbers: which dimension is which.
      slice_sizes: the slices' shape, one size for each dimension of the operand.
      unique_indices, indices_are_sorted: promises about the positions, for speed.
      mode: the treatment of indices out of bounds; by default ``"promise_in_bounds"``.
      fill_value: the value read out of bounds in mode ``"fill"``; by default NaN, the least signed
        integer, the largest unsigned integer or true.

    Returns:
      An array with the batch dimensions of ``start_indices`` (all but its last) and the dimensions
      of the slices that are not left out, which are at ``offset_dims``; its dtype is the operand's.

    Raises:
      TypeError: if the dimension numbers do not fit the shapes.
      ValueError: if the indices are not integers, or the mode is unknown.

    Example:
      Rows at computed positions: each position is one index along dimension 0, and each slice a
      whole row without that dimension.

      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> x = jnp.array([[0, 1], [10, 11], [20, 21]])
      >>> rows = lax.GatherDimensionNumbers(
      ...     offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,)
      ... )
      >>> lax.gather(x, jnp.array([[2], [0]]), rows, slice_sizes=(1, 2)).tolist()
      [[20, 21], [0, 1]]
      >>> lax.gather(x, jnp.array([[5]]), rows, (1, 2), mode="fill", fill_value=-1).tolist()
      [[-1, -1]]

    Notes:
      With the default mode values at positions out of bounds are undefined. Brackets (``x[rows]``),
      which are gathers, default to ``"fill"``.

    See also:
      ``jnp.take``, ``jnp.take_along_axis``; ``scatter``.

    Source: StableHLO ``gather``.
    """
    if mode is None:
        mode = numbering.GatherScatterMode.PROMISE_IN_BOUNDS
    mode = numbering.GatherScatterMode.from_any(mode)
    if mode is not numbering.FILL:
        fill_value = None
    elif fill_value is None:
        fill_value = default_fill(array_aval(operand).dtype)
    else:
        fill_value = _checked_fill(fill_value, array_aval(operand).dtype)
    return gather_p.bind(
        operand,
        start_indices,
        dimension_numbers=numbering.dimension_tuple(dimension_numbers),
        slice_sizes=as_sizes(slice_sizes),
        unique_indices=bool(unique_indices),
        indices_are_sorted=bool(indices_are_sorted),
        mode=mode,
        fill_value=fill_value,
    )


def index_take(src: ir.ArrayLike, idxs: Sequence[ir.ArrayLike], axes: Sequence[int]) -> ir.Array:
    """The parts of an array at given positions along some of its axes.

    Args:
      src: an array.
      idxs: for each axis, an integer array of positions, all of one shape; they wrap around.
      axes: the axes.

    Returns:
      An array with the shape of the positions, followed by the remaining axes of ``src``.

    Raises:
      ValueError: if there is not one array of positions for each axis.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> x = jnp.arange(6).reshape(2, 3)
      >>> lax.index_take(x, (jnp.array([1, 0]), jnp.array([0, -1])), (0, 1)).tolist()
      [3, 2]
    """
    if len(idxs) != len(axes):
        raise ValueError(f"index_take: {len(idxs)} arrays of positions for {len(axes)} axes")
    shape, batch = shape_of(src), shape_of(idxs[0])
    axes = tuple(canonical_axis(axis, len(shape)) for axis in axes)
    positions = concatenate([expand_dims(i, (len(batch),)) for i in idxs], len(batch))
    dtype = array_aval(positions).dtype
    sizes = np.array([shape[axis] for axis in axes], dtype).reshape(*[1] * len(batch), -1)
    sizes = ir.unnarrowed(sizes)
    # The remainder has the sign of the position: negative ones count from the end.
    wrapped = rem(positions, sizes)
    if ir.issubdtype(dtype, np.signedinteger):
        wrapped = select_n(lt(wrapped, ir.exact_scalar(0, dtype)), wrapped, add(wrapped, sizes))
    offset_rank = len(shape) - len(axes)
    dims = numbering.GatherDimensionNumbers(
        offset_dims=tuple(range(len(batch), len(batch) + offset_rank)),
        collapsed_slice_dims=tuple(sorted(axes)),
        start_index_map=axes,
    )
    slice_sizes = [1 if d in axes else n for d, n in enumerate(shape)]
    return gather(src, wrapped, dims, slice_sizes)
