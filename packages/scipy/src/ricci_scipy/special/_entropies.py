"""Products with logarithms, power transformations, the logistic function and modified Bessels."""

from collections.abc import Callable
from typing import cast

import numpy as np

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import Array, ArrayLike

from ._elementwise import elementwise

__all__ = ["boxcox", "boxcox1p", "entr", "expit", "i0", "i0e", "i1", "i1e", "kl_div", "logit"]
__all__ += ["rel_entr", "xlog1py", "xlogy"]


def _log_product(
    log: Callable[[ArrayLike], Array], outer: Callable[[Array], Array]
) -> Callable[[ArrayLike, ArrayLike], Array]:
    """x log(y), 0 where x is 0 and y is not NaN; ``outer`` is the logarithm's derivative."""

    @lax.custom_jvp
    def product(x, y):
        zero = (x == 0) & (y == y)
        if np.ndim(x) and not np.ndim(y):  # the logarithm of a scalar is computed once
            factor = jnp.where(zero, jnp.ones_like(y), log(y))
        else:
            factor = log(jnp.where(zero, jnp.ones_like(y), y))
        return jnp.where(zero, jnp.zeros_like(x), x * factor)

    @product.defjvp
    def _jvp(primals, tangents):
        (x, y), (tx, ty) = primals, tangents
        return product(x, y), tx * log(y) + ty * (x * outer(y))

    return product


_xlogy = _log_product(jnp.log, jnp.reciprocal)
_xlog1py = _log_product(jnp.log1p, lambda y: jnp.reciprocal(jnp.add(1, y)))


@elementwise(complexes=True, weak=True)
def xlogy(x: ArrayLike, y: ArrayLike) -> Array:
    """x log(y), and 0 where x is 0 and y is not NaN.

    Args:
      x, y: real or complex numbers.

    Returns:
      An array of the shape that the arguments broadcast to, of a float or complex dtype.

    Example:
      >>> from ricci.scipy import special
      >>> float(special.xlogy(0.0, 0.0))
      0.0
    """
    return _xlogy(x, y)


@elementwise(complexes=True, weak=True)
def xlog1py(x: ArrayLike, y: ArrayLike) -> Array:
    """x log(1 + y), and 0 where x is 0 and y is not NaN.

    Args:
      x, y: real or complex numbers.

    Returns:
      An array of the shape that the arguments broadcast to, of a float or complex dtype.

    Example:
      >>> from ricci.scipy import special
      >>> float(special.xlog1py(0.0, -1.0))
      0.0
    """
    return _xlog1py(x, y)


@elementwise(weak=True)
def entr(x: ArrayLike) -> Array:
    """A term of the entropy: -x log(x), 0 at 0, and -inf for negative numbers.

    Args:
      x: real numbers.

    Returns:
      An array of the shape of ``x``, of a float dtype.

    Example:
      >>> from ricci.scipy import special
      >>> round(float(special.entr(0.5)), 5)
      0.34657
    """
    return _entr(cast(Array, x))


@lax.custom_jvp
def _entr(x: Array) -> Array:
    return jnp.where(x < 0, jnp.full_like(x, -np.inf), -_xlogy(x, x))


_entr.defjvps(lambda t, value, x: t * (-jnp.log(x) - jnp.ones_like(x)))


def _strong_array(x: Array) -> Array:
    """An array without weak type; scalars are returned unchanged."""
    return x.astype(x.dtype) if x.shape else x


def _relative(p: Array, q: Array) -> tuple[Array, Array]:
    """Whether p and q are positive, and p log(p / q) there."""
    inside = (p > 0) & (q > 0)
    ones = jnp.ones_like(p)
    first, second = jnp.where(inside, p, ones), jnp.where(inside, q, ones)
    ratio = first / second
    # p / q can overflow or underflow where the two logarithms do not.
    usable = (ratio > 0) & (ratio < np.inf)
    log = jnp.where(
        usable, jnp.log(jnp.where(usable, ratio, ones)), jnp.log(first) - jnp.log(second)
    )
    return inside, first * log


