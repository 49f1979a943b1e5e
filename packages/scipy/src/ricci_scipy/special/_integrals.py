"""Integrals of exponentials and trigonometric functions: Ei, En, Si, Ci, Fresnel's, Spence's."""

from fractions import Fraction
from math import comb as choose
from math import factorial as natural_factorial
from typing import cast

import numpy as np

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import Array, ArrayLike

from . import _integral_coefficients as tables
from ._elementwise import chebyshev, elementwise, halves, pieces, polynomial

__all__ = ["exp1", "expi", "expn", "fresnel", "sici", "spence"]

_EULER = float(np.euler_gamma)
_LEVELS = 100  # of the continued fraction: enough at 1, its smallest argument


def _falling(terms: list[float]) -> list[float]:
    """Coefficients by ascending powers, in the order that ``polynomial`` takes."""
    return terms[::-1]


_EI_SERIES = _falling([1 / (k * natural_factorial(k)) for k in range(1, 42)])


def _positive_ei(x: ArrayLike) -> Array:
    """Ei(x) for x > 0."""
    near = lambda x: _EULER + jnp.log(x) + x * polynomial(x, _EI_SERIES)

    def far(x):
        # exp(x) as a product of two factors, since it overflows before the integral does.
        half = jnp.exp(0.5 * x)
        finite = jnp.where(jnp.isinf(x), 1.0, x)
        return half * (half / finite * chebyshev(1 / x, tables.EXPI))

    return pieces(x, (6.0, near), (np.inf, far))


def _bounded_terms(n: Array, x: Array) -> Array:
    """En(x) for x ≤ 1, by its power series (DLMF 8.19.8)."""
    total = jnp.zeros_like(x)
    for k in range(24):
        gap = k + 1 - n
        pole = gap == 0
        term = (-x) ** k / float(natural_factorial(k)) / jnp.where(pole, 1.0, gap)
        total = total + jnp.where(pole, 0.0, term)
    # For an integer order one term of the series has a pole: the one with the logarithm replaces
    # it.
    order = jnp.maximum(n, 1.0)
    sign = jnp.where(lax.rem(order, jnp.full_like(order, 2)) == 0, -1.0, 1.0)
    power = jnp.where(order == 1, 1.0, jnp.exp((order - 1) * jnp.log(x) - lax.lgamma(order)))
    # Of the first orders the sum of all terms is far smaller than these two; ``lax.digamma`` is up
    # to 10 units of the last place off there.
    start = jnp.where(order == 1, -_EULER, jnp.where(order == 2, 1 - _EULER, lax.digamma(order)))
    return sign * power * (start - jnp.log(x)) - total


def _fraction(n: Array, x: Array) -> Array:
    """En(x) for x ≥ 1, by its continued fraction from the last level up (DLMF 8.19.17)."""

    def level(i, below):
        k = convert_like(_LEVELS - i, x)
        return x + n + 2 * (k - 1) - k * (n + k - 1) / below

    start = x + n + 2.0 * _LEVELS
    return jnp.exp(-x) / lax.fori_loop(0, _LEVELS, level, start)


def convert_like(i: ArrayLike, x: Array) -> Array:
    """An integer as a number of the dtype of ``x``."""
    return lax.convert_element_type(i, x.dtype)


@lax.custom_jvp
def _expn(n: Array, x: Array) -> Array:
    """En(x) for x ≥ 0, by the series up to 1 and by the continued fraction beyond."""
    # Each formula is evaluated in its domain alone, at a fixed point elsewhere, so that gradients
    # are finite. E0(x) is exp(-x) / x, and En(0) is 1 / (n - 1).
    small = x <= 1
    inside = x > 0
    near = _bounded_terms(n, jnp.where(small & inside, x, 0.5))
    far = _fraction(n, jnp.where(small | ~(x < np.inf), 2.0, x))
    value = jnp.where(small, near, far)
    value = jnp.where(n == 0, jnp.exp(-x) / x, value)
    at_zero = jnp.where(n > 1, 1 / (jnp.where(n > 1, n, 2.0) - 1), np.inf)
    value = jnp.where(x == 0, at_zero, jnp.where(x == np.inf, 0.0, value))
    return jnp.where((n < 0) | (x < 0) | jnp.isnan(x) | jnp.isnan(n), np.nan, value)


@_expn.defjvp
def _expn_jvp(primals, tangents):
    (n, x), (_, t) = primals, tangents
    lower = jnp.where(n < 1, jnp.exp(-x) * (1 + x) / (x * x), _expn(jnp.maximum(n - 1, 0.0), x))
    return _expn(n, x), -t * lower


