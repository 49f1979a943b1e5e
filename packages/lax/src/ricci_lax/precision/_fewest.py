"""Search for the fewest lines to widen."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations, islice
from math import comb

_MOST_SETS = 200
_FEW_LINES = 12


class Fewest[Key]:
    """The fewest lines whose widening brings an error under a bound.

    Lines are added in their order until the bound is reached, and those without which it is reached
    as well are left out. Then smaller sets are tried, the smallest first: all if they are few, else
    those with the lines that are needed though all others are widened. Errors are those of runs, of
    which none is made twice.

    Args:
      order: the lines, those that are likely to be needed first.
      measure: returns the error of the results if some lines are widened.
      bound: the bound.

    Attributes:
      chosen: the lines; if no set reaches the bound, the fewest with the error of all.
      error: the error with these lines.
    """

    __slots__ = ("_bound", "_errors", "_measure", "_order", "chosen", "error")

    def __init__(self, order: Sequence[Key], measure: Callable[[list[Key]], float], bound: float):
        self._order = order
        self._measure = measure
        self._bound = bound
        self._errors: dict[frozenset[Key], float] = {}
        chosen = self._first()
        limit = max(bound, self._error(chosen))
        chosen = self._without_needless(chosen, limit)
        if limit <= bound and len(chosen) > 1:
            chosen = next(filter(self._reaches, self._smaller(chosen)), chosen)
        self.chosen = chosen
        self.error = self._error(chosen)

    def _error(self, chosen: Iterable[Key]) -> float:
        key = frozenset(chosen)
        if key not in self._errors:
            self._errors[key] = self._measure([line for line in self._order if line in key])
        return self._errors[key]

    def _reaches(self, chosen: Iterable[Key]) -> bool:
        return self._error(chosen) <= self._bound

    def _first(self) -> list[Key]:
        """Return the first lines that reach the bound, or all."""
        count = 0
        while not self._reaches(self._order[:count]) and count < len(self._order):
            # Few lines are added one by one, then more at once.
            count = min(len(self._order), count + 1 + count // 4)
        return list(self._order[:count])

    def _without_needless(self, chosen: list[Key], limit: float) -> list[Key]:
        """Leave lines out until the error is above a limit without any of those that remain."""
        is_minimal = False
        while not is_minimal:
            is_minimal = True
            for key in reversed(chosen):
                fewer = [other for other in chosen if other != key]
                if self._error(fewer) <= limit:
                    chosen, is_minimal = fewer, False
        return chosen

    def _smaller(self, chosen: list[Key]) -> Iterator[list[Key]]:
        """Return smaller sets, the smallest first."""
        lines, sizes = self._order, range(len(chosen))
        needed: list[Key] = []
        are_few = sum(comb(len(lines), size) for size in sizes) <= _MOST_SETS
        if not (are_few and len(lines) <= _FEW_LINES):
            needed = [key for key in chosen if not self._reaches([x for x in lines if x != key])]
            sizes = range(len(chosen) - len(needed))
        others = [key for key in lines if key not in needed]
        sets = (extra for size in sizes for extra in combinations(others, size))
        for extra in islice(sets, _MOST_SETS):
            yield [key for key in lines if key in needed or key in extra]