def _log_deficit(u: Array) -> Array:
    """u - log(1 + u) without cancellation, for u in [-1/2, 1/2].

    With z = u / (2 + u), log(1 + u) = 2 atanh(z), whose series starts with 2 z = u - u z.
    """
    z = u / (2 + u)
    square = z * z
    # The terms are z**(2 k) / (2 k + 1), with z**2 at most 1/9.
    series = lax.polynomial(square, [1 / (2 * k + 3) for k in range(17)])
    return z * (u - 2 * square * series)


@elementwise(weak=True)
def rel_entr(p: ArrayLike, q: ArrayLike) -> Array:
    """A term of the relative entropy: p log(p / q); 0 where p = 0 ≤ q, inf where it is undefined.

    Args:
      p, q: real numbers.

    Returns:
      An array of the shape that the arguments broadcast to, of a float dtype.

    Example:
      >>> from ricci.scipy import special
      >>> round(float(special.rel_entr(0.5, 0.25)), 5)
      0.34657
    """
    p, q = cast(Array, p), cast(Array, q)
    inside, value = _relative(p, q)
    outside = jnp.where((p == 0) & (q >= 0), 0.0, np.inf)
    outside = jnp.where(jnp.isnan(p) | jnp.isnan(q), np.nan, outside)
    return _strong_array(jnp.where(inside, value, outside))


@elementwise(weak=True)
def kl_div(p: ArrayLike, q: ArrayLike) -> Array:
    """A term of the Kullback-Leibler divergence: p log(p / q) - p + q; inf where it is undefined.

    Args:
      p, q: real numbers.

    Returns:
      An array of the shape that the arguments broadcast to, of a float dtype.

    Example:
      >>> from ricci.scipy import special
      >>> round(float(special.kl_div(0.5, 0.25)), 5)
      0.09657
    """
    p, q = cast(Array, p), cast(Array, q)
    inside, value = _relative(p, q)
    outside = jnp.where((p == 0) & (q >= 0), q, np.inf)
    outside = jnp.where(jnp.isnan(p) | jnp.isnan(q), np.nan, outside)
    # Where p and q are close, the three terms cancel: p times the difference of u = q / p - 1 and
    # log(1 + u).
    near = inside & (2 * q >= p) & (2 * q <= 3 * p)
    divisor = jnp.where(near, p, jnp.ones_like(p))
    close = p * _log_deficit(jnp.where(near, q - p, jnp.zeros_like(p)) / divisor)
    return _strong_array(jnp.where(inside, jnp.where(near, close, value - p + q), outside))


def _transformed(log: Array, lmbda: ArrayLike) -> Array:
    # λ log(x) may underflow where neither is zero.
    tiny = jnp.finfo(jnp.result_type(log)).tiny
    zero = (lmbda == 0) | (jnp.abs(lmbda * log) < tiny)
    power = jnp.where(zero, jnp.ones_like(lmbda), lmbda)
    # x^λ - 1 would cancel for small λ.
    return jnp.where(zero, log, jnp.expm1(power * log) / power)


@elementwise(complexes=True, weak=True)
def boxcox(x: ArrayLike, lmbda: ArrayLike) -> Array:
    """The Box-Cox transformation: (x^λ - 1) / λ, and log(x) for λ = 0.

    Args:
      x: numbers from 0.
      lmbda: the exponent λ.

    Returns:
      An array of the shape that the arguments broadcast to, of a float dtype.

    Example:
      >>> from ricci.scipy import special
      >>> round(float(special.boxcox(4.0, 0.5)), 3)
      2.0

    Source: Box and Cox, J. R. Statist. Soc. B 26 (1964) 211.
    """
    return _transformed(jnp.log(x), lmbda)


@elementwise(complexes=True, weak=True)
def boxcox1p(x: ArrayLike, lmbda: ArrayLike) -> Array:
    """The Box-Cox transformation of 1 + x.

    Args:
      x: numbers from -1.
      lmbda: the exponent λ.

    Returns:
      An array of the shape that the arguments broadcast to, of a float dtype.

    Example:
      >>> from ricci.scipy import special
      >>> round(float(special.boxcox1p(3.0, 0.5)), 3)
      2.0

    Source: Box and Cox, J. R. Statist. Soc. B 26 (1964) 211.
    """
    return _transformed(jnp.log1p(x), lmbda)


