"""The parts of numbers: signs, exponents, fractions, bits; values for NaN and infinities."""

from functools import lru_cache

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_numpy import _promotion as promotion
from ricci_numpy.arrays._broadcasting import select_where
from ricci_numpy.arrays._creation import asarray
from ricci_numpy.arrays._filling import filled

from ._comparison import isinf

__all__ = ["bitwise_count", "copysign", "frexp", "ldexp", "modf", "nan_to_num", "signbit"]
__all__ += ["spacing"]


@ir.dispatched()
def signbit(x: ir.ArrayLike, /) -> ir.Array:
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
    (x,) = promotion.operands("signbit", x)
    return _signbit(x)


@ir.composite("signbit")
def _signbit(x: ir.Array) -> ir.Array:
    if x.dtype in promotion.COMPLEX_DTYPES:
        raise ValueError(
            "signbit is not defined for complex numbers; test their real and imaginary parts."
        )
    if x.dtype == ir.BOOL:
        return filled(x.shape, False, ir.BOOL, False, "signbit")
    if x.dtype in promotion.INTEGER_DTYPES:
        return lax.lt(x, promotion.strong_constant(x.dtype, 0))
    width = ir.itemsize_bits(x.dtype)
    # A comparison with 0 does not see the sign of −0 or of NaN. Shifted arithmetically by all bits
    # but one, an integer is −1 or 0.
    bits = lax.bitcast_convert_type(x, np.dtype(f"int{width}"))
    return promotion.convert(
        lax.shift_right_arithmetic(bits, promotion.strong_constant(bits.dtype, width - 1)), ir.BOOL
    )


@ir.dispatched()
def copysign(x1: ir.ArrayLike, x2: ir.ArrayLike, /) -> ir.Array:
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
    return _copysign(*promotion.operands("copysign", x1, x2))


@ir.composite("copysign")
def _copysign(x1: ir.Array, x2: ir.Array) -> ir.Array:
    x1, x2 = promotion.promote_args_inexact("copysign", x1, x2)
    if np.iscomplexobj(x1) or np.iscomplexobj(x2):
        raise TypeError("copysign is not defined for complex numbers.")
    size = lax.abs(x1)
    return select_where(_signbit.fun(asarray(x2)), lax.neg(size), size, "copysign")


@ir.dispatched("out")
def modf(x: ir.ArrayLike, /, out: None = None) -> tuple[ir.Array, ir.Array]:
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
    promotion.no_out("modf", out)
    return _modf(*promotion.operands("modf", x))


@ir.composite("modf")
def _modf(x: ir.Array) -> tuple[ir.Array, ir.Array]:
    (x,) = promotion.promote_dtypes_inexact(x)
    # Both parts have the sign of the number: the integral one is rounded towards zero.
    whole = select_where(lax.ge(x, promotion.constant(x, 0)), lax.floor(x), lax.ceil(x), "modf")
    return lax.sub(x, whole), whole


def _layout(dtype: np.dtype) -> tuple[np.dtype, int, int]:
    """An integer dtype of the width of a float dtype, the mantissa's width, the exponent's bias."""
    info = ir.finfo(dtype)
    return np.dtype(f"int{info.bits}"), info.nmant, 1 - int(info.minexp)


@ir.dispatched()
def frexp(x: ir.ArrayLike, /) -> tuple[ir.Array, ir.Array]:
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
    return _frexp(*promotion.operands("frexp", x))


@ir.composite("frexp")
def _frexp(x: ir.Array) -> tuple[ir.Array, ir.Array]:
    (x,) = promotion.promote_dtypes_inexact(x)
    if x.dtype not in promotion.FLOAT_DTYPES:
        raise TypeError(f"frexp is not defined for dtype {x.dtype}.")
    return _mantissa_and_power(x)


