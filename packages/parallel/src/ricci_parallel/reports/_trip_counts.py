"""Trip counts of the loops of an HLO module.

Compilers for CPUs and GPUs write the number down. Those for TPUs do not, and add their own
loops, in which they compute while a collective moves the next part. The counter of such a loop is
an element of its state: it starts at a constant, a constant is added in each iteration, and
the condition compares it.
"""

import re

from ._hlo_text import Computation, HloModule, Instruction

_TRIPS = re.compile(r'"known_trip_count":\{"n":"(\d+)"\}')
_DIRECTION = re.compile(r"direction=(\w+)")
_SAME = frozenset({"copy", "bitcast", "copy-start", "copy-done", "convert", "reshape"})


def trip_count(module: HloModule, caller: Computation, loop: Instruction) -> int | None:
    """Return the number of iterations of a loop; ``None`` if the text does not have it.

    Args:
      module: the module.
      caller: the computation that the loop is in.
      loop: its instruction.
    """
    annotated = loop.attribute(_TRIPS)
    if annotated is not None:
        return int(annotated)
    called = {role: module.computations.get(name) for role, name in loop.called()}
    condition, body = called.get("condition"), called.get("body")
    if condition is None or body is None:
        return None
    test = _inlined(module, condition, condition.root)
    if test is None or test[1].attribute(_DIRECTION) != "LT":
        return None
    owner, compared = test
    counter, limit = (_behind(owner, name) for name in compared.operands[:2])
    last = _integer(limit)
    if last is None or counter is None or counter.opcode != "get-tuple-element":
        return None
    start = _integer(_element(caller, caller.instructions.get(loop.operands[0]), counter.index))
    step = _step(body, counter.index)
    if start is None or not step:
        return None
    return max(0, -((start - last) // step))


def _inlined(
    module: HloModule, computation: Computation, result: Instruction
) -> tuple[Computation, Instruction] | None:
    """Return the comparison that a condition computes, perhaps inside of a fusion."""
    if result.opcode == "compare":
        return computation, result
    inner = next((module.computations.get(name) for _, name in result.called()), None)
    if result.opcode != "fusion" or inner is None or inner.root.opcode != "compare":
        return None
    root = inner.root
    outer: list[str] = []
    for name in root.operands:
        source = _behind(inner, name)
        if source is None or source.opcode != "parameter":
            return None
        outer.append(result.operands[source.index])
    shown = Instruction(root.name, root.shape, "compare", tuple(outer), root.attributes, True)
    return computation, shown


def _behind(computation: Computation, name: str) -> Instruction | None:
    """Return the instruction that computes a value, behind copies of it."""
    source = computation.instructions.get(name)
    while source is not None and source.opcode in _SAME and source.operands:
        source = computation.instructions.get(source.operands[0])
    return source


def _element(computation: Computation, state: Instruction | None, index: int) -> Instruction | None:
    if state is None or state.opcode != "tuple" or index >= len(state.operands):
        return None
    return _behind(computation, state.operands[index])


def _integer(constant: Instruction | None) -> int | None:
    if constant is None or constant.opcode != "constant":
        return None
    try:
        return int(constant.literal)
    except ValueError:
        return None


def _step(body: Computation, index: int) -> int | None:
    """Return the constant that an iteration adds to an element of the state, or ``None``."""
    added = _element(body, body.root, index)
    if added is None or added.opcode != "add":
        return None
    parts = [_behind(body, name) for name in added.operands]
    counters = [
        part
        for part in parts
        if part is not None and part.opcode == "get-tuple-element" and part.index == index
    ]
    steps = [step for step in map(_integer, parts) if step is not None]
    return steps[0] if len(counters) == len(steps) == 1 else None
