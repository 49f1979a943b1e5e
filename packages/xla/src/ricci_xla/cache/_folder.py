"""The folder of a cache, which several processes share, and the entries in its files.

A file is written under a temporary name and then renamed, so that no process reads half of it. The
modification time of a file is that of its last use, by which the least recently used are evicted.
"""

import os
import time
import zlib
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

import msgspec

from ricci_xla.files import (
    UNFINISHED,
    FileError,
    FileKind,
    file_name,
    read_bytes,
    read_file,
    replace_file,
    write_file,
)

from ._key import ProgramKey

__all__ = ["ENTRY_KIND", "CacheFile", "CacheFolder", "Entry", "read_entry", "write_entry"]

_SUFFIX = ".program"
_ABANDONED_AFTER = 3600.0  # seconds


class CacheFile(NamedTuple):
    """A file in the folder of a cache.

    Attributes:
      path: its path.
      size: its size in bytes.
      used: when it was last used, in seconds since the epoch.
    """

    path: str
    size: int
    used: float


class CacheFolder:
    """A folder with serialized executables.

    Args:
      path: the folder. It is created when the first file is written.
    """

    __slots__ = ("path",)

    def __init__(self, path: str | os.PathLike[str]):
        self.path: str = os.fspath(path)

    def path_of(self, key: ProgramKey) -> str:
        """The path of a key's file."""
        return os.path.join(self.path, f"{file_name(key.name)}-{key.digest}{_SUFFIX}")

    def read(self, key: ProgramKey) -> bytes | None:
        """Read the file of a key and mark it as used; return ``None`` if it does not exist.

        Raises:
          OSError: if it cannot be read.
        """
        path = self.path_of(key)
        data = read_bytes(path)
        if data is not None:
            with suppress(OSError):  # the folder may be read-only
                os.utime(path)
        return data

    def write(self, key: ProgramKey, data: bytes, limit: int = -1) -> bool:
        """Write the file of a key, and evict the least recently used files for it.

        Args:
          key: the key.
          data: the file.
          limit: the limit of the files' total size in bytes; -1 for none.

        Returns:
          Whether it was written: not if it alone is larger than the limit.

        Raises:
          OSError: if it cannot be written.
        """
        if 0 <= limit < len(data):
            return False
        os.makedirs(self.path, exist_ok=True)
        path = self.path_of(key)
        if limit >= 0:
            # Room is made before the file is written, so that the limit is not exceeded in between.
            self.shrink(limit - len(data), keep=path)
        replace_file(path, data)
        return True

    def remove(self, path: str) -> None:
        """Remove a file, unless another process has done so."""
        with suppress(FileNotFoundError):
            os.remove(path)

    def files(self) -> list[CacheFile]:
        """All files, least recently used first.

        Raises:
          OSError: if the folder cannot be read.
        """
        files = [file for file in self._scan() if file.path.endswith(_SUFFIX)]
        return sorted(files, key=lambda file: (file.used, file.path))

    def shrink(self, limit: int, keep: str = "") -> list[CacheFile]:
        """Remove the least recently used files, until the others have at most ``limit`` bytes.

        Files that a process left unfinished are removed as well, an hour after it wrote to them.

        Args:
          limit: the number of bytes.
          keep: the path of a file that is about to be replaced, and does not count.

        Returns:
          The files that were removed.
        """
        removed: list[CacheFile] = []
        abandoned = time.time() - _ABANDONED_AFTER
        for file in self._scan():
            if file.path.endswith(UNFINISHED) and file.used < abandoned:
                self.remove(file.path)
        # The file at ``keep`` is about to be replaced: its present bytes do not count.
        files = [file for file in self.files() if file.path != keep]
        total = sum(file.size for file in files)
        for file in files:
            if total <= limit:
                break
            self.remove(file.path)
            removed.append(file)
            total -= file.size
        return removed

    def _scan(self) -> Iterator[CacheFile]:
        with os.scandir(self.path) as entries:
            for entry in entries:
                if entry.name.endswith((_SUFFIX, UNFINISHED)):
                    with suppress(FileNotFoundError):
                        about = entry.stat()
                        yield CacheFile(entry.path, about.st_size, about.st_mtime)


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
    # The name of a file is a digest; its parts show that it is the entry, and not one of that name.
    if key is not None and entry.parts != key.parts:
        topics = [topic for topic, value in key.parts.items() if entry.parts.get(topic) != value]
        raise FileError(
            f"{where}: expected the entry of {key.name}, found that of {entry.name}, which differs "
            f"in: {', '.join(topics) or 'its notes'}. The file was renamed or replaced."
        )
    return entry
