"""Common divisors and multiples of integers."""

import numpy as np

import ricci_lax as lax
from ricci_ir import Array, ArrayLike, composite
from ricci_numpy._promotion import (
    INTEGER_DTYPES,
    common_dtype,
    constant_like,
    convert,
    operands,
    promote_args,
    promote_shapes,
)
from ricci_numpy.arrays._selection import broadcast, broadcast_shape, select_where

from ._division import floor_divide
from ._unary import abs as size_of

__all__ = ["gcd", "lcm"]


def _integers(name: str, x1: ArrayLike, x2: ArrayLike) -> list[Array]:
    """The operands, checked to be integers."""
    arrays = operands(name, x1, x2)
    dtype, _ = common_dtype(*arrays)
    if dtype not in INTEGER_DTYPES:
        raise ValueError(f"{name}: the operands must be integers, but they are of dtype {dtype}.")
    return arrays


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
    multiple = lax.mul(x1, floor_divide(x2, divisor))
    return select_where(lax.eq(divisor, zero), zero, multiple)
