"""``memory_plan``: compile a function to get its peak memory and the lines that own it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ricci_parallel.reports._attribution import Attribution
from ricci_parallel.reports._hlo_text import HloModule, Instruction
from ricci_xla import LocatedProgram, Traced, compile_with_lines, trace_call

from ._live_ranges import entry_memory
from ._memory import Reasons, is_backward, live_buffers, memory_of
from ._memory_plan import MemoryPlan, PeakLocation
from ._memory_timeline import timeline_of
from ._reading import read
from ._remedies import remedies_of

__all__ = ["memory_plan", "plan_of"]


def memory_plan(
    f: Callable[..., Any], *args: object, remedies: bool = True, **kwargs: object
) -> MemoryPlan:
    """Compile a function, and return its peak memory on each device and the lines that own it.

    The function is not run.

    Args:
      f: a function of pytrees of arrays, jitted (with its shardings and donated arguments) or not.
      *args: its arguments: arrays, or descriptions ``ShapeDtypeStruct(shape, dtype)``.
      remedies: whether to measure the effect of ``checkpoint``: if the function differentiates
        something, it is compiled again with each of three policies, and with each around the bodies
        of scans as well, if there are any.
      **kwargs: its keyword arguments.

    Returns:
      The plan. ``peak_bytes`` and the other sums are the compiler's, which is what the program
      allocates on each device. The buffers that are live at the peak are estimated from the text of
      the executable; see ``MemoryPlan``.

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
    result = _make_plan(program, traced.fun_name)
    return replace(result, remedies=remedies_of(trace, program)) if remedies else result


def plan_of(traced: Traced) -> MemoryPlan:
    """Plan the memory of a traced call, without remedies."""
    return _make_plan(compile_with_lines(traced), traced.fun_name)


def _make_plan(program: LocatedProgram, name: str) -> MemoryPlan:
    """Plan the memory of an executable."""
    module, sources = read(program)
    memory = entry_memory(module, program.devices[0].platform == "tpu")
    reasons = Reasons(memory, module, sources)
    return MemoryPlan(
        name=name,
        devices=len(program.devices),
        device_kind=program.devices[0].device_kind,
        memory=memory_of(program.executable, memory.peak.bytes),
        buffers=live_buffers(memory, module, sources),
        place=_peak_location(memory.peak.instruction, module, sources),
        remedies=(),
        course=timeline_of(memory, reasons, len(module.entry.instructions)),
    )


def _peak_location(
    instruction: Instruction | None, module: HloModule, sources: Attribution
) -> PeakLocation:
    """Return the line of an instruction."""
    line = None if instruction is None else module.line_of(instruction)
    if instruction is None or line is None:
        return PeakLocation("", "", 0, "", False)
    operation = instruction.op_name.rpartition("/")[2]
    function = sources.lines.function(line)
    return PeakLocation(operation, line.file, line.line, function, is_backward(instruction))
