"""Runs a program in several processes at once, each with its own CPU devices."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

DEVICES = 2  # of each process


class Ended(NamedTuple):
    """The end of a process.

    Attributes:
      code: its exit status, the negative number of a signal; ``None`` if it had to be killed.
      out: what it wrote to stdout.
      err: what it wrote to stderr.
      seconds: how long it ran.
      at: when it ended, in seconds since the epoch.
    """

    code: int | None
    out: str
    err: str
    seconds: float
    at: float


def free_port() -> int:
    """A port of this machine without a listener."""
    with socket.create_server(("", 0)) as server:
        return server.getsockname()[1]


def environment(rank: int, count: int, port: int, more: Mapping[str, str]) -> dict[str, str]:
    """The variables that ``initialize`` reads, and no others that it would."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM_", "OMPI_"))}
    return {
        **clean,
        "RICCI_COORDINATOR_ADDRESS": f"127.0.0.1:{port}",
        "RICCI_NUM_PROCESSES": str(count),
        "RICCI_PROCESS_ID": str(rank),
        "RICCI_NUM_CPU_DEVICES": str(DEVICES),
        "RICCI_PLATFORMS": "cpu",
        "XLA_FLAGS": "",
        "PYTHONUNBUFFERED": "1",
        **more,
    }


def run(
    program: str | Path,
    count: int = 2,
    *arguments: str,
    limit: float = 60.0,
    variables: Mapping[str, str] | None = None,
    python: Sequence[str] = (sys.executable,),
    during: Callable[[list[subprocess.Popen[bytes]]], object] | None = None,
    stuck: Collection[int] = (),
) -> list[Ended]:
    """Run a program in several processes, and wait until all have ended.

    Args:
      program: the text of the program, or its file.
      count: the number of processes.
      *arguments: the program's arguments.
      limit: after how many seconds those that still run are killed.
      variables: environment variables.
      python: the command that runs a file.
      during: called with the processes once they have started, such as to kill one.
      stuck: the ranks that cannot end by themselves; they are killed when all others have ended.

    Returns:
      How each process ended, by rank.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = program if isinstance(program, Path) else Path(folder, "program.py")
        if not isinstance(program, Path):
            file.write_text(program)
        port = free_port()
        begun = time.monotonic()
        processes: list[subprocess.Popen[bytes]] = []
        files = []
        try:
            for rank in range(count):
                out, err = Path(folder, f"out{rank}"), Path(folder, f"err{rank}")
                files.append((out, err))
                with out.open("wb") as stdout, err.open("wb") as stderr:
                    processes.append(
                        subprocess.Popen(
                            [*python, str(file), *arguments],
                            stdout=stdout,
                            stderr=stderr,
                            env=environment(rank, count, port, variables or {}),
                        )
                    )
            if during is not None:
                during(processes)
            ends = _wait(processes, begun + limit, stuck)
        finally:
            for process in processes:
                if process.poll() is None:
                    process.send_signal(signal.SIGKILL)
                    process.wait()
        epoch = time.time() - time.monotonic()
        return [
            Ended(code, out.read_text(), err.read_text(), end - begun, end + epoch)
            for (code, end), (out, err) in zip(ends, files, strict=True)
        ]


def _wait(
    processes: Sequence[subprocess.Popen[bytes]], deadline: float, stuck: Collection[int]
) -> list[tuple[int | None, float]]:
    """The exit status of each process, ``None`` for one that still runs, and when it ended."""
    ends: list[tuple[int | None, float]] = [(None, deadline)] * len(processes)
    left = set(range(len(processes)))
    while left - set(stuck) and time.monotonic() < deadline:
        for rank in list(left):
            code = processes[rank].poll()
            if code is not None:
                ends[rank] = (code, time.monotonic())
                left.remove(rank)
        time.sleep(0.01)
    return ends
