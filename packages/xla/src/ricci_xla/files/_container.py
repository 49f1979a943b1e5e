"""The container of files: what kind and version a file is, whether it is whole, and its record.

A file is a head of 64 bytes followed by the record in MessagePack:

========  ===========================================================
bytes     content
========  ===========================================================
0 to 7    ``\\x89RICCI\\r\\n``: a copy that went through a text mode differs here
8 to 19   the kind, in ASCII, filled with zero bytes
20 to 23  the version of the kind, little-endian
24 to 31  the length of the record in bytes, little-endian
32 to 63  the SHA-256 of bytes 8 to 31 and the record
========  ===========================================================
"""

import hashlib
import os
import struct
from typing import NamedTuple

import msgspec

__all__ = [
    "FileError",
    "FileKind",
    "read_file",
    "read_head",
    "write_file",
]

_MAGIC = b"\x89RICCI\r\n"
_HEAD = struct.Struct("<12sIQ")
_DIGEST = hashlib.sha256().digest_size
_START = len(_MAGIC) + _HEAD.size + _DIGEST


class FileError(ValueError):
    """A file that cannot be used: it is no such file, is damaged, or has another version."""


class FileKind[R: msgspec.Struct](NamedTuple):
    """A kind of files.

    Attributes:
      name: the kind in the file's head, at most 12 ASCII characters.
      version: the version that is written. A reader takes this one and no other: the meaning of a
        record never changes within a version.
      record: the class of the record.
      title: what messages call such a file, such as ``"a compilation cache entry"``.
    """

    name: str
    version: int
    record: type[R]
    title: str


def write_file[R: msgspec.Struct](kind: FileKind[R], record: R) -> bytes:
    """The bytes of a file that holds a record."""
    payload = msgspec.msgpack.encode(record)
    head = _HEAD.pack(kind.name.encode("ascii"), kind.version, len(payload))
    return b"".join([_MAGIC, head, _digest(head, payload), payload])


def read_file[R: msgspec.Struct](
    kind: FileKind[R], data: bytes | bytearray | memoryview, where: str | os.PathLike[str]
) -> R:
    """The record that a file holds.

    Args:
      kind: the kind of file that is expected.
      data: the whole file.
      where: what messages call the file: its path.

    Raises:
      FileError: if it is of another kind or version, is damaged, or holds no such record.
    """
    view = memoryview(data)
    name, version = read_head(view, where)
    if name != kind.name:
        raise FileError(f"{where}: expected {kind.title}, found a Ricci file of kind {name!r}.")
    if version != kind.version:
        age = "newer" if version > kind.version else "older"
        raise FileError(
            f"{where}: {kind.title} of version {version}, written by {age} Ricci; this one reads "
            f"version {kind.version}. Write the file anew, or read it with that Ricci."
        )
    _, _, length = _HEAD.unpack_from(view, len(_MAGIC))
    payload = view[_START:]
    if len(payload) != length:
        raise FileError(
            f"{where}: {kind.title} of version {version} should have {_START + length} bytes, and "
            f"has {len(view)}. The file was cut off, or is not written to its end yet."
        )
    head = view[len(_MAGIC) : len(_MAGIC) + _HEAD.size]
    if _digest(head, payload) != bytes(view[len(_MAGIC) + _HEAD.size : _START]):
        raise FileError(
            f"{where}: {kind.title} of version {version} was altered: its content does not have "
            "the digest that its head names."
        )
    try:
        return msgspec.msgpack.decode(payload, type=kind.record)
    except msgspec.DecodeError as error:
        raise FileError(
            f"{where}: {kind.title} of version {version} does not hold the record of that version: "
            f"{error}."
        ) from error


def read_head(
    data: bytes | bytearray | memoryview, where: str | os.PathLike[str]
) -> tuple[str, int]:
    """The kind and the version that the first bytes of a file name.

    Raises:
      FileError: if it is no file of Ricci's.
    """
    if bytes(data[: len(_MAGIC)]) != _MAGIC or len(data) < _START:
        what = "is empty" if not len(data) else f"begins with {bytes(data[:8])!r}"
        raise FileError(f"{where}: no file of Ricci's, or a damaged one: it {what}.")
    name, version, _ = _HEAD.unpack_from(data, len(_MAGIC))
    return name.rstrip(b"\0").decode("ascii", "replace"), version


def _digest(head: bytes | memoryview, payload: bytes | memoryview) -> bytes:
    digest = hashlib.sha256(head)
    digest.update(payload)
    return digest.digest()
