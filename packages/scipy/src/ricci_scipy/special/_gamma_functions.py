"""The gamma function and those defined by it: beta, factorials, incomplete gamma and beta, zeta."""

from collections.abc import Callable
from math import log, pi
from typing import cast

import numpy as np

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import Array, ArrayLike, get_aval, issubdtype
from ricci_numpy.authoring import operands, promote_dtypes_inexact

from ._elementwise import elementwise, polynomial

__all__ = [
    "beta",
    "betainc",
    "betaln",
    "comb",
    "digamma",
    "factorial",
    "gamma",
    "gammainc",
    "gammaincc",
    "gammaln",
    "gammasgn",
    "loggamma",
    "multigammaln",
    "poch",
    "polygamma",
    "zeta",
]

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
    return jnp.where(y < 0, lax.conj(value), value)


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


def _betaln_of_positive(a: Array, b: Array) -> Array:
    """The logarithm of the beta function for arguments above 0."""
    small, large = jnp.minimum(a, b), jnp.maximum(a, b)
    log_gamma = lax.lgamma(small)
    plain = log_gamma + lax.lgamma(large) - lax.lgamma(a + b)
    usable = (large >= 10) & (small > 0) & (large < np.inf)
    p, q = jnp.where(usable, small, 1.0), jnp.where(usable, large, 10.0)
    # The large terms of Stirling's series cancel; the sums below omit them.
    correction = _stirling_correction(q) - _stirling_correction(p + q)
    # (p + q - 1/2) log(1 + p/q), without overflow of the sum. A quotient below the spacing of
    # floats may underflow, and its logarithm is p/q.
    log = jnp.log1p(p / q)
    tiny = p < q * float(jnp.finfo(p.dtype).eps)
    spread = jnp.where(tiny, p - 0.5 * (p / q), (q - 0.5) * log + p * log)
    one_large = log_gamma - p * jnp.log(q) - spread + p + correction
    r = jnp.maximum(p, 10.0)
    both_large = (
        _HALF_LOG_TURN + (r - 0.5) * jnp.log(r / q) - 0.5 * jnp.log(q) - spread
        + _stirling_correction(r) + correction
    )  # fmt: skip
    plain = jnp.where(large == np.inf, -np.inf, plain)
    return jnp.where(usable, jnp.where(p < 10, one_large, both_large), plain)


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


def _signed_betaln(a: Array, b: Array) -> tuple[Array, Array]:
    """The logarithm of the beta function's magnitude, and its sign, for all real arguments.

    Arguments of 0 or less are reflected by Γ(x) Γ(1 - x) = π / sin(πx), so that the logarithm is
    that of a factor, plus or minus that of the beta function of other arguments, above 0.
    """
    a, b = jnp.minimum(a, b), jnp.maximum(a, b)
    none, both = a > 0, b <= 0
    below = ~none & ~both & (a + b < 1)
    above = ~none & ~both & ~below
    p = jnp.where(below, (1 - b) - a, jnp.where(above, a + b, jnp.where(both, 1 - a, a)))
    q = jnp.where(above, -a, jnp.where(both, 1 - b, b))
    log = _betaln_of_positive(p, q)
    of_a, of_b, of_sum = _sine_of_turns(a), _sine_of_turns(b), _sine_of_turns(a, b)
    at_pole = ~none & _is_integer(a) | both & _is_integer(b)
    divisor = jnp.where(at_pole, 1.0, of_a)
    # Where both sines are zero their quotient is the limit along the line of integers b.
    quotient = jnp.where(_is_integer(b), jnp.where(_is_odd(b), -1.0, 1.0), of_sum / divisor)
    factor = jnp.where(below, quotient, np.pi / (-jnp.where(a == 0, 1, a) * divisor))
    of_both = np.pi * of_sum / (divisor * jnp.where(at_pole, 1.0, of_b) * ((1 - a) - b))
    factor = jnp.where(both, of_both, factor)
    factor = jnp.where(none, 1.0, factor)
    log = jnp.log(jnp.abs(factor)) + jnp.where(none | below, log, -log)
    # Only an integer b beside it takes away the pole of an integer a.
    infinite = at_pole & ~(below & _is_integer(b) & (a > -np.inf))
    sign = jnp.where(infinite, 1.0, jnp.sign(factor))
    return jnp.where(infinite, np.inf, log), sign


@lax.custom_jvp
def _betaln(a: Array, b: Array) -> Array:
    reflected = lambda a, b: _signed_betaln(a, b)[0]
    return _where_any((a <= 0) | (b <= 0), reflected, _betaln_of_positive, a, b)


@_betaln.defjvp
def _betaln_jvp(primals, tangents):
    (a, b), (ta, tb) = primals, tangents
    # The sum may overflow; the function is the logarithm there.
    small, large = jnp.minimum(a, b), jnp.maximum(a, b)
    log_sum = jnp.log(large) + jnp.log1p(small / large)
    total = jnp.where(jnp.isinf(a + b), log_sum, lax.digamma(a + b))
    return _betaln(a, b), ta * (lax.digamma(a) - total) + tb * (lax.digamma(b) - total)


