"""Checks of which array types can become a Python truth value, number or index."""

import numpy as np

from ._aval import ShapedArray
from ._dtypes import issubdtype

__all__ = [
    "check_index",
    "check_item",
    "check_number",
    "check_truth",
]


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
            f"an array of rank {aval.ndim} is no single number. Take one element, or x.item() if "
            "there is only one."
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
