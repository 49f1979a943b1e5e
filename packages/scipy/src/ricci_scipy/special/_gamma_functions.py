"""The gamma function and those defined by it: beta, factorials, incomplete gamma and beta, zeta."""

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


@lax.custom_jvp
def _betaln(a: Array, b: Array) -> Array:
    plain = lax.lgamma(a) + lax.lgamma(b) - lax.lgamma(a + b)
    small, large = jnp.minimum(a, b), jnp.maximum(a, b)
    usable = (large >= 10) & (small > 0) & (large < np.inf)
    p, q = jnp.where(usable, small, 1.0), jnp.where(usable, large, 10.0)
    # The large terms of Stirling's series cancel; the sums below omit them.
    correction = _stirling_correction(q) - _stirling_correction(p + q)
    # (p + q - 1/2) log(1 + p/q), without overflow of the sum. A quotient below the spacing of
    # floats may underflow, and its logarithm is p/q.
    log = jnp.log1p(p / q)
    tiny = p < q * float(jnp.finfo(p.dtype).eps)
    spread = jnp.where(tiny, p - 0.5 * (p / q), (q - 0.5) * log + p * log)
    one_large = lax.lgamma(p) - p * jnp.log(q) - spread + p + correction
    r = jnp.maximum(p, 10.0)
    both_large = (
        _HALF_LOG_TURN + (r - 0.5) * jnp.log(r / q) - 0.5 * jnp.log(q) - spread
        + _stirling_correction(r) + correction
    )  # fmt: skip
    return jnp.where(usable, jnp.where(p < 10, one_large, both_large), plain)


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
    sign = lax.stop_gradient(_sign(a) * _sign(b) * _sign(a + b))
    return sign * jnp.exp(_betaln(a, b))


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
    sign = _sign(z) * _sign(z + m)
    value = sign * jnp.exp(lax.lgamma(z + m) - lax.lgamma(z))
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
    return lax.digamma(x)


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
    return lax.polygamma(n, x)


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
    return lax.zeta(x, q)


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
