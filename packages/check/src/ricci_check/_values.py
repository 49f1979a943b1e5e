"""Abstract values of the analysis: a symbol for each element.

Every element of an integer, Boolean or key array has a symbol, an integer. Two elements have the
same symbol if they are certainly equal: because one was moved from the other, or because both are
results of the same operation on the same operands. A symbol may represent a known number. Its
depth is the number of enclosing loops in whose iterations it varies.
"""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from ricci_ir import AbstractValue, ExtendedDType, ShapedArray, Source

from ._report import Finding, finding

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
    """An abstract value of the jaxpr.

    Attributes:
      aval: its type.
      depth: the number of enclosing loops in whose iterations it varies.
      elements: its elements as a NumPy array, if all of them are known.
      ids: the symbols of its elements, an array of its shape; ``None`` until they are needed.
    """

    __slots__ = ("aval", "depth", "elements", "ids")

    # A type with elements; a token or another type without them is never asked for its shape.
    aval: Any

    def __init__(
        self,
        aval: AbstractValue,
        depth: int,
        elements: np.ndarray | None = None,
        ids: np.ndarray | None = None,
    ):
        self.aval = aval
        self.depth = depth
        self.elements = elements
        self.ids = ids


class Symbols:
    """The table of symbols.

    Attributes:
      meanings: by symbol, the origin of its element: a kind (``"number"``, ``"split"``, …) and its
        operands, mostly other symbols.
      depths: by symbol, the number of enclosing loops in whose iterations it varies.
    """

    def __init__(self):
        self._numbers: dict[Hashable, int] = {}
        self.meanings: list[tuple[Any, ...]] = []
        self.depths: list[int] = []

    def of(self, meaning: tuple[Any, ...], depth: int) -> int:
        """Return the symbol of a meaning: a new one if the meaning is new."""
        # Equal meanings share one symbol, so that a key derived twice in the same way is recognized
        # as the same key.
        symbol = self._numbers.get(meaning)
        if symbol is None:
            symbol = self._numbers[meaning] = self.fresh(depth, meaning)
        return symbol

    def fresh(self, depth: int, meaning: tuple[Any, ...] = ("unknown",)) -> int:
        """Return a new symbol."""
        self.meanings.append(meaning)
        self.depths.append(depth)
        return len(self.meanings) - 1

    def number(self, symbol: int) -> int | None:
        """Return the number that a symbol represents, or ``None`` if it is unknown."""
        meaning = self.meanings[symbol]
        return meaning[1] if meaning[0] == "number" else None

    def ids(self, value: Value) -> np.ndarray:
        """Return the symbols of a tracked value's elements."""
        if value.ids is None:
            shape = value.aval.shape
            if value.elements is not None:
                symbols = [self.of(("number", int(n)), 0) for n in np.ravel(value.elements)]
            else:
                symbols = [self.fresh(value.depth) for _ in range(value.aval.size)]
            value.ids = np.array(symbols, np.int32).reshape(shape)
        return value.ids

    def value(self, aval: ShapedArray, ids: Sequence[int] | np.ndarray) -> Value:
        """Return a value with these symbols; known if all of them represent numbers."""
        array = np.array(ids, np.int32).reshape(aval.shape)
        flat = array.ravel().tolist()
        depth = max((self.depths[i] for i in flat), default=0)
        elements = None
        if not is_keys(aval):
            numbers = [self.number(i) for i in flat]
            if all(n is not None for n in numbers):
                elements = np.array(numbers, object).astype(aval.dtype).reshape(aval.shape)
        return Value(aval, depth, elements, array)


class AnalysisState:
    """The equation that is being read, and the findings up to it.

    Attributes:
      symbols: the symbols of the elements of all values read so far.
      depth: the number of loops around the equation.
      source: the line of the user's code that the equation comes from.
      call_name: the function of Ricci that the equation is a part of; ``None`` for an equation
        traced from the user's code.
      findings: the findings so far.
      quiet: whether findings are dropped, as when a loop's body is read for the first of two times.
    """

    def __init__(self, source: Source):
        self.symbols = Symbols()
        self.depth = 0
        self.source = source
        self.call_name: str | None = None
        self.findings: list[Finding] = []
        self.quiet = False
        self._seen: set[Hashable] = set()

    def report(self, code: str, message: str, *, once: Hashable = None) -> None:
        """Add a finding at the current source, unless it was reported before.

        Args:
          once: the key of the finding among those of its source; by default its message.
        """
        key = self._key(code, message if once is None else once)
        if not self.quiet and key not in self._seen:
            self._seen.add(key)
            self.findings.append(finding(code, self.source, message))

    def accept(self, code: str, once: Hashable) -> None:
        """Report no finding with the key ``once`` at the current source from now on."""
        self._seen.add(self._key(code, once))

    def _key(self, code: str, once: Hashable) -> Hashable:
        return code, self.source.code, self.source.offset, once

    def unknown(self, aval: AbstractValue, depth: int | None = None) -> Value:
        """Return a value of which only the type is known."""
        return Value(aval, self.depth if depth is None else depth)
