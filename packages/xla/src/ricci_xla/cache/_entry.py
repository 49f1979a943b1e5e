"""An entry of the cache: a serialized executable and the parts of its key."""

import os
import zlib

import msgspec

from ricci_xla.files import FileError, FileKind, read_file, write_file

from ._key import ProgramKey

__all__ = ["Entry", "ENTRY_KIND", "read_entry", "write_entry"]


class Entry(msgspec.Struct, frozen=True):
    """An executable in the cache.

    Attributes:
      name: the module's name.
      parts, notes: those of its ``ProgramKey``.
      seconds: the duration of compiling.
      size: the size of the executable in bytes.
      compressed: whether ``data`` is compressed.
      data: the executable.
    """

    name: str
    parts: dict[str, str]
    notes: dict[str, str]
    seconds: float
    size: int
    compressed: bool
    data: bytes

    def program(self, where: str | os.PathLike[str]) -> bytes:
        """The serialized executable.

        Raises:
          FileError: if it cannot be decompressed.
        """
        if not self.compressed:
            return self.data
        try:
            program = zlib.decompress(self.data, bufsize=max(self.size, 1))
        except (zlib.error, OverflowError, MemoryError) as error:
            raise FileError(f"{where}: its program cannot be decompressed: {error}") from error
        if len(program) != self.size:
            raise FileError(f"{where}: its program has {len(program)} bytes, not {self.size}")
        return program


ENTRY_KIND: FileKind[Entry] = FileKind("program", 1, Entry, "an entry of the compilation cache")


def write_entry(key: ProgramKey, program: bytes, seconds: float) -> bytes:
    """Serialize the entry of an executable that took ``seconds`` to compile."""
    data = zlib.compress(program, 1)
    entry = Entry(key.name, key.parts, key.notes, seconds, len(program), True, data)
    return write_file(ENTRY_KIND, entry)


def read_entry(data: bytes, where: str | os.PathLike[str], key: ProgramKey | None = None) -> Entry:
    """Read the entry of a file.

    Args:
      data: the file.
      where: its path, for messages.
      key: the key that it must have; by default any.

    Raises:
      FileError: if it is not an entry, is damaged, or is that of another key.
    """
    entry = read_file(ENTRY_KIND, data, where)
    if key is not None and entry.parts != key.parts:
        topics = [topic for topic, value in key.parts.items() if entry.parts.get(topic) != value]
        raise FileError(
            f"{where}: expected the entry of {key.name}, found that of {entry.name}, which differs "
            f"in: {', '.join(topics) or 'its notes'}. The file was renamed or replaced."
        )
    return entry
