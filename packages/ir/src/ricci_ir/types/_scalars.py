"""Conversion of arrays to Python scalars, and of scalars to other dtypes."""

from typing import Any

import numpy as np

from ._aval import ShapedArray
from ._dtypes import iinfo, issubdtype, itemsize_bits

__all__ = ["check_index", "check_item", "check_number", "check_truth", "converted_scalar"]


def check_truth(aval: ShapedArray) -> None:
    """Raise ``ValueError`` unless arrays of a type have one truth value."""
    if aval.size == 1:
        return
    if not aval.size:
        raise ValueError(
            "an empty array is neither true nor false. To ask whether it is empty, compare x.size "
            "with 0."
        )
    raise ValueError(
        "an array of several elements is neither true nor false. Say x.any() or x.all()."
    )


def check_number(aval: ShapedArray) -> None:
    """Raise ``TypeError`` unless arrays of a type are single numbers."""
    if aval.shape:
        raise TypeError(
            f"an array of rank {aval.ndim} is not a single number. Take one element, or x.item() "
            "if there is only one."
        )


def check_index(aval: ShapedArray) -> None:
    """Raise ``TypeError`` unless arrays of a type can be an index of a Python list."""
    if aval.shape or not issubdtype(aval.dtype, np.integer):
        raise TypeError(f"{aval.str_short()} cannot serve as a Python index, which is one integer.")


def check_item(aval: ShapedArray, args: tuple[int, ...]) -> None:
    """Raise ``ValueError`` unless ``x.item(*args)`` names an element, or there is only one."""
    if not args and aval.size != 1:
        raise ValueError(
            "x.item() without an index needs an array of one element. Say which element, or use "
            "tolist()."
        )


def converted_scalar(value: Any, dtype: Any) -> Any:
    """Convert a Python or NumPy scalar to another dtype, as XLA does.

    Python ints wrap around; floats become the nearest integer that the dtype has towards zero, and
    NaN becomes 0.

    Raises:
      TypeError: if a Python complex number would become a real one.

    Example:
      >>> import numpy as np
      >>> from ricci_ir import converted_scalar
      >>> int8 = np.dtype("int8")
      >>> int(converted_scalar(300, int8)), int(converted_scalar(np.inf, int8))
      (44, 127)
    """
    kind, dtype = type(value), np.dtype(dtype)
    if issubdtype(dtype, np.integer):
        if kind is int:
            bits = itemsize_bits(dtype)
            # Two's complement: the low bits, of which the highest counts negatively.
            value &= (1 << bits) - 1
            if value >> (bits - 1) and issubdtype(dtype, np.signedinteger):
                value -= 1 << bits
        elif kind is float or issubdtype(np.asarray(value).dtype, np.floating):
            number, limits = float(value), iinfo(dtype)
            value = int(min(max(number, limits.min), limits.max)) if number == number else 0
    if kind in (int, float, bool):
        return np.array(value, dtype)[()]
    if kind is complex and not issubdtype(dtype, np.complexfloating) and dtype != np.bool_:
        raise TypeError(
            f"The complex number {value} cannot become an element of dtype {dtype}: it would lose "
            "its imaginary part. Pass its real part, or ask for a complex dtype."
        )
    return np.asarray(value).astype(dtype)[()]
