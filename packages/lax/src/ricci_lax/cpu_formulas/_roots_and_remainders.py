"""Cube roots and remainders of float32, as formulas for CPUs."""

import numpy as np

from ricci_ir import Array
from ricci_lax.elementwise._arithmetic import abs, div, mul
from ricci_lax.elementwise._comparison import bitwise_and, ge, lt, select
from ricci_lax.elementwise._conversion import bitcast_convert_type, converted
from ricci_lax.elementwise._factories import filled_like, scalar_like
from ricci_lax.elementwise._linear import add, sub
from ricci_lax.elementwise._piecewise_linear import min
from ricci_lax.elementwise._rounding import floor
from ricci_lax.elementwise._series import polynomial_of

from ._float_bits import INFINITE_BITS, TINY_BITS, size_bits, with_sign_bit

__all__ = ["cbrt", "has_short_quotient", "rem"]

_F32, _F64, _I32 = map(np.dtype, ("float32", "float64", "int32"))

_SMALL_BITS = (127 - 90) << 23  # of 2⁻⁹⁰
# Of the largest number of 13 bits whose cube is finite.
_MOST_ROOT_BITS = int(np.float32(6501 * 2**30).view(np.int32))
_INVERSE_ROOT = (1, 1 / 3, 2 / 9, 14 / 81)  # the first terms of (1 - h)^(-1/3)


def cbrt(x: Array) -> Array:
    """The cube root y of x by x z² for z near 1 / ∛x, and its error, (x - y³) z² / 3.

    The bits of a float count its logarithm to base 2, piecewise linearly: a multiple of -1/3 of
    them is z to 4%. With h = 1 - x z³, 1 / ∛x is z (1 - h)^(-1/3) exactly, and to 1e-5 by four
    terms. With the first 13 bits of y, the rounding errors of y³ are small beside those of x.
    """
    bits = size_bits(x)
    # XLA's CPUs read subnormal numbers as 0; as integers they count multiples of 2⁻¹⁴⁹. The
    # difference to the cube of other small numbers would be subnormal.
    is_small = lt(bits, np.int32(_SMALL_BITS))
    is_subnormal = lt(bits, np.int32(TINY_BITS))
    size = bitcast_convert_type(bits, _F32)
    size = mul(size, select(is_small, filled_like(size, 2.0**60), filled_like(size, 1)))
    size = select(is_subnormal, converted(add(bits, bits), _F32), size)
    unit = select(is_small, filled_like(size, 2.0**-20), filled_like(size, 1))
    unit = select(is_subnormal, filled_like(size, 2.0**-50), unit)
    logarithm = converted(bitcast_convert_type(size, _I32), _F32)
    guess = sub(scalar_like(size, 0x54A21D2A), mul(logarithm, scalar_like(size, 1 / 3)))
    z = bitcast_convert_type(converted(guess, _I32), _F32)
    h = sub(scalar_like(z, 1), mul(mul(size, z), mul(z, z)))
    z = mul(z, polynomial_of(_INVERSE_ROOT, h))
    square = mul(z, z)
    root_bits = add(bitcast_convert_type(mul(size, square), _I32), np.int32(1 << 10))
    root_bits = min(bitwise_and(root_bits, np.int32(-(1 << 11))), np.int32(_MOST_ROOT_BITS))
    root = bitcast_convert_type(root_bits, _F32)
    remainder = sub(size, mul(mul(root, root), root))
    root = add(root, mul(mul(remainder, scalar_like(square, 1 / 3)), square))
    is_finite = lt(bits, np.int32(INFINITE_BITS))
    size = select(is_finite, mul(root, unit), bitcast_convert_type(bits, _F32))
    return with_sign_bit(size, bitcast_convert_type(x, _I32))


def rem(x: Array, y: Array) -> Array:
    """The remainder |x| - ⌊|x| / |y|⌋ |y| with the sign of x, where ``has_short_quotient``.

    A quotient that is not an integer n differs from it by at least 2⁻²⁴ / n of its size, so
    that below 2²⁹ its rounding in float64 does not reach n; the product has at most 53 bits,
    and the difference is a multiple of the last place of y: all is exact.
    """
    width, height = abs(converted(x, _F64)), abs(converted(y, _F64))
    size = sub(width, mul(floor(div(width, height)), height))
    # Also subnormal and infinite numbers, which the product does not preserve.
    is_less = lt(size_bits(x), size_bits(y))
    numbers = lt(size_bits(y), np.int32(INFINITE_BITS + 1))
    is_remainder = bitwise_and(is_less, numbers)
    signed = with_sign_bit(converted(size, _F32), bitcast_convert_type(x, _I32))
    return select(is_remainder, x, signed)


def has_short_quotient(x: Array, y: Array) -> Array:
    """Whether |x / y| < 2²⁹, and no remainder by y is subnormal.

    Differences of bits are differences of logarithms but for 0.09: here, of less than 28.
    """
    divisor = size_bits(y)
    is_short = lt(sub(size_bits(x), divisor), np.int32(28 << 23))
    return bitwise_and(is_short, ge(divisor, np.int32((127 - 102) << 23)))
