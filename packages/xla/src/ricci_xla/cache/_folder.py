"""The folder of a cache: files that several processes read and write at the same time.

A file is written under a temporary name and then renamed, so that no process reads half of it. The
modification time of a file is that of its last use, by which the least recently used are evicted.
"""

import os
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from ._key import ProgramKey

__all__ = ["CacheFile", "CacheFolder"]

_SUFFIX = ".program"
_UNFINISHED = ".unfinished"
_ABANDONED_AFTER = 3600.0  # seconds
_unsafe = re.compile(r"[^\w.-]")
_NAME_LENGTH = 80


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

    path: str

    def __init__(self, path: str | os.PathLike[str]):
        self.path = os.fspath(path)

    def path_of(self, key: ProgramKey) -> str:
        """The path of a key's file."""
        name = _unsafe.sub("_", key.name)[:_NAME_LENGTH]
        return os.path.join(self.path, f"{name}-{key.digest}{_SUFFIX}")

    def read(self, key: ProgramKey) -> bytes | None:
        """Read the file of a key and mark it as used; return ``None`` if it does not exist.

        Raises:
          OSError: if it cannot be read.
        """
        path = self.path_of(key)
        try:
            with open(path, "rb") as file:
                data = file.read()
        except (FileNotFoundError, NotADirectoryError):
            return None
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
            self.shrink(limit - len(data), keep=path)
        unfinished = f"{path}.{os.urandom(8).hex()}{_UNFINISHED}"
        try:
            with open(unfinished, "xb") as file:
                file.write(data)
            os.replace(unfinished, path)
        except BaseException:
            with suppress(OSError):
                os.remove(unfinished)
            raise
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
            if file.path.endswith(_UNFINISHED) and file.used < abandoned:
                self.remove(file.path)
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
                if entry.name.endswith((_SUFFIX, _UNFINISHED)):
                    with suppress(FileNotFoundError):
                        about = entry.stat()
                        yield CacheFile(entry.path, about.st_size, about.st_mtime)
