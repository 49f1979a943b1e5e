"""Rules of reductions, cumulative reductions, ``argmin``, ``argmax`` and sorting."""

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from ricci_ir import Jaxpr
from ricci_lax.authoring import reduced_size

from ._jaxprs import fold
from ._widening import Rule, highest, lowest, widen, widened


def _reduction(ufunc: np.ufunc, initial: Callable[[np.dtype], complex]) -> Rule:
    def rule(x: np.ndarray, *, axes: tuple[Any, ...], **params: Any) -> np.ndarray:
        # An explicit start, so that empty reductions have a result; NumPy has none for a maximum.
        start = np.array(initial(x.dtype)).astype(x.dtype)
        return ufunc.reduce(x, axis=tuple(axes), dtype=x.dtype, initial=start)

    return widened(rule)


def _zero(dtype: np.dtype) -> int:
    return 0


def _arg(find: Callable[..., np.ndarray]) -> Rule:
    def rule(
        x: np.ndarray, *, axes: tuple[Any, ...], index_dtype: np.dtype, **params: Any
    ) -> np.ndarray:
        return np.asarray(find(widen(x), axis=axes[0])).astype(index_dtype)

    return rule


def _cumulative(ufunc: np.ufunc) -> Rule:
    def rule(x: np.ndarray, *, axis: int, reverse: bool, **params: Any) -> np.ndarray:
        # In reverse, the array is flipped before and after.
        ordered = np.flip(x, axis) if reverse else x
        result = ufunc.accumulate(ordered, axis=axis, dtype=x.dtype)
        return np.flip(result, axis) if reverse else result

    return widened(rule)


def _cumlogsumexp(x: np.ndarray, *, axis: int, reverse: bool, **params: Any) -> np.ndarray:
    ordered = np.moveaxis(np.flip(x, axis) if reverse else x, axis, 0)
    result = np.array(ordered)
    for i in range(1, len(result)):
        before, new = result[i - 1], ordered[i]
        result[i] = _logaddexp(before, new)
    result = np.moveaxis(result, 0, axis)
    return np.flip(result, axis) if reverse else result


def _logaddexp(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if x.dtype.kind == "f":
        return np.logaddexp(x, y)
    # With the greater real part taken out, no exponential overflows.
    larger = np.where(np.real(x) > np.real(y), x, y)
    return larger + np.log(np.exp(x - larger) + np.exp(y - larger))


def _reduce(
    *operands: np.ndarray, jaxpr: Jaxpr, dimensions: tuple[Any, ...], **params: Any
) -> list[np.ndarray]:
    # The operands are arrays, and an initial value for each.
    half = len(operands) // 2
    arrays, inits = operands[:half], operands[half:]
    outer_dims = [d for d in range(arrays[0].ndim) if d not in dimensions]
    outer = [arrays[0].shape[d] for d in outer_dims]
    count = prod(arrays[0].shape[d] for d in dimensions)
    # Make the reduced dimensions the last one.
    rows = [x.transpose(*outer_dims, *dimensions).reshape(*outer, count) for x in arrays]
    return fold(jaxpr, [], inits, rows)


reduction_rules: dict[str, Rule] = {
    "argmax": _arg(np.argmax),
    "argmin": _arg(np.argmin),
    "cumlogsumexp": widened(_cumlogsumexp),
    "cummax": _cumulative(np.maximum),
    "cummin": _cumulative(np.minimum),
    "cumprod": _cumulative(np.multiply),
    "cumsum": _cumulative(np.add),
    "reduce": _reduce,
    "reduce_and": _reduction(np.bitwise_and, lambda dtype: True if dtype.kind == "b" else -1),
    "reduce_max": _reduction(np.maximum, lowest),
    "reduce_min": _reduction(np.minimum, highest),
    "reduce_or": _reduction(np.bitwise_or, _zero),
    "reduce_prod": _reduction(np.multiply, lambda dtype: 1),
    "reduce_sum": _reduction(np.add, _zero),
    "reduce_xor": _reduction(np.bitwise_xor, _zero),
}


def _keys(x: np.ndarray) -> list[np.ndarray]:
    """The arrays to sort by, the most significant first; NaNs come last, and -0 equals 0."""
    wide = widen(x)
    return [np.real(wide), np.imag(wide)] if wide.dtype.kind == "c" else [wide]


def _sort(*operands: np.ndarray, dimension: int, num_keys: int, **params: Any) -> list[np.ndarray]:
    keys = [key for x in operands[:num_keys] for key in _keys(x)]
    # The last key of lexsort is its primary one.
    order = np.lexsort(keys[::-1], axis=dimension)
    return [np.take_along_axis(x, order, dimension) for x in operands]


def _greatest_first(x: np.ndarray, axis: int) -> np.ndarray:
    """The indices that sort an array in descending order, stably."""
    # Flipping before and after an ascending stable sort keeps the order of equal elements.
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
    # Then XLA returns the candidates of all its bins, of which there are more than ``k``.
    if not aggregate_to_topk:
        count = reduced_size(x.shape[axis], x.ndim, k, recall_target, reduction_input_size_override)
    if is_max_k:
        return _top_k(x, k=count, axis=axis)
    order = np.take(np.lexsort(_keys(x)[::-1], axis=axis), np.arange(count), axis)
    return [np.take_along_axis(x, order, axis), order.astype(np.int32)]


sorting_rules: dict[str, Rule] = {"approx_top_k": _approx_top_k, "sort": _sort, "top_k": _top_k}
