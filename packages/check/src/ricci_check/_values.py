"""What is known of a value while a program is read: identities of elements, and how they vary.

Every element of an integer, Boolean or key array has a symbol. Elements that are certainly equal
have the same one: those moved about, and those computed alike from the same operands. A symbol may
stand for a known number. Its depth says in how many of the loops around it changes.
"""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from ricci_ir import ExtendedDType, ShapedArray

MOST_ELEMENTS = 4096


def is_tracked(aval: Any) -> bool:
    """Whether the elements of arrays of this type have symbols."""
    if not isinstance(aval, ShapedArray) or aval.size > MOST_ELEMENTS:
        return False
    return is_keys(aval) or (isinstance(aval.dtype, np.dtype) and aval.dtype.kind in "biu")


def is_keys(aval: Any) -> bool:
    """Whether a type is that of typed random keys."""
    return isinstance(aval, ShapedArray) and isinstance(aval.dtype, ExtendedDType)


def may_hold_keys(aval: Any) -> bool:
    """Whether arrays of this type are keys, or may be the words behind them, and are tracked."""
    return is_tracked(aval) and (is_keys(aval) or aval.dtype == np.uint32)


class Value:
    """What is known of a value.

    Attributes:
      aval: its type.
      depth: in how many of the loops around it changes.
      known: the array itself, if all of it is known.
      ids: the symbols of its elements, an array of its shape, once somebody asked.
    """

    __slots__ = ("aval", "depth", "ids", "known")

    def __init__(self, aval: Any, depth: int, known: Any = None, ids: Any = None):
        self.aval = aval
        self.depth = depth
        self.known = known
        self.ids = ids


class Symbols:
    """The symbols: what each stands for, and in how many loops it changes."""

    def __init__(self):
        self._numbers: dict[Hashable, int] = {}
        self.meanings: list[Any] = []
        self.depths: list[int] = []

    def of(self, meaning: tuple, depth: int) -> int:
        """The symbol of a meaning; the same one for the same meaning."""
        found = self._numbers.get(meaning)
        if found is None:
            found = self._numbers[meaning] = self.fresh(depth, meaning)
        return found

    def fresh(self, depth: int, meaning: Any = ("unknown",)) -> int:
        """A new symbol."""
        self.meanings.append(meaning)
        self.depths.append(depth)
        return len(self.meanings) - 1

    def number(self, symbol: int) -> int | None:
        """The number that a symbol stands for, if that is known."""
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

    def value(self, aval: Any, ids: Sequence[int] | np.ndarray) -> Value:
        """A value with given symbols; known if they all stand for numbers."""
        array = np.array(ids, np.int32).reshape(aval.shape)
        flat = array.ravel().tolist()
        depth = max((self.depths[i] for i in flat), default=0)
        known = None
        if not is_keys(aval):
            numbers = [self.number(i) for i in flat]
            if all(n is not None for n in numbers):
                known = np.array(numbers, object).astype(aval.dtype).reshape(aval.shape)
        return Value(aval, depth, known, array)
