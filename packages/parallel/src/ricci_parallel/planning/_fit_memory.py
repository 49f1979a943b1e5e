"""``fit_memory``: the same function with the recomputation that brings its peak under a limit.

Choices are estimated on jaxprs, in two steps: many by their residuals, the best of them by the
liveness of the rewritten function. The cheapest that should fit is compiled: only the compiler's
peak counts. What it differs by from the estimate corrects the next choice.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import update_wrapper
from itertools import accumulate
from typing import Any, NamedTuple

import ricci_ir as ir
import ricci_lax.recomputation as rc
from ricci_autodiff import rewrite_differentiated
from ricci_lax import Differentiated
from ricci_parallel.reports._collective import shown_bytes
from ricci_pytree import tree_flatten
from ricci_xla import Traced, compile_with_lines, devices_of, jit, trace_call

from ._memory import memory_of

__all__ = ["FittedFunction", "MemoryFit", "MemoryLimitError", "fit_memory"]

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12} | {
    f"{letter}i": 2 ** (10 * power) for power, letter in enumerate("kmgt", 1)
}
_LIMIT = re.compile(r"\s*(\d+(?:\.\d*)?)\s*([kmgt]?i?)b?\s*", re.IGNORECASE)
_TRIALS = 3  # executables compiled at most, beside the first
# The part of the limit that estimates are below the compiler's peaks at first; those of
# integration/memory_programs are 0 to 20% below, and corrected by the first that is compiled.
_MARGIN = 0.1
# Estimates that are corrected, and this many times above the limit, need not be compiled.
_HOPELESS = 1.1
_LEVELS = 5  # costs from which on results are saved, at most
# The operations that take as long as writing a byte of a residual and reading it. On a CPU 0 to 12
# explain the step times of integration/memory_programs; a GPU has more for each byte.
_TRAFFIC = 4.0


type _Rewrite = rc.Recomputation | rc.BatchPieces


class MemoryLimitError(ValueError):
    """The error of a function whose least possible peak is above the limit."""


class MemoryFit(ir.Record):
    """The result of planning: the rewrite of a function, and its peak. ``str`` is a report.

    Attributes:
      limit: the limit in bytes.
      unlimited: the peak on each device of the function as it stands; the compiler's figure.
      peak_bytes: the peak of the rewritten function; the compiler's figure.
      recomputation: the rewrite that recomputes residuals, or ``None`` if the function fits as it
        stands, or runs in pieces.
      pieces: the rewrite that runs a batch in pieces, or ``None`` if it runs at once.
      again: the operations that are repeated, as a share of those of the forward pass; estimated.
      compiled: the number of executables that were compiled for the plan.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> fit = ricci.fit_memory(ricci.grad(lambda x: jnp.sum(jnp.sin(x))), "1MB").plan(jnp.ones(9))
      >>> fit.recomputation, fit.again
      (None, 0.0)
    """

    limit: int
    unlimited: int
    peak_bytes: int
    recomputation: rc.Recomputation | None
    pieces: rc.BatchPieces | None
    again: float
    compiled: int

    @property
    def rewrite(self) -> "_Rewrite | None":
        """The rewrite of differentiated functions, if any."""
        return self.recomputation or self.pieces

    def __str__(self) -> str:
        peak = f"{shown_bytes(self.peak_bytes)} at its peak, under {shown_bytes(self.limit)}"
        if self.rewrite is None:
            return peak
        peak += f"; {shown_bytes(self.unlimited)} as it stands\n  "
        if self.pieces is not None:
            size, count = self.pieces.size, self.pieces.count
            return f"{peak}the {size} examples of the batch run in {count} pieces"
        change = self.recomputation
        assert change is not None
        parts = []
        if change.recomputed:
            parts.append(
                f"the first {change.recomputed} of {change.segments} segments are recomputed"
            )
            if change.least < math.inf:
                parts[-1] += f", but for results of {change.least:.3g} operations a byte or more"
        if change.scans:
            parts.append("the bodies of scans are recomputed")
        return f"{peak}{'; '.join(parts)}: {self.again:.0%} of the forward pass runs twice"


def fit_memory[**P, R](f: Callable[P, R], limit: int | str) -> "FittedFunction[P, R]":
    """Keep a function's peak memory under a limit, by recomputation or a batch in pieces.

    Every function that ``f`` differentiates, also inside of what it calls, is cut into segments
    where few bytes cross, as between the layers of a model. The backward pass recomputes some of
    them instead of reading residuals, all but results that cost many operations for each byte. How
    many segments, which of them, and which results are saved is chosen at the first call for
    arguments of given types: the choice with the least cost of repeated operations and of residuals
    in memory, as estimated, among those whose peak is under the limit, as compiled.

    If no recomputation is enough, and what is differentiated is a sum or a mean over the examples
    of a batch, the batch runs in pieces, whose gradients are added: the values are equal up to
    rounding.

    Args:
      f: a function of pytrees of arrays, jitted or not, which is compiled. A library's own jitted
        functions, such as ``nnx.jit(step)``, are called as they are.
      limit: the bytes on each device: a number, or a text such as ``"8GiB"`` or ``"500MB"``.

    Returns:
      A function with the arguments and results of ``f``, whose method ``plan`` returns the plan for
      arguments, which may be ``ShapeDtypeStruct``s.

    Raises:
      TypeError: if ``f`` cannot be called.
      ValueError: if the limit is not a number of bytes above 0.
      MemoryLimitError: from a call, if no choice brings the peak under the limit. The message says
        what the least peak is.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> def loss(w, x):
      ...     for _ in range(8):
      ...         x = jnp.tanh(jnp.sin(x @ w) * jnp.cos(x))
      ...     return jnp.sum(x)
      >>> w, x = jnp.eye(64), jnp.ones((512, 64))
      >>> step = ricci.fit_memory(ricci.grad(loss), "2MB")
      >>> fit = step.plan(w, x)
      >>> fit.peak_bytes <= 2_000_000 < fit.unlimited
      True
      >>> bool(jnp.allclose(step(w, x), ricci.grad(loss)(w, x), rtol=1e-5))
      True

    See also:
      ``memory_plan``, which lists what is in memory; ``checkpoint``, to choose by hand.
    """
    if not callable(f):
        raise TypeError(f"fit_memory expects a function, got {f!r:.60} of type {type(f).__name__}.")
    return FittedFunction(f, _bytes(limit))


class FittedFunction[**P, R]:
    """A function whose peak memory stays under a limit, returned by ``fit_memory``.

    Args:
      f: the function.
      limit: the limit in bytes.

    Example:
      >>> import ricci
      >>> float(ricci.fit_memory(ricci.grad(lambda x: x**2), 1000)(3.0))
      6.0
    """

    def __init__(self, f: Callable[P, R], limit: int):
        self._fun: Callable[P, R] = f
        # A jitted function, which may be a library's that keeps state, is called as it is.
        jitted = ir.has_stages(f) or hasattr(f, "trace") or hasattr(f, "lower")
        self._calls = None if jitted else ir.ArrayCalls("fit_memory", f, jit)
        self._limit: int = limit
        self._fits: dict[Any, MemoryFit] = {}
        update_wrapper(self, f, updated=())

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        call, args_, kwargs_ = self._jitted(args, kwargs)
        change = self._plan(call, args_, kwargs_).rewrite
        if change is None:
            return call(*args_, **kwargs_)
        with rewrite_differentiated(change):
            return call(*args_, **kwargs_)

    def plan(self, *args: P.args, **kwargs: P.kwargs) -> MemoryFit:
        """Return the plan for these arguments, made once for their types and shardings."""
        return self._plan(*self._jitted(args, kwargs))

    def _jitted(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
        """Return a jitted function and its arguments for a call."""
        if self._calls is None:
            return self._fun, args, kwargs
        call, arrays = self._calls.of(args, kwargs)
        return call, tuple(arrays), {}

    def _plan(
        self, call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> MemoryFit:
        leaves, tree = tree_flatten((args, kwargs))
        key = (call, tree, tuple(map(_kind, leaves)), ir.trace_key())
        fit = self._fits.get(key)
        if fit is None:
            fit = self._fits[key] = _Planner(call, args, kwargs, self._limit).fit()
        return fit


def _kind(leaf: object) -> object:
    """Return a leaf's type and sharding; the leaf itself if it is not an array."""
    try:
        return ir.argument_aval(leaf), getattr(leaf, "sharding", None)
    except TypeError:
        return leaf


