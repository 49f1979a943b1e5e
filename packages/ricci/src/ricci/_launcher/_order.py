"""Which process failed first, and whose stderr is printed when.

When one process fails, the others soon fail too, for lack of it, and say so at length; a process
that raised an exception may even end after those that noticed. So a traceback is held back for a
moment, until it is known whose came first. Once a process has failed, that one's stderr is printed,
and the others' when all have ended.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from ._output import Held, Printer

# The first lines of reports of failure: Python's, faulthandler's, and those of XLA's checks.
_REPORT = re.compile(
    rb"(  \+ Exception Group )?Traceback \(most recent call last\):|Fatal Python error: |F\d{4} "
)
HOLD = 1.0  # how long a report is held back, in seconds
_RECENT = 30.0  # how long a process may take from its report to its end


class Failure(NamedTuple):
    """How a process failed.

    Attributes:
      time: when it reported that, or ended.
      rank: its number.
      code: its exit code, or the negative number of the signal that killed it.
    """

    time: float
    rank: int
    code: int


class Reports:
    """The stderr of all processes, in the order in which they failed.

    Attributes:
      failures: how processes failed, in the order of their ends.
      first: the rank that failed first, as far as that is known when one has ended.
    """

    def __init__(self, processes: int, printer: Printer) -> None:
        self.failures: list[Failure] = []
        self.first: int | None = None
        self._printer = printer
        self._held = [Held() for _ in range(processes)]
        self._since: list[float | None] = [None] * processes  # when a report is held since
        self._reported: list[float | None] = [None] * processes  # when the last one began

    def add(self, rank: int, line: bytes, now: float) -> None:
        """Take a line of stderr: print it, or hold it."""
        if _REPORT.match(line):
            if self._since[rank] is None:
                self._reported[rank] = now
                self._since[rank] = now
        if self._is_held(rank):
            self._held[rank].add(line)
        else:
            self._printer.print(rank, [line])

    def _is_held(self, rank: int) -> bool:
        if self.first is not None:
            return rank != self.first
        return self._since[rank] is not None

    def due(self) -> float | None:
        """When the oldest held report is to be printed, unless a process fails before that."""
        waiting = [since for since in self._since if since is not None]
        return min(waiting) + HOLD if waiting and self.first is None else None

    def release(self, now: float) -> None:
        """Print the reports that were held long enough, in the order in which they began."""
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
        """Note that a process has ended with a failure, which nobody asked it for."""
        reported = self._reported[rank]
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
        """Print all that is held, now that all processes have ended; return the first failure."""
        for rank in self._in_order():
            self._print(rank)
        for rank, held in enumerate(self._held):
            lines = held.take()
            if lines:
                self._printer.print(rank, lines)
        return min(self.failures, default=None)
