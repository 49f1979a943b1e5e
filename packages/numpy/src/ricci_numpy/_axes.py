"""Normalization of axis arguments."""

from collections.abc import Iterable
from operator import index as as_int
from typing import Any, SupportsIndex

import numpy as np


def axis_tuple(axes: SupportsIndex | Iterable[SupportsIndex]) -> tuple[Any, ...]:
    """Return axes, an int or an iterable of ints, as a tuple."""
    if isinstance(axes, Iterable) and getattr(axes, "ndim", 1):
        return tuple(axes)
    return (axes,)


def canonical_axis(axis: SupportsIndex, ndim: int) -> int:
    """Return an axis counted from the start.

    Raises:
      numpy.exceptions.AxisError: if there is no such axis.
      TypeError: if it is not an int.
    """
    number = as_int(axis)
    if not -ndim <= number < ndim:
        raise np.exceptions.AxisError(number, ndim)
    return number + ndim if number < 0 else number


def canonical_axes(
    axes: SupportsIndex | Iterable[SupportsIndex], ndim: int, name: str = "axis"
) -> tuple[int, ...]:
    """Return axes, an int or a sequence, counted from the start.

    Raises:
      ValueError: if one is given twice, or does not exist.
    """
    axes = axis_tuple(axes)
    canonical = tuple(canonical_axis(axis, ndim) for axis in axes)
    if len(set(canonical)) != len(canonical):
        raise ValueError(f"{name}: {axes} names an axis twice.")
    return canonical
