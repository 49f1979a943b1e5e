"""The search for the rewrite of a call that ``fit_memory`` runs.

Choices are estimated on jaxprs, in two steps: many by their residuals, the best of them by the
liveness of the rewritten function. The cheapest that should fit is compiled: only the compiler's
peak counts. What it differs by from the estimate corrects the next choice.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import ricci_ir as ir
import ricci_lax.recomputation as rc
from ricci_autodiff import rewrite_differentiated
from ricci_lax import Differentiated
from ricci_parallel.reports._collective import shown_bytes
from ricci_xla import Traced, compile_for_sizes, devices_of, trace_call

from ._memory import Memory, memory_of
from ._memory_choices import (
    Choice,
    Rewrite,
    choices_in_pieces,
    host_operations,
    promising,
    recomputations,
    step_cost,
)
from ._memory_fit import MemoryFit, MemoryLimitError
from ._progress import progress

__all__ = ["FitPlanner"]

_TRIALS = 3  # executables compiled at most, beside the function as it stands
# Once a choice fits, another is compiled if the compilations together take at most as long as this
# many of the function as it stands, by the equations of their jaxprs.
_COMPILATIONS = 3.0
# The part of a choice's bytes of residuals that the next must have at most, if it does not fit.
_FEWER = 0.97
# Choices that are traced at most to find the least peak, when none should fit.
_TRACED = 6
# The part of the limit that estimates are below the compiler's peaks at first; most of those of
# integration/memory_programs are 0 to 10% below, and corrected by the first that is compiled.
_MARGIN = 0.1
# The part of a step that another choice must save for it to be compiled, once one fits.
_WORTHWHILE = 0.05
# Estimates that are corrected, and this many times above the limit, need not be compiled.
_HOPELESS = 1.1

# Rewrites whose estimates differ from the compiler's peaks by similar bytes.
type _Kind = tuple[type, bool]
# The number of segments or pieces of a rewrite, and whether it recomputes residuals.
type _Count = tuple[type, int, bool]


class FitPlanner:
    """The search for a call's recomputation."""

    def __init__(
        self, call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], limit: int
    ):
        self.call, self.args, self.kwargs, self.limit = call, args, kwargs, limit
        self.compiled = 0
        # The equations of the function as it stands, and those that were compiled.
        self.equations = self.work = 0
        # On several devices jaxprs have the sizes of whole arrays: the part that a device has.
        self.part = 1.0
        # The bytes of results that lie in the memory of donated arguments.
        self.donated = 0
        # The least peak of a choice, by its bytes of residuals.
        self.rough = 0.0
        # The excess of the compiler's peaks over the estimates.
        self.offsets: dict[_Kind, float] = {}
        self._traced: dict[Rewrite, Traced] = {}
        self._estimates: dict[Rewrite, float] = {}

    def fit(self) -> MemoryFit:
        """Compile the cheapest choices that should fit, until one does.

        Raises:
          MemoryLimitError: if none does.
        """
        seen = Differentiated()
        plain = self._trace(seen.look)
        whole = self._memory(plain, "the function as it stands")
        self.equations = max(1, self.work)
        unlimited = whole.total
        if unlimited <= self.limit:
            return self._fit(whole, unlimited)
        if seen.unstaged:
            raise MemoryLimitError(
                f"the peak is {shown_bytes(unlimited)}, above {shown_bytes(self.limit)}, and a "
                "custom_jvp or custom_vjp rule closes over a traced array of the differentiated "
                "function, so that no part of it can be recomputed. Pass that array to the "
                "function that has the rule as an argument."
            )
        if not seen.jaxprs:
            raise MemoryLimitError(
                f"the peak is {shown_bytes(unlimited)}, above {shown_bytes(self.limit)}, and the "
                "function differentiates nothing whose residuals could be recomputed. "
                "ricci.memory_plan lists what is in memory."
            )
        devices = devices_of(plain)
        estimated = max(rc.estimated_peak(_jaxpr(plain)), 1)
        self.donated = whole.donated
        if len(devices) > 1:
            self.part = (unlimited + self.donated) / estimated
        # The function with the most residuals decides; the rewrite applies to all of them.
        host = host_operations(devices)
        each: list[tuple[float, float, list[Choice[rc.Recomputation]]]] = []
        for jaxpr, tangents, sizes in zip(seen.jaxprs, seen.nonzeros, seen.axis_sizes, strict=True):
            with ir.axis_sizes(sizes):  # collectives and types name axes
                each.append(recomputations(jaxpr, tangents, host))
        index = max(range(len(each)), key=lambda i: each[i][0])
        residuals, forward, choices = each[index]
        gain = _WORTHWHILE * step_cost(forward, residuals)
        # Bytes of residuals are counted as if none was fused, so that a choice's are at most as far
        # above its peak as the function's.
        self.rough = self.part * estimated / max(residuals, 1.0)
        jaxpr, arguments = seen.jaxprs[index], len(seen.nonzeros[index])
        choices = promising(choices)
        pieces, refusal = (
            choices_in_pieces(jaxpr, arguments, residuals, choices)
            if len(devices) == 1
            else ([], "")
        )
        choices = [*choices, *pieces]
        peaks: dict[Rewrite, int] = {}
        best: tuple[Choice[Rewrite], Memory] | None = None
        for _ in range(_TRIALS):
            bound = None if best is None else best[0].cost - gain
            choice = self._next(choices, peaks, bound)
            if choice is None:
                break
            change = choice.rewrite
            work = self.work + ir.count_equations(_jaxpr(self._traced[change]).eqns)
            if best is not None and work > _COMPILATIONS * self.equations:
                break
            memory = self._memory(self._traced[change], _described(change))
            peaks[change] = memory.total
            self.offsets[_kind(change)] = memory.total - self._estimate(choice)
            if memory.total <= self.limit and (best is None or choice.cost < best[0].cost):
                best = choice, memory
        if best is None:
            least = min([unlimited, *peaks.values()])
            other = "" if host < math.inf else " This platform has a single memory."
            raise MemoryLimitError(
                f"the least peak that recomputation reaches is {shown_bytes(least)} ({least} "
                f"bytes), above {shown_bytes(self.limit)}; it is {shown_bytes(unlimited)} without. "
                "Take a smaller batch, or spread the arrays over more devices; ricci.memory_plan "
                f"lists what is in memory.{refusal}{other}"
            )
        choice, memory = best
        change, again = choice.rewrite, choice.again / max(forward, 1.0)
        if isinstance(change, rc.BatchPieces):
            inner = change.recomputation
            return self._fit(memory, unlimited, recomputation=inner, pieces=change, again=again)
        return self._fit(memory, unlimited, recomputation=change, again=again)

    def _fit(
        self,
        memory: Memory,
        unlimited: int,
        *,
        recomputation: rc.Recomputation | None = None,
        pieces: rc.BatchPieces | None = None,
        again: float = 0.0,
    ) -> MemoryFit:
        return MemoryFit(
            limit=self.limit,
            unlimited=unlimited,
            peak_bytes=memory.total,
            recomputation=recomputation,
            pieces=pieces,
            host_bytes=memory.host,
            again=again,
            compiled=self.compiled,
        )

    def _next(
        self, choices: Sequence[Choice[Rewrite]], peaks: Mapping[Rewrite, int], bound: float | None
    ) -> Choice[Rewrite] | None:
        """Choose the cheapest that should fit, or else the smallest; none that was compiled.

        Args:
          choices: the choices, the cheapest first.
          peaks: the peaks of those that were compiled.
          bound: the cost that a choice must be below, or ``None`` if none that was compiled fits.
        """
        groups: dict[type, list[Choice[Rewrite]]] = {}
        for choice in choices:
            if choice.rewrite not in peaks:
                groups.setdefault(type(choice.rewrite), []).append(choice)
        least: Choice[Rewrite] | None = None
        # Recomputation alone comes first, unless it has had its trials.
        for kind, group in groups.items():
            if kind is not rc.BatchPieces and len(groups) > 1 and len(peaks) == _TRIALS - 1:
                continue
            choice = self._cheapest([c for c in group if bound is None or c.cost < bound])
            if choice is not None:
                return choice
            if bound is None:
                least = self._least(group, {*map(_count, peaks)})
                if not self._is_hopeless(least, peaks):
                    return least
        # The error has the least peak of two.
        return None if len(peaks) > 1 else least

    def _cheapest(self, choices: Sequence[Choice[Rewrite]]) -> Choice[Rewrite] | None:
        """Choose the first that should fit; few are traced."""
        most: dict[_Kind, float] = {}
        for choice in choices:
            kind = _kind(choice.rewrite)
            too_much = self.rough * choice.bytes + self._offset(choice.rewrite) - self.limit
            if too_much > 0 or choice.bytes > most.get(kind, math.inf):
                continue
            too_much = self._corrected(choice) - self.limit
            if too_much <= 0:
                return choice
            # One with hardly fewer bytes of residuals does not fit either.
            fewer = too_much / (2 * self.rough) if self.rough else 0.0
            most[kind] = min(choice.bytes - fewer, _FEWER * choice.bytes)
        return None

    def _least(
        self, choices: Sequence[Choice[Rewrite]], counts: Collection[_Count]
    ) -> Choice[Rewrite]:
        """Choose the one with the least peak, as estimated; of other numbers of segments first.

        Args:
          choices: the choices. Few are traced, those of the fewest bytes of residuals.
          counts: the numbers of segments or pieces that were compiled, whose peaks are similar.
        """
        smallest: dict[_Count, Choice[Rewrite]] = {}
        for choice in sorted(choices, key=lambda choice: choice.bytes):
            smallest.setdefault(_count(choice.rewrite), choice)
        is_old = lambda choice: _count(choice.rewrite) in counts
        few = sorted(smallest.values(), key=lambda choice: (is_old(choice), choice.bytes))
        return min(few[:_TRACED], key=lambda choice: (is_old(choice), self._corrected(choice)))

    def _is_hopeless(self, choice: Choice[Rewrite], peaks: Mapping[Rewrite, int]) -> bool:
        """Whether a choice need not be compiled, by its estimate and the peaks of others."""
        kind = _kind(choice.rewrite)
        offset = self.offsets.get(kind)
        if offset is None:  # estimates are mostly below the compiler's peaks
            return self._estimate(choice) > self.limit
        least = min(peak for change, peak in peaks.items() if _kind(change) == kind)
        return self._estimate(choice) + offset > min(_HOPELESS * self.limit, least - 1)

    def _corrected(self, choice: Choice[Rewrite]) -> float:
        """Estimate the compiler's peak, by what its peaks were above estimates before."""
        return self._estimate(choice) + self._offset(choice.rewrite)

    def _offset(self, change: Rewrite) -> float:
        return self.offsets.get(_kind(change), _MARGIN * self.limit)

    def _estimate(self, choice: Choice[Rewrite]) -> float:
        """Estimate the peak of the call with a rewrite, by the liveness of its jaxpr."""
        change = choice.rewrite
        if change not in self._estimates:
            traced = self._traced[change] = self._trace(change)
            peak = self.part * rc.estimated_peak(_jaxpr(traced))
            self._estimates[change] = peak - self.donated
        return self._estimates[change]

    def _trace(self, rewrite: Callable[[Any], Any]) -> Traced:
        """Trace the call with its differentiated functions rewritten."""
        with rewrite_differentiated(rewrite):
            return trace_call(self.call, self.args, self.kwargs)

    def _memory(self, traced: Traced, name: str) -> Memory:
        """Compile a traced call, and return the compiler's figures."""
        self.compiled += 1
        self.work += ir.count_equations(_jaxpr(traced).eqns)
        number = f"{self.compiled} of {1 + _TRIALS} programs at most"
        with progress(f"fit_memory compiles {number}: {name}"):
            return memory_of(compile_for_sizes(traced), 0)


def _count(change: Rewrite) -> _Count:
    if isinstance(change, rc.BatchPieces):
        return rc.BatchPieces, change.count, change.recomputation is not None
    return rc.Recomputation, change.segments, True


def _kind(change: Rewrite) -> _Kind:
    # Compilers schedule moves to the host by other rules.
    return type(change), isinstance(change, rc.Recomputation) and change.on_host


def _described(change: Rewrite) -> str:
    """A rewrite in a few words."""
    if isinstance(change, rc.BatchPieces):
        each = "" if change.recomputation is None else f", {_described(change.recomputation)}"
        return f"{change.count} pieces{each}"
    return f"{change.recomputed} of {change.segments} segments recomputed"


def _jaxpr(traced: Traced) -> ir.Jaxpr:
    program, _, _ = traced.discharged_call()
    return program.jaxpr
