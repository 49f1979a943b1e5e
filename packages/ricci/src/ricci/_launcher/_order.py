"""The order of failures: the process that failed first, and the order in which stderr is printed.

When one process fails, the others soon fail too, for lack of it, with long reports; a process
that raised an exception may even end after those that noticed. So a traceback is delayed for a
moment, until it is known which one came first. Once a process has failed, its stderr is printed,
and the others' when all have ended.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from ._output import DelayedLines, Printer

# The first lines of reports of failure: Python's, faulthandler's, and those of XLA's checks.
_REPORT = re.compile(
    rb"(  \+ Exception Group )?Traceback \(most recent call last\):|Fatal Python error: |F\d{4} "
)
HOLD = 1.0  # the delay of a report, in seconds
# Longer ago, the report was of an exception that the process survived: its end is a new failure.
_RECENT = 30.0  # how long a process may take from its report to its end


class Failure(NamedTuple):
    """The failure of a process.

    Attributes:
      time: the time at which it reported that, or ended.
      rank: its number.
      code: its exit code, or the negative number of the signal that killed it.
    """

    time: float
    rank: int
    code: int


class Reports:
    """The stderr of all processes, in the order in which they failed.

    Attributes:
      failures: the failures, in the order of the processes' ends.
      first: the rank that failed first, as far as that is known when one has ended.
    """

    def __init__(self, processes: int, printer: Printer) -> None:
        self.failures: list[Failure] = []
        self.first: int | None = None
        self._printer = printer
        self._held = [DelayedLines() for _ in range(processes)]
        self._since: list[float | None] = [None] * processes  # start of a delay
        self._reported: list[float | None] = [None] * processes  # start of the last report

    def add(self, rank: int, line: bytes, now: float) -> None:
        """Print a line of stderr, or delay it."""
        if _REPORT.match(line):
            # Chained exceptions print several reports in a row: the first one's time counts.
            if self._since[rank] is None:
                self._reported[rank] = now
                self._since[rank] = now
        if self._is_held(rank):
            self._held[rank].add(line)
        else:
            self._printer.print(rank, [line])

    def _is_held(self, rank: int) -> bool:
        if self.first is not None:
            # After the first failure, only that process's lines are printed at once.
            return rank != self.first
        return self._since[rank] is not None

    def due(self) -> float | None:
        """Return the time to print the oldest delayed report, unless a process fails before."""
        waiting = [since for since in self._since if since is not None]
        return min(waiting) + HOLD if waiting and self.first is None else None

    def release(self, now: float) -> None:
        """Print the reports that were delayed long enough, in the order in which they began."""
        if self.first is not None:
            return
        for rank in self._in_order():
            since = self._since[rank]
            if since is not None and since + HOLD <= now:
                self._print(rank)

    def _in_order(self) -> Iterator[int]:
        begun = [(since, rank) for rank, since in enumerate(self._since) if since is not None]
        return (rank for _, rank in sorted(begun))

    def _print(self, rank: int) -> None:
        self._since[rank] = None
        self._printer.print(rank, self._held[rank].take())

    def failed(self, rank: int, code: int, now: float) -> None:
        """Record that a process has failed, other than by a signal of the launcher."""
        reported = self._reported[rank]
        # A process that a signal killed (a negative code) has printed no report of that.
        recent = reported is not None and code > 0 and now - reported <= _RECENT
        failure = Failure(reported if recent and reported is not None else now, rank, code)
        self.failures.append(failure)
        if self.first is not None:
            return
        # Another process's report may be older, although that process has not ended yet.
        older = [(since, r) for r, since in enumerate(self._since) if since is not None]
        _, self.first = min([*older, (failure.time, rank)])
        self._print(self.first)

    def settle(self) -> Failure | None:
        """Print all delayed lines, now that all processes have ended; return the first failure."""
        for rank in self._in_order():
            self._print(rank)
        for rank, delayed in enumerate(self._held):
            lines = delayed.take()
            if lines:
                self._printer.print(rank, lines)
        return min(self.failures, default=None)
