"""Tree structures in JAX's FlatBuffer format, as in its exports and beside its checkpoints."""

from typing import Any

import msgspec

from ricci_pytree import PyTreeDef
from ricci_xla.files import (
    FileError,
    TreeRecord,
    decode_plain,
    decode_tree,
    encode_plain,
    encode_tree,
)

from . import _flatbuffer as fb
from ._records import node_forms

__all__ = ["read_jax_tree", "write_jax_tree"]

tree_table = fb.Table()
tree_table.fields.update(
    {
        0: ("node", fb.Scalar("B")),
        1: ("children", fb.Vector(tree_table)),
        2: ("keys", fb.Vector(fb.Text())),
        3: ("name", fb.Text()),
        4: ("data", fb.Bytes()),
    }
)

_LEAF, _NONE, _TUPLE, _LIST, _DICT, _CUSTOM = range(6)
_NODES = {_NONE: "None", _TUPLE: "tuple", _LIST: "list"}


def read_jax_tree(data: bytes) -> PyTreeDef:
    """Read a tree structure from JAX's FlatBuffer.

    Raises:
      ValueError: if it is invalid or damaged, or has nodes of a class that is not registered.
    """
    try:
        record = read_tree(fb.read(data, tree_table))
    except (KeyError, IndexError, RecursionError) as error:
        raise fb.DamagedBufferError(
            f"invalid tree structure: {type(error).__name__}: {error}"
        ) from error
    return decode_tree(record, node_forms)


def write_jax_tree(tree: PyTreeDef) -> bytes:
    """Write a tree structure as JAX's FlatBuffer.

    Raises:
      TypeError: if it has a dict with keys other than strings, or nodes of a class that is not
        registered.
    """
    return fb.write(write_tree(encode_tree(tree, node_forms)), tree_table)


def read_tree(table: dict[str, Any]) -> TreeRecord:
    """Convert a tree structure that was read with `tree_table` to a record."""
    node = table.get("node", _LEAF)
    children = [read_tree(child) for child in table.get("children", ())]
    if node == _LEAF:
        return TreeRecord()
    if node in _NODES:
        return TreeRecord(_NODES[node], _plain(None), children)
    if node == _DICT:
        keys = list(table.get("keys", ()))
        if len(keys) != len(children):
            raise FileError(f"a dict of {len(children)} items has the keys {keys}")
        return TreeRecord("dict", _plain(keys), children)
    if node != _CUSTOM:
        raise FileError(f"a tree node of unknown kind {node}")
    return TreeRecord(table["name"], table.get("data", b""), children)


def _plain(data: object) -> bytes:
    return msgspec.msgpack.encode(encode_plain(data))


def write_tree(record: TreeRecord) -> dict[str, Any]:
    """Convert the record of a tree structure for writing with `tree_table`."""
    children = [write_tree(child) for child in record.children]
    if record.node is None:
        return {}
    for node, name in _NODES.items():
        if record.node == name:
            return {"node": node, "children": children} if node != _NONE else {"node": node}
    if record.node != "dict":
        return {"node": _CUSTOM, "children": children, "name": record.node, "data": record.data}
    keys = decode_plain(msgspec.msgpack.decode(record.data))
    wrong = [key for key in keys if not isinstance(key, str)]
    if wrong:
        raise TypeError(
            f"JAX's format has dicts with strings as keys only, found the key {wrong[0]!r} of type "
            f"{type(wrong[0]).__name__}. Use strings, or write an export in Ricci's own format."
        )
    return {"node": _DICT, "children": children, "keys": keys}
