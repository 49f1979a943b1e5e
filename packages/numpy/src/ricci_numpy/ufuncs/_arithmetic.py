"""Arithmetic that takes several operations: division with remainder, powers, rounding, clipping."""

from collections.abc import Callable
from functools import reduce
from operator import index

import numpy as np

import ricci_lax as lax
from ricci_ir import (
    BOOL,
    Array,
    ArrayLike,
    DTypeLike,
    Tracer,
    composite,
    inlined,
    issubdtype,
    python_scalar_dtype,
)
from ricci_numpy._promotion import (
    COMPLEX_DTYPES,
    FLOAT_DTYPES,
    INEXACT_DTYPES,
    INT32,
    INTEGER_DTYPES,
    common_dtype,
    constant,
    constant_like,
    convert,
    operands,
    promote_args,
    promote_args_inexact,
    promote_args_numeric,
    promote_shapes,
    scalar_or_array,
    strong_constant,
)
from ricci_numpy.arrays._creation import asarray
from ricci_numpy.arrays._selection import select_where
from ricci_numpy.reductions._common_arguments import no_out

__all__ = [
    "around",
    "clip",
    "divmod",
    "float_power",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "heaviside",
    "hypot",
    "mod",
    "pow",
    "power",
    "remainder",
    "rint",
    "round",
    "trunc",
]


def _is_unsigned(dtype: DTypeLike) -> bool:
    return issubdtype(dtype, np.unsignedinteger)


