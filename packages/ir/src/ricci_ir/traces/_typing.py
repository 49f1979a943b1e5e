"""Types for annotations of arrays, dtypes, shapes and axes.

Type checkers see plain unions. At run time they are ``NamedUnion``s, which signatures show by name
and ``isinstance`` accepts, unlike the objects of a ``type`` statement. ``TypeAlias`` is written for
mypy, which does not infer it in modules that import each other.
"""

from collections.abc import Mapping, Sequence
from types import EllipsisType, UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Protocol,
    SupportsIndex,
    TypeAlias,
    runtime_checkable,
)

import numpy as np

from ._array_type import Array

__all__ = [
    "ArrayLike",
    "ArrayTree",
    "Axis",
    "DTypeLike",
    "Index",
    "NamedUnion",
    "PyTree",
    "Shape",
    "ShapeLike",
    "SupportsDType",
]


class NamedUnion:
    """A union of types that signatures show by its name: ``x: ArrayLike | None = None``.

    Args:
      name: the alias that is shown.
      union: the union of types.

    Example:
      >>> import inspect
      >>> from ricci_ir import Array, ArrayLike
      >>> def where(condition: ArrayLike, x: ArrayLike | None = None) -> Array: ...
      >>> list(inspect.signature(where).parameters.values())
      [<Parameter "condition: ArrayLike">, <Parameter "x: ArrayLike | None = None">]
    """

    __slots__ = ("name", "union")

    def __init__(self, name: str, union: UnionType) -> None:
        self.name = name
        self.union = union

    def __repr__(self) -> str:
        return self.name

    def __or__(self, other: object) -> "NamedUnion":
        return NamedUnion(f"{self.name} | {_name(other)}", self.union | _types(other))

    def __ror__(self, other: object) -> "NamedUnion":
        return NamedUnion(f"{_name(other)} | {self.name}", _types(other) | self.union)

    def __eq__(self, other: object) -> bool:
        return self.union == _types(other)

    def __hash__(self) -> int:
        return hash(self.union)

    def __instancecheck__(self, instance: object) -> bool:
        return isinstance(instance, self.union)

    @property
    def __args__(self) -> tuple[Any, ...]:
        return self.union.__args__


def _types(annotation: object) -> UnionType:
    return annotation.union if type(annotation) is NamedUnion else annotation  # pyright: ignore


def _name(annotation: object) -> str:
    if annotation is None:
        return "None"
    return annotation.__qualname__ if isinstance(annotation, type) else str(annotation)


@runtime_checkable
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


class _Dataclass(Protocol):
    """An instance of a dataclass, or of a class that a library turns into one."""

    if TYPE_CHECKING:
        __dataclass_fields__: ClassVar[dict[str, Any]]


type ArrayTree = Array | _Dataclass | Sequence[ArrayTree] | Mapping[Any, ArrayTree] | None
"""A tree whose leaves are arrays, as far as type checkers know; its gradient has its type."""

if not TYPE_CHECKING:
    ArrayLike = NamedUnion("ArrayLike", ArrayLike)
    DTypeLike = NamedUnion("DTypeLike", DTypeLike)
    ShapeLike = NamedUnion("ShapeLike", ShapeLike)
    Axis = NamedUnion("Axis", Axis)
    Index = NamedUnion("Index", Index)
