"""The table of kernels, and their registration with XLA."""

import ctypes
import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from ricci_ir import TupleRecord
from ricci_stablehlo import NativeKernel
from ricci_xla.ffi import pycapsule, register_ffi_target

__all__ = ["library_path", "register_kernels"]

_LIBRARY = Path(__file__).with_name("kernels.so")


class _Kernel(TupleRecord):
    """A row of the table.

    Attributes:
      symbol: the name of the function in the library.
      least_elements: for each dtype, the fewest elements for which it is faster than XLA.
      least_length: the shortest rows.
      fuses_products: whether it needs a processor that computes products and sums at once.
    """

    symbol: str
    least_elements: Mapping[str, int]
    least_length: int
    fuses_products: bool = False


_INTEGERS = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
_FLOATS = ("float16", "bfloat16", "float32", "float64")

_ORDERED = (*_INTEGERS, *_FLOATS)
_ALL = (*_ORDERED, "complex64", "complex128")
_SUMMED = (*_INTEGERS[1:], "float32", "float64")
_LEAST_FLOATS = {"float32": 512}
_TRANSFORMED: dict[str, int] = dict.fromkeys(("float32", "float64", "complex64", "complex128"), 1)
_LEAST_DRAWS = {"float32": 8, "float64": 8}

# Measured beside XLA's operations: docs/guides/native.md has the times.
_KERNELS = {
    "sort": _Kernel("RicciSort", dict.fromkeys(_ORDERED, 128), 64),
    "argmax": _Kernel("RicciArgmax", dict.fromkeys(_ORDERED, 512), 256),
    "argmin": _Kernel("RicciArgmin", dict.fromkeys(_ORDERED, 512), 256),
    "reduce_max": _Kernel("RicciMax", dict.fromkeys(_FLOATS, 4096), 256),
    "reduce_min": _Kernel("RicciMin", dict.fromkeys(_FLOATS, 4096), 256),
    "reduce_sum": _Kernel("RicciRowSums", dict.fromkeys(("float32", "float64"), 16384), 128),
    "column_sums": _Kernel("RicciColumnSums", dict.fromkeys(("float32", "float64"), 16384), 1),
    "top_k": _Kernel("RicciTopK", dict.fromkeys(_ORDERED, 1024), 512),
    "sin": _Kernel("RicciSin", _LEAST_FLOATS, 1, fuses_products=True),
    "cos": _Kernel("RicciCos", _LEAST_FLOATS, 1, fuses_products=True),
    "tan": _Kernel("RicciTan", _LEAST_FLOATS, 1, fuses_products=True),
    "cbrt": _Kernel("RicciCbrt", _LEAST_FLOATS, 1, fuses_products=True),
    "pow": _Kernel("RicciPow", _LEAST_FLOATS, 1, fuses_products=True),
    "log": _Kernel("RicciLog", {"float32": 512, "float64": 512}, 1, fuses_products=True),
    "expm1": _Kernel("RicciExpm1", _LEAST_FLOATS, 1, fuses_products=True),
    "gelu": _Kernel("RicciGelu", _LEAST_FLOATS, 1, fuses_products=True),
    "floor": _Kernel("RicciFloor", _LEAST_FLOATS, 1, fuses_products=True),
    "ceil": _Kernel("RicciCeil", _LEAST_FLOATS, 1, fuses_products=True),
    "convolution": _Kernel("RicciConvolution", dict.fromkeys(("float32", "float64"), 1), 1),
    "huge_pages": _Kernel("RicciHugePages", dict.fromkeys(_ALL, 1), 1),
    "never": _Kernel("RicciNever", {"bool": 1}, 1),
    "uniform": _Kernel("RicciUniform", _LEAST_DRAWS, 1, fuses_products=True),
    "normal": _Kernel("RicciNormal", _LEAST_DRAWS, 1, fuses_products=True),
    "gumbel": _Kernel("RicciGumbel", {"float32": 8}, 1, fuses_products=True),
    "gamma": _Kernel("RicciGammaProposals", {"float32": 512}, 1, fuses_products=True),
    "shuffle": _Kernel("RicciShuffle", dict.fromkeys(_ALL, 8), 1),
    "bincount": _Kernel("RicciBincount", dict.fromkeys(_INTEGERS[1:], 512), 1),
    "lu": _Kernel("RicciLu", dict.fromkeys(("float32", "float64"), 256), 2),
    "stack": _Kernel("RicciStack", dict.fromkeys(_ALL, 1), 8),
    "unstack": _Kernel("RicciUnstack", dict.fromkeys(_ALL, 1), 8),
    "cholesky": _Kernel("RicciCholesky", dict.fromkeys(("float32", "float64"), 16), 4),
    "resample": _Kernel("RicciResample", dict.fromkeys(("float32", "float64"), 4096), 2),
    "dot_general": _Kernel("RicciProducts", dict.fromkeys(("float32", "float64"), 1), 1),
    "fft": _Kernel("RicciFourier", _TRANSFORMED, 1),
    "matrix_vector": _Kernel(
        "RicciMatrixVector", dict.fromkeys(("float32", "float64"), 16384), 128
    ),
    "cumsum": _Kernel("RicciCumulativeSum", dict.fromkeys(_SUMMED, 256), 64),
}


def library_path() -> Path | None:
    """Return the path of the compiled library, or ``None`` where it is not built.

    Example:
      >>> from ricci_native import library_path
      >>> path = library_path()
      >>> path is None or path.name
      'kernels.so'
    """
    return _LIBRARY if _LIBRARY.exists() else None


@cache
def register_kernels() -> Mapping[str, NativeKernel]:
    """Load the library and register its kernels with XLA.

    A kernel's name has a digest of the library, so that an executable that another version was
    compiled for is not run.

    Returns:
      The kernels by operation; none where the library is not built.

    Raises:
      OSError: if the library cannot be loaded.
    """
    path = library_path()
    if path is None:
        return {}
    library = ctypes.CDLL(str(path))
    digest = hashlib.blake2b(path.read_bytes(), digest_size=8).hexdigest()
    kernels: dict[str, NativeKernel] = {}
    fuses_products = bool(library.RicciFusesProducts())
    for operation, row in _KERNELS.items():
        if row.fuses_products and not fuses_products:
            continue
        target = f"ricci_native_{operation}_{digest}"
        register_ffi_target(target, pycapsule(getattr(library, row.symbol)))
        kernels[operation] = NativeKernel(target, row.least_elements, row.least_length)
    return kernels
