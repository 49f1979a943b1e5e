"""Types for annotations of arrays, dtypes, shapes and axes.

They are plain unions, so that ``isinstance`` accepts them, unlike the objects of a ``type``
statement. ``TypeAlias`` is written for mypy, which does not infer it in modules that import each
other.
"""

from collections.abc import Sequence
from types import EllipsisType
from typing import Any, Protocol, SupportsIndex, TypeAlias

import numpy as np

from ._array_type import Array

__all__ = [
    "ArrayLike",
    "Axis",
    "DTypeLike",
    "Index",
    "PyTree",
    "Shape",
    "ShapeLike",
    "SupportsDType",
]


class SupportsDType(Protocol):
    """Something that has a dtype, such as ``numpy.float32`` of the NumPy API."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype."""
        ...


ArrayLike: TypeAlias = Array | np.ndarray | np.bool | np.number | bool | int | float | complex
"""A value that functions accept as an array; lists and tuples are not accepted."""

DTypeLike: TypeAlias = str | type[Any] | np.dtype | SupportsDType
"""A value that functions accept as a dtype: a dtype, its name, a scalar type, or an array."""

Shape: TypeAlias = tuple[int, ...]
"""The shape of an array, as ``x.shape`` gives it."""

ShapeLike: TypeAlias = SupportsIndex | Sequence[SupportsIndex]
"""A value that functions accept as a shape: a sequence of sizes, or one size for a vector."""

Axis: TypeAlias = int | Sequence[int] | None
"""A value that reductions accept as ``axis``: one axis, several, or ``None`` for all of them."""

IndexEntry: TypeAlias = (
    SupportsIndex | slice | EllipsisType | np.ndarray | Array | Sequence[SupportsIndex] | list[Any]
)
"""One entry of an index, other than ``None``."""

Index: TypeAlias = IndexEntry | None | tuple[IndexEntry | None, ...]
"""An index, as in ``x[...]`` and ``x.at[...]``."""

PyTree: TypeAlias = Any
"""Nested containers (tuples, lists, dicts, dataclasses, registered classes) with arrays as leaves.

Type checkers cannot know the registered classes, so this is ``Any``.
"""
