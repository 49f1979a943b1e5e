"""Loops and branches. References pass through them: only arrays are carried."""

from collections.abc import Sequence
from typing import Any

import ricci_ir as ir
from ricci_kernels.blocks._memory_spaces import TPUMemorySpace
from ricci_kernels.calls._interpreter import filler

from ._rules import Local, Operand, evaluate, triton_rules
from ._writer import Value, Writer, element_of


def _locals(operands: Sequence[Operand]) -> list[Local]:
    """The buffers among operands: a body may write them, so that their values are carried."""
    return [x for x in operands if isinstance(x, Local)]


def _values(buffers: Sequence[Local]) -> list[Value]:
    return [buffer.value for buffer in buffers]


def _assign(buffers: Sequence[Local], values: Sequence[Value]) -> None:
    for buffer, value in zip(buffers, values, strict=True):
        buffer.value = value


def _types(values: Sequence[Value]) -> list[tuple[tuple[int, ...], str]]:
    return [(x.shape, x.element) for x in values]


def _cond(writer: Writer, eqn: ir.JaxprEqn, index: Value, *operands: Operand) -> list[Value]:
    return _branch(writer, eqn, eqn.params["branches"], index, operands)


def _branch(
    writer: Writer,
    eqn: ir.JaxprEqn,
    branches: Sequence[ir.Jaxpr],
    index: Value,
    operands: Sequence[Operand],
) -> list[Value]:
    """One of some branches; with three or more, a decision about the first and then the others."""
    if len(branches) == 1:
        return evaluate(writer, branches[0], operands)
    types: list[Any] = []
    buffers = _locals(operands)
    initial = _values(buffers)

    def region(several: Sequence[ir.Jaxpr], position: Value) -> str:
        def write(_: list[Value]) -> None:
            # Each branch starts from the buffers' values before the choice; their values afterwards
            # are results of the operation, as Triton's values cannot be assigned.
            _assign(buffers, initial)
            results = [*_branch(writer, eqn, several, position, operands), *_values(buffers)]
            types[:] = _types(results)
            writer.ops("scf.yield", results, [])

        return writer.region([], write)

    # The first branch is that of a false predicate. An index below 0 takes it as well:
    # ``lax.switch`` clamps.
    if index.element == "i1":
        is_first, following = writer.binary("arith.xori", index, writer.like(index, True)), index
    else:
        is_first = writer.compare(3, index, writer.like(index, 0))
        following = writer.add(index, writer.like(index, -1)) if len(branches) > 2 else index
    regions = [region(branches[:1], index), region(branches[1:], following)]
    results = writer.ops("scf.if", [is_first], list(types), "", regions)
    count = len(results) - len(buffers)
    _assign(buffers, results[count:])
    return results[:count]


class _Counters(ir.TupleRecord):
    """The carried values of a loop's body, which a counter of its steps replaces.

    Attributes:
      increments: for each carried value what each step adds to it, or ``None`` if it is carried.
      constants: which carried values the body does not change.
    """

    increments: tuple[int | None, ...]
    constants: tuple[bool, ...]


def _counters(jaxpr: ir.Jaxpr, const_count: int) -> _Counters:
    carried = jaxpr.invars[const_count:]
    # A carried value that only grows by a constant is a function of the loop's index. Computed from
    # it, addresses are affine in the index.
    made_by = {v: eqn for eqn in jaxpr.eqns for v in eqn.outvars}
    increments, constants = [], []
    for before, after in zip(carried, jaxpr.outvars, strict=False):
        constants.append(after is before)
        eqn = None if type(after) is ir.Literal else made_by.get(after)  # pyright: ignore
        is_count = eqn is not None and eqn.primitive.name == "add" and eqn.invars[0] is before
        step = eqn.invars[1] if eqn is not None and is_count else None
        is_static = type(step) is ir.Literal and before.aval.str_short() == "int32[]"
        increments.append(int(step.val) if is_static else None)  # pyright: ignore
    return _Counters(tuple(increments), tuple(constants))


def _for(
    writer: Writer,
    body: ir.Jaxpr,
    consts: Sequence[Operand],
    initial: Sequence[Value],
    bounds: tuple[Value, Value],
) -> list[Value]:
    """A loop over integers from the first of the bounds to the second; returns the carried values.

    Values that only count the steps, and those that do not change, are not carried: Triton
    pipelines loads whose addresses depend on the loop's own index.
    """
    counters = _counters(body, len(consts))
    lower, upper = bounds
    step = writer.like(lower, 1)
    is_carried = [
        increment is None and not constant for increment, constant in zip(*counters, strict=True)
    ]
    buffers = _locals(consts)
    carried = [x for x, flag in zip(initial, is_carried, strict=True) if flag]
    carried += _values(buffers)

    def at(index: Value, i: int) -> Value:
        """The value of a counter at the loop's index."""
        increment = counters.increments[i]
        if increment is None or counters.constants[i]:
            return initial[i]
        steps = writer.binary("arith.subi", index, lower)
        return writer.add(initial[i], writer.scaled(steps, increment))

    def write(arguments: list[Value]) -> None:
        index, *current = arguments
        _assign(buffers, current[len(current) - len(buffers) :])
        values = iter(current)
        operands = [
            next(values) if flag else index if initial[i] is lower else at(index, i)
            for i, flag in enumerate(is_carried)
        ]
        results = evaluate(writer, body, [*consts, *operands])
        following = [x for x, flag in zip(results, is_carried, strict=False) if flag]
        writer.ops("scf.yield", [*following, *_values(buffers)], [])

    region = writer.region([((), lower.element), *_types(carried)], write)
    last = writer.ops("scf.for", [lower, upper, step, *carried], _types(carried), "", [region])
    _assign(buffers, last[len(last) - len(buffers) :])
    results = iter(last)
    # A loop with an empty range ends where it began.
    end = writer.binary("arith.maxsi", lower, upper)
    return [next(results) if flag else at(end, i) for i, flag in enumerate(is_carried)]


