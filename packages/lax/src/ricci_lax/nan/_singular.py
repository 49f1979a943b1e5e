"""The points where an operation has a finite value but no finite derivative.

``find_nan`` uses them to find the forward operation that a NaN in a gradient comes from, and to
suggest a correction.
"""

from collections.abc import Callable, Sequence

import numpy as np

from ricci_ir import ArrayLike, Primitive, Shape, TupleRecord
from ricci_lax import elementwise as ops


class Singular(TupleRecord):
    """The points where an operation's derivative is not finite, for ``find_nan``'s reports.

    Attributes:
      points: ``points(*operands)`` is true where the value is finite and the derivative is not;
        ``None`` for an operation that, like ``log``, has an infinite value at these points, too.
      at_zero: whether these are the points where ``operand`` is 0.
      operand: the number of the operand that decides.
      harmless: a safe value of this operand, as source text.
      spellings: other names of the operation in users' code.
    """

    points: Callable[..., np.ndarray] | None = None
    at_zero: bool = False
    operand: int = 0
    harmless: str = "1.0"
    spellings: tuple[str, ...] = ()


def _at_one(x: np.ndarray) -> np.ndarray:
    return np.abs(x) == 1


def _at_zero(x: np.ndarray) -> np.ndarray:
    return x == 0


# A primitive without an entry has a finite derivative wherever its value is finite.
singular_rules: dict[Primitive, Singular] = {
    ops.acos_p: Singular(_at_one, harmless="0.0", spellings=("arccos",)),
    ops.acosh_p: Singular(lambda x: x == 1, harmless="2.0", spellings=("arccosh",)),
    ops.asin_p: Singular(_at_one, harmless="0.0", spellings=("arcsin",)),
    ops.atan2_p: Singular(lambda y, x: (y == 0) & (x == 0), spellings=("arctan2",)),
    ops.atanh_p: Singular(harmless="0.0", spellings=("arctanh",)),
    ops.cbrt_p: Singular(_at_zero, at_zero=True),
    ops.div_p: Singular(at_zero=True, operand=1, spellings=("divide", "true_divide")),
    ops.exp_p: Singular(harmless="0.0"),
    ops.log_p: Singular(at_zero=True),
    ops.pow_p: Singular(
        lambda x, y: (x == 0) & (y < 1) & (y != 0), at_zero=True, spellings=("power", "float_power")
    ),
    ops.rsqrt_p: Singular(at_zero=True),
    ops.sqrt_p: Singular(_at_zero, at_zero=True),
}

_ordinary = Singular()


def singular_of(primitive: Primitive) -> Singular:
    """The entry of a primitive, or the default if it has none."""
    return singular_rules.get(primitive, _ordinary)


def singular_points(
    primitive: Primitive, operands: Sequence[ArrayLike], shape: Shape
) -> np.ndarray | None:
    """The elements of an operation's result that have no finite derivative.

    Returns:
      A mask of the result's shape, or ``None`` for an operation that has one everywhere.
    """
    points = singular_of(primitive).points
    if points is None:
        return None
    return np.broadcast_to(points(*map(np.asarray, operands)), shape)
