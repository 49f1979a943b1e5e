"""Axes as users give them."""

from collections.abc import Iterable
from typing import Any, SupportsIndex


def axis_tuple(axes: SupportsIndex | Iterable[SupportsIndex]) -> tuple[Any, ...]:
    """Axes given as an int, or as a sequence, a range, an array or a set of ints, as a tuple."""
    if isinstance(axes, Iterable) and getattr(axes, "ndim", 1):
        return tuple(axes)
    return (axes,)
