"""Records of the static data in a call's results, in terms of the call's arguments.

A library's node may have any object as its static data: functions, classes, descriptions of a
graph. No class's own code writes or reads it, as a pickle's would. A record is plain values, and
references to objects in the static data of the arguments, which are the same in both processes,
since they are part of the call's fingerprint. An object that is new is written as its class and its
attributes. The class must be that of an object in the arguments, or a global name of a module that
the call depends on.
"""

import sys
from collections.abc import Collection, Iterator
from dataclasses import is_dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

import msgspec

from ricci_pytree import PyTreeDef
from ricci_xla import files

from ._object_states import has_own_state, is_reduced, state_of

_MOST_PARTS = 200_000
_CONTAINERS: dict[str, type] = {"items of list": list, "items of tuple": tuple}
_MAPPINGS: dict[str, type] = {"dict": dict, "mappingproxy": MappingProxyType}


class StaticData:
    """The static data of a call's arguments, by which that of its results is written and read.

    Args:
      in_tree: the structure of the arguments.
      static: the static arguments.
      forms: the forms of the nodes of structures in the data.
      modules: the names of the modules that the call depends on.
    """

    def __init__(
        self,
        in_tree: PyTreeDef,
        static: object,
        forms: files.NodeForms,
        modules: Collection[str] = (),
    ):
        self._in_tree = in_tree
        self._static = static
        self._forms = forms
        self._modules = frozenset(modules)

    @cached_property
    def _parts(self) -> list[Any]:
        """The objects in the data of the arguments, in an order that every process has."""
        parts: list[Any] = []
        seen: set[int] = set()
        stack = [self._static, self._in_tree]
        while stack and len(parts) < _MOST_PARTS:
            value = stack.pop()
            if id(value) in seen:
                continue
            seen.add(id(value))
            parts.append(value)
            stack.extend(reversed(_inner(value)))
        return parts

    @cached_property
    def _positions(self) -> dict[int, int]:
        return {id(part): i for i, part in enumerate(self._parts)}

    @cached_property
    def _kinds(self) -> list[type]:
        """The classes of these objects."""
        return list(dict.fromkeys(map(type, self._parts)))

    def encode(self, value: object) -> list[Any]:
        """Return a record of static data.

        Raises:
          TypeError: if it holds an object that is neither plain nor one of the arguments' kind.
        """
        kind = type(value)
        if type(value) is list or type(value) is tuple:
            return [f"items of {kind.__name__}", list(map(self.encode, value))]
        if type(value) in _MAPPINGS.values():
            mapping: Any = value
            items = [[self.encode(k), self.encode(x)] for k, x in mapping.items()]
            return ["dict" if kind is dict else "mappingproxy", items]
        try:
            return ["plain", files.encode_plain(value)]
        except TypeError as error:
            if id(value) in self._positions:
                return ["part", self._positions[id(value)]]
            if isinstance(value, type) and value in self._kinds:
                return ["class", self._kinds.index(value)]
            if isinstance(value, PyTreeDef):  # compared by text as well, in which 1 and True differ
                parts = [
                    i for i, x in enumerate(self._parts) if isinstance(x, PyTreeDef) and x == value
                ]
                parts = [i for i in parts if str(self._parts[i]) == str(value)]
                if parts:
                    return ["part", parts[0]]
                return ["tree", msgspec.msgpack.encode(files.encode_tree(value, self._forms))]
            name = _name_of_sentinel(value)
            if name is not None:
                return ["sentinel", [kind.__module__, name]]
            class_record = self._encode_class(kind)
            if class_record is None:
                raise error
        items = list(map(self.encode, value)) if isinstance(value, tuple) else []
        state = [[name, self.encode(x)] for name, x in state_of(value).items()]
        return ["object", [class_record, items, state]]

    def _encode_class(self, kind: type) -> int | list[str] | None:
        """Return the position of a class, or its module and name; ``None`` without either."""
        if not _is_rebuilt(kind):
            return None
        if kind in self._kinds:
            return self._kinds.index(kind)
        name = [kind.__module__, kind.__qualname__]
        return name if self._global_class(*name) is kind else None

    def _global_class(self, module: str, name: str) -> type | None:
        """Return the class with a global name in a module that the call depends on, if any."""
        names = vars(sys.modules[module]) if module in self._modules & sys.modules.keys() else {}
        kind = names.get(name)
        # Objects are built and dropped without running the code of their class.
        return kind if isinstance(kind, type) and not hasattr(kind, "__del__") else None

    def decode(self, record: object) -> Any:
        """Return the static data of a record.

        Raises:
          FileError: if the record is invalid.
        """
        try:
            fields: Any = record
            tag, content = fields
            if tag in _CONTAINERS:
                return _CONTAINERS[tag](map(self.decode, content))
            if tag in _MAPPINGS:
                return _MAPPINGS[tag]({self.decode(key): self.decode(x) for key, x in content})
            if tag == "part":
                return self._parts[content]
            if tag == "class":
                return self._kinds[content]
            if tag == "object":
                return self._decode_object(*content)
            if tag == "tree":
                tree = msgspec.msgpack.decode(content, type=files.TreeRecord)
                return files.decode_tree(tree, self._forms)
            if tag == "sentinel":
                return _sentinel(*content)
        except (
            *(TypeError, ValueError, IndexError, AttributeError),
            msgspec.MsgspecError,
        ) as error:
            raise files.FileError(f"the record of static data is invalid: {error}") from error
        if tag != "plain":
            raise files.FileError(f"the record of static data has the kind {tag!r}")
        return files.decode_plain(content)

    def _decode_object(
        self, class_record: int | list[str], items: list[Any], state: list[Any]
    ) -> object:
        if isinstance(class_record, int):
            kind = self._kinds[class_record]
        else:
            kind = self._global_class(*class_record)
            if kind is None or not _is_rebuilt(kind):
                raise files.FileError(f"{'.'.join(class_record)} is not a class of plain objects")
        if issubclass(kind, tuple):
            value: object = tuple.__new__(kind, map(self.decode, items))
        else:
            value = object.__new__(kind)
        for name, part in state:
            # Not the class's own ``__setattr__``, which frozen classes have.
            object.__setattr__(value, name, self.decode(part))
        return value


