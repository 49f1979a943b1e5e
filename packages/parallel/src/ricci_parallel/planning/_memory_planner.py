"""``memory_plan``: a program's peak memory and the lines that own it, found by compiling it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ricci_parallel.reports._attribution import Attribution
from ricci_parallel.reports._hlo_text import HloModule, Instruction
from ricci_xla import LocatedProgram, Traced, compile_with_lines, trace_call

from ._live_ranges import entry_memory
from ._memory import Reasons, is_backward, live_buffers, memory_of
from ._memory_course import course_of
from ._memory_plan import MemoryPlan, Place
from ._reading import read
from ._remedies import remedies_of

__all__ = ["memory_plan"]


def memory_plan(
    f: Callable[..., Any], *args: object, remedies: bool = True, **kwargs: object
) -> MemoryPlan:
    """What a function takes of each device's memory when it takes most, and which lines own it.

    The function is compiled and not run.

    Args:
      f: a function of pytrees of arrays, jitted (with its shardings and donated arguments) or not.
      *args: its arguments: arrays, or descriptions ``ShapeDtypeStruct(shape, dtype)``.
      remedies: whether to find out what ``checkpoint`` would save: if the function differentiates
        something, it is compiled again with each of three policies, and with each around the bodies
        of scans as well, if there are any.
      **kwargs: its keyword arguments.

    Returns:
      The plan. ``peak_bytes`` and the other sums are the compiler's, which is what the program
      allocates on each device. Which buffers are alive at the peak is found in the text of the
      compiled program; see ``MemoryPlan``.

    Raises:
      TypeError: if ``f`` cannot be called.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> x = ricci.ShapeDtypeStruct((1000, 1000), jnp.float32)
      >>> plan = ricci.memory_plan(ricci.grad(lambda x: jnp.sum(jnp.tanh(x))), x)
      >>> plan.arguments, plan.results
      (4000000, 4000000)

    See also:
      ``MemoryPlan``; ``checkpoint``; ``ricci.parallel.plan``, for many devices.
    """
    if not callable(f):
        raise TypeError(
            f"memory_plan expects a function, got {f!r:.60} of type {type(f).__name__}."
        )

    def trace() -> Traced:
        return trace_call(f, args, kwargs)

    traced = trace()
    program = compile_with_lines(traced)
    found = _planned(program, traced.fun_name)
    return replace(found, remedies=remedies_of(trace, program)) if remedies else found


def plan_of(traced: Traced) -> MemoryPlan:
    """The memory plan of a traced call, without remedies."""
    return _planned(compile_with_lines(traced), traced.fun_name)


def _planned(program: LocatedProgram, name: str) -> MemoryPlan:
    """The memory plan of a compiled program."""
    module, sources = read(program)
    found = entry_memory(module, program.devices[0].platform == "tpu")
    reasons = Reasons(found, module, sources)
    return MemoryPlan(
        name=name,
        devices=len(program.devices),
        device_kind=program.devices[0].device_kind,
        memory=memory_of(program.executable, found.peak.bytes),
        buffers=live_buffers(found, module, sources),
        place=_place(found.peak.instruction, module, sources),
        remedies=(),
        course=course_of(found, reasons, len(module.entry.instructions)),
    )


def _place(instruction: Instruction | None, module: HloModule, sources: Attribution) -> Place:
    """The line of an instruction."""
    line = None if instruction is None else module.line_of(instruction)
    if instruction is None or line is None:
        return Place("", "", 0, "", False)
    operation = instruction.op_name.rpartition("/")[2]
    function = sources.lines.function(line)
    return Place(operation, line.file, line.line, function, is_backward(instruction))
