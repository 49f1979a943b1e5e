"""The parts of floats and complex numbers: signs, exponents, fractions, bits, angles."""

from functools import lru_cache

import numpy as np

import ricci_lax as lax
from ricci_ir import (
    BOOL,
    Array,
    ArrayLike,
    composite,
    finfo,
    float0,
    issubdtype,
    itemsize_bits,
    promote_types,
    python_scalar_dtype,
)
from ricci_numpy._promotion import (
    COMPLEX_DTYPES,
    FLOAT_DTYPES,
    INEXACT_DTYPES,
    INTEGER_DTYPES,
    common_dtype,
    constant,
    convert,
    inexact_dtype,
    operands,
    promote_args_inexact,
    promote_dtypes_inexact,
    promote_shapes,
    strong_constant,
)
from ricci_numpy.arrays._creation import asarray
from ricci_numpy.arrays._filling import filled
from ricci_numpy.arrays._selection import select_where
from ricci_numpy.reductions._common_arguments import reduced_axes

from ._binary import add, divide, equal, greater, less, subtract
from ._comparison import isinf
from ._division import remainder
from ._unary import negative, rad2deg

__all__ = [
    "angle",
    "bitwise_count",
    "copysign",
    "frexp",
    "i0",
    "ldexp",
    "modf",
    "nan_to_num",
    "signbit",
    "sinc",
    "spacing",
    "unwrap",
]


def signbit(x: ArrayLike, /) -> Array:
    """Whether the sign bit of an element is set, as it is for -0.0.

    Args:
      x: an array or a scalar of real numbers.

    Returns:
      A boolean array of the shape of ``x``.

    Raises:
      ValueError: for complex numbers.

    Example:
      >>> import ricci.numpy as jnp
      >>> bool(jnp.signbit(-0.0))
      True

    Source: numpy.signbit.
    """
    (x,) = operands("signbit", x)
    return _signbit(x)


@composite("signbit")
def _signbit(x: Array) -> Array:
    if x.dtype in COMPLEX_DTYPES:
        raise ValueError(
            "signbit is not defined for complex numbers; test their real and imaginary parts."
        )
    if x.dtype == BOOL:
        return filled(x.shape, False, BOOL, False, "signbit")
    if x.dtype in INTEGER_DTYPES:
        return lax.lt(x, strong_constant(x.dtype, 0))
    width = itemsize_bits(x.dtype)
    bits = lax.bitcast_convert_type(x, np.dtype(f"int{width}"))
    return convert(lax.shift_right_arithmetic(bits, strong_constant(bits.dtype, width - 1)), BOOL)