def _bytes(limit: object) -> int:
    """Parse a limit to a number of bytes."""
    size = limit
    if isinstance(limit, str):
        match = _LIMIT.fullmatch(limit)
        unit = None if match is None else _UNITS.get(match[2].lower())
        size = None if match is None or unit is None else float(match[1]) * unit
    if isinstance(size, bool) or not isinstance(size, int | float) or not 0 < size < math.inf:
        raise ValueError(
            f"the limit must be a number of bytes above 0, or a text such as '8GiB', got {limit!r}."
        )
    return int(size)


class _Choice[R: _Rewrite](NamedTuple):
    """A rewrite with its costs, as estimated: operations repeated, and bytes of residuals."""

    rewrite: R
    again: float
    bytes: float

    @property
    def cost(self) -> float:
        """The time in operations: those that are repeated, and the traffic of residuals."""
        return self.again + _TRAFFIC * self.bytes


class _Planner:
    """The search for a call's recomputation."""

    def __init__(
        self, call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], limit: int
    ):
        self.call, self.args, self.kwargs, self.limit = call, args, kwargs, limit
        self.compiled = 0
        # On several devices jaxprs have the sizes of whole arrays: the part that a device has.
        self.part = 1.0
        self._traced: dict[_Rewrite, Traced] = {}
        self._estimates: dict[_Rewrite, float] = {}

    def fit(self) -> MemoryFit:
        """Compile the cheapest choices that should fit, until one does.

        Raises:
          MemoryLimitError: if none does.
        """
        seen = Differentiated()
        plain = self._trace(seen.look)
        unlimited = self._peak(plain)
        if unlimited <= self.limit:
            return MemoryFit(self.limit, unlimited, unlimited, None, None, 0.0, self.compiled)
        if not seen.jaxprs:
            raise MemoryLimitError(
                f"the peak is {shown_bytes(unlimited)}, above {shown_bytes(self.limit)}, and the "
                "function differentiates nothing whose residuals could be recomputed. "
                "ricci.memory_plan lists what is in memory."
            )
        if len(devices_of(plain)) > 1:
            self.part = unlimited / max(_estimated(plain), 1)
        # The function with the most residuals decides; the rewrite applies to all of them.
        each = [*map(_choices, seen.jaxprs)]
        index = max(range(len(each)), key=lambda i: each[i][0])
        _, forward, choices = each[index]
        jaxpr, arguments = seen.jaxprs[index], seen.arguments[index]
        pieces, refusal = ([], "") if len(devices_of(plain)) > 1 else _in_pieces(jaxpr, arguments)
        choices = [*_promising(choices), *pieces]
        offset = _MARGIN * self.limit
        peaks: dict[_Rewrite, int] = {}
        best: tuple[_Choice[Any], int] | None = None
        for _ in range(_TRIALS):
            choice = self._next(choices, offset, peaks, best)
            if choice is None:
                break
            change = choice.rewrite
            peak = peaks[change] = self._peak(self._traced[change])
            offset = peak - self._estimate(change)
            if peak <= self.limit and (best is None or choice.cost < best[0].cost):
                best = choice, peak
        if best is None:
            least = min([unlimited, *peaks.values()])
            raise MemoryLimitError(
                f"the least peak that recomputation reaches is {shown_bytes(least)}, above "
                f"{shown_bytes(self.limit)}; it is {shown_bytes(unlimited)} without. Take a "
                "smaller batch, or spread the arrays over more devices; ricci.memory_plan lists "
                f"what is in memory.{refusal}"
            )
        choice, peak = best
        change = choice.rewrite
        if isinstance(change, rc.BatchPieces):
            return MemoryFit(self.limit, unlimited, peak, None, change, 0.0, self.compiled)
        again = choice.again / max(forward, 1.0)
        return MemoryFit(self.limit, unlimited, peak, change, None, again, self.compiled)

    def _next(
        self,
        choices: Sequence[_Choice[Any]],
        offset: float,
        peaks: Mapping[_Rewrite, int],
        best: tuple[_Choice[Any], int] | None,
    ) -> _Choice[Any] | None:
        """Choose the cheapest that should fit, or else the smallest; none that was compiled."""
        new = [choice for choice in choices if choice.rewrite not in peaks]
        for choice in new:  # the cheapest first, so that few are traced
            if best is not None and choice.cost >= 0.9 * best[0].cost:
                return None
            if self._estimate(choice.rewrite) + offset <= self.limit:
                return choice
        if best is not None or not new:
            return None
        # Choices with as many segments have similar peaks, so other numbers come first.
        counts = {*map(_count, peaks)}
        order = lambda choice: (_count(choice.rewrite) in counts, self._estimate(choice.rewrite))
        least = min(new, key=order)
        hopeless = self._estimate(least.rewrite) + offset > _HOPELESS * self.limit
        return None if len(peaks) > 1 and hopeless else least

    def _estimate(self, change: _Rewrite) -> float:
        """Estimate the peak of the call with a rewrite, by the liveness of its jaxpr."""
        if change not in self._estimates:
            traced = self._traced[change] = self._trace(change)
            self._estimates[change] = self.part * _estimated(traced)
        return self._estimates[change]

    def _trace(self, rewrite: Callable[[Any], Any]) -> Traced:
        """Trace the call with its differentiated functions rewritten."""
        with rewrite_differentiated(rewrite):
            return trace_call(self.call, self.args, self.kwargs)

    def _peak(self, traced: Traced) -> int:
        """Compile a traced call, and return its peak."""
        self.compiled += 1
        return memory_of(compile_with_lines(traced).executable, 0).total


