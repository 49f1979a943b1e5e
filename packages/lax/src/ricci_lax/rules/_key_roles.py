"""What an operation does with random keys: a kind of rule for primitives that take or give keys."""

import enum

from ricci_ir import rule_table

# A ``KeyRole``. Checks of key reuse go by it: those of programs, and those of calls.
key_role_rules = rule_table("key_role", required=False)


class KeyRole(enum.Enum):
    """What becomes of the keys among an operation's operands."""

    DRAW = "numbers are drawn from them, which uses them up"
    SPLIT = "they are split into new keys, which uses them up"
    FOLD_IN = "they are joined with integers into new keys"
    SEED = "there are none: keys are made of seeds"
    WRAP = "there are none: keys are made of the integers behind them"
    UNWRAP = "the integers behind them are taken"
    CLONE = "they are copied as new keys"
