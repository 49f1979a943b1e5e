"""``ManualAxisType``: the manual mesh axes along which a type varies or is unreduced or reduced."""

import enum
from collections.abc import Hashable
from typing import Any, final

from ._type_sharding import AxisNames, no_axes

__all__ = ["ManualAxisType", "UnreducedKind"]


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
            raise ValueError(
                f"ManualAxisType: {_listed(both)} cannot be both varying and reduced or unreduced: "
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
            f"reduced={self.reduced}), unreduced_kind={self.unreduced_kind}"
        )


_FIELDS = ("varying", "unreduced", "reduced", "unreduced_kind")


def _rebuild(*values: Any) -> ManualAxisType:
    return ManualAxisType(**dict(zip(_FIELDS, values, strict=True)))


def _listed(axes: AxisNames) -> str:
    return ", ".join(sorted(map(repr, axes)))


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
