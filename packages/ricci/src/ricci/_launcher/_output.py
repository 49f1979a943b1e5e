"""Printing of the processes' output: whole lines, each with the number of its process."""

import os
import select
from collections import deque
from collections.abc import Iterator, Mapping
from typing import IO

_COLOURS = (36, 33, 35, 32, 34, 31)  # of terminals: cyan, yellow, magenta, green, blue, red
# Bytes of a line without an end, after which it is printed in pieces (binary output, a bar that
# only uses carriage returns), and delayed lines of a process.
_LONGEST = 1 << 16
_HELD = 10_000


class Lines:
    """Splits the data of a pipe into lines."""

    def __init__(self) -> None:
        self._rest = b""

    def add(self, data: bytes) -> Iterator[bytes]:
        """Yield the complete lines, without their ends."""
        # The last piece has no line end yet: it is the beginning of what the next data completes.
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            yield _shown(line)
        if len(self._rest) > _LONGEST:
            yield from self.end()

    def end(self) -> Iterator[bytes]:
        """Yield the incomplete line at the end of the data."""
        if self._rest:
            yield _shown(self._rest)
        self._rest = b""


def _shown(line: bytes) -> bytes:
    """Return the visible part of a line: a progress bar returns to its start to overwrite it."""
    return line.removesuffix(b"\r").rpartition(b"\r")[2]


class DelayedLines:
    """Lines that wait to be printed, the last ones if they are many."""

    def __init__(self) -> None:
        self._lines: deque[bytes] = deque(maxlen=_HELD)
        self._dropped = 0

    def add(self, line: bytes) -> None:
        # A full deque drops its oldest line; their number is reported in their place.
        self._dropped += len(self._lines) == _HELD
        self._lines.append(line)

    def take(self) -> list[bytes]:
        """Return the lines, and remove them."""
        lines = list(self._lines)
        if self._dropped:
            lines.insert(0, b"... (%d earlier lines are left out)" % self._dropped)
        self._lines.clear()
        self._dropped = 0
        return lines


class Printer:
    """Writes lines to one of the launcher's streams.

    Args:
      stream: stdout or stderr.
      processes: the number of processes.
      prefix: whether lines begin with the number of their process.
      variables: the environment, which may disable colours.
    """

    def __init__(
        self,
        stream: IO[str],
        processes: int,
        prefix: bool,
        variables: Mapping[str, str] = os.environ,
    ) -> None:
        self._descriptor = stream.fileno()
        self._coloured = (
            stream.isatty() and not variables.get("NO_COLOR") and variables.get("TERM") != "dumb"
        )
        self._prefixes = [
            self._colour(rank, f"[{rank:{len(str(processes - 1))}}] ") if prefix else b""
            for rank in range(processes)
        ]

    def _colour(self, rank: int, text: str) -> bytes:
        if self._coloured:
            text = f"\x1b[{_COLOURS[rank % len(_COLOURS)]}m{text}\x1b[0m"
        return text.encode()

    def print(self, rank: int, lines: list[bytes]) -> None:
        """Write lines of a process.

        Raises:
          BrokenPipeError: if the stream has no reader any more.
        """
        prefix = self._prefixes[rank]
        self._write(b"".join(b"%b%b\n" % (prefix, line) for line in lines))

    def say(self, text: str) -> None:
        """Write a line of the launcher itself."""
        start = (
            "\x1b[1mricci.distributed.run:\x1b[0m" if self._coloured else "ricci.distributed.run:"
        )
        self._write(f"{start} {text}\n".encode())

    def _write(self, data: bytes) -> None:
        while data:
            try:
                data = data[os.write(self._descriptor, data) :]
            except BlockingIOError:  # the reader of the stream made it non-blocking
                select.select([], [self._descriptor], [])
