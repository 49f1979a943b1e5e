"""Bounded, thread-safe caches, which are cleared together and listed by ``cache_sizes``.

A hit costs a dict's ``get``, without a lock. Only a miss runs the methods of ``Cache``.

Entries live in two generations. When the newer generation holds half of the limit, it becomes the
older one, and the former older generation is dropped. An entry that is looked up in the older
generation moves to the newer one. So an entry is dropped only after half of the limit of other
entries were used since its last use. This approximates dropping the least recently used entry, but
a hit in the newer generation writes nothing.
"""

import threading
import weakref
from collections.abc import Callable
from types import GenericAlias
from typing import TYPE_CHECKING, Protocol

from ._records import TupleRecord

__all__ = ["Cache", "cache_sizes", "CacheSize", "clear_caches", "register_cache"]

_lock = threading.RLock()


class CacheSize(TupleRecord):
    """The number of entries in the caches of one name.

    Attributes:
      entries: the total number of values in them.
      limit: the largest number of values in one of them.
      caches: the number of caches: one for each function or jaxpr, or a single one.
      dropped: the number of values dropped because a limit was reached; ``None`` if not counted.
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


# A cache lives as long as its owner: a module, a function or a jaxpr.
_caches: weakref.WeakValueDictionary[int, Clearable] = weakref.WeakValueDictionary()


def register_cache(cache: Clearable) -> None:
    """Include a cache in ``cache_sizes`` and ``clear_caches``, as long as it lives."""
    with _lock:
        _caches[id(cache)] = cache


def _all_caches() -> list[Clearable]:
    with _lock:
        caches = [reference() for reference in _caches.valuerefs()]
    return [cache for cache in caches if cache is not None]


def cache_sizes() -> dict[str, CacheSize]:
    """The size of each cache, by its name; caches of one name are counted together.

    Example:
      The number of cached values by cache; ``clear_caches`` drops them.

      >>> from ricci import debug
      >>> sizes = debug.caches()
      >>> all(size.entries >= 0 for size in sizes.values())
      True
    """
    sizes: dict[str, CacheSize] = {}
    for cache in _all_caches():
        size, total = cache.size, sizes.get(cache.name)
        if total is not None:
            dropped = None if size.dropped is None else size.dropped + (total.dropped or 0)
            size = CacheSize(
                size.entries + total.entries, size.limit, size.caches + total.caches, dropped
            )
        sizes[cache.name] = size
    return dict(sorted(sizes.items()))


def clear_caches() -> None:
    """Clear all caches: jaxprs, executables and types are computed again at their next use.

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
    """A bounded table of computed values by key; the least recently used values are dropped.

    ``cache.entries.get(key)`` is the fast lookup. If it returns ``None``, call ``make``, or
    ``recall`` and then ``add``. A value must not be ``None``.

    Args:
      name: the name that ``cache_sizes`` shows; several caches may share one.
      limit: the largest number of values, at least 2.

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
    if not TYPE_CHECKING:  # made in C, as many are at the import
        __class_getitem__ = classmethod(GenericAlias)

    def __init__(self, name: str, limit: int):
        self.name: str = name
        self.limit: int = limit
        self.entries: dict[K, V] = {}
        self._older: dict[K, V] = {}
        self._dropped = 0
        register_cache(self)

    def __reduce__(self) -> tuple[object, ...]:
        return Cache, (self.name, self.limit)  # without its entries

    def make(self, key: K, build: Callable[..., V], *args: object) -> V:
        """Return the cached value of a key; on a miss, cache and return ``build(*args)``.

        If several threads build at the same time, all get the value that was finished first.
        """
        cached = self.recall(key)
        return self.add(key, build(*args)) if cached is None else cached

    def recall(self, key: K) -> V | None:
        """Return the cached value of a key, from either generation, or ``None``."""
        cached = self.entries.get(key)
        return self._settle(key, None) if cached is None and self._older else cached

    def add(self, key: K, value: V) -> V:
        """Cache a value unless the key has one; returns the cached value."""
        cached = self._settle(key, value)
        return value if cached is None else cached

    def put(self, key: K, value: V) -> None:
        """Cache a value, replacing the key's earlier one."""
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
            cached = entries.get(key)
            if cached is None:
                cached = self._older.pop(key, value)
                if cached is not None:
                    # ``entries`` stays the same dict, since callers hold it for the fast lookup. So
                    # its content moves to a copy, and it is cleared.
                    if len(entries) >= self.limit // 2:
                        dropped, self._older = self._older, entries.copy()
                        self._dropped += len(dropped)
                        entries.clear()
                    entries[key] = cached
        return cached

    def clear(self) -> None:
        """Drop all values."""
        with _lock:
            dropped = self.entries.copy(), self._older
            self.entries.clear()
            self._older = {}
        del dropped  # without the lock, see above

    @property
    def size(self) -> CacheSize:
        """The number of entries and the limit."""
        return CacheSize(len(self.entries) + len(self._older), self.limit, 1, self._dropped)