@elementwise()
def _expn_step(n: Array, x: Array) -> Array:
    return _expn(n, x)


def expn(n: ArrayLike, x: ArrayLike) -> Array:
    """The generalized exponential integral, ∫₁^∞ exp(-x t) / tⁿ dt.

    Args:
      n: whole numbers from 0.
      x: numbers from 0; NaN results for smaller ones.

    Returns:
      An array of the shape that the arguments broadcast to, of a float dtype.

    Example:
      >>> from ricci.scipy import special
      >>> round(float(special.expn(2, 1.0)), 5)
      0.1485

    Source: DLMF 8.19.
    """
    return _expn_step(jnp.asarray(n), jnp.asarray(x))


@elementwise()
def exp1(x: ArrayLike) -> Array:
    """The exponential integral ∫ₓ^∞ exp(-t) / t dt.

    Args:
      x: numbers from 0.

    Returns:
      An array of the shape of ``x``, of a float dtype.

    Example:
      >>> from ricci.scipy import special
      >>> round(float(special.exp1(1.0)), 5)
      0.21938

    Source: DLMF 6.2.1.
    """
    return _expn(jnp.ones_like(x), cast(Array, x))


@lax.custom_jvp
def _expi(x: Array) -> Array:
    positive = x > 0
    right = _positive_ei(jnp.where(positive, x, 1.0))
    left = -_expn(jnp.ones_like(x), jnp.where(positive, 1.0, -x))
    return jnp.where(positive, right, left)


@_expi.defjvp
def _expi_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    return _expi(x), t * jnp.exp(x) / x


@elementwise()
def expi(x: ArrayLike) -> Array:
    """The exponential integral Ei, the principal value of ∫₋∞ˣ exp(t) / t dt.

    Args:
      x: real numbers.

    Returns:
      An array of the shape of ``x``, of a float dtype.

    Example:
      >>> from ricci.scipy import special
      >>> round(float(special.expi(1.0)), 5)
      1.89512

    Source: DLMF 6.2.5.
    """
    return _expi(cast(Array, x))


_SI_SERIES = _falling([(-1) ** k / ((2 * k + 1) * natural_factorial(2 * k + 1)) for k in range(20)])
_CI_SERIES = _falling([(-1) ** k / (2 * k * natural_factorial(2 * k)) for k in range(1, 21)])


@elementwise()
def sici(x: ArrayLike) -> tuple[Array, Array]:
    """The sine and the cosine integral, ∫₀ˣ sin(t)/t dt and γ + log|x| + ∫₀ˣ (cos(t) - 1)/t dt.

    Args:
      x: real numbers.

    Returns:
      A pair of arrays.

    Example:
      >>> from ricci.scipy import special
      >>> [round(float(y), 4) for y in special.sici(2.0)]
      [1.6054, 0.423]

    Source: DLMF 6.2.
    """
    x = cast(Array, x)
    size = jnp.abs(x)
    near = size < 4
    a = jnp.where(near, size, 1.0)
    si_near = a * polynomial(a * a, _SI_SERIES)
    ci_near = _EULER + jnp.log(a) + a * a * polynomial(a * a, _CI_SERIES)
    infinite = size == np.inf
    b = jnp.where(near | infinite, 4.0, size)
    u = 1 / (b * b)
    # The auxiliary functions f and g vary slowly: Si(x) = π/2 - f cos(x) - g sin(x) and Ci(x) = f
    # sin(x) - g cos(x) (DLMF 6.2).
    f, g = chebyshev(u, tables.SI_CI_SINE) / b, chebyshev(u, tables.SI_CI_COSINE) * u
    si_far = np.pi / 2 - f * jnp.cos(b) - g * jnp.sin(b)
    ci_far = f * jnp.sin(b) - g * jnp.cos(b)
    si = jnp.where(near, si_near, jnp.where(infinite, np.pi / 2, si_far))
    ci_end = jnp.where(x < 0, np.nan, 0.0)
    ci = jnp.where(near, ci_near, jnp.where(infinite, ci_end, ci_far))
    return jnp.where(x < 0, -si, si), ci


