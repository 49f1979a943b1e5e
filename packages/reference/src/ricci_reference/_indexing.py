"""Rules of slicing, gathering and scattering."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ricci_ir import Jaxpr, iinfo, issubdtype
from ricci_lax import GatherDimensionNumbers, GatherScatterMode, ScatterDimensionNumbers

from ._jaxprs import run_jaxpr_numpy
from ._widening import Rule, widen


def _window(x: np.ndarray, starts: Sequence[np.ndarray], sizes: Sequence[int]) -> tuple[Any, ...]:
    """The slice of these sizes at ``starts``, which are clamped so that it lies inside ``x``."""
    firsts = [
        # As XLA does, move the start rather than cut the slice: its size is part of the type.
        min(max(int(start), 0), whole - size)
        for start, whole, size in zip(starts, x.shape, sizes, strict=True)
    ]
    return tuple(slice(first, first + size) for first, size in zip(firsts, sizes, strict=True))


def _dynamic_update_slice(
    x: np.ndarray, update: np.ndarray, *starts: np.ndarray, **params: Any
) -> np.ndarray:
    result = x.copy()
    result[_window(x, starts, update.shape)] = update
    return result


class _Windows:
    """The positions of the windows of a gather or scatter in the operand.

    Attributes:
      inside: for each window, whether all of it lies in the operand.
      indices: an index array for each dimension of the operand. Its shape is the batch shape of
        the windows followed by the window's shape without the ``dropped`` dimensions.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        positions: np.ndarray,
        sizes: Sequence[int],
        index_map: Sequence[int],
        dropped: Sequence[int],
        operand_batch: Sequence[int],
        index_batch: Sequence[int],
    ):
        batch = positions.shape[:-1]
        ndim = len(shape)
        starts = [np.zeros(batch, np.int64) for _ in shape]
        # The last dimension of the positions holds the coordinates; ``index_map`` says of which
        # dimensions. The others start at 0.
        for column, dim in enumerate(index_map):
            starts[dim] = np.asarray(positions[..., column]).astype(np.int64)
        # Along a batch dimension, each position reads its own example.
        for dim, of in zip(operand_batch, index_batch, strict=True):
            counted = np.arange(batch[of]).reshape(
                [-1 if d == of else 1 for d in range(len(batch))]
            )
            starts[dim] = np.broadcast_to(counted, batch)
        self.inside = np.ones(batch, bool)
        window_dims = [d for d in range(ndim) if d not in dropped]
        self.indices = []
        for dim in range(ndim):
            last = shape[dim] - sizes[dim]
            # A window is inside if all of it is, in every dimension.
            self.inside &= (starts[dim] >= 0) & (starts[dim] <= last)
            start = np.clip(starts[dim], 0, max(last, 0)).reshape((*batch, *[1] * len(window_dims)))
            if dim in window_dims:
                # Add the offsets within the window along a dimension of their own, behind those of
                # the batch.
                within = [1] * len(window_dims)
                within[window_dims.index(dim)] = sizes[dim]
                start = start + np.arange(sizes[dim]).reshape(within)
            self.indices.append(start)
        window = tuple(sizes[d] for d in window_dims)
        self.indices = [np.broadcast_to(i, (*batch, *window)) for i in self.indices]
        self.batch_ndim, self.window_ndim = len(batch), len(window_dims)


def _placed(batch_ndim: int, window_ndim: int, window_dims: Sequence[int]) -> list[int]:
    """The permutation that moves the window dimensions from behind the batch to ``window_dims``."""
    windows = iter(range(batch_ndim, batch_ndim + window_ndim))
    batch = iter(range(batch_ndim))
    positions = set(window_dims)
    return [
        next(windows) if d in positions else next(batch) for d in range(batch_ndim + window_ndim)
    ]


def fill_of(dtype: np.dtype) -> float:
    """The default fill value of a gather out of bounds: NaN, or an extreme integer."""
    if issubdtype(dtype, np.inexact):
        return np.nan
    if issubdtype(dtype, np.bool_):
        return True
    return iinfo(dtype).max if issubdtype(dtype, np.unsignedinteger) else iinfo(dtype).min


def _mode(mode: GatherScatterMode | str) -> str:
    return getattr(mode, "name", str(mode))


