"""Reading and writing of FlatBuffers, by a schema of the fields of each table.

The format is described at flatbuffers.dev/internals. A buffer begins with the offset of its root
table. A table begins with the distance to its vtable, which has the offset of each field: absent
fields have their default. Strings, vectors and tables are referred to by their distance.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

_DEEPEST = 64


class DamagedBufferError(ValueError):
    """A buffer whose offsets are out of range, or whose values are of another type."""


@dataclass(frozen=True)
class Scalar:
    """A number of a fixed size, in the notation of ``struct``."""

    code: str
    default: int = 0

    @property
    def size(self) -> int:
        """The number of bytes, to which it is aligned as well."""
        return struct.calcsize(self.code)


@dataclass(frozen=True)
class Text:
    """A string in UTF-8."""


@dataclass(frozen=True)
class Bytes:
    """Bytes: a vector of numbers of one byte."""


@dataclass(frozen=True)
class Vector:
    """A sequence: of scalars, strings or tables."""

    of: "Kind"


@dataclass
class Table:
    """A table: for each field its number, its name and its kind.

    Its values are dictionaries by name; a field that is absent is not in the dictionary.
    """

    fields: dict[int, tuple[str, "Kind"]] = field(default_factory=dict)


type Kind = Scalar | Text | Bytes | Vector | Table


def read(buffer: bytes, root: Table) -> dict[str, Any]:
    """Read the root table of a buffer.

    Raises:
      DamagedBufferError: if the buffer is damaged, or is not a FlatBuffer.
    """
    try:
        return _Reader(buffer).table(_unpack(buffer, 0, "I"), root, 0)
    except (struct.error, UnicodeDecodeError, IndexError) as error:
        raise DamagedBufferError(str(error)) from error


def _unpack(buffer: bytes, position: int, code: str) -> int:
    if not 0 <= position <= len(buffer) - struct.calcsize(code):
        raise DamagedBufferError(f"offset {position} in a buffer of {len(buffer)} bytes")
    return struct.unpack_from(f"<{code}", buffer, position)[0]


class _Reader:
    def __init__(self, buffer: bytes):
        self.buffer = buffer
        # Offsets point forward, so there are no cycles; but parts may be shared, and a small buffer
        # could expand exponentially. So the total number of bytes read is bounded.
        self.left = 4 * len(buffer) + 64

    def table(self, start: int, kind: Table, depth: int) -> dict[str, Any]:
        self._spend(4)
        if depth > _DEEPEST:
            raise DamagedBufferError("tables are nested too deeply")
        # A table begins with the distance back to its vtable. That has two sizes, then for each
        # field, by its number, the offset of the value in the table; 0 if the field is absent.
        vtable = start - _unpack(self.buffer, start, "i")
        size = _unpack(self.buffer, vtable, "H")
        values: dict[str, Any] = {}
        for number, (name, of) in kind.fields.items():
            place = 4 + 2 * number
            offset = _unpack(self.buffer, vtable + place, "H") if place + 2 <= size else 0
            if offset:
                values[name] = self.value(start + offset, of, depth)
        return values

    def value(self, position: int, kind: Kind, depth: int) -> Any:
        if isinstance(kind, Scalar):
            return _unpack(self.buffer, position, kind.code)
        start = position + _unpack(self.buffer, position, "I")
        if isinstance(kind, Table):
            return self.table(start, kind, depth + 1)
        count = _unpack(self.buffer, start, "I")
        start += 4
        if isinstance(kind, Text):
            return self._bytes(start, count).decode()
        if isinstance(kind, Bytes):
            return self._bytes(start, count)
        size = kind.of.size if isinstance(kind.of, Scalar) else 4
        if start + count * size > len(self.buffer):
            raise DamagedBufferError(f"a vector of {count} elements exceeds the buffer")
        self._spend(count * size)
        return [self.value(start + i * size, kind.of, depth) for i in range(count)]

    def _bytes(self, start: int, count: int) -> bytes:
        if start + count > len(self.buffer):
            raise DamagedBufferError(f"{count} bytes at {start} exceed the buffer")
        self._spend(count)
        return self.buffer[start : start + count]

    def _spend(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise DamagedBufferError("parts overlap")


def write(value: dict[str, Any], root: Table) -> bytes:
    """Write a root table as a buffer."""
    writer = _Writer()
    writer.refer(0, lambda: writer.table(value, root))
    return bytes(writer.buffer)


class _Writer:
    """Writes each part after those that refer to it, and fills in the distances."""

    def __init__(self):
        self.buffer = bytearray(4)

    def refer(self, position: int, write: Any) -> None:
        struct.pack_into("<I", self.buffer, position, write() - position)

    def align(self, size: int, ahead: int = 0) -> None:
        self.buffer += bytes(-(len(self.buffer) + ahead) % size)

    def table(self, value: dict[str, Any], kind: Table) -> int:
        present = [(n, name, of) for n, (name, of) in kind.fields.items() if name in value]
        # The largest fields come first, so that all are aligned.
        width = lambda of: of.size if isinstance(of, Scalar) else 4
        offsets: dict[int, int] = {}
        end = 4
        for number, _, of in sorted(present, key=lambda item: -width(item[2])):
            offsets[number] = end
            end += width(of)
        count = max(offsets, default=-1) + 1
        # The vtable has ``2 * (count + 2)`` bytes and the table follows it, so the padding goes
        # before the vtable such that the table is aligned to 4.
        self.align(4, 4 + 2 * count)
        vtable = len(self.buffer)
        places = [offsets.get(i, 0) for i in range(count)]
        self.buffer += struct.pack(f"<{count + 2}H", 4 + 2 * count, end, *places)
        start = len(self.buffer)
        self.buffer += struct.pack("<i", start - vtable) + bytes(end - 4)
        for number, name, of in present:
            self.put(start + offsets[number], value[name], of)
        return start

    def put(self, position: int, value: object, kind: Kind) -> None:
        if isinstance(kind, Scalar):
            struct.pack_into(f"<{kind.code}", self.buffer, position, value)
        else:
            self.refer(position, lambda: self.part(value, kind))

    def part(self, value: Any, kind: Kind) -> int:
        if isinstance(kind, Table):
            return self.table(value, kind)
        if isinstance(kind, Text):
            value = value.encode()
        if isinstance(kind, Text | Bytes):
            self.align(4)
            start = len(self.buffer)
            self.buffer += struct.pack("<I", len(value)) + value + b"\0"
            return start
        assert isinstance(kind, Vector)
        return self.vector(value, kind.of)

    def vector(self, values: Sequence[Any], of: Kind) -> int:
        self.align(4)
        start = len(self.buffer)
        size = of.size if isinstance(of, Scalar) else 4
        self.buffer += struct.pack("<I", len(values)) + bytes(size * len(values))
        for i, value in enumerate(values):
            self.put(start + 4 + i * size, value, of)
        return start
