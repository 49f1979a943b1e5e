"""The beta function, its incomplete integral, and binomial coefficients."""

from typing import cast

import numpy as np

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import Array, ArrayLike

from ._elementwise import elementwise
from ._gamma_functions import (
    _HALF_LOG_TURN,
    _is_integer,
    _is_odd,
    _one,
    _sine_of_turns,
    _stirling_correction,
    _where_any,
)

__all__ = ["beta", "betainc", "betaln", "comb"]


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
    # Products of small arguments would underflow: they divide in turn, one by its logarithm.
    factor = jnp.where(below, quotient, np.pi / divisor)
    of_both = np.pi * (of_sum / divisor) / jnp.where(at_pole, 1.0, of_b) / ((1 - a) - b)
    factor = jnp.where(both, of_both, factor)
    factor = jnp.where(none, 1.0, factor)
    log = jnp.log(jnp.abs(factor)) + jnp.where(none | below, log, -log)
    log = log - jnp.log(jnp.where(above & (a < 0), -a, 1))
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


@elementwise(scalars=False)
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
