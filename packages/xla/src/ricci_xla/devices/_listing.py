"""The devices of a platform and the processes that they belong to, listed and counted."""

import copyreg

from ricci_ir import Array

from ._client import get_backend
from ._platforms import platform_alias
from ._runtime_types import Client, Device

__all__ = ["default_backend", "device_count", "devices", "host_count", "host_id", "host_ids"]
__all__ += ["live_arrays", "local_device_count", "local_devices", "process_count", "process_index"]
__all__ += ["process_indices"]


def devices(backend: str | Client | None = None) -> list[Device]:
    """All devices of a platform, over all processes.

    Args:
      backend: the platform's name; without it, the default platform.

    Returns:
      The devices in the order of their numbers. Arrays go to the first one by default.

    Raises:
      RuntimeError: if there is no such platform.

    Example:
      >>> import ricci
      >>> ricci.devices("cpu")[0]
      CpuDevice(id=0)

    Notes:
      With several processes some devices belong to others: ``local_devices`` are those that this
      process can put arrays on.
    """
    return get_backend(backend).devices()


def local_devices(
    process_index: int | None = None,
    backend: str | Client | None = None,
    host_id: int | None = None,
) -> list[Device]:
    """The devices of one process.

    Args:
      process_index: the number of the process; without it, this process.
      backend: the platform's name; without it, the default platform.
      host_id: an older name of ``process_index``.

    Returns:
      The devices in the order of their numbers.

    Raises:
      ValueError: if there is no such process.

    Example:
      >>> import ricci
      >>> all(d.process_index == ricci.process_index() for d in ricci.local_devices())
      True
    """
    client = get_backend(backend)
    if process_index is None:
        process_index = host_id
    if process_index is None or process_index == client.process_index():
        return client.local_devices()
    matching = [d for d in client.devices() if d.process_index == process_index]
    if not matching:
        raise ValueError(
            f"process_index={process_index} is not one of {process_indices(backend)}, the "
            "processes that take part."
        )
    return matching


def device_count(backend: str | Client | None = None) -> int:
    """The number of devices of a platform, over all processes.

    Args:
      backend: the platform's name; without it, the default platform.

    Returns:
      An int.

    Example:
      >>> import ricci
      >>> ricci.device_count() == len(ricci.devices())
      True
    """
    return get_backend(backend).device_count()


def local_device_count(backend: str | Client | None = None) -> int:
    """The number of devices of a platform that belong to this process.

    Args:
      backend: the platform's name; without it, the default platform.

    Returns:
      An int.

    Example:
      >>> import ricci
      >>> ricci.local_device_count() == len(ricci.local_devices())
      True
    """
    return get_backend(backend).local_device_count()


def default_backend() -> str:
    """The name of the default platform: ``"cpu"``, ``"gpu"`` or ``"tpu"``.

    Example:
      >>> import ricci
      >>> ricci.default_backend() in ("cpu", "gpu", "tpu")
      True
    """
    return platform_alias(get_backend().platform)


def process_index(backend: str | Client | None = None) -> int:
    """The number of this process among the processes of a platform.

    Args:
      backend: the platform's name; without it, the default platform.

    Returns:
      An int from 0; 0 without other processes.

    Example:
      >>> import ricci
      >>> if ricci.process_index() == 0:
      ...     print("written once, not by each process")
      written once, not by each process
    """
    return get_backend(backend).process_index()


def process_indices(backend: str | Client | None = None) -> list[int]:
    """The numbers of the processes that have devices of a platform.

    Args:
      backend: the platform's name; without it, the default platform.

    Returns:
      A list of ints.

    Example:
      >>> import ricci
      >>> ricci.process_indices()
      [0]
    """
    return sorted({device.process_index for device in devices(backend)})


def process_count(backend: str | Client | None = None) -> int:
    """The number of processes that have devices of a platform.

    Args:
      backend: the platform's name; without it, the default platform.

    Returns:
      An int; 1 without other processes.

    Example:
      >>> import ricci
      >>> ricci.process_count()
      1
    """
    return len(process_indices(backend))


def host_id(backend: str | Client | None = None) -> int:
    """An older name of ``process_index``.

    Args:
      backend: as for ``process_index``.

    Returns:
      An int from 0.

    Example:
      >>> import ricci
      >>> ricci.host_id() == ricci.process_index()
      True
    """
    return process_index(backend)


def host_ids(backend: str | Client | None = None) -> list[int]:
    """An older name of ``process_indices``.

    Args:
      backend: as for ``process_indices``.

    Returns:
      A list of ints.

    Example:
      >>> import ricci
      >>> ricci.host_ids() == ricci.process_indices()
      True
    """
    return process_indices(backend)


def host_count(backend: str | Client | None = None) -> int:
    """An older name of ``process_count``.

    Args:
      backend: as for ``process_count``.

    Returns:
      An int.

    Example:
      >>> import ricci
      >>> ricci.host_count() == ricci.process_count()
      True
    """
    return process_count(backend)


def live_arrays(platform: str | None = None) -> list[Array]:
    """The arrays of a platform that have not been deleted.

    Args:
      platform: the platform's name; without it, the default platform.

    Returns:
      A list of arrays, in no particular order.

    Example:
      The arrays in memory, largest first:

      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> x = jnp.ones((300, 100))
      >>> arrays = sorted(ricci.live_arrays(), key=lambda array: -array.nbytes)
      >>> any(array is x for array in arrays)
      True
    """
    return get_backend(platform).live_arrays()


def _device_named(platform: str, number: int) -> Device:
    """The device of a platform with a number, for a copy or a pickle of a sharding.

    Raises:
      RuntimeError: if there is no such device.
    """
    for device in get_backend(platform).devices():
        if device.id == number:
            return device
    raise RuntimeError(
        f"the pickle has device {number} of the platform {platform!r}, but this process has only "
        f"{device_count(platform)} devices. Start it with the same devices."
    )


# Devices are objects of the client of a process, and mean the one of the same number in another.
copyreg.pickle(Device, lambda device: (_device_named, (device.platform, device.id)))
