"""``TypeSharding`` and ``ManualAxisType``: the sharding that is part of an array type."""

import enum
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, final

__all__ = [
    "AxisNames",
    "ManualAxisType",
    "Parts",
    "TypeSharding",
    "UnreducedKind",
    "make_type_sharding",
    "no_axes",
    "with_manual_axes",
]

type AxisNames = frozenset[Hashable]
type Parts = tuple[tuple[Hashable, ...], ...]

no_axes: AxisNames = frozenset()


@final
class TypeSharding:
    """The sharding of values of an array type over the devices of a mesh.

    A type without one has ``None`` instead: its values are replicated, or sharded as the compiler
    chooses. ``make_type_sharding`` ensures that.

    Attributes:
      mesh: the abstract mesh of the axes in ``parts`` and of the ``Explicit`` axes in
        ``unreduced`` and ``reduced``; ``None`` if there are none.
      parts: for each dimension, the names of the ``Explicit`` mesh axes that shard it, the major
        one first.
      varying: the ``Manual`` axes along which the devices' values differ.
      unreduced: the axes along which the devices hold terms of a sum.
      reduced: the axes along which the value is replicated and its cotangent is ``unreduced``.
    """

    __slots__ = ("_hash", "mesh", "parts", "reduced", "unreduced", "varying")

    def __init__(
        self,
        mesh: object,
        parts: Parts,
        varying: AxisNames = no_axes,
        unreduced: AxisNames = no_axes,
        reduced: AxisNames = no_axes,
    ):
        self.mesh: Any = mesh
        self.parts: Parts = parts
        self.varying: AxisNames = varying
        self.unreduced: AxisNames = unreduced
        self.reduced: AxisNames = reduced
        # Types are keys of many caches, so the hash is computed once.
        self._hash = hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        return self.mesh, self.parts, self.varying, self.unreduced, self.reduced

    @property
    def is_sharded(self) -> bool:
        """Whether any dimension is sharded over mesh axes."""
        return any(self.parts)

    @property
    def sums(self) -> tuple[AxisNames, AxisNames]:
        """The ``Explicit`` axes along which it is unreduced and reduced."""
        # Without a mesh, all axes that a type names are manual ones.
        if self.mesh is None or not (self.unreduced or self.reduced):
            return no_axes, no_axes
        explicit = frozenset(self.mesh.explicit_axes)
        return self.unreduced & explicit, self.reduced & explicit

    @property
    def manual(self) -> tuple[AxisNames, AxisNames, AxisNames]:
        """The axes along which it varies, is unreduced and is reduced."""
        return self.varying, self.unreduced, self.reduced

    def update(self, **changes: Any) -> "TypeSharding | None":
        """A copy with some attributes replaced; ``None`` if it would name no axes."""
        return make_type_sharding(
            **{name: getattr(self, name) for name in self.__slots__[1:]} | changes
        )

    def insert_dimension(self, dim: int, part: tuple[Hashable, ...] = ()) -> "TypeSharding":
        """The sharding of types with one more dimension, sharded over some axes."""
        parts = (*self.parts[:dim], part, *self.parts[dim:])
        return TypeSharding(self.mesh, parts, *self.manual)

    def cotangent(self) -> "TypeSharding":
        """The sharding of cotangents: swaps ``reduced`` and ``unreduced``."""
        # The sum over terms is the transpose of a copy for each device: along an unreduced axis,
        # cotangents are equal on all devices, and the other way round.
        if self.reduced == self.unreduced:
            return self
        return TypeSharding(self.mesh, self.parts, self.varying, self.reduced, self.unreduced)

    def suffix(self) -> str:
        """The suffix of a printed type, such as ``{V:x}``; empty without such axes."""
        groups = [
            f"{letter}:{_listed(axes)}"
            for letter, axes in (("V", self.varying), ("U", self.unreduced), ("R", self.reduced))
            if axes
        ]
        return f"{{{', '.join(groups)}}}" if groups else ""

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return type(other) is TypeSharding and self._key() == other._key()

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        return TypeSharding, self._key()

    def __repr__(self) -> str:
        parts = ", ".join(_listed(part) if part else "None" for part in self.parts)
        return f"TypeSharding({parts}){self.suffix()}"


