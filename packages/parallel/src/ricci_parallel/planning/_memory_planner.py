"""``memory_plan``: a program's peak memory and the lines that own it, found by compiling it."""

from collections.abc import Callable, Sequence
from typing import Any

from ricci_parallel.reports._attribution import Attribution
from ricci_parallel.reports._device_groups import MeshAxes
from ricci_parallel.reports._hlo_text import HloModule, Instruction
from ricci_parallel.reports._program_lines import ProgramLines
from ricci_xla import LocatedProgram, Traced, compile_with_lines, jit

from ._live_ranges import entry_memory
from ._memory import Reasons, is_backward, live_buffers, memory_of
from ._memory_course import course_of
from ._memory_plan import MemoryPlan, Place, Remedy

__all__ = ["memory_plan"]


def memory_plan(f: Callable[..., Any], *args: Any, **kwargs: Any) -> MemoryPlan:
    """What a function takes of each device's memory when it takes most, and which lines own it.

    The function is compiled and not run.

    Args:
      f: a function of pytrees of arrays, jitted (with its shardings and donated arguments) or not.
      *args: its arguments: arrays, or descriptions ``ShapeDtypeStruct(shape, dtype)``.
      **kwargs: its keyword arguments.

    Returns:
      The plan. ``peak_bytes`` and the other sums are the compiler's, which is what the program
      allocates on each device. Which buffers are alive at the peak is found in the text of the
      compiled program; see ``MemoryPlan``.

    Raises:
      TypeError: if ``f`` cannot be called.

    Example:
      >>> import numpy as np
      >>> from ricci_autodiff import grad
      >>> from ricci_ir import ShapeDtypeStruct
      >>> from ricci_lax import reduce_sum, tanh
      >>> x = ShapeDtypeStruct((1000, 1000), np.float32)
      >>> found = memory_plan(grad(lambda x: reduce_sum(tanh(x), (0, 1))), x)
      >>> found.arguments, found.results
      (4000000, 4000000)
    """
    if not callable(f):
        raise TypeError(
            f"memory_plan expects a function, got {f!r:.60} of type {type(f).__name__}."
        )
    stage: Any = f if hasattr(f, "trace") else jit(f)
    traced = stage.trace(*args, **kwargs)
    return plan_of(traced)


def plan_of(traced: Traced, remedies: Sequence[Remedy] = ()) -> MemoryPlan:
    """The memory plan of a traced call."""
    program = compile_with_lines(traced)
    module, sources = read(program)
    found = entry_memory(module, program.devices[0].platform == "tpu")
    reasons = Reasons(found, module, sources)
    return MemoryPlan(
        name=traced.fun_name,
        devices=len(program.devices),
        device_kind=program.devices[0].device_kind,
        memory=memory_of(program.executable, found),
        buffers=live_buffers(found, module, sources),
        place=_place(found.peak.instruction, module, sources),
        remedies=tuple(remedies),
        course=course_of(found, reasons, len(module.entry.instructions)),
    )


def read(program: LocatedProgram) -> tuple[HloModule, Attribution]:
    """The text of a compiled program, and what finds the lines of its instructions."""
    module = HloModule(program.text)
    lines = ProgramLines(program.jaxpr, program.arg_names, program.out_shardings)
    count = len(program.devices)
    return module, Attribution(module, lines, MeshAxes(program.meshes, program.devices), count)


def _place(instruction: Instruction | None, module: HloModule, sources: Attribution) -> Place:
    """The line of an instruction."""
    line = None if instruction is None else module.line_of(instruction)
    if instruction is None or line is None:
        return Place("", "", 0, "", False)
    operation = instruction.op_name.rpartition("/")[2]
    function = sources.lines.function(line)
    return Place(operation, line.file, line.line, function, is_backward(instruction))
