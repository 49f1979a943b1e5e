"""Padding rules of operations with computed positions: dynamic slices, gather and scatter.

Whether a position is out of bounds depends on the length of the function's array, not on the size
of the padded one. So positions along padded dimensions are clamped into
bounds, or moved out of all bounds, before they are used. Updates at positions that are padding
themselves are moved out of bounds, where they are dropped.
"""

from typing import Any

import numpy as np

import ricci_lax as lax
from ricci_ir import Array, ArrayLike, Primitive, ShapedArray, is_symbolic_dim
from ricci_lax.authoring import highest, lowest

from ._dynamic_moves import index
from ._extents import is_padded
from ._interpreter import PaddingRule, Site

__all__ = ["indexing_rules"]

# A position that is outside of every array.
_OUT_OF_BOUNDS = np.int32(np.iinfo(np.int32).max)


def _clamped_starts(site: Site, aval: ShapedArray, sizes: Any, starts: Any) -> list[Any]:
    """Clamp the start of a slice to the lengths of the function's array."""
    clamped = []
    for n, size, start in zip(aval.shape, sizes, starts, strict=True):
        if is_symbolic_dim(n) or is_symbolic_dim(size):
            start = _int32(start)
            last = lax.sub(index(site.extents.length(n)), index(site.extents.length(size)))
            start = lax.clamp(np.int32(0), start, last)
        clamped.append(start)
    # The positions of one slice have one dtype.
    return [_int32(start) for start in clamped]


def _int32(x: Array) -> Array:
    return lax.convert_element_type(x, np.dtype(np.int32))


def _extend(x: Any, aval: ShapedArray, sizes: Any, site: Site) -> Array:
    """Extend an array so that a slice of a symbolic size fits at any position."""
    more = [
        site.extents.size(size) if is_symbolic_dim(size) and size is not n else 0
        for n, size in zip(aval.shape, sizes, strict=True)
    ]
    return lax.pad(x, np.zeros((), x.dtype)[()], [(0, m, 0) for m in more]) if any(more) else x


def _dynamic_slice(site: Site, x: Array, *starts: ArrayLike) -> Array:
    aval, sizes = site.ins[0], site.params["slice_sizes"]
    clamped = _clamped_starts(site, aval, sizes, starts)
    return lax.dynamic_slice(_extend(x, aval, sizes, site), clamped, site.extents.shape(sizes))


def _dynamic_update_slice(site: Site, x: Array, update: Array, *starts: ArrayLike) -> Array:
    aval, part = site.ins[0], site.ins[1]
    clamped = _clamped_starts(site, aval, part.shape, starts)
    longer = _extend(x, aval, part.shape, site)
    mask = site.extents.mask(part, range(len(part.shape)))
    if mask is not None:  # the padding of the update must not change the operand
        update = lax.select(mask, update, lax.dynamic_slice(longer, clamped, update.shape))
    written = lax.dynamic_update_slice(longer, update, clamped)
    return lax.slice(written, [0] * len(x.shape), x.shape) if longer is not x else written


def _bound_positions(
    site: Site, indices: Any, operand: ShapedArray, axes: Any, sizes: Any, mode: object, drop: bool
) -> Array:
    """Clamp or drop positions along axes of an operand, by the lengths of its dimensions.

    Args:
      indices: an array whose last dimension has a position for each of ``axes``.
      sizes: the sizes of slices along each dimension of the operand.
      drop: whether all positions out of bounds are dropped.
    """
    # The compiler bounds positions by the sizes of the padded arrays. A position in the padding is
    # out of bounds for the function, so it is clamped to the length, or moved outside of the array.
    padded = [is_symbolic_dim(operand.shape[a]) or is_symbolic_dim(sizes[a]) for a in axes]
    if not axes or not (drop or any(padded)):
        return indices
    length = site.extents.length
    lasts = [lax.sub(index(length(operand.shape[a])), index(length(sizes[a]))) for a in axes]
    last = lax.concatenate([lax.broadcast_in_dim(x, (1,), ()) for x in lasts], 0)
    indices = _as_int32(indices)
    last = lax.broadcast_in_dim(last, indices.shape, (len(indices.shape) - 1,))
    zero = lax.full(indices.shape, 0, np.dtype(np.int32))
    if mode is lax.GatherScatterMode.CLIP:
        return lax.clamp(zero, indices, last)
    outside = lax.bitwise_or(lax.lt(indices, zero), lax.gt(indices, last))
    return lax.select(outside, lax.full(indices.shape, _OUT_OF_BOUNDS, np.dtype(np.int32)), indices)


