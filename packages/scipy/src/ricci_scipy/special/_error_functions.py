"""The error function and related ones: the normal distribution's, Dawson's, Faddeeva's, Owen's."""

from functools import cache
from typing import cast

import numpy as np

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import Array, ArrayLike, canonicalize_dtype

from . import _error_coefficients as tables
from ._elementwise import chebyshev, elementwise, exp_square, pieces, polynomial

__all__ = ["dawsn", "erf", "erfc", "erfcinv", "erfcx", "erfinv", "log_ndtr", "ndtr", "ndtri"]
__all__ += ["owens_t", "wofz"]

_ROOT_HALF = float(np.sqrt(0.5))
_ROOT_PI = float(np.sqrt(np.pi))


@elementwise(weak=True, widen=False)
def erf(x: ArrayLike) -> Array:
    """The error function, 2/√π ∫₀ˣ exp(-t²) dt.

    Args:
      x: real numbers.

    Returns:
      An array of the shape of ``x``, of a float dtype.

    Example:
      >>> from ricci.scipy import special
      >>> round(float(special.erf(0.5)), 5)
      0.5205

    Source: DLMF 7.2.1.
    """
    return lax.erf(x)


@elementwise(weak=True, widen=False)
def erfc(x: ArrayLike) -> Array:
    """1 - erf(x), without cancellation.

    Args:
      x: real numbers.

    Returns:
      An array of the shape of ``x``, of a float dtype.

    Example:
      >>> from ricci.scipy import special
      >>> round(float(special.erfc(0.5)), 5)
      0.4795

    Source: DLMF 7.2.2.
    """
    return lax.erfc(x)


@elementwise(weak=True, widen=False)
def erfinv(x: ArrayLike) -> Array:
    """The inverse of ``erf``, for x in [-1, 1].

    Args:
      x: real numbers.

    Returns:
      An array of the shape of ``x``, of a float dtype.

    Example:
      >>> from ricci.scipy import special
      >>> round(float(special.erfinv(0.5205)), 4)
      0.5

    Source: DLMF 7.17.
    """
    return lax.erf_inv(x)


@lax.custom_jvp
def _real_erfcx(x: Array) -> Array:
    negative = x < 0
    size = jnp.abs(x)
    finite = jnp.minimum(size, 1e30)
    right = chebyshev(finite / (3 + finite), tables.ERFCX, slope=False) / (1 + 2 * size)
    return jnp.where(negative, 2 * exp_square(jnp.where(negative, x, 0.0)) - right, right)


@_real_erfcx.defjvp
def _real_erfcx_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    value = _real_erfcx(x)
    negative = x < 0
    # The difference would cancel for positive numbers.
    left = 2 * jnp.where(negative, x * value, 0.0) - 2 / _ROOT_PI
    finite = jnp.where(negative, 0.0, jnp.minimum(x, 1e30))
    y = 1 / (3 + finite)
    right = -y * y * chebyshev(y * finite, tables.ERFCX_SLOPE)
    return value, t * jnp.where(negative, left, right)


@elementwise(complexes=True)
def erfcx(x: ArrayLike) -> Array:
    """The scaled complementary error function, exp(x²) erfc(x).

    Args:
      x: real or complex numbers.

    Returns:
      An array of the shape of ``x``, of a float or complex dtype.

    Example:
      >>> from ricci.scipy import special
      >>> round(float(special.erfcx(10.0)), 5)
      0.05614

    Source: a series in x/(3 + x), as Shepherd and Laframboise, Math. Comp. 36 (1981) 249.
    """
    return _faddeeva(jnp.multiply(x, 1j)) if jnp.iscomplexobj(x) else _real_erfcx(cast(Array, x))


def _real_dawson(x: ArrayLike) -> Array:
    near = lambda x: x / (1 + 2 * x * x) * chebyshev(1 / (1 + x * x), tables.DAWSON)
    far = jnp.abs(x) > 1e8
    return jnp.where(far, 0.5 / jnp.where(far, x, 1.0), near(jnp.where(far, 1.0, x)))


@elementwise()
def dawsn(x: ArrayLike) -> Array:
    """Dawson's integral, exp(-x²) ∫₀ˣ exp(t²) dt.

    Args:
      x: real numbers.

    Returns:
      An array of the shape of ``x``, of a float dtype.

    Example:
      >>> from ricci.scipy import special
      >>> round(float(special.dawsn(1.0)), 5)
      0.53808

    Source: DLMF 7.2.5.
    """
    return _real_dawson(x)


