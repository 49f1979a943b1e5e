"""Sequences of values grouped by nested tuples: the operands of a loop, by their parts."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

type Parts = tuple[Parts, ...] | None
type Nested = tuple[Nested, ...] | object


class FlatTree:
    """A flat sequence of values and their grouping by nested tuples.

    Args:
      vals: the values.
      parts: the grouping: ``None`` for a single value, or a tuple of groupings.

    Example:
      >>> from ricci_compat.flat_trees import nones, pack
      >>> groups = pack((nones(1), nones(2)))
      >>> [group.vals for group in groups.update("abc").unpack()]
      [('a',), ('b', 'c')]
    """

    __slots__ = ("parts", "vals")

    def __init__(self, vals: Iterable[object], parts: Parts):
        self.vals: tuple[object, ...] = tuple(vals)
        self.parts: Parts = parts
        if len(self.vals) != _size(parts):
            raise ValueError(f"{len(self.vals)} values for a tree of {_size(parts)} leaves")

    def update(self, vals: Iterable[object]) -> "FlatTree":
        """Return a tree of the same grouping with other values."""
        return FlatTree(vals, self.parts)

    def unpack(self) -> tuple["FlatTree", ...]:
        """Return the groups of the outermost tuple, a tree each."""
        values = iter(self.vals)
        return tuple(FlatTree(islice(values, _size(part)), part) for part in self.parts or ())

    def unflatten(self) -> Nested:
        """Return the values in nested tuples."""
        return _nested(iter(self.vals), self.parts)

    def __len__(self) -> int:
        return len(self.vals)

    def __iter__(self) -> Iterator[object]:
        return iter(self.vals)

    def __getitem__(self, index: int) -> object:
        return self.vals[index]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FlatTree):
            return NotImplemented
        return (self.parts, self.vals) == (other.parts, other.vals)

    def __hash__(self) -> int:
        return hash((self.parts, self.vals))

    def __repr__(self) -> str:
        return repr(self.unflatten())


def pack(trees: Sequence[FlatTree]) -> FlatTree:
    """Return the tree whose outermost tuple has these groups."""
    return FlatTree((x for tree in trees for x in tree.vals), tuple(tree.parts for tree in trees))


def nones(count: int) -> FlatTree:
    """Return a tuple of ``count`` values, all of them ``None``."""
    return FlatTree((None,) * count, (None,) * count)


def _size(parts: Parts) -> int:
    return 1 if parts is None else sum(map(_size, parts))


def _nested(values: Iterator[object], parts: Parts) -> Nested:
    return next(values) if parts is None else tuple(_nested(values, part) for part in parts)
