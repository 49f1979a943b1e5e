"""SSA values, the table of lowering rules, and host callbacks."""

from collections.abc import Callable, Sequence
from typing import Any

import ricci_ir as ir

__all__ = ["HostCallback", "LoweringRule", "Value", "extended_lower_rules", "lower_rules"]

# Returns a Value, or a list of them for a primitive with several results.
type LoweringRule = Callable[..., Any]

lower_rules: ir.RuleTable = ir.rule_table("lower")
# Rules of primitives that move elements without computing with them, such as a transposition. They
# are used for extended dtypes (random keys), whose elements are arrays.
extended_lower_rules: ir.RuleTable = ir.rule_table("extended_lower", required=False)


class Value:
    """An SSA value: its name in the text, and its type.

    Attributes:
      aval: the type, an ``AbstractToken`` for a token.
    """

    __slots__ = ("aval", "name")

    def __init__(self, name: str, aval: ir.AbstractValue):
        self.name: str = name
        self.aval: ir.ShapedArray = aval  # pyright: ignore[reportAttributeAccessIssue]

    def __str__(self) -> str:
        return self.name

    @property
    def is_argument(self) -> bool:
        """Whether it is an argument of a function in the module, which no operation computes."""
        return self.name.startswith("%arg")

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        """The dtype of the array, a NumPy dtype or an extended dtype."""
        return self.aval.dtype


class HostCallback(ir.TupleRecord):
    """A Python function that a module calls.

    Attributes:
      fun: takes an array for each operand, and returns a sequence with an array for each result.
        Both omit tokens.
      in_avals, out_avals: the types of operands and results, tokens included.
      channels: if operands and results are sent and received, the numbers of the channels of both;
        else ``None``. Then ``in_avals`` and ``out_avals`` are without tokens.
    """

    fun: Callable[..., Sequence[ir.ArrayLike]]
    in_avals: tuple[ir.AbstractValue, ...]
    out_avals: tuple[ir.AbstractValue, ...]
    channels: tuple[tuple[int, ...], tuple[int, ...]] | None = None
