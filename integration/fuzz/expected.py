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


EXPECTED = (
    Expected(
        "weak_type",
        ("array",),
        "some functions (insert, pad, diag, gradient, interp, setdiff1d, unravel_index) make "
        "strong types of weak ones where JAX does not, and a few the other way round",
    ),
    Expected(
        "dtype",
        ("x64 True",),
        "with 64-bit types, floats of integers are float64 where JAX has float32, and positions "
        "int32 where it has int64",
    ),
    Expected(
        "outcome",
        ("x64 True", "the operands differ in dtype: int64, int32"),
        "with 64-bit types, arithmetic on positions mixes int32 and int64",
    ),
)


def reason(found: Disagreement) -> str | None:
    """Why a disagreement is accepted, or None where it is not."""
    return next((row.reason for row in EXPECTED if row.covers(found)), None)
