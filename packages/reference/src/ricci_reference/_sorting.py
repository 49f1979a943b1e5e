"""Rules of sorting."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ._widening import widen


def _keys(x: np.ndarray) -> list[np.ndarray]:
    """Arrays to order by, the first the most significant; NaNs come last, -0 equals 0."""
    wide = widen(x)
    return [np.real(wide), np.imag(wide)] if wide.dtype.kind == "c" else [wide]


def _sort(*operands: np.ndarray, dimension: int, num_keys: int, **params: Any) -> Any:
    keys = [key for x in operands[:num_keys] for key in _keys(x)]
    order = np.lexsort(keys[::-1], axis=dimension)
    return [np.take_along_axis(x, order, dimension) for x in operands]


def _greatest_first(x: np.ndarray, axis: int) -> np.ndarray:
    """The stable descending order: of equal elements, the first comes first."""
    backwards = np.lexsort(_keys(np.flip(x, axis))[::-1], axis=axis)
    return x.shape[axis] - 1 - np.flip(backwards, axis)


def _top_k(x: np.ndarray, *, k: int, axis: int, **params: Any) -> Any:
    order = np.take(_greatest_first(x, axis), np.arange(k), axis)
    return np.take_along_axis(x, order, axis), order.astype(np.int32)


def _approx_top_k(x: np.ndarray, *, k: int, reduction_dimension: int, is_max_k: bool, **params):
    if is_max_k:
        return _top_k(x, k=k, axis=reduction_dimension)
    order = np.lexsort(_keys(x)[::-1], axis=reduction_dimension)
    order = np.take(order, np.arange(k), reduction_dimension)
    return np.take_along_axis(x, order, reduction_dimension), order.astype(np.int32)


sorting_rules: dict[str, Callable[..., Any]] = {
    "approx_top_k": _approx_top_k,
    "sort": _sort,
    "top_k": _top_k,
}
