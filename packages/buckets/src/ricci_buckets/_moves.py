"""Padding rules of operations that move elements to static positions."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import ricci_lax as lax
from ricci_ir import Array, Primitive, is_symbolic_dim

from ._dynamic_moves import index, reshape_padded, slice_at, take, write_at
from ._interpreter import PaddingRule, Site, padding_stays

__all__ = ["move_rules", "pad_in_front"]


def _size(site: Site) -> Any:
    """The length of a dimension as a traced number, in place of its size."""
    length = index(site.extents.length(site.params["dim"]))
    out = site.outs[0]
    return lax.convert_element_type_p.bind(
        length, new_dtype=out.dtype, weak_type=True, sharding=None
    )


def _slice(site: Site, x: Array) -> Array:
    params, out = site.params, site.outs[0]
    steps = params["strides"] or (1,) * len(out.shape)
    # As many elements as the result has room for: its padding is filled with the elements behind
    # the slice, whatever these are.
    starts: list[int] = []
    limits: list[int] = []
    for axis, start in enumerate(params["start_indices"]):
        count = site.extents.size(out.shape[axis])
        span = (count - 1) * steps[axis] + 1 if count else 0
        if is_symbolic_dim(start):
            x = slice_at(x, axis, site.extents.length(start), span)
            start = 0
        starts.append(start)
        limits.append(start + span)
    return lax.slice(x, starts, limits, steps)


def _split(site: Site, x: Array) -> Any:
    axis = site.params["axis"]
    if not is_symbolic_dim(site.ins[0].shape[axis]):
        return site.bind(x)
    parts, start = [], 0
    for size in site.params["sizes"]:
        parts.append(slice_at(x, axis, site.extents.length(start), site.extents.size(size)))
        start = start + size
    return parts


def _pad(site: Site, x: Array, fill: Array) -> Array:
    aval, out = site.ins[0], site.outs[0]
    x = site.masked(x, aval, fill)
    for axis, (low, _, interior) in enumerate(site.params["padding_config"]):
        padded_size = site.extents.size(out.shape[axis])
        if is_symbolic_dim(low):
            x = pad_in_front(site, x, axis, low, interior, padded_size, fill)
            continue
        size = x.shape[axis] + max(x.shape[axis] - 1, 0) * interior
        edge = (low, padded_size - size - low, interior)
        if edge != (0, 0, 0):
            x = lax.pad(x, fill, [edge if i == axis else (0, 0, 0) for i in range(len(x.shape))])
    return x


def pad_in_front(
    site: Site, x: Any, axis: int, low: object, interior: int, padded_size: int, fill: Array
) -> Array:
    """Pad an array with a symbolic number of fill values in front.

    Args:
      x: an array whose padding is the fill value.
      interior: the number of fill values between two elements.
      padded_size: the size of the result.
    """
    if not site.extents.never_negative(low):
        site.refuse(
            f"whether elements are added or removed in front, {low}, depends on the lengths",
            "decide it by constraints=",
        )
    if interior:
        edges = [(0, 0, interior if i == axis else 0) for i in range(len(x.shape))]
        x = lax.pad(x, fill, edges)
    shape = [padded_size if i == axis else n for i, n in enumerate(x.shape)]
    return write_at(x, site.filled(fill, shape, site.ins[0]), axis, site.extents.length(low))


def _concatenate(site: Site, *xs: Array) -> Array:
    axis = site.params["dimension"]
    if not any(is_symbolic_dim(aval.shape[axis]) for aval in site.ins[:-1]):
        return site.bind(*xs)
    shape = site.extents.shape(site.outs[0].shape)
    result: Any = site.filled(0, shape, site.outs[0])
    start: Any = np.int32(0)
    # Each array is written behind the valid elements of the previous one, over its padding.
    for x, aval in zip(xs, site.ins, strict=True):
        result = write_at(x, result, axis, start)
        start = lax.add(start, index(site.extents.length(aval.shape[axis])))
    return result


def _rev(site: Site, x: Array) -> Array:
    x = lax.rev(x, site.params["dimensions"])
    for axis in site.params["dimensions"]:
        n = site.ins[0].shape[axis]
        if is_symbolic_dim(n):  # the padding is in front now
            size = site.extents.size(n)
            x = slice_at(x, axis, lax.sub(np.int32(size), site.extents.length(n)), size)
    return x


def _tile(site: Site, x: Array) -> Array:
    aval, reps = site.ins[0], site.params["reps"]
    for axis, count in enumerate(reps):
        n = aval.shape[axis]
        if is_symbolic_dim(n) and (is_symbolic_dim(count) or count != 1):
            # The repetitions follow each other without the padding of the array: element i of the
            # result is element i % length.
            size = site.extents.size(n * count)
            positions: Any = lax.broadcasted_iota(np.int32, (size,), 0)
            length = site.filled(site.extents.length(n), (size,), positions)
            x = take(x, lax.rem(positions, length), axis)
            reps = (*reps[:axis], 1, *reps[axis + 1 :])
    return site.bind(x, reps=tuple(map(site.concrete, reps)))


def _reshape(site: Site, x: Array) -> Array:
    old, new = site.ins[0].shape, site.outs[0].shape
    order: Sequence[int] | None = site.params["dimensions"]
    if order is not None and tuple(order) != tuple(range(len(old))):
        x = lax.transpose_p.bind(x, permutation=tuple(order))
        old = tuple(old[i] for i in order)
    return reshape_padded(site.extents, x, old, new)


move_rules: dict[Primitive, PaddingRule] = {
    lax.dim_as_value_p: _size,
    lax.slice_p: _slice,
    lax.split_p: _split,
    lax.pad_p: _pad,
    lax.concatenate_p: _concatenate,
    lax.rev_p: _rev,
    lax.tile_p: _tile,
    lax.reshape_p: _reshape,
    **dict.fromkeys(
        (
            *(lax.bitcast_convert_type_p, lax.broadcast_in_dim_p, lax.clamp_p, lax.iota_p),
            *(lax.optimization_barrier_p, lax.select_n_p, lax.squeeze_p, lax.stack_p),
            *(lax.transpose_p, lax.unstack_p),
        ),
        padding_stays,
    ),
}
