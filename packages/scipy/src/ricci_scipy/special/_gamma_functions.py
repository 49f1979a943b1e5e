"""The gamma function, its logarithm and its incomplete integrals; factorials."""

from collections.abc import Callable
from math import log, pi
from typing import cast

import numpy as np

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import Array, ArrayLike
from ricci_numpy.authoring import operands, promote_dtypes_inexact

from ._elementwise import elementwise, polynomial

__all__ = ["factorial", "gamma", "gammainc", "gammaincc", "gammaln", "gammasgn", "loggamma"]
__all__ += ["multigammaln", "poch"]

_HALF_LOG_TURN = float(0.5 * np.log(2 * np.pi))
# Of the asymptotic series of log Γ, the highest power first: B(2k) / (2k (2k-1)) (DLMF 5.11.1).
_STIRLING = (
    -3617 / 122400,
    1 / 156,
    -691 / 360360,
    1 / 1188,
    -1 / 1680,
    1 / 1260,
    -1 / 360,
    1 / 12,
)
_STEPS = 10  # of the recurrence that takes small arguments to where the series is precise


def _where_any(
    mask: Array, function: Callable[..., Array], usual: Callable[..., Array], *operands: ArrayLike
) -> Array:
    """A function where any element is of a mask, else one that costs less and suffices."""
    return lax.cond(jnp.any(mask), function, usual, *operands)


def _one(x: Array, *_: Array) -> Array:
    return jnp.ones_like(x)


def _stirling_correction(x: Array) -> Array:
    """log Γ(x) minus (x - 1/2) log x - x + log(2π)/2, by the asymptotic series."""
    return polynomial(1 / (x * x), _STIRLING) / x


def _right_loggamma(z: Array) -> Array:
    """log Γ(z) for a real part of 1/2 or more."""
    # Γ(z) = Γ(z + n) / (z (z + 1) … (z + n - 1)), with n so large that the series is precise.
    far = z + float(_STEPS)
    value = (far - 0.5) * jnp.log(far) - far + _HALF_LOG_TURN + _stirling_correction(far)
    for k in range(_STEPS):
        value = value - jnp.log(z + float(k))
    return value


def _complex_loggamma(z: ArrayLike) -> Array:
    """log Γ on the plane without the negative axis, where it is continuous."""
    x, y = lax.real(z), lax.imag(z)
    upper = lax.complex(x, jnp.abs(y))
    # Left of 1/2 by the reflection Γ(z) Γ(1 - z) = π / sin(πz).
    left = x < 0.5
    value = _right_loggamma(jnp.where(left, 1 - upper, upper))
    # log sin(πz), continuous above the real axis.
    turned = lax.complex(x - jnp.round(x), jnp.abs(y))
    log_sine = -1j * np.pi * upper + jnp.log(-jnp.expm1(2j * np.pi * turned))
    log_sine = log_sine + complex(-log(2), pi / 2)
    value = jnp.where(left, log(pi) - log_sine - value, value)
    value = jnp.where(y < 0, lax.conj(value), value)
    is_pole = (y == 0) & (x <= 0) & (x == jnp.round(x))
    return jnp.where(is_pole, complex(np.nan, np.nan), value)


@elementwise(weak=True, widen=False)
def gammaln(x: ArrayLike) -> Array:
    """The logarithm of the gamma function's magnitude.

    Args:
      x: real numbers.

    Returns:
      An array of the shape of ``x``, of a float dtype.

    Example:
      >>> from ricci.scipy import special
      >>> round(float(special.gammaln(10.0)), 4)
      12.8018

    Source: DLMF 5.2.1.
    """
    return lax.lgamma(x)


@elementwise(complexes=True, weak=True, widen=False)
def loggamma(x: ArrayLike) -> Array:
    """The logarithm of the gamma function.

    Args:
      x: real numbers, NaN results for negative ones; or complex numbers, for which it is the
        branch that is continuous off the negative axis.

    Returns:
      An array of the shape of ``x``, of a float or complex dtype.

    Example:
      >>> from ricci.scipy import special
      >>> round(float(special.loggamma(10.0)), 4)
      12.8018

    Source: Hare, J. Algorithms 25 (1997) 221.
    """
    if jnp.iscomplexobj(x):
        return _complex_loggamma(x)
    return jnp.where(jnp.less(x, 0), np.nan, lax.lgamma(x))


