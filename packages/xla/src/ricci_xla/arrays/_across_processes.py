"""What arrays over the devices of several processes need, and packages above this room do.

Moving such an array is a program, which ``ricci_xla.calls`` makes. That all processes put the same
values on shared devices is checked by ``ricci_parallel``, which knows how processes communicate.
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
    here = sharding._internal_device_list.addressable_device_list
    return bool(sharding.is_fully_replicated and here)


def _not_registered(*args: object) -> NoReturn:
    raise RuntimeError("what moves arrays between processes is part of ricci_parallel: import it.")


class AcrossProcesses:
    """What those who can do it register.

    Attributes:
      reshard: ``reshard(array, sharding)`` divides an array over several processes in another way,
        over the same devices in the same order.
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
