"""Reports on the lines of a function that lose accuracy."""

import builtins
import math
from collections.abc import Sequence

import ricci_ir as ir
from ricci_lax.stepping import source_text

__all__ = ["Casts", "LineError", "Precision"]

_SHOWN = 12  # lines of the table
_MANY_FLUSHED = 0.05  # of an operation's values


class LineError(ir.Record):
    """A line of the user's code, and the errors of its operations.

    All errors are relative: the norm of an array's difference from the exact one over the norm of
    that. Of a line with several operations they are those of the worst one; its runs in a loop
    count together in ``local``.

    Attributes:
      source: the place: ``file``, ``line`` and ``function``.
      operation: the operation that makes the largest error.
      dtype: the narrowest dtype that the line computes in.
      wider: the dtype in which to compute instead.
      effect: the error of the function's results if this line alone is computed as it is, and all
        others are exact.
      local: the error that the line makes: that of its values if it alone is computed as it is. In
        a loop that includes what it accumulates.
      inherited: the error of its operands.
      error: the error of its values.
      bytes: the memory by which its values grow in ``wider``.
      flops: the operations that are then computed in ``wider``.
      path: the loop's iteration, call or device with the largest error.
      backward: whether that operation is in the backward pass of a gradient.
      flushed: the share of that operation's values that are too small for ``dtype``, and become 0.
      factor: the power of 2 that would bring most of these into the range of ``dtype``.
    """

    source: ir.Source
    operation: str
    dtype: str
    wider: str
    effect: float
    local: float
    inherited: float
    error: float
    bytes: int
    flops: int
    path: tuple[str, ...] = ()
    backward: bool = False
    flushed: float = 0.0
    factor: float = 1.0

    @property
    def file(self) -> str:
        """The user's file."""
        return self.source.file

    @property
    def line(self) -> int:
        """The line in it."""
        return self.source.line


class Casts(ir.Record):
    """Lines to compute in a wider dtype, so that the results have an error under a bound.

    Attributes:
      lines: the lines, the first one with the largest effect.
      error: the error of the results then, measured by a run with these casts.
      bound: the bound.
      reached: whether the error is under the bound. If not, no casts of lines reach it.
    """

    lines: tuple[LineError, ...]
    error: float
    bound: float
    reached: bool

    def __str__(self) -> str:
        if self.reached and not self.lines:
            return f"no casts are needed: the error is within {self.bound:.1e}"
        if self.reached:
            head = f"casts that bring the error to {self.error:.1e} (bound {self.bound:.1e}):"
        elif self.lines:
            head = f"no casts reach the bound {self.bound:.1e}; these bring the error to "
            head += f"{self.error:.1e}:"
        else:
            head = f"no casts lower the error, to be under the bound {self.bound:.1e}"
        lines = [f"  {_place(row)}: compute in {row.wider}" for row in self.lines]
        return "\n".join([head, *lines])


class Precision(ir.Record):
    """The lines of a function that lose accuracy, with the largest effect first; to print.

    Attributes:
      error: the largest relative error of a result.
      result: the path of that result.
      lines: the lines that round.
      suggestion: the fewest casts, if they were asked for.
      unfollowed: operations that have no wider form, such as callbacks; their errors are unknown.
    """

    error: float
    result: str
    lines: tuple[LineError, ...]
    suggestion: Casts | None = None
    unfollowed: tuple[str, ...] = ()

    @property
    def rows(self) -> list[dict[str, object]]:
        """The lines as data."""
        return [
            {
                "file": row.file,
                "line": row.line,
                "function": row.source.function,
                "text": source_text(row.source),
                "operation": row.operation,
                "dtype": row.dtype,
                "effect": row.effect,
                "local": row.local,
                "inherited": row.inherited,
                "error": row.error,
                "wider": row.wider,
                "bytes": row.bytes,
                "flops": row.flops,
                "flushed": row.flushed,
            }
            for row in self.lines
        ]

    def _repr_html_(self) -> str:
        return ir.html_table(self.rows, str(self))

    def __str__(self) -> str:
        head = f"{self.result} has an error of {self.error:.1e}" if self.result else "no results"
        if not self.lines:
            return f"{head}; no line rounds"
        cells = [("effect", "local", "inherited", "widening", "line")]
        cells += [_cells(row) for row in self.lines[:_SHOWN]]
        lines = [f"{head}; by line, its effect on the results alone:", *_table(cells)]
        if len(self.lines) > _SHOWN:
            lines.append(f"  and {len(self.lines) - _SHOWN} more lines")
        if self.lines[0].flushed >= _MANY_FLUSHED:
            lines += _on_underflow(self.lines[0])
        if self.unfollowed:
            lines.append(f"not followed: {', '.join(self.unfollowed)}")
        if self.suggestion is not None:
            lines.append(str(self.suggestion))
        return "\n".join(lines)


def _place(row: LineError) -> str:
    return f"{ir.shown_file(row.file, short=True)}:{row.line}"


def _on_underflow(row: LineError) -> list[str]:
    """Advice on a line whose values become 0."""
    factor = f"2**{builtins.round(math.log2(row.factor))}"
    scaling = f"multiply the values by a factor such as {factor}"
    if row.backward:
        scaling = f"multiply the loss by a factor such as {factor}, and divide the gradients by it"
    return [
        f"underflow: {row.flushed:.0%} of the values of {_place(row)} become 0 in {row.dtype}:",
        f"  {scaling}, or compute in {row.wider}",
    ]


def _cells(row: LineError) -> tuple[str, ...]:
    errors = [f"{x:.1e}" for x in (row.effect, row.local, row.inherited)]
    location = f", {row.path[-1]}" if row.path else ""
    direction = ", backward" if row.backward else ""
    text = f"{_place(row)}  {source_text(row.source)}  ({row.operation} in {row.dtype}"
    return (*errors, f"+{row.bytes:,} bytes", f"{text}{direction}{location})")


def _table(cells: Sequence[tuple[str, ...]]) -> list[str]:
    *widths, _ = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  " + "  ".join([*(c.ljust(w) for c, w in zip(row, widths, strict=False)), row[-1]])
        for row in cells
    ]
