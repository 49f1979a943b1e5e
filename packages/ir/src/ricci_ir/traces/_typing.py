"""Types for annotations: what is taken for an array, and for a dtype."""

from typing import Any, Protocol

import numpy as np

from ._array_type import Array

__all__ = [
    "ArrayLike",
    "DTypeLike",
    "SupportsDType",
]


class SupportsDType(Protocol):
    """Something that has a dtype, such as ``numpy.float32`` of the NumPy API."""

    @property
    def dtype(self) -> np.dtype: ...


ArrayLike = Array | np.ndarray | np.bool | np.number | bool | int | float | complex
DTypeLike = str | type[Any] | np.dtype | SupportsDType
