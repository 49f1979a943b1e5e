"""The protocol buffer in which jaxlib stores tree structures, read and written without protobuf.

A message holds nodes in post-order (field 1) and the strings they refer to (field 2). A node has
an arity (field 1), a type (field 2) and, for a dict, the numbers of its keys (field 3, field 1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

_LEAF, _LIST, _NONE, _TUPLE, _DICT = 1, 2, 3, 4, 5
_CODE_OF_TYPE = {list: _LIST, type(None): _NONE, tuple: _TUPLE, dict: _DICT}
_TYPE_OF_CODE = {code: kind for kind, code in _CODE_OF_TYPE.items()}
_VARINT, _BYTES = 0, 2

# A container's type and static data; None for a leaf.
type NodeData = tuple[type, Any] | None


class Structure(Protocol):
    """A tree structure that can be stored: its outermost node and its children."""

    def node_data(self) -> NodeData:
        """The type and the static data of the outermost container; ``None`` for a leaf."""
        ...

    def children(self) -> Sequence[Structure]:
        """The structures of the children."""
        ...


def _varint(value: int) -> bytes:
    # Seven bits of the number in each byte, the lowest first. The high bit is set in all bytes but
    # the last.
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


# A field is a tag and its content. The tag has the wire type in its three lowest bits, and above
# them the number of the field. A field that is 0 is left out.


def _int_field(number: int, value: int) -> bytes:
    return _varint(number << 3 | _VARINT) + _varint(value) if value else b""


def _bytes_field(number: int, value: bytes) -> bytes:
    return _varint(number << 3 | _BYTES) + _varint(len(value)) + value


def serialize(treedef: Structure) -> bytes:
    """The message for a structure; ``ValueError`` for a node that the format cannot hold."""
    strings: dict[str, int] = {}
    nodes: list[bytes] = []
    _write(treedef, nodes, strings)
    return b"".join(_bytes_field(1, node) for node in nodes) + b"".join(
        _bytes_field(2, text.encode()) for text in strings
    )


def _write(treedef: Structure, nodes: list[bytes], strings: dict[str, int]) -> None:
    children = treedef.children()
    for child in children:
        _write(child, nodes, strings)
    node_data = treedef.node_data()
    if node_data is None:
        nodes.append(_int_field(2, _LEAF))
        return
    kind, data = node_data
    code = _CODE_OF_TYPE.get(kind)
    if code is None:
        raise ValueError(
            f"{kind.__name__} cannot be stored in a protocol buffer; found in {treedef}. "
            "Use lists, tuples and dicts, or pickle."
        )
    node = _int_field(1, len(children)) + _int_field(2, code)
    if code == _DICT and data:
        node += _bytes_field(3, _bytes_field(1, b"".join(_key_number(k, strings) for k in data)))
    nodes.append(node)


def _key_number(key: object, strings: dict[str, int]) -> bytes:
    if not isinstance(key, str):
        raise ValueError(
            f"only dicts with str keys can be stored in a protocol buffer; found key {key!r}"
        )
    return _varint(strings.setdefault(key, len(strings)))


def deserialize[T](data: bytes, make: Callable[[NodeData, list[T]], T]) -> T:
    """The structure in a message; ``make(node_data, children)`` builds each node."""
    fields = list(_fields(data))
    strings = [value.decode() for number, value in fields if number == 2]
    # Nodes are stored in postorder, each with the number of its children: these are the topmost
    # structures on the stack when the node is reached.
    stack: list[T] = []
    for number, node in fields:
        if number != 1:
            continue
        parts = dict(_fields(node))
        arity, code = parts.get(1, 0), parts.get(2, 0)
        if arity > len(stack):
            raise ValueError("malformed tree structure: a node has more children than were stored")
        children = stack[len(stack) - arity :]
        del stack[len(stack) - arity :]
        if code == _LEAF:
            stack.append(make(None, []))
            continue
        if code not in _TYPE_OF_CODE:
            raise ValueError(f"malformed tree structure: unknown node type {code}")
        keys = None
        if code == _DICT:
            packed = dict(_fields(parts.get(3, b""))).get(1, b"")
            keys = [strings[i] for i in _varints(packed)]
        stack.append(make((_TYPE_OF_CODE[code], keys), children))
    if len(stack) != 1:
        raise ValueError(f"malformed tree structure: {len(stack)} roots, expected 1")
    return stack[0]


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data):
            raise ValueError("malformed tree structure: the data ends early")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _varints(data: bytes) -> Iterator[int]:
    at = 0
    while at < len(data):
        value, at = _read_varint(data, at)
        yield value


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    at = 0
    while at < len(data):
        tag, at = _read_varint(data, at)
        value, at = _read_varint(data, at)
        if tag & 7 == _VARINT:
            yield tag >> 3, value
        elif tag & 7 == _BYTES and at + value <= len(data):
            yield tag >> 3, data[at : at + value]
            at += value
        else:
            raise ValueError("malformed tree structure: unexpected wire type or length")