@elementwise(weak=True)
def betaln(a: ArrayLike, b: ArrayLike) -> Array:
    """The logarithm of the beta function's magnitude, without cancellation for large arguments.

    Args:
      a, b: real numbers.

    Returns:
      An array of the shape that the arguments broadcast to, of a float dtype.

    Example:
      >>> from ricci.scipy import special
      >>> round(float(special.betaln(2.0, 3.0)), 5)
      -2.48491

    Source: Didonato and Morris, ACM Trans. Math. Softw. 18 (1992) 360.
    """
    return _betaln(cast(Array, a), cast(Array, b))


@elementwise()
def beta(a: ArrayLike, b: ArrayLike) -> Array:
    """The beta function, Γ(a) Γ(b) / Γ(a + b).

    Args:
      a, b: real numbers.

    Returns:
      An array of the shape that the arguments broadcast to, of a float dtype.

    Example:
      >>> from ricci.scipy import special
      >>> round(float(special.beta(2.0, 3.0)), 5)
      0.08333

    Source: DLMF 5.12.1.
    """
    a, b = cast(Array, a), cast(Array, b)
    sign = _where_any((a <= 0) | (b <= 0), lambda a, b: _signed_betaln(a, b)[1], _one, a, b)
    return lax.stop_gradient(sign) * jnp.exp(_betaln(a, b))


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


def log_choices(n: Array, k: Array) -> Array:
    """The logarithm of the binomial coefficient, n over k; exactly 0 where k is 0 or n."""
    n = jnp.where(k == 0, lax.stop_gradient(n), n)
    log = -jnp.log1p(n) - _betaln(n - k + 1, k + 1)
    return log - jnp.where((k == 0) | (k == n), lax.stop_gradient(log), 0.0)


@elementwise(weak=True)
def _comb(n: ArrayLike, k: ArrayLike) -> Array:
    n, k = cast(Array, n), cast(Array, k)
    inside = (k >= 0) & (n >= k) & (n >= 0)
    m, j = jnp.where(inside, n, 1.0), jnp.where(inside, k, 0.0)
    return jnp.where(inside, jnp.exp(log_choices(m, j)), 0.0)


