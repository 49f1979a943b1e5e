"""Which functions are the same one: what the programs traced from a function are kept by."""

import weakref
from collections.abc import Callable, Hashable
from enum import Enum
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

# Instances of these are told apart by identity, and do not change what a function computes.
_constant_by_identity = (FunctionType, BuiltinFunctionType, type, ModuleType, Enum)
_most_partials = 1024


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
            found = self._tables[id(owner)] = (watch, {})
        table = found[1]
        try:
            value = table.get(key)
        except TypeError:  # its hash does not take all values
            return self._make()
        if value is None:
            if len(table) >= _most_partials:
                table.pop(next(iter(table)))
            value = table[key] = self._make()
        return value

    def _forget(self, number: int) -> Callable[[Any], object]:
        tables = self._tables
        return lambda _: tables.pop(number, None)

    def values(self) -> list[T]:
        """The values of all functions."""
        return [value for _, table in list(self._tables.values()) for value in table.values()]
