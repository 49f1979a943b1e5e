"""Division with remainder, rounding down or to zero; common divisors and multiples."""

from functools import reduce

import numpy as np

import ricci_lax as lax
from ricci_ir import Array, ArrayLike, composite, dispatched, issubdtype
from ricci_numpy._promotion import (
    COMPLEX_DTYPES,
    FLOAT_DTYPES,
    INTEGER_DTYPES,
    common_dtype,
    constant,
    constant_like,
    convert,
    operands,
    promote_args,
    promote_args_numeric,
    promote_shapes,
)
from ricci_numpy.arrays._broadcasting import broadcast, broadcast_shape, select_where

from ._unary import abs as size_of

__all__ = ["divmod", "floor_divide", "fmod", "gcd", "lcm", "mod", "remainder"]


@dispatched()
def floor_divide(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The quotient rounded down.

    Args:
      x1, x2: arrays or scalars of real numbers; dtypes are promoted and shapes broadcast.

    Returns:
      An array of the broadcast shape and of the promoted dtype: of integers, integers.

    Raises:
      TypeError: if an operand is not an array or scalar, or complex.

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
    if issubdtype(dtype, np.unsignedinteger):
        return quotient
    # lax.div rounds towards zero: an inexact quotient of operands with different signs is too large
    # by 1.
    differs = lax.ne(lax.sign(x1), lax.sign(x2))
    remainders = lax.rem(x1, x2)
    down = lax.bitwise_and(differs, lax.ne(remainders, constant(remainders, 0)))
    return select_where(down, lax.sub(quotient, constant_like(quotient, 1)), quotient)


@dispatched()
def remainder(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The remainder of a division that rounds down; it has the sign of the divisor.

    Args:
      x1, x2: arrays or scalars of real numbers; dtypes are promoted and shapes broadcast.

    Returns:
      An array of the broadcast shape and of the promoted dtype.

    Raises:
      TypeError: if an operand is not an array or scalar, or complex.

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
    remainders = lax.rem(x1, divisor)
    zero = constant(remainders, 0)
    # lax.rem has the sign of the dividend: a remainder of the other sign than the divisor's is
    # shifted by the divisor.
    inexact = lax.ne(remainders, zero)
    differs = lax.ne(lax.lt(remainders, zero), lax.lt(divisor, constant(divisor, 0)))
    wrong = lax.bitwise_and(differs, inexact)
    result = select_where(wrong, lax.add(remainders, divisor), remainders)
    return _with_zeros_of(result, divisor) if common_dtype(result)[0] in FLOAT_DTYPES else result


@lax.custom_jvp
def _with_zeros_of(remainders: Array, divisor: ArrayLike) -> Array:
    """Give zero remainders the sign of the divisor, as the array API standard requires."""
    negative = lax.lt(divisor, constant(divisor, 0))
    signed = select_where(negative, constant_like(remainders, -0.0), constant_like(remainders, 0))
    return select_where(lax.eq(remainders, constant(remainders, 0)), signed, remainders)


_with_zeros_of.defjvps(lambda t, result, remainders, divisor: t, None)


@dispatched()
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


@dispatched()
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


@dispatched()
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
    remainders = lax.rem(x1, x2)
    # The dividend minus the remainder is divisible exactly, where rounding the quotient would be
    # inexact. With a zero or an infinity the array API standard requires the quotient itself.
    size1, size2 = lax.abs(x1), lax.abs(x2)
    quotient_is_whole = _any(
        *(lax.eq(size, constant(size, value)) for size in (size1, size2) for value in (0, np.inf))
    )
    whole = lax.div(select_where(quotient_is_whole, x1, lax.sub(x1, remainders)), x2)
    wrong = lax.bitwise_and(
        lax.ne(remainders, constant(remainders, 0)), lax.ne(lax.sign(x2), lax.sign(remainders))
    )
    remainders = _with_zeros_of(select_where(wrong, lax.add(remainders, x2), remainders), x2)
    down = lax.bitwise_and(wrong, lax.bitwise_not(quotient_is_whole))
    whole = select_where(down, lax.sub(whole, constant_like(whole, 1)), whole)
    return lax.round(whole), remainders


def _any(*masks: Array) -> Array:
    return reduce(lax.bitwise_or, masks)


def _integers(name: str, x1: ArrayLike, x2: ArrayLike) -> list[Array]:
    """The operands, checked to be integers."""
    arrays = operands(name, x1, x2)
    dtype, _ = common_dtype(*arrays)
    if dtype not in INTEGER_DTYPES:
        raise ValueError(f"{name}: the operands must be integers, but they are of dtype {dtype}.")
    return arrays


@dispatched()
def gcd(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The greatest common divisors of integers, not negative unless they overflow.

    Args:
      x1, x2: integer arrays or scalars; dtypes are promoted and shapes broadcast.

    Returns:
      An integer array of the broadcast shape.

    Raises:
      ValueError: if an operand is not of integers.
      TypeError: if one is not an array or scalar.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.gcd(jnp.array([12, 18]), 8).tolist()
      [4, 2]

    Source: numpy.gcd; Euclid's algorithm, for all elements at once.
    """
    return _gcd(*_integers("gcd", x1, x2))


@composite("gcd")
def _gcd(x1: Array, x2: Array) -> Array:
    x1, x2 = promote_args("gcd", x1, x2)
    shape = broadcast_shape("gcd", np.shape(x1), np.shape(x2))
    x1, x2 = broadcast(x1, shape), broadcast(x2, shape)
    if shape:  # only scalars stay weakly typed
        x1, x2 = (convert(x, common_dtype(x)[0]) for x in (x1, x2))
    return size_of(lax.while_loop(_some_left, _euclid_step, (x1, x2))[0])


def _some_left(pair: tuple[Array, Array]) -> Array:
    """Whether a second number is not 0 yet, so that the loop goes on."""
    left = lax.ne(pair[1], constant_like(pair[1], 0))
    return lax.reduce_or_p.bind(left, axes=tuple(range(np.ndim(left))))


def _euclid_step(pair: tuple[Array, Array]) -> tuple[Array, Array]:
    """Return the pair after a step of Euclid's algorithm where the second number is not 0.

    The absolute value of a remainder is less than the divisor's, which the least integer, whose
    absolute value is not representable, could not ensure if the numbers were made positive first.
    """
    x, y = pair
    zero = constant_like(y, 0)
    left = lax.ne(y, zero)
    return select_where(left, y, x), select_where(left, lax.rem(x, y), zero)


@dispatched()
def lcm(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The least common multiples of integers, not negative unless they overflow.

    Args:
      x1, x2: integer arrays or scalars; dtypes are promoted and shapes broadcast.

    Returns:
      An integer array of the broadcast shape.

    Raises:
      ValueError: if an operand is not of integers.
      TypeError: if one is not an array or scalar.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.lcm(jnp.array([12, 18]), 8).tolist()
      [24, 72]

    Source: numpy.lcm.
    """
    return _lcm(*_integers("lcm", x1, x2))


@composite("lcm")
def _lcm(x1: Array, x2: Array) -> Array:
    x1, x2 = (size_of(x) for x in promote_args("lcm", x1, x2))
    divisor = gcd(x1, x2)
    if np.shape(divisor):
        x1, x2 = (convert(x, common_dtype(x)[0]) for x in (x1, x2))
    zero = constant_like(divisor, 0)
    x1, x2, divisor = promote_shapes("lcm", x1, x2, divisor)
    # The exact division comes first, so that the product overflows only if the multiple does.
    multiple = lax.mul(x1, floor_divide(x2, divisor))
    return select_where(lax.eq(divisor, zero), zero, multiple)
