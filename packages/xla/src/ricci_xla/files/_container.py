"""The container of files: a head with the kind, version and digest, and the record.

A file is a head of 64 bytes followed by the record in MessagePack:

========  ===========================================================
bytes     content
========  ===========================================================
0 to 7    ``\\x89RICCI\\r\\n``: a copy in text mode would change these
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

__all__ = ["FileError", "FileKind", "read_file", "read_head", "write_file"]

_MAGIC = b"\x89RICCI\r\n"
_HEAD = struct.Struct("<12sIQ")
_DIGEST = hashlib.sha256().digest_size
_START = len(_MAGIC) + _HEAD.size + _DIGEST


class FileError(ValueError):
    """A file that cannot be used: of another kind or version, or damaged."""


class FileKind[R: msgspec.Struct](NamedTuple):
    """A kind of files.

    Attributes:
      name: the kind in the file's head, at most 12 ASCII characters.
      version: the version that is written, and the only one that is read: the meaning of a record
        never changes within a version.
      record: the class of the record.
      title: the kind's name in messages, such as ``"a compilation cache entry"``.
    """

    name: str
    version: int
    record: type[R]
    title: str


def write_file[R: msgspec.Struct](kind: FileKind[R], record: R) -> bytes:
    """Serialize a record as the bytes of a file."""
    payload = msgspec.msgpack.encode(record)
    head = _HEAD.pack(kind.name.encode("ascii"), kind.version, len(payload))
    return b"".join([_MAGIC, head, _digest(head, payload), payload])


def read_file[R: msgspec.Struct](
    kind: FileKind[R], data: bytes | bytearray | memoryview, where: str | os.PathLike[str]
) -> R:
    """Read the record of a file.

    Args:
      kind: the expected kind of file.
      data: the whole file.
      where: the file's name in messages: its path.

    Raises:
      FileError: if it is of another kind or version, is damaged, or has an invalid record.
    """
    view = memoryview(data)
    name, version = read_head(view, where)
    # Before the digest is compared: of another kind or version, the message names that, and not
    # damage.
    if name != kind.name:
        raise FileError(f"{where}: expected {kind.title}, found a Ricci file of kind {name!r}.")
    if version != kind.version:
        age = "newer" if version > kind.version else "older"
        raise FileError(
            f"{where}: {kind.title} of version {version}, written by {age} Ricci; this one reads "
            f"version {kind.version}. Write the file again, or read it with that Ricci."
        )
    _, _, length = _HEAD.unpack_from(view, len(_MAGIC))
    payload = view[_START:]
    # A file that another process is still writing, or that was cut off, is not called altered.
    if len(payload) != length:
        raise FileError(
            f"{where}: {kind.title} of version {version} should have {_START + length} bytes, and "
            f"has {len(view)}. The file was truncated, or is not completely written yet."
        )
    head = view[len(_MAGIC) : len(_MAGIC) + _HEAD.size]
    if _digest(head, payload) != bytes(view[len(_MAGIC) + _HEAD.size : _START]):
        raise FileError(
            f"{where}: {kind.title} of version {version} was altered: its content does not have "
            "the digest in its head."
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
    """Read the kind and the version of a file from its first bytes.

    Raises:
      FileError: if it is not a file of Ricci's.
    """
    if bytes(data[: len(_MAGIC)]) != _MAGIC or len(data) < _START:
        begin = "is empty" if not len(data) else f"begins with {bytes(data[:8])!r}"
        raise FileError(f"{where}: not a file of Ricci's, or a damaged one: it {begin}.")
    name, version, _ = _HEAD.unpack_from(data, len(_MAGIC))
    return name.rstrip(b"\0").decode("ascii", "replace"), version


def _digest(head: bytes | memoryview, payload: bytes | memoryview) -> bytes:
    digest = hashlib.sha256(head)
    digest.update(payload)
    return digest.digest()
