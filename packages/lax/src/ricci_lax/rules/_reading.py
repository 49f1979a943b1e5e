"""Three rule kinds for the analysis of jaxprs: ``follow``, ``positions`` and ``key_role``.

``ricci_check`` uses them to follow known integers through a jaxpr, to compare positions with
the sizes of arrays, and to find random keys that are used twice.
"""

import enum
from collections.abc import Sequence

from ricci_ir import RuleTable, TupleRecord, rule_table

# The number of leading operands whose elements the operation only moves; the others are positions.
# 0, as for elementwise operations: the results are known if all operands are.
follow_rules: RuleTable = rule_table("follow", required=False)
ALL_OPERANDS = -1

# ``rule(avals, params)`` returns the ``Positions`` at which an operation reads or writes its first
# operand.
position_rules: RuleTable = rule_table("positions", required=False)

# A ``KeyRole``, which checks of key reuse use.
key_role_rules: RuleTable = rule_table("key_role", required=False)


class Positions(TupleRecord):
    """The positions at which an operation reads or writes its first operand.

    Attributes:
      operands: the numbers of the operands that are positions: one scalar for each axis, or
        a single array whose last dimension has one number for each.
      axes: the axes that the positions are along.
      sizes: for each dimension of the first operand, the size of the part that is read or written.
      outside: what happens at a position out of bounds; with ``"is read"`` or ``"is written"`` the
        nearest one inside is taken.
    """

    operands: tuple[int, ...]
    axes: Sequence[int]
    sizes: Sequence[int]
    outside: str


def outside_of_gather(mode: object) -> str:
    """The effect of a position out of bounds in a gather of a ``GatherScatterMode``."""
    return "the fill value is read" if _starts(mode, "FILL") else "is read"


def outside_of_scatter(mode: object) -> str:
    """The effect of a position out of bounds in a scatter of a ``GatherScatterMode``."""
    return "is written" if _starts(mode, "CLIP") else "the update is dropped"


def _starts(mode: object, text: str) -> bool:
    return getattr(mode, "name", str(mode)).startswith(text)


class KeyRole(enum.Enum):
    """The use that an operation makes of the keys among its operands."""

    DRAW = "numbers are drawn from them, which uses them up"
    SPLIT = "they are split into new keys, which uses them up"
    FOLD_IN = "they are joined with integers into new keys"
    SEED = "there are none: keys are made of seeds"
    WRAP = "there are none: keys are made of the integers behind them"
    UNWRAP = "the integers behind them are taken"
    CLONE = "they are copied as new keys"
