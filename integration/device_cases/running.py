"""Runs programs on both sides."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ricci_testing import ricci_namespace, shared_oracle

from . import Case, plain
from .accepted import Row, reason
from .agreement import differences

SLICE = 24


@dataclass(frozen=True, slots=True)
class Verdict:
    """A program with what it differs in.

    Attributes:
        case: the program.
        left: the differences without a reason, by aspect.
        rows: the rows that accept the others.
    """

    case: Case
    left: dict[str, str]
    rows: tuple[Row, ...]


def verdicts(cases: Sequence[Case]) -> Iterator[Verdict]:
    """Yield what each program differs in; the oracle is asked for some of them at a time."""
    namespace = ricci_namespace()
    for start in range(0, len(cases), SLICE):
        part = cases[start : start + SLICE]
        answers = shared_oracle().run_many([case.request() for case in part], timeout=600.0)
        for case, theirs in zip(part, answers, strict=True):
            found = differences(plain(case.observed(namespace)), plain(theirs))
            rows = {aspect: reason(case.name, aspect, text) for aspect, text in found.items()}
            left = {aspect: text for aspect, text in found.items() if rows[aspect] is None}
            yield Verdict(case, left, tuple(row for row in rows.values() if row is not None))
