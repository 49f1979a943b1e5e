"""Indices of references: a static form, and positions, which are operands."""

from collections.abc import Sequence
from typing import NamedTuple, SupportsIndex

import ricci_ir as ir
from ricci_ir import ArrayLike

# The kinds of parts.
ONE = "one"  # a single position
WINDOW = "window"  # positions at equal distances
ARRAY = "array"  # the positions in an array of integers
SPAN = "span"  # consecutive positions, whose number is an operand


@ir.exported
class Window(NamedTuple):
    """An index for consecutive elements whose position may be traced.

    Attributes:
      start: the first element, an int or an integer array of rank 0.
      size: how many; a tracer for the views that are copied.
      stride: the distance between elements.
    """

    start: SupportsIndex
    size: int
    stride: int = 1

    @classmethod
    def from_slice(cls, slc: slice, size: int) -> "Window":
        """Return the window of a slice with a positive step of a dimension of a size."""
        start, stop, step = slc.indices(size)
        return cls(start, len(range(start, stop, step)), step)


class Part(ir.TupleRecord):
    """The part of an index along one dimension.

    Attributes:
      kind: ``ONE``, ``WINDOW``, ``ARRAY`` or ``SPAN``.
      start: the first position; ``None`` if that is an operand. One position may be negative.
      size: the number of positions, or a bound of it for a ``SPAN``, whose number is an operand
        behind its start.
      step: the distance between them.
    """

    kind: str
    start: int | None = None
    size: int = 1
    step: int = 1


# The index of an array: a part for each dimension.
type Form = tuple[Part, ...]


# Several indices, one after the other: ``ref.at[first].at[second][third]``.


def operand_count(form: Form) -> int:
    """The number of operands of an index."""
    return sum((part.start is None) + (part.kind == SPAN) for part in form)


def split_operands(
    forms: Sequence[Form], operands: Sequence[ArrayLike]
) -> list[Sequence[ArrayLike]]:
    """The operands of each of several indices."""
    groups, start = [], 0
    for form in forms:
        end = start + operand_count(form)
        groups.append(operands[start:end])
        start = end
    return groups
