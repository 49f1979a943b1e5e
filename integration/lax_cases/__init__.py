"""Calls of every public function of lax, by topic."""

import ricci.lax

from . import (
    contractions,
    control_flow,
    convolutions,
    elementwise,
    fft,
    indexing,
    linalg,
    random_bits,
    reductions,
    shapes,
    sorting,
    windows,
)
from .case import Case

TOPICS: dict[str, list[Case]] = {
    module.__name__.rpartition(".")[2]: module.TABLE.cases
    for module in (
        elementwise,
        shapes,
        contractions,
        convolutions,
        reductions,
        windows,
        indexing,
        sorting,
        control_flow,
        fft,
        linalg,
        random_bits,
    )
}


def by_function() -> dict[str, list[Case]]:
    """Return the cases of each function, in the order of the tables."""
    found: dict[str, list[Case]] = {}
    for cases in TOPICS.values():
        for case in cases:
            found.setdefault(case.function, []).append(case)
    return found


def exists(function: str) -> bool:
    """Tell whether Ricci has a function of lax by this name."""
    space = ricci.lax
    for part in function.split("."):
        if not hasattr(space, part):
            return False
        space = getattr(space, part)
    return True
