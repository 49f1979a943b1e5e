"""``precision``: find the lines of a function that lose accuracy."""

import builtins
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, overload

import numpy as np

import ricci_ir as ir
from ricci_lax.stepping import run_in_steps

from ._fewest import Fewest
from ._formats import (
    distance,
    epsilon,
    next_format,
    norms_of,
    real_bytes,
    root_mean_square,
    widened,
)
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

    __slots__ = ("dtype", "entries", "inherited", "local", "total")

    def __init__(self, entry: Entry):
        self.entries: list[Entry] = []
        self.local = self.inherited = self.total = -1.0
        self.dtype = entry.dtypes[0]

    def add(self, entry: Entry, local: float, inherited: float, total: float) -> None:
        """Add an operation."""
        self.entries.append(entry)
        self.local = max(self.local, local)
        self.inherited = max(self.inherited, inherited)
        self.total = max(self.total, total)
        dtypes = [*entry.dtypes, *(x.dtype for x in entry.operands if x.dtype is not None)]
        self.dtype = min([self.dtype, *dtypes], key=real_bytes)

    @property
    def format(self) -> np.dtype:
        """The format in which to compute the line instead."""
        return next_format(self.dtype)


class _OwnError:
    """The errors of the runs of one operation.

    Attributes:
      worst: the run with the largest error.
    """

    __slots__ = (
        "_count",
        "_error",
        "_flushed",
        "_largest",
        "_nonzero",
        "_size",
        "_smallest",
        "_sum",
        "worst",
    )

    def __init__(self, entry: Entry):
        self.worst = entry
        self._error = self._size = self._sum = 0.0
        self._largest = -1.0
        self._count = self._flushed = self._nonzero = 0
        self._smallest: list[np.ndarray] = []

    def add(self, entry: Entry, value: np.ndarray, exact: np.ndarray) -> None:
        """Add a result of a run."""
        error, size = norms_of(value, exact)
        self._error = math.hypot(self._error, error)
        self._size = math.hypot(self._size, size)
        self._sum += min(error / size, 1.0) if size else float(error > 0)
        self._count += 1
        if error > self._largest:
            self.worst, self._largest = entry, error
        least = float(ir.finfo(min(entry.dtypes, key=real_bytes)).smallest_normal)
        flushed = (value == 0) & (exact != 0) & (np.abs(exact) < least)
        self._nonzero += np.count_nonzero(exact)
        self._flushed += np.count_nonzero(flushed)
        if flushed.any():
            self._smallest.append(np.abs(exact[flushed]))

    @property
    def relative(self) -> float:
        """The norm of the errors over that of the exact values, or the mean of those of the runs.

        The latter is larger where the values of a loop decay, and the small ones are wrong.
        """
        if not self._size:
            return float(self._error > 0)
        return max(self._error / self._size, self._sum / self._count)

    @property
    def flushed(self) -> float:
        """The share of the values that become 0, since they are below the smallest number."""
        return float(self._flushed / self._nonzero) if self._nonzero else 0.0

    def factor(self, dtype: np.dtype) -> float:
        """The power of 2 that brings most of these values into the range of a dtype, or 1."""
        if not self._smallest:
            return 1.0
        typical = float(np.median(np.concatenate([x.ravel() for x in self._smallest])))
        return 2.0 ** max(
            0, int(np.ceil(np.log2(float(ir.finfo(dtype).smallest_normal) / typical)))
        )


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
        floor = max(map(root_mean_square, self.exact), default=0.0)
        with ir.enable_x64(True):
            noisy = self.replay.run_noisy()
        self.floors = [
            floor if _is_noise(_value(operand, noisy.__getitem__), exact) else 0.0
            for (_, operand), exact in zip(self.results, self.exact, strict=True)
        ]
        self.recorded = tape.values

    def _lines(self, tape: Tape) -> dict[tuple[str, int], _Line]:
        """The lines with operations that round, with the errors of these."""
        replay = self.replay
        reference = replay.reference
        lines: dict[tuple[str, int], _Line] = {}
        for entry in replay.entries:
            if is_exact(entry):
                continue
            results = replay.alone(entry, reference)
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
        for (name, operand), exact, floor in zip(
            self.results, self.exact, self.floors, strict=True
        ):
            value = rounded(values, operand) if is_rounded else _value(operand, values)
            errors.append((distance(value, exact, floor), name))
        return max(errors, key=lambda error: error[0], default=(0.0, ""))

    def report(self, suggest: bool, bound: float | None) -> Precision:
        """The report on the call."""
        error, name = self.error(self.recorded.__getitem__)
        with ir.enable_x64(True):
            rows = {key: self._row(key, line) for key, line in self.lines.items()}
            order = sorted(rows, key=lambda key: _rank(rows[key]))
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
        local = self._own_error(line, changed)
        worst = local.worst
        parts = worst.place.parts
        name = f"{worst.name} (in {parts[-1]})" if parts and parts[-1] != worst.name else worst.name
        return LineError(
            ir.Source(*worst.place.origin, worst.place.names),
            name,
            line.dtype.name,
            line.format.name,
            effect,
            local.relative,
            line.inherited,
            line.total,
            sum(_growth(entry, line.format) for entry in line.entries),
            sum(map(_flops, line.entries)),
            worst.place.path,
            ir.is_transposed(worst.place.names),
            local.flushed,
            local.factor(line.dtype),
        )

    def _own_error(self, line: _Line, changed: Mapping[int, Any]) -> "_OwnError":
        """The error of a line's values when it alone is as it is, by the worst of its operations.

        The runs of an operation in a loop count together, as errors that they accumulate are their
        own, and one value near 0 does not make the error large.
        """
        reference = self.replay.reference
        errors: dict[Any, _OwnError] = {}
        for entry in line.entries:
            error = errors.setdefault(entry.operation, _OwnError(entry))
            for number in entry.results:
                if number in changed:
                    error.add(entry, changed[number], reference[number])
                elif number >= 0:
                    error.add(entry, reference[number], reference[number])
        return max(errors.values(), key=lambda error: error.relative)

    def _suggest(
        self, order: Sequence[tuple[str, int]], rows: dict[Any, LineError], bound: float | None
    ) -> Casts:
        """The fewest lines to widen."""
        bound = 2 * self.epsilon if bound is None else bound

        def measure(chosen: Sequence[tuple[str, int]]) -> float:
            formats: Formats = {key: self.lines[key].format for key in chosen}
            return self.error(self.replay.run(formats).__getitem__)[0]

        fewest = Fewest(order, measure, bound)
        lines = tuple(rows[key] for key in order if key in fewest.chosen)
        return Casts(lines, fewest.error, bound, fewest.error <= bound)


def _rank(row: LineError) -> tuple[int, float]:
    """The order of a line: by its effect and the error that it makes, then by its inherited one.

    A line that rounds as any does may have a large effect because another one amplifies its error,
    as a difference of nearly equal numbers. The other one then makes a large error itself. Of lines
    that are alike, as where values are 0 in all of them, the first has the right operands.
    """
    blame = min(row.effect, 1.0) * min(row.local, 1.0) ** (1 / 3)
    return -builtins.round(8 * np.log2(max(blame, 1e-300))), row.inherited


def _is_noise(noisy: np.ndarray, exact: np.ndarray) -> bool:
    """Whether a result is smaller than the rounding errors of its terms, even in wide formats."""
    error, size = norms_of(noisy, exact)
    return error >= size


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
