"""Hooks for arrays over the devices of several processes, which higher packages register.

Resharding such an array runs an executable, which ``ricci_xla.calls`` compiles. The check that all
processes put the same values on shared devices is in ``ricci_parallel``, since it communicates.
"""

from collections.abc import Callable
from typing import Any

from ricci_ir import Hook
from ricci_xla.meshes._sharding_types import Sharding

from ._array_impl import ArrayImpl

__all__ = ["can_be_read", "check_equal_across_processes", "reshard_across_processes"]


def can_be_read(array: ArrayImpl) -> bool:
    """Whether the devices of this process hold all values of an array."""
    sharding = array._sharding
    if sharding.is_fully_addressable:
        return True
    addressable = sharding._internal_device_list.addressable_device_list
    return bool(sharding.is_fully_replicated and addressable)


# ``(array, sharding)``: reshards an array over several processes, on the same devices in the same
# order.
reshard_across_processes: Hook[Callable[[Any, Sharding], Any]] = Hook(
    "resharding across processes", provided_by="ricci_xla"
)
# ``(value, sharding)``: raises an error if the processes that a sharding's devices belong to have
# different values. Each of them must call it.
check_equal_across_processes: Hook[Callable[[Any, Sharding], object]] = Hook(
    "checks of values across processes",
    provided_by="ricci_parallel",
    default=lambda value, sharding: None,
)
