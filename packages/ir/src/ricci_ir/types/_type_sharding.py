"""``TypeSharding``: the sharding that is part of an array type."""

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, final

__all__ = ["AxisNames", "make_type_sharding", "no_axes", "Parts", "TypeSharding"]

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

    mesh: Any
    parts: Parts
    varying: AxisNames
    unreduced: AxisNames
    reduced: AxisNames

    def __init__(
        self,
        mesh: object,
        parts: Parts,
        varying: AxisNames = no_axes,
        unreduced: AxisNames = no_axes,
        reduced: AxisNames = no_axes,
    ):
        self.mesh = mesh
        self.parts = parts
        self.varying = varying
        self.unreduced = unreduced
        self.reduced = reduced
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
        if mesh is not None and (unreduced or reduced):
            sums = (unreduced | reduced).intersection(mesh.explicit_axes)
            mesh = mesh if sums else None
        else:
            mesh = None
        if not (varying or unreduced or reduced):
            return None
    return TypeSharding(mesh, parts, varying, unreduced, reduced)
