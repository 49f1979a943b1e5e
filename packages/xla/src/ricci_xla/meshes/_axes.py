"""The axes of meshes: their names, sizes and types."""

import enum
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from functools import cached_property
from math import prod
from typing import Any

__all__ = ["AxisType"]


class AxisType(enum.Enum):
    """The kind of sharding along a mesh axis.

    ``Auto``: the compiler chooses shardings. ``Explicit``: shardings are part of the arrays' types.
    ``Manual``: the function works on the shard of one device, as in ``shard_map``.
    """

    Auto = 1
    Explicit = 2
    Manual = 3

    def __repr__(self) -> str:
        return self.name


class Axes:
    """The axes of a mesh, with or without devices. Meshes do not change."""

    axis_names: tuple[Hashable, ...]
    axis_sizes: tuple[int, ...]
    axis_types: tuple[AxisType, ...]

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(
            f"a mesh does not change, so that its {name} cannot be set. mesh.update({name}=...) "
            "makes another."
        )

    def _set(self, **values: object) -> None:
        """Set attributes of a new mesh."""
        # Around ``__setattr__``, which refuses: meshes are in keys of caches, so that they must not
        # change.
        self.__dict__.update(values)

    @property
    def shape(self) -> OrderedDict[Hashable, int]:
        """The size of each axis by name."""
        return OrderedDict(self.shape_tuple)

    @cached_property
    def shape_tuple(self) -> tuple[tuple[Hashable, int], ...]:
        """Pairs of each axis's name and size."""
        return tuple(zip(self.axis_names, self.axis_sizes, strict=True))

    @property
    def size(self) -> int:
        """The number of devices."""
        # Without axes a mesh is the empty one, although the product of no sizes is 1.
        return prod(self.axis_sizes) if self.axis_names else 0

    @property
    def empty(self) -> bool:
        """Whether the mesh has zero devices."""
        return not self.size

    @cached_property
    def _name_to_type(self) -> dict[Hashable, AxisType]:
        return dict(zip(self.axis_names, self.axis_types, strict=True))

    def _axes_of(self, kind: AxisType) -> tuple[Hashable, ...]:
        return tuple(name for name, type_ in self._name_to_type.items() if type_ is kind)

    @cached_property
    def auto_axes(self) -> tuple[Hashable, ...]:
        """The axes of type ``Auto``."""
        return self._axes_of(AxisType.Auto)

    @cached_property
    def explicit_axes(self) -> tuple[Hashable, ...]:
        """The axes of type ``Explicit``."""
        return self._axes_of(AxisType.Explicit)

    @cached_property
    def manual_axes(self) -> tuple[Hashable, ...]:
        """The axes of type ``Manual``."""
        return self._axes_of(AxisType.Manual)

    def _all(self, *kinds: AxisType) -> bool:
        return all(kind in kinds for kind in self.axis_types)

    @property
    def are_all_axes_auto(self) -> bool:
        """Whether every axis is of type ``Auto``."""
        return self._all(AxisType.Auto)

    @property
    def are_all_axes_explicit(self) -> bool:
        """Whether every axis is of type ``Explicit``."""
        return self._all(AxisType.Explicit)

    @property
    def are_all_axes_manual(self) -> bool:
        """Whether every axis is of type ``Manual``."""
        return self._all(AxisType.Manual)

    @property
    def _any_axis_explicit(self) -> bool:
        """Whether an axis is of type ``Explicit``: libraries written for JAX ask for it."""
        return bool(self.explicit_axes)

    @property
    def are_all_axes_explicit_or_manual(self) -> bool:
        """Whether no axis is of type ``Auto``."""
        return self._all(AxisType.Explicit, AxisType.Manual)

    def _axes_text(self, nothing: str = "") -> str:
        sizes = ", ".join(f"{name!r}: {size}" for name, size in self.shape_tuple) or nothing
        return f"{sizes}, axis_types={types_text(self.axis_types)}"


def types_text(axis_types: tuple[AxisType, ...]) -> str:
    """Format the types of axes for a mesh's ``repr``."""
    names = ", ".join(kind.name for kind in axis_types)
    return f"({names},)" if len(axis_types) == 1 else f"({names})"


def checked_names(axis_names: str | Sequence[Hashable], mesh: str) -> tuple[Hashable, ...]:
    """Check the names of a mesh's axes, or the one name given as a string; return a tuple.

    Args:
      axis_names: the names.
      mesh: the name of the mesh's class or function, for errors.

    Raises:
      ValueError: if a name is ``None``, or used twice.
    """
    names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
    for i, name in enumerate(names):
        if name is None:
            raise ValueError(f"{mesh}: axis_names={names} has None for the name of axis {i}.")
        if name in names[:i]:
            raise ValueError(
                f"{mesh}: axis_names={names} names the axes {names.index(name)} and {i} alike. "
                "Give each axis its own name."
            )
    return names


def checked_types(
    axis_names: tuple[Hashable, ...],
    axis_types: AxisType | Sequence[AxisType] | None,
    default: AxisType,
    mesh: str,
) -> tuple[AxisType, ...]:
    """Check the types of a mesh's axes; return a tuple with one for each name.

    Args:
      axis_names: the names.
      axis_types: the types; a single one for a mesh of one axis, ``None`` for the default.
      default: the default type of all axes.
      mesh: the name of the mesh's class or function, for errors.

    Raises:
      TypeError: if one is not an ``AxisType``.
      ValueError: if their number is not that of the names.
    """
    if axis_types is None:
        return (default,) * len(axis_names)
    types: tuple[Any, ...] = (
        tuple(axis_types) if isinstance(axis_types, tuple | list) else (axis_types,)
    )
    for kind in types:
        if not isinstance(kind, AxisType):
            raise TypeError(
                f"{mesh}: axis_types takes a tuple of AxisType.Auto, AxisType.Explicit and "
                f"AxisType.Manual, got {kind!r} of type {type(kind).__name__}."
            )
    if len(types) != len(axis_names):
        raise ValueError(
            f"{mesh}: axis_types={types} has {len(types)} types for the {len(axis_names)} axes "
            f"{axis_names}. Give one for each."
        )
    return types
