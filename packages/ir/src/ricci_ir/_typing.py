"""Types for annotations: what is taken for an array, a dtype, a shape or an axis.

They are plain unions, which ``isinstance`` takes; a ``type`` statement would make other objects.
``TypeAlias`` tells so to mypy, which does not see it by itself in modules that import each other.
"""

from collections.abc import Sequence
from types import EllipsisType
from typing import Any, Protocol, SupportsIndex, TypeAlias

import numpy as np

from ._array_type import Array


class SupportsDType(Protocol):
    """Something that has a dtype, such as ``numpy.float32`` of the NumPy API."""

    @property
    def dtype(self) -> np.dtype[Any]: ...


ArrayLike: TypeAlias = Array | np.ndarray | np.bool | np.number | bool | int | float | complex
"""What functions of arrays take for an array; lists and tuples are none."""

DTypeLike: TypeAlias = str | type[Any] | np.dtype | SupportsDType
"""What is taken for a dtype: a dtype, its name, a scalar type, or what has a dtype."""

Shape: TypeAlias = tuple[int, ...]
"""The shape of an array, as ``x.shape`` gives it."""

ShapeLike: TypeAlias = SupportsIndex | Sequence[SupportsIndex]
"""What functions take for a shape: a sequence of sizes, or one size for a vector."""

Axis: TypeAlias = int | Sequence[int] | None
"""What reductions take for ``axis``: one axis, several, or ``None`` for all of them."""

IndexEntry: TypeAlias = (
    SupportsIndex | slice | EllipsisType | np.ndarray | Array | Sequence[SupportsIndex] | list[Any]
)
"""One entry of an index, other than ``None``."""

Index: TypeAlias = IndexEntry | None | tuple[IndexEntry | None, ...]
"""What stands in the brackets of ``x[...]`` and ``x.at[...]``."""

PyTree: TypeAlias = Any
"""Nested containers (tuples, lists, dicts, dataclasses, registered classes) with arrays as leaves.

Type checkers cannot say which classes are registered, so this is ``Any``; it tells the reader.
"""
