"""``precision``: find the lines of a function that lose accuracy."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any, overload

import numpy as np

import ricci_ir as ir
from ricci_lax.stepping import run_in_steps

from ._formats import distance, epsilon, next_format, real_bytes, widened
from ._replay import Formats, Replay, is_exact, rounded
from ._report import Casts, LineError, Precision
from ._tape import Entry, Operand, Tape

__all__ = ["precision"]


@overload
def precision(  # pyright: ignore[reportOverlappingOverload]
    fun: Callable[..., Any], *, suggest: bool = False, bound: float | None = None
) -> Callable[..., Precision]: ...
@overload
def precision(
    fun: Callable[..., Any],
    *args: ir.PyTree,
    suggest: bool = False,
    bound: float | None = None,
    **kwargs: object,
) -> Precision: ...
@ir.api_boundary
def precision(
    fun: Callable[..., Any],
    *args: ir.PyTree,
    suggest: bool = False,
    bound: float | None = None,
    **kwargs: object,
) -> Precision | Callable[..., Precision]:
    """Run a function beside itself in 64 bits, and find the lines that lose accuracy.

    Every operation is run on its own and rounded to its dtype; a compiled function may round less
    often. Decisions (branches, iterations, comparisons, indices) are those of the function as it
    is. Lines that compute in ``float64`` have no wider dtype beside them and count as exact.

    Args:
      fun: any function of pytrees of arrays, also jitted, differentiated or mapped.
      args, kwargs: its arguments, or none: ``precision(f)(x)`` is ``precision(f, x)``.
      suggest: whether to search for the fewest lines to compute in a wider dtype, by runs with
        such casts.
      bound: for ``suggest``, the largest relative error of a result; by default twice the distance
        of 1 to the next number of the narrowest dtype that ``fun`` computes in.

    Returns:
      A ``Precision``, to print: for each line that rounds, the error that it causes in the results,
      that it makes and that it inherits, and what it costs to widen it. Without arguments, a
      function of ``fun``'s arguments that returns this.

    Raises:
      TypeError: if ``fun`` cannot be called.
      ValueError: if ``bound`` is not above 0.

    Example:
      >>> import numpy as np, ricci
      >>> from ricci import lax
      >>> report = ricci.precision(lambda x: lax.sub(lax.sqrt(lax.add(x, 1.0)), 1.0))(1e-4)
      >>> report.error > 1e-4, report.lines[0].dtype
      (True, 'float32')
    """
    if bound is not None and not bound > 0:
        raise ValueError(f"bound must be above 0, got {bound}.")

    def precision(
        fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Precision:
        return _Analysis(fun, args, kwargs).report(suggest, bound)

    return ir.call_with_arguments(precision, fun, args, kwargs)


class _Line:
    """The operations of a line, and the largest of their errors."""

    __slots__ = ("bytes", "dtype", "entries", "flops", "inherited", "local", "total", "worst")

    def __init__(self, entry: Entry):
        self.entries: list[Entry] = []
        self.worst = entry
        self.local = self.inherited = self.total = -1.0
        self.bytes = self.flops = 0
        self.dtype = entry.dtypes[0]

    def add(self, entry: Entry, local: float, inherited: float, total: float) -> None:
        """Add an operation."""
        self.entries.append(entry)
        if local > self.local:
            self.worst, self.local = entry, local
        self.inherited = max(self.inherited, inherited)
        self.total = max(self.total, total)
        dtypes = [*entry.dtypes, *(x.dtype for x in entry.operands if x.dtype is not None)]
        self.dtype = min([self.dtype, *dtypes], key=real_bytes)

    @property
    def format(self) -> np.dtype:
        """The format in which to compute the line instead."""
        return next_format(self.dtype)


class _Analysis:
    """The analysis of one call."""

    def __init__(self, fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]):
        tape = Tape()
        with ExitStack() as stack:
            for option in (ir.debug_nans, ir.debug_infs):
                if option.value:
                    stack.enter_context(option(False))
            arrays = run_in_steps(tape, fun, args, kwargs)
            self.results = [(name, tape.operand(x)) for name, x in arrays]
            self.results = [(name, x) for name, x in self.results if x.dtype is not None]
            with ir.enable_x64(True):
                self.replay = Replay(tape)
                self.local: dict[int, Any] = {}
                self.lines = self._lines(tape)
        reference = self.replay.reference
        self.exact = [_value(x, reference.__getitem__) for _, x in self.results]
        narrowest = [line.dtype for line in self.lines.values()]
        self.epsilon = max(map(epsilon, narrowest), default=0.0)
        # A result that is 0 but for rounding, such as the gradient of a bias before a
        # normalization, is compared with the size of the others.
        sizes = [
            float(np.sqrt(np.mean(np.abs(np.nan_to_num(x)) ** 2))) for x in self.exact if np.size(x)
        ]
        self.floor = self.epsilon * max(sizes, default=0.0)
        self.recorded = tape.values

    def _lines(self, tape: Tape) -> dict[tuple[str, int], _Line]:
        """The lines with operations that round, with the errors of these."""
        replay = self.replay
        reference = replay.reference
        lines: dict[tuple[str, int], _Line] = {}
        for entry in replay.entries:
            if is_exact(entry):
                continue
            results = replay.evaluate(entry, reference, None)
            local = total = 0.0
            for number, result in zip(entry.results, results, strict=True):
                if number < 0:
                    continue
                error = distance(result, reference[number])
                if error:
                    self.local[number] = result
                local = max(local, error)
                total = max(total, distance(tape.values[number], reference[number]))
            sources = {x.value for x in entry.operands if x.value >= 0}
            inherited = max((distance(tape.values[n], reference[n]) for n in sources), default=0.0)
            line = lines.setdefault(entry.line, _Line(entry))
            line.add(entry, local, inherited, total)
        return {key: line for key, line in lines.items() if line.local > 0}

    def error(
        self, values: Callable[[int], np.ndarray], is_rounded: bool = True
    ) -> tuple[float, str]:
        """The largest error of a result, and its path."""
        errors = []
        for (name, operand), exact in zip(self.results, self.exact, strict=True):
            value = rounded(values, operand) if is_rounded else _value(operand, values)
            errors.append((distance(value, exact, self.floor), name))
        return max(errors, key=lambda error: error[0], default=(0.0, ""))

    def report(self, suggest: bool, bound: float | None) -> Precision:
        """The report on the call."""
        error, name = self.error(self.recorded.__getitem__)
        with ir.enable_x64(True):
            rows = {key: self._row(key, line) for key, line in self.lines.items()}
            order = sorted(rows, key=lambda key: -_blame(rows[key]))
            casts = self._suggest(order, rows, bound) if suggest else None
        return Precision(
            error,
            name,
            tuple(rows[key] for key in order),
            casts,
            tuple(sorted(self.replay.unfollowed)),
        )

    def _row(self, key: tuple[str, int], line: _Line) -> LineError:
        changed = self.replay.run_alone(key, self.local)
        reference = self.replay.reference
        effect, _ = self.error(lambda n: changed.get(n, reference[n]), is_rounded=False)
        worst = line.worst
        parts = worst.place.parts
        name = f"{worst.name} (in {parts[-1]})" if parts and parts[-1] != worst.name else worst.name
        return LineError(
            ir.Source(*worst.place.origin, worst.place.names),
            name,
            line.dtype.name,
            line.format.name,
            effect,
            line.local,
            line.inherited,
            line.total,
            sum(_growth(entry, line.format) for entry in line.entries),
            sum(map(_flops, line.entries)),
            worst.place.path,
            ir.is_transposed(worst.place.names),
        )

    def _suggest(
        self, order: Sequence[tuple[str, int]], rows: dict[Any, LineError], bound: float | None
    ) -> Casts:
        """The fewest lines to widen, found by runs: lines are added by effect, then left out."""
        bound = 2 * self.epsilon if bound is None else bound

        def measured(chosen: Sequence[tuple[str, int]]) -> float:
            formats: Formats = {key: self.lines[key].format for key in chosen}
            return self.error(self.replay.run(formats).__getitem__)[0]

        chosen: list[tuple[str, int]] = []
        error = measured(chosen)
        count = 0
        while error > bound and count < len(order):
            # Few lines are added one by one, then more at once.
            count = min(len(order), count + 1 + count // 4)
            chosen = list(order[:count])
            error = measured(chosen)
        reached = error <= bound
        limit = bound if reached else error
        for key in reversed(chosen[:-1] if reached and len(chosen) > 1 else chosen):
            fewer = [other for other in chosen if other != key]
            without = measured(fewer)
            if without <= limit:
                chosen, error = fewer, without
        return Casts(tuple(rows[key] for key in chosen), error, bound, reached)


def _blame(row: LineError) -> float:
    """The order of lines: by their effect, and by the error that they make themselves.

    A line that rounds as any does may have a large effect because another one amplifies its error,
    as a difference of nearly equal numbers. The other one then makes a large error itself.
    """
    return min(row.effect, 1.0) * min(row.local, 1.0) ** 0.5


def _value(operand: Operand, values: Callable[[int], np.ndarray]) -> np.ndarray:
    return operand.constant if operand.value < 0 else values(operand.value)


def _growth(entry: Entry, real: np.dtype) -> int:
    """The bytes by which the results of an operation grow in a wider format."""
    pairs = zip(entry.dtypes, entry.sizes, strict=True)
    return sum((widened(dtype, real).itemsize - dtype.itemsize) * size for dtype, size in pairs)


def _flops(entry: Entry) -> int:
    """The floating-point operations of an operation, two for each product of a contraction."""
    size = sum(entry.sizes)
    if entry.name == "dot_general":
        # Without batches, the square of the products is (m k) (k n) (m n).
        lhs, rhs = (x.size for x in entry.operands[:2])
        return 2 * int((lhs * rhs * size) ** 0.5 + 0.5)
    return max(size, *(x.size for x in entry.operands if x.dtype is not None), 0)
