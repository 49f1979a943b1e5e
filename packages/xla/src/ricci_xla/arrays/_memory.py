"""The memories of a device: its own, and the host's."""

from enum import Enum

from ricci_xla.devices._client import get_default_device
from ricci_xla.meshes._sharding import single_device_sharding
from ricci_xla.meshes._sharding_types import Sharding, SingleDeviceSharding

__all__ = ["HOST_MEMORY", "MemorySpace", "in_memory"]

HOST_MEMORY = "pinned_host"


class MemorySpace(Enum):
    """A memory kind of an array's devices: their own memory or the host's.

    ``device_put(x, MemorySpace.Host)`` moves an array to the host's memory, where its devices can
    read it, and ``device_put(x, MemorySpace.Device)`` moves it back.
    """

    Device = 1
    Host = 2
    Any = 3

    def __repr__(self) -> str:
        return f"MemorySpace.{self.name}"


def in_memory(sharding: Sharding | None, space: MemorySpace) -> Sharding:
    """A sharding with the same devices, in one of their memories.

    Args:
      sharding: the sharding; by default that of arrays on the default device.
      space: the memory.

    Raises:
      ValueError: for ``MemorySpace.Any``, which selects no memory.
    """
    if space is MemorySpace.Any:
        raise ValueError(
            "device_put: MemorySpace.Any means every memory, so that nothing can be put there. "
            "Give MemorySpace.Host or MemorySpace.Device."
        )
    if sharding is None:
        sharding = single_device_sharding(get_default_device())
    default = sharding._internal_device_list.default_memory_kind
    kind = HOST_MEMORY if space is MemorySpace.Host else default
    if kind is None or kind == sharding.memory_kind:
        return sharding
    if kind == default and isinstance(sharding, SingleDeviceSharding):
        return single_device_sharding(sharding._device)
    return sharding.with_memory_kind(kind)