@elementwise(complexes=True, weak=True, widen=False)
def expit(x: ArrayLike) -> Array:
    """The logistic function, 1 / (1 + exp(-x)).

    Args:
      x: real numbers.

    Returns:
      An array of the shape of ``x``, of a float dtype.

    Example:
      >>> from ricci.scipy import special
      >>> float(special.expit(0.0))
      0.5
    """
    return lax.logistic(x)


@lax.custom_jvp
def _logit(x: Array) -> Array:
    return jnp.log(x / (jnp.ones_like(x) - x))


@_logit.defjvp
def _logit_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    return _logit(x), jnp.divide(t, x * (jnp.ones_like(x) - x))


@elementwise(complexes=True, weak=True, vectors=False)
def logit(x: ArrayLike) -> Array:
    """The inverse of the logistic function, log(x / (1 - x)).

    Args:
      x: real numbers.

    Returns:
      An array of the shape of ``x``, of a float dtype.

    Example:
      >>> from ricci.scipy import special
      >>> float(special.logit(0.5))
      0.0
    """
    return _logit(cast(Array, x))


@elementwise(weak=True, widen=False)
def i0e(x: ArrayLike) -> Array:
    """The scaled modified Bessel function, exp(-|x|) I₀(x).

    Args:
      x: real numbers.

    Returns:
      An array of the shape of ``x``, of a float dtype.

    Example:
      >>> from ricci.scipy import special
      >>> round(float(special.i0e(1.0)), 5)
      0.46576

    Source: DLMF 10.25.
    """
    return lax.bessel_i0e(x)


@elementwise(weak=True, widen=False)
def i1e(x: ArrayLike) -> Array:
    """The scaled modified Bessel function, exp(-|x|) I₁(x).

    Args:
      x: real numbers.

    Returns:
      An array of the shape of ``x``, of a float dtype.

    Example:
      >>> from ricci.scipy import special
      >>> round(float(special.i1e(1.0)), 5)
      0.20791

    Source: DLMF 10.25.
    """
    return lax.bessel_i1e(x)


def _unscaled(scaled: ArrayLike, x: ArrayLike) -> Array:
    """Multiply by exp(|x|), which may overflow where the product does not."""
    root = jnp.exp(jnp.abs(x) / 2)
    return root * (root * scaled)


@lax.custom_jvp
def _i0(x: ArrayLike) -> Array:
    return _unscaled(lax.bessel_i0e(x), x)


_i0.defjvps(lambda t, value, x: t * _i1(x))


@lax.custom_jvp
def _i1(x: ArrayLike) -> Array:
    return _unscaled(lax.bessel_i1e(x), x)


def _i1_derivative(t: Array, value: Array, x: Array) -> Array:
    # Below this bound the value may underflow, and 0.5 is exact.
    small = jnp.abs(x) < np.sqrt(jnp.finfo(jnp.result_type(x)).tiny)
    safe = jnp.where(small, jnp.ones_like(x), x)
    return t * jnp.where(small, 0.5, _i0(safe) - jnp.divide(value, safe))


_i1.defjvps(_i1_derivative)


@elementwise(weak=True, widen=False)
def i0(x: ArrayLike) -> Array:
    """The modified Bessel function of the first kind, of order 0.

    Args:
      x: real numbers.

    Returns:
      An array of the shape of ``x``, of a float dtype.

    Example:
      >>> from ricci.scipy import special
      >>> round(float(special.i0(1.0)), 5)
      1.26607

    Source: DLMF 10.25.
    """
    return _i0(x)


@elementwise(weak=True, widen=False)
def i1(x: ArrayLike) -> Array:
    """The modified Bessel function of the first kind, of order 1.

    Args:
      x: real numbers.

    Returns:
      An array of the shape of ``x``, of a float dtype.

    Example:
      >>> from ricci.scipy import special
      >>> round(float(special.i1(1.0)), 5)
      0.56516

    Source: DLMF 10.25.
    """
    return _i1(x)
