"""Rules of operations whose positions are values.

What happens at a position out of bounds is decided by the length of the array that the function
has, not by the size of the padded one. So positions along padded dimensions are brought into
bounds, or out of all bounds, before they are used. Updates at positions that are padding themselves
go out of bounds, where they are dropped.
"""

from typing import Any

import numpy as np

from ricci_ir import Array, ArrayLike, Primitive, ShapedArray, is_symbolic_dim
from ricci_lax import (
    GatherScatterMode,
    bitwise_or,
    broadcast_in_dim,
    clamp,
    concatenate,
    convert_element_type,
    dynamic_slice,
    dynamic_slice_p,
    dynamic_update_slice,
    dynamic_update_slice_p,
    full,
    gather_p,
    gt,
    lt,
    pad,
    reshape,
    scatter_add_p,
    scatter_max_p,
    scatter_min_p,
    scatter_mul_p,
    scatter_p,
    scatter_sub_p,
    select,
    sub,
)
from ricci_lax import slice as lax_slice
from ricci_lax.authoring import highest, lowest

from ._extents import is_padded
from ._placing import index
from ._walk import PaddingRule, Site

__all__ = ["indexing_rules"]

# A position that is outside of every array.
_NOWHERE = np.int32(np.iinfo(np.int32).max)


def _starts(site: Site, aval: ShapedArray, sizes: Any, starts: Any) -> list[Any]:
    """The positions of one slice of an array, moved into the bounds that the function has."""
    found = []
    for n, size, start in zip(aval.shape, sizes, starts, strict=True):
        if is_symbolic_dim(n) or is_symbolic_dim(size):
            start = _int32(start)
            last = sub(index(site.extents.length(n)), index(site.extents.length(size)))
            start = clamp(np.int32(0), start, last)
        found.append(start)
    # The positions of one slice have one dtype.
    return [_int32(start) for start in found]


def _int32(x: Array) -> Array:
    return convert_element_type(x, np.dtype(np.int32))


def _longer(x: Any, aval: ShapedArray, sizes: Any, site: Site) -> Array:
    """An array with room for a slice whose size is a length, at any position."""
    more = [
        site.extents.size(size) if is_symbolic_dim(size) and size is not n else 0
        for n, size in zip(aval.shape, sizes, strict=True)
    ]
    return pad(x, np.zeros((), x.dtype)[()], [(0, m, 0) for m in more]) if any(more) else x


def _dynamic_slice(site: Site, x: Array, *starts: ArrayLike) -> Array:
    aval, sizes = site.ins[0], site.params["slice_sizes"]
    found = _starts(site, aval, sizes, starts)
    return dynamic_slice(_longer(x, aval, sizes, site), found, site.extents.shape(sizes))


def _dynamic_update_slice(site: Site, x: Array, update: Array, *starts: ArrayLike) -> Array:
    aval, part = site.ins[0], site.ins[1]
    found = _starts(site, aval, part.shape, starts)
    longer = _longer(x, aval, part.shape, site)
    mask = site.extents.mask(part, range(len(part.shape)))
    if mask is not None:  # the padding of the update leaves what is there
        update = select(mask, update, dynamic_slice(longer, found, update.shape))
    written = dynamic_update_slice(longer, update, found)
    return lax_slice(written, [0] * len(x.shape), x.shape) if longer is not x else written


def _bounded(
    site: Site, indices: Any, operand: ShapedArray, axes: Any, sizes: Any, mode: object, drop: bool
) -> Array:
    """Positions along axes of an operand, judged by the lengths of its dimensions.

    Args:
      indices: an array whose last dimension has a position for each of ``axes``.
      sizes: how much is read or written along each dimension of the operand.
      drop: whether all positions out of bounds are to be dropped.
    """
    padded = [is_symbolic_dim(operand.shape[a]) or is_symbolic_dim(sizes[a]) for a in axes]
    if not axes or not (drop or any(padded)):
        return indices
    length = site.extents.length
    lasts = [sub(index(length(operand.shape[a])), index(length(sizes[a]))) for a in axes]
    last = concatenate([broadcast_in_dim(x, (1,), ()) for x in lasts], 0)
    indices = _as_int32(indices)
    last = broadcast_in_dim(last, indices.shape, (len(indices.shape) - 1,))
    zero = full(indices.shape, 0, np.dtype(np.int32))
    if mode is GatherScatterMode.CLIP:
        return clamp(zero, indices, last)
    outside = bitwise_or(lt(indices, zero), gt(indices, last))
    return select(outside, full(indices.shape, _NOWHERE, np.dtype(np.int32)), indices)


