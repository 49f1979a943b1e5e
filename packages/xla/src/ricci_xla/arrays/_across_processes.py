"""Hooks for arrays over the devices of several processes, which higher packages register.

Resharding such an array runs an executable, which ``ricci_xla.calls`` compiles. The check that all
processes put the same values on shared devices is in ``ricci_parallel``, since it communicates.
"""

from collections.abc import Callable
from typing import Any, NoReturn

from ricci_xla.meshes._sharding_types import Sharding

from ._array_impl import ArrayImpl

__all__ = [
    "across_processes",
    "can_be_read",
]


def can_be_read(array: ArrayImpl) -> bool:
    """Whether the devices of this process hold all values of an array."""
    sharding = array._sharding
    if sharding.is_fully_addressable:
        return True
    addressable = sharding._internal_device_list.addressable_device_list
    return bool(sharding.is_fully_replicated and addressable)


def _not_registered(*args: object) -> NoReturn:
    raise RuntimeError("moving arrays between processes is part of ricci_parallel: import it.")


class AcrossProcesses:
    """Registered operations on arrays over several processes.

    Attributes:
      reshard: ``reshard(array, sharding)`` reshards an array over several processes, over the same
        devices in the same order.
      check_equal: ``check_equal(value, sharding)`` raises an error if the processes that a
        sharding's devices belong to have different values. Each of them must call it.
    """

    __slots__ = ("check_equal", "reshard")

    reshard: Callable[[Any, Sharding], Any]
    check_equal: Callable[[Any, Sharding], None]

    def __init__(self) -> None:
        self.reshard = _not_registered
        self.check_equal = lambda value, sharding: None


across_processes: AcrossProcesses = AcrossProcesses()
