"""Bounded, thread-safe caches, which are cleared together and shown by ``cache_sizes``.

Finding an entry costs a dict's ``get``, without a lock. Only a call that does not find its entry
runs the methods here.

Entries live in two generations. When the newer generation holds half of the limit, it becomes the
older one, and the former older generation is dropped. An entry that is found in the older
generation moves to the newer one. So an entry is dropped only after half of the limit of other
entries were used since its last use. This comes close to dropping the least recently used entry,
but finding an entry writes nothing.
"""

import threading
import weakref
from collections.abc import Callable
from typing import Protocol

from ._records import TupleRecord

__all__ = [
    "Cache",
    "cache_sizes",
    "CacheSize",
    "clear_caches",
    "register_cache",
]

_lock = threading.RLock()


class CacheSize(TupleRecord):
    """The number of entries in the caches of one name.

    Attributes:
      entries: the number of values that they hold together.
      limit: the number of values that one of them may hold.
      caches: the number of caches: one for each function or program, or a single one.
      dropped: the number of values dropped because a limit was reached; ``None`` if not known.
    """

    entries: int
    limit: int
    caches: int = 1
    dropped: int | None = None


class Clearable(Protocol):
    """The part of a cache that ``cache_sizes`` and ``clear_caches`` use."""

    @property
    def name(self) -> str:
        """The name that ``cache_sizes`` shows."""
        ...

    @property
    def size(self) -> CacheSize:
        """The number of entries and the limit."""
        ...

    def clear(self) -> None:
        """Drop all entries."""
        ...


# A cache lives as long as its owner: a module, a function or a program.
_caches: weakref.WeakValueDictionary[int, Clearable] = weakref.WeakValueDictionary()


def register_cache(cache: Clearable) -> None:
    """Include a cache in ``cache_sizes`` and ``clear_caches``, as long as it lives."""
    with _lock:
        _caches[id(cache)] = cache


def _all_caches() -> list[Clearable]:
    with _lock:
        found = [reference() for reference in _caches.valuerefs()]
    return [cache for cache in found if cache is not None]


def cache_sizes() -> dict[str, CacheSize]:
    """The size of each cache, by its name; caches of one name are counted together.

    Example:
      How much is kept between calls, by what is kept; ``clear_caches`` drops it.

      >>> from ricci import debug
      >>> sizes = debug.caches()
      >>> all(size.entries >= 0 for size in sizes.values())
      True
    """
    sizes: dict[str, CacheSize] = {}
    for cache in _all_caches():
        size, known = cache.size, sizes.get(cache.name)
        if known is not None:
            dropped = None if size.dropped is None else size.dropped + (known.dropped or 0)
            size = CacheSize(
                size.entries + known.entries, size.limit, size.caches + known.caches, dropped
            )
        sizes[cache.name] = size
    return dict(sorted(sizes.items()))


def clear_caches() -> None:
    """Drop everything that is kept between calls; it is made again when it is needed.

    Example:
      >>> import ricci
      >>> double = ricci.jit(lambda x: 2 * x)
      >>> float(double(3.0))
      6.0
      >>> ricci.clear_caches()  # the next call traces and compiles again
      >>> float(double(3.0))
      6.0
    """
    for cache in _all_caches():
        cache.clear()


class Cache[K, V]:
    """A table of computed values by key; values that were not used for long are dropped.

    ``cache.entries.get(key)`` is the quick way to a value. If it gives ``None``, call ``make``, or
    ``recall`` and then ``add``. A value must not be ``None``.

    Args:
      name: the name that ``cache_sizes`` shows; several caches may share one.
      limit: the number of values it may hold, at least 2.

    Attributes:
      entries: the newer generation, always the same dict; only the cache itself changes it.

    Example:
      >>> from ricci_ir import Cache
      >>> squares = Cache("squares", 4)
      >>> [squares.make(n, pow, n, 2) for n in range(10)][-1]
      81
      >>> squares.recall(9), squares.recall(0), squares.size.entries
      (81, None, 4)
    """

    __slots__ = ("__weakref__", "_dropped", "_older", "entries", "limit", "name")

    def __init__(self, name: str, limit: int):
        self.name: str = name
        self.limit: int = limit
        self.entries: dict[K, V] = {}
        self._older: dict[K, V] = {}
        self._dropped = 0
        register_cache(self)

    def make(self, key: K, build: Callable[..., V], *args: object) -> V:
        """The kept value of a key, else ``build(*args)``, which is kept from now on.

        If several threads build at the same time, all get the value that was finished first.
        """
        found = self.recall(key)
        return self.add(key, build(*args)) if found is None else found

    def recall(self, key: K) -> V | None:
        """The kept value of a key, from either generation, or ``None``."""
        found = self.entries.get(key)
        return self._settle(key, None) if found is None and self._older else found

    def add(self, key: K, value: V) -> V:
        """Keep a value if there is none for the key; returns the one that is kept."""
        kept = self._settle(key, value)
        return value if kept is None else kept

    def put(self, key: K, value: V) -> None:
        """Keep a value in place of the one that is kept, if there is one."""
        with _lock:
            replaced = self.entries.pop(key, None), self._older.pop(key, None)
        del replaced  # without the lock, see below
        self._settle(key, value)

    def _settle(self, key: K, value: V | None) -> V | None:
        # Dropped values are freed when this returns, without the lock: freeing an executable may
        # wait for a program that calls Python, which may need a cache.
        dropped: dict[K, V] = {}
        entries = self.entries
        with _lock:
            found = entries.get(key)
            if found is None:
                found = self._older.pop(key, value)
                if found is not None:
                    if len(entries) >= self.limit // 2:
                        dropped, self._older = self._older, entries.copy()
                        self._dropped += len(dropped)
                        entries.clear()
                    entries[key] = found
        return found

    def clear(self) -> None:
        """Forget all values."""
        with _lock:
            dropped = self.entries.copy(), self._older
            self.entries.clear()
            self._older = {}
        del dropped  # without the lock, see above

    @property
    def size(self) -> CacheSize:
        """The number of entries and the limit."""
        return CacheSize(len(self.entries) + len(self._older), self.limit, 1, self._dropped)
