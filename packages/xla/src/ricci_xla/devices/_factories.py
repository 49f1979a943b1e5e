"""Registered factories of clients, caches to clear with the clients, and the CPU's threads.

The thread pool of the CPU's runtime has a thread for each processor or for each device, whichever
are more. Two kinds of calls block threads of it: a device that waits in a collective for the
others, and a launch on a device that has 32 programs to run already. When 7 of 8 devices wait in a
collective and 8 launches wait as well, a 16th thread must run the last device's program, or all
wait until the runtime ends the process after 40 seconds. So a pool needs two threads for each
device. The limit of 32 is inferred: on two processors, 201 data-parallel steps over 8 devices, not
waited for one by one, stopped after the 32nd with 8, 9, 10, 12 and 14 threads, and ended with 16;
when every 16th step was waited for, 8 were enough.

This has a price. With 16 threads for 8 devices the runtime wakes more threads for a program on all
devices: on two processors a call of a small one takes 0.25 ms of processor time instead of 0.14 ms.
A user whose program never runs so far ahead can set ``NPROC`` to the number of devices.
"""

import contextlib
import os
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from ._runtime_types import Client

if TYPE_CHECKING:
    from typing import Protocol
else:
    Protocol = object


class BackendFactory:
    """A registered factory of a platform's client.

    Attributes:
      make: creates the client.
      priority: the platform of the highest priority is the default; see ``PRIORITIES``.
      fail_quietly: whether a failure is reported only when the platform is requested by name.
    """

    __slots__ = ("fail_quietly", "make", "priority")

    def __init__(self, make: Callable[[], Client | None], priority: int, fail_quietly: bool):
        self.make: Callable[[], Client | None] = make
        self.priority: int = priority
        self.fail_quietly: bool = fail_quietly


class BackendCache(Protocol):
    """A cache of objects that belong to clients."""

    def cache_clear(self) -> object:
        """Drop everything."""


# By platform, for those that Ricci looks for; modules of plugins pass their priority.
PRIORITIES: dict[str, int] = {"tpu": 600, "cuda": 500, "cpu": 0}
PLUGIN_PRIORITY = 400

factories: dict[str, BackendFactory] = {}
caches: dict[str, list[BackendCache]] = {}


def clear_backend_caches() -> None:
    """Clear all registered caches."""
    for registered in caches.values():
        for cache in registered:
            cache.cache_clear()


def make_registered(failed: dict[str, str]) -> list[tuple[int, str, Any]]:
    """Create the client of each registered platform; return priorities, names and clients.

    Args:
      failed: by platform, why a client could not be made; added to.

    Raises:
      RuntimeError: if one cannot be made that is not to fail quietly.
    """
    clients: list[tuple[int, str, Any]] = []
    for name, factory in factories.items():
        try:
            client = factory.make()
        except Exception as error:
            failed[name] = str(error)
            if not factory.fail_quietly:
                raise RuntimeError(f"Unable to initialize backend {name!r}: {error}") from error
            continue
        if client is None:
            failed[name] = "its factory returned None"
        else:
            clients.append((factory.priority, name, client))
    return clients


# The variable with the number of processors, which the runtime reads before it asks the system.
_VARIABLE = "NPROC"
_COUNT = r"--xla_force_host_platform_device_count=(\d+)"


def _processors() -> int:
    """The number of processors as the runtime counts them: those that this process may run on."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS and Windows
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextlib.contextmanager
def enough_threads(devices: int | None) -> Iterator[None]:
    """Give clients that are created in the ``with`` block enough threads for their devices.

    Args:
      devices: the number of devices of the client; ``None`` for that of ``XLA_FLAGS``.
    """
    if devices is None:
        counts = re.findall(_COUNT, os.environ.get("XLA_FLAGS", ""))
        devices = int(counts[-1]) if counts else 1
    threads = 2 * devices
    if devices == 1 or _VARIABLE in os.environ or threads <= _processors():
        yield
        return
    os.environ[_VARIABLE] = str(threads)
    try:
        yield
    finally:
        del os.environ[_VARIABLE]
