"""Layouts: the order in which an array's elements lie in a device's memory."""

from dataclasses import dataclass
from typing import Any

from ._array import ArrayImpl, check_not_deleted

__all__ = [
    "Format",
    "Layout",
    "layout_of",
]


@dataclass(frozen=True, slots=True)
class Layout:
    """The order of an array's elements in memory.

    Attributes:
      major_to_minor: the dimensions from the slowest to the fastest varying.
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
      sharding: which device holds which part.
    """

    layout: Layout | None = None
    sharding: Any = None


def layout_of(array: Any) -> Layout:
    """The layout of an array's parts."""
    return layout_of_parts(array._pjrt_layout)


def layout_of_parts(pjrt_layout: Any) -> Layout:
    """A layout that jaxlib gives, as one of ours."""
    found = pjrt_layout._xla_layout()
    return Layout(
        tuple(reversed(found.minor_to_major())),
        tuple(tuple(tile) for tile in found.tiling()),
        found.element_size_in_bits(),
    )


def _format(self: Any) -> Format:
    check_not_deleted(self)
    return Format(layout_of(self), self._sharding)


ArrayImpl.format = property(_format)
