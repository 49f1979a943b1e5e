"""Runs programs on both sides."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ricci_testing import ricci_namespace, shared_oracle

from . import Case, plain
from .accepted import Row, accepting_row
from .agreement import Difference, differences

SLICE = 24


@dataclass(frozen=True, slots=True)
class Verdict:
    """A program and its differences.

    Attributes:
        case: the program.
        unexplained: the differences that no row accepts, by aspect.
        rows: the rows that accept the others.
    """

    case: Case
    unexplained: dict[str, Difference]
    rows: tuple[Row, ...]


def verdicts(cases: Sequence[Case]) -> Iterator[Verdict]:
    """Yield the differences of each program; the oracle is asked for some of them at a time."""
    namespace = ricci_namespace()
    for start in range(0, len(cases), SLICE):
        part = cases[start : start + SLICE]
        answers = shared_oracle().run_many([case.request() for case in part], timeout=600.0)
        for case, theirs in zip(part, answers, strict=True):
            different = differences(plain(case.observed(namespace)), plain(theirs))
            rows = {aspect: accepting_row(case.name, aspect, d) for aspect, d in different.items()}
            unexplained = {aspect: d for aspect, d in different.items() if rows[aspect] is None}
            yield Verdict(case, unexplained, tuple(filter(None, rows.values())))
