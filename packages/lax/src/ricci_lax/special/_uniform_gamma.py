"""The incomplete gamma functions of large orders, next to the order.

The series and the continued fraction need some sqrt(a) steps there, and their factor is the
exponential of a difference of large numbers.

N. M. Temme: The asymptotic expansion of the incomplete gamma functions (1979).
"""

import numpy as np

from ricci_ir import Array
from ricci_lax.elementwise._arithmetic import abs, div, mul, reciprocal
from ricci_lax.elementwise._comparison import bitwise_and, ge, le, select
from ricci_lax.elementwise._factories import filled_like
from ricci_lax.elementwise._linear import add, neg, sub
from ricci_lax.elementwise._piecewise_linear import is_finite
from ricci_lax.elementwise._series import polynomial_of
from ricci_lax.elementwise._transcendental import exp, sqrt

from ._functions import erfc

# Coefficients by powers of η, of a**0, a**-1, a**-2 and a**-3.
_FIRST = (
    *(-0.3333333333333333, 0.08333333333333333, -0.014814814814814815, 0.0011574074074074073),
    *(0.0003527336860670194, -0.0001787551440329218, 3.919263178522438e-05, -2.185448510679992e-06),
    *(-1.85406221071516e-06, 8.296711340953087e-07, -1.7665952736826078e-07, 6.707853543401498e-09),
)
_SECOND = (
    *(-0.001851851851851852, -0.003472222222222222, 0.0026455026455026454, -0.0009902263374485596),
    *(0.00020576131687242798, -4.018775720164609e-07, -1.8098550334489977e-05),
)
_THIRD = (
    *(0.004133597883597883, -0.0026813271604938273, 0.0007716049382716049),
    *(2.0093878600823047e-06, -0.00010736653226365161),
)
_FOURTH = (0.0006494341563786008, 0.00022947209362139917, -0.0004691894943952557)
_SERIES = (_FIRST, _SECOND, _THIRD, _FOURTH)
# μ - log(1 + μ) = μ² (1/2 - μ/3 + μ²/4 - ...)
LOGARITHM = tuple((-1.0) ** k / (k + 2) for k in range(18))
_REACH = 0.1
# The remainder of Stirling's series for log Γ by powers of 1/a.
_STIRLING = (0.0, 1 / 12, 0.0, -1 / 360, 0.0, 1 / 1260)


def is_uniform(a: Array, x: Array) -> Array:
    """Whether the expansion is the most accurate formula, elementwise."""
    least = filled_like(a, 1e3 if a.dtype == np.float64 else 200.0)
    near = le(abs(sub(x, a)), mul(a, filled_like(a, _REACH)))
    return bitwise_and(bitwise_and(ge(a, least), is_finite(a)), near)


def _expansion(a: Array, x: Array) -> tuple[Array, ...]:
    """η²/2, η and the ratio of η to μ, for μ = (x - a) / a."""
    mu = div(sub(x, a), a)
    half = polynomial_of(LOGARITHM, mu)
    ratio = sqrt(mul(half, filled_like(mu, 2.0)))
    return mul(mul(mu, mu), half), mul(mu, ratio), ratio


def _where_uniform(a: Array, x: Array) -> tuple[Array, Array]:
    """The arguments where ``is_uniform``, elsewhere some of which the expansion is finite."""
    inside = is_uniform(a, x)
    return select(inside, a, filled_like(a, 1e6)), select(inside, x, filled_like(x, 1e6))


def _normal_density(a: Array, half_square: Array) -> Array:
    """exp(-a η²/2) / sqrt(2π a)."""
    return div(exp(neg(mul(a, half_square))), sqrt(mul(a, filled_like(a, 2 * np.pi))))


def uniform_gamma(a: Array, x: Array, *, upper: bool) -> Array:
    """Q(a, x), or P(a, x), where ``is_uniform``; finite elsewhere.

    Both are half of an erfc of η sqrt(a / 2), with η²/2 = μ - log(1 + μ) and μ = (x - a) / a, and
    a remainder of opposite sign.
    """
    a, x = _where_uniform(a, x)
    half_square, eta, _ = _expansion(a, x)
    series = _in_inverse_order(a, [polynomial_of(row, eta) for row in _SERIES])
    density = _normal_density(a, half_square)
    point = mul(eta, sqrt(mul(a, filled_like(a, 0.5))))
    half = filled_like(a, 0.5)
    if upper:
        return add(mul(half, erfc(point)), mul(density, series))
    return sub(mul(half, erfc(neg(point))), mul(density, series))


def uniform_gamma_slope(a: Array, x: Array, *, sample: bool) -> Array:
    """The derivative of P(a, x) by a where ``is_uniform``; finite elsewhere.

    Args:
      sample: return the derivative of x by a with P(a, x) fixed instead.

    With dη/da = -μ / (η a), each term of the derivative of ``uniform_gamma`` has the factor
    exp(-a η²/2) / sqrt(2π a), as has dP/dx, so that their quotient needs no exponential.
    """
    a, x = _where_uniform(a, x)
    half_square, eta, ratio = _expansion(a, x)
    terms = [polynomial_of(row, eta) for row in _SERIES]
    by_eta = _in_inverse_order(a, [polynomial_of(_slopes(row), eta) for row in _SERIES])
    # -a times the derivative of the series by a for a fixed η.
    by_order = [mul(term, filled_like(a, k)) for k, term in enumerate(terms)]
    half = filled_like(a, 0.5)
    inverse = reciprocal(ratio)
    moved = sub(mul(eta, half), inverse)  # a d(η sqrt(a))/da / sqrt(a)
    series = mul(_in_inverse_order(a, terms), add(mul(eta, moved), div(half, a)))
    slope = add(mul(by_eta, inverse), _in_inverse_order(a, by_order))
    total = add(add(moved, series), div(slope, a))
    if not sample:
        return mul(_normal_density(a, half_square), total)
    # dP/dx has the factor 1 / x and the remainder of Stirling's series.
    stirling = exp(polynomial_of(_STIRLING, reciprocal(a)))
    return neg(mul(mul(div(x, a), total), stirling))


def _in_inverse_order(a: Array, terms: list[Array]) -> Array:
    """The sum of terms over the powers of a, from the zeroth."""
    total = terms[-1]
    for term in reversed(terms[:-1]):
        total = add(term, div(total, a))
    return total


def _slopes(coefficients: tuple[float, ...]) -> tuple[float, ...]:
    """The coefficients of the derivative of a polynomial."""
    return tuple(k * c for k, c in enumerate(coefficients))[1:]
