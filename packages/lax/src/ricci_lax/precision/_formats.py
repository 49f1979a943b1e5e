"""Formats of numbers, wider ones, and distances between arrays."""

import numpy as np

import ricci_ir as ir

REFERENCE = np.dtype(np.float64)


def is_inexact(aval: object) -> bool:
    """Whether an abstract value is an array of real or complex numbers."""
    dtype = getattr(aval, "dtype", None)
    return isinstance(dtype, np.dtype) and ir.issubdtype(dtype, np.inexact)


def real_bytes(dtype: np.dtype) -> int:
    """The bytes of a number, or of each part of a complex one."""
    return dtype.itemsize // 2 if dtype.kind == "c" else dtype.itemsize


def widened(dtype: np.dtype, real: np.dtype) -> np.dtype:
    """A dtype with the range and precision of ``real``, or ``dtype`` if that is as wide."""
    if real_bytes(dtype) >= real.itemsize:
        return dtype
    if dtype.kind == "c":
        return np.dtype(np.complex128)
    return real


def next_format(dtype: np.dtype) -> np.dtype:
    """The real format in which to compute instead of a narrow one."""
    return np.dtype(np.float32) if real_bytes(dtype) < 4 else REFERENCE


def cast(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """An array, rounded to a dtype."""
    if x.dtype == dtype:
        return x
    with np.errstate(all="ignore"):
        return x.astype(dtype)


def epsilon(dtype: np.dtype) -> float:
    """The distance of 1 to the next number of a dtype."""
    return float(ir.finfo(dtype).eps)


def as_reference(x: np.ndarray) -> np.ndarray:
    """An array in the widest format."""
    return x.astype(np.complex128 if x.dtype.kind == "c" else REFERENCE)


def distance(narrow: np.ndarray, wide: np.ndarray, floor: float = 0.0) -> float:
    """The relative error of an array: the norm of the difference over that of the exact one.

    It is infinite if an element is not finite, though the exact one is.

    Args:
      narrow: the array.
      wide: the exact array.
      floor: the least root mean square that the error is relative to.
    """
    difference, size = norms_of(narrow, wide)
    if not 0 < difference < np.inf:
        return difference
    scale = max(size, floor * np.sqrt(np.isfinite(wide).sum()))
    return float(difference / scale) if scale else 1.0


def norms_of(narrow: np.ndarray, wide: np.ndarray) -> tuple[float, float]:
    """The norms of the difference of an array from the exact one, and of that.

    Elements of the exact one that are not finite do not count. The difference is infinite if
    another element is not finite.
    """
    a, b = as_reference(narrow), as_reference(wide)
    finite = np.isfinite(b)
    if not np.isfinite(a[finite]).all():
        return np.inf, 1.0
    a, b = a[finite], b[finite]
    # The squares of numbers that narrow formats flush to 0 may be below the smallest of float64.
    scale = np.abs(b).max(initial=0.0)
    if not 0 < scale < np.inf:
        return float(np.linalg.norm(a - b)), float(scale)
    return float(np.linalg.norm((a - b) / scale) * scale), float(np.linalg.norm(b / scale) * scale)


def root_mean_square(x: np.ndarray) -> float:
    """The root mean square of the finite elements of an array; 0 if there are none."""
    finite = np.abs(x[np.isfinite(x)])
    scale = finite.max(initial=0.0)
    return float(np.sqrt(np.mean((finite / scale) ** 2)) * scale) if scale else 0.0
