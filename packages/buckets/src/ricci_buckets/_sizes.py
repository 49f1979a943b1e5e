"""The sizes that arguments are padded to, and the calls that use each."""

from collections.abc import Mapping, Sequence
from math import prod
from operator import index

POWERS_OF_TWO = "powers of two"
type SizesArgument = Sequence[int] | str | Mapping[str, Sequence[int] | str]


class Sizes:
    """The sizes for one variable.

    Args:
      sizes: the sizes, in increasing order; ``None`` for the powers of two.
    """

    def __init__(self, sizes: tuple[int, ...] | None):
        self.sizes: tuple[int, ...] | None = sizes

    def bucket(self, length: int, what: str) -> int:
        """The smallest size that a length fits into.

        Args:
          what: the argument that has the length, for the message.

        Raises:
          ValueError: if none is large enough.
        """
        if self.sizes is None:
            return 1 << (length - 1).bit_length()  # the least power of two that is not smaller
        for size in self.sizes:
            if length <= size:
                return size
        raise ValueError(
            f"bucketed: {what} has {length} elements, and the largest of the sizes is "
            f"{self.sizes[-1]}. Add a size to sizes=, or use sizes={POWERS_OF_TWO!r}."
        )


def read_sizes(sizes: object) -> Mapping[str, Sizes] | Sizes:
    """Parse the argument ``sizes`` of ``bucketed``: for all variables, or for each by its name.

    Raises:
      ValueError: if it is neither positive ints nor ``"powers of two"``, nor a mapping to these.
    """
    if isinstance(sizes, Mapping):
        return {str(name): _parse_one(value) for name, value in sizes.items()}
    return _parse_one(sizes)


def _parse_one(sizes: object) -> Sizes:
    if sizes == POWERS_OF_TWO:
        return Sizes(None)
    if isinstance(sizes, Sequence) and not isinstance(sizes, str) and sizes:
        try:
            ascending = tuple(sorted({index(size) for size in sizes}))
        except TypeError:
            ascending = (0,)
        if ascending[0] >= 1:
            return Sizes(ascending)
    raise ValueError(
        f"bucketed: sizes must be a sequence of positive ints, {POWERS_OF_TWO!r}, or a dict of "
        f"such for each length by its name; found {sizes!r:.80}."
    )


class Use:
    """The calls of an executable.

    Attributes:
      sizes: the sizes that it was compiled for, by the names of lengths.
      calls: the number of its calls.
      lengths: the sum over the calls of the share of its sizes that was not padding.
    """

    __slots__ = ("calls", "lengths", "sizes")

    def __init__(self, sizes: dict[str, int]):
        self.sizes = sizes
        self.calls = 0
        self.lengths = 0.0

    def count(self, lengths: Mapping[str, int]) -> None:
        """Count a call with these lengths."""
        self.calls += 1
        self.lengths += prod(lengths.values()) / prod(self.sizes.values())

    @property
    def row(self) -> dict[str, object]:
        """The calls as data."""
        padding = round(1 - self.lengths / self.calls, 4)
        return {"sizes": dict(self.sizes), "calls": self.calls, "padding": padding}