def _sign(x: ArrayLike) -> Array:
    """The sign of Γ(x), NaN at its negative poles."""
    x = cast(Array, x)
    floor, one = jnp.floor(x), jnp.ones_like(x)
    even = lax.rem(floor, jnp.full_like(x, 2.0)) == 0
    negative = jnp.where(floor == x, np.nan, jnp.where(even, one, -one))
    at_zero = jnp.where(jnp.signbit(x), -one, one)
    return jnp.where(x == 0, at_zero, jnp.where(x < 0, negative, jnp.where(x > 0, one, np.nan)))


@elementwise()
def gammasgn(x: ArrayLike) -> Array:
    """The sign of the gamma function, NaN at its negative poles.

    Args:
      x: real numbers.

    Returns:
      An array of the shape of ``x``, of a float dtype.

    Example:
      >>> from ricci.scipy import special
      >>> float(special.gammasgn(-0.5))
      -1.0
    """
    return _sign(x)


def _gamma(x: ArrayLike) -> Array:
    return lax.stop_gradient(_sign(x)) * jnp.exp(lax.lgamma(x))


@elementwise(complexes=True)
def gamma(x: ArrayLike) -> Array:
    """The gamma function.

    Args:
      x: real or complex numbers; NaN results at negative integers.

    Returns:
      An array of the shape of ``x``, of a float or complex dtype.

    Example:
      >>> from ricci.scipy import special
      >>> round(float(special.gamma(5.0)), 3)
      24.0

    Source: DLMF 5.2.1.
    """
    return jnp.exp(_complex_loggamma(x)) if jnp.iscomplexobj(x) else _gamma(x)


def _sine_of_turns(*terms: Array) -> Array:
    """sin(π x) for a sum of numbers, zero at integers, from the distances to them."""
    whole = [jnp.round(x) for x in terms]
    parts = [x - n for x, n in zip(terms, whole, strict=True)]
    odd = lax.rem(sum(lax.rem(n, jnp.full_like(n, 2.0)) for n in whole), jnp.full_like(parts[0], 2))
    part = cast(Array, sum(parts))
    # Sums of two parts reach from -1 to 1, where the sine is zero again.
    part = jnp.where(part > 0.5, 1 - part, jnp.where(part < -0.5, -1 - part, part))
    sine = jnp.sin(part * np.pi)
    return jnp.where(odd == 0, sine, -sine)


def _is_integer(x: Array) -> Array:
    return jnp.floor(x) == x


def _is_odd(x: Array) -> Array:
    return jnp.abs(lax.rem(jnp.where(jnp.isinf(x), 0, x), jnp.full_like(x, 2.0))) == 1


@elementwise(weak=True)
def _factorial(n: ArrayLike) -> Array:
    n = cast(Array, n)
    return jnp.where(n < 0, 0.0, jnp.exp(lax.lgamma(n + 1)))


def factorial(n: ArrayLike, exact: bool = False) -> Array:
    """The factorial, Γ(n + 1); 0 for negative numbers.

    Args:
      n: real numbers.
      exact: must be false: no dtype holds integers of any size.

    Returns:
      An array of the shape of ``n``, of a float dtype.

    Raises:
      NotImplementedError: if ``exact`` is true.

    Example:
      >>> from ricci.scipy import special
      >>> round(float(special.factorial(5)), 3)
      120.0
    """
    if exact:
        raise NotImplementedError(
            "factorial(n, exact=True) is not supported: dtypes have a fixed width. Use "
            "math.factorial for Python integers."
        )
    return _factorial(n)


@elementwise()
def poch(z: ArrayLike, m: ArrayLike) -> Array:
    """The rising factorial, Γ(z + m) / Γ(z).

    Args:
      z, m: real numbers.

    Returns:
      An array of the shape that the arguments broadcast to, of a float dtype.

    Example:
      >>> from ricci.scipy import special
      >>> round(float(special.poch(3.0, 2.0)), 3)
      12.0

    Source: DLMF 5.2.5.
    """
    return _poch(cast(Array, z), cast(Array, m))


@lax.custom_jvp
def _poch(z: Array, m: Array) -> Array:
    low, high = jnp.minimum(z, z + m), jnp.maximum(z, z + m)
    plain = lambda z, m: jnp.exp(lax.lgamma(z + m) - lax.lgamma(z))
    return _where_any(~((low > 0) & (high < 100)), _poch_by_parts, plain, z, m)


