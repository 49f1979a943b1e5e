"""Disagreements that are accepted, as `data/device_differences.txt` holds them, with both texts.

A reason stands behind `# `, then the programs of which it is the reason; below each of them a
line for each aspect in which it differs: `aspect in probe | ours | theirs`, where `*` is any text.
The whole run fails where a row covers no difference any more.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from patterns import matches

from .agreement import Difference


@dataclass(frozen=True, slots=True)
class Row:
    """An accepted disagreement.

    Attributes:
        name: the program's name, `topic: title`.
        aspect: what differs, as in `agreement.differences`.
        probe: in which observation of the program.
        ours, theirs: patterns of what both sides give.
        reason: why it is accepted.
    """

    name: str
    aspect: str
    probe: str
    ours: str
    theirs: str
    reason: str

    def covers(self, name: str, aspect: str, difference: Difference) -> bool:
        """Whether it is this difference of a program in an aspect."""
        return (
            (self.name, self.aspect, self.probe) == (name, aspect, difference.probe)
            and matches(difference.ours, self.ours)
            and matches(difference.theirs, self.theirs)
        )


def read(text: str) -> Iterator[Row]:
    """Yield the rows of a table.

    >>> (row,) = read("# refused\\nbad: f(X)\\n    error in eager | a result | ValueError: *")
    >>> row.name, row.aspect, row.probe, row.theirs
    ('bad: f(X)', 'error', 'eager', 'ValueError: *')
    """
    reason = name = ""
    for line in filter(None, text.splitlines()):
        if line.startswith("# "):
            reason = line.removeprefix("# ")
        elif line.startswith("    "):
            place, ours, theirs = line.strip().split(" | ")
            aspect, _, probe = place.partition(" in ")
            yield Row(name, aspect, probe, ours, theirs, reason)
        else:
            name = line


DATA = Path(__file__).parents[1] / "data" / "device_differences.txt"
ACCEPTED = tuple(read(DATA.read_text()))


def accepting_row(name: str, aspect: str, difference: Difference) -> Row | None:
    """Return the row that accepts a difference, or None."""
    return next((row for row in ACCEPTED if row.covers(name, aspect, difference)), None)
