"""The options of the command line."""

import argparse
import sys
from collections.abc import Sequence
from typing import NamedTuple, NoReturn

_DESCRIPTION = "Run a Python program in several processes of this machine, as one computation."
_EPILOG = """\
Each process calls ricci.distributed.initialize() and finds its place in the environment:
RICCI_COORDINATOR_ADDRESS, RICCI_NUM_PROCESSES, RICCI_PROCESS_ID.

The exit status is that of the process that failed first: its exit code, or 128 plus the number of
the signal that killed it; 124 after --timeout; 2 for a wrong command line."""


class Options(NamedTuple):
    """The command line.

    Attributes:
      processes: the number of processes.
      program: the program that Python runs: a file, or a module's name.
      arguments: the program's own arguments.
      module: whether `program` is a module's name.
      port: the port of the coordinator; ``None`` for a free one.
      devices_per_process: how many GPUs each process uses; ``None`` for all.
      virtual_devices: the number of devices that each process splits the CPU into; ``None`` for no
      timeout: after how many seconds all are ended; ``None`` for never.
      grace: how many seconds the others have to end by themselves when one has failed. The watch
        of `distributed.initialize` takes up to seven to end a process that is stuck.
      stop_timeout: how many seconds all have to end after a signal to the launcher.
      prefix: whether lines begin with the number of the process.
    """

    processes: int
    program: str
    arguments: tuple[str, ...]
    module: bool = False
    port: int | None = None
    devices_per_process: int | None = None
    virtual_devices: int | None = None
    timeout: float | None = None
    grace: float = 10.0
    stop_timeout: float = 30.0
    prefix: bool = True


def _count(text: str) -> int:
    if not (text.isdecimal() and int(text) >= 1):
        raise argparse.ArgumentTypeError(f"{text!r}: expected a whole number, at least 1")
    return int(text)


def _port(text: str) -> int:
    if not (text.isdecimal() and 1 <= int(text) <= 65535):
        raise argparse.ArgumentTypeError(f"{text!r}: expected a port, 1 to 65535")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r}: expected seconds, at least 0")
    return seconds


def _one_machine(text: str) -> int:
    if text not in ("1", "1:1"):
        raise argparse.ArgumentTypeError(
            f"{text!r}: only this machine; start the program on each machine, with srun or mpirun"
        )
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m ricci.distributed.run",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    hidden = argparse.SUPPRESS
    # fmt: off
    processes = ("-n", "-np", "--np", "--nproc-per-node", "--nproc_per_node")
    add(*processes, dest="processes", type=_count, metavar="N", required=True,
        help="the number of processes")
    add("-m", "--module", action="store_true", help="the program is a module, as for python -m")
    add("--devices-per-process", type=_count, metavar="K",
        help="give each process K GPUs of its own: the first K to process 0, and so on")
    add("--virtual-devices", type=_count, metavar="K",
        help="run on the CPU, which each process divides into K devices")
    add("--port", "--master-port", "--master_port", type=_port, metavar="P",
        help="the port of the coordinator; by default a free one")
    add("--timeout", type=_seconds, metavar="S", help="end all processes after S seconds")
    add("--grace", type=_seconds, metavar="S", default=10.0,
        help="when a process has failed, end the others after S seconds (10)")
    add("--stop-timeout", type=_seconds, metavar="S", default=30.0,
        help="after Ctrl-C or SIGTERM, kill what still runs after S seconds (30)")
    add("--no-prefix", dest="prefix", action="store_false",
        help="print lines without the number of their process")
    # Options of torchrun's scripts that have no effect on one machine.
    add("--standalone", action="store_true", help=hidden)
    add("--nnodes", type=_one_machine, help=hidden)
    add("program", metavar="PROGRAM", help="a Python file, or with -m a module")
    add("arguments", metavar="ARGUMENT", nargs=argparse.REMAINDER, help="the program's arguments")
    # fmt: on
    return parser


def read_options(arguments: Sequence[str] | None = None) -> Options:
    """Read the command line; an invalid one ends the process with status 2.

    Args:
      arguments: the command line without the command; by default that of this process.
    """
    values = vars(_parser().parse_args(arguments))
    values["arguments"] = tuple(values["arguments"])
    return Options(**{name: values[name] for name in Options._fields})


def refuse(message: str) -> NoReturn:
    """End the process: the command line cannot be followed."""
    sys.stderr.write(f"python -m ricci.distributed.run: {message}\n")
    raise SystemExit(2)
