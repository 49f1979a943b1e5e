"""Trigonometric functions of float64, as formulas for CPUs.

Sine and cosine are sums of two floats, of which the first is the sum rounded, so that the results
are at most 0.51 units of the last place from the exact ones. The leading terms of the series are
computed without rounding: products of numbers that are cut off behind so many bits that the product
has at most 53. No step relies on whether the processor fuses a product with a sum.
"""

from math import inf, pi

import numpy as np

from ricci_ir import Array
from ricci_lax.elementwise._arithmetic import abs, div, mul
from ricci_lax.elementwise._comparison import (
    bitwise_and,
    bitwise_not,
    bitwise_or,
    bitwise_xor,
    eq,
    le,
    lt,
    select,
    shift_left,
)
from ricci_lax.elementwise._conversion import bitcast_convert_type, converted
from ricci_lax.elementwise._factories import filled_like, scalar_like
from ricci_lax.elementwise._linear import add, neg, sub
from ricci_lax.elementwise._rounding import RoundingMethod, round
from ricci_lax.elementwise._series import polynomial_of

from ._float_bits import leading_bits, with_sign_bit

__all__ = ["cos", "is_near_zero", "sin", "tan"]

_I64 = np.dtype("int64")
_BOUND = 6000  # has less than 2¹² quarter turns
# π/2 in three parts, of which the first two have 40 bits: their products by 2¹² are exact.
_QUARTER_TURN = tuple(
    map(float.fromhex, ("0x1.921fb54442p+0", "0x1.a308d31318p-41", "0x1.8a2e03707344ap-81"))
)

# sin r = r - r³/6 + r⁵ S(r²) and cos r = 1 - r²/2 + r⁴/24 + r⁶ C(r²) for |r| ≤ π/4, interpolated at
# Chebyshev's points with errors below 2⁻⁶⁴ of the results.
_SINE = (
    *(0.008333333333333333, -0.00019841269841268963, 2.755731922232443e-06),
    *(-2.505210723603745e-08, 1.6058684329175855e-10, -7.595306678125121e-13),
)
_COSINE = (
    *(-0.001388888888888889, 2.4801587301586814e-05, -2.755731922306237e-07),
    *(2.0876756348991543e-09, -1.1470545781861682e-11, 4.7506581205663246e-14),
)
# 1/6 and 1/24 in two parts, of which the first has 5 bits.
_SIXTH, _SIXTH_END = 21 / 128, 1 / 384
_TWENTY_FOURTH, _TWENTY_FOURTH_END = 21 / 512, 1 / 1536


def _times(x: Array, factor: float) -> Array:
    return mul(x, scalar_like(x, factor))


def is_near_zero(x: Array) -> Array:
    """Whether |x| ≤ 6000, or x is infinite or NaN, for which the formulas return NaN."""
    size = abs(x)
    return bitwise_or(le(size, scalar_like(x, _BOUND)), bitwise_not(lt(size, scalar_like(x, inf))))


def _exact_sum(larger: Array, smaller: Array) -> tuple[Array, Array]:
    """The sum rounded, and its error (Dekker's fast sum)."""
    total = add(larger, smaller)
    return total, add(sub(larger, total), smaller)


def _quadrant(size: Array) -> tuple[Array, Array, Array]:
    """For x ≥ 0: k, the last bits of an integer, and the sum r of two floats, x = k π/2 + r.

    By Cody and Waite: the difference to the first part of k π/2 is exact, the second one is
    rounded, and its error (Knuth's exact sum) is in the second float.
    """
    k = round(_times(size, 2 / pi), RoundingMethod.TO_NEAREST_EVEN)
    first, second, third = (_times(k, part) for part in _QUARTER_TURN)
    difference = sub(size, first)
    high = sub(difference, second)
    subtracted = sub(high, difference)
    error = sub(sub(difference, sub(high, subtracted)), add(second, subtracted))
    high, low = _exact_sum(high, sub(error, third))
    # The sum with 1.5 · 2⁵² has the integer in its last bits.
    return bitcast_convert_type(add(k, scalar_like(k, 1.5 * 2**52)), _I64), high, low


