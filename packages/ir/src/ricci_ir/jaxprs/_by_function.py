"""Caches of jaxprs by function: the identity of functions, and the lifetime of entries."""

import threading
import weakref
from collections.abc import Callable, Hashable
from enum import Enum
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from ricci_ir._cache import Cache
from ricci_ir._records import TupleRecord
from ricci_ir._static_values import exact_key
from ricci_ir.traces import TraceContext, Tracer, active_cache, trace_context

__all__ = ["ByFunction", "is_value", "TracedFunctions"]

# Instances of these types are compared by identity and count as constants.
_constant_by_identity = (FunctionType, BuiltinFunctionType, type, ModuleType, Enum)
_most_partials = 1024
_lock = threading.RLock()


def owner_and_key(fun: object) -> tuple[Any, Hashable]:
    """The object that owns a function's cached jaxprs, and the function's key in its table.

    The jaxprs are dropped with their owner. A bound method is a new object at each access, so its
    jaxprs belong to the object that it is bound to. The jaxprs of a ``partial`` whose arguments
    can be compared belong to the inner function.
    """
    if type(fun) is MethodType:
        return fun.__self__, (fun.__func__,)
    if type(fun) is partial:
        bound = (*fun.args, *fun.keywords.values())
        if all(map(is_value, bound)):
            owner, key = owner_and_key(fun.func)
            keywords = tuple((name, exact_key(x)) for name, x in fun.keywords.items())
            return owner, ("partial", key, exact_key(fun.args), keywords)
    return fun, ()


def is_value(x: object) -> bool:
    """Whether a static argument is constant and can be compared by value."""
    if isinstance(x, tuple | frozenset):
        return all(map(is_value, x))
    kind = type(x)
    if kind.__hash__ is None:
        return False
    return kind.__hash__ is not object.__hash__ or isinstance(x, _constant_by_identity)


class ByFunction[T]:
    """A table with a value for each function; a value is dropped with the function's owner."""

    def __init__(self, make: Callable[[], T]):
        self._make = make
        self._tables: dict[int, tuple[Any, dict[Hashable, T]]] = {}

    def of(self, fun: Callable) -> T:
        """The value of a function, made at the first call."""
        # Python reuses an id only after the object has died, whose weak reference drops its entry.
        owner, key = owner_and_key(fun)
        entry = self._tables.get(id(owner))
        if entry is None:
            try:
                watch = weakref.ref(owner, self._forget(id(owner)))
            except TypeError:  # no weak references, so entries could not be dropped with the owner
                return self._make()
            entry = self._tables.setdefault(id(owner), (watch, {}))
        table = entry[1]
        try:
            value = table.get(key)
        except TypeError:  # a value in the key cannot be hashed
            return self._make()
        return self._add(table, key) if value is None else value

    def drop(self, fun: Callable) -> None:
        """Drop the value of a function."""
        owner, key = owner_and_key(fun)
        entry = self._tables.get(id(owner))
        if entry is not None:
            entry[1].pop(key, None)

    def _add(self, table: dict[Hashable, T], key: Hashable) -> T:
        with _lock:
            # Dicts have insertion order, so this drops the oldest entry.
            if len(table) >= _most_partials:
                table.pop(next(iter(table)))
            return table.setdefault(key, self._make())

    def _forget(self, number: int) -> Callable[[Any], object]:
        tables = self._tables
        return lambda _: tables.pop(number, None)


class _Entry[V](TupleRecord):
    state: Any
    value: V


class TracedFunctions[K, V]:
    """A cache of the jaxprs of users' functions.

    An entry lives as long as its function. It is valid under the ``trace_context()`` in which the
    function was traced, and as long as the function is unchanged. A bound method is unchanged if
    its object's attributes equal those at the time of tracing. If they cannot be compared, its
    jaxprs are not cached.

    Args:
      name: the name that ``cache_sizes`` shows.
      limit: the largest number of values of one function.
    """

    def __init__(self, name: str, limit: int):
        self._by_function: ByFunction[Cache[tuple[K, TraceContext], _Entry[V]]] = ByFunction(
            lambda: Cache(name, limit)
        )

    def recall(self, fun: Callable, key: K) -> V | None:
        """Return the cached value of a function, or ``None``.

        Args:
          fun: the function.
          key: the further dependencies of the value: types, trees, parameters.
        """
        try:
            entry = active_cache(self._by_function.of(fun)).recall((key, trace_context()))
        except TypeError:  # the function or the key cannot be hashed
            return None
        return entry.value if entry is not None and _same(entry.state, state_of(fun)) else None

    def drop(self, fun: Callable) -> None:
        """Drop the jaxprs of a function."""
        self._by_function.drop(fun)

    def put(self, fun: Callable, key: K, value: V) -> None:
        """Cache the value of a function that has just been traced, if possible."""
        state = state_of(fun)
        if state is not None:
            try:
                context_key = key, trace_context()
                active_cache(self._by_function.of(fun)).put(context_key, _Entry(state, value))
            except TypeError:  # see above
                return


class _Identity(TupleRecord):
    """A value that is compared by identity."""

    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and self.value is other.value

    __hash__ = None  # pyright: ignore[reportAssignmentType]


class _Unknown(Exception):
    """A value may change in place, so it cannot be compared later."""


def state_of(fun: Any) -> Any:
    """The state of a bound method's object, to be compared later; ``None`` if not comparable.

    The state of another function is ``()``: its closure is taken to be constant.
    """
    while type(fun) is partial:
        fun = fun.func
    if type(fun) is not MethodType or isinstance(fun.__self__, type | ModuleType):
        return ()
    owner = fun.__self__
    # The state is that of ``__dict__``; an attribute in a slot would be missed.
    if not hasattr(owner, "__dict__") or any(map(_slots, type(owner).__mro__)):
        return None
    try:
        return _state(owner.__dict__)
    except (_Unknown, RecursionError):
        return None


def _slots(cls: type) -> bool:
    slots = cls.__dict__.get("__slots__", ())
    return any(
        name not in ("__dict__", "__weakref__")
        for name in ((slots,) if isinstance(slots, str) else slots)
    )


_by_text = (bool, int, float, complex, str, bytes, type(None), np.generic, np.dtype)


def _state(x: object) -> Any:
    """A form of a value that is equal for two values only if they trace to the same jaxprs."""
    kind = type(x)
    if isinstance(x, _by_text):
        return kind, repr(x)  # repr distinguishes -0.0 from 0.0, and NaN equals itself
    if isinstance(x, dict):
        return kind, [(_state(key), _state(value)) for key, value in x.items()]
    if isinstance(x, list | tuple):
        return kind, list(map(_state, x))
    if isinstance(x, _constant_by_identity):
        return _Identity(x)
    if isinstance(x, MethodType):
        state = state_of(x)
        if state is not None:
            return x.__func__, _Identity(x.__self__), state
    elif hasattr(kind, "aval") and not isinstance(x, Tracer):  # arrays do not change
        return _Identity(x)
    elif not isinstance(x, np.ndarray) and is_value(x):
        return kind, x
    raise _Unknown


def _same(one: object, other: object) -> bool:
    try:
        return bool(one == other)
    except (TypeError, ValueError):  # comparing arrays inside gives no single truth value
        return False
