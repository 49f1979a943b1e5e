"""Restore the user's Python objects after a trial run of a function.

Tools such as ``find_nan`` and ``check`` run a function in order to analyse it. Functions change
objects in place: a model counts its calls, an optimizer replaces parameters. Tracing would leave
tracers in them, and a function that fails half-way leaves them half-changed.
"""

import os
import sys
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from functools import cache, partial
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from ricci_pytree import tree_leaves

from ._source import is_internal_module
from .traces import Array, Tracer
from .traces._references import Ref

__all__ = ["preserved"]

_COPIED = 2**26  # bytes of a NumPy array up to which its elements are copied
_STANDARD = os.path.dirname(os.__file__)
_PACKAGES = ("site-packages", "dist-packages")
_absent = object()


class _Content:
    """A snapshot of an object: its parts, and the function that restores them."""

    __slots__ = ("owner", "parts", "put_back", "read")

    def __init__(
        self, owner: object, read: Callable[[], list[Any]], put_back: Callable[[list[Any]], object]
    ):
        self.owner = owner  # a reference, so that its id is not reused
        self.read = read
        self.parts = read()
        self.put_back = put_back

    def new_parts(self) -> list[Any]:
        """The current parts that are not in the snapshot."""
        old = set(map(id, self.parts))
        return [part for part in self.read() if id(part) not in old]

    def replaced_arrays(self) -> Iterator[tuple[str, Tracer]]:
        """Yield the names of arrays in whose places there are tracers now, with each of these."""
        now = self.read()
        if isinstance(self.owner, dict):
            before = dict(zip(map(id, self.parts[::2]), self.parts[1::2], strict=True))
            pairs = [
                (repr(key), before.get(id(key)), part)
                for key, part in zip(now[::2], now[1::2], strict=True)
            ]
        else:
            pairs = [("an element", *pair) for pair in zip(self.parts, now, strict=False)]
        for name, old, new in pairs:
            if new is old:
                continue
            tracers = [x for x in tree_leaves(new) if isinstance(x, Tracer)]
            # Trees too, such as the parameters of a model.
            if tracers and any(isinstance(x, Array | np.ndarray) for x in tree_leaves(old)):
                yield from ((name, x) for x in tracers)

    def restore(self) -> None:
        """Restore the parts if they changed."""
        now = self.read()
        if len(now) != len(self.parts) or any(
            a is not b for a, b in zip(now, self.parts, strict=True)
        ):
            self.put_back(self.parts)


class _Elements(_Content):
    """A snapshot of the elements of a NumPy array."""

    __slots__ = ("copy",)

    owner: np.ndarray

    def __init__(self, array: np.ndarray):
        super().__init__(array, list, list)
        self.copy = array.copy()

    def restore(self) -> None:
        """Restore the elements."""
        if self.owner.flags.writeable:
            np.copyto(self.owner, self.copy)


class preserved:
    """Restore a user's objects at the end of a ``with`` block, however it ends.

    The objects are those that can be reached from ``roots``: attributes, lists, dicts, sets,
    references, NumPy arrays, closures, and the globals that functions outside of libraries use.
    State in C (files, iterators, random generators), the objects of the standard library (queues,
    locks) and of Ricci, and attributes of classes are not restored.

    Example:
      >>> from ricci_ir import preserved
      >>> calls = [1]
      >>> with preserved(calls):
      ...     calls.append(2)
      >>> calls
      [1]
    """

    __slots__ = ("_contents", "_roots")

    def __init__(self, *roots: object):
        self._roots = roots
        self._contents: list[_Content] = []

    def __enter__(self) -> "preserved":
        self._contents = _contents(self._roots)
        return self

    def __exit__(self, *exception: object) -> None:
        for content in self._contents:
            content.restore()

    def keep(self) -> None:
        """Leave the objects as they are now at the end of the block."""
        self._contents = []

    def replaced_arrays(self) -> list[tuple[str, Tracer]]:
        """The names of arrays of the objects that tracers have replaced since then, and these."""
        return [pair for content in self._contents for pair in content.replaced_arrays()]

    def changes(self) -> list[Any]:
        """The values that were stored in the objects since the block was entered."""
        return [part for content in self._contents for part in content.new_parts()]


def _contents(roots: tuple[object, ...]) -> list[_Content]:
    """Snapshots of all mutable objects that can be reached."""
    contents: list[_Content] = []
    seen: dict[int, object] = {}
    stack: list[Any] = list(roots)
    while stack:
        value = stack.pop()
        if id(value) in seen or value is _absent:
            continue
        seen[id(value)] = value
        if isinstance(value, tuple | frozenset):
            stack.extend(value)
            continue
        for content in _contents_of(value):
            if content.put_back is not _unchanging:
                contents.append(content)
            stack.extend(content.parts)
    return contents


def _unchanging(parts: list[Any]) -> None:
    """Do nothing: the ``put_back`` of objects whose parts cannot be replaced."""


