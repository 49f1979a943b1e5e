"""Disagreements that are accepted, each with its reason."""

from dataclasses import dataclass

from .agreement import Disagreement


@dataclass(frozen=True, slots=True)
class Expected:
    """A disagreement with a reason.

    Attributes:
        kind: what differs, as in `Disagreement`.
        mentions: what stands in the program or in the text of the difference.
        reason: why it is accepted.
    """

    kind: str
    mentions: tuple[str, ...]
    reason: str

    def covers(self, found: Disagreement) -> bool:
        text = str(found)
        return self.kind == found.kind and all(part in text for part in self.mentions)


EXPECTED: tuple[Expected, ...] = ()


def reason(found: Disagreement) -> str | None:
    """Why a disagreement is accepted, or None where it is not."""
    return next((row.reason for row in EXPECTED if row.covers(found)), None)