def _poch_by_parts(z: Array, m: Array) -> Array:
    """The rising factorial from log Γ(y + d) - log Γ(y), where y is the smaller argument of Γ."""
    y, d = jnp.where(m < 0, z + m, z), jnp.abs(m)
    end = jnp.where(m < 0, z, z + m)
    # The sum may round to an integer or lose its distance to one, which the sine keeps.
    of_sum, of_z = _sine_of_turns(z, m), _sine_of_turns(z)
    of_start, of_end = jnp.where(m < 0, of_sum, of_z), jnp.where(m < 0, of_z, of_sum)
    both, one = end <= 0, (y <= 0) & (end > 0)
    # By Γ(x) Γ(1 - x) = π / sin(πx), Γ(y + d) / Γ(y) is sin(πy) / sin(π (y + d)) times
    # Γ(1 - y) / Γ(1 - y - d), or sin(πy) / π times Γ(1 - y) Γ(y + d).
    low, high = jnp.where(both, 1 - end, jnp.where(one, 1 - y, y)), jnp.where(both, 1 - y, end)
    large = ~one & (low >= 10) & (high < np.inf)
    p, q = jnp.where(large, low, 10.0), jnp.where(large, high, 10.0)
    # The large terms of Stirling's series cancel.
    log = d * jnp.log(q) + (p - 0.5) * jnp.log1p(jnp.where(large, d, 0) / p) - d
    log = log + _stirling_correction(q) - _stirling_correction(p)
    of_low = lax.lgamma(low)
    plain = lax.lgamma(high) + jnp.where(one, of_low, -of_low)
    log = jnp.where(large, log, jnp.where(high == np.inf, np.inf, plain))
    at_start, at_end = (y <= 0) & (of_start == 0), both & (of_end == 0)
    # At two poles the quotient of the sines is its limit along the line of integers d.
    limit = jnp.where(at_start, jnp.where(_is_odd(d), -1.0, 1.0), np.inf)
    quotient = jnp.where(at_end, limit, of_start / jnp.where(at_end, 1.0, of_end))
    factor = jnp.where(both, quotient, jnp.where(one, of_start / np.pi, _one(y)))
    size = jnp.where(factor == 0, -np.inf, log + jnp.log(jnp.abs(factor)))
    sign = jnp.where(factor == 0, 1.0, jnp.sign(factor))
    value = sign * jnp.exp(jnp.where(m < 0, -size, size))
    undefined = (z == -np.inf) | (m == -np.inf) & ~((z <= 0) & _is_integer(z))
    value = jnp.where(undefined, np.nan, value)
    return jnp.where(m == 0, 1.0, value)


@_poch.defjvp
def _poch_jvp(primals, tangents):
    (z, m), (tz, tm) = primals, tangents
    value, upper = _poch(z, m), lax.digamma(z + m)
    return value, value * (tz * (upper - lax.digamma(z)) + tm * upper)


def multigammaln(a: ArrayLike, d: int) -> Array:
    """The logarithm of the multivariate gamma function.

    Args:
      a: real numbers above (d - 1) / 2.
      d: the dimension, a static integer.

    Returns:
      An array of the shape of ``a``, of a float dtype.

    Example:
      >>> from ricci.scipy import special
      >>> round(float(special.multigammaln(3.0, 2)), 4)
      1.5502

    Source: DLMF 35.3.4.
    """
    (a,), d = promote_dtypes_inexact(*operands("multigammaln", a)), int(d)
    a = jnp.asarray(a) + 0.0
    halves = (np.arange(d) / 2).astype(a.dtype).reshape(*[1] * a.ndim, d)
    terms = jnp.expand_dims(a, -1) - halves
    return jnp.sum(lax.lgamma(terms), -1) + a.dtype.type(d * (d - 1) / 4 * log(pi))


@elementwise(weak=True, widen=False)
def gammainc(a: ArrayLike, x: ArrayLike) -> Array:
    """The lower regularized incomplete gamma function.

    Args:
      a: numbers above 0.
      x: numbers from 0.

    Returns:
      An array of the shape that the arguments broadcast to, of a float dtype.

    Example:
      >>> from ricci.scipy import special
      >>> round(float(special.gammainc(2.0, 1.0)), 5)
      0.26424

    Source: DLMF 8.2.4.
    """
    return lax.igamma(a, x)


@elementwise(weak=True, widen=False)
def gammaincc(a: ArrayLike, x: ArrayLike) -> Array:
    """The upper regularized incomplete gamma function, 1 - gammainc(a, x).

    Args:
      a: numbers above 0.
      x: numbers from 0.

    Returns:
      An array of the shape that the arguments broadcast to, of a float dtype.

    Example:
      >>> from ricci.scipy import special
      >>> round(float(special.gammaincc(2.0, 1.0)), 5)
      0.73576

    Source: DLMF 8.2.4.
    """
    return lax.igammac(a, x)
