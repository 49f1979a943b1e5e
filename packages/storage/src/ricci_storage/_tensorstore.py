"""TensorStore, imported with the first file, and what all files share of it."""

from functools import cache
from importlib import import_module
from typing import Any

_CACHED_BYTES = 10_000_000_000
_AT_ONCE = 128
_LARGEST_CHUNK = 100_000_000  # elements


@cache
def tensorstore() -> Any:
    """The module.

    Raises:
      ImportError: if it is not installed.
    """
    try:
        return import_module("tensorstore")
    except ImportError as error:
        raise ImportError(
            "arrays are kept in files by the package tensorstore, which is not installed. Run "
            "pip install 'ricci-storage[tensorstore]'."
        ) from error


@cache
def context() -> Any:
    """The caches and threads that all files share."""
    return tensorstore().Context(
        {
            "cache_pool": {"total_bytes_limit": _CACHED_BYTES},
            "data_copy_concurrency": {"limit": _AT_ONCE},
            "file_io_concurrency": {"limit": _AT_ONCE},
        }
    )


@cache
def chunk_layout() -> Any:
    """Bounds of chunks where a specification says nothing of them."""
    ts = tensorstore()
    grid = ts.ChunkLayout.Grid(elements=_LARGEST_CHUNK)
    return ts.ChunkLayout(read_chunk=grid, write_chunk=grid)


async def open_array(spec: Any, **options: Any) -> Any:
    """Open an array of TensorStore's.

    Args:
      spec: where it is kept.
      **options: of ``tensorstore.open``.

    Raises:
      ValueError: if it is not there, is damaged, or differs from the specification; the error does
        without the specification in full, which TensorStore's has.
    """
    try:
        return await tensorstore().open(spec, **options)
    except ValueError as error:
        raise ValueError(str(error).partition(" [tensorstore_spec=")[0]) from None
