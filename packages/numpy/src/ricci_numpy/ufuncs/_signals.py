"""Functions of signals and their spectra: angle, sinc, i0, unwrap."""

import math

import numpy as np

import ricci_lax as lax
from ricci_ir import Array, ArrayLike, composite, dispatched, python_scalar_dtype
from ricci_numpy import _promotion as promotion
from ricci_numpy.arrays._broadcasting import select_where
from ricci_numpy.arrays._creation import asarray
from ricci_numpy.reductions._reduced_axes import reduced_axes

from ._binary import add, divide, equal, greater, less, logical_and, subtract
from ._comparison import isinf
from ._division import floor_divide, remainder
from ._unary import absolute, negative, rad2deg

__all__ = ["angle", "i0", "sinc", "unwrap"]


@dispatched("deg")
def angle(z: ArrayLike, deg: bool = False) -> Array:
    """The angle of a complex number in the plane, in radians.

    Args:
      z: an array; real numbers have the angle 0 or pi.
      deg: give degrees instead.

    Returns:
      An array of floats of the shape of ``z``.

    Example:
      >>> import ricci.numpy as jnp
      >>> round(float(jnp.angle(1j, deg=True)), 3)
      90.0

    Source: numpy.angle.
    """
    return _angle(*promotion.operands("angle", z), deg=bool(deg))


@composite("angle")
def _angle(z: Array, *, deg: bool) -> Array:
    if z.dtype in promotion.COMPLEX_DTYPES:
        real, imaginary = lax.real(z), lax.imag(z)
        parts = imaginary, real
    else:
        is_float, wide = z.dtype in promotion.FLOAT_DTYPES, python_scalar_dtype(float)
        if not is_float or not z.shape:
            z = promotion.convert(
                z, z.dtype if is_float and z.dtype.itemsize > wide.itemsize else wide
            )
        parts = lax.full_like(z, 0), z
    radians = lax.atan2(*parts)
    return rad2deg(radians) if deg else radians


# (-1)**n / (2n + 1)!, from the highest power to the constant.
_SINC_SERIES = (1 / 6227020800, -1 / 39916800, 1 / 362880, -1 / 5040, 1 / 120, -1 / 6, 1.0)


def _series_terms(dtype: np.dtype) -> list[float]:
    """The coefficients of ``sinc(r)`` by powers of ``r**2``, from the highest, for ``|r| <= 1/2``.

    What is left out is below ``pi**(2n) / (4**n (2n + 1)!)``: 4e-10 for n = 7, 8e-19 for n = 11.
    """
    terms = 7 if dtype.itemsize <= 4 else 11
    return [
        (-1) ** n * np.pi ** (2 * n) / math.factorial(2 * n + 1) for n in reversed(range(terms))
    ]


@dispatched()
def sinc(x: ArrayLike, /) -> Array:
    """``sin(pi * x) / (pi * x)``, which is 1 at 0.

    Args:
      x: an array or a scalar.

    Returns:
      An array of the shape of ``x``, of a float or complex dtype.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> jnp.sinc(jnp.array([0.0, 0.5, 1.0])).round(4)
      Array([1.        , 0.63659996, 0.        ], dtype=float32)
      >>> float(ricci.grad(jnp.sinc)(0.0))  # the quotient itself would give NaN
      0.0

    Source: numpy.sinc.
    """
    return _sinc(*promotion.operands("sinc", x))


@composite("sinc")
def _sinc(x: Array) -> Array:
    (x,) = promotion.promote_dtypes_inexact(x)
    if x.dtype in promotion.COMPLEX_DTYPES:
        return _complex_sinc(x)
    if x.dtype.itemsize < 4:
        return promotion.convert(_real_sinc(promotion.convert(x, np.float32)), x.dtype)
    return _real_sinc(x)


def _real_sinc(x: Array) -> Array:
    # With n the nearest integer and r = x - n, which is exact, sin(pi x) is (-1)**n sin(pi r): no
    # accuracy is lost in pi x, however large x is, and r is small enough for a power series.
    zero, one = promotion.constant(x, 0), promotion.constant(x, 1)
    infinite = isinf(x)
    nearest = lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)
    squared = lax.square(select_where(infinite, zero, lax.sub(x, nearest), "sinc"))
    highest, *lower = _series_terms(x.dtype)
    series = promotion.constant(x, highest)
    for coefficient in lower:
        series = lax.add(lax.mul(series, squared), promotion.constant(x, coefficient))
    # Of the absolute values, since the function is even: so it is +0, not -0, at integers.
    size, integer = lax.abs(x), lax.abs(nearest)
    half = lax.mul(promotion.constant(x, 0.5), integer)
    is_odd = lax.ne(lax.floor(half), half)
    distance = select_where(is_odd, lax.sub(integer, size), lax.sub(size, integer), "sinc")
    distance = select_where(infinite, zero, distance, "sinc")
    # Around 0, where n is 0, the quotient r / x is 1, and has no derivative at 0 itself.
    around_zero = lax.eq(integer, zero)
    factor = select_where(around_zero, one, distance, "sinc")
    divisor = select_where(around_zero, one, size, "sinc")
    return lax.div(lax.mul(factor, series), divisor)