def _listed(names: Iterable[Hashable]) -> str:
    texts = [str(n) for n in names] if isinstance(names, tuple) else sorted(map(str, names))
    return texts[0] if len(texts) == 1 else f"({','.join(texts)})"


def dimensions_text(shape: Sequence[int], sharding: TypeSharding | None) -> str:
    """The dimensions in a printed type: ``8@x,4``."""
    if sharding is None:
        return ",".join(map(str, shape))
    return ",".join(
        f"{size}@{_listed(part)}" if part else str(size)
        for size, part in zip(shape, sharding.parts, strict=True)
    )


def make_type_sharding(
    mesh: Any,
    parts: Parts,
    varying: Iterable[Hashable] = no_axes,
    unreduced: Iterable[Hashable] = no_axes,
    reduced: Iterable[Hashable] = no_axes,
) -> TypeSharding | None:
    """Create a ``TypeSharding``, or ``None`` if it would name no axes."""
    varying, unreduced, reduced = frozenset(varying), frozenset(unreduced), frozenset(reduced)
    if not any(parts):
        # Without Explicit axes the mesh has no meaning for the type. Dropping it makes equal types
        # of equal shardings on different meshes.
        if mesh is not None and (unreduced or reduced):
            sums = (unreduced | reduced).intersection(mesh.explicit_axes)
            mesh = mesh if sums else None
        else:
            mesh = None
        if not (varying or unreduced or reduced):
            return None
    return TypeSharding(mesh, parts, varying, unreduced, reduced)


class UnreducedKind(enum.Enum):
    """The reduction of the devices' values along an unreduced axis."""

    sum = 1
    max = 2
    min = 3


@final
class ManualAxisType:
    """The state of an array along manual mesh axes: varying, unreduced or reduced.

    Args:
      varying: the axes along which the devices' values differ.
      unreduced: the axes along which the devices hold terms of a reduction.
      reduced: the axes along which the values are equal, and their cotangents ``unreduced``.
      unreduced_kind: the reduction; ``sum`` by default if there are unreduced axes.

    Raises:
      TypeError: if the axes are not given as sets.
      ValueError: if an axis is both varying and reduced or unreduced, or ``unreduced_kind`` is
        given without ``unreduced``.

    Example:
      >>> from ricci.sharding import ManualAxisType
      >>> ManualAxisType(varying={"i"}).varying
      frozenset({'i'})
    """

    __slots__ = ("reduced", "unreduced", "unreduced_kind", "varying")

    varying: AxisNames
    unreduced: AxisNames
    reduced: AxisNames
    unreduced_kind: UnreducedKind | None

    def __init__(
        self,
        *,
        varying: set[Hashable] | AxisNames = no_axes,
        unreduced: set[Hashable] | AxisNames = no_axes,
        reduced: set[Hashable] | AxisNames = no_axes,
        unreduced_kind: UnreducedKind | None = None,
    ):
        fields = {"varying": varying, "unreduced": unreduced, "reduced": reduced}
        for name, axes in fields.items():
            if not isinstance(axes, set | frozenset):
                raise TypeError(
                    f"ManualAxisType: {name} takes a set of axis names, got {axes!r} of type "
                    f"{type(axes).__name__}. Write {name}={{'i'}}."
                )
            object.__setattr__(self, name, frozenset(axes))
        both = self.varying & (self.unreduced | self.reduced)
        if both:
            listed = ", ".join(sorted(map(repr, both)))
            raise ValueError(
                f"ManualAxisType: {listed} cannot be both varying and reduced or unreduced: "
                "along a varying axis the devices' values are independent of each other."
            )
        if unreduced_kind is not None and not isinstance(unreduced_kind, UnreducedKind):
            raise TypeError(
                f"ManualAxisType: unreduced_kind takes an UnreducedKind, got {unreduced_kind!r} of "
                f"type {type(unreduced_kind).__name__}."
            )
        object.__setattr__(
            self, "unreduced_kind", checked_kind(unreduced_kind, self.unreduced, "ManualAxisType")
        )

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a ManualAxisType does not change; update({name}=...) makes another.")

    @property
    def vur(self) -> AxisNames:
        """All the axes that it names."""
        return self.varying | self.unreduced | self.reduced

    @property
    def empty(self) -> bool:
        """Whether it names no axes."""
        return not self.vur

    def invarying(self, mesh: Any) -> AxisNames:
        """The manual axes of a mesh that it does not name."""
        return frozenset(mesh.manual_axes) - self.vur

    def update(self, **changes: Any) -> "ManualAxisType":
        """A copy with some attributes replaced, given by name."""
        return ManualAxisType(**{name: getattr(self, name) for name in _FIELDS} | changes)

    def to_ct_mat(self) -> "ManualAxisType":
        """The ``ManualAxisType`` of cotangents: swaps ``unreduced`` and ``reduced``.

        Raises:
          ValueError: if the reduction is not a sum.
        """
        if self.unreduced_kind not in (None, UnreducedKind.sum):
            raise ValueError(
                f"{self} has no cotangents: its parts are combined by {self.unreduced_kind.name}, "
                "and only a sum is linear."
            )
        return ManualAxisType(varying=self.varying, unreduced=self.reduced, reduced=self.unreduced)

    def _key(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in _FIELDS)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ManualAxisType) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, self._key()

    def __repr__(self) -> str:
        return (
            f"ManualAxisType(varying={self.varying}, unreduced={self.unreduced}, "
            f"reduced={self.reduced}, unreduced_kind={self.unreduced_kind})"
        )