def floor_divide(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The quotient rounded down.

    Args:
      x1, x2: arrays or scalars of real numbers; dtypes are promoted and shapes broadcast.

    Returns:
      An array of the broadcast shape and of the promoted dtype: of integers, integers.

    Raises:
      TypeError: if an operand is no array or scalar, or complex.

    Integers divided by 0 raise no error and give a number without meaning. Where a divisor may be
    0, replace it first, as in ``x // where(y == 0, 1, y)``.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.floor_divide(jnp.array([7, -7]), 2).tolist()  # rounded down, not to zero
      [3, -4]
      >>> jnp.floor_divide(7.5, 2)
      Array(3., dtype=float32, weak_type=True)
      >>> (jnp.array([7, -7]) / 2).tolist()
      [3.5, -3.5]

    See also:
      ``divide``, which gives floats; ``remainder``; ``trunc``.

    Source: numpy.floor_divide.
    """
    return _floor_divide(*operands("floor_divide", x1, x2))


@composite("floor_divide")
def _floor_divide(x1: Array, x2: Array) -> Array:
    x1, x2 = promote_args_numeric("floor_divide", x1, x2)
    dtype = common_dtype(x1, x2)[0]
    if dtype in COMPLEX_DTYPES:
        raise TypeError("floor_divide is not defined for complex numbers.")
    if dtype in FLOAT_DTYPES:
        return _float_divmod(x1, x2)[0]
    quotient = lax.div(x1, x2)
    if _is_unsigned(dtype):
        return quotient
    differs = lax.ne(lax.sign(x1), lax.sign(x2))
    rest = lax.rem(x1, x2)
    down = lax.bitwise_and(differs, lax.ne(rest, constant(rest, 0)))
    return select_where(down, lax.sub(quotient, constant_like(quotient, 1)), quotient)


def remainder(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The remainder of a division that rounds down; it has the sign of the divisor.

    Args:
      x1, x2: arrays or scalars of real numbers; dtypes are promoted and shapes broadcast.

    Returns:
      An array of the broadcast shape and of the promoted dtype.

    Raises:
      TypeError: if an operand is no array or scalar, or complex.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.remainder(jnp.array([7, -7]), 3).tolist()
      [1, 2]
      >>> float(jnp.remainder(-0.5, 2 * jnp.pi)) < 2 * jnp.pi  # an angle in a whole turn
      True

    See also:
      ``fmod``, whose sign is that of the dividend.

    Source: numpy.remainder.
    """
    return _remainder(*operands("remainder", x1, x2))


@composite("remainder")
def _remainder(x1: Array, x2: Array) -> Array:
    x1, x2 = promote_args_numeric("remainder", x1, x2)
    divisor = _nonzero_divisor(x2)
    rest = lax.rem(x1, divisor)
    zero = constant(rest, 0)
    inexact = lax.ne(rest, zero)
    differs = lax.ne(lax.lt(rest, zero), lax.lt(divisor, constant(divisor, 0)))
    wrong = lax.bitwise_and(differs, inexact)
    found = select_where(wrong, lax.add(rest, divisor), rest)
    return _with_zeros_of(found, divisor) if common_dtype(found)[0] in FLOAT_DTYPES else found


@lax.custom_jvp
def _with_zeros_of(rest: Array, divisor: ArrayLike) -> Array:
    """Remainders, whose zeros get the sign of the divisor, as the array API standard has it."""
    negative = lax.lt(divisor, constant(divisor, 0))
    signed = select_where(negative, constant_like(rest, -0.0), constant_like(rest, 0))
    return select_where(lax.eq(rest, constant(rest, 0)), signed, rest)


_with_zeros_of.defjvps(lambda t, found, rest, divisor: t, None)


def mod(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The remainder of a division that rounds down; see ``remainder``.

    Args:
      x1, x2: as for ``remainder``.

    Returns:
      An array of the broadcast shape and of the promoted dtype.

    Example:
      >>> import ricci.numpy as jnp
      >>> int(jnp.mod(-7, 2))
      1

    Source: numpy.mod.
    """
    return remainder(x1, x2)


def _nonzero_divisor(x: ArrayLike) -> ArrayLike:
    """Integer divisors with 1 in place of 0, so that the remainder by 0 is 0, as in NumPy."""
    if common_dtype(x)[0] not in INTEGER_DTYPES:
        return x
    if not hasattr(type(x), "aval"):
        return x if np.all(x) else np.where(x == 0, 1, x)[()].astype(common_dtype(x)[0])
    return select_where(lax.eq(x, constant(x, 0)), constant_like(x, 1), x)


def fmod(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The remainder of a division that rounds towards zero; it has the sign of the dividend.

    Args:
      x1, x2: arrays or scalars of real numbers; dtypes are promoted and shapes broadcast.

    Returns:
      An array of the broadcast shape and of the promoted dtype.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.fmod(jnp.array([7, -7]), 3).tolist(), jnp.remainder(jnp.array([7, -7]), 3).tolist()
      ([1, -1], [1, 2])

    See also:
      ``remainder``, whose sign is that of the divisor.

    Source: numpy.fmod.
    """
    return _fmod(*operands("fmod", x1, x2))


@composite("fmod")
def _fmod(x1: Array, x2: Array) -> Array:
    x1, x2 = promote_args_numeric("fmod", x1, x2)
    return lax.rem(x1, _nonzero_divisor(x2))


def divmod(x1: ArrayLike, x2: ArrayLike, /) -> tuple[Array, Array]:
    """The quotient rounded down, and the remainder; see ``floor_divide`` and ``remainder``.

    Args:
      x1, x2: as for ``floor_divide``.

    Returns:
      A tuple of two arrays, ``x1 // x2`` and ``x1 % x2``.

    Example:
      >>> import ricci.numpy as jnp
      >>> [int(x) for x in jnp.divmod(-7, 2)]
      [-4, 1]

    Source: numpy.divmod.
    """
    return _divmod(*operands("divmod", x1, x2))


@composite("divmod")
def _divmod(x1: Array, x2: Array) -> tuple[Array, Array]:
    x1, x2 = promote_args_numeric("divmod", x1, x2)
    if common_dtype(x1, x2)[0] in FLOAT_DTYPES:
        return _float_divmod(x1, x2)
    return _floor_divide.fun(x1, x2), _remainder.fun(x1, x2)


def _float_divmod(x1: Array, x2: Array) -> tuple[Array, Array]:
    """The quotient of floats rounded down, and the remainder."""
    rest = lax.rem(x1, x2)
    # The dividend minus the remainder divides without a rest, where rounding the quotient would
    # be inexact. With a zero or an infinity the array API standard has the quotient itself.
    size1, size2 = lax.abs(x1), lax.abs(x2)
    quotient_is_whole = _any(
        *(lax.eq(size, constant(size, value)) for size in (size1, size2) for value in (0, np.inf))
    )
    whole = lax.div(select_where(quotient_is_whole, x1, lax.sub(x1, rest)), x2)
    wrong = lax.bitwise_and(lax.ne(rest, constant(rest, 0)), lax.ne(lax.sign(x2), lax.sign(rest)))
    rest = _with_zeros_of(select_where(wrong, lax.add(rest, x2), rest), x2)
    down = lax.bitwise_and(wrong, lax.bitwise_not(quotient_is_whole))
    whole = select_where(down, lax.sub(whole, constant_like(whole, 1)), whole)
    return lax.round(whole), rest


def _any(*masks: Array) -> Array:
    return reduce(lax.bitwise_or, masks)


def power(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The first operand to the power of the second.

    Args:
      x1, x2: arrays or scalars; dtypes are promoted and shapes broadcast. With a Python or
        NumPy integer as exponent the base is multiplied by itself, which is faster and
        differentiable everywhere; the result has the dtype of the base.

    Returns:
      An array of the broadcast shape, of the base's dtype for an integer exponent known beforehand,
      otherwise of the promoted dtype.

    Raises:
      TypeError: if an operand is no array or scalar, or an integer is raised to a negative
        Python or NumPy integer.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.power(jnp.array([2, 3]), 2).tolist()
      [4, 9]
      >>> jnp.power(jnp.array([2.0, 4.0]), jnp.array([-1.0, 0.5])).tolist()
      [0.5, 2.0]
      >>> jnp.power(-8.0, 1 / 3)  # no real root of a negative base
      Array(nan, dtype=float32, weak_type=True)

    See also:
      ``float_power``; ``cbrt``, ``sqrt``.

    Source: numpy.power.
    """
    base, exponent = operands("power", x1, x2)
    if isinstance(exponent, np.ndarray) and not exponent.shape:
        exponent = exponent[()]
    if isinstance(exponent, int | np.integer | np.bool_):
        if not hasattr(type(base), "aval"):
            base = asarray(base)
        if base.dtype == BOOL:
            base = convert(base, INT32)
        return lax.integer_pow(base, int(exponent))
    exponent_dtype = _dtype_of(exponent)
    if type(base) is int and exponent_dtype == BOOL:
        base = python_scalar_dtype(int).type(base)
    dtype, weak = common_dtype(base)
    if dtype not in INEXACT_DTYPES or exponent_dtype not in INTEGER_DTYPES:
        dtype, weak = common_dtype(base, exponent)
    if dtype in INEXACT_DTYPES:
        base = scalar_or_array(base, dtype, weak)
        if _dtype_of(exponent) not in INTEGER_DTYPES or not hasattr(type(exponent), "aval"):
            exponent = scalar_or_array(exponent, dtype, weak)
        return lax.pow(*promote_shapes("power", base, exponent))
    # With an exponent whose value is known, JAX makes a power that is as weak as the base.
    known = not isinstance(exponent, Tracer)
    if known and not np.ndim(exponent) and _dtype_of(base) == BOOL:
        base = convert(base, INT32)
    result = _integer_power(base, exponent)
    weak = known and exponent_dtype != BOOL
    return convert(result, result.dtype) if result.aval.weak_type and not weak else result


def _dtype_of(x: ArrayLike) -> np.dtype:
    return common_dtype(x)[0]


@inlined("power")
def _integer_power(x: Array, n: Array) -> Array:
    """Integers to the power of integers, by squaring; negative powers are not defined."""
    x, n = promote_args_numeric("power", x, n)
    vanishes = lax.bitwise_and(lax.eq(x, constant(x, 0)), lax.ne(n, constant(n, 0)))
    result = select_where(vanishes, constant(x, 0), constant(x, 1), "power")
    for bit in range(6):
        if bit:
            x = lax.mul(x, x)
            n = lax.shift_right_logical(n, constant(n, 1))
        odd = lax.bitwise_and(n, constant(n, 1))
        odd = lax.ne(odd, constant(odd, 0))
        result = select_where(odd, lax.mul(result, x), result, "power")
    return convert(result, result.dtype) if result.shape else result


def pow(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The first operand to the power of the second; see ``power``.

    Args:
      x1, x2: as for ``power``.

    Returns:
      An array of the broadcast shape and of the promoted dtype.

    Example:
      >>> import ricci.numpy as jnp
      >>> int(jnp.pow(3, 2))
      9

    Source: numpy.pow.
    """
    return power(x1, x2)


def float_power(x: ArrayLike, y: ArrayLike, /) -> Array:
    """The first operand to the power of the second, as floats.

    Args:
      x, y: arrays or scalars that broadcast.

    Returns:
      An array of the broadcast shape, of a float or complex dtype.

    Example:
      >>> import ricci.numpy as jnp
      >>> float(jnp.float_power(4, -1))
      0.25

    Source: numpy.float_power.
    """
    return lax.pow(*promote_args_inexact("float_power", x, y))


def fmax(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The larger of two elements; where one is NaN, the other one.

    Args:
      x1, x2: arrays or scalars of real numbers that broadcast.

    Returns:
      An array of the broadcast shape and of the promoted dtype.

    Example:
      >>> import ricci.numpy as jnp
      >>> float(jnp.fmax(1.0, jnp.nan))
      1.0

    See also:
      ``maximum``, which gives NaN.

    Source: numpy.fmax.
    """
    return _fmax(*operands("fmax", x1, x2))


def fmin(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The smaller of two elements; where one is NaN, the other one.

    Args:
      x1, x2: arrays or scalars of real numbers that broadcast.

    Returns:
      An array of the broadcast shape and of the promoted dtype.

    Example:
      >>> import ricci.numpy as jnp
      >>> float(jnp.fmin(1.0, jnp.nan))
      1.0

    See also:
      ``minimum``, which gives NaN.

    Source: numpy.fmin.
    """
    return _fmin(*operands("fmin", x1, x2))


@composite("fmax")
def _fmax(x1: Array, x2: Array) -> Array:
    return _better("fmax", x1, x2, lax.gt)


@composite("fmin")
def _fmin(x1: Array, x2: Array) -> Array:
    return _better("fmin", x1, x2, lax.lt)


def _better(name: str, x1: Array, x2: Array, beats: Callable[[Array, Array], Array]) -> Array:
    """The element that beats the other one, or the one that is not NaN."""
    x1, x2 = promote_args(name, x1, x2)
    if np.iscomplexobj(x1):
        equal = lax.eq(lax.real(x1), lax.real(x2))
        imaginary = beats(lax.imag(x1), lax.imag(x2))
        first = select_where(equal, imaginary, beats(lax.real(x1), lax.real(x2)), name)
    else:
        first = beats(x1, x2)
    return select_where(lax.bitwise_or(first, lax.ne(x2, x2)), x1, x2, name)


def hypot(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The length of the hypotenuse over two legs, without overflow on the way.

    Args:
      x1, x2: arrays or scalars of real numbers that broadcast.

    Returns:
      An array of the broadcast shape, of a float dtype.

    Raises:
      ValueError: for complex numbers.

    Example:
      >>> import ricci.numpy as jnp
      >>> float(jnp.hypot(3, 4))
      5.0
      >>> round(float(jnp.hypot(3e30, 4e30)) / 1e30, 4)  # the squares would be infinite
      5.0

    Source: numpy.hypot.
    """
    return _hypot(*operands("hypot", x1, x2))


@composite("hypot")
def _hypot(x1: Array, x2: Array) -> Array:
    x1, x2 = promote_args_inexact("hypot", x1, x2)
    if np.iscomplexobj(x1):
        raise ValueError("hypot is not defined for complex numbers; take abs of them first.")
    x1, x2 = lax.abs(x1), lax.abs(x2)
    infinity = strong_constant(x1.dtype, np.inf)
    infinite = lax.bitwise_or(lax.eq(x1, infinity), lax.eq(x2, infinity))
    large, small = lax.max(x1, x2), lax.min(x1, x2)
    vanishes = lax.eq(large, constant(large, 0))
    ratio = lax.div(small, select_where(vanishes, constant(large, 1), large))
    length = lax.mul(large, lax.sqrt(lax.add(constant(ratio, 1), lax.square(ratio))))
    length = select_where(vanishes, large, length)
    return select_where(infinite, constant(length, np.inf), length)


def heaviside(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The step function: 0 for negative elements, 1 for positive ones, ``x2`` at 0.

    Args:
      x1: an array or a scalar of real numbers.
      x2: the values at 0, which broadcast with ``x1``.

    Returns:
      An array of the broadcast shape, of a float dtype.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.heaviside(jnp.array([-2.0, 0.0, 3.0]), 0.5).tolist()
      [0.0, 0.5, 1.0]

    Source: numpy.heaviside.
    """
    return _heaviside(*operands("heaviside", x1, x2))


@composite("heaviside")
def _heaviside(x1: Array, x2: Array) -> Array:
    x1, x2 = promote_args_inexact("heaviside", x1, x2)
    zero, one = constant(x1, 0), constant(x1, 1)
    below, above = lax.lt(x1, zero), lax.gt(x1, zero)
    result = select_where(lax.ne(x1, x1), x1, x2, "heaviside")
    return select_where(below, zero, select_where(above, one, result, "heaviside"), "heaviside")


def clip(
    arr: ArrayLike | None = None,
    /,
    min: ArrayLike | None = None,
    max: ArrayLike | None = None,
) -> Array:
    """The elements limited to an interval.

    Args:
      arr: an array of real numbers.
      min, max: the ends of the interval, arrays or scalars that broadcast with ``arr``; ``None``
        is no limit. Where they cross, the result is ``max``.

    Returns:
      An array of the broadcast shape and of the promoted dtype.

    Raises:
      TypeError: if an operand is no array or scalar.
      ValueError: for complex numbers.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> jnp.clip(jnp.array([-1, 2, 9]), 0, 5).tolist()
      [0, 2, 5]
      >>> jnp.clip(jnp.array([-1, 2, 9]), max=5).tolist()
      [-1, 2, 5]
      >>> slope = ricci.grad(lambda x: jnp.clip(x, 0.0, 5.0))
      >>> float(slope(2.0)), float(slope(9.0))  # no gradient outside
      (1.0, 0.0)

    Source: numpy.clip.
    """
    if arr is None:
        raise ValueError("clip: the array to limit is missing.")
    given = operands("clip", *[x for x in (arr, min, max) if x is not None])
    return _clip(*given, lower=min is not None)


@composite("clip")
def _clip(arr: Array, *bounds: Array, lower: bool) -> Array:
    if any(x.dtype in COMPLEX_DTYPES for x in (arr, *bounds)):
        raise ValueError("clip is not defined for complex numbers: they have no order.")
    for i, bound in enumerate(bounds):
        limit = lax.max if i == 0 and lower else lax.min
        arr = limit(*promote_args("clip", bound, arr))
    return arr


def round(a: ArrayLike, decimals: int = 0, out: None = None) -> Array:
    """The elements rounded to a number of decimals, halves to even.

    Args:
      a: an array.
      decimals: how many digits after the decimal point stay; negative for places before it.
      out: not supported.

    Returns:
      An array of the shape and dtype of ``a``.

    Raises:
      TypeError: if ``a`` is no array or ``decimals`` no int.
      ValueError: for booleans.
      NotImplementedError: for integers and negative ``decimals``.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.round(jnp.array([0.5, 1.5, 2.5])).tolist()  # halves to even
      [0.0, 2.0, 2.0]
      >>> jnp.round(jnp.array([123.0, 456.0]), -2).tolist()
      [100.0, 500.0]

    Source: numpy.round.
    """
    (a,) = operands("round", a)
    no_out("round", out)
    return _round(a, decimals=index(decimals))


@composite("round")
def _round(a: Array, *, decimals: int) -> Array:
    a = asarray(a)
    if a.dtype == BOOL:
        raise ValueError("round is not defined for booleans.")
    if a.dtype in INTEGER_DTYPES:
        if decimals < 0:
            raise NotImplementedError(
                "round: with decimals below 0, integers would have to be rounded to tens, which "
                "is not supported. Round a float."
            )
        return a
    if a.dtype in COMPLEX_DTYPES:
        return lax.complex(_rounded(lax.real(a), decimals), _rounded(lax.imag(a), decimals))
    return _rounded(a, decimals)


def _rounded(x: Array, decimals: int) -> Array:
    even = lax.RoundingMethod.TO_NEAREST_EVEN
    if decimals == 0:
        return lax.round(x, even)
    dtype = x.dtype
    if dtype.itemsize < 4:
        x = convert(x, np.dtype("float32"))
    factor = constant(x, 10.0**decimals)
    found = lax.div(lax.round(lax.mul(x, factor), even), factor)
    return found if found.dtype == dtype else convert(found, dtype)


def around(a: ArrayLike, decimals: int = 0, out: None = None) -> Array:
    """The elements rounded to a number of decimals; see ``round``.

    Args:
      a, decimals, out: as for ``round``.

    Returns:
      An array of the shape and dtype of ``a``.

    Example:
      >>> import ricci.numpy as jnp
      >>> float(jnp.around(2.5))
      2.0

    Source: numpy.around.
    """
    return round(a, decimals, out)


def rint(x: ArrayLike, /) -> Array:
    """The elements rounded to whole numbers, halves to even, as floats.

    Args:
      x: an array or a scalar.

    Returns:
      An array of the shape of ``x``, of a float or complex dtype.

    Example:
      >>> import ricci.numpy as jnp
      >>> float(jnp.rint(3.5))
      4.0

    Source: numpy.rint.
    """
    (x,) = operands("rint", x)
    return _rint(x)


@composite("rint")
def _rint(x: Array) -> Array:
    if x.dtype not in INEXACT_DTYPES:
        return convert(x, python_scalar_dtype(float))
    return _round.fun(x, decimals=0)


def trunc(x: ArrayLike) -> Array:
    """The elements rounded towards zero.

    Args:
      x: an array or a scalar of real numbers.

    Returns:
      An array of the shape and dtype of ``x``.

    Example:
      >>> import ricci.numpy as jnp
      >>> float(jnp.trunc(-1.7))
      -1.0

    Source: numpy.trunc.
    """
    (x,) = operands("trunc", x)
    return _trunc(x)


@composite("trunc")
def _trunc(x: Array) -> Array:
    if x.dtype not in INEXACT_DTYPES:
        return x
    return select_where(lax.lt(x, constant(x, 0)), lax.ceil(x), lax.floor(x), "trunc")
