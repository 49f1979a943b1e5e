"""The supervisor: starts the processes, and watches over them until all have ended."""

import contextlib
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ._environment import command, coordinator, environment
from ._group import FORWARDED, Group
from ._options import Options, read_options
from ._order import Failure, Reports
from ._output import Lines, Printer

_TIMED_OUT = 124  # as timeout(1) has it
_KILL_AFTER = 5.0  # from SIGTERM to SIGKILL


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
      arguments: the command line without the command; by default that of this process.

    Returns:
      The exit status: that of the process that failed first, or 0.
    """
    options = read_options(arguments)
    run, address = command(options), coordinator(options)
    group = Group()
    try:
        supervisor = _Supervisor(options, group)
        supervisor.start(run, address)
        return supervisor.watch()
    except BrokenPipeError:  # the output has no reader
        # The status that a shell shows for a process killed by SIGPIPE.
        return 128 + signal.SIGPIPE
    finally:
        group.close()


class _Pipe(NamedTuple):
    """One of the streams of a process."""

    descriptor: int
    rank: int
    lines: Lines
    is_stderr: bool


class _Supervisor:
    """The loop that reads the processes' output, and handles their ends, signals and limits."""

    def __init__(self, options: Options, group: Group) -> None:
        self._options = options
        self._group = group
        self._out = Printer(sys.stdout, options.processes, options.prefix)
        self._err = Printer(sys.stderr, options.processes, options.prefix)
        self._reports = Reports(options.processes, self._err)
        self._pipes: list[_Pipe] = []
        self._selector = selectors.DefaultSelector()
        self._signal: signal.Signals | None = None  # that came from outside
        self._ending = False  # by the launcher; the exit codes of processes then are not failures
        self._ended: list[int] = []  # the ranks that did not end by themselves
        self._timed_out = False
        self._next: tuple[float, Callable[[], None]] | None = None  # the next action, and its time
        self._wakeup = self._receive_signals()

    def _receive_signals(self) -> socket.socket:
        """Return a socket that receives the number of each signal, so that the loop wakes up."""
        reading, writing = socket.socketpair()
        reading.setblocking(False)
        writing.setblocking(False)
        # Python writes a signal's number there at once, even in the middle of select; a handler
        # that does nothing is needed all the same, or SIGCHLD would be discarded.
        signal.set_wakeup_fd(writing.detach(), warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, *FORWARDED):
            if signal.getsignal(number) != signal.SIG_IGN or number == signal.SIGCHLD:
                signal.signal(number, lambda *_: None)  # else it is ignored, as nohup wants it
        self._selector.register(reading, selectors.EVENT_READ)
        return reading

    def start(self, run: Sequence[str], address: str) -> None:
        """Start all processes."""
        if self._options.timeout is not None:
            self._next = time.monotonic() + self._options.timeout, self._time_out
        for rank in range(self._options.processes):
            # A process in the background may not read from the terminal.
            inherits = rank == 0 and not os.isatty(0)
            process = self._group.start(
                run,
                environment(rank, address, self._options),
                None if inherits else subprocess.DEVNULL,
            )
            for stream, is_stderr in ((process.stdout, False), (process.stderr, True)):
                assert stream is not None
                os.set_blocking(stream.fileno(), False)
                pipe = _Pipe(stream.fileno(), rank, Lines(), is_stderr)
                self._pipes.append(pipe)
                self._selector.register(pipe.descriptor, selectors.EVENT_READ, pipe)

    def watch(self) -> int:
        """Wait until all processes have ended; return the exit status."""
        while self._group.running():
            # Sleep until the nearest deadline; without one, until output or a signal comes.
            due = [t for t in (self._next and self._next[0], self._reports.due()) if t is not None]
            wait = max(0.0, min(due) - time.monotonic()) if due else None
            events = self._selector.select(wait)
            if any(key.data is None for key, _ in events):
                self._take_signals()
            for key, _ in events:
                if key.data is not None:
                    self._read(key.data)
            now = time.monotonic()
            self._reports.release(now)
            if self._next is not None and self._next[0] <= now:
                self._next[1]()
        return self._status(self._reports.settle())

    def _read(self, pipe: _Pipe) -> bool:
        """Forward the data of a pipe; return whether there may be more."""
        try:
            data = os.read(pipe.descriptor, 1 << 16)
        except BlockingIOError:
            return False
        if data:
            self._pass_on(pipe, list(pipe.lines.add(data)))
            return True
        self._pass_on(pipe, list(pipe.lines.end()))
        with contextlib.suppress(KeyError):  # it was at its end before
            self._selector.unregister(pipe.descriptor)
        return False

    def _pass_on(self, pipe: _Pipe, lines: list[bytes]) -> None:
        if not lines:
            return
        if not pipe.is_stderr:
            self._out.print(pipe.rank, lines)
            return
        now = time.monotonic()
        for line in lines:
            self._reports.add(pipe.rank, line, now)

    def _take_signals(self) -> None:
        for number in self._wakeup.recv(1 << 12):
            if number in FORWARDED:
                self._forward(signal.Signals(number))
        for rank in self._group.running():
            code = self._group.processes[rank].poll()
            if code is not None:
                self._take_end(rank, code)

    def _take_end(self, rank: int, code: int) -> None:
        """Read the remaining output of an ended process, and check whether it failed."""
        for pipe in self._pipes:
            if pipe.rank == rank:
                # All that the pipe still has. Not to its end: a grandchild may hold it open.
                while self._read(pipe):
                    pass
                self._pass_on(pipe, list(pipe.lines.end()))
        if code == 0 or self._ending:
            if code != 0:
                self._ended.append(rank)
            return
        first = not self._reports.failures
        self._reports.failed(rank, code, time.monotonic())
        if first and self._group.running():
            self._err.say(
                f"rank {rank} failed: {_how(code)}. The others have {self._options.grace:g} s to "
                "end by themselves."
            )
            # The others may write checkpoints, or report why they cannot go on.
            self._next = time.monotonic() + self._options.grace, self._end_all

    # Ending the processes

    def _forward(self, number: signal.Signals) -> None:
        """Forward a signal. The processes may use the time to save their work."""
        if self._signal is not None and number == signal.SIGINT:
            self._kill_all()  # Ctrl-C again: the user does not want to wait
            return
        self._signal = number
        self._ending = True
        self._group.send(number)
        self._next = time.monotonic() + self._options.stop_timeout, self._kill_all

    def _time_out(self) -> None:
        self._timed_out = True
        ranks = _ranks(self._group.running())
        self._err.say(f"{ranks} did not end within {self._options.timeout:g} s (--timeout).")
        self._end_all()

    def _end_all(self) -> None:
        self._ending = True
        self._group.send(signal.SIGTERM)
        self._next = time.monotonic() + _KILL_AFTER, self._kill_all

    def _kill_all(self) -> None:
        self._ending = True
        self._next = None
        self._group.send(signal.SIGKILL)

    # The final message

    def _status(self, first: Failure | None) -> int:
        if first is not None:
            if self._options.processes > 1:
                self._err.say(self._summary(first))
            # A negative code is a signal's number; shells show it as 128 + number.
            return first.code if first.code > 0 else 128 - first.code
        if self._timed_out:
            return _TIMED_OUT
        if self._signal is not None and self._ended:
            return 128 + self._signal
        return 0

    def _summary(self, first: Failure) -> str:
        parts = [f"rank {first.rank} failed first: {_how(first.code)}."]
        later = sorted(set(self._reports.failures) - {first})
        if later:
            failed = ", ".join(f"rank {f.rank} ({_how(f.code)})" for f in later)
            parts.append(f"Then {failed} failed.")
        if self._ended:
            parts.append(f"The launcher ended {_ranks(self._ended)}.")
        return " ".join(parts)


def _how(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"killed by {name}"


def _ranks(ranks: Sequence[int]) -> str:
    named = ", ".join(map(str, sorted(ranks)))
    return f"rank {named}" if len(ranks) == 1 else f"ranks {named}"
