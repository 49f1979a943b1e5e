"""What is kept by function: which functions are the same one, and how long that holds."""

import threading
import weakref
from collections.abc import Callable, Hashable
from enum import Enum
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from ricci_ir._cache import Cache
from ricci_ir.traces._observe import kept_programs
from ricci_ir.traces._trace import Tracer

__all__ = [
    "ByFunction",
    "TracedFunctions",
]

# Instances of these are told apart by identity, and do not change what a function computes.
_constant_by_identity = (FunctionType, BuiltinFunctionType, type, ModuleType, Enum)
_most_partials = 1024
_lock = threading.RLock()


def owner_and_key(fun: Any) -> tuple[Any, Hashable]:
    """The object that a function's programs live as long as, and its name among that object's.

    A bound method is made anew each time it is asked for, so its programs belong to the object
    that it is bound to. A ``partial`` of values that can be compared belongs to its function.
    """
    if type(fun) is MethodType:
        return fun.__self__, (fun.__func__,)
    if type(fun) is partial:
        given = (*fun.args, *fun.keywords.values())
        if all(map(_is_value, given)):
            owner, key = owner_and_key(fun.func)
            types = tuple(map(_types, given))
            return owner, ("partial", key, fun.args, tuple(fun.keywords.items()), types)
    return fun, ()


def _is_value(x: Any) -> bool:
    """Whether something bound by ``partial`` is constant and known by its value."""
    if isinstance(x, tuple | frozenset):
        return all(map(_is_value, x))
    kind = type(x)
    if kind.__hash__ is None:
        return False
    return kind.__hash__ is not object.__hash__ or isinstance(x, _constant_by_identity)


def _types(x: Any) -> Any:
    return (type(x), *map(_types, x)) if isinstance(x, tuple) else type(x)


class ByFunction[T]:
    """A table with a value for each function, which is dropped with its owner."""

    def __init__(self, make: Callable[[], T]):
        self._make = make
        self._tables: dict[int, tuple[Any, dict[Hashable, T]]] = {}

    def of(self, fun: Callable) -> T:
        """The value of a function, made when it is first asked for."""
        owner, key = owner_and_key(fun)
        found = self._tables.get(id(owner))
        if found is None:
            try:
                watch = weakref.ref(owner, self._forget(id(owner)))
            except TypeError:  # nobody would say when it is gone
                return self._make()
            found = self._tables.setdefault(id(owner), (watch, {}))
        table = found[1]
        try:
            value = table.get(key)
        except TypeError:  # its hash does not take all values
            return self._make()
        return self._add(table, key) if value is None else value

    def _add(self, table: dict[Hashable, T], key: Hashable) -> T:
        with _lock:
            if len(table) >= _most_partials:
                table.pop(next(iter(table)))
            return table.setdefault(key, self._make())

    def _forget(self, number: int) -> Callable[[Any], object]:
        tables = self._tables
        return lambda _: tables.pop(number, None)


class _Entry[V](NamedTuple):
    state: Any
    value: V


class TracedFunctions[K, V]:
    """What users' functions were traced to, kept as long as a function is there and the same.

    A bound method is the same as long as the attributes of its object are: they are compared with
    what they were when it was traced. Where that cannot be told, nothing is kept.

    Args:
      name: what ``cache_sizes`` calls it.
      limit: how many values are kept for one function.
    """

    def __init__(self, name: str, limit: int):
        self._by_function: ByFunction[Cache[K, _Entry[V]]] = ByFunction(lambda: Cache(name, limit))

    def recall(self, fun: Callable, key: K) -> V | None:
        """What a function was traced to, or ``None``; ``key`` holds all else that matters."""
        try:
            entry = kept_programs(self._by_function.of(fun)).recall(key)
        except TypeError:  # a function or a key that has no hash
            return None
        return entry.value if entry is not None and _same(entry.state, state_of(fun)) else None

    def put(self, fun: Callable, key: K, value: V) -> None:
        """Keep what a function has just been traced to, if it can be kept."""
        state = state_of(fun)
        if state is not None:
            try:
                kept_programs(self._by_function.of(fun)).put(key, _Entry(state, value))
            except TypeError:  # see above
                return


class _Identity(NamedTuple):
    """A value that is compared by identity."""

    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and self.value is other.value

    __hash__ = None  # pyright: ignore[reportAssignmentType]


class _Unknown(Exception):
    """Something that may change although it stays the same object."""


def state_of(fun: Any) -> Any:
    """What a function's object consists of, to be compared later; ``None`` if that is not known.

    A function without an object is ``()``: what it closes over is taken to be constant.
    """
    while type(fun) is partial:
        fun = fun.func
    if type(fun) is not MethodType or isinstance(fun.__self__, type | ModuleType):
        return ()
    owner = fun.__self__
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


def _state(x: Any) -> Any:
    """A value in a form that is equal only for values by which a program does not differ."""
    kind = type(x)
    if isinstance(x, _by_text):
        return kind, repr(x)  # which tells -0.0 from 0.0, and holds NaN
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
    elif not isinstance(x, np.ndarray) and _is_value(x):
        return kind, x
    raise _Unknown


def _same(one: Any, other: Any) -> bool:
    try:
        return bool(one == other)
    except (TypeError, ValueError):  # as of arrays inside
        return False