@cache
def _faddeeva_series(terms: int) -> tuple[float, tuple[float, ...]]:
    """The scale and the coefficients of Weideman's expansion."""
    points = 4 * terms
    scale = float(np.sqrt(terms / np.sqrt(2)))
    t = scale * np.tan(np.arange(-points + 1, points) * np.pi / (2 * points))
    values = np.concatenate([[0.0], np.exp(-t * t) * (scale**2 + t * t)])
    spectrum = np.real(np.fft.fft(np.fft.fftshift(values))) / (2 * points)
    return scale, tuple(float(c) for c in spectrum[terms:0:-1])


def _upper_faddeeva(z: Array) -> tuple[Array, Array]:
    """w(z) and its derivative in the upper half plane."""
    scale, coefficients = _faddeeva_series(22 if z.dtype == np.complex64 else 40)
    inverse = 1 / (scale - 1j * z)
    ratio = (scale + 1j * z) * inverse
    series, slope = jnp.full_like(z, coefficients[0]), jnp.zeros_like(z)
    for c in coefficients[1:]:
        series, slope = series * ratio + c, slope * ratio + series
    value = (2 * series * inverse + 1 / _ROOT_PI) * inverse
    # Derived term by term: -2z w(z) + 2i/√π would cancel for large numbers.
    slope = (4 * scale * slope * inverse + 4 * series) * inverse + 1 / _ROOT_PI
    return value, 1j * slope * inverse * inverse


def _on_half_planes(z: Array) -> tuple[Array, Array, Array]:
    """Whether numbers are in the upper half plane, whether far, and near ones to use the series."""
    upper = lax.imag(z) >= 0
    far = jnp.abs(z) > 1e8
    return upper, far, jnp.where(far, 1j, jnp.where(upper, z, -z))


@lax.custom_jvp
def _faddeeva(z: Array) -> Array:
    upper, far, near = _on_half_planes(z)
    value = jnp.where(far, 1j / (_ROOT_PI * jnp.where(far, z, 1j)), _upper_faddeeva(near)[0])
    value = jnp.where(upper, value, 2 * jnp.exp(-z * z) - value)
    # On the real axis the real part may be far smaller than the imaginary part's rounding error.
    return jnp.where(lax.imag(z) == 0, _faddeeva_on_axis(lax.real(z)), value)


def _faddeeva_on_axis(x: Array) -> Array:
    return lax.complex(jnp.exp(-x * x), 2 / _ROOT_PI * _real_dawson(x))


@lax.custom_jvp
def _faddeeva_slope(z: Array) -> Array:
    upper, far, near = _on_half_planes(z)
    inverse = 1 / jnp.where(far, z, 1j)
    slope = jnp.where(far, -1j / _ROOT_PI * inverse * inverse, _upper_faddeeva(near)[1])
    slope = jnp.where(upper, slope, slope - 4 * z * jnp.exp(-z * z))
    x = lax.real(z)
    on_axis = lax.complex(-2 * x * jnp.exp(-x * x), lax.imag(slope))
    return jnp.where(lax.imag(z) == 0, on_axis, slope)


@_faddeeva.defjvp
def _faddeeva_jvp(primals, tangents):
    (z,), (t,) = primals, tangents
    return _faddeeva(z), t * _faddeeva_slope(z)


@_faddeeva_slope.defjvp
def _faddeeva_slope_jvp(primals, tangents):
    (z,), (t,) = primals, tangents
    slope = _faddeeva_slope(z)
    return slope, t * (-2 * (z * slope + _faddeeva(z)))


@elementwise(complexes=True)
def _wofz(z: Array) -> Array:
    if jnp.iscomplexobj(z):
        return _faddeeva(z)
    return _faddeeva_on_axis(z)


def wofz(z: ArrayLike) -> Array:
    """The Faddeeva function, exp(-z²) erfc(-i z).

    Args:
      z: complex or real numbers; small floats are taken as float32.

    Returns:
      Complex numbers.

    Example:
      >>> from ricci.scipy import special
      >>> round(float(abs(special.wofz(1 + 1j))), 5)
      0.36909

    Source: Weideman, SIAM J. Numer. Anal. 31 (1994) 1497.
    """
    z = jnp.asarray(z)
    small = z.dtype.name in ("float16", "bfloat16")
    return _wofz(z.astype("float32" if small else canonicalize_dtype(z.dtype)))