@lax.custom_jvp
def _fresnel(x: Array) -> tuple[Array, Array]:
    size = jnp.abs(x)
    near = size < 1.6
    a = jnp.where(near, size, 1.0)
    square = a * a
    fourth = square * square
    s_near = square * a * chebyshev(fourth, tables.FRESNEL_SINE_SERIES, slope=False)
    c_near = a * chebyshev(fourth, tables.FRESNEL_COSINE_SERIES, slope=False)
    sine, cosine, end = _fresnel_slopes(size)
    b = jnp.where(near | end, 1.6, size)
    square = b * b
    # The auxiliary functions f and g vary slowly (DLMF 7.5.3, 7.5.4).
    u = 1 / (2 + square)
    f = chebyshev(u, tables.FRESNEL_SINE, slope=False) / (np.pi * b)
    g = chebyshev(u, tables.FRESNEL_COSINE, slope=False) / (np.pi**2 * b * square)
    s = jnp.where(near, s_near, jnp.where(end, 0.5, 0.5 - f * cosine - g * sine))
    c = jnp.where(near, c_near, jnp.where(end, 0.5, 0.5 + f * sine - g * cosine))
    negative = x < 0
    return jnp.where(negative, -s, s), jnp.where(negative, -c, c)


def _fresnel_slopes(x: Array) -> tuple[Array, Array, Array]:
    """sin(π x²/2) and cos(π x²/2), and whether |x| is so large that x² is a multiple of 4."""
    end = jnp.abs(x) >= 2 / float(jnp.finfo(x.dtype).eps)
    # π x²/2 modulo 2π: the remainder of x² by 4 is exact, that of a multiple of π would not be.
    head, tail = halves(jnp.where(end, 0.0, x))
    four = jnp.full_like(x, 4.0)
    turns = lax.rem(head * head, four) + (lax.rem(2 * head * tail, four) + tail * tail)
    angle = np.pi / 2 * turns
    return jnp.sin(angle), jnp.cos(angle), end


@_fresnel.defjvp
def _fresnel_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    sine, cosine, _ = _fresnel_slopes(x)
    return _fresnel(x), (t * sine, t * cosine)


@elementwise()
def fresnel(x: ArrayLike) -> tuple[Array, Array]:
    """The Fresnel integrals ∫₀ˣ sin(π t²/2) dt and ∫₀ˣ cos(π t²/2) dt.

    Args:
      x: real numbers.

    Returns:
      A pair of arrays.

    Example:
      >>> from ricci.scipy import special
      >>> [round(float(y), 4) for y in special.fresnel(1.0)]
      [0.4383, 0.7799]

    Source: DLMF 7.2.7.
    """
    return _fresnel(cast(Array, x))


def bernoulli_numbers(n: int) -> list[Fraction]:
    """The Bernoulli numbers B₀ to Bₙ, with B₁ = -1/2."""
    numbers = [Fraction(1)]
    for m in range(1, n + 1):
        numbers.append(-sum(choose(m + 1, k) * numbers[k] for k in range(m)) / Fraction(m + 1))
    return numbers


_SPENCE_SERIES = _falling(
    [float(b / natural_factorial(2 * i + 1)) for i, b in enumerate(bernoulli_numbers(24)[::2])]
)


def _spence(x: ArrayLike) -> Array:
    """∫₁ˣ log(t) / (1 - t) dt; between 1/2 and 2 by a series in log(x)."""

    def from_log(w):
        return w * polynomial(w * w, _SPENCE_SERIES) - 0.25 * w * w

    def between_zero_and_half(y):
        # The reflection S(y) + S(1 - y) = π²/6 - log(y) log(1 - y).
        return np.pi**2 / 6 - jnp.log(y) * jnp.log1p(-y) - from_log(-jnp.log1p(-y))

    def left(y):
        inside = y > 0
        value = between_zero_and_half(jnp.where(inside, y, 0.25))
        return jnp.where(inside, value, jnp.where(y == 0, np.pi**2 / 6, np.nan))

    def right(y):
        log = jnp.log(y)
        # The inversion S(y) + S(1 / y) = -log(y)² / 2.
        inverse = jnp.where(jnp.isinf(y), 0.0, 1 / y)
        return -0.5 * log * log - left(inverse)

    return pieces(x, (0.5, left), (2.0, lambda y: from_log(-jnp.log(y))), (np.inf, right))


@elementwise(strict=True)
def spence(x: ArrayLike) -> Array:
    """Spence's function ∫₁ˣ log(t) / (1 - t) dt, the dilogarithm of 1 - x.

    Args:
      x: numbers from 0 of dtype float32 or float64; NaN results for smaller ones.

    Returns:
      An array of the shape of ``x``, of a float dtype.

    Raises:
      TypeError: for another dtype.

    Example:
      >>> from ricci.scipy import special
      >>> round(float(special.spence(0.0)), 5)
      1.64493

    Source: DLMF 25.12.
    """
    return _spence(x)
