"""``memory_plan``: peak memory with its owners, and the checkpoints that would lower it.

A function is compiled again with each checkpoint, for its saving and cost.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, overload

from ricci_autodiff import rewrite_differentiated
from ricci_ir import call_with_arguments, observing, users_lines
from ricci_lax import Differentiated, checkpoint_policies, recomputed, recomputed_in_scans
from ricci_parallel.reports._attribution import Attribution
from ricci_parallel.reports._device_groups import MeshAxes
from ricci_parallel.reports._hlo_text import HloModule, Instruction
from ricci_parallel.reports._program_lines import ProgramLines
from ricci_xla import LocatedProgram, Traced, compile_with_lines, trace_call

from ._live_ranges import entry_memory
from ._memory import Reasons, is_backward, live_buffers, memory_of
from ._memory_picture import timeline_of
from ._memory_plan import MemoryPlan, PeakLocation, Remedy
from ._progress import progress
from ._work import work_of

__all__ = ["memory_plan", "plan_of"]


def read(program: LocatedProgram) -> tuple[HloModule, Attribution]:
    """Parse the HLO text of an executable; return the attribution of its instructions as well."""
    module = HloModule(program.text)
    lines = ProgramLines(program.jaxpr, program.arg_names, program.out_shardings)
    count = len(program.devices)
    return module, Attribution(module, lines, MeshAxes(program.meshes, program.devices), count)


AROUND_FUNCTION = "the differentiated function"
AROUND_BODIES = "the bodies of scans"
_POLICIES = ("nothing_saveable", "dots_saveable", "dots_with_no_batch_dims_saveable")


class Costs(NamedTuple):
    """The peak memory of an executable, and its operations with all iterations of loops."""

    peak: int
    flops: float


class _Change(NamedTuple):
    """A checkpoint: the name of its policy, where it is, and the rewrite of functions."""

    policy: str
    around: str
    rewrite: Callable[[Any], Any]


def costs_of(program: LocatedProgram) -> Costs:
    """Return the costs of an executable."""
    module, sources = read(program)
    work = work_of(module, sources.trips, program.devices[0].platform == "tpu")
    once = program.executable.cost_analysis().get("flops", 0.0)
    return Costs(memory_of(program.executable, 0).total, max(0.0, once) + work.extra_flops)


def remedies_of(trace: Callable[[], Traced], program: LocatedProgram) -> tuple[Remedy, ...]:
    """Compile a function with each checkpoint; empty if it differentiates nothing.

    Args:
      trace: traces the function.
      program: the executable without checkpoints.
    """
    seen = Differentiated()
    _traced(trace, seen.look)
    if not seen.jaxprs:
        return ()
    now = costs_of(program)
    remedies: dict[tuple[int, str], Remedy] = {}
    for change in _with_progress(list(_changes(seen))):
        traced = _traced(trace, change.rewrite)
        if traced is None:
            continue
        costs = costs_of(compile_with_lines(traced))
        again = (costs.flops - now.flops) / max(now.flops, 1.0)
        remedy = Remedy(change.policy, change.around, costs.peak, now.peak - costs.peak, again)
        remedies.setdefault((costs.peak, f"{again:.3f}"), remedy)  # the first of equal ones
    return tuple(sorted(remedies.values(), key=lambda remedy: (remedy.peak_bytes, remedy.again)))


def _with_progress(changes: Sequence[_Change]) -> Iterator[_Change]:
    """Yield the changes; a terminal shows which one is compiled, in a line that goes again."""
    for number, change in enumerate(changes, 1):
        label = f"{number} of {len(changes)}: {change.policy} around {change.around}"
        with progress(f"memory_plan compiles {label}"):
            yield change


def _traced(trace: Callable[[], Traced], rewrite: Callable[[Any], Any]) -> Traced | None:
    """Trace with other functions differentiated; ``None`` if these cannot be.

    Such are functions with effects that must not happen twice, and those that leave traced values
    elsewhere than in their results.
    """
    with rewrite_differentiated(rewrite):
        try:
            return trace()
        except Exception:  # noqa: BLE001 (the function itself has been traced: this is not a remedy)
            return None


def _changes(seen: Differentiated) -> Iterator[_Change]:
    policies: dict[str, Any] = {name: getattr(checkpoint_policies, name) for name in _POLICIES}
    if seen.names:
        names = sorted(seen.names)
        written = ", ".join(map(repr, names))
        policies[f"save_only_these_names({written})"] = checkpoint_policies.save_only_these_names(
            *names
        )
    ways: list[tuple[str, Callable[..., Any]]] = [(AROUND_FUNCTION, recomputed)]
    if seen.scans:
        ways.insert(0, (AROUND_BODIES, recomputed_in_scans))
    for around, way in ways:
        for name, policy in policies.items():
            yield _Change(name, around, partial(way, policy=policy))


@overload
def memory_plan(f: Callable[..., Any], *, remedies: bool = False) -> Callable[..., MemoryPlan]: ...  # pyright: ignore[reportOverlappingOverload]
@overload
def memory_plan(
    f: Callable[..., Any], *args: object, remedies: bool = False, **kwargs: object
) -> MemoryPlan: ...
def memory_plan(
    f: Callable[..., Any], *args: object, remedies: bool = False, **kwargs: object
) -> MemoryPlan | Callable[..., MemoryPlan]:
    """Compile a function, and return its peak memory on each device and the lines that own it.

    The function is not run.

    Args:
      f: a function of pytrees of arrays, jitted (with its shardings and donated arguments) or not.
      *args: its arguments: arrays, or descriptions ``ShapeDtypeStruct(shape, dtype)``; or none:
        ``memory_plan(f)(x)`` is ``memory_plan(f, x)``.
      remedies: whether to measure the effect of ``checkpoint``: if the function differentiates
        something, it is compiled again with each of three policies, and with each around the bodies
        of scans as well, if there are any.
      **kwargs: its keyword arguments.

    Returns:
      The plan; without arguments, a function of ``f``'s arguments that returns it. ``peak_bytes``
      and the other sums are the compiler's, which is what the program allocates on each device. The
      buffers that are live at the peak are estimated from the text of the executable; see
      ``MemoryPlan``.

    Raises:
      TypeError: if ``f`` cannot be called.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> x = ricci.ShapeDtypeStruct((1000, 1000), jnp.float32)
      >>> plan = ricci.memory_plan(ricci.grad(lambda x: jnp.sum(jnp.tanh(x))))(x)
      >>> plan.arguments, plan.results
      (4000000, 4000000)

    See also:
      ``MemoryPlan``; ``checkpoint``; ``ricci.parallel.plan``, for many devices.
    """

    def memory_plan(
        f: Callable[..., Any], args: tuple[object, ...], kwargs: dict[str, Any]
    ) -> MemoryPlan:
        def trace() -> Traced:
            # Anew, since jaxprs in caches have the innermost lines, which may be a library's.
            with observing(lambda event: None, anew=True), users_lines():
                return trace_call(f, args, kwargs)

        traced = trace()
        program = compile_with_lines(traced)
        result = _make_plan(program, traced.fun_name)
        return replace(result, remedies=remedies_of(trace, program)) if remedies else result

    return call_with_arguments(memory_plan, f, args, kwargs)


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
