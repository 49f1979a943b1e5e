"""Loops of a fixed number of steps in lowered functions, and the parts of arrays at an index."""

from collections.abc import Callable, Sequence

import numpy as np

from ricci_ir import Array, ArrayLike, ShapedArray, lenient_sharding
from ricci_lax.elementwise._comparison import compare
from ricci_lax.structure import expand_dims, squeeze
from ricci_lax.structure._operand_types import shape_of
from ricci_stablehlo import Lowering, Value, traced

from ._dynamic_slicing import dynamic_slice_p, dynamic_update_slice_p

_COUNTER = ShapedArray((), np.dtype(np.int32))


def write_loop(
    ctx: Lowering,
    count: int,
    body: Callable[..., Sequence[ArrayLike]],
    carry: Sequence[Value],
    constants: Sequence[Value] = (),
) -> list[Value]:
    """Write a loop that runs ``carry = body(i, *carry, *constants)`` for ``i`` from 0.

    Args:
      count: the number of steps.
      body: a function of arrays, based on other primitives; returns arrays of the types of
        ``carry``.
      carry: the initial values of the carry.
      constants: values that stay the same.

    Returns:
      The final values of ``carry``.
    """
    avals = [_COUNTER, *(x.aval for x in carry)]

    def condition(inner: Lowering, i: Value, *_: Value) -> list[Value]:
        return [compare(inner, "LT", i, inner.constant(count, _COUNTER))]

    def step(inner: Lowering, i: Value, *carry: Value) -> list[Value]:
        # The carry starts without a sharding, beside constants that may have one.
        with lenient_sharding(True):
            results = traced(body)(inner, i, *carry, *constants)
        one = inner.constant(1, _COUNTER)
        return [inner.emit("stablehlo.add", [i, one], _COUNTER), *results]

    regions = [ctx.region(avals, condition), ctx.region(avals, step)]
    start = ctx.constant(0, _COUNTER)
    return ctx.generic("stablehlo.while", [start, *carry], avals, "", regions)[1:]


def _start(x: ArrayLike, i: ArrayLike, axis: int) -> list[ArrayLike]:
    return [i if d == axis else np.int32(0) for d in range(len(shape_of(x)))]


def at_index(x: ArrayLike, i: ArrayLike, axis: int) -> Array:
    """``x`` at index ``i``, which is in bounds, of an axis counted from 0; the axis is dropped."""
    sizes = tuple(1 if d == axis else n for d, n in enumerate(shape_of(x)))
    return squeeze(dynamic_slice_p.bind(x, *_start(x, i, axis), slice_sizes=sizes), (axis,))


def with_index(x: ArrayLike, part: ArrayLike, i: ArrayLike, axis: int) -> Array:
    """``x`` with ``part`` at index ``i``, which is in bounds, of an axis counted from 0."""
    return dynamic_update_slice_p.bind(x, expand_dims(part, (axis,)), *_start(x, i, axis))
