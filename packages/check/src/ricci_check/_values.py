"""The values of a program as the check knows them: a symbol for each element.

Every element of an integer, Boolean or key array has a symbol, an integer. Two elements have the
same symbol if they are certainly equal: because one was moved from the other, or because both are
results of the same operation on the same operands. A symbol may stand for a known number. Its
depth is the number of enclosing loops in whose iterations it varies.
"""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from ricci_ir import AbstractValue, ExtendedDType, ShapedArray

MOST_ELEMENTS = 4096  # larger arrays have no symbols


def is_tracked(aval: AbstractValue) -> bool:
    """Whether the elements of arrays of this type have symbols."""
    if not isinstance(aval, ShapedArray) or aval.size > MOST_ELEMENTS:
        return False
    return is_keys(aval) or (isinstance(aval.dtype, np.dtype) and aval.dtype.kind in "biu")


def is_keys(aval: AbstractValue) -> bool:
    """Whether a type is that of typed random keys."""
    return isinstance(aval, ShapedArray) and isinstance(aval.dtype, ExtendedDType)


def may_hold_keys(aval: AbstractValue) -> bool:
    """Whether arrays of this type are tracked and may hold keys or the uint32 words of keys."""
    if not (is_tracked(aval) and isinstance(aval, ShapedArray)):
        return False
    return is_keys(aval) or aval.dtype == np.uint32


class Value:
    """A value of the program, with what is known of it.

    Attributes:
      aval: its type.
      depth: the number of enclosing loops in whose iterations it varies.
      known: its elements as a NumPy array, if all of them are known.
      ids: the symbols of its elements, an array of its shape; ``None`` until they are needed.
    """

    __slots__ = ("aval", "depth", "ids", "known")

    # A type with elements; a token or another type without them is never asked for its shape.
    aval: Any

    def __init__(
        self,
        aval: AbstractValue,
        depth: int,
        known: np.ndarray | None = None,
        ids: np.ndarray | None = None,
    ):
        self.aval = aval
        self.depth = depth
        self.known = known
        self.ids = ids


class Symbols:
    """The table of symbols.

    Attributes:
      meanings: by symbol, how its element was made: a kind (``"number"``, ``"split"``, …) and what
        it was made of, mostly other symbols.
      depths: by symbol, the number of enclosing loops in whose iterations it varies.
    """

    def __init__(self):
        self._numbers: dict[Hashable, int] = {}
        self.meanings: list[tuple[Any, ...]] = []
        self.depths: list[int] = []

    def of(self, meaning: tuple[Any, ...], depth: int) -> int:
        """The symbol of a meaning: a new one if the meaning is new."""
        found = self._numbers.get(meaning)
        if found is None:
            found = self._numbers[meaning] = self.fresh(depth, meaning)
        return found

    def fresh(self, depth: int, meaning: tuple[Any, ...] = ("unknown",)) -> int:
        """A new symbol."""
        self.meanings.append(meaning)
        self.depths.append(depth)
        return len(self.meanings) - 1

    def number(self, symbol: int) -> int | None:
        """The number that a symbol stands for, or ``None`` if it is not known."""
        meaning = self.meanings[symbol]
        return meaning[1] if meaning[0] == "number" else None

    def ids(self, value: Value) -> np.ndarray:
        """The symbols of a tracked value's elements."""
        if value.ids is None:
            shape = value.aval.shape
            if value.known is not None:
                found = [self.of(("number", int(n)), 0) for n in np.ravel(value.known)]
            else:
                found = [self.fresh(value.depth) for _ in range(value.aval.size)]
            value.ids = np.array(found, np.int32).reshape(shape)
        return value.ids

    def value(self, aval: ShapedArray, ids: Sequence[int] | np.ndarray) -> Value:
        """A value whose elements have these symbols; known if all of them stand for numbers."""
        array = np.array(ids, np.int32).reshape(aval.shape)
        flat = array.ravel().tolist()
        depth = max((self.depths[i] for i in flat), default=0)
        known = None
        if not is_keys(aval):
            numbers = [self.number(i) for i in flat]
            if all(n is not None for n in numbers):
                known = np.array(numbers, object).astype(aval.dtype).reshape(aval.shape)
        return Value(aval, depth, known, array)