def _as_int32(indices: Any) -> Array:
    """Positions as 32-bit integers; those that these cannot hold become out of bounds."""
    if indices.dtype == np.int32:
        return indices
    if indices.dtype.itemsize < 4:
        return _int32(indices)
    most = full(indices.shape, int(_NOWHERE), indices.dtype)
    if indices.dtype.kind == "u":
        return _int32(select(gt(indices, most), most, indices))
    least = full(indices.shape, -int(_NOWHERE), indices.dtype)
    return _int32(clamp(least, indices, most))


def _gather(site: Site, x: Array, indices: Array) -> Array:
    params, aval = site.params, site.ins[0]
    sizes, axes = params["slice_sizes"], params["dimension_numbers"].start_index_map
    mode = params["mode"]
    if mode is GatherScatterMode.PROMISE_IN_BOUNDS:
        mode = GatherScatterMode.CLIP  # what the compiler does where the promise does not hold
    indices = _bounded(site, indices, aval, axes, sizes, mode, False)
    return site.bind(_longer(x, aval, sizes, site), indices)


# What an update leaves as it was, by operation; a plain scatter has no such value.
_identities = {
    scatter_add_p: lambda dtype: 0,
    scatter_sub_p: lambda dtype: 0,
    scatter_mul_p: lambda dtype: 1,
    scatter_min_p: highest,
    scatter_max_p: lowest,
}


def _scatter(site: Site, x: Array, indices: Array, updates: Array) -> Array:
    params, aval, update = site.params, site.ins[0], site.ins[2]
    numbers = params["dimension_numbers"]
    absent = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
    windows = iter(numbers.update_window_dims)
    sizes = [1 if i in absent else update.shape[next(windows)] for i in range(len(aval.shape))]
    axes = numbers.scatter_dims_to_operand_dims
    scattered = site.ins[1].shape[:-1]
    mask = site.extents.mask(site.ins[1], range(len(scattered)))
    if axes:
        indices = _bounded(site, indices, aval, axes, sizes, params["mode"], mask is not None)
    longer = _longer(x, aval, sizes, site)
    if longer is not x:
        updates = _without_padding(site, longer, indices, updates, sizes)
    if axes and mask is not None:
        indices = select(mask, indices, full(indices.shape, _NOWHERE, np.dtype(np.int32)))
    changed = axes and (mask is not None or is_padded(aval))
    result = site.bind(
        longer,
        indices,
        updates,
        mode=GatherScatterMode.FILL_OR_DROP if changed else params["mode"],
        unique_indices=params["unique_indices"] and mask is None,
        indices_are_sorted=params["indices_are_sorted"] and mask is None,
    )
    return lax_slice(result, [0] * len(x.shape), x.shape) if longer is not x else result


def _without_padding(site: Site, x: Array, indices: Array, updates: Array, sizes: Any) -> Array:
    """Updates whose padding, inside of their windows, changes nothing."""
    numbers, update = site.params["dimension_numbers"], site.ins[2]
    windows = numbers.update_window_dims
    identity = _identities.get(site.eqn.primitive)
    if identity is not None:
        return site.masked(updates, update, identity(update.dtype), windows)
    if len(site.ins[1].shape) != 1 or numbers.inserted_window_dims:
        site.refuse(
            "several slices whose size is a length are written at once",
            "write one slice, with .at[start:].set or dynamic_update_slice",
        )
    starts: list[Any] = [np.int32(0)] * len(sizes)
    for i, axis in enumerate(numbers.scatter_dims_to_operand_dims):
        starts[axis] = reshape(lax_slice(indices, [i], [i + 1]), ())
    present = dynamic_slice(x, starts, updates.shape)
    mask: Any = site.extents.mask(update, windows)
    return select(mask, updates, present)


indexing_rules: dict[Primitive, PaddingRule] = {
    dynamic_slice_p: _dynamic_slice,
    dynamic_update_slice_p: _dynamic_update_slice,
    gather_p: _gather,
    **dict.fromkeys(
        (scatter_p, scatter_add_p, scatter_sub_p, scatter_mul_p, scatter_min_p, scatter_max_p),
        _scatter,
    ),
}