def _count(change: _Rewrite) -> tuple[type, int]:
    """The number of segments or pieces of a rewrite."""
    count = change.segments if isinstance(change, rc.Recomputation) else change.count
    return type(change), count


def _in_pieces(jaxpr: ir.Jaxpr, arguments: int) -> tuple[list[_Choice[rc.BatchPieces]], str]:
    """List the rewrites that run the batch of a differentiated function in pieces.

    Returns:
      The rewrites, of the fewest pieces first, and why there are none.
    """
    refusal = ""
    for size in rc.batch_sizes(jaxpr, arguments):
        counts = [count for count in range(2, size + 1) if size % count == 0]
        try:
            rc.PiecedLoss(jaxpr, arguments, size, counts[0])
        except rc.NotInPiecesError as error:
            refusal = refusal or f" A batch of {size} cannot be run in pieces: {error}."
            continue
        spaced: list[int] = []
        for count in counts:
            if not spaced or count >= 2 * spaced[-1]:
                spaced.append(count)
        # They are taken after all that recompute: a loop over few rows may be slow.
        return [_Choice(rc.BatchPieces(size, count), math.inf, 0.0) for count in spaced], ""
    return [], refusal


def _estimated(traced: Traced) -> int:
    program, _, _ = traced.discharged_call()
    return rc.estimated_peak(program.jaxpr)


