"""Files with exported functions: Ricci's own, and those of JAX."""

import os
from typing import Any

from ricci_xla.files import FileError, read_file, write_file

from ._jax_file import looks_like_jax, read_jax_file, write_jax_file
from ._portable import from_portable
from ._records import ExportedRecord, checked, export_file

__all__ = ["module_text", "read_export", "write_export", "write_jax_export"]


def read_export(
    data: bytes | bytearray | memoryview, where: str | os.PathLike[str]
) -> ExportedRecord:
    """Read the record of an exported function from a file in Ricci's format or JAX's.

    Args:
      data: the whole file.
      where: the file's name in messages: its path.

    Raises:
      FileError: if it is neither, is damaged, or of an unsupported version.
    """
    if not isinstance(data, bytes | bytearray | memoryview):
        raise TypeError(
            f"an exported function is read from bytes, got {data!r:.60} of type "
            f"{type(data).__name__}"
        )
    if looks_like_jax(data):
        return read_jax_file(data, where)
    try:
        return checked(read_file(export_file, data, where), where)
    except RecursionError as error:
        raise FileError(f"{where}: the record is nested too deeply") from error


def write_export(record: ExportedRecord) -> bytes:
    """Serialize an exported function in Ricci's format."""
    return write_file(export_file, record)


def write_jax_export(record: ExportedRecord) -> bytes:
    """Serialize an exported function in JAX's format.

    Raises:
      TypeError: if JAX's format cannot represent a part of it.
    """
    return write_jax_file(record)


def module_text(artifact: bytes, *, parsed: bool = False) -> Any:
    """The text of a portable artifact, or with ``parsed`` MLIR's object."""
    module = from_portable(artifact)
    return module if parsed else str(module)
