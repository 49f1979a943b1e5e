"""Savings and costs of checkpoints: a function is compiled again with each."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from ricci_autodiff import rewrite_differentiated
from ricci_ir import observing
from ricci_lax import Differentiated, checkpoint_policies, recomputed, recomputed_in_scans
from ricci_xla import LocatedProgram, Traced, compile_with_lines

from ._memory import memory_of
from ._memory_plan import Remedy
from ._reading import read
from ._work import work_of

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
    if not seen.count:
        return ()
    now = costs_of(program)
    remedies: dict[tuple[int, str], Remedy] = {}
    for change in _changes(seen):
        traced = _traced(trace, change.rewrite)
        if traced is None:
            continue
        costs = costs_of(compile_with_lines(traced))
        again = (costs.flops - now.flops) / max(now.flops, 1.0)
        remedy = Remedy(change.policy, change.around, costs.peak, now.peak - costs.peak, again)
        remedies.setdefault((costs.peak, f"{again:.3f}"), remedy)  # the first of equal ones
    return tuple(sorted(remedies.values(), key=lambda remedy: (remedy.peak_bytes, remedy.again)))


def _traced(trace: Callable[[], Traced], rewrite: Callable[[Any], Any]) -> Traced | None:
    """Trace with other functions differentiated; ``None`` if these cannot be.

    Such are functions with effects that must not happen twice, and those that leave traced values
    elsewhere than in their results.
    """
    with observing(lambda event: None, anew=True), rewrite_differentiated(rewrite):
        try:
            return trace()
        except Exception:  # noqa: BLE001 (the function itself has been traced: this is no remedy)
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