@lax.custom_jvp
def _mantissa_and_power(x: ir.Array) -> tuple[ir.Array, ir.Array]:
    dtype = x.dtype
    integer, mantissa, bias = _layout(dtype)
    # Subnormal numbers are scaled to be normal first, unless XLA has flushed them to zero.
    tiny = lax.lt(lax.abs(x), promotion.strong_constant(dtype, ir.finfo(dtype).tiny))
    scaled = select_where(tiny, lax.mul(x, promotion.strong_constant(dtype, 2.0**mantissa)), x)
    bits = lax.bitcast_convert_type(scaled, integer)
    # From the highest bit: the sign, the exponent plus the bias, and the fraction.
    field = (1 << (integer.itemsize * 8 - 1 - mantissa)) - 1
    exponent = lax.bitwise_and(
        lax.shift_right_logical(bits, promotion.strong_constant(integer, mantissa)),
        promotion.strong_constant(integer, field),
    )
    sign_and_fraction = lax.bitwise_and(
        bits, promotion.strong_constant(integer, ~(field << mantissa))
    )
    # With this exponent the absolute value is in [1/2, 1).
    half = lax.bitwise_or(
        sign_and_fraction, promotion.strong_constant(integer, (bias - 1) << mantissa)
    )
    fraction = lax.bitcast_convert_type(half, dtype)
    power = lax.sub(
        promotion.convert(exponent, np.dtype("int32")),
        promotion.strong_constant(np.dtype("int32"), bias - 1),
    )
    power = select_where(
        tiny, lax.sub(power, promotion.strong_constant(power.dtype, mantissa)), power
    )
    zero = lax.eq(x, promotion.strong_constant(dtype, 0))
    special = lax.bitwise_or(zero, lax.bitwise_or(isinf(x), lax.ne(x, x)))
    return (
        select_where(special, x, fraction, "frexp"),
        select_where(special, promotion.strong_constant(power.dtype, 0), power, "frexp"),
    )


# The mantissa is the number times a power of 2 that is constant between the jumps.
@_mantissa_and_power.defjvp
def _mantissa_and_power_jvp(
    primals: tuple[ir.Array], tangents: tuple[ir.Array]
) -> tuple[tuple[ir.Array, ir.Array], tuple[ir.Array, np.ndarray]]:
    fraction, power = _mantissa_and_power(*primals)
    (t,) = tangents
    return (fraction, power), (_scaled(t, lax.neg(power)), np.zeros(power.shape, ir.float0))


def _scaled(x: ir.Array, n: ir.Array) -> ir.Array:
    """``x`` times 2 to the powers ``n``, rounded once; ``n`` holds int32 in the shape of ``x``.

    A power is the bits of its exponent, since the compiler's ``exp2`` is off in the last places.
    One beyond the range of normal numbers is a product of several. The smallest factor comes
    first: then no product but the last is subnormal.
    """
    integer, mantissa, bias = _layout(x.dtype)
    limit = bias - 1
    low, high = (promotion.strong_constant(n.dtype, value) for value in (-limit, limit))
    factors = []
    # Three factors cover all powers between the smallest subnormal and the largest number.
    for _ in range(3):
        part = lax.min(lax.max(n, low), high)
        n = lax.sub(n, part)
        field = lax.add(promotion.convert(part, integer), promotion.strong_constant(integer, bias))
        bits = lax.shift_left(field, promotion.strong_constant(integer, mantissa))
        factors.append(lax.bitcast_convert_type(bits, x.dtype))
    for factor in reversed(factors):
        x = lax.mul(x, factor)
    return x


@ir.dispatched()
def ldexp(x1: ir.ArrayLike, x2: ir.ArrayLike, /) -> ir.Array:
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
    x1, x2 = promotion.operands("ldexp", x1, x2)
    first, second = promotion.common_dtype(x1)[0], promotion.common_dtype(x2)[0]
    if first in promotion.COMPLEX_DTYPES or second in promotion.INEXACT_DTYPES:
        raise ValueError(
            f"ldexp takes real numbers and integers as exponents, got {first} and {second}."
        )
    return _ldexp(x1, x2)


@ir.composite("ldexp")
def _ldexp(x1: ir.Array, x2: ir.Array) -> ir.Array:
    (x,) = promotion.promote_dtypes_inexact(x1)
    x, n = promotion.promote_shapes("ldexp", x, promotion.convert(x2, np.dtype("int32")))
    return _scaled(x, n)


@ir.dispatched()
def spacing(x: ir.ArrayLike, /) -> ir.Array:
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
    return _spacing(*promotion.operands("spacing", x))


