"""What a program holds as it runs: the sums by reason at each of its instructions."""

from dataclasses import dataclass

from ._live_ranges import EntryMemory
from ._memory import KEPT, Reasons

# The reasons that change as a program runs, from the bottom of a picture to its top.
REASONS = ("result", KEPT, "temporary")


@dataclass(frozen=True, slots=True)
class Course:
    """What is alive at each instruction of a program.

    Attributes:
      arguments: the bytes of arguments and constants, which are there all the time.
      results, kept, temporaries: the bytes of each kind at each instruction. What the body of a
        loop computes counts at the loop, at its most.
    """

    arguments: int
    results: tuple[int, ...]
    kept: tuple[int, ...]
    temporaries: tuple[int, ...]

    @property
    def totals(self) -> list[int]:
        """All bytes at each instruction."""
        layers = zip(self.results, self.kept, self.temporaries, strict=True)
        return [self.arguments + sum(layer) for layer in layers]


def course_of(found: EntryMemory, reasons: Reasons, length: int) -> Course:
    """What a program of a number of instructions holds at each of them."""
    changes = {why: [0] * (length + 1) for why in REASONS}
    for span in found.spans:
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
    for position, inside in found.inside.items():
        sums["temporary"][position] += inside
    results, kept, temporaries = (tuple(sums[why]) for why in REASONS)
    arguments = sum(buffer.bytes for buffer in found.arguments)
    return Course(arguments, results, kept, temporaries)
