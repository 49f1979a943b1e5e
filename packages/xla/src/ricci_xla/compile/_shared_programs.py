"""Hook that checks modules over several processes, which must be the same in all of them.

Each process traces and compiles by itself. If two of them get different modules, their collectives
deadlock or exchange unrelated values. The package that joins the processes registers a check, which
runs before the first call of each such module.
"""

from collections.abc import Callable, Sequence
from functools import partial

from ricci_ir import TupleRecord
from ricci_xla.devices._runtime_types import Device

__all__ = ["check_shared_programs", "SharedProgram"]


class SharedProgram(TupleRecord):
    """A module that several processes run together.

    Attributes:
      name: the function's name.
      text: the StableHLO module.
      processes: the numbers of the processes, in order.
    """

    name: str
    text: str
    processes: tuple[int, ...]


class _Check:
    """Holds the registered check, if any."""

    def __init__(self):
        self.check: Callable[[SharedProgram], None] | None = None


_current = _Check()


def check_shared_programs(check: Callable[[SharedProgram], None] | None) -> None:
    """Call a function before each module over several processes runs for the first time.

    Args:
      check: the function, which raises an error to prevent the run; ``None`` removes the check.
    """
    _current.check = check


def before_first_run(name: str, text: str, devices: Sequence[Device]) -> Callable[[], None] | None:
    """Return the check of a module, to be called before its first run, or ``None``."""
    if _current.check is None:
        return None
    processes = tuple(sorted({device.process_index for device in devices}))
    if len(processes) < 2:
        return None
    return partial(_current.check, SharedProgram(name, text, processes))