def comb(N: ArrayLike, k: ArrayLike, *, repetition: bool = False) -> Array:
    """The number of ways to choose k of N things.

    Args:
      N, k: real numbers; the result is 0 unless 0 ≤ k ≤ N.
      repetition: whether a thing may be chosen more than once.

    Returns:
      An array of the shape that the arguments broadcast to, of a float dtype.

    Example:
      >>> from ricci.scipy import special
      >>> round(float(special.comb(5, 2)), 3)
      10.0
    """
    if not repetition:
        return _comb(N, k)
    N, k = jnp.asarray(N), jnp.asarray(k)
    nothing = (N == 0) & (k == 0)
    return jnp.where(nothing, 1.0, _comb(jnp.where(nothing, 1, N) + k - 1, k))


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
      >>> round(float(special.multigammaln(3.0, 2)), 5)
      1.5502

    Source: DLMF 35.3.4.
    """
    (a,), d = promote_dtypes_inexact(*operands("multigammaln", a)), int(d)
    a = jnp.asarray(a) + 0.0
    halves = (np.arange(d) / 2).astype(a.dtype).reshape(*[1] * a.ndim, d)
    terms = jnp.expand_dims(a, -1) - halves
    return jnp.sum(lax.lgamma(terms), -1) + a.dtype.type(d * (d - 1) / 4 * log(pi))


@elementwise(weak=True, widen=False)
def digamma(x: ArrayLike) -> Array:
    """The derivative of log Γ.

    Args:
      x: real numbers.

    Returns:
      An array of the shape of ``x``, of a float dtype.

    Example:
      >>> from ricci.scipy import special
      >>> round(float(special.digamma(1.0)), 5)
      -0.57722

    Source: DLMF 5.2.2.
    """
    # The pole at zero has a sign, as zero has.
    return jnp.where(jnp.equal(x, 0), jnp.copysign(np.inf, jnp.negative(x)), lax.digamma(x))


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


@elementwise(weak=True, widen=False)
def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """The regularized incomplete beta function.

    Args:
      a, b: numbers above 0.
      x: numbers between 0 and 1.

    Returns:
      An array of the shape that the arguments broadcast to, of a float dtype.

    Example:
      >>> from ricci.scipy import special
      >>> round(float(special.betainc(2.0, 3.0, 0.5)), 4)
      0.6875

    Source: DLMF 8.17.2.
    """
    return lax.betainc(a, b, x)


@elementwise(weak=True, widen=False)
def _polygamma(n: ArrayLike, x: ArrayLike) -> Array:
    edge = jnp.logical_or(jnp.less_equal(x, 0), jnp.equal(x, np.inf))
    return _where_any(edge, _reflected_polygamma, lax.polygamma, n, x)


def _reflected_polygamma(n: Array, x: Array) -> Array:
    order = jnp.maximum(n, 1.0)
    size = jnp.exp(lax.lgamma(order + 1)) * _hurwitz(order + 1, x)
    value = jnp.where(_is_odd(n), size, -size)
    right = jnp.where(x == np.inf, 0.0, lax.polygamma(n, jnp.where(x < np.inf, x, 1.0)))
    return jnp.where(n == 0, digamma(x), jnp.where(x > 0, right, value))


def polygamma(n: ArrayLike, x: ArrayLike) -> Array:
    """The n-th derivative of ``digamma``.

    Args:
      n: integers from 0.
      x: real numbers.

    Returns:
      An array of the shape that the arguments broadcast to, of a float dtype.

    Raises:
      ValueError: if ``n`` is not of an integer dtype.

    Example:
      >>> from ricci.scipy import special
      >>> round(float(special.polygamma(1, 1.0)), 5)
      1.64493

    Source: DLMF 5.15.
    """
    aval = get_aval(n)
    if not issubdtype(aval.dtype, np.integer):
        raise ValueError(f"polygamma: n must be of an integer dtype, got {aval.dtype.name}.")
    return _polygamma(n, x)


@elementwise(weak=True, widen=False)
def _zeta(x: ArrayLike, q: ArrayLike) -> Array:
    usual = jnp.logical_and(jnp.greater(q, 0), jnp.less(q, 1e8))
    edge = jnp.logical_not(jnp.logical_and(usual, jnp.less(x, 1000)))
    return _where_any(edge, _hurwitz, lax.zeta, x, q)


def _hurwitz(x: Array, q: Array) -> Array:
    """The zeta function with its poles, limits, and reflection to offsets above 0."""
    # The sum over all integers, ζ(x, q) + (-1)ˣ ζ(x, 1 - q), has period 1 in q.
    negative = (q < 0) & ~_is_integer(q)
    part = jnp.where(negative, q - jnp.floor(q), 0.5)
    steep = x > 1000
    order = jnp.where(steep | ~(x > 1), 2.0, x)
    mirror = lax.zeta(order, jnp.where(negative, jnp.ceil(q) - q, 0.5))
    shifted = lax.zeta(order, 1 - jnp.where(negative, q, -0.5))
    whole = lax.zeta(order, part)
    reflected = jnp.where(_is_odd(order), (whole - mirror) + shifted, (whole + mirror) - shifted)
    # Only integer powers of negative numbers are real.
    reflected = jnp.where(_is_integer(x), jnp.where(steep, np.inf, reflected), np.nan)
    far = q >= 1e8
    near = lax.zeta(order, jnp.where((q > 0) & ~far, q, 1.0))
    # What Euler and Maclaurin's sum has beside terms that vanish for large offsets.
    base = jnp.where(far & (q < np.inf), q, 1e8)
    large = (1 / (order - 1) + 0.5 / base) * jnp.exp((1 - order) * jnp.log(base))
    large = jnp.where(q == np.inf, 0.0, large)
    # Later terms are smaller than any rounding error, or all of them underflow.
    power = jnp.where(steep & (x < np.inf), x, 1e4)
    start = jnp.where((q > 0) & (q < np.inf), q, 1.0)
    few = jnp.exp(-power * jnp.log(start)) + jnp.exp(-power * jnp.log(start + 1))
    few = jnp.where(q == np.inf, 0.0, few)
    few = jnp.where(x == np.inf, jnp.where(q > 1, 0.0, jnp.where(q == 1, 1.0, np.inf)), few)
    value = jnp.where(steep, few, jnp.where(far, large, near))
    value = jnp.where(negative, reflected, jnp.where(q <= 0, np.inf, value))
    undefined = (x < 1) | jnp.isnan(x) | jnp.isnan(q)
    return jnp.where(undefined, np.nan, jnp.where(x == 1, np.inf, value))


def zeta(x: ArrayLike, q: ArrayLike | None = None) -> Array:
    """The Hurwitz zeta function, Σ 1 / (k + q)ˣ.

    Args:
      x: numbers above 1.
      q: numbers above 0.

    Returns:
      An array of the shape that the arguments broadcast to, of a float dtype.

    Raises:
      NotImplementedError: if ``q`` is not given.

    Example:
      >>> from ricci.scipy import special
      >>> round(float(special.zeta(2.0, 1.0)), 5)
      1.64493

    Source: DLMF 25.11.1.
    """
    if q is None:
        raise NotImplementedError(
            "zeta: q must be given. zeta(x, 1.0) is Riemann's zeta function for x > 1."
        )
    return _zeta(x, q)
