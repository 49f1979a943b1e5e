"""Records of tree structures, with nodes of classes that the reading program has registered."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from ricci_pytree import PyTreeDef, default_registry, registered_nodes, tree_structure

from ._container import FileError
from ._plain import PlainRecord, decode_plain, encode_plain

__all__ = ["decode_tree", "encode_tree", "NodeForm", "NodeForms", "TreeRecord"]


class TreeRecord(msgspec.Struct, frozen=True):
    """A tree structure.

    A leaf has no ``node``. The ``node`` of a tuple, list, dict or ``None`` is the name of that
    type, of any other node the name under which its class is registered; ``data`` is its static
    data.
    """

    node: str | None = None
    data: bytes = b""
    children: "list[TreeRecord]" = []


class NodeForm(NamedTuple):
    """The serialization of nodes of a class.

    Attributes:
      kind: the class.
      name: its name in files.
      write: converts its static data to bytes.
      read: converts the bytes back.
    """

    kind: type
    name: str
    write: Callable[[Any], bytes]
    read: Callable[[bytes], Any]


class NodeForms:
    """A registry of node forms, by class for writing and by name for reading."""

    def __init__(self):
        self._by_kind: dict[type, NodeForm] = {}
        self._by_name: dict[str, NodeForm] = {}

    def add(self, form: NodeForm) -> None:
        """Register a class.

        Raises:
          ValueError: if the class, or another one under the name, is registered.
        """
        other = self._by_kind.get(form.kind) or self._by_name.get(form.name)
        if other is not None or form.name in _built_in_names:
            raise ValueError(
                f"{form.kind.__qualname__} cannot be registered as {form.name!r}: "
                + (f"{other.kind.__qualname__} is {other.name!r}" if other else "a built-in name")
            )
        self._by_kind[form.kind] = form
        self._by_name[form.name] = form

    def of_kind(self, kind: type) -> NodeForm | None:
        """The form of nodes of a class, or ``None`` if it is not registered."""
        return self._by_kind.get(kind)

    def of_name(self, name: str) -> NodeForm | None:
        """The form of nodes of a name, or ``None`` if it is not registered."""
        return self._by_name.get(name)


def _write_plain(data: object) -> bytes:
    return msgspec.msgpack.encode(encode_plain(data))


def _read_plain(data: bytes) -> Any:
    record: PlainRecord = msgspec.msgpack.decode(data)
    return decode_plain(record)


_built_in = (
    NodeForm(type(None), "None", _write_plain, _read_plain),
    NodeForm(tuple, "tuple", _write_plain, _read_plain),
    NodeForm(list, "list", _write_plain, _read_plain),
    NodeForm(dict, "dict", _write_plain, _read_plain),
)
_built_in_kinds = {form.kind: form for form in _built_in}
_built_in_names = {form.name: form for form in _built_in}


def encode_tree(tree: PyTreeDef, forms: NodeForms) -> TreeRecord:
    """A record of a tree structure.

    Raises:
      TypeError: if it has a node of a class that is not registered, or whose static data cannot be
        written.
    """
    node = tree.node_data()
    # A leaf has no node, and its record no name.
    if node is None:
        return TreeRecord()
    kind, data = node
    form = _built_in_kinds.get(kind) or forms.of_kind(kind)
    if form is None:
        raise TypeError(
            f"nodes of class {kind.__module__}.{kind.__qualname__} cannot be written to a file: "
            "the class is not registered for it"
        )
    children = [encode_tree(child, forms) for child in tree.children()]
    return TreeRecord(form.name, form.write(data), children)


def decode_tree(record: TreeRecord, forms: NodeForms) -> PyTreeDef:
    """The tree structure of a record.

    Raises:
      FileError: if it has a node of a name that is not registered, or whose data cannot be read.
    """
    children = [decode_tree(child, forms) for child in record.children]
    if record.node is None:
        return PyTreeDef.from_node_data_and_children(default_registry, None, [])
    form = _built_in_names.get(record.node) or forms.of_name(record.node)
    if form is None:
        raise FileError(
            f"the record has a node of class {record.node!r}, which is not registered here. Import "
            "the module that registers it, and read the file again."
        )
    try:
        data = form.read(record.data)
        if (
            form.kind is not tuple
            and issubclass(form.kind, tuple)
            and form.kind in registered_nodes
        ):
            return _registered_tuple(form.kind, data, children)
        return PyTreeDef.from_node_data_and_children(default_registry, (form.kind, data), children)
    except (TypeError, ValueError, RuntimeError) as error:
        if isinstance(error, FileError):
            raise
        raise FileError(
            f"the record has a node of {record.node!r} with unreadable data: {error}"
        ) from error


def _registered_tuple(kind: type, data: object, children: Sequence[PyTreeDef]) -> PyTreeDef:
    """Return the structure of a node whose class is a registered named tuple.

    ``from_node_data_and_children`` would take it for a plain named tuple, so an object is built.
    """
    objects = [child.unflatten([object()] * child.num_leaves) for child in children]
    return tree_structure(registered_nodes[kind].from_iter(data, objects))