def _complex_sinc(x: Array) -> Array:
    infinite = isinf(x)
    scaled = lax.mul(promotion.constant(x, np.pi), x)
    one = promotion.constant(x, 1)
    scaled = select_where(infinite, one, scaled, "sinc")
    # At 0 the quotient and its derivatives are not defined, and near it they lose accuracy. The
    # power series is used below 1, where it is exact up to rounding (the first term that it
    # leaves out is y**14 / 15!).
    size = lax.abs(scaled)
    near = lax.lt(size, promotion.constant(size, 1))
    squared = lax.square(select_where(near, scaled, promotion.constant(x, 0), "sinc"))
    series = promotion.constant(x, _SINC_SERIES[0])
    for coefficient in _SINC_SERIES[1:]:
        series = lax.add(lax.mul(series, squared), promotion.constant(x, coefficient))
    far = select_where(near, one, scaled, "sinc")
    result = select_where(near, series, lax.div(lax.sin(far), far), "sinc")
    return select_where(infinite, promotion.constant(x, 0), result, "sinc")


@dispatched()
def i0(x: ArrayLike) -> Array:
    """The modified Bessel function of the first kind of order 0.

    Args:
      x: an array or a scalar of real numbers.

    Returns:
      An array of floats of the shape of ``x``.

    Raises:
      ValueError: for complex numbers.

    Example:
      >>> import ricci.numpy as jnp
      >>> round(float(jnp.i0(0.0)), 4)
      1.0

    Source: numpy.i0.
    """
    (x,) = promotion.promote_dtypes_inexact(*promotion.operands("i0", x))
    x = asarray(x)
    if x.dtype not in promotion.FLOAT_DTYPES:
        raise ValueError(f"i0 is defined for real numbers only, got dtype {x.dtype}.")
    return _i0(x)


@composite("i0")
def _i0(x: Array) -> Array:
    return _bessel_i0(x)


@lax.custom_jvp
def _bessel_i0(x: Array) -> Array:
    return lax.mul(lax.exp(lax.abs(x)), lax.bessel_i0e(x))


@_bessel_i0.defjvp
def _bessel_i0_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    # The absolute value has no derivative at 0, where that of the product is I1(0) = 0.
    (x,), (t,) = primals, tangents
    slope = lax.mul(lax.exp(lax.abs(x)), lax.bessel_i1e(x))
    return _bessel_i0(x), lax.mul(t, slope)


@dispatched("axis")
def unwrap(
    p: ArrayLike, discont: ArrayLike | None = None, axis: int = -1, period: ArrayLike = 2 * np.pi
) -> Array:
    """The angles along an axis with multiples of the period added, so that they do not jump.

    Args:
      p: an array of real numbers.
      discont: the least jump that is removed, half a period without it.
      axis: the axis.
      period: a whole turn.

    Returns:
      An array of the shape of ``p``.

    Raises:
      ValueError: if ``p`` is complex or has no such axis.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.unwrap(jnp.array([0.0, 4.0, 0.0]), period=5).tolist()
      [0.0, -1.0, 0.0]

    Source: numpy.unwrap.
    """
    (p,) = promotion.operands("unwrap", p)
    p = asarray(p)
    if p.dtype in promotion.COMPLEX_DTYPES:
        raise ValueError("unwrap is not defined for complex numbers; take angle of them first.")
    (turn,) = promotion.operands("unwrap", period)
    dtype, _ = promotion.common_dtype(p, turn)
    if dtype in promotion.COMPLEX_DTYPES:
        raise ValueError(f"unwrap: the period must be real, got {period}.")
    if dtype not in promotion.INTEGER_DTYPES:
        dtype, _ = promotion.inexact_dtype(dtype)
        ends_meet = True
        if type(period) is float and period == 2 * np.pi:
            # The default is a constant of the step, not an operand that is copied to the device.
            turn = half = None
        else:
            half = divide(turn, 2)
    elif hasattr(type(turn), "aval"):
        half, ends_meet = floor_divide(turn, 2), None
    else:
        half, odd = divmod(int(turn), 2)
        ends_meet = odd == 0
    # An empty array is returned unchanged.
    p = promotion.convert(p, dtype, p.weak_type and not p.size)
    (axis,) = reduced_axes("unwrap", axis, p.ndim)
    arguments = (p, turn, half) if discont is None else (p, turn, half, discont)
    return _unwrap(*arguments, axis=axis, ends_meet=ends_meet)


@composite("unwrap")
def _unwrap(
    p: Array,
    period: ArrayLike | None,
    half: ArrayLike | None,
    discont: ArrayLike | None = None,
    *,
    axis: int,
    ends_meet: bool | None,
) -> Array:
    """Unwrap angles in radians, or with the period and its half.

    ``ends_meet`` is whether ``half`` is exactly half the period, ``None`` if traced.
    """
    n = p.shape[axis]
    dtype = p.dtype
    period = promotion.strong_constant(dtype, 2 * np.pi) if period is None else period
    half = promotion.strong_constant(dtype, np.pi) if half is None else half
    if n == 0:
        return p
    # Each jump is replaced by the one in [-half, half) that differs from it by multiples of the
    # period, unless it is small already. The changes add up along the axis. A jump of exactly half
    # a period keeps its sign, as in NumPy.
    jumps = lax.sub(lax.slice_in_dim(p, 1, n, axis=axis), lax.slice_in_dim(p, 0, n - 1, axis=axis))
    wrapped = subtract(remainder(add(jumps, half), period), half)
    if ends_meet is not False:
        up = lax.bitwise_and(equal(wrapped, negative(half)), greater(jumps, 0))
        if ends_meet is None:
            up = logical_and(up, equal(period, add(half, half)))
        wrapped = select_where(up, half, wrapped, "unwrap")
    small = less(absolute(jumps), half if discont is None else discont)
    added = select_where(
        small, promotion.strong_constant(dtype, 0), subtract(wrapped, jumps), "unwrap"
    )
    first, later = lax.slice_in_dim(p, 0, 1, axis=axis), lax.slice_in_dim(p, 1, n, axis=axis)
    return lax.concatenate(
        [first, lax.add(later, lax.cumsum(promotion.convert(added, dtype), axis))], axis
    )
