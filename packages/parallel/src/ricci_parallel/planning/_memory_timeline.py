"""The memory timeline of an executable: bytes by reason at each instruction."""

from dataclasses import dataclass

from ._live_ranges import EntryMemory
from ._memory import RESIDUAL, Reasons

# The reasons that change during a run, from the bottom of a chart to its top.
REASONS = ("result", RESIDUAL, "temporary")


@dataclass(frozen=True, slots=True)
class MemoryTimeline:
    """Live bytes at each instruction of an HLO module.

    Attributes:
      arguments: the bytes of arguments and constants, which are live throughout.
      results, residuals, temporaries: the bytes of each kind at each instruction. Those computed
        by the body of a loop count at the loop, at their peak.
    """

    arguments: int
    results: tuple[int, ...]
    residuals: tuple[int, ...]
    temporaries: tuple[int, ...]

    @property
    def totals(self) -> list[int]:
        """The live bytes at each instruction."""
        layers = zip(self.results, self.residuals, self.temporaries, strict=True)
        return [self.arguments + sum(layer) for layer in layers]


def timeline_of(memory: EntryMemory, reasons: Reasons, length: int) -> MemoryTimeline:
    """Return the timeline of a module with ``length`` instructions."""
    changes = {why: [0] * (length + 1) for why in REASONS}
    for span in memory.spans:
        start = span.first
        for end in (*(change[0] for change in span.buffer.earlier), span.last + 1):
            if start < end:
                size = span.buffer.bytes
                row = changes[reasons.why(span.buffer, start)]
                row[start] += size
                row[end] -= size
                if span.host is not None:
                    changes["result"][start] -= size
                    changes["result"][end] += size
            start = max(start, end)
    sums = {}
    for why, row in changes.items():
        total, sums[why] = 0, []
        for change in row[:-1]:
            total += change
            sums[why].append(total)
    for position, inside in memory.inside.items():
        sums["temporary"][position] += inside
    results, residuals, temporaries = (tuple(sums[why]) for why in REASONS)
    arguments = sum(buffer.bytes for buffer in memory.arguments)
    return MemoryTimeline(arguments, results, residuals, temporaries)
