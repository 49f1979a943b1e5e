"""Files in folders that several processes share: read if they exist, and replaced as a whole."""

import os
import re
from contextlib import suppress

__all__ = ["UNFINISHED", "file_name", "read_bytes", "replace_file"]

# The suffix of a file that is being written.
UNFINISHED = ".unfinished"

_unsafe = re.compile(r"[^\w.-]")
_NAME_LENGTH = 80


def file_name(name: str) -> str:
    """A function's name as a part of a file's name: shortened, without special characters."""
    return _unsafe.sub("_", name)[:_NAME_LENGTH]


def read_bytes(path: str) -> bytes | None:
    """Read a file; return ``None`` if it does not exist.

    Raises:
      OSError: if it cannot be read.
    """
    try:
        with open(path, "rb") as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None


def replace_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file, so that other processes see the old one or the new one.

    Its folder is created. Two processes may write it at once: with a random name each writes a
    separate file, and the last rename wins.

    Raises:
      OSError: if it cannot be written.
    """
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    unfinished = f"{os.fspath(path)}.{os.urandom(8).hex()}{UNFINISHED}"
    try:
        with open(unfinished, "xb") as file:
            file.write(data)
        os.replace(unfinished, path)
    except BaseException:
        with suppress(OSError):
            os.remove(unfinished)
        raise
