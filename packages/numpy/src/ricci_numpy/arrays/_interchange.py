"""Arrays from files and from other libraries, and the options of printing."""

from os import PathLike
from typing import IO, Any

import numpy as np

import ricci_ir as ir
from ricci_numpy._promotion import convert

from ._creation import asarray

__all__ = ["from_dlpack", "load", "set_printoptions"]

_BFLOAT16 = np.dtype(ir.bfloat16)
# NumPy writes unknown dtypes as raw bytes.
_WRITTEN_BFLOAT16 = np.dtype("V2")


def load(file: IO[bytes] | str | PathLike[Any], *args: Any, **kwargs: Any) -> Any:
    """Read a file that NumPy wrote.

    Args:
      file: a path, or a file opened for reading bytes.
      args, kwargs: further arguments of ``numpy.load``.

    Returns:
      An array; for several arrays, or dtypes that arrays cannot have, the result of ``numpy.load``.

    Raises:
      FileNotFoundError: if there is no such file.
      ValueError: if the file holds objects, without ``allow_pickle``.

    Example:
      >>> import io
      >>> import ricci.numpy as jnp
      >>> file = io.BytesIO()
      >>> jnp.save(file, jnp.arange(3))
      >>> _ = file.seek(0)
      >>> jnp.load(file).tolist()
      [0, 1, 2]

    Source: numpy.load.
    """
    loaded = np.load(file, *args, **kwargs)
    if not isinstance(loaded, np.ndarray):
        return loaded
    if loaded.dtype == _WRITTEN_BFLOAT16:
        loaded = loaded.view(_BFLOAT16)
    return asarray(loaded) if loaded.dtype in ir.array_dtypes else loaded


def from_dlpack(x: ir.ArrayLike, /, *, device: object = None, copy: bool | None = None) -> ir.Array:
    """An array with the elements of another library's array, in the same memory if possible.

    Args:
      x: an object with the methods ``__dlpack__`` and ``__dlpack_device__``.
      device: where the result goes, a device or the sharding of one; by default where ``x`` is.
      copy: ``True``: copy; ``False``: raise if a copy is needed; ``None``: copy if needed.

    Returns:
      An array of the shape and dtype of ``x``. Where it shares memory, its dimensions lie there in
      the order of those of ``x``.

    Raises:
      TypeError: if ``x`` has no such methods.
      ValueError: if a copy is needed but ``copy`` is ``False``.

    Example:
      >>> import numpy as np
      >>> import ricci.numpy as jnp
      >>> jnp.from_dlpack(np.arange(3)).tolist()
      [0, 1, 2]

    Source: numpy.from_dlpack; the DLPack standard.
    """
    return from_external_array(x, device, copy)


def from_external_array(
    external_array: object, device: object = None, copy: bool | None = None
) -> ir.Array:
    """An array with the elements of another library's array; see ``numpy.from_dlpack``.

    Args:
      external_array: as ``x`` of ``numpy.from_dlpack``.
      device, copy: as for ``numpy.from_dlpack``.

    Returns:
      An array of the shape and dtype of ``external_array``.

    Example:
      >>> import ricci
      >>> import numpy as np
      >>> ricci.dlpack.from_dlpack(np.arange(3)).tolist()
      [0, 1, 2]

    Source: the DLPack standard.
    """
    array = ir.backend().from_dlpack(external_array, device, copy)
    return convert(array, ir.canonicalize_dtype(array.dtype), array.aval.weak_type)


def is_supported_dtype(dtype: ir.DTypeLike) -> bool:
    """Whether arrays of a dtype can be exchanged by the DLPack protocol.

    Args:
      dtype: a dtype.

    Returns:
      A Python boolean.

    Raises:
      TypeError: if ``dtype`` is not a dtype.

    Example:
      >>> import ricci
      >>> ricci.dlpack.is_supported_dtype("bfloat16"), ricci.dlpack.is_supported_dtype("S1")
      (True, False)

    Source: the DLPack standard.
    """
    numpy_dtype = np.dtype(dtype)
    return numpy_dtype == _BFLOAT16 or (
        numpy_dtype.kind in "biufc" and numpy_dtype in ir.array_dtypes
    )


def set_printoptions(*args: Any, **kwargs: Any) -> None:
    """Set print options, which apply to NumPy's arrays, too.

    Args:
      args, kwargs: those of ``numpy.set_printoptions``.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.set_printoptions(precision=8)

    Source: numpy.set_printoptions.
    """
    np.set_printoptions(*args, **kwargs)
