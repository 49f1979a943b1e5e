"""Lower a scan to a while loop over a counter, the carry, and buffers of the collected results."""

from collections.abc import Sequence

import numpy as np

import ricci_ir as ir
import ricci_stablehlo as hlo
from ricci_lax.elementwise._comparison import compare
from ricci_lax.structure._identity import lower_barrier
from ricci_stablehlo import Lowering, Value

from . import _scan_programs as programs


def stacked(aval: ir.ShapedArray, length: int) -> ir.ShapedArray:
    return aval.insert_dimension(0, length)


_counter = ir.ShapedArray((), np.dtype(np.int32))


def lower_loop(
    ctx: Lowering, *operands: Value, jaxpr, length, num_consts, num_carry, reverse, unroll, **params
) -> list[Value]:
    outs = list(ctx.outs)
    consts, carry, xs = programs.sections(operands, num_consts, num_carry)
    rows = length if ir.surely_at_least(length, 1) else ir.max_dim(length, 1)
    if (
        ir.is_symbolic_dim(rows) and rows != length
    ):  # a loop's body is checked even if it never runs
        xs = [_with_rows(ctx, x, rows) for x in xs]
        outs[num_carry:] = [stacked(a.remove_dimension(0), rows) for a in outs[num_carry:]]
    block = _block(unroll, length)
    loops = ir.is_symbolic_dim(length) or length > block
    buffers = _buffers(ctx, outs[num_carry:], loops)
    if length == 0:
        return [*carry, *buffers]
    start = ctx.constant(0, _counter)

    def iterate(inner: Lowering, i: Value, values: Sequence[Value]) -> list[Value]:
        """One iteration: the values are the carry and the buffers."""
        # The counter always ascends; a reversed loop counts its slices from the end.
        place = i
        if reverse:
            place = inner.emit(
                "stablehlo.subtract", [inner.constant(length - 1, _counter), i], _counter
            )
        slices = [_slice(inner, x, place) for x in xs]
        results = inner.inline(jaxpr, [*consts, *values[:num_carry], *slices])
        return [
            *results[:num_carry],
            *(
                _update(inner, buffer, y, place)
                for buffer, y in zip(values[num_carry:], results[num_carry:], strict=True)
            ),
        ]

    def iterate_from(inner: Lowering, i: Value, values: Sequence[Value], count: int):
        """Several iterations, and the counter after them."""
        one = inner.constant(1, _counter)
        for _ in range(count):
            values = iterate(inner, i, values)
            i = inner.emit("stablehlo.add", [i, one], _counter)
        return [i, *values]

    def condition(inner: Lowering, i: Value, *values: Value) -> list[Value]:
        return [compare(inner, "LT", i, inner.constant(length - length % block, _counter))]

    def body(inner: Lowering, i: Value, *values: Value) -> list[Value]:
        return iterate_from(inner, i, values, block)

    values = [start, *carry, *buffers]
    if loops:
        avals = [_counter, *outs]
        regions = [ctx.region(avals, condition), ctx.region(avals, body)]
        values = ctx.generic("stablehlo.while", values, avals, "", regions)
        # The loop runs whole blocks only; the iterations left over are written out behind it.
        remaining = length % block
    else:
        remaining = length
    results = iterate_from(ctx, values[0], values[1:], remaining)[1:] if remaining else values[1:]
    if ir.is_symbolic_dim(rows) and rows != length:
        results[num_carry:] = [_first_rows(ctx, x, length) for x in results[num_carry:]]
    return results


def _with_rows(ctx: Lowering, x: Value, rows: int) -> Value:
    """Pad an empty array with a row of zeros."""
    aval = x.aval.resized((rows, *x.shape[1:]))
    physical = _physical(aval)
    config = [(0, rows - x.shape[0], 0), *[(0, 0, 0)] * (physical.ndim - 1)]
    zero = ctx.constant(0, ir.ShapedArray((), physical.dtype))
    x = Value(x.name, _physical(x.aval))
    return Value(hlo.write_pad(ctx, x, zero, config, physical).name, aval)


def _first_rows(ctx: Lowering, x: Value, rows: int) -> Value:
    aval = x.aval.resized((rows, *x.shape[1:]))
    physical = _physical(aval)
    zeros, ones = (0,) * physical.ndim, (1,) * physical.ndim
    x = Value(x.name, _physical(x.aval))
    return Value(hlo.write_slice(ctx, x, zeros, physical.shape, ones, physical).name, aval)


def _block(unroll: int, length: int) -> int:
    """The number of iterations in the while loop's body; the remainder must be a static int."""
    if ir.is_static_shape((unroll, length)):
        return min(max(unroll, 1), length)
    if ir.is_symbolic_dim(unroll) or ir.is_symbolic_dim(length % max(unroll, 1)):
        return 1
    return max(unroll, 1)


def _physical(aval: ir.ShapedArray) -> ir.ShapedArray:
    """The type of the array that stores values of an extended dtype, such as PRNG keys."""
    return aval.dtype.physical_aval(aval) if isinstance(aval.dtype, ir.ExtendedDType) else aval


def _buffers(ctx: Lowering, avals: Sequence[ir.ShapedArray], loops: bool) -> list[Value]:
    """Arrays of these types, which are overwritten row by row: without values, or zeros.

    Where all steps are written out, XLA can do without zeros itself.
    """
    physicals = [_physical(aval) for aval in avals]
    memories = [
        hlo.unwritten(ctx, physical) if loops else None
        for aval, physical in zip(avals, physicals, strict=True)
    ]
    filled = [x for x, memory in zip(physicals, memories, strict=True) if memory is None]
    zeros = [
        ctx.constant(np.zeros((), aval.dtype), aval.resized((), weak_type=False)) for aval in filled
    ]
    if ctx.platform == "cpu":
        # XLA merges equal constants, computes one array of zeros for all buffers of a type, and
        # copies it for each. Behind a barrier the zeros differ, so that each is filled in place.
        zeros = lower_barrier(ctx, *zeros)
    arrays = iter(
        [ctx.broadcast_to(zero, aval.shape) for zero, aval in zip(zeros, filled, strict=True)]
    )
    return [
        Value((next(arrays) if memory is None else memory).name, aval)
        for memory, aval in zip(memories, avals, strict=True)
    ]


def _indices(ctx: Lowering, place: Value, rank: int) -> list[Value]:
    zero = [ctx.constant(0, _counter)] if rank > 1 else []
    return [place, *zero * (rank - 1)]


def _slice(ctx: Lowering, x: Value, place: Value) -> Value:
    physical = _physical(x.aval)
    sizes = (1, *physical.shape[1:])
    operands = [Value(x.name, physical), *_indices(ctx, place, len(sizes))]
    array, *places = operands
    row = hlo.write_dynamic_slice(ctx, array, places, sizes, physical.resized(sizes))
    out = ctx.reshape(row, sizes[1:])
    return Value(out.name, x.aval.resized(x.aval.shape[1:]))


def _update(ctx: Lowering, buffer: Value, y: Value, place: Value) -> Value:
    physical = _physical(buffer.aval)
    sizes = (1, *physical.shape[1:])
    y = Value(y.name, _physical(y.aval))
    row = ctx.broadcast(y, sizes, range(1, len(sizes)))
    operands = [Value(buffer.name, physical), row, *_indices(ctx, place, len(sizes))]
    updated = ctx.emit("stablehlo.dynamic_update_slice", operands, physical, full=True)
    return Value(updated.name, buffer.aval)
