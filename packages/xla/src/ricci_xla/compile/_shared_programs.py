"""Programs over the devices of several processes, which must be the same in all of them.

Each process traces and compiles on its own. If two of them come to different programs, their
collectives wait for each other forever, or exchange values that have nothing to do with each other.
So whoever joins the processes can look at each such program before it first runs.
"""

from collections.abc import Callable, Sequence
from functools import partial

from ricci_ir import TupleRecord
from ricci_xla.devices._runtime_types import Device

__all__ = ["check_shared_programs", "SharedProgram"]


class SharedProgram(TupleRecord):
    """A program that several processes run together.

    Attributes:
      name: the function's name.
      text: the StableHLO module.
      processes: the numbers of the processes, in order.
    """

    name: str
    text: str
    processes: tuple[int, ...]


class _Check:
    """What looks at shared programs before they run, if anything does."""

    def __init__(self):
        self.check: Callable[[SharedProgram], None] | None = None


_current = _Check()


def check_shared_programs(check: Callable[[SharedProgram], None] | None) -> None:
    """Call a function before each program over several processes runs for the first time.

    Args:
      check: the function, which raises an error to keep the program from running; ``None`` for
        none.
    """
    _current.check = check


def before_first_run(name: str, text: str, devices: Sequence[Device]) -> Callable[[], None] | None:
    """What is to be called before a program first runs; ``None`` for nothing."""
    if _current.check is None:
        return None
    processes = tuple(sorted({device.process_index for device in devices}))
    if len(processes) < 2:
        return None
    return partial(_current.check, SharedProgram(name, text, processes))
