"""Rules of sorting."""

from typing import Any

import numpy as np

from ricci_lax.authoring import reduced_size

from ._rule_type import Rule
from ._widening import widen


def _keys(x: np.ndarray) -> list[np.ndarray]:
    """The arrays to sort by, the most significant first; NaNs come last, and -0 equals 0."""
    wide = widen(x)
    return [np.real(wide), np.imag(wide)] if wide.dtype.kind == "c" else [wide]


def _sort(*operands: np.ndarray, dimension: int, num_keys: int, **params: Any) -> list[np.ndarray]:
    keys = [key for x in operands[:num_keys] for key in _keys(x)]
    order = np.lexsort(keys[::-1], axis=dimension)
    return [np.take_along_axis(x, order, dimension) for x in operands]


def _greatest_first(x: np.ndarray, axis: int) -> np.ndarray:
    """The indices that sort an array in descending order, stably."""
    backwards = np.lexsort(_keys(np.flip(x, axis))[::-1], axis=axis)
    return x.shape[axis] - 1 - np.flip(backwards, axis)


def _top_k(x: np.ndarray, *, k: int, axis: int, **params: Any) -> list[np.ndarray]:
    order = np.take(_greatest_first(x, axis), np.arange(k), axis)
    return [np.take_along_axis(x, order, axis), order.astype(np.int32)]


def _approx_top_k(
    x: np.ndarray,
    *,
    k: int,
    reduction_dimension: int,
    recall_target: float,
    is_max_k: bool,
    reduction_input_size_override: int,
    aggregate_to_topk: bool,
) -> list[np.ndarray]:
    axis = reduction_dimension % x.ndim
    count = k
    if not aggregate_to_topk:
        count = reduced_size(x.shape[axis], x.ndim, k, recall_target, reduction_input_size_override)
    if is_max_k:
        return _top_k(x, k=count, axis=axis)
    order = np.take(np.lexsort(_keys(x)[::-1], axis=axis), np.arange(count), axis)
    return [np.take_along_axis(x, order, axis), order.astype(np.int32)]


sorting_rules: dict[str, Rule] = {"approx_top_k": _approx_top_k, "sort": _sort, "top_k": _top_k}
