"""Where operations have finite values but no finite derivative: a kind of rule.

``find_nan`` uses it to find the forward operation that a NaN of a gradient comes from, and to
write what the user should have written instead. A primitive without one has a finite derivative
wherever its value is finite.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ricci_ir import Primitive, rule_table


class Singular(NamedTuple):
    """What ``find_nan`` says of an operation whose derivative is not finite.

    Attributes:
      points: ``points(*operands)`` is true where the value is finite and the derivative is not;
        ``None`` for an operation that, like ``log``, has an infinite value at these points, too.
      at_zero: whether these points are where the deciding operand is 0.
      operand: the place of the operand that decides.
      harmless: an operand to choose instead, as it is written in a program.
      spellings: what else it is called in programs that users write.
    """

    points: Callable[..., Any] | None = None
    at_zero: bool = False
    operand: int = 0
    harmless: str = "1.0"
    spellings: tuple[str, ...] = ()


singular_rules = rule_table("singular", required=False)

_ordinary = Singular()


def singular_of(primitive: Primitive) -> Singular:
    """The rule of a primitive, or that of one which its block says nothing of."""
    return singular_rules.get(primitive, _ordinary)


def singular_points(primitive: Primitive, operands: Sequence[Any], shape: tuple[int, ...]) -> Any:
    """For which elements of its result an operation has no finite derivative.

    Returns:
      A mask of the result's shape, or ``None`` for an operation that has one everywhere.
    """
    points = singular_of(primitive).points
    if points is None:
        return None
    return np.broadcast_to(points(*map(np.asarray, operands)), shape)
