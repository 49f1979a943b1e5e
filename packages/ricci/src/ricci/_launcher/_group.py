"""The processes, in one process group that does not outlive the launcher.

A small process, the guardian, leads the group. It holds the reading end of a pipe whose writing end
only the launcher has: when the launcher is gone, however it went, the pipe is closed, and the
guardian kills the whole group. A request to the kernel (``PR_SET_PDEATHSIG``) would reach the
processes but not their children, and only on Linux.
"""

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from typing import IO

FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Group:
    """The processes of the launcher.

    Attributes:
      processes: by their ranks.
    """

    def __init__(self) -> None:
        self.processes: list[subprocess.Popen[bytes]] = []
        reading, self._writing = os.pipe()  # neither is inherited by programs
        self._guardian = os.fork()
        if self._guardian == 0:
            _guard(reading, self._writing)
        os.close(reading)
        # Both processes do this, so that it is done whichever comes first.
        with contextlib.suppress(OSError):
            os.setpgid(self._guardian, self._guardian)

    def start(
        self, command: Sequence[str], environment: Mapping[str, str], stdin: int | IO[bytes] | None
    ) -> subprocess.Popen[bytes]:
        """Start the process of the next rank."""
        process = subprocess.Popen(
            command,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            process_group=self._guardian,
        )
        self.processes.append(process)
        return process

    def send(self, number: signal.Signals) -> None:
        """Send a signal to all processes and their children."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._guardian, number)

    def running(self) -> list[int]:
        """Return the ranks that still run."""
        return [rank for rank, p in enumerate(self.processes) if p.returncode is None]

    def close(self) -> None:
        """Kill the remaining processes, and wait for them."""
        self.send(signal.SIGKILL)
        for process in self.processes:
            process.wait()
        os.close(self._writing)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._guardian, 0)


def _guard(reading: int, writing: int) -> None:
    """Wait for the end of the launcher, and end with the whole group."""
    try:
        os.setpgid(0, 0)
        for number in FORWARDED:  # signals for the group's programs
            signal.signal(number, signal.SIG_IGN)
        os.close(writing)
        # A reader of the launcher's output waits until all holders of the stream are gone.
        nowhere = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(nowhere, standard)
        os.read(reading, 1)
    finally:
        os.kill(0, signal.SIGKILL)
