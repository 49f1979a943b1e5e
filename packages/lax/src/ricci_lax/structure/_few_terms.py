"""Reductions of few elements each by operations on arrays: for CPUs.

XLA's CPU backend gives sums and extrema of floats to its library YNNPACK, which calls a function
for each result. Where a result is of few elements, that takes up to 20 times as long as to combine
slices, which are fused with the operations around them and vectorized.
"""

from collections.abc import Sequence
from itertools import product
from math import prod

import numpy as np

import ricci_ir as ir
from ricci_stablehlo import Lowering, Value, write_slice

# The most elements of a result, and the fewest of an operand that XLA gives to the library.
_MOST_TERMS, _LEAST_SIZE = 8, 4096


def write_few_terms(ctx: Lowering, op: str, x: Value, axes: Sequence[int]) -> Value | None:
    """Write a reduction of real floats over axes as operations on slices.

    Args:
      ctx: the context of the operation.
      op: the StableHLO operation of two elements.
      x: the operand.
      axes: the axes that are reduced.

    Returns:
      The result, in which elements are combined in order, or None where one operation is faster.
    """
    if ctx.platform != "cpu" or not ir.issubdtype(x.dtype, np.floating):
        return None
    module = ctx.module
    if module.num_partitions > 1 and not module.manual:
        return None
    if not ir.is_static_shape(x.shape) or x.aval.size < _LEAST_SIZE:
        return None
    counts = [x.shape[d] for d in axes]
    if not 1 < prod(counts) <= _MOST_TERMS:
        return None
    narrow = x.dtype
    if narrow.itemsize < 4 and op in ("stablehlo.add", "stablehlo.multiply"):
        # Only the result is rounded, as in one operation.
        x = ctx.emit("stablehlo.convert", [x], x.aval.update(dtype=np.dtype(np.float32)), full=True)
    ones = [1] * len(x.shape)
    shape = tuple(1 if d in axes else n for d, n in enumerate(x.shape))
    result = None
    for indices in product(*map(range, counts)):
        starts, limits = [0] * len(shape), [*shape]
        for d, i in zip(axes, indices, strict=True):
            starts[d], limits[d] = i, i + 1
        term = write_slice(ctx, x, starts, limits, ones, x.aval.resized(shape))
        result = term if result is None else ctx.emit(op, [result, term], term.aval)
    assert result is not None
    result = ctx.reshape(result, tuple(n for d, n in enumerate(shape) if d not in axes))
    if result.dtype != narrow:
        result = ctx.emit(
            "stablehlo.convert", [result], result.aval.update(dtype=narrow), full=True
        )
    return result
