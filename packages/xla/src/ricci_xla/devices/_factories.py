"""Registries of libraries: factories of clients, and caches to clear with the clients."""

from collections.abc import Callable
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