@elementwise(strict=True)
def ndtr(x: ArrayLike) -> Array:
    """The distribution function of the standard normal distribution.

    Args:
      x: numbers of dtype float32 or float64.

    Returns:
      An array of the shape of ``x``, of a float dtype.

    Raises:
      TypeError: for another dtype.

    Example:
      >>> from ricci.scipy import special
      >>> round(float(special.ndtr(1.0)), 5)
      0.84134

    Source: DLMF 7.18.
    """
    return 0.5 * lax.erfc(-_ROOT_HALF * x)


@lax.custom_jvp
def _log_ndtr(x: Array) -> Array:
    left = lambda x: jnp.log(0.5 * _real_erfcx(-_ROOT_HALF * x)) - 0.5 * x * x
    right = lambda x: jnp.log1p(-0.5 * lax.erfc(_ROOT_HALF * x))
    return pieces(x, (-1.0, left), (np.inf, right))


@_log_ndtr.defjvp
def _log_ndtr_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    value = _log_ndtr(x)
    left = lambda x: 2 * _ROOT_HALF / _ROOT_PI / _real_erfcx(-_ROOT_HALF * x)
    density = lambda x: _ROOT_HALF / _ROOT_PI * jnp.exp(-0.5 * x * x)
    right = lambda x: density(x) / (0.5 * lax.erfc(-_ROOT_HALF * x))
    return value, t * pieces(x, (-1.0, left), (np.inf, right))


@elementwise(strict=True)
def _log_ndtr_step(x: ArrayLike) -> Array:
    return _log_ndtr(cast(Array, x))


def log_ndtr(x: ArrayLike, series_order: int = 3) -> Array:
    """The logarithm of ``ndtr``, precise in both tails.

    Args:
      x: numbers of dtype float32 or float64.
      series_order: between 0 and 30. The tail is computed to full precision whatever it is.

    Returns:
      An array of the shape of ``x``, of a float dtype.

    Raises:
      TypeError: for another dtype, or an order that is not an integer.
      ValueError: for an order out of range.

    Example:
      >>> from ricci.scipy import special
      >>> round(float(special.log_ndtr(-40.0)), 3)
      -804.608
    """
    if not isinstance(series_order, int):
        raise TypeError(f"log_ndtr: series_order must be an integer, got {series_order!r}.")
    if not 0 <= series_order <= 30:
        raise ValueError(f"log_ndtr: series_order must be from 0 to 30, got {series_order}.")
    return _log_ndtr_step(x)


def _normal_quantile(p: Array) -> Array:
    ratio = lambda x, row: polynomial(x, row[0]) / polynomial(x, row[1])
    q = p - 0.5
    # A rational function of q² in the middle, and of sqrt(-log p) in the tails, where the quantile
    # grows like it.
    central = jnp.abs(q) <= 0.425
    middle = jnp.where(central, q, 0.0)
    near = middle * ratio(0.180625 - middle * middle, tables.NORMAL_QUANTILE_CENTER)
    tail = jnp.where(central, 0.05, jnp.where(q < 0, p, 1 - p))
    inside = (tail > 0) & (tail <= 0.5)
    distance = jnp.sqrt(-jnp.log(jnp.where(inside, tail, 0.05)))
    far = pieces(
        distance,
        (5.0, lambda r: ratio(r - 1.6, tables.NORMAL_QUANTILE_TAIL)),
        (np.inf, lambda r: r * chebyshev(1 / r, tables.NORMAL_QUANTILE_FAR_TAIL)),
    )
    far = jnp.where(inside, far, jnp.where(tail == 0, np.inf, np.nan))
    return jnp.where(central, near, jnp.where(q < 0, -far, far))


_ndtri = lax.custom_jvp(_normal_quantile)


@_ndtri.defjvp
def _ndtri_jvp(primals, tangents):
    (p,), (t,) = primals, tangents
    value = _ndtri(p)
    return value, t * (_ROOT_PI / _ROOT_HALF) * jnp.exp(0.5 * value * value)


@elementwise(strict=True)
def ndtri(p: ArrayLike) -> Array:
    """The inverse of ``ndtr``: the quantiles of the standard normal distribution.

    Args:
      p: probabilities of dtype float32 or float64; NaN results outside [0, 1].

    Returns:
      An array of the shape of ``p``, of a float dtype.

    Raises:
      TypeError: for another dtype.

    Example:
      >>> from ricci.scipy import special
      >>> round(float(special.ndtri(0.975)), 4)
      1.96

    Source: Wichura, algorithm AS 241, Applied Statistics 37 (1988) 477.
    """
    return _ndtri(cast(Array, p))