def _name_of_sentinel(value: object) -> str | None:
    """Return the name of an object without state, in the module of its class, or ``None``."""
    kind = type(value)
    module = sys.modules.get(kind.__module__)
    if module is None or not _is_rebuilt(kind) or isinstance(value, tuple) or state_of(value):
        return None
    return next((name for name, x in vars(module).items() if x is value), None)


def _sentinel(module: str, name: str) -> object:
    """Return the object without state that has a name in a module."""
    value = vars(sys.modules[module]).get(name) if module in sys.modules else None
    if value is None or type(value).__module__ != module or _name_of_sentinel(value) is None:
        raise files.FileError(f"{module}.{name} is not an object without state")
    return value


def _inner(value: object) -> list[Any]:
    """Return the objects that a value holds, in an order that every process has."""
    if isinstance(value, dict | MappingProxyType):
        return [part for pair in value.items() for part in pair]
    if isinstance(value, PyTreeDef):
        return [data for _, data in _nodes(value)]
    parts = list(value) if isinstance(value, list | tuple) else []
    if _is_rebuilt(type(value)):
        parts += state_of(value).values()
    return parts


def _is_rebuilt(kind: type) -> bool:
    """Whether a class's objects have no state besides attributes and items."""
    return (
        not is_reduced(kind)
        and not issubclass(kind, type)
        and kind.__module__ != "builtins"
        and (is_dataclass(kind) or not hasattr(kind, "__setstate__"))
        and not has_own_state(kind)
    )


def _nodes(tree: PyTreeDef) -> Iterator[tuple[type, Any]]:
    node = tree.node_data()
    if node is not None:
        yield node
    for child in tree.children():
        yield from _nodes(child)
