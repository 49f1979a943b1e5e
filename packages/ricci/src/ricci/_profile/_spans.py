"""Spans of time, each of a kind, and the amount of each kind between some times."""

import heapq
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np


class Span(NamedTuple):
    """A span of time of a kind."""

    start: int
    end: int
    kind: str


def disjoint(spans: Iterable[Span], order: Sequence[str]) -> list[Span]:
    """Cut spans so that none overlap: where several do, the kind that comes first in ``order``.

    Example:
      >>> from ricci._profile._spans import Span, disjoint
      >>> disjoint([Span(0, 9, "trace"), Span(2, 4, "compile")], ["compile", "trace"])
      [Span(start=0, end=2, kind='trace'), Span(start=2, end=4, kind='compile'),
       Span(start=4, end=9, kind='trace')]
    """
    rank = {kind: i for i, kind in enumerate(order)}
    waiting = sorted((s for s in spans if s.end > s.start), key=lambda s: s.start)
    edges = sorted({t for s in waiting for t in (s.start, s.end)})
    active: list[tuple[int, int]] = []  # rank and end, the first in order on top
    result: list[Span] = []
    i = 0
    for start, end in zip(edges, edges[1:], strict=False):
        while i < len(waiting) and waiting[i].start <= start:
            heapq.heappush(active, (rank[waiting[i].kind], waiting[i].end))
            i += 1
        while active and active[0][1] <= start:
            heapq.heappop(active)
        if not active:
            continue
        kind = order[active[0][0]]
        if result and result[-1].kind == kind and result[-1].end == start:
            result[-1] = result[-1]._replace(end=end)
        else:
            result.append(Span(start, end, kind))
    return result


class Amounts:
    """A cumulative amount over time, which grows linearly between some times.

    Args:
      times: in order.
      sums: the amount before each.
    """

    def __init__(self, times: np.ndarray, sums: np.ndarray):
        self._times = times
        self._sums = sums

    def between(self, times: np.ndarray) -> np.ndarray:
        """Return the amount between each time and the next.

        Example:
          >>> import numpy as np
          >>> from ricci._profile._spans import Span, seconds_of
          >>> seconds_of([Span(1, 3, "run")]).between(np.array([0, 2, 10])) * 1e9
          array([1., 1.])
        """
        if not len(self._times):
            return np.zeros(len(times) - 1)
        return np.diff(np.interp(times, self._times, self._sums))


def seconds_of(spans: Sequence[Span]) -> Amounts:
    """Return the seconds of disjoint spans, which are in order; their kinds do not matter."""
    starts = np.array([s.start for s in spans], np.float64)
    ends = np.array([s.end for s in spans], np.float64)
    before = np.concatenate([[0.0], np.cumsum(ends - starts)])
    return Amounts(np.stack([starts, ends], 1).ravel(), np.repeat(before, 2)[1:-1] / 1e9)
