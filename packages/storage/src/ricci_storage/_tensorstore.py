"""TensorStore, imported on first use, and the context that all files share."""

from functools import cache
from typing import Any

_CACHED_BYTES = 10_000_000_000
_AT_ONCE = 128
_LARGEST_CHUNK = 100_000_000  # elements


@cache
def tensorstore() -> Any:
    """Import the module.

    Raises:
      ImportError: if it is not installed.
    """
    try:
        import tensorstore as ts  # noqa: PLC0415 - lazy: an optional dependency
    except ImportError as error:
        raise ImportError(
            "arrays are written to files by the package tensorstore, which is not installed. Run "
            "pip install 'ricci-storage[tensorstore]'."
        ) from error
    return ts


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
    """Default bounds on the sizes of chunks."""
    ts = tensorstore()
    grid = ts.ChunkLayout.Grid(elements=_LARGEST_CHUNK)
    return ts.ChunkLayout(read_chunk=grid, write_chunk=grid)


async def open_array(spec: Any, **options: Any) -> Any:
    """Open a TensorStore array.

    Args:
      spec: its specification.
      **options: of ``tensorstore.open``.

    Raises:
      ValueError: if it is missing, damaged, or differs from the specification; the message is that
        of TensorStore without the full specification.
    """
    try:
        return await tensorstore().open(spec, **options)
    except ValueError as error:
        raise ValueError(str(error).partition(" [tensorstore_spec=")[0]) from None
