"""Static values in the keys of caches, where values that are equal may compute different results.

Python calls ``1``, ``1.0`` and ``True`` equal, and ``0.0`` and ``-0.0``, and NaN unequal to itself.
"""

from collections.abc import Hashable
from math import copysign
from typing import Any, cast

import numpy as np

__all__ = ["exact_key", "static_number"]


def exact_key(value: object) -> Hashable:
    """Return a form of a static value that is equal only for values that compute the same.

    Numbers are told apart by their types and their text. Tuples are compared element by element;
    other values by their types and by ``==``. The form can be hashed if the value can.

    Example:
      >>> from ricci_ir import exact_key
      >>> exact_key((0.0, 1)) == exact_key((-0.0, 1)), exact_key(1) == exact_key(True)
      (False, False)
      >>> exact_key(float("nan")) == exact_key(float("nan"))
      True
    """
    kind = type(value)
    if isinstance(value, tuple):
        return (kind, *map(exact_key, value))
    if isinstance(value, frozenset):
        return kind, frozenset(map(exact_key, value))
    if isinstance(value, float | complex | np.generic):
        return kind, repr(value)
    return kind, value


class _ByText:
    """Number that equals only numbers of its class with the same text."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and repr(self) == repr(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(repr(self))


class _Float(_ByText, float):
    __slots__ = ()


class _Complex(_ByText, complex):
    __slots__ = ()


def _equals_another(x: float) -> bool:
    return x == 0 and copysign(1.0, x) < 0


def static_number[T](value: T) -> T:
    """Return a number as a parameter or a setting of an operation, which keys of caches hold.

    Those are compared by ``==``, which is fast and does not tell all numbers apart. So a negative
    zero is replaced by a number that does not equal zero, and a NaN by the one of NumPy, since the
    comparison of two keys begins with identity. Other values are returned unchanged.

    Example:
      >>> from ricci_ir import static_number
      >>> static_number(-0.0) == 0.0, static_number(-0.0) == static_number(-0.0)
      (False, True)
      >>> static_number(-0.0), static_number(2.5)
      (-0.0, 2.5)
    """
    number: Any = value
    if isinstance(number, float):
        if number != number:
            return cast(T, np.nan)
        return cast(T, _Float(number)) if _equals_another(number) else value
    if isinstance(number, complex):
        parts = number.real, number.imag
        if any(x != x or _equals_another(x) for x in parts):
            return cast(T, _Complex(number))
    return value
