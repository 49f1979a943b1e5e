"""The use of random keys by primitives, and the hooks that check jaxprs for reused keys.

Backends call the hooks (``jax_debug_key_reuse``). Both raise ``KeyReuseError``, and do nothing
where no package of random numbers is imported.
"""

import enum
from collections.abc import Callable, Sequence
from typing import Any

from ._hook import Hook
from .traces._primitive import Primitive

__all__ = ["check_key_reuse", "key_roles", "KeyRole", "mark_used_keys"]


class KeyRole(enum.Enum):
    """The use that an operation makes of the keys among its operands."""

    DRAW = "numbers are drawn from them, which uses them up"
    SPLIT = "they are split into new keys, which uses them up"
    FOLD_IN = "they are joined with integers into new keys"
    SEED = "there are none: keys are made of seeds"
    WRAP = "there are none: keys are made of the integers behind them"
    UNWRAP = "the integers behind them are taken"
    CLONE = "they are copied as new keys"


# The primitives of random keys. Others move keys, or do not use them.
key_roles: dict[Primitive, KeyRole] = {}

# Checks a jaxpr by itself.
check_key_reuse: Hook[Callable[[Any], object]] = Hook(
    "checks of random keys", provided_by="ricci_random", default=lambda jaxpr: None
)

# ``(jaxpr, name, args, results)``: marks the keys that a call uses as used. ``args`` are its
# constants and its arguments, ``results`` is empty in the call before it runs.
mark_used_keys: Hook[Callable[[Any, str, Sequence[Any], Sequence[Any]], object]] = Hook(
    "marks of random keys",
    provided_by="ricci_random",
    default=lambda jaxpr, name, args, results: None,
)
