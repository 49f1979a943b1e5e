"""Layouts: the order in which an array's elements lie in a device's memory."""

from dataclasses import dataclass
from typing import Any

from ricci_xla.meshes._sharding_types import Sharding

from ._array import check_not_deleted
from ._array_impl import ArrayImpl

__all__ = [
    "Format",
    "Layout",
    "layout_of",
]


@dataclass(frozen=True, slots=True)
class Layout:
    """The order of an array's elements in memory.

    Attributes:
      major_to_minor: the dimensions in the order from slowest to fastest varying.
      tiling: the tiles that the array is cut into, outermost first.
      sub_byte_element_size_in_bits: the size of an element smaller than a byte, else 0.
    """

    major_to_minor: tuple[int, ...]
    tiling: tuple[tuple[int, ...], ...] | None = None
    sub_byte_element_size_in_bits: int = 0


@dataclass(frozen=True, slots=True)
class Format:
    """A layout together with a sharding.

    Attributes:
      layout: the order of each part's elements, or ``None`` for the compiler's choice.
      sharding: the part that each device holds.
    """

    layout: Layout | None = None
    sharding: Sharding | None = None


def sharding_of_format(where: Format) -> Sharding:
    """The sharding of a format in which arrays can be put somewhere.

    Raises:
      NotImplementedError: if its layout is another than the order of the dimensions.
      ValueError: if it has no sharding.
    """
    layout, sharding = where.layout, where.sharding
    if layout is not None:
        order = tuple(layout.major_to_minor)
        if order != tuple(range(len(order))) or layout.tiling:
            raise NotImplementedError(
                f"arrays cannot be put in the layout {layout} yet. Leave the layout out: "
                "Format(None, sharding)."
            )
    if sharding is None:
        raise ValueError(f"{where} has no sharding. Give Format(None, sharding).")
    return sharding


def layout_of(array: ArrayImpl) -> Layout:
    """The layout of an array's parts."""
    return layout_of_parts(array._pjrt_layout)


def layout_of_parts(pjrt_layout: Any) -> Layout:
    """Convert jaxlib's layout of the parts of an array."""
    found = pjrt_layout._xla_layout()
    return Layout(
        tuple(reversed(found.minor_to_major())),
        tuple(tuple(tile) for tile in found.tiling()),
        found.element_size_in_bits(),
    )


def _format(self: ArrayImpl) -> Format:
    check_not_deleted(self)
    return Format(layout_of(self), self._sharding)


ArrayImpl.format = property(_format)  # pyright: ignore[reportAttributeAccessIssue]
