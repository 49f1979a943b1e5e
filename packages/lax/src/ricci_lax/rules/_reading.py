"""What a reader of programs asks of an operation, without running it: three kinds of rules.

``ricci_check`` follows known integers through a program, compares positions with the sizes of the
arrays that they are in, and finds random keys that are used twice.
"""

import enum
from collections.abc import Sequence
from typing import Any, NamedTuple

from ricci_ir import rule_table

# How many of the first operands hold elements that the operation only moves; the others say where
# to. With 0 the results are known where all operands are. Elementwise operations have that.
follow_rules = rule_table("follow", required=False)
ALL_OPERANDS = -1

# ``rule(avals, params)`` gives the ``Positions`` at which an operation reads or writes its first
# operand.
position_rules = rule_table("positions", required=False)

# A ``KeyRole``. Checks of key reuse go by it: those of programs, and those of calls.
key_role_rules = rule_table("key_role", required=False)


class Positions(NamedTuple):
    """At which positions an operation reads or writes its first operand.

    Attributes:
      operands: the places of the operands that hold positions: one scalar for each of the axes, or
        a single array whose last dimension has one number for each.
      axes: the axes that the positions are along.
      sizes: for each dimension of the first operand, how much of it is read or written at once.
      outside: what happens at a position out of bounds; with ``"is read"`` or ``"is written"`` the
        nearest one inside is taken.
    """

    operands: tuple[int, ...]
    axes: Sequence[int]
    sizes: Sequence[int]
    outside: str


def outside_of_gather(mode: Any) -> str:
    """What a gather of a ``GatherScatterMode`` does at a position out of bounds."""
    return "the fill value is read" if _starts(mode, "FILL") else "is read"


def outside_of_scatter(mode: Any) -> str:
    """What a scatter of a ``GatherScatterMode`` does at a position out of bounds."""
    return "is written" if _starts(mode, "CLIP") else "the update is dropped"


def _starts(mode: Any, text: str) -> bool:
    return getattr(mode, "name", str(mode)).startswith(text)


class KeyRole(enum.Enum):
    """What becomes of the keys among an operation's operands."""

    DRAW = "numbers are drawn from them, which uses them up"
    SPLIT = "they are split into new keys, which uses them up"
    FOLD_IN = "they are joined with integers into new keys"
    SEED = "there are none: keys are made of seeds"
    WRAP = "there are none: keys are made of the integers behind them"
    UNWRAP = "the integers behind them are taken"
    CLONE = "they are copied as new keys"