def _promising(choices: Sequence[_Choice[rc.Recomputation]]) -> list[_Choice[rc.Recomputation]]:
    """Return the choices to be traced, the cheapest first.

    They are the ones that have fewer bytes than all that are cheaper; and, as the estimate of bytes
    is rough, those of the fewest bytes for each number of segments, the cheapest and the one that
    recomputes most.
    """
    promising: set[_Choice[rc.Recomputation]] = set()
    least = math.inf
    for choice in sorted(choices, key=lambda choice: (choice.cost, choice.bytes)):
        if choice.bytes < least:
            promising.add(choice)
            least = choice.bytes
    for order in (
        lambda choice: (choice.bytes, choice.cost),
        lambda choice: (choice.bytes, -choice.rewrite.recomputed),
    ):
        smallest: dict[tuple[int, bool], _Choice[rc.Recomputation]] = {}
        for choice in sorted(choices, key=order):
            change = choice.rewrite
            smallest.setdefault((change.segments, change.scans), choice)
        promising |= {*smallest.values()}
    return sorted(promising, key=lambda choice: choice.cost)


def _choices(jaxpr: ir.Jaxpr) -> tuple[float, float, list[_Choice[rc.Recomputation]]]:
    """List rewrites of a differentiated function.

    Returns:
      The bytes of its residuals and the operations of its forward pass, and the rewrites with their
      costs.
    """
    whole = rc.SegmentedFunction(jaxpr, 1)
    nothing = rc.CostlySaved(math.inf)
    residuals = sum(cost.residuals for cost in whole.costs(nothing))
    forward = sum(map(rc.operations, whole.jaxpr.eqns))
    levels = sorted(rc.costs_per_byte(jaxpr))
    levels = levels[:: -(-len(levels) // _LEVELS)] if levels else []
    choices = []
    for scans in {False, rc.has_scans(jaxpr)}:
        for count in rc.segment_counts(jaxpr):
            segmented = None if scans else rc.SegmentedFunction(jaxpr, count)
            for least in [*levels, math.inf]:
                policy = rc.CostlySaved(least)
                pieces = segmented or rc.SegmentedFunction(jaxpr, count, policy)
                costs = pieces.costs(policy)
                in_scans = rc.repeated_in_scans(jaxpr, policy) if scans else 0.0
                for recomputed in range(0 if scans else 1, len(costs) + 1):
                    change = rc.Recomputation(count, recomputed, least, scans)
                    again, size = _estimate(costs, recomputed)
                    choices.append(_Choice(change, again + in_scans, size))
    return residuals, forward, choices


def _estimate(costs: Sequence[rc.SegmentCosts], recomputed: int) -> tuple[float, float]:
    """Estimate the operations that are repeated, and the most bytes of residuals at a time.

    The backward pass begins with what is saved of all segments, and goes from the last one to the
    first; in each, its residuals stand beside what is saved of those before it.
    """
    stored = [
        c.crossing + (c.saved if i < recomputed else c.residuals) for i, c in enumerate(costs)
    ]
    before = [0, *accumulate(stored)]
    during = [
        before[i] + c.crossing + (c.residuals if i < recomputed else 0) for i, c in enumerate(costs)
    ]
    return sum(c.again for c in costs[:recomputed]), max(before[-1], *during)