def with_manual_axes(
    ndim: int, sharding: Any, manual: ManualAxisType, mesh: Any
) -> TypeSharding | None:
    """Replace the manual axes of the sharding of types of a rank.

    Args:
      ndim: the rank.
      sharding: the ``TypeSharding``, or ``None``.
      manual: the new manual axes.
      mesh: the mesh of the sharding, or ``None`` if unknown.

    Raises:
      TypeError: if ``manual`` is not a ``ManualAxisType``.
      ValueError: if an axis is not manual in the mesh.
      NotImplementedError: if the reduction along unreduced axes is not a sum.
    """
    if not isinstance(manual, ManualAxisType):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(
            f"manual_axis_type takes a ManualAxisType, got {manual!r} of type "
            f"{type(manual).__name__}."
        )
    if mesh is not None and (others := manual.vur.difference(mesh.manual_axes)):
        listed = ", ".join(sorted(map(repr, others)))
        raise ValueError(f"{manual} names {listed}, which is not a manual axis of {mesh}.")
    if manual.unreduced_kind not in (None, UnreducedKind.sum):
        raise NotImplementedError(f"{manual}: the type of an array has terms of sums only.")
    if sharding is None:
        return make_type_sharding(
            None, ((),) * ndim, manual.varying, manual.unreduced, manual.reduced
        )
    # Explicit axes are not among those that are replaced.
    unreduced, reduced = sharding.sums
    return sharding.update(
        varying=manual.varying,
        unreduced=unreduced | manual.unreduced,
        reduced=reduced | manual.reduced,
    )


_FIELDS = ("varying", "unreduced", "reduced", "unreduced_kind")


def _rebuild(*values: Any) -> ManualAxisType:
    return ManualAxisType(**dict(zip(_FIELDS, values, strict=True)))


def checked_kind(
    kind: UnreducedKind | None, unreduced: AxisNames, owner: str
) -> UnreducedKind | None:
    """The reduction along unreduced axes: ``kind``, by default a sum.

    Raises:
      ValueError: if it is given and there are no unreduced axes.
    """
    if unreduced:
        return UnreducedKind.sum if kind is None else kind
    if kind is not None:
        raise ValueError(f"{owner}: unreduced_kind={kind} is given without unreduced axes.")
    return None