def _scan(writer: Writer, eqn: ir.JaxprEqn, *operands: Operand) -> list[Value]:
    params = eqn.params
    const_count, carry_count = params["num_consts"], params["num_carry"]
    jaxpr: ir.Jaxpr = params["jaxpr"]
    consts = operands[:const_count]
    carry: list[Any] = list(operands[const_count : const_count + carry_count])
    if len(operands) > const_count + carry_count or len(jaxpr.outvars) > carry_count:
        raise NotImplementedError(
            "stacks or takes apart arrays; write to and read from references by the step's index"
        )
    length = params["length"]
    if params["unroll"] is True or (length > 1 and params["unroll"] >= length):
        for _ in range(length):
            carry = evaluate(writer, jaxpr, [*consts, *carry])
        return carry
    zero = writer.constant(0, "i32")
    return _for(writer, jaxpr, consts, carry, (zero, writer.constant(length, "i32")))


def _while(writer: Writer, eqn: ir.JaxprEqn, *operands: Operand) -> list[Value]:
    params = eqn.params
    cond, body = params["cond_jaxpr"], params["body_jaxpr"]
    cond_consts = operands[: params["cond_nconsts"]]
    split = params["cond_nconsts"] + params["body_nconsts"]
    body_consts = operands[params["cond_nconsts"] : split]
    carry: list[Any] = list(operands[split:])
    # fori_loop with traced bounds is a while; as a counted loop it can be pipelined.
    bounds = _loop_bounds(writer, cond, body, len(cond_consts), len(body_consts), carry)
    if bounds is not None:
        return _for(writer, body, body_consts, carry, bounds)

    # The condition and the body may have the same buffer.
    buffers = list(dict.fromkeys(_locals([*cond_consts, *body_consts])))
    count = len(carry)

    def before(arguments: list[Value]) -> None:
        _assign(buffers, arguments[count:])
        (goes_on,) = evaluate(writer, cond, [*cond_consts, *arguments[:count]])
        writer.ops("scf.condition", [goes_on, *arguments], [])

    def after(arguments: list[Value]) -> None:
        _assign(buffers, arguments[count:])
        results = evaluate(writer, body, [*body_consts, *arguments[:count]])
        writer.ops("scf.yield", [*results, *_values(buffers)], [])

    initial = [*carry, *_values(buffers)]
    types = _types(initial)
    regions = [writer.region(types, before), writer.region(types, after)]
    results = writer.ops("scf.while", initial, types, "", regions)
    _assign(buffers, results[count:])
    return results[:count]


def _loop_bounds(
    writer: Writer,
    cond: ir.Jaxpr,
    body: ir.Jaxpr,
    cond_count: int,
    body_count: int,
    carry: Sequence[Value],
) -> tuple[Value, Value] | None:
    """The bounds of a ``while`` that counts up by 1 to a value it does not change, or ``None``."""
    if len(cond.eqns) != 1 or cond.eqns[0].primitive.name != "lt" or cond_count:
        return None
    (eqn,) = cond.eqns
    index, limit = eqn.invars
    if cond.outvars[0] is not eqn.outvars[0] or index not in cond.invars:
        return None
    counters = _counters(body, body_count)
    place = cond.invars.index(index)  # pyright: ignore
    if counters.increments[place] != 1:
        return None
    if type(limit) is ir.Literal:
        return carry[place], writer.like(carry[place], int(limit.val))
    if limit not in cond.invars or not counters.constants[cond.invars.index(limit)]:  # pyright: ignore
        return None
    return carry[place], carry[cond.invars.index(limit)]  # pyright: ignore


def local_buffer(writer: Writer, ref: ir.AbstractRef) -> Local:
    """A new buffer, which holds what the interpreter's hold at first.

    Raises:
      NotImplementedError: if it is a semaphore.
    """
    if ref.memory_space is TPUMemorySpace.SEMAPHORE:
        raise NotImplementedError("allocates a semaphore, which NVIDIA GPUs do not have")
    element = element_of(ref.dtype)
    return Local(writer.constant(filler(ref.dtype), element, ref.shape), ref.dtype)


def _run_scoped(writer: Writer, eqn: ir.JaxprEqn, *operands: Operand) -> list[Value]:
    jaxpr: ir.Jaxpr = eqn.params["jaxpr"]
    refs: list[Any] = jaxpr.in_avals[len(operands) :]
    return evaluate(writer, jaxpr, [*operands, *[local_buffer(writer, ref) for ref in refs]])


def _debug_barrier(writer: Writer, eqn: ir.JaxprEqn) -> list[Value]:
    return writer.ops("gpu.barrier", [], [])


def _debug_check(writer: Writer, eqn: ir.JaxprEqn, condition: Value) -> list[Value]:
    if eqn.params["enabled"]:
        raise NotImplementedError(
            "is not supported by Triton as XLA compiles it: call it outside of "
            "pl.enable_debug_checks(True), and check the interpreted kernel"
        )
    return []


_rules: dict[str, Any] = {
    "run_scoped": _run_scoped,
    "cond": _cond,
    "debug_barrier": _debug_barrier,
    "debug_check": _debug_check,
    "scan": _scan,
    "while": _while,
}
triton_rules.update({ir.primitives[name]: rule for name, rule in _rules.items()})
