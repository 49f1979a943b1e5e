"""``fit_memory``: the same function with the recomputation that brings its peak under a limit.

Choices are estimated on jaxprs, in two steps: many by their residuals, the best of them by the
liveness of the rewritten function. The cheapest that should fit is compiled: only the compiler's
peak counts. What it differs by from the estimate corrects the next choice.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import update_wrapper
from typing import Any, overload

import numpy as np

import ricci_ir as ir
import ricci_lax.recomputation as rc
from ricci_autodiff import rewrite_differentiated
from ricci_lax import Differentiated
from ricci_parallel.reports._collective import shown_bytes
from ricci_pytree import tree_flatten
from ricci_xla import Traced, compile_for_sizes, devices_of, jit, trace_call

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

__all__ = ["FittedFunction", "MemoryFit", "MemoryLimitError", "fit_memory"]

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12} | {
    f"{letter}i": 2 ** (10 * power) for power, letter in enumerate("kmgt", 1)
}
_LIMIT = re.compile(r"\s*(\d+(?:\.\d*)?)\s*([kmgt]?i?)b?\s*", re.IGNORECASE)
_TRIALS = 3  # executables compiled at most, beside the first
# The part of the limit that estimates are below the compiler's peaks at first; most of those of
# integration/memory_programs are 0 to 20% below, and corrected by the first that is compiled.
_MARGIN = 0.2
# The part of a step that another choice must save for it to be compiled, once one fits.
_WORTHWHILE = 0.05
# Estimates that are corrected, and this many times above the limit, need not be compiled.
_HOPELESS = 1.1


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
      host_bytes: the residuals in the host's memory; the compiler's figure.
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
    host_bytes: int
    again: float
    compiled: int

    @property
    def rewrite(self) -> "Rewrite | None":
        """The rewrite of differentiated functions, if any."""
        return self.recomputation or self.pieces

    @property
    def rows(self) -> list[dict[str, object]]:
        """The plan as data: a row of its figures."""
        change, pieces = self.recomputation, self.pieces
        return [
            {
                "limit": self.limit,
                "unlimited": self.unlimited,
                "peak_bytes": self.peak_bytes,
                "host_bytes": self.host_bytes,
                "segments": 1 if change is None else change.segments,
                "recomputed": 0 if change is None else change.recomputed,
                "pieces": 1 if pieces is None else pieces.count,
                "again": self.again,
                "compiled": self.compiled,
            }
        ]

    def _repr_html_(self) -> str:
        return ir.html_table(self.rows, str(self))

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
        if change.on_host:
            parts.append(f"{shown_bytes(self.host_bytes)} of residuals are on the host")
        return f"{peak}{'; '.join(parts)}: {self.again:.0%} of the forward pass runs twice"


@overload
def fit_memory[**P, R](f: Callable[P, R], limit: int | str) -> "FittedFunction[P, R]": ...
@overload
def fit_memory[R](
    f: Callable[..., R], limit: int | str, *args: ir.PyTree, **kwargs: ir.PyTree
) -> R: ...
def fit_memory(
    f: Callable[..., object], limit: int | str, *args: ir.PyTree, **kwargs: ir.PyTree
) -> object:
    """Keep a function's peak memory under a limit, by recomputation or a batch in pieces.

    Every function that ``f`` differentiates, also inside of what it calls, is cut into segments
    where few bytes cross, as between the layers of a model. The backward pass recomputes some of
    them instead of reading residuals, all but results that cost many operations for each byte. How
    many segments, which of them, and which results are saved is chosen at the first call for
    arguments of given types: the choice with the least cost of repeated operations and of residuals
    in memory, as estimated, among those whose peak is under the limit, as compiled.

    On TPUs and GPUs results that are costly, and what checkpoints read, may be saved in the host's
    memory instead: where the link to the host is fast enough for their bytes to be moved beside the
    computation, or no recomputation is enough. CPUs have no other memory.

    If no recomputation is enough, and what is differentiated is a sum or a mean over the examples
    of a batch, the batch runs in pieces, whose gradients are added: the values are equal up to
    rounding.

    Args:
      f: a function of pytrees of arrays, jitted or not, which is compiled. A library's own jitted
        functions, such as ``nnx.jit(step)``, are called as they are.
      limit: the bytes on each device: a number, or a text such as ``"8GiB"`` or ``"500MB"``.
      args, kwargs: arguments of ``f``, or none: ``fit_memory(f, limit, x)`` is
        ``fit_memory(f, limit)(x)``.

    Returns:
      A function with the arguments and results of ``f``, whose method ``plan`` returns the plan for
      arguments, which may be ``ShapeDtypeStruct``s; with arguments, the results of ``f``.

    Raises:
      TypeError: if ``f`` cannot be called.
      ValueError: if the limit is not a number of bytes of at least 1.
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
    fitted = FittedFunction(f, _bytes(limit))
    return fitted(*args, **kwargs) if args or kwargs else fitted


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
    is_number = isinstance(size, int | float | np.integer | np.floating)
    # Less than a byte is meant as a share of something.
    if not is_number or isinstance(size, bool) or not 1 <= size < math.inf:
        raise ValueError(
            "the limit must be a number of bytes, at least 1, or a text such as '8GiB', "
            f"got {limit!r}."
        )
    return int(size)