@lax.custom_jvp
def _inverse_erfc(y: Array) -> Array:
    return 0.0 - _ROOT_HALF * _normal_quantile(0.5 * y)  # not -0.0 at 1


@_inverse_erfc.defjvp
def _inverse_erfc_jvp(primals, tangents):
    (y,), (t,) = primals, tangents
    value = _inverse_erfc(y)
    # exp(v²) is erfcx(v) / erfc(v); the exponential loses the digits of large v.
    inner = jnp.where((y > 0) & (y < 2), jnp.minimum(y, 2 - y), 1.0)
    finite = jnp.where((y > 0) & (y < 2), jnp.abs(value), 0.0)
    slope = jnp.where((y == 0) | (y == 2), np.inf, _real_erfcx(finite) / inner)
    return value, t * (-0.5 * _ROOT_PI) * slope


@elementwise(weak=True)
def erfcinv(y: ArrayLike) -> Array:
    """The inverse of ``erfc``, for y in [0, 2], precise for small y.

    Args:
      y: real numbers; NaN results outside [0, 2].

    Returns:
      An array of the shape of ``y``, of a float dtype.

    Raises:
      ValueError: for complex numbers.

    Example:
      >>> from ricci.scipy import special
      >>> round(float(special.erfcinv(1e-20)), 4)
      6.6016

    See also:
      ``erfinv``, which cannot tell numbers near 1 apart.

    Source: DLMF 7.17; the normal distribution's quantile at y / 2.
    """
    return _inverse_erfc(cast(Array, y))


@lax.custom_jvp
def _owens_t(h: Array, a: Array) -> Array:
    h, width = jnp.abs(h), jnp.abs(a)
    steep = width > 1
    # For a > 1 the reflection brings a to (0, 1): with Q = 1 - Φ,
    # T(h, a) = (Q(h) + Q(ah)) / 2 - Q(h) Q(ah) - T(ah, 1/a).
    tail = lambda x: 0.5 * lax.erfc(_ROOT_HALF * x)
    far = jnp.where(h == 0, 0.0, h * width)
    mirrored = 0.5 * (tail(h) + tail(far)) - tail(h) * tail(far)
    height = jnp.where(steep, far, h)
    reach = jnp.where(steep, 1 / jnp.where(steep, width, 1.0), width)
    reach = jnp.minimum(reach, 9.0 / jnp.maximum(height, 1e-3))
    # The integral from 0 to reach, by a Gauss-Legendre rule of 32 points.
    nodes, weights = np.polynomial.legendre.leggauss(32)
    total = jnp.zeros_like(height)
    for node, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
        x = float(node) * reach
        y = 1 + x * x
        total = total + float(weight) * jnp.exp(-0.5 * height * height * y) / y
    near = reach * total / (2 * np.pi)
    value = jnp.where(steep, mirrored - near, near)
    return jnp.where(jnp.isnan(h) | jnp.isnan(a), np.nan, jnp.where(a < 0, -value, value))


@_owens_t.defjvp
def _owens_t_jvp(primals, tangents):
    (h, a), (th, ta) = primals, tangents
    by_h = -0.5 * jnp.exp(-0.5 * h * h) * lax.erf(_ROOT_HALF * a * h) * _ROOT_HALF / _ROOT_PI
    y = 1 + a * a
    by_a = jnp.exp(-0.5 * h * h * y) / (2 * np.pi * y)
    return _owens_t(h, a), th * by_h + ta * by_a


@elementwise()
def _owens_t_step(h: ArrayLike, a: ArrayLike, zero: ArrayLike) -> Array:
    return _owens_t(cast(Array, h), cast(Array, a))


def owens_t(h: ArrayLike, a: ArrayLike) -> Array:
    """Owen's T: 1/(2π) ∫₀ᵃ exp(-h² (1 + x²) / 2) / (1 + x²) dx.

    Args:
      h, a: real numbers.

    Returns:
      An array of the shape that the arguments broadcast to, of the widest float dtype: float64 with
      64-bit types, else float32.

    Example:
      >>> from ricci.scipy import special
      >>> round(float(special.owens_t(1.0, 0.5)), 5)
      0.04306

    Source: Owen, Ann. Math. Statist. 27 (1956) 1075.
    """
    return _owens_t_step(h, a, jnp.zeros((), float))