def copysign(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The absolute value of the first operand with the sign of the second, as a float.

    Args:
      x1, x2: arrays or scalars of real numbers that broadcast.

    Returns:
      An array of the broadcast shape, of a float dtype.

    Raises:
      TypeError: for complex numbers.

    Example:
      >>> import ricci.numpy as jnp
      >>> float(jnp.copysign(3, -0.0))
      -3.0

    Source: numpy.copysign.
    """
    return _copysign(*operands("copysign", x1, x2))


@composite("copysign")
def _copysign(x1: Array, x2: Array) -> Array:
    x1, x2 = promote_args_inexact("copysign", x1, x2)
    if np.iscomplexobj(x1) or np.iscomplexobj(x2):
        raise TypeError("copysign is not defined for complex numbers.")
    size = lax.abs(x1)
    return select_where(_signbit.fun(asarray(x2)), lax.neg(size), size, "copysign")


def modf(x: ArrayLike, /, out: None = None) -> tuple[Array, Array]:
    """The fractional and the integral part of each element, both with its sign.

    Args:
      x: an array or a scalar of real numbers.
      out: not supported.

    Returns:
      A tuple of two arrays of floats, of the shape of ``x``.

    Raises:
      NotImplementedError: if ``out`` is given.

    Example:
      >>> import ricci.numpy as jnp
      >>> [float(part) for part in jnp.modf(-2.5)]
      [-0.5, -2.0]

    Source: numpy.modf.
    """
    if out is not None:
        raise NotImplementedError("modf: out= is not supported, since arrays do not change.")
    return _modf(*operands("modf", x))


@composite("modf")
def _modf(x: Array) -> tuple[Array, Array]:
    (x,) = promote_dtypes_inexact(x)
    whole = select_where(lax.ge(x, constant(x, 0)), lax.floor(x), lax.ceil(x), "modf")
    return lax.sub(x, whole), whole


def _layout(dtype: np.dtype) -> tuple[np.dtype, int, int]:
    """An integer dtype of the width of a float dtype, the mantissa's width, the exponent's bias."""
    info = finfo(dtype)
    return np.dtype(f"int{info.bits}"), info.nmant, 1 - int(info.minexp)


def frexp(x: ArrayLike, /) -> tuple[Array, Array]:
    """The mantissas and exponents of floats: ``x == mantissa * 2**exponent``.

    Mantissas have absolute values from 0.5 to 1, or are 0, infinite or NaN.

    Args:
      x: an array or a scalar of real numbers.

    Returns:
      A tuple of two arrays of the shape of ``x``: floats, and int32.

    Raises:
      TypeError: for complex numbers.

    Example:
      >>> import ricci.numpy as jnp
      >>> [float(part) for part in jnp.frexp(6.0)]
      [0.75, 3.0]

    Source: numpy.frexp.
    """
    return _frexp(*operands("frexp", x))


@composite("frexp")
def _frexp(x: Array) -> tuple[Array, Array]:
    (x,) = promote_dtypes_inexact(x)
    if x.dtype not in FLOAT_DTYPES:
        raise TypeError(f"frexp is not defined for dtype {x.dtype}.")
    return _mantissa_and_power(x)


@lax.custom_jvp
def _mantissa_and_power(x: Array) -> tuple[Array, Array]:
    dtype = x.dtype
    integer, mantissa, bias = _layout(dtype)
    # Subnormal numbers are scaled to be normal first, unless XLA has flushed them to zero.
    tiny = lax.lt(lax.abs(x), strong_constant(dtype, finfo(dtype).tiny))
    scaled = select_where(tiny, lax.mul(x, strong_constant(dtype, 2.0**mantissa)), x)
    bits = lax.bitcast_convert_type(scaled, integer)
    field = (1 << (integer.itemsize * 8 - 1 - mantissa)) - 1
    exponent = lax.bitwise_and(
        lax.shift_right_logical(bits, strong_constant(integer, mantissa)),
        strong_constant(integer, field),
    )
    kept = lax.bitwise_and(bits, strong_constant(integer, ~(field << mantissa)))
    half = lax.bitwise_or(kept, strong_constant(integer, (bias - 1) << mantissa))
    fraction = lax.bitcast_convert_type(half, dtype)
    power = lax.sub(
        convert(exponent, np.dtype("int32")), strong_constant(np.dtype("int32"), bias - 1)
    )
    power = select_where(tiny, lax.sub(power, strong_constant(power.dtype, mantissa)), power)
    zero = lax.eq(x, strong_constant(dtype, 0))
    special = lax.bitwise_or(zero, lax.bitwise_or(isinf(x), lax.ne(x, x)))
    return (
        select_where(special, x, fraction, "frexp"),
        select_where(special, strong_constant(power.dtype, 0), power, "frexp"),
    )


@_mantissa_and_power.defjvp
def _mantissa_and_power_jvp(
    primals: tuple[Array], tangents: tuple[Array]
) -> tuple[tuple[Array, Array], tuple[Array, np.ndarray]]:
    fraction, power = _mantissa_and_power(*primals)
    (t,) = tangents
    return (fraction, power), (_scaled(t, lax.neg(power)), np.zeros(power.shape, float0))


def _scaled(x: Array, n: Array) -> Array:
    """``x`` times 2 to the powers ``n``, rounded once; ``n`` holds int32 in the shape of ``x``.

    A power is the bits of its exponent, since the compiler's ``exp2`` is off in the last places.
    One beyond the range of normal numbers is a product of several. The smallest factor comes
    first: then no product but the last is subnormal.
    """
    integer, mantissa, bias = _layout(x.dtype)
    limit = bias - 1
    low, high = (strong_constant(n.dtype, value) for value in (-limit, limit))
    factors = []
    for _ in range(3):
        part = lax.min(lax.max(n, low), high)
        n = lax.sub(n, part)
        field = lax.add(convert(part, integer), strong_constant(integer, bias))
        bits = lax.shift_left(field, strong_constant(integer, mantissa))
        factors.append(lax.bitcast_convert_type(bits, x.dtype))
    for factor in reversed(factors):
        x = lax.mul(x, factor)
    return x


def ldexp(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The first operand times 2 to the power of the second, which holds integers.

    Args:
      x1: an array or a scalar of real numbers.
      x2: an integer array or scalar that broadcasts with it.

    Returns:
      An array of the broadcast shape, of a float dtype.

    Raises:
      ValueError: if the second operand does not hold integers, or the first is complex.

    Example:
      >>> import ricci.numpy as jnp
      >>> float(jnp.ldexp(0.75, 3))
      6.0

    Source: numpy.ldexp.
    """
    x1, x2 = operands("ldexp", x1, x2)
    first, second = common_dtype(x1)[0], common_dtype(x2)[0]
    if first in COMPLEX_DTYPES or second in INEXACT_DTYPES:
        raise ValueError(
            f"ldexp takes real numbers and integers as exponents, got {first} and {second}."
        )
    return _ldexp(x1, x2)


@composite("ldexp")
def _ldexp(x1: Array, x2: Array) -> Array:
    (x,) = promote_dtypes_inexact(x1)
    x, n = promote_shapes("ldexp", x, convert(x2, np.dtype("int32")))
    return _scaled(x, n)


def spacing(x: ArrayLike, /) -> Array:
    """The distance to the next float away from zero.

    Args:
      x: an array or a scalar of real numbers.

    Returns:
      An array of floats of the shape of ``x``.

    Example:
      >>> import ricci.numpy as jnp
      >>> bool(jnp.spacing(1.0) == jnp.finfo(jnp.float32).eps)
      True

    Source: numpy.spacing.
    """
    return _spacing(*operands("spacing", x))


@composite("spacing")
def _spacing(x: Array) -> Array:
    (x,) = promote_dtypes_inexact(x)
    info = finfo(x.dtype)
    smallest = strong_constant(x.dtype, info.smallest_subnormal)
    infinity = strong_constant(x.dtype, np.inf)
    away, least = infinity, smallest
    # As in NumPy, the distance is negative for negative numbers, except in float16.
    if x.dtype != np.float16:
        below = _signbit.fun(x)
        away = select_where(below, lax.neg(infinity), infinity, "spacing")
        least = select_where(below, lax.neg(smallest), smallest, "spacing")
    away = lax.broadcast(away, x.shape) if not np.shape(away) else away
    step = lax.sub(lax.nextafter(x, away), x)
    return select_where(lax.eq(step, strong_constant(x.dtype, 0)), least, step, "spacing")


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
    return _angle(*operands("angle", z), deg=bool(deg))


@composite("angle")
def _angle(z: Array, *, deg: bool) -> Array:
    if z.dtype in COMPLEX_DTYPES:
        real, imaginary = lax.real(z), lax.imag(z)
        parts = imaginary, real
    else:
        if z.dtype not in FLOAT_DTYPES or not z.shape:
            z = convert(z, promote_types(z.dtype, python_scalar_dtype(float)))
        parts = lax.full_like(z, 0), z
    found = lax.atan2(*parts)
    return rad2deg(found) if deg else found


def nan_to_num(
    x: ArrayLike,
    copy: bool = True,
    nan: ArrayLike = 0.0,
    posinf: ArrayLike | None = None,
    neginf: ArrayLike | None = None,
) -> Array:
    """The elements with NaN and infinities replaced.

    Args:
      x: an array.
      copy: ignored; the result is a new array.
      nan: what replaces NaN.
      posinf, neginf: what replaces infinities, the largest and smallest floats without them.

    Returns:
      An array of the shape and dtype of ``x``.

    This hides where a NaN came from, and does not stop its gradient: the gradient of what made the
    NaN is NaN times 0. See ``where``.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.nan_to_num(jnp.array([1.0, jnp.nan, -jnp.inf]), neginf=-9.0).tolist()
      [1.0, 0.0, -9.0]

    Source: numpy.nan_to_num.
    """
    (x,) = operands("nan_to_num", x)
    x = asarray(x)
    if x.dtype not in INEXACT_DTYPES:
        return x
    lowest, highest = _ends(x.dtype)
    ends = (highest if posinf is None else posinf, lowest if neginf is None else neginf)
    return _nan_to_num(x, *operands("nan_to_num", nan, *ends))


@lru_cache(maxsize=64)
def _ends(dtype: np.dtype) -> tuple[np.floating, np.floating]:
    """The smallest and the largest finite number of a dtype."""
    info = finfo(dtype)
    return info.min, info.max


@composite("nan_to_num")
def _nan_to_num(x: Array, nan: Array, posinf: Array, neginf: Array) -> Array:
    if x.dtype in COMPLEX_DTYPES:
        parts = lax.real(x), lax.imag(x)
        return lax.complex(*(_nan_to_num.fun(part, nan, posinf, neginf) for part in parts))
    x = _replace(lax.ne(x, x), nan, x)
    x = _replace(lax.eq(x, strong_constant(x.dtype, np.inf)), posinf, x)
    return _replace(lax.eq(x, strong_constant(x.dtype, -np.inf)), neginf, x)


def _replace(mask: Array, value: Array, x: Array) -> Array:
    return convert(select_where(mask, value, x, "nan_to_num"), x.dtype)


def bitwise_count(x: ArrayLike, /) -> Array:
    """How many bits of the absolute value of an integer are set.

    Args:
      x: an integer array or scalar.

    Returns:
      An array of uint8 of the shape of ``x``.

    Raises:
      TypeError: for dtypes that are not integer or boolean.

    Example:
      >>> import ricci.numpy as jnp
      >>> int(jnp.bitwise_count(7))
      3

    Source: numpy.bitwise_count.
    """
    return _bitwise_count(*operands("bitwise_count", x))


@composite("bitwise_count")
def _bitwise_count(x: Array) -> Array:
    if x.dtype == BOOL:
        x = convert(x, python_scalar_dtype(int))
    if not issubdtype(x.dtype, np.unsignedinteger):
        x = lax.abs(x)
    return convert(lax.population_count(x), np.dtype("uint8"))


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
      Array([ 1.        ,  0.63659996, -0.        ], dtype=float32)
      >>> float(ricci.grad(jnp.sinc)(0.0))  # the quotient itself would give NaN
      0.0

    Source: numpy.sinc.
    """
    return _sinc(*operands("sinc", x))


@composite("sinc")
def _sinc(x: Array) -> Array:
    (x,) = promote_dtypes_inexact(x)
    infinite = isinf(x)
    scaled = lax.mul(constant(x, np.pi), x)
    one = constant(x, 1)
    scaled = select_where(infinite, one, scaled, "sinc")
    # At 0 the quotient and its derivatives are not defined, and near it they lose accuracy. The
    # power series is used below 1, where it is exact up to rounding (the first term that it
    # leaves out is y**14 / 15!).
    size = lax.abs(scaled)
    near = lax.lt(size, constant(size, 1))
    squared = lax.square(select_where(near, scaled, constant(x, 0), "sinc"))
    series = constant(x, _SINC_SERIES[0])
    for coefficient in _SINC_SERIES[1:]:
        series = lax.add(lax.mul(series, squared), constant(x, coefficient))
    far = select_where(near, one, scaled, "sinc")
    result = select_where(near, series, lax.div(lax.sin(far), far), "sinc")
    return select_where(infinite, constant(x, 0), result, "sinc")


# (-1)**n / (2n + 1)!, from the highest power to the constant.
_SINC_SERIES = (1 / 6227020800, -1 / 39916800, 1 / 362880, -1 / 5040, 1 / 120, -1 / 6, 1.0)


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
    (x,) = promote_dtypes_inexact(*operands("i0", x))
    x = asarray(x)
    if x.dtype not in FLOAT_DTYPES:
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


def unwrap(
    p: ArrayLike,
    discont: ArrayLike | None = None,
    axis: int = -1,
    period: ArrayLike = 2 * np.pi,
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
    (p,) = operands("unwrap", p)
    p = asarray(p)
    if p.dtype in COMPLEX_DTYPES:
        raise ValueError("unwrap is not defined for complex numbers; take angle of them first.")
    (turn,) = operands("unwrap", period)
    dtype, _ = common_dtype(p, turn)
    if dtype in INTEGER_DTYPES and not hasattr(type(turn), "aval"):
        half, rest = divmod(int(turn), 2)
        ends_meet = rest == 0
    else:
        dtype, _ = inexact_dtype(dtype)
        half, ends_meet = divide(turn, 2), True
    # What has no elements is returned as it is.
    p = convert(p, dtype, p.weak_type and not p.size)
    (axis,) = reduced_axes("unwrap", axis, p.ndim)
    given = (p, turn, half) if discont is None else (p, turn, half, discont)
    return _unwrap(*given, axis=axis, ends_meet=ends_meet)


@composite("unwrap")
def _unwrap(
    p: Array,
    period: Array,
    half: Array,
    discont: Array | None = None,
    *,
    axis: int,
    ends_meet: bool,
) -> Array:
    n = p.shape[axis]
    dtype = p.dtype
    if n == 0:
        return p
    jumps = lax.sub(lax.slice_in_dim(p, 1, n, axis=axis), lax.slice_in_dim(p, 0, n - 1, axis=axis))
    wrapped = subtract(remainder(add(jumps, half), period), half)
    if ends_meet:
        up = lax.bitwise_and(equal(wrapped, negative(half)), greater(jumps, 0))
        wrapped = select_where(up, half, wrapped, "unwrap")
    small = less(lax.abs(jumps), half if discont is None else discont)
    added = select_where(small, strong_constant(dtype, 0), subtract(wrapped, jumps), "unwrap")
    first, later = lax.slice_in_dim(p, 0, 1, axis=axis), lax.slice_in_dim(p, 1, n, axis=axis)
    return lax.concatenate([first, lax.add(later, lax.cumsum(convert(added, dtype), axis))], axis)
