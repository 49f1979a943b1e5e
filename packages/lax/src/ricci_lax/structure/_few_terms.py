"""Reductions of few elements each by operations on arrays, and of computed values: for CPUs.

XLA's CPU backend gives sums and extrema of floats to its library YNNPACK, which calls a function
for each result. Where a result is of few elements, that takes up to 20 times as long as to combine
slices, which are fused with the operations around them and vectorized; and where few elements are
behind each of a longer sum, up to 10 times.

Of large values that are computed from small ones, such as the differences of all pairs of points,
slices would be stored, and new memory takes longer than the operations: loops of XLA's own combine
few elements then, and so does the first step of a sum over what they compute, whose result is much
smaller. Very large ones are left to the library, which computes a whole expression by pieces.
"""

from collections.abc import Iterable, Sequence
from functools import reduce
from math import inf, prod

import numpy as np

import ricci_ir as ir
from ricci_stablehlo import Expansion, Lowering, Value, int_array, stored, write_slice

from ._transposing import goes_to_library, lower_reduce

# The most elements of a result for which slices are combined.
_MOST_TERMS = 8
# The most elements behind those of a sum for which a tree of slices is faster.
_MOST_INNER = 8
# Numbers of terms of a computed value that one loop adds, in the order of preference.
_PARTS = (*range(32, 7, -1), *range(7, 3, -1))
# Bytes of computed values that loops reduce. From 32 MiB on memory is new in each call.
_LEAST_COMPUTED, _MOST_COMPUTED = 1 << 25, 1 << 28
# Of longer formulas a loop that contains another is not vectorized.
_MOST_OPERATIONS = 32

_ADD, _MULTIPLY = "stablehlo.add", "stablehlo.multiply"
_MAXIMUM, _MINIMUM = "stablehlo.maximum", "stablehlo.minimum"
_IDENTITIES = {_ADD: 0.0, _MULTIPLY: 1.0, _MAXIMUM: -inf, _MINIMUM: inf}
_OPPOSITES = {_MAXIMUM: _MINIMUM, _MINIMUM: _MAXIMUM}


def write_few_terms(ctx: Lowering, op: str, x: Value, axes: Sequence[int]) -> Value | None:
    """Write a reduction of real floats over axes by loops.

    Args:
      ctx: the context of the operation.
      op: the StableHLO operation of two elements.
      x: the operand.
      axes: the axes that are reduced.

    Returns:
      The result, or None where one operation is faster.
    """
    if not goes_to_library(ctx, x):
        return None
    module = ctx.module
    if module.num_partitions > 1 and not module.manual:
        return None
    is_few = 1 < prod(x.shape[d] for d in axes) <= _MOST_TERMS
    is_tree = not is_few and _has_slow_rows(x, axes)
    size = x.aval.size * x.dtype.itemsize
    expansion = Expansion(ctx, x) if size >= _LEAST_COMPUTED else None
    if expansion is not None and expansion.is_large and size >= _MOST_COMPUTED:
        return None
    parts = 0
    if expansion is not None and op == _ADD and not is_few:
        is_computed = expansion.reduces or (is_tree and expansion.is_large)
        if is_computed and expansion.operations <= _MOST_OPERATIONS:
            parts = _parts(x, axes)
    if not (is_few or is_tree or parts):
        return None
    narrow = x.dtype
    if narrow.itemsize < 4 and op in (_ADD, _MULTIPLY):
        # Only the result is rounded, as in one operation.
        x = ctx.emit("stablehlo.convert", [x], x.aval.update(dtype=np.dtype(np.float32)), full=True)
    shape = tuple(n for d, n in enumerate(x.shape) if d not in axes)
    if is_few and expansion is not None and expansion.is_large:
        result = _write_loop(ctx, op, x, axes)
    elif is_few:
        result = _write_terms(ctx, op, x, axes)
    elif parts:
        result = _write_parts(ctx, op, x, axes, parts)
    else:
        result = _write_tree(ctx, op, x, axes[0])
    result = ctx.reshape(result, shape)
    if result.dtype != narrow:
        result = ctx.emit(
            "stablehlo.convert", [result], result.aval.update(dtype=narrow), full=True
        )
    return result


def _has_slow_rows(x: Value, axes: Sequence[int]) -> bool:
    """Whether one axis is reduced that has a few elements behind it."""
    return len(axes) == 1 and 1 < prod(x.shape[axes[0] + 1 :]) <= _MOST_INNER < x.shape[axes[0]]


def _parts(x: Value, axes: Sequence[int]) -> int:
    """The number of equal parts of the last axis that a loop adds; 0 if there are none."""
    size = x.shape[max(axes)] if axes else 0
    return next((n for n in _PARTS if n < size and size % n == 0), 0)


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


def _write_loop(ctx: Lowering, op: str, x: Value, axes: Sequence[int]) -> Value:
    """Combine the elements along axes by a reduction that XLA does not give to the library."""
    first, last = min(axes), max(axes)
    if len(axes) == last - first + 1 > 1:
        # Of one axis the loop is vectorized.
        terms = prod(x.shape[first : last + 1])
        x, axes = ctx.reshape(x, (*x.shape[:first], terms, *x.shape[last + 1 :])), [first]
    scalar = ir.ShapedArray((), x.dtype)

    def combine(inner: Lowering, a: Value, b: Value) -> list[Value]:
        # The library knows sums and extrema by their one operation.
        if op == _ADD:
            return [inner.emit("stablehlo.subtract", [a, _negated(inner, b)], scalar)]
        if op in _OPPOSITES:
            opposite = [_negated(inner, a), _negated(inner, b)]
            return [_negated(inner, inner.emit(_OPPOSITES[op], opposite, scalar))]
        return [inner.emit(op, [a, b], scalar)]

    out = x.aval.resized(tuple(n for d, n in enumerate(x.shape) if d not in axes))
    init = ctx.constant(_IDENTITIES[op], scalar)
    attributes = f"dimensions = {int_array(axes)}"
    region = ctx.region([scalar, scalar], combine)
    return ctx.generic("stablehlo.reduce", [x, init], [out], attributes, [region])[0]


def _negated(ctx: Lowering, x: Value) -> Value:
    return ctx.emit("stablehlo.negate", [x], x.aval)


def _write_parts(ctx: Lowering, op: str, x: Value, axes: Sequence[int], parts: int) -> Value:
    """Combine equal parts of the last axis in a loop, then the elements of the result."""
    axis = max(axes)
    size = x.shape[axis] // parts
    x = ctx.reshape(x, (*x.shape[:axis], parts, size, *x.shape[axis + 1 :]))
    x = stored(ctx, _write_loop(ctx, op, x, [axis]))
    few = write_few_terms(ctx, op, x, axes)
    return lower_reduce(ctx, op, x, _IDENTITIES[op], axes) if few is None else few


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
        x = stored(ctx, x)
    return _combined(ctx, op, [_write_terms(ctx, op, x, [axis]), *remainders])
