"""Scattering to one element of each window by the positions in windows: for CPUs.

XLA's CPU backend selects and scatters one window at a time. The elements at one position of all
windows are a slice with strides; of these the selected position of every window is found, and then
the sources of the windows that an element was selected in are added up, by elementwise operations.
"""

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

import ricci_ir as ir
from ricci_ir import Array, ArrayLike, Shape
from ricci_lax.elementwise import add, eq, select
from ricci_lax.shapes import pad, stack
from ricci_lax.shapes import slice as slice_array
from ricci_lax.structure import full_like, optimization_barrier, reshape
from ricci_lax.structure._operand_types import shape_of
from ricci_stablehlo import Lowering, Value

_MOST_POSITIONS = 32
_LEAST_SIZE = 16384


def has_few_positions(ctx: Lowering, operand: Value, window_dimensions: Shape) -> bool:
    """Whether an array on one CPU is so large, and the windows so small, that the formula pays."""
    if ctx.platform != "cpu" or ctx.module.num_partitions > 1:
        return False
    if not ir.is_static_shape(operand.shape) or operand.aval.size < _LEAST_SIZE:
        return False
    return prod(window_dimensions) <= _MOST_POSITIONS


def scatter_by_position(
    operand: Array,
    source: Array,
    keeps: Callable[[Array, Array], Array],
    window_dimensions: Shape,
    window_strides: Shape,
) -> Array:
    """StableHLO's ``select_and_scatter`` with a sum, without padding.

    Args:
      keeps: ``keeps(selected, element)`` tells whether the element selected so far stays.
    """
    counts = shape_of(source)
    positions = list(np.ndindex(*window_dimensions))
    selected, place = None, full_like(source, 0, np.int32)
    for number, position in enumerate(positions):
        limits = [
            p + (n - 1) * s + 1 for p, n, s in zip(position, counts, window_strides, strict=True)
        ]
        element = slice_array(operand, position, limits, window_strides)
        if selected is None:
            selected = element
            continue
        stays = keeps(selected, element)
        selected = select(stays, selected, element)
        place = select(stays, place, full_like(place, number))
    return _sums_of_phases(shape_of(operand), source, place, positions, window_strides)


def _sums_of_phases(
    shape: Shape, source: Array, place: Array, positions: Sequence[Shape], strides: Shape
) -> Array:
    """Add each window's source to the element at its place in the window.

    An element u S + r, with r < S, is at the place q S + r of the window u - q. So the elements of
    each phase r are the sum over q of the sources, shifted by q. The sum goes through the windows
    in their order, as XLA's.
    """
    counts = shape_of(source)
    sizes = [-(-n // s) for n, s in zip(shape, strides, strict=True)]
    reach = [p // s for p, s in zip(positions[-1], strides, strict=True)]
    margins = [(q, size - count, 0) for q, size, count in zip(reach, sizes, counts, strict=True)]
    # The operations that compute the places would run once for each of the shifts.
    place, source = optimization_barrier((_padded(place, -1, margins), _padded(source, 0, margins)))
    phases: dict[Shape, Array] = {}
    for number, position in reversed(list(enumerate(positions))):
        phase = tuple(p % s for p, s in zip(position, strides, strict=True))
        starts = [q - p // s for q, p, s in zip(reach, position, strides, strict=True)]
        limits = [start + size for start, size in zip(starts, sizes, strict=True)]
        is_selected = eq(slice_array(place, starts, limits), np.int32(number))
        sources = slice_array(source, starts, limits)
        term = select(is_selected, sources, full_like(sources, 0))
        phases[phase] = add(phases[phase], term) if phase in phases else term
    zeros = full_like(source, 0, shape=tuple(sizes))
    every = {phase: phases.get(phase, zeros) for phase in np.ndindex(*strides)}
    joined = _interleaved(every, strides)
    return slice_array(joined, (0,) * len(shape), shape)


def _padded(x: Array, value: ArrayLike, margins: Sequence[tuple[int, int, int]]) -> Array:
    return pad(x, full_like(x, value, shape=()), margins) if any(map(any, margins)) else x


def _interleaved(phases: dict[Shape, Array], strides: Shape) -> Array:
    """The array whose elements at u S + r are those of the phase r at u, dimension by dimension."""
    for d in reversed(range(len(strides))):
        outer = {phase[:d] for phase in phases}
        if strides[d] == 1:
            phases = {key: phases[(*key, 0)] for key in outer}
            continue
        merged: dict[Shape, Array] = {}
        for key in outer:
            rows = stack([phases[(*key, r)] for r in range(strides[d])], d + 1)
            sizes = list(shape_of(rows))
            sizes[d : d + 2] = [sizes[d] * sizes[d + 1]]
            merged[key] = reshape(rows, sizes)
        phases = merged
    return phases[()]