def _sine_and_cosine(r: Array, low: Array) -> tuple[Array, Array, Array, Array]:
    """The sine and the cosine of r + low, each as a sum of two floats.

    With r = h + g, where h has 16 bits, h² and h³ are exact, and so is h³ · 21/128, nearly h³ / 6.
    The same holds for m, the first 23 bits of h², and m² · 21/512.
    """
    one = filled_like(r, 1)
    h = leading_bits(r, 16)
    g = sub(r, h)
    h_square, square = mul(h, h), mul(r, r)

    cube = mul(h_square, _times(h, _SIXTH))
    sine, sine_error = _exact_sum(r, neg(cube))
    difference = mul(g, add(add(square, mul(r, h)), h_square))  # r³ - h³
    remainder = add(_times(difference, 1 / 6), _times(mul(h_square, h), _SIXTH_END))
    fifth = mul(mul(mul(r, square), square), polynomial_of(_SINE, square))
    sine_error = add(sine_error, sub(fifth, remainder))

    m = leading_bits(h_square, 23)
    m_square = mul(m, m)
    difference = mul(g, add(r, h))  # r² - h²
    half, half_error = _exact_sum(one, _times(h_square, -0.5))
    cosine, cosine_error = _exact_sum(half, _times(m_square, _TWENTY_FOURTH))
    cosine_error = add(half_error, cosine_error)
    remainder = mul(add(sub(h_square, m), difference), add(square, m))  # r⁴ - m²
    remainder = add(_times(remainder, 1 / 24), _times(m_square, _TWENTY_FOURTH_END))
    remainder = sub(remainder, _times(difference, 0.5))
    sixth = mul(mul(mul(square, square), square), polynomial_of(_COSINE, square))
    cosine_error = add(cosine_error, add(remainder, sub(sixth, mul(sine, low))))
    return sine, add(sine_error, mul(low, cosine)), cosine, cosine_error


def _bit(k: Array, position: int) -> Array:
    return bitwise_and(k, scalar_like(k, 1 << position))


def _is_odd(k: Array) -> Array:
    return eq(_bit(k, 0), scalar_like(k, 1))


def sin(x: Array) -> Array:
    size = abs(x)
    k, r, low = _quadrant(size)
    sine, sine_error, cosine, cosine_error = _sine_and_cosine(r, low)
    result = select(_is_odd(k), add(cosine, cosine_error), add(sine, sine_error))
    # The second bit of k says whether the angle is past half a turn.
    turned = shift_left(_bit(k, 1), scalar_like(k, 62))
    signed = with_sign_bit(result, bitwise_xor(turned, bitcast_convert_type(x, _I64)))
    # XLA's CPUs read subnormal numbers as 0.
    return select(lt(size, scalar_like(x, 2.0**-27)), x, signed)


def cos(x: Array) -> Array:
    k, r, low = _quadrant(abs(x))
    sine, sine_error, cosine, cosine_error = _sine_and_cosine(r, low)
    result = select(_is_odd(k), add(sine, sine_error), add(cosine, cosine_error))
    turned = shift_left(_bit(add(k, scalar_like(k, 1)), 1), scalar_like(k, 62))
    return with_sign_bit(result, turned)


def _inverse(x: Array) -> Array:
    """1 / x but for the last places, by Newton's method from a float32.

    XLA does not fuse a quotient with several operations that use it.
    """
    narrow = converted(x, np.dtype("float32"))
    inverse = converted(div(scalar_like(narrow, 1), narrow), np.dtype("float64"))
    for _ in range(2):
        inverse = mul(inverse, sub(scalar_like(x, 2), mul(x, inverse)))
    return inverse


def tan(x: Array) -> Array:
    size = abs(x)
    k, r, low = _quadrant(size)
    sine, sine_error, cosine, cosine_error = _sine_and_cosine(r, low)
    odd = _is_odd(k)
    upper, upper_error = _exact_sum(
        select(odd, neg(cosine), sine), select(odd, neg(cosine_error), sine_error)
    )
    lower, lower_error = _exact_sum(
        select(odd, sine, cosine), select(odd, sine_error, cosine_error)
    )
    inverse = _inverse(lower)
    quotient = mul(upper, inverse)
    # The remainder of the division, exact but for the last product.
    q_start, lower_start = leading_bits(quotient, 26), leading_bits(lower, 26)
    q_end, lower_end = sub(quotient, q_start), sub(lower, lower_start)
    remainder = sub(sub(upper, mul(q_start, lower_start)), mul(q_start, lower_end))
    remainder = sub(sub(remainder, mul(q_end, lower_start)), mul(q_end, lower_end))
    remainder = add(remainder, sub(upper_error, mul(quotient, lower_error)))
    result = with_sign_bit(add(quotient, mul(remainder, inverse)), bitcast_convert_type(x, _I64))
    return select(lt(size, scalar_like(x, 2.0**-27)), x, result)
