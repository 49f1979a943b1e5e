"""Polynomials with constant coefficients, as the formulas of functions use them."""

from collections.abc import Sequence

from ricci_ir import Array

from ._arithmetic import mul
from ._factories import filled_like, scalar_like
from ._linear import add

__all__ = ["polynomial_of"]


def polynomial_of(coefficients: Sequence[float], x: Array) -> Array:
    """A polynomial by its coefficients from the lowest power up, by Horner's rule."""
    result = filled_like(x, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        result = add(mul(result, x), scalar_like(x, coefficient))
    return result
