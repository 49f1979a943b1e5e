"""Rules of reductions, cumulative reductions, ``argmin`` and ``argmax``."""

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from ricci_ir import Jaxpr

from ._jaxprs import fold
from ._rule_type import Rule
from ._widening import highest, lowest, widen, widened


def _reduction(ufunc: np.ufunc, initial: Callable[[np.dtype], complex]) -> Rule:
    def rule(x: np.ndarray, *, axes: tuple[Any, ...], **params: Any) -> np.ndarray:
        start = np.array(initial(x.dtype)).astype(x.dtype)
        return ufunc.reduce(x, axis=tuple(axes), dtype=x.dtype, initial=start)

    return widened(rule)


def _zero(dtype: np.dtype) -> int:
    return 0


def _one(dtype: np.dtype) -> int:
    return 1


def _all_ones(dtype: np.dtype) -> int:
    return True if dtype.kind == "b" else -1


def _arg(find: Callable[..., np.ndarray]) -> Rule:
    def rule(
        x: np.ndarray, *, axes: tuple[Any, ...], index_dtype: np.dtype, **params: Any
    ) -> np.ndarray:
        return np.asarray(find(widen(x), axis=axes[0])).astype(index_dtype)

    return rule


def _cumulative(ufunc: np.ufunc) -> Rule:
    def rule(x: np.ndarray, *, axis: int, reverse: bool, **params: Any) -> np.ndarray:
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
    larger = np.where(np.real(x) > np.real(y), x, y)
    return larger + np.log(np.exp(x - larger) + np.exp(y - larger))


def _reduce(
    *operands: np.ndarray, jaxpr: Jaxpr, dimensions: tuple[Any, ...], **params: Any
) -> list[np.ndarray]:
    half = len(operands) // 2
    arrays, inits = operands[:half], operands[half:]
    outer_dims = [d for d in range(arrays[0].ndim) if d not in dimensions]
    outer = [arrays[0].shape[d] for d in outer_dims]
    count = prod(arrays[0].shape[d] for d in dimensions)
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
    "reduce_and": _reduction(np.bitwise_and, _all_ones),
    "reduce_max": _reduction(np.maximum, lowest),
    "reduce_min": _reduction(np.minimum, highest),
    "reduce_or": _reduction(np.bitwise_or, _zero),
    "reduce_prod": _reduction(np.multiply, _one),
    "reduce_sum": _reduction(np.add, _zero),
    "reduce_xor": _reduction(np.bitwise_xor, _zero),
}
