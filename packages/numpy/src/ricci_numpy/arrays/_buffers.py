"""Arrays of the bytes of buffers, files and strings."""

from collections.abc import Buffer
from typing import NoReturn

import numpy as np

from ricci_ir import Array, DTypeLike

from ._creation import asarray

__all__ = ["frombuffer", "fromfile", "fromiter", "fromstring"]


def frombuffer(buffer: Buffer, dtype: DTypeLike = float, count: int = -1, offset: int = 0) -> Array:
    """An array of the bytes of a buffer, copied.

    Args:
      buffer: an object with the buffer protocol, such as ``bytes``.
      dtype: how the bytes are read, the default float without it.
      count: how many elements; -1 for all.
      offset: how many bytes are skipped.

    Returns:
      A vector of that dtype.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.frombuffer(b"ab", "uint8").tolist()
      [97, 98]

    Source: numpy.frombuffer.
    """
    return asarray(np.frombuffer(buffer, np.dtype(dtype), count, offset))


def fromstring(string: str, dtype: DTypeLike = float, count: int = -1, *, sep: str) -> Array:
    """An array of the numbers in a text.

    Args:
      string: the text.
      dtype: the numbers' dtype, the default float without it.
      count: how many numbers; -1 for all.
      sep: what stands between them.

    Returns:
      A vector of that dtype.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.fromstring("1 2", sep=" ").tolist()
      [1.0, 2.0]

    Source: numpy.fromstring.
    """
    return asarray(np.fromstring(string, np.dtype(dtype), count, sep=sep))


def _without_size(name: str) -> NoReturn:
    raise NotImplementedError(
        f"{name} is not provided: the shape of its result is unknown before the input is read. "
        f"Read it with numpy.{name}, and make an array with asarray."
    )


def fromfile(*args: object, **kwargs: object) -> NoReturn:
    """Not provided: read with ``numpy.fromfile``, then ``asarray``.

    Args:
      *args, **kwargs: those of ``numpy.fromfile``.

    Raises:
      NotImplementedError: always.

    Example:
      >>> import tempfile
      >>> import numpy as np
      >>> import ricci.numpy as jnp
      >>> with tempfile.TemporaryFile() as file:
      ...     np.arange(3).tofile(file)
      ...     position = file.seek(0)
      ...     read = np.fromfile(file, int)
      >>> jnp.asarray(read).tolist()
      [0, 1, 2]
    """
    _without_size("fromfile")


def fromiter(*args: object, **kwargs: object) -> NoReturn:
    """Not provided: read with ``numpy.fromiter``, then ``asarray``.

    Args:
      *args, **kwargs: those of ``numpy.fromiter``.

    Raises:
      NotImplementedError: always.

    Example:
      >>> import numpy as np
      >>> import ricci.numpy as jnp
      >>> jnp.asarray(np.fromiter((n * n for n in range(4)), int)).tolist()
      [0, 1, 4, 9]
    """
    _without_size("fromiter")
