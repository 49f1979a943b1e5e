"""Arithmetic that takes several operations.

Powers, lengths, steps, extremes without NaNs, and logarithms of sums of exponentials.
"""

from collections.abc import Callable

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_ir import Array, ArrayLike, Tracer
from ricci_lax.authoring import BinaryFunction, UnaryFunction
from ricci_numpy import _promotion as promotion
from ricci_numpy.arrays._broadcasting import select_where
from ricci_numpy.arrays._creation import asarray

from ._factories import FLOATS, publish

__all__ = ["float_power", "fmax", "fmin", "heaviside", "hypot", "pow", "power"]


def power(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The first operand to the power of the second.

    Args:
      x1, x2: arrays or scalars; dtypes are promoted and shapes broadcast. With a single integer
        as exponent, of Python, NumPy or an array that is not traced, the base is multiplied by
        itself, which is faster and differentiable everywhere; the result has the base's dtype.

    Returns:
      An array of the broadcast shape, of the base's dtype for a static integer exponent,
      otherwise of the promoted dtype.

    Raises:
      TypeError: if an operand is not an array or scalar, or an integer is raised to a negative
        integer that is concrete.

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
    if type(x1) is type(x2) and hasattr(type(x1), "aval"):
        aval = ir.get_aval(x1)
        if aval is ir.get_aval(x2) and aval.dtype in promotion.INEXACT_DTYPES:
            return lax.pow_p.bind(x1, x2)
    base, exponent = promotion.operands("power", x1, x2)
    if isinstance(exponent, np.ndarray) and not exponent.shape:
        exponent = exponent[()]
    elif _is_concrete_integer(exponent):
        exponent = int(exponent)
    if isinstance(exponent, int | np.integer | np.bool_):
        if not hasattr(type(base), "aval"):
            base = asarray(base)
        if base.dtype == ir.BOOL:
            base = promotion.convert(base, promotion.INT32)
        return lax.integer_pow(base, int(exponent))
    exponent_dtype = _dtype_of(exponent)
    if type(base) is int and exponent_dtype == ir.BOOL:
        base = ir.python_scalar_dtype(int).type(base)
    dtype, weak = promotion.common_dtype(base)
    together = (
        dtype not in promotion.INEXACT_DTYPES or exponent_dtype not in promotion.INTEGER_DTYPES
    )
    if together:  # integers of either sign may promote to floats
        dtype, weak = promotion.common_dtype(base, exponent)
    if dtype in promotion.INEXACT_DTYPES:
        base = promotion.scalar_or_array(base, dtype, weak)
        exponent = (
            promotion.scalar_or_array(exponent, dtype, weak) if together else asarray(exponent)
        )
        return lax.pow(*promotion.promote_shapes("power", base, exponent))
    # As in JAX, a power with a concrete exponent is weakly typed if the base is.
    is_concrete = not isinstance(exponent, Tracer)
    if is_concrete and not np.ndim(exponent) and _dtype_of(base) == ir.BOOL:
        base = promotion.convert(base, promotion.INT32)
    result = _integer_power(base, exponent)
    weak = is_concrete and exponent_dtype != ir.BOOL
    return promotion.convert(result, result.dtype) if result.aval.weak_type and not weak else result


def _dtype_of(x: ArrayLike) -> np.dtype:
    return promotion.common_dtype(x)[0]


def _is_concrete_integer(x: ArrayLike) -> bool:
    """Whether a value is a concrete array of rank 0 of an integer dtype."""
    return (
        hasattr(type(x), "aval")
        and not isinstance(x, Tracer)
        and not np.ndim(x)
        and _dtype_of(x) in promotion.INTEGER_DTYPES
    )


@ir.inlined("power")
def _integer_power(x: Array, n: Array) -> Array:
    """Integers to the power of integers, by squaring; negative powers are not defined."""
    x, n = promotion.promote_args_numeric("power", x, n)
    vanishes = lax.bitwise_and(
        lax.eq(x, promotion.constant(x, 0)), lax.ne(n, promotion.constant(n, 0))
    )
    result = select_where(vanishes, promotion.constant(x, 0), promotion.constant(x, 1), "power")
    # Six bits are enough: powers from 64 up of any integer but 0, 1 and -1 overflow 64 bits.
    for bit in range(6):
        if bit:
            x = lax.mul(x, x)
            n = lax.shift_right_logical(n, promotion.constant(n, 1))
        odd = lax.bitwise_and(n, promotion.constant(n, 1))
        odd = lax.ne(odd, promotion.constant(odd, 0))
        result = select_where(odd, lax.mul(result, x), result, "power")
    return promotion.convert(result, result.dtype) if result.shape else result


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


@ir.dispatched()
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
    return lax.pow(*promotion.promote_args_inexact("float_power", x, y))


@ir.dispatched()
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
    return _fmax(*promotion.operands("fmax", x1, x2))


@ir.dispatched()
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
    return _fmin(*promotion.operands("fmin", x1, x2))


@ir.composite("fmax")
def _fmax(x1: Array, x2: Array) -> Array:
    return _better("fmax", x1, x2, lax.gt)


@ir.composite("fmin")
def _fmin(x1: Array, x2: Array) -> Array:
    return _better("fmin", x1, x2, lax.lt)


def _better(name: str, x1: Array, x2: Array, beats: Callable[[Array, Array], Array]) -> Array:
    """The element that beats the other one, or the one that is not NaN."""
    x1, x2 = promotion.promote_args(name, x1, x2)
    if np.iscomplexobj(x1):
        equal = lax.eq(lax.real(x1), lax.real(x2))
        imaginary = beats(lax.imag(x1), lax.imag(x2))
        first = select_where(equal, imaginary, beats(lax.real(x1), lax.real(x2)), name)
    else:
        first = beats(x1, x2)
    return select_where(lax.bitwise_or(first, lax.ne(x2, x2)), x1, x2, name)


@ir.dispatched()
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
    return _hypot(*promotion.operands("hypot", x1, x2))


@ir.composite("hypot")
def _hypot(x1: Array, x2: Array) -> Array:
    x1, x2 = promotion.promote_args_inexact("hypot", x1, x2)
    weak = ir.get_aval(x1).weak_type and ir.get_aval(x2).weak_type
    if np.iscomplexobj(x1):
        raise ValueError("hypot is not defined for complex numbers; take abs of them first.")
    x1, x2 = lax.abs(x1), lax.abs(x2)
    infinity = promotion.strong_constant(x1.dtype, np.inf)
    infinite = lax.bitwise_or(lax.eq(x1, infinity), lax.eq(x2, infinity))
    # large * sqrt(1 + (small / large)**2): no square leaves the range of the dtype.
    large, small = lax.max(x1, x2), lax.min(x1, x2)
    vanishes = lax.eq(large, promotion.constant(large, 0))
    ratio = lax.div(small, select_where(vanishes, promotion.constant(large, 1), large))
    length = lax.mul(large, lax.sqrt(lax.add(promotion.constant(ratio, 1), lax.square(ratio))))
    length = select_where(vanishes, large, length)
    length = select_where(infinite, promotion.constant(length, np.inf), length)
    return promotion.convert(length, length.dtype, weak)


@ir.dispatched()
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
    return _heaviside(*promotion.operands("heaviside", x1, x2))


@ir.composite("heaviside")
def _heaviside(x1: Array, x2: Array) -> Array:
    x1, x2 = promotion.promote_args_inexact("heaviside", x1, x2)
    zero, one = promotion.constant(x1, 0), promotion.constant(x1, 1)
    below, above = lax.lt(x1, zero), lax.gt(x1, zero)
    result = select_where(lax.ne(x1, x1), x1, x2, "heaviside")
    return select_where(below, zero, select_where(above, one, result, "heaviside"), "heaviside")


def _log_sum(x1: Array, x2: Array, power: UnaryFunction, scale: float, full_turn: float) -> Array:
    if np.iscomplexobj(x1):
        return _complex_log_sum(x1, x2, power, scale, full_turn)
    largest = lax.max(x1, x2)
    difference = lax.sub(x1, x2)
    # The difference of equal infinities is NaN; the result is that infinity, their sum.
    undefined = lax.ne(difference, difference)
    small = lax.log1p(power(lax.neg(lax.abs(difference))))
    if scale != 1:
        small = lax.mul(promotion.constant(small, scale), small)
    return select_where(undefined, lax.add(x1, x2), lax.add(largest, small), "logaddexp")


def _complex_log_sum(
    x1: Array, x2: Array, power: UnaryFunction, scale: float, full_turn: float
) -> Array:
    first = lax.gt(lax.real(x1), lax.real(x2))
    largest = select_where(first, x1, x2, "logaddexp")
    difference = select_where(first, lax.sub(x2, x1), lax.sub(x1, x2), "logaddexp")
    small = lax.mul(promotion.constant(difference, scale), lax.log1p(power(difference)))
    total = lax.add(largest, small)
    angle = lax.imag(total)
    turns = lax.round(lax.div(angle, promotion.constant(angle, full_turn)))
    return lax.complex(
        lax.real(total), lax.sub(angle, lax.mul(turns, promotion.constant(angle, full_turn)))
    )


def _logistic(x: Array, factor: float) -> Array:
    """The logistic function of ``factor * x``, in float32 for narrow floats."""
    wide = x if x.dtype.itemsize >= 4 else lax.convert_element_type(x, np.float32)
    if factor != 1:
        wide = lax.mul(promotion.constant_like(wide, factor), wide)
    return lax.convert_element_type(lax.logistic(wide), x.dtype)


def _differentiable(
    name: str, power: UnaryFunction, scale: float, full_turn: float
) -> BinaryFunction:
    """The logarithm of the sum of two powers, with its derivative.

    Args:
      name: the function, for messages.
      power: the exponential function of the base.
      scale: the logarithm of e to the base.
      full_turn: the imaginary part by which logarithms of one number differ.
    """

    def value(x1, x2):
        return _log_sum(x1, x2, power, scale, full_turn)

    value.__name__ = name
    function = lax.custom_jvp(value)

    def weight(x: Array, other: Array, result: Array) -> Array:
        """The derivative by ``x``: the share of its power in the sum.

        A power of ``x - result`` would have the rounding of the result.
        """
        infinite = lax.eq(result, promotion.constant_like(result, np.inf))
        # Infinities are replaced first, so that second derivatives hold no NaN.
        finite = [select_where(infinite, promotion.constant_like(v, 0), v) for v in (x, other)]
        share = _logistic(lax.sub(*finite), 1 / scale)
        chosen = lax.eq(x, result)
        return select_where(
            infinite,
            select_where(chosen, promotion.constant_like(x, 1), promotion.constant_like(x, 0)),
            share,
            name,
        )

    @function.defjvp
    def _jvp(primals, tangents):
        x1, x2 = primals
        t1, t2 = tangents
        result = function(x1, x2)
        if np.iscomplexobj(result):
            shares = [power(lax.sub(x, result)) for x in (x1, x2)]
        else:
            shares = [weight(x1, x2, result), weight(x2, x1, result)]
        return result, lax.add(lax.mul(t1, shares[0]), lax.mul(t2, shares[1]))

    return function


_logaddexp = _differentiable("logaddexp", lax.exp, 1.0, 2 * np.pi)
_logaddexp2 = _differentiable(
    "logaddexp2", lax.exp2, float(1 / np.log(2)), float(2 * np.pi / np.log(2))
)


@ir.inlined("logaddexp")
def _logaddexp_step(x1: Array, x2: Array) -> Array:
    return _logaddexp(*promotion.promote_args_inexact("logaddexp", x1, x2))


@ir.inlined("logaddexp2")
def _logaddexp2_step(x1: Array, x2: Array) -> Array:
    return _logaddexp2(*promotion.promote_args_inexact("logaddexp2", x1, x2))


logaddexp = publish(
    lambda x1, x2, /: _logaddexp_step(*promotion.operands("logaddexp", x1, x2)),
    "logaddexp",
    "The logarithm of the sum of the exponentials.",
    "round(float(jnp.logaddexp(0.0, 0.0)), 4)",
    "0.6931",
    "x1",
    "x2",
    gives=FLOATS,
)
logaddexp2 = publish(
    lambda x1, x2, /: _logaddexp2_step(*promotion.operands("logaddexp2", x1, x2)),
    "logaddexp2",
    "The logarithm to base 2 of the sum of the powers of 2.",
    "round(float(jnp.logaddexp2(0.0, 0.0)), 3)",
    "1.0",
    "x1",
    "x2",
    gives=FLOATS,
)