def _as_int32(indices: Any) -> Array:
    """Convert positions to int32; those beyond its range stay out of bounds."""
    if indices.dtype == np.int32:
        return indices
    if indices.dtype.itemsize < 4:
        return _int32(indices)
    most = lax.full(indices.shape, int(_OUT_OF_BOUNDS), indices.dtype)
    if indices.dtype.kind == "u":
        return _int32(lax.select(lax.gt(indices, most), most, indices))
    least = lax.full(indices.shape, -int(_OUT_OF_BOUNDS), indices.dtype)
    return _int32(lax.clamp(least, indices, most))


def _gather(site: Site, x: Array, indices: Array) -> Array:
    params, aval = site.params, site.ins[0]
    sizes, axes = params["slice_sizes"], params["dimension_numbers"].start_index_map
    mode = params["mode"]
    if mode is lax.GatherScatterMode.PROMISE_IN_BOUNDS:
        mode = lax.GatherScatterMode.CLIP  # as the compiler does if the promise is broken
    indices = _bound_positions(site, indices, aval, axes, sizes, mode, False)
    return site.bind(_extend(x, aval, sizes, site), indices)


# The update that changes nothing, by operation; a plain scatter has none.
_identities = {
    lax.scatter_add_p: lambda dtype: 0,
    lax.scatter_sub_p: lambda dtype: 0,
    lax.scatter_mul_p: lambda dtype: 1,
    lax.scatter_min_p: highest,
    lax.scatter_max_p: lowest,
}


def _scatter(site: Site, x: Array, indices: Array, updates: Array) -> Array:
    params, aval, update = site.params, site.ins[0], site.ins[2]
    numbers = params["dimension_numbers"]
    absent = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
    windows = iter(numbers.update_window_dims)
    sizes = [1 if i in absent else update.shape[next(windows)] for i in range(len(aval.shape))]
    axes = numbers.scatter_dims_to_operand_dims
    # Padding enters a scatter in three ways. Padded positions (``mask``) become out of bounds, so
    # that they are dropped; positions are checked against the true size, not the padded one; and
    # windows that reach into the padding change nothing there (``_mask_windows``).
    scattered = site.ins[1].shape[:-1]
    mask = site.extents.mask(site.ins[1], range(len(scattered)))
    if axes:
        indices = _bound_positions(
            site, indices, aval, axes, sizes, params["mode"], mask is not None
        )
    longer = _extend(x, aval, sizes, site)
    if longer is not x:
        updates = _mask_windows(site, longer, indices, updates, sizes)
    if axes and mask is not None:
        indices = lax.select(
            mask, indices, lax.full(indices.shape, _OUT_OF_BOUNDS, np.dtype(np.int32))
        )
    # Out of bounds, the mode of the call may clip. Dropped positions are all the same number, hence
    # neither unique nor sorted.
    changed = axes and (mask is not None or is_padded(aval))
    result = site.bind(
        longer,
        indices,
        updates,
        mode=lax.GatherScatterMode.FILL_OR_DROP if changed else params["mode"],
        unique_indices=params["unique_indices"] and mask is None,
        indices_are_sorted=params["indices_are_sorted"] and mask is None,
    )
    return lax.slice(result, [0] * len(x.shape), x.shape) if longer is not x else result


def _mask_windows(site: Site, x: Array, indices: Array, updates: Array, sizes: Any) -> Array:
    """Mask the padding inside the windows of updates, so that it changes nothing."""
    numbers, update = site.params["dimension_numbers"], site.ins[2]
    windows = numbers.update_window_dims
    identity = _identities.get(site.eqn.primitive)
    if identity is not None:
        return site.masked(updates, update, identity(update.dtype), windows)
    if len(site.ins[1].shape) != 1 or numbers.inserted_window_dims:
        site.refuse(
            "several slices of a symbolic size are written at once",
            "write one slice, with .at[start:].set or dynamic_update_slice",
        )
    starts: list[Any] = [np.int32(0)] * len(sizes)
    for i, axis in enumerate(numbers.scatter_dims_to_operand_dims):
        starts[axis] = lax.reshape(lax.slice(indices, [i], [i + 1]), ())
    present = lax.dynamic_slice(x, starts, updates.shape)
    mask: Any = site.extents.mask(update, windows)
    return lax.select(mask, updates, present)


indexing_rules: dict[Primitive, PaddingRule] = {
    lax.dynamic_slice_p: _dynamic_slice,
    lax.dynamic_update_slice_p: _dynamic_update_slice,
    lax.gather_p: _gather,
    **dict.fromkeys(
        (
            *(lax.scatter_p, lax.scatter_add_p, lax.scatter_sub_p, lax.scatter_mul_p),
            *(lax.scatter_min_p, lax.scatter_max_p),
        ),
        _scatter,
    ),
}
