"""Inverse trigonometric functions of float32, as formulas for CPUs.

All steps are of float32, of which a vector holds twice as many as of float64.
"""

from math import pi

import numpy as np

import ricci_ir as ir
from ricci_ir import Array
from ricci_lax.elementwise._arithmetic import abs, div, mul
from ricci_lax.elementwise._comparison import bitwise_and, eq, lt, select
from ricci_lax.elementwise._conversion import bitcast_convert_type
from ricci_lax.elementwise._factories import filled_like, scalar_like
from ricci_lax.elementwise._linear import add, neg, sub
from ricci_lax.elementwise._piecewise_linear import max, min
from ricci_lax.elementwise._series import polynomial_of

from ._float_bits import with_sign_bit

__all__ = ["acos", "asin", "atan2"]

_F32, _I32, _U32 = map(np.dtype, ("float32", "int32", "uint32"))
# π/2 and π in two parts, of which the first is the nearest float32.
_QUARTER_TURN = float(np.float32(pi / 2))
_QUARTER_TURN_END = pi / 2 - _QUARTER_TURN
_HALF_TURN, _HALF_TURN_END = 2 * _QUARTER_TURN, 2 * _QUARTER_TURN_END
# Larger numbers have the arc sine π/2 - 2 asin(√((1 - x) / 2)). The term is at most 1, and so its
# rounding error at most that of the result, which is above ½.
_LARGE = 0.5403023
# 2⁻⁹⁰ and 2¹²⁵, between which a remainder and an inverse are normal numbers.
_LEAST_BITS, _MOST_BITS = (127 - 90) << 23, (127 + 125) << 23

# asin(s) = s + s³ R(s²) for s² ≤ _LARGE², and atan(q) = q + q³ A(q²) for |q| ≤ 1: interpolations at
# Chebyshev's points, whose errors are below 2⁻²⁸ and 2⁻²⁹ of the results.
_ARC_SINE = (
    *(0.16666665714958273, 0.07500233840743135, 0.0445510863841749, 0.031674269701047815),
    *(0.014414482413076812, 0.03819890391914566),
)
_ARC_TANGENT = (
    *(-0.3333333308107325, 0.19999949321141888, -0.1428400379473353, 0.11088261628735159),
    *(-0.08931826777381315, 0.07031914250029966, -0.04896051402709067, 0.026305001110062377),
    *(-0.009144629760592396, 0.0014886919393047597),
)


def _sqrt(x: Array) -> Array:
    return ir.primitives["sqrt"].bind(x)  # the compiler vectorises it


def _arc_sine_of_size(size: Array) -> tuple[Array, Array]:
    """Whether x ≥ 0 is large, and asin(x); where it is, asin(s) with s = √((1 - x) / 2).

    There asin(x) is π/2 - 2 asin(s).
    """
    is_large = lt(scalar_like(size, _LARGE), size)
    half_rest = mul(sub(scalar_like(size, 1), size), scalar_like(size, 0.5))
    square = select(is_large, half_rest, mul(size, size))
    s = select(is_large, _sqrt(square), size)
    return is_large, add(s, mul(mul(s, square), polynomial_of(_ARC_SINE, square)))


def _quarter_turn_minus(angle: Array) -> Array:
    difference = sub(scalar_like(angle, _QUARTER_TURN), angle)
    return add(difference, scalar_like(angle, _QUARTER_TURN_END))


def asin(x: Array) -> Array:
    is_large, angle = _arc_sine_of_size(abs(x))
    angle = select(is_large, _quarter_turn_minus(add(angle, angle)), angle)
    return with_sign_bit(angle, bitcast_convert_type(x, _I32))


def acos(x: Array) -> Array:
    """The sum of 0, π/2 or π and plus or minus the arc sine, or twice that."""
    is_large, angle = _arc_sine_of_size(abs(x))
    bits = bitcast_convert_type(x, _I32)
    far = select(lt(bits, np.int32(0)), filled_like(angle, _HALF_TURN), filled_like(angle, 0))
    start = select(is_large, far, filled_like(angle, _QUARTER_TURN))
    signed = with_sign_bit(select(is_large, add(angle, angle), neg(angle)), bits)
    end = mul(start, scalar_like(start, _QUARTER_TURN_END / _QUARTER_TURN))
    return add(start, add(signed, end))


def _start(x: Array) -> Array:
    """The first 12 bits of x: products of such numbers are exact."""
    bits = bitcast_convert_type(x, _I32)
    return bitcast_convert_type(bitwise_and(bits, scalar_like(bits, -(1 << 12))), _F32)


def atan2(y: Array, x: Array) -> Array:
    """The angle of the point (|x|, |y|) to the nearer axis, reflected to its quadrant.

    The rounding error of the quotient q is the exact remainder of the division, times the inverse
    of the divisor to 12%: a float's bits count its logarithm to base 2, piecewise linearly, and so
    the inverse is a difference of bits. The larger terms of each sum are added first.
    """
    height, width = abs(y), abs(x)
    smaller, larger = min(height, width), max(height, width)
    # Zeros and infinities have no quotient.
    is_diagonal = eq(height, width)
    diagonal = select(eq(height, scalar_like(height, 0)), height, filled_like(height, 1))
    q = select(is_diagonal, diagonal, div(smaller, larger))
    larger_start, q_start = _start(larger), _start(q)
    remainder = sub(smaller, mul(q_start, larger_start))
    remainder = sub(remainder, mul(q_start, sub(larger, larger_start)))
    remainder = sub(remainder, mul(sub(q, q_start), larger))
    bits = bitcast_convert_type(larger, _I32)
    inverse = bitcast_convert_type(sub(scalar_like(bits, 0x7EF311C7), bits), _F32)
    # Elsewhere the remainder is subnormal, or the inverse, or there are none.
    above = bitcast_convert_type(sub(bits, scalar_like(bits, _LEAST_BITS)), _U32)
    is_moderate = lt(above, np.uint32(_MOST_BITS - _LEAST_BITS))
    error = select(is_moderate, mul(remainder, inverse), filled_like(inverse, 0))
    square = mul(q, q)
    end = add(mul(mul(q, square), polynomial_of(_ARC_TANGENT, square)), error)
    is_steep = lt(width, height)
    start = select(is_steep, sub(scalar_like(q, _QUARTER_TURN), q), q)
    end = select(is_steep, sub(scalar_like(end, _QUARTER_TURN_END), end), end)
    angle = add(start, end)
    reflected = add(sub(scalar_like(angle, _HALF_TURN), angle), scalar_like(angle, _HALF_TURN_END))
    is_left = lt(bitcast_convert_type(x, _I32), np.int32(0))
    angle = select(is_left, reflected, angle)
    return with_sign_bit(angle, bitcast_convert_type(y, _I32))
