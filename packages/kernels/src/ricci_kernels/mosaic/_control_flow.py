"""The rules of branches and loops."""

from collections.abc import Callable, Sequence
from typing import Any

import ricci_ir as ir
import ricci_lax as lax

from ._elementwise import converted
from ._references import allocate, read, row_view, whole_view, write
from ._writer import BOOL, INT32, Reference, Value, Writer, mosaic_rules, type_text

_scalar = ir.ShapedArray((), INT32)


def _cond(
    ctx: Writer,
    index: Value,
    *operands: Value | Reference,
    branches: Sequence[ir.Jaxpr],
    branches_platforms: Sequence[tuple[str, ...] | None] | None = None,
    **_: object,
) -> list[Value]:
    if branches_platforms is not None:
        platforms = [names is None or "tpu" in names for names in branches_platforms]
        return ctx.apply(branches[platforms.index(True)], operands)
    return _branch(ctx, index, operands, branches, 0, ctx.outs)


def _branch(
    ctx: Writer,
    index: Value,
    operands: Sequence[Any],
    branches: Sequence[ir.Jaxpr],
    first: int,
    outs: Sequence[Any],
) -> list[Value]:
    """Write the branches from the first on, as nested choices of two."""
    if len(branches) - first == 1:
        return ctx.apply(branches[first], operands)
    if index.dtype == BOOL:
        flag = index
    else:
        # scf.if has two cases: whether a later branch than the first one is taken. Comparing by
        # "gt" clamps an index that is out of range, as lax.switch does.
        flag = ctx.compare(index, ctx.int32(first), "gt")
    later = lambda inner: _as_stored(
        inner, _branch(inner, index, operands, branches, first + 1, outs)
    )
    now = lambda inner: _as_stored(inner, inner.apply(branches[first], operands))
    regions = [ctx.block([], run, "scf.yield") for run in (later, now)]
    names = ctx.write("scf.if", [flag], [type_text(_stored(x)) for x in outs], "", regions)
    return _from_stored(ctx, names, outs)


# Booleans are int32 where they pass the border of a region.


def _stored(aval: ir.ShapedArray) -> ir.ShapedArray:
    return aval.update(dtype=INT32) if aval.dtype == BOOL else aval


def _as_stored(ctx: Writer, values: Sequence[Any]) -> list[Any]:
    return [ctx.as_int(x) if x.dtype == BOOL else x for x in values]


def _from_stored(ctx: Writer, names: Sequence[str], avals: Sequence[Any]) -> list[Value]:
    return [
        ctx.as_bool(Value(name, _stored(aval))) if aval.dtype == BOOL else Value(name, aval)
        for name, aval in zip(names, avals, strict=True)
    ]


def _while(ctx: Writer, *operands: Any, **params: Any) -> list[Value]:
    condition, body = params["cond_jaxpr"], params["body_jaxpr"]
    in_condition, in_body = params["cond_nconsts"], params["body_nconsts"]
    condition_consts = operands[:in_condition]
    body_consts = operands[in_condition : in_condition + in_body]
    carry, outs = operands[in_condition + in_body :], ctx.outs
    stored = [_stored(aval) for aval in outs]
    # Both regions of scf.while have the carried values as arguments.
    arguments = [[Value(ctx.new_name(), aval) for aval in stored] for _ in range(2)]

    def values(inner: Writer, group: int) -> list[Any]:
        return _from_stored(inner, [x.name for x in arguments[group]], outs)

    def test(inner: Writer) -> Sequence[Any]:
        (flag,) = inner.apply(condition, [*condition_consts, *values(inner, 0)])
        return [flag, *arguments[0]]

    def step(inner: Writer) -> Sequence[Any]:
        return _as_stored(inner, inner.apply(body, [*body_consts, *values(inner, 1)]))

    regions = [
        ctx.block(arguments[0], test, "scf.condition"),
        ctx.block(arguments[1], step, "scf.yield"),
    ]
    first = _as_stored(ctx, carry)
    names = ctx.write("scf.while", first, [x.type for x in arguments[0]], "", regions)
    return _from_stored(ctx, names, outs)


def _scan(ctx: Writer, *operands: Any, **params: Any) -> list[Value]:
    body, length = params["jaxpr"], params["length"]
    in_consts, in_carry = params["num_consts"], params["num_carry"]
    consts = operands[:in_consts]
    carry = list(operands[in_consts : in_consts + in_carry])
    xs = operands[in_consts + in_carry :]
    outs = ctx.outs
    # Arrays that are scanned over are in memory, where rows may be read by traced positions.
    sources = [_in_memory(ctx, x) for x in xs]
    results = [allocate(ctx, aval.shape, aval.dtype) for aval in outs[in_carry:]]

    def step(inner: Writer, i: Value, values: Sequence[Any]) -> list[Any]:
        place = i
        if params["reverse"]:
            place = inner.emit("arith.subi", [inner.int32(length - 1), i], _scalar)
        rows = [read(inner, ref, row_view(ref, place)) for ref in sources]
        returned = inner.apply(body, [*consts, *values, *rows])
        for ref, value in zip(results, returned[in_carry:], strict=True):
            write(inner, ref, row_view(ref, place), value)
        return returned[:in_carry]

    # Whole unrolling makes positions constants; any other amount is left to the loop.
    if params["unroll"] >= length:
        for i in range(length):
            carry = step(ctx, ctx.int32(i), carry)
    else:
        carry = _for(ctx, length, carry, outs[:in_carry], step)
    return [*carry, *[read(ctx, ref, whole_view(ref)) for ref in results]]


def _for(
    ctx: Writer,
    length: int,
    carry: Sequence[Any],
    avals: Sequence[Any],
    step: Callable[[Writer, Value, Sequence[Any]], list[Any]],
) -> list[Value]:
    counter = Value(ctx.new_name(), _scalar)
    stored = [Value(ctx.new_name(), _stored(aval)) for aval in avals]

    def run(inner: Writer) -> Sequence[Any]:
        values = _from_stored(inner, [x.name for x in stored], avals)
        return _as_stored(inner, step(inner, counter, values))

    region = ctx.block([counter, *stored], run, "scf.yield")
    bounds = [ctx.int32(0), ctx.int32(length), ctx.int32(1)]
    first = _as_stored(ctx, [converted(ctx, x, a.dtype) for x, a in zip(carry, avals, strict=True)])
    names = ctx.write("scf.for", [*bounds, *first], [x.type for x in stored], "", [region])
    return _from_stored(ctx, names, avals)


def _in_memory(ctx: Writer, x: Value) -> Reference:
    ref = allocate(ctx, x.shape, x.dtype)
    write(ctx, ref, whole_view(ref), x)
    return ref


mosaic_rules.update({lax.cond_p: _cond, lax.scan_p: _scan, lax.while_p: _while})
