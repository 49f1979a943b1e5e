"""Reductions of few elements each by operations on arrays: for CPUs.

XLA's CPU backend gives sums and extrema of floats to its library YNNPACK, which calls a function
for each result. Where a result is of few elements, that takes up to 20 times as long as to combine
slices, which are fused with the operations around them and vectorized; and where few elements are
behind each of a longer sum, up to 10 times.
"""

from collections.abc import Iterable, Sequence
from functools import reduce
from math import prod

import numpy as np

import ricci_ir as ir
from ricci_stablehlo import Lowering, Value, write_slice

# The most elements of a result, and the fewest of an operand that XLA gives to the library.
_MOST_TERMS, _LEAST_SIZE = 8, 4096
# The most elements behind those of a sum for which a tree of slices is faster.
_MOST_INNER = 8


def write_few_terms(ctx: Lowering, op: str, x: Value, axes: Sequence[int]) -> Value | None:
    """Write a reduction of real floats over axes as operations on slices.

    Args:
      ctx: the context of the operation.
      op: the StableHLO operation of two elements.
      x: the operand.
      axes: the axes that are reduced.

    Returns:
      The result, or None where one operation is faster.
    """
    if ctx.platform != "cpu" or not ir.issubdtype(x.dtype, np.floating):
        return None
    module = ctx.module
    if module.num_partitions > 1 and not module.manual:
        return None
    if not ir.is_static_shape(x.shape) or x.aval.size < _LEAST_SIZE:
        return None
    is_few = 1 < prod(x.shape[d] for d in axes) <= _MOST_TERMS
    if not is_few and not _has_slow_rows(x, axes):
        return None
    narrow = x.dtype
    if narrow.itemsize < 4 and op in ("stablehlo.add", "stablehlo.multiply"):
        # Only the result is rounded, as in one operation.
        x = ctx.emit("stablehlo.convert", [x], x.aval.update(dtype=np.dtype(np.float32)), full=True)
    shape = tuple(n for d, n in enumerate(x.shape) if d not in axes)
    result = _write_terms(ctx, op, x, axes) if is_few else _write_tree(ctx, op, x, axes[0])
    result = ctx.reshape(result, shape)
    if result.dtype != narrow:
        result = ctx.emit(
            "stablehlo.convert", [result], result.aval.update(dtype=narrow), full=True
        )
    return result


def _has_slow_rows(x: Value, axes: Sequence[int]) -> bool:
    """Whether one axis is reduced that has a few elements behind it."""
    return len(axes) == 1 and 1 < prod(x.shape[axes[0] + 1 :]) <= _MOST_INNER < x.shape[axes[0]]


def _part(ctx: Lowering, x: Value, axis: int, start: int, limit: int) -> Value:
    starts, limits = [0] * len(x.shape), [*x.shape]
    starts[axis], limits[axis] = start, limit
    shape = (*x.shape[:axis], limit - start, *x.shape[axis + 1 :])
    return write_slice(ctx, x, starts, limits, [1] * len(shape), x.aval.resized(shape))


def _combined(ctx: Lowering, op: str, terms: Iterable[Value]) -> Value:
    return reduce(lambda total, term: ctx.emit(op, [total, term], total.aval), terms)


def _write_terms(ctx: Lowering, op: str, x: Value, axes: Sequence[int]) -> Value:
    """Combine the elements along axes in order; the axes stay, of size 1."""
    terms = [x]
    for axis in axes:
        terms = [_part(ctx, y, axis, i, i + 1) for y in terms for i in range(x.shape[axis])]
    return _combined(ctx, op, terms)


def _write_tree(ctx: Lowering, op: str, x: Value, axis: int) -> Value:
    """Combine the eighths of an axis, then those of the result, until few elements are left.

    The operand is fused with the first step alone, so that it is computed by few loops.
    """
    remainders: list[Value] = []
    while (size := x.shape[axis]) > _MOST_TERMS:
        part = size // _MOST_TERMS
        whole = part * _MOST_TERMS
        remainders += [_part(ctx, x, axis, i, i + 1) for i in range(whole, size)]
        parts = [_part(ctx, x, axis, i, i + part) for i in range(0, whole, part)]
        x = _combined(ctx, op, parts)
        x = ctx.emit("stablehlo.optimization_barrier", [x], x.aval)
    return _combined(ctx, op, [_write_terms(ctx, op, x, [axis]), *remainders])
