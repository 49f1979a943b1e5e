"""Derivatives of the logarithm of the gamma function, and the zeta function."""

from typing import cast

import numpy as np

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import Array, ArrayLike, get_aval, issubdtype

from ._elementwise import elementwise
from ._gamma_functions import _is_integer, _is_odd, _where_any

__all__ = ["digamma", "polygamma", "zeta"]


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
def _polygamma(n: ArrayLike, x: ArrayLike) -> Array:
    edge = jnp.logical_or(jnp.less_equal(x, 0), _underflows(n, x))
    return _where_any(edge, _reflected_polygamma, lax.polygamma, n, x)


def _underflows(n: ArrayLike, x: ArrayLike) -> Array:
    """Whether x^-(n + 1) may underflow, though it is multiplied by n! or by x / n."""
    n, x = cast(Array, n), cast(Array, x)
    log_tiny = float(np.log(jnp.finfo(x.dtype).tiny))
    return (n > 0) & ((n + 1) * jnp.log(jnp.abs(x)) > -0.8 * log_tiny) | (x == np.inf)


def _correction_of_large(n: Array, x: Array) -> Array:
    """n xⁿ ζ(n + 1, x) for ``x`` much larger than ``n``, by Euler and Maclaurin: DLMF 25.11.43."""
    square = x * x
    tail = 1 - (n + 4) * (n + 5) / (42 * square)
    tail = 1 - (n + 2) * (n + 3) / (60 * square) * tail
    return 1 + n / (2 * x) * (1 + (n + 1) / (6 * x) * tail)


def _polygamma_of_large(n: Array, x: Array) -> Array:
    """The magnitude for ``x`` much larger than ``n``: DLMF 5.15.8."""
    return jnp.exp(lax.lgamma(n) - n * jnp.log(x)) * _correction_of_large(n, x)


def _reflected_polygamma(n: Array, x: Array) -> Array:
    order = jnp.maximum(n, 1.0)
    size = jnp.exp(lax.lgamma(order + 1)) * _hurwitz(order + 1, x)
    value = jnp.where(_is_odd(n), size, -size)
    right = jnp.where(x == np.inf, 0.0, lax.polygamma(n, jnp.where(x < np.inf, x, 1.0)))
    far = _underflows(n, x) & (x > 3 * (n + 1)) & (x < np.inf)
    large = _polygamma_of_large(order, jnp.where(far, x, 100.0))
    right = jnp.where(far, jnp.where(_is_odd(n), large, -large), right)
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
    usual = jnp.logical_and(jnp.greater(q, 0), jnp.less(x, 1000))
    edge = jnp.logical_or(jnp.logical_not(usual), _is_far(cast(Array, x), cast(Array, q)))
    return _where_any(edge, _hurwitz, lax.zeta, x, q)


def _is_far(x: Array, q: Array) -> Array:
    """Whether ζ(x, q) is far larger than its first term, which is tiny or may underflow."""
    return (q >= 1e8) | (q > 3 * x) & _underflows(x - 1, q)


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
    far = _is_far(order, q)
    near = lax.zeta(order, jnp.where((q > 0) & ~far, q, 1.0))
    base = jnp.where(far & (q < np.inf), q, 1e8)
    large = jnp.power(base, 1 - order) / (order - 1) * _correction_of_large(order - 1, base)
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