def _contents_of(value: Any) -> Iterator[_Content]:
    kind = type(value)
    if isinstance(value, np.ndarray):
        if value.dtype != object and value.flags.writeable and value.nbytes <= _COPIED:
            yield _Elements(value)
    elif isinstance(value, list):
        yield _Content(
            value, partial(list, value), lambda parts: list.__setitem__(value, slice(None), parts)
        )
    elif isinstance(value, dict):
        yield _entries(value)
    elif isinstance(value, set):
        yield _Content(
            value,
            # The order of a set may change when items are added and removed again, so parts are
            # compared in the order of their ids.
            lambda: sorted(value, key=id),
            lambda parts: (set.clear(value), set.update(value, parts)),
        )
    elif isinstance(value, deque):
        yield _Content(
            value,
            partial(list, value),
            lambda parts: (deque.clear(value), deque.extend(value, parts)),
        )
    elif isinstance(value, FunctionType):
        yield from _of_function(value)
    elif isinstance(value, MethodType):
        yield _Content(value, lambda: [value.__self__, value.__func__], _unchanging)
    elif isinstance(value, partial):
        yield _Content(
            value, lambda: [value.func, *value.args, *value.keywords.values()], _unchanging
        )
    elif isinstance(value, CellType):
        yield _Content(value, lambda: [_in_cell(value)], lambda parts: _fill_cell(value, parts[0]))
    elif kind is Ref:
        if not value._freed:
            value._read(shared=True)  # so that its array is not donated
            yield from _of_slots(value, ("_value", "_freed"))
    if not isinstance(value, type | ModuleType | FunctionType):
        if _is_users(kind):
            yield from _of_instance(value, kind)
        elif callable(value):  # such as a jitted function
            yield _Content(value, lambda: [getattr(value, "__wrapped__", None)], _unchanging)


@cache
def _is_users(kind: type) -> bool:
    """Whether a class is the user's or a library's, not the standard library's or Ricci's."""
    root = kind.__module__.partition(".")[0]
    if root == "__main__":
        return True
    return root not in sys.stdlib_module_names | {"jaxlib", "numpy"} and not is_internal_module(
        kind.__module__
    )


def _of_instance(value: object, kind: type) -> Iterator[_Content]:
    try:
        attributes = object.__getattribute__(value, "__dict__")
    except AttributeError:
        attributes = None
    if type(attributes) is dict:
        yield _entries(attributes)
    names = [
        # Python mangles private names in ``__slots__`` by the name of their class.
        f"_{base.__name__.lstrip('_')}{name}" if name.startswith("__") else name
        for base in kind.__mro__
        for name in _slots(base)
    ]
    if names:
        yield from _of_slots(value, tuple(names))


def _slots(base: type) -> tuple[str, ...]:
    slots = base.__dict__.get("__slots__", ())
    names = (slots,) if isinstance(slots, str) else tuple(slots)
    return tuple(name for name in names if name not in ("__dict__", "__weakref__"))


def _of_slots(value: object, names: tuple[str, ...]) -> Iterator[_Content]:
    def read() -> list[Any]:
        return [_slot(value, name) for name in names]

    def put_back(parts: list[Any]) -> None:
        for name, part in zip(names, parts, strict=True):
            if part is not _absent:
                object.__setattr__(value, name, part)
            elif _slot(value, name) is not _absent:
                object.__delattr__(value, name)

    yield _Content(value, read, put_back)


def _slot(value: object, name: str) -> Any:
    try:
        return object.__getattribute__(value, name)
    except AttributeError:
        return _absent


def _entries(table: dict[Any, Any]) -> _Content:
    # The base class's methods are called, since a subclass may override them with side effects. An
    # OrderedDict has a second record of the order, which dict's methods would not update.
    base: Any = OrderedDict if isinstance(table, OrderedDict) else dict

    def read() -> list[Any]:
        return [part for item in base.items(table) for part in item]

    def put_back(parts: list[Any]) -> None:
        base.clear(table)
        for key, part in zip(parts[::2], parts[1::2], strict=True):
            base.__setitem__(table, key, part)

    return _Content(table, read, put_back)


def _in_cell(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # the variable has no value yet
        return _absent


def _fill_cell(cell: CellType, value: object) -> None:
    if value is _absent:
        del cell.cell_contents
    else:
        cell.cell_contents = value


def _of_function(fun: FunctionType) -> Iterator[_Content]:
    if is_internal_module(fun.__module__) and not fun.__closure__:
        return
    parts = [
        *(fun.__closure__ or ()),
        *(fun.__defaults__ or ()),
        *(fun.__kwdefaults__ or {}).values(),
    ]
    wrapped = getattr(fun, "__wrapped__", None)
    yield _Content(fun, lambda: [*parts, wrapped], _unchanging)
    if not _is_library(fun):
        names = tuple(dict.fromkeys(_names(fun.__code__)))
        table = fun.__globals__
        yield _Content(
            fun,
            lambda: [table.get(name, _absent) for name in names],
            lambda parts: _rebind(table, names, parts),
        )


def _rebind(table: dict[str, Any], names: tuple[str, ...], parts: list[Any]) -> None:
    for name, part in zip(names, parts, strict=True):
        if part is _absent:
            table.pop(name, None)
        else:
            table[name] = part


def _names(code: CodeType) -> Iterator[str]:
    """The globals that a function may use."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _is_library(fun: FunctionType) -> bool:
    """Whether a function is part of Ricci, the standard library or an installed package."""
    file = fun.__code__.co_filename
    return (
        is_internal_module(fun.__module__)
        or file.startswith(_STANDARD)
        or any(folder in file for folder in _PACKAGES)
    )
