"""Slicing, reversal, gathers and concatenation of BCOO arrays."""

from collections.abc import Sequence
from typing import Any

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_batching import vmap
from ricci_ir import Array, ArrayLike, Shape, composite
from ricci_sparse.layouts import SparseInfo

from ._array import BCOO
from ._dimensions import bcoo_update_layout
from ._layout import properties_of, split_shape, whole_batches
from ._products import reduced

__all__ = ["bcoo_concatenate", "bcoo_dynamic_slice", "bcoo_gather", "bcoo_rev", "bcoo_slice"]


def bcoo_slice(
    mat: BCOO,
    *,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None = None,
) -> BCOO:
    """A slice of the array: see ``lax.slice``.

    Args:
      mat: the array.
      start_indices, limit_indices: the first index and the end, for each dimension.
      strides: the steps; 1 by default.

    Returns:
      A BCOO array.

    Raises:
      ValueError: if they are out of bounds of the shape.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental import sparse
      >>> M = sparse.BCOO.fromdense(jnp.array([[0, 2], [1, 0]]))
      >>> sparse.bcoo_slice(M, start_indices=(0, 1), limit_indices=(2, 2)).todense().tolist()
      [[2], [0]]
    """
    start, limit = tuple(map(int, start_indices)), tuple(map(int, limit_indices))
    step = (1,) * mat.ndim if strides is None else tuple(map(int, strides))
    fit = len(start) == len(limit) == len(step) == mat.ndim
    if not fit or any(
        not 0 <= a <= b <= n or s < 1
        for a, b, n, s in zip(start, limit, mat.shape, step, strict=True)
    ):
        raise ValueError(
            f"bcoo_slice: invalid indices. Got start_indices={start}, limit_indices={limit}, "
            f"strides={step} and shape={mat.shape}."
        )
    data, indices = _slice(
        mat.data, mat.indices, shape=mat.shape, start=start, limit=limit, step=step
    )
    shape = tuple(-(-(b - a) // s) for a, b, s in zip(start, limit, step, strict=True))
    return BCOO((data, indices), shape=shape)


@composite("bcoo_slice")
def _slice(
    data: Array, indices: Array, *, shape: Shape, start: Shape, limit: Shape, step: Shape
) -> tuple[Array, Array]:
    n_batch, n_sparse, n_dense, _ = properties_of(indices, shape)
    cut = n_batch + n_sparse
    bounds = list(zip(start, limit, step, strict=True))
    data = data[(*_batch_slices(data, bounds[:n_batch]), slice(None), *_slices(bounds[cut:]))]
    indices = indices[_batch_slices(indices, bounds[:n_batch])]
    a, b, s = (
        jnp.broadcast_to(
            jnp.array([bound[i] for bound in bounds[n_batch:cut]], indices.dtype), indices.shape
        )
        for i in range(3)
    )
    # An index stays if it is a start plus a multiple of the step; its new position is that
    # multiple. Others become padding, so the number of stored elements does not change.
    in_slice = (indices >= a) & (indices < b) & ((indices - a) % s == 0)
    new = tuple(-(-(b - a) // s) for a, b, s in bounds)
    return _masked(data, (indices - a) // s, jnp.all(in_slice, axis=-1), new)


def _slices(bounds: Sequence[tuple[int, int, int]]) -> tuple[slice, ...]:
    return tuple(slice(*bound) for bound in bounds)


def _batch_slices(x: Array, bounds: Sequence[tuple[int, int, int]]) -> tuple[slice, ...]:
    """The slices of batches; a part of size 1 is not sliced, unless the slice is empty."""
    return tuple(
        slice(*bound) if x.shape[d] != 1 or bound[1] <= bound[0] else slice(None)
        for d, bound in enumerate(bounds)
    )


def _masked(data: Array, indices: Array, selected: Array, shape: Shape) -> tuple[Array, Array]:
    """Make the elements outside of a mask padding of zeros."""
    n_batch, n_sparse, n_dense, _ = properties_of(indices, shape)
    sizes = split_shape(shape, n_batch, n_sparse)[1]
    indices = jnp.where(selected[..., None], indices, jnp.array(sizes, indices.dtype))
    mask = selected.reshape(*selected.shape, *(1,) * n_dense)
    data = jnp.where(mask, data, jnp.zeros((), data.dtype))
    return reduced(data, indices, SparseInfo(tuple(shape)))


def bcoo_dynamic_slice(mat: BCOO, start_indices: Sequence[Any], slice_sizes: Sequence[int]) -> BCOO:
    """A slice at computed positions: see ``lax.dynamic_slice``.

    Args:
      mat: the array.
      start_indices: the first index, for each dimension; clamped so that the slice is in bounds.
      slice_sizes: the shape of the slice.

    Returns:
      A BCOO array of shape ``slice_sizes``.

    Raises:
      ValueError: if there is not one position for each dimension.
      TypeError: if the slice is larger than the array.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental import sparse
      >>> M = sparse.BCOO.fromdense(jnp.array([[0, 2], [1, 0]]))
      >>> sparse.bcoo_dynamic_slice(M, (0, 1), slice_sizes=(2, 1)).todense().tolist()
      [[2], [0]]
    """
    sizes = tuple(map(int, slice_sizes))
    starts = [jnp.asarray(i) for i in start_indices]
    if not len(starts) == len(sizes) == mat.ndim:
        raise ValueError(
            f"bcoo_dynamic_slice: shape {mat.shape} needs as many start indices and sizes, got "
            f"{len(starts)} and {len(sizes)}."
        )
    if any(not 0 <= n <= whole for n, whole in zip(sizes, mat.shape, strict=True)):
        raise TypeError(
            "bcoo_dynamic_slice: slice_sizes must be less than or equal to the operand's shape, "
            f"got {sizes} for shape {mat.shape}."
        )
    data, indices = _dynamic_slice(mat.data, mat.indices, *starts, shape=mat.shape, sizes=sizes)
    return BCOO((data, indices), shape=sizes)


@composite("bcoo_dynamic_slice")
def _dynamic_slice(
    data: Array, indices: Array, *starts: Array, shape: Shape, sizes: Shape
) -> tuple[Array, Array]:
    n_batch, n_sparse, n_dense, nse = properties_of(indices, shape)
    cut = n_batch + n_sparse
    # As in lax, a negative position counts from the end, and then the slice is clamped.
    begin = [
        jnp.clip(jnp.where(i < 0, i + n, i), 0, n - size).astype(jnp.int32)
        for i, n, size in zip(starts, shape, sizes, strict=True)
    ]
    zero = jnp.zeros((), jnp.int32)

    def batches(x: Array, trailing: Shape, at: Sequence[Array]) -> Array:
        whole = [x.shape[d] == 1 for d in range(n_batch)]
        first = [zero if w else b for w, b in zip(whole, begin, strict=False)]
        batch_sizes = [1 if w and n else n for w, n in zip(whole, sizes, strict=False)]
        return lax.dynamic_slice(x, [*first, *at], [*batch_sizes, *trailing])

    data = batches(data, (nse, *sizes[cut:]), [zero, *begin[cut:]])
    indices = batches(indices, (nse, n_sparse), [zero, zero])
    if not n_sparse:
        return data, indices
    first = jnp.stack(begin[n_batch:cut]).astype(indices.dtype)
    end = first + jnp.array(sizes[n_batch:cut], indices.dtype)
    a, end = jnp.broadcast_to(first, indices.shape), jnp.broadcast_to(end, indices.shape)
    in_slice = jnp.all((indices >= a) & (indices < end), axis=-1)
    return _masked(data, indices - a, in_slice, sizes)


def bcoo_rev(operand: BCOO, dimensions: Sequence[int]) -> BCOO:
    """Reverse dimensions of the array: see ``lax.rev``.

    Args:
      operand: the array.
      dimensions: the dimensions to reverse.

    Returns:
      A BCOO array.

    Raises:
      TypeError: if one is not a dimension of the array.
      ValueError: if one is given twice.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental import sparse
      >>> M = sparse.BCOO.fromdense(jnp.array([[0, 2], [1, 0]]))
      >>> sparse.bcoo_rev(M, dimensions=(1,)).todense().tolist()
      [[2, 0], [0, 1]]
    """
    dims = tuple(map(int, dimensions))
    if len(set(dims)) < len(dims):
        raise ValueError(f"rev dimensions must be unique, got {dims}.")
    if any(not 0 <= d < operand.ndim for d in dims):
        raise TypeError(
            f"rev dimensions must all be less than operand ndim, got dimensions {dims} for operand "
            f"ndim {operand.ndim}."
        )
    data, indices = _rev(operand.data, operand.indices, shape=operand.shape, dims=dims)
    return BCOO((data, indices), shape=operand.shape)


@composite("bcoo_rev")
def _rev(
    data: Array, indices: Array, *, shape: Shape, dims: tuple[int, ...]
) -> tuple[Array, Array]:
    n_batch, n_sparse, _, _ = properties_of(indices, shape)
    batch = [d for d in dims if d < n_batch]
    dense = [d - n_sparse + 1 for d in dims if d >= n_batch + n_sparse]
    data, indices = lax.rev(data, [*batch, *dense]), lax.rev(indices, batch)
    columns = []
    for d in range(n_sparse):
        column, size = indices[..., d], shape[n_batch + d]
        if d + n_batch in dims:
            # Padding stays out of bounds: an index outside on either side becomes the size.
            # Position i from the front is size − 1 − i from the back.
            turned = (size - 1) - column
            column = jnp.where((column < 0) | (turned < 0), size, turned).astype(column.dtype)
        columns.append(column)
    return data, jnp.stack(columns, axis=-1) if columns else indices


def bcoo_gather(
    operand: BCOO,
    start_indices: Array,
    dimension_numbers: lax.GatherDimensionNumbers,
    slice_sizes: Shape,
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: str | lax.GatherScatterMode | None = None,
    fill_value: ArrayLike | None = None,
) -> BCOO:
    """Gather slices at computed positions: see ``lax.gather``.

    Args:
      operand: the array.
      start_indices: the positions, whose components are in the last dimension.
      dimension_numbers: which dimension is which. The dimensions of positions are batches of the
        result if they come first in it; else the result has no batches.
      slice_sizes: the shape of each slice.
      unique_indices, indices_are_sorted: not used.
      mode: how positions out of bounds are treated: they are clamped.
      fill_value: not used.

    Returns:
      A BCOO array.

    Raises:
      NotImplementedError: for other modes, and for dimension numbers that have batches.
    """
    numbers = dimension_numbers
    kind = None if mode is None else lax.GatherScatterMode.from_any(mode)
    if kind is lax.GatherScatterMode.FILL_OR_DROP and mode is not None:
        raise NotImplementedError("bcoo_gather: mode='fill' not yet supported.")
    at = jnp.asarray(start_indices)
    n_positions = at.ndim - 1
    if numbers.operand_batching_dims or numbers.start_indices_batching_dims:
        raise NotImplementedError("bcoo_gather: dimension numbers with batches.")
    slice_dims = [d for d in range(operand.ndim) if d not in numbers.collapsed_slice_dims]
    ndim = n_positions + len(slice_dims)
    positions = [d for d in range(ndim) if d not in numbers.offset_dims]
    sizes = tuple(map(int, slice_sizes))

    def one(index: Array) -> BCOO:
        starts: list[Any] = [0] * operand.ndim
        for i, d in enumerate(numbers.start_index_map):
            # As in lax.gather, a window that would leave the array is moved inside.
            starts[d] = jnp.clip(index[i], 0, operand.shape[d] - sizes[d])
        part = bcoo_dynamic_slice(operand, starts, sizes)
        shape = tuple(sizes[d] for d in slice_dims)
        return part if len(slice_dims) == operand.ndim else _without(part, numbers, shape)

    def parts(index: Array) -> tuple[Array, Array]:
        part = one(index)
        return part.data, part.indices

    # One slice for each position: the positions become batch dimensions of the result.
    gather: Any = parts
    for _ in range(n_positions):
        gather = vmap(gather)
    data, indices = gather(at)
    shape = (*at.shape[:-1], *(sizes[d] for d in slice_dims))
    result = BCOO((data, indices), shape=shape)
    if positions == list(range(n_positions)):
        return result
    # The order of dimensions may mix batches with others, which the layout does not allow: without
    # batches (and, if need be, without dense dimensions) any transposition is possible.
    behind = max(positions) >= ndim - result.n_dense
    result = bcoo_update_layout(
        result, n_batch=0, n_dense=0 if behind else result.n_dense, on_inefficient=None
    )
    sources = [*positions, *numbers.offset_dims]
    return result.transpose([sources.index(d) for d in range(ndim)])


def _without(part: BCOO, numbers: lax.GatherDimensionNumbers, shape: Shape) -> BCOO:
    """Remove the collapsed dimensions of a slice; padding along them becomes zeros."""
    n_batch, n_sparse = part.n_batch, part.n_sparse
    collapsed = set(numbers.collapsed_slice_dims)
    sparse = [d for d in range(n_sparse) if d + n_batch not in collapsed]
    batch = tuple(d for d in collapsed if d < n_batch)
    dense = tuple(d - n_sparse + 1 for d in collapsed if d >= n_batch + n_sparse)
    data = jnp.squeeze(part.data, (*batch, *dense))
    indices = jnp.squeeze(part.indices[..., sparse], batch)
    info = SparseInfo(shape)
    return BCOO(reduced(data, indices, info), shape=shape)


def bcoo_concatenate(operands: Sequence[BCOO], *, dimension: int) -> BCOO:
    """Concatenate arrays along a dimension: see ``lax.concatenate``.

    Args:
      operands: the arrays, of one layout.
      dimension: the dimension, which must not be a dense one.

    Returns:
      A BCOO array.

    Raises:
      ValueError: if there are none, one is not a BCOO array, or their layouts differ.
      TypeError: if the shapes or dtypes are incompatible.
      NotImplementedError: for a dense dimension.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental import sparse
      >>> M = sparse.BCOO.fromdense(jnp.array([[0, 2], [1, 0]]))
      >>> sparse.bcoo_concatenate([M, M], dimension=1).todense().tolist()
      [[0, 2, 0, 2], [1, 0, 1, 0]]
    """
    mats = list(operands)
    if not mats:
        raise ValueError("bcoo_concatenate requires a non-empty sequence of arrays.")
    if any(not isinstance(mat, BCOO) for mat in mats):
        kinds = ", ".join(type(mat).__name__ for mat in mats)
        raise ValueError(f"bcoo_concatenate takes a sequence of BCOO arrays, got {kinds}.")
    first = mats[0]
    axis = int(dimension)
    if not 0 <= axis < first.ndim:
        raise TypeError(
            f"bcoo_concatenate: dimension {axis} is out of bounds for shape {first.shape}."
        )
    others = [mat.shape[:axis] + mat.shape[axis + 1 :] for mat in mats]
    if any(mat.ndim != first.ndim for mat in mats) or len(set(others)) > 1:
        shapes = ", ".join(str(mat.shape) for mat in mats)
        raise TypeError(
            "Cannot concatenate arrays with shapes that differ in dimensions other than the one "
            f"being concatenated: dimension {axis} of {shapes}."
        )
    if len({mat.dtype for mat in mats}) > 1:
        names = ", ".join(mat.dtype.name for mat in mats)
        raise TypeError(f"bcoo_concatenate: the arrays must have the same dtype, got {names}.")
    for name in ("n_batch", "n_dense"):
        if len({getattr(mat, name) for mat in mats}) > 1:
            raise ValueError(
                f"bcoo_concatenate requires inputs to have matching {name[2:]} dimensions."
            )
    if axis >= first.n_batch + first.n_sparse:
        raise NotImplementedError("bcoo_concatenate: concatenation along dense dimensions.")
    data, indices = (_along_batch if axis < first.n_batch else _along_sparse)(mats, axis)
    total = sum(mat.shape[axis] for mat in mats)
    shape = (*first.shape[:axis], total, *first.shape[axis + 1 :])
    return BCOO((data, indices), shape=shape)


def _along_batch(mats: Sequence[BCOO], axis: int) -> tuple[Array, Array]:
    parts = [_padded(mat, max(m.nse for m in mats)) for mat in mats]
    dtype = jnp.result_type(*(mat.indices.dtype for mat in mats))
    return (
        lax.concatenate([data for data, _ in parts], axis),
        lax.concatenate([indices.astype(dtype) for _, indices in parts], axis),
    )


def _padded(mat: BCOO, nse: int) -> tuple[Array, Array]:
    """The parts of an array, with whole batches and padding up to ``nse`` elements."""
    data, indices = whole_batches(mat.data, mat.indices, mat.shape)
    missing = nse - mat.nse
    if not missing:
        return data, indices
    n_batch = mat.n_batch
    sizes = mat.shape[n_batch : n_batch + mat.n_sparse]
    batch = mat.shape[:n_batch]
    zeros = jnp.zeros((*batch, missing, *data.shape[n_batch + 1 :]), data.dtype)
    outside = jnp.broadcast_to(jnp.array(sizes, indices.dtype), (*batch, missing, mat.n_sparse))
    return (lax.concatenate([data, zeros], n_batch), lax.concatenate([indices, outside], n_batch))


def _along_sparse(mats: Sequence[BCOO], axis: int) -> tuple[Array, Array]:
    n_batch = mats[0].n_batch
    total = sum(mat.shape[axis] for mat in mats)
    dtype = jnp.result_type(*(mat.indices.dtype for mat in mats))
    datas, places, offset = [], [], 0
    for mat in mats:
        data, indices = whole_batches(mat.data, mat.indices, mat.shape)
        column = axis - n_batch
        place = indices[..., column]
        # Padding of one array must not get an index inside the next one.
        inside = (place >= 0) & (place < mat.shape[axis])
        moved = jnp.where(inside, place.astype(dtype) + offset, total).astype(dtype)
        datas.append(data)
        places.append(indices.astype(dtype).at[..., column].set(moved))
        offset += mat.shape[axis]
    return lax.concatenate(datas, n_batch), lax.concatenate(places, n_batch)
