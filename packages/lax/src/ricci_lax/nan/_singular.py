"""Where operations have finite values, but no finite derivative."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

# For each operation, at which operands.
POINTS: dict[str, Callable[..., Any]] = {
    "sqrt": lambda x: x == 0,
    "cbrt": lambda x: x == 0,
    "pow": lambda x, y: (x == 0) & (y < 1) & (y != 0),
    "asin": lambda x: abs(x) == 1,
    "acos": lambda x: abs(x) == 1,
    "acosh": lambda x: x == 1,
    "atan2": lambda y, x: (y == 0) & (x == 0),
}

# What they are called in programs that users write, where that is not the primitive's name.
SPELLINGS = {
    "div": {"divide", "true_divide"},
    "pow": {"power", "float_power"},
    "asin": {"arcsin"},
    "acos": {"arccos"},
    "acosh": {"arccosh"},
    "atanh": {"arctanh"},
    "atan2": {"arctan2"},
}

# The operand that decides, where it is not the first; and a harmless value for it, if not 1.
DECIDING = {"div": 1}
HARMLESS = {"asin": "0.0", "acos": "0.0", "atanh": "0.0", "acosh": "2.0", "exp": "0.0"}


def singular_points(name: str, operands: Sequence[Any], shape: tuple[int, ...]) -> Any:
    """For which elements of its result an operation has no finite derivative.

    Returns:
      A mask of the result's shape, or ``None`` for an operation that has one everywhere.
    """
    points = POINTS.get(name)
    if points is None:
        return None
    return np.broadcast_to(points(*map(np.asarray, operands)), shape)
