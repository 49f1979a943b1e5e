"""Singular rules: the points where an operation has a finite value but no finite derivative.

``find_nan`` uses them to find the forward operation that a NaN in a gradient comes from, and to
suggest a correction. A primitive without a rule has a finite derivative wherever its value is
finite.
"""

from collections.abc import Callable, Sequence

import numpy as np

from ricci_ir import ArrayLike, Primitive, Shape, TupleRecord, rule_table


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


singular_rules = rule_table("singular", required=False)

_ordinary = Singular()


def singular_of(primitive: Primitive) -> Singular:
    """The rule of a primitive, or the default rule if it has none."""
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
