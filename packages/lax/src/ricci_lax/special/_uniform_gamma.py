"""The incomplete gamma functions of large orders, next to the order.

The series and the continued fraction need some sqrt(a) steps there, and their factor is the
exponential of a difference of large numbers.

N. M. Temme: The asymptotic expansion of the incomplete gamma functions (1979).
"""

import numpy as np

from ricci_ir import Array
from ricci_lax.elementwise._arithmetic import abs, div, mul, sign
from ricci_lax.elementwise._comparison import bitwise_and, ge, le, select
from ricci_lax.elementwise._factories import filled_like
from ricci_lax.elementwise._linear import add, neg, sub
from ricci_lax.elementwise._piecewise_linear import is_finite
from ricci_lax.elementwise._series import polynomial_of
from ricci_lax.elementwise._transcendental import exp, sqrt

from ._functions import erfc

# Coefficients by powers of η, of a**0 and a**-1.
_FIRST = (
    *(-0.3333333333333333, 0.08333333333333333, -0.014814814814814815, 0.0011574074074074073),
    *(0.0003527336860670194, -0.0001787551440329218, 3.919263178522438e-05, -2.185448510679992e-06),
    *(-1.85406221071516e-06, 8.296711340953087e-07, -1.7665952736826078e-07, 6.707853543401498e-09),
)
_SECOND = (
    *(-0.001851851851851852, -0.003472222222222222, 0.0026455026455026454, -0.0009902263374485596),
    *(0.00020576131687242798, -4.018775720164609e-07, -1.8098550334489977e-05),
)
# μ - log(1 + μ) = μ² (1/2 - μ/3 + μ²/4 - ...)
LOGARITHM = tuple((-1.0) ** k / (k + 2) for k in range(18))
_REACH = 0.1


def is_uniform(a: Array, x: Array) -> Array:
    """Whether the expansion is the most accurate formula, elementwise."""
    least = filled_like(a, 1e5 if a.dtype == np.float64 else 200.0)
    near = le(abs(sub(x, a)), mul(a, filled_like(a, _REACH)))
    return bitwise_and(bitwise_and(ge(a, least), is_finite(a)), near)


def uniform_gamma(a: Array, x: Array, *, upper: bool) -> Array:
    """Q(a, x), or P(a, x), where ``is_uniform``; finite elsewhere.

    Both are half of an erfc of η sqrt(a / 2), with η²/2 = μ - log(1 + μ) and μ = (x - a) / a, and
    a remainder of opposite sign.
    """
    inside = is_uniform(a, x)
    a = select(inside, a, filled_like(a, 1e6))
    x = select(inside, x, filled_like(x, 1e6))
    mu = div(sub(x, a), a)
    half_square = mul(mul(mu, mu), polynomial_of(LOGARITHM, mu))
    eta = mul(sign(mu), sqrt(mul(half_square, filled_like(mu, 2.0))))
    series = add(polynomial_of(_FIRST, eta), div(polynomial_of(_SECOND, eta), a))
    density = div(exp(neg(mul(a, half_square))), sqrt(mul(a, filled_like(a, 2 * np.pi))))
    point = mul(eta, sqrt(mul(a, filled_like(a, 0.5))))
    half = filled_like(a, 0.5)
    if upper:
        return add(mul(half, erfc(point)), mul(density, series))
    return sub(mul(half, erfc(neg(point))), mul(density, series))