class _Planner:
    """The search for a call's recomputation."""

    def __init__(
        self, call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], limit: int
    ):
        self.call, self.args, self.kwargs, self.limit = call, args, kwargs, limit
        self.compiled = 0
        # On several devices jaxprs have the sizes of whole arrays: the part that a device has.
        self.part = 1.0
        # The least peak of a choice, by its bytes of residuals.
        self.rough = 0.0
        self._traced: dict[Rewrite, Traced] = {}
        self._estimates: dict[Rewrite, float] = {}

    def fit(self) -> MemoryFit:
        """Compile the cheapest choices that should fit, until one does.

        Raises:
          MemoryLimitError: if none does.
        """
        seen = Differentiated()
        plain = self._trace(seen.look)
        whole = self._memory(plain)
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
        estimated = max(_estimated(plain), 1)
        if len(devices) > 1:
            self.part = unlimited / estimated
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
        pieces, refusal = ([], "") if len(devices) > 1 else choices_in_pieces(jaxpr, arguments)
        choices = [*promising(choices), *pieces]
        offsets: dict[bool, float] = {}
        peaks: dict[Rewrite, int] = {}
        best: tuple[Choice[Any], Memory] | None = None
        for _ in range(_TRIALS):
            bound = None if best is None else best[0].cost - gain
            choice = self._next(choices, offsets, peaks, bound)
            if choice is None:
                break
            change = choice.rewrite
            memory = self._memory(self._traced[change])
            peaks[change] = memory.total
            offsets[_is_on_host(change)] = memory.total - self._estimate(change)
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
            return self._fit(memory, unlimited, pieces=change)
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
        self,
        choices: Sequence[Choice[Any]],
        offsets: Mapping[bool, float],
        peaks: Mapping[Rewrite, int],
        bound: float | None,
    ) -> Choice[Any] | None:
        """Choose the cheapest that should fit, or else the smallest; none that was compiled.

        Args:
          choices: the choices, the cheapest first.
          offsets: what the compiler's peaks were above the estimates, with moves to the host and
            without: compilers schedule these by other rules.
          peaks: the peaks of those that were compiled.
          bound: the cost that a choice must be below, or ``None`` if none that was compiled fits.
        """
        offset = lambda change: offsets.get(_is_on_host(change), _MARGIN * self.limit)
        estimate = lambda change: self._estimate(change) + offset(change)
        new = [choice for choice in choices if choice.rewrite not in peaks]
        for choice in new:  # the cheapest first, so that few are traced
            if bound is not None and choice.cost >= bound:
                return None
            may_fit = self.rough * choice.bytes + offset(choice.rewrite) <= self.limit
            if may_fit and estimate(choice.rewrite) <= self.limit:
                return choice
        if bound is not None or not new:
            return None
        # Choices with as many segments have similar peaks, so other numbers come first.
        counts = {*map(_count, peaks)}
        order = lambda choice: (_count(choice.rewrite) in counts, estimate(choice.rewrite))
        least = min(new, key=order)
        hopeless = estimate(least.rewrite) > _HOPELESS * self.limit
        return None if len(peaks) > 1 and hopeless else least

    def _estimate(self, change: Rewrite) -> float:
        """Estimate the peak of the call with a rewrite, by the liveness of its jaxpr."""
        if change not in self._estimates:
            traced = self._traced[change] = self._trace(change)
            self._estimates[change] = self.part * _estimated(traced)
        return self._estimates[change]

    def _trace(self, rewrite: Callable[[Any], Any]) -> Traced:
        """Trace the call with its differentiated functions rewritten."""
        with rewrite_differentiated(rewrite):
            return trace_call(self.call, self.args, self.kwargs)

    def _memory(self, traced: Traced) -> Memory:
        """Compile a traced call, and return the compiler's figures."""
        self.compiled += 1
        return memory_of(compile_for_sizes(traced), 0)


def _count(change: Rewrite) -> tuple[type, int]:
    """The number of segments or pieces of a rewrite."""
    count = change.segments if isinstance(change, rc.Recomputation) else change.count
    return type(change), count


def _is_on_host(change: Rewrite) -> bool:
    return isinstance(change, rc.Recomputation) and change.on_host


def _estimated(traced: Traced) -> int:
    program, _, _ = traced.discharged_call()
    return rc.estimated_peak(program.jaxpr)
