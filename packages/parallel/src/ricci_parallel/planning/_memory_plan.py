"""A memory plan: the peak memory of an executable with its owners, as data, text and SVG."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from ricci_ir import html_table, shown_file
from ricci_parallel.reports._collective import shown_bytes

from ._memory import RESIDUAL, LiveBuffer, Memory, Owner, owners_of
from ._memory_picture import MemoryTimeline, memory_svg

__all__ = ["MemoryPlan", "PeakLocation", "Remedy"]

_SHOWN = 12
_SHOWN_REMEDIES = 6
# The characters after which an argument's path is its leaf's.
_LEAF_MARKS = "[."


@dataclass(frozen=True, slots=True)
class PeakLocation:
    """The line of the user's code at an executable's peak memory.

    Attributes:
      operation: the operation that runs then; ``""`` if unknown.
      file, line, function: its place; ``""`` and 0 if unknown.
      backward: whether it belongs to a backward pass.
    """

    operation: str
    file: str
    line: int
    function: str
    backward: bool


@dataclass(frozen=True, slots=True)
class Remedy:
    """A variant that stores less for its backward pass, compiled to measure the change.

    Attributes:
      policy: the name of the policy in ``checkpoint_policies``.
      around: the functions under ``checkpoint``: ``"the differentiated function"`` or
        ``"the bodies of scans"``.
      peak_bytes: the peak then; the compiler's figure.
      bytes_saved: the difference from the present peak; negative if it is larger.
      again: the operations that are added, as a share of all; estimated like
        ``Plan.flops``.
    """

    policy: str
    around: str
    peak_bytes: int
    bytes_saved: int
    again: float


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """The memory of an executable on each device. ``str`` of it is a table.

    Attributes:
      name: the executable's name.
      devices: the number of devices.
      device_kind: the runtime's name of them.
      memory: the compiler's figures.
      buffers: the arrays that are live at the peak, the largest first, as estimated from the text
        of the executable; their sum is ``live_bytes``.
      place: the line at the peak.
      remedies: the changes that ``checkpoint`` would make, the best first.
      course: the live bytes at each instruction, which ``svg`` draws.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> x = ricci.ShapeDtypeStruct((1000, 1000), jnp.float32)
      >>> plan = ricci.memory_plan(lambda x: x + 1.0, x)
      >>> plan.arguments, plan.results
      (4000000, 4000000)
    """

    name: str
    devices: int
    device_kind: str
    memory: Memory
    buffers: tuple[LiveBuffer, ...]
    place: PeakLocation
    remedies: tuple[Remedy, ...]
    course: MemoryTimeline

    @property
    def peak_bytes(self) -> int:
        """The peak memory of the executable on each device, as the compiler assigns it."""
        return self.memory.total

    @property
    def arguments(self) -> int:
        """The bytes of the arguments."""
        return self.memory.arguments

    @property
    def results(self) -> int:
        """The bytes of the results, also of those that lie in the memory of donated arguments."""
        return self.memory.results

    @property
    def live_bytes(self) -> int:
        """The sum of the buffers that are live at the peak: an estimate of ``peak_bytes``."""
        return self.memory.arguments + self.memory.live

    @property
    def kept_bytes(self) -> int:
        """The bytes at the peak that are residuals of the backward pass."""
        return sum(row.bytes for row in self.buffers if row.why == RESIDUAL)

    def __str__(self) -> str:
        """Format a table: the peak, the lines that own it, and remedies."""
        return "\n".join([*self.head(_SHOWN), *_remedy_lines(self.remedies)])

    def head(self, rows: int) -> list[str]:
        """Return the first lines of the table.

        Args:
          rows: the number of rows of buffers at the peak.
        """
        memory, place = self.memory, self.place
        donated = f", of which {shown_bytes(memory.donated)} in donated arguments"
        devices = f" on each of {self.devices} x {self.device_kind}"
        lines = [
            f"{self.name}: {shown_bytes(self.peak_bytes)} at its peak{devices}",
            f"  arguments {shown_bytes(memory.arguments)}, results {shown_bytes(memory.results)}"
            f"{donated if memory.donated else ''}, temporaries {shown_bytes(memory.temporaries)}",
        ]
        if place.line:
            direction = ", in the backward pass" if place.backward else ""
            at = f"{shown_file(place.file, short=True)}:{place.line}"
            lines.append(f"  the peak is at {at}, {place.operation}{direction}; alive then:")
        else:
            lines.append("  alive at the peak:")
        return lines + self._rows(rows)

    def _rows(self, count: int) -> list[str]:
        groups = self.owners()
        cells: list[tuple[str, ...]] = [
            (
                shown_bytes(owner.bytes),
                owner.kind,
                f"{shown_file(owner.file, short=True)}:{owner.line}" if owner.line else "",
                owner.function,
                owner.name,
                owner.shape + (f" and {owner.count - 1} more" if owner.count > 1 else ""),
                owner.scope,
            )
            for owner in groups[:count]
        ]
        hidden = groups[count:]
        if hidden:
            size = shown_bytes(sum(owner.bytes for owner in hidden))
            cells.append((size, f"in {len(hidden)} more rows", *[""] * 5))
        gaps = self.peak_bytes - self.live_bytes
        if gaps > 0:
            cells.append((shown_bytes(gaps), "gaps between them, constants", *[""] * 5))
        elif gaps < 0:
            words = "less: temporaries that lie where results come later"
            cells.append((shown_bytes(-gaps), words, *[""] * 5))
        return aligned(cells)

    @property
    def rows(self) -> list[dict[str, object]]:
        """The lines and arguments that own the peak, as data, the largest first."""
        return [asdict(owner) for owner in self.owners()]

    def owners(self) -> list[Owner]:
        """Group the buffers by line and reason, or by argument, the largest first."""
        return list(owners_of([_by_argument(row) for row in self.buffers], exact=True))

    def svg(self) -> str:
        """Draw the live bytes over a run, and the lines that own the peak, as SVG."""
        return memory_svg(self.name, self.peak_bytes, self.course, self.owners())

    def save(self, path: str | Path) -> None:
        """Write the picture to a file, by convention with the ending ``.svg``."""
        Path(path).write_text(self.svg(), encoding="utf-8")

    def _repr_svg_(self) -> str:
        return self.svg()

    def _repr_html_(self) -> str:
        return self.svg() + html_table(self.rows, str(self))


def _by_argument(row: LiveBuffer) -> LiveBuffer:
    """Return a leaf of an argument under the argument's name."""
    if row.line or not row.why.endswith("argument"):
        return row
    end = min((i for i in map(row.operation.find, _LEAF_MARKS) if i > 0), default=None)
    return row.of(row.operation[:end])


def _remedy_lines(remedies: Sequence[Remedy]) -> list[str]:
    if not remedies:
        return []
    cells = [
        (
            shown_bytes(remedy.peak_bytes),
            _change(-remedy.bytes_saved, remedy.peak_bytes + remedy.bytes_saved),
            f"{remedy.again:+.0%} operations",
            f"checkpoint with {remedy.policy}",
            f"around {remedy.around}",
        )
        for remedy in remedies[:_SHOWN_REMEDIES]
    ]
    return ["  the peak if values are computed again (each one compiled):", *aligned(cells)]


def _change(bytes: int, of: int) -> str:
    return f"{bytes / max(of, 1):+.0%}"


def aligned(cells: Sequence[Sequence[str]]) -> list[str]:
    """Format rows of a table: the first column aligned to the right, the others to the left."""
    if not cells:
        return []
    full = [row for row in cells if any(row[2:])] or cells
    widths = [max(map(len, column)) for column in zip(*full, strict=True)]
    return [
        "    " + "  ".join([row[0].rjust(widths[0]), *map(str.ljust, row[1:], widths[1:])]).rstrip()
        for row in cells
    ]
