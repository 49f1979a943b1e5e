"""Calls of every function of the NumPy API, by topic."""

from . import algebra, elementwise, indexing, others, reductions, shapes, sorting
from .case import Call

TOPICS: dict[str, list[Call]] = {
    module.__name__.rpartition(".")[2]: module.TABLE.cases
    for module in (elementwise, reductions, shapes, indexing, sorting, algebra, others)
}


def by_function() -> dict[str, list[Call]]:
    """Return the calls of each function, in the order of the tables."""
    found: dict[str, list[Call]] = {}
    for cases in TOPICS.values():
        for case in cases:
            found.setdefault(case.function, []).append(case)
    return found
