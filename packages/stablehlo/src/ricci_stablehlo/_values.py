"""SSA values, the table of lowering rules, and host callbacks."""

from collections.abc import Callable, Sequence
from typing import Any

from ricci_ir import AbstractValue, ArrayLike, RuleTable, ShapedArray, TupleRecord, rule_table

# Returns a Value, or a list of them for a primitive with several results.
type LoweringRule = Callable[..., Any]

lower_rules: RuleTable = rule_table("lower")
# Rules of primitives that move elements without computing with them, such as a transposition. They
# are used for extended dtypes (random keys), whose elements are arrays.
extended_lower_rules: RuleTable = rule_table("extended_lower", required=False)


class Value:
    """An SSA value: its name in the text, and its type.

    Attributes:
      aval: the type, an ``AbstractToken`` for a token.
    """

    __slots__ = ("aval", "name")

    name: str
    aval: ShapedArray

    def __init__(self, name: str, aval: AbstractValue):
        self.name = name
        self.aval = aval  # pyright: ignore[reportAttributeAccessIssue]

    def __str__(self) -> str:
        return self.name

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        """The dtype of the array, a NumPy dtype or an extended dtype."""
        return self.aval.dtype


class HostCallback(TupleRecord):
    """A Python function that a module calls.

    Attributes:
      fun: takes an array for each operand, and returns a sequence with an array for each result.
        Both omit tokens.
      in_avals, out_avals: the types of operands and results, tokens included.
    """

    fun: Callable[..., Sequence[ArrayLike]]
    in_avals: tuple[AbstractValue, ...]
    out_avals: tuple[AbstractValue, ...]