@ir.composite("spacing")
def _spacing(x: ir.Array) -> ir.Array:
    (x,) = promotion.promote_dtypes_inexact(x)
    info = ir.finfo(x.dtype)
    smallest = promotion.strong_constant(x.dtype, info.smallest_subnormal)
    infinity = promotion.strong_constant(x.dtype, np.inf)
    away, least = infinity, smallest
    # As in NumPy, the distance is negative for negative numbers, except in float16.
    if x.dtype != np.float16:
        below = _signbit.fun(x)
        away = select_where(below, lax.neg(infinity), infinity, "spacing")
        least = select_where(below, lax.neg(smallest), smallest, "spacing")
    away = lax.broadcast(away, x.shape) if not np.shape(away) else away
    step = lax.sub(lax.nextafter(x, away), x)
    return select_where(lax.eq(step, promotion.strong_constant(x.dtype, 0)), least, step, "spacing")


@ir.dispatched("copy")
def nan_to_num(
    x: ir.ArrayLike,
    copy: bool = True,
    nan: ir.ArrayLike = 0.0,
    posinf: ir.ArrayLike | None = None,
    neginf: ir.ArrayLike | None = None,
) -> ir.Array:
    """The elements with NaN and infinities replaced.

    Args:
      x: an array.
      copy: ignored; the result is a new array.
      nan: the value that replaces NaN.
      posinf, neginf: the values that replace infinities; by default the extreme floats.

    Returns:
      An array of the shape and dtype of ``x``.

    This hides where a NaN came from, and does not stop its gradient: that of the operation which
    produced the NaN is NaN times 0. See ``where``.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.nan_to_num(jnp.array([1.0, jnp.nan, -jnp.inf]), neginf=-9.0).tolist()
      [1.0, 0.0, -9.0]

    Source: numpy.nan_to_num.
    """
    (x,) = promotion.operands("nan_to_num", x)
    x = asarray(x)
    if x.dtype not in promotion.INEXACT_DTYPES:
        return x
    # The step holds the default values.
    is_default = type(nan) is float and repr(nan) == "0.0"
    values = (None if is_default else nan, posinf, neginf)
    return _nan_to_num(
        x, *(v if v is None else promotion.operands("nan_to_num", v)[0] for v in values)
    )


@lru_cache(maxsize=64)
def _ends(dtype: np.dtype) -> tuple[np.floating, np.floating]:
    """The smallest and the largest finite number of a dtype."""
    info = ir.finfo(dtype)
    return info.min, info.max


@ir.composite("nan_to_num")
def _nan_to_num(
    x: ir.Array, nan: ir.Array | None, posinf: ir.Array | None, neginf: ir.Array | None
) -> ir.Array:
    if x.dtype in promotion.COMPLEX_DTYPES:
        parts = lax.real(x), lax.imag(x)
        return lax.complex(*(_nan_to_num.fun(part, nan, posinf, neginf) for part in parts))
    lowest, highest = _ends(x.dtype)
    x = _replace(lax.ne(x, x), 0.0 if nan is None else nan, x)
    above = highest if posinf is None else posinf
    below = lowest if neginf is None else neginf
    x = _replace(lax.eq(x, promotion.strong_constant(x.dtype, np.inf)), above, x)
    return _replace(lax.eq(x, promotion.strong_constant(x.dtype, -np.inf)), below, x)


def _replace(mask: ir.Array, value: ir.ArrayLike, x: ir.Array) -> ir.Array:
    return promotion.convert(select_where(mask, value, x, "nan_to_num"), x.dtype)


@ir.dispatched()
def bitwise_count(x: ir.ArrayLike, /) -> ir.Array:
    """The number of bits that are set in the absolute value of an integer.

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
    return _bitwise_count(*promotion.operands("bitwise_count", x))


@ir.composite("bitwise_count")
def _bitwise_count(x: ir.Array) -> ir.Array:
    if x.dtype == ir.BOOL:
        x = promotion.convert(x, ir.python_scalar_dtype(int))
    if not ir.issubdtype(x.dtype, np.unsignedinteger):
        x = lax.abs(x)
    return promotion.convert(lax.population_count(x), np.dtype("uint8"))