def _gather(
    x: np.ndarray,
    positions: np.ndarray,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: tuple[int, ...],
    mode: GatherScatterMode,
    fill_value: float | None,
    **params: Any,
) -> np.ndarray:
    numbers = dimension_numbers
    # The windows' starts are clamped by the operand's bounds; mode FILL_OR_DROP replaces the
    # elements of those that were not inside.
    windows = _Windows(
        x.shape,
        positions,
        slice_sizes,
        numbers.start_index_map,
        (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims),
        numbers.operand_batching_dims,
        numbers.start_indices_batching_dims,
    )
    # NumPy would raise an error, as no position lies in an empty array.
    if x.size == 0 and windows.indices and windows.indices[0].size:
        gathered = np.zeros(windows.indices[0].shape, x.dtype)
    else:
        gathered = x[tuple(windows.indices)] if x.ndim else np.broadcast_to(x, positions.shape[:-1])
    if _mode(mode) == "FILL_OR_DROP":
        inside = windows.inside.reshape((*windows.inside.shape, *[1] * windows.window_ndim))
        fill = np.array(fill_of(x.dtype) if fill_value is None else fill_value).astype(x.dtype)
        gathered = np.where(inside, gathered, fill)
    return gathered.transpose(_placed(windows.batch_ndim, windows.window_ndim, numbers.offset_dims))


def _scatter_windows(
    x: np.ndarray,
    positions: np.ndarray,
    updates: np.ndarray,
    numbers: ScatterDimensionNumbers,
    mode: GatherScatterMode,
) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    """The updates inside the operand, a window in each row, and their index arrays."""
    dropped = (*numbers.inserted_window_dims, *numbers.operand_batching_dims)
    window_sizes = iter(updates.shape[d] for d in numbers.update_window_dims)
    # The updates have the windows' sizes, except for the dimensions that are left out, of size 1.
    sizes = [1 if d in dropped else next(window_sizes) for d in range(x.ndim)]
    windows = _Windows(
        x.shape,
        positions,
        sizes,
        numbers.scatter_dims_to_operand_dims,
        dropped,
        numbers.operand_batching_dims,
        numbers.scatter_indices_batching_dims,
    )
    order = _placed(windows.batch_ndim, windows.window_ndim, numbers.update_window_dims)
    # The inverse of the permutation by which a gather places its windows.
    updates = updates.transpose(np.argsort(order))
    # Clamped windows lie inside, unless the array is too small for one.
    moved = _mode(mode) == "CLIP" and x.size
    applied = np.ones_like(windows.inside) if moved else windows.inside
    return tuple(index[applied] for index in windows.indices), updates[applied]


def _scatter_rule(combine: np.ufunc | None) -> Rule:
    def scatter(
        x: np.ndarray,
        positions: np.ndarray,
        updates: np.ndarray,
        *,
        dimension_numbers: ScatterDimensionNumbers,
        mode: GatherScatterMode,
        update_jaxpr: Jaxpr | None,
        **params: Any,
    ) -> np.ndarray:
        indices, updates = _scatter_windows(x, positions, updates, dimension_numbers, mode)
        if combine is None:
            update = update_jaxpr or (lambda old, new: new)
            return _one_by_one(x, indices, updates, update)
        # A scalar has no dimension to index, so it is updated as a vector of one element.
        result = np.array(widen(x))
        flat = result if x.ndim else result.reshape(1)
        # Unlike ``flat[indices] += updates``, ``at`` applies every update of a repeated position.
        combine.at(flat, indices or np.zeros(len(updates), int), widen(updates))  # pyright: ignore
        return result.astype(x.dtype)

    return scatter


def _one_by_one(
    x: np.ndarray,
    indices: tuple[np.ndarray, ...],
    updates: np.ndarray,
    update: Jaxpr | Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> np.ndarray:
    """``x`` with the updates applied in order, so that the last update of an element wins."""
    result = x.copy()
    for place in np.ndindex(updates.shape):
        at = tuple(index[place] for index in indices)
        if callable(update):
            result[at] = update(result[at], updates[place])
        else:
            result[at] = run_jaxpr_numpy(update, [result[at], updates[place]])[0]
    return result


indexing_rules: dict[str, Rule] = {
    "dynamic_slice": lambda x, *starts, slice_sizes, **params: x[_window(x, starts, slice_sizes)],
    "dynamic_update_slice": _dynamic_update_slice,
    "gather": _gather,
    "scatter": _scatter_rule(None),
    "scatter-add": _scatter_rule(np.add),
    "scatter-max": _scatter_rule(np.maximum),
    "scatter-min": _scatter_rule(np.minimum),
    "scatter-mul": _scatter_rule(np.multiply),
    "scatter-sub": _scatter_rule(np.subtract),
}
