"""Sine, cosine and tangent of float32 of any size, as formulas for CPUs.

They serve arrays that have an element out of the range of the formulas in `_trigonometry`, or
an infinite one.
"""

from math import pi

import numpy as np

from ricci_ir import Array
from ricci_lax.elementwise._arithmetic import abs, div, mul
from ricci_lax.elementwise._comparison import bitwise_and, bitwise_xor, eq, ge, select, shift_left
from ricci_lax.elementwise._conversion import bitcast_convert_type, converted
from ricci_lax.elementwise._factories import filled_like, scalar_like
from ricci_lax.elementwise._linear import add, neg, sub
from ricci_lax.elementwise._rounding import RoundingMethod, round
from ricci_lax.elementwise._series import polynomial_of

from ._float_bits import with_sign_bit

__all__ = ["cos", "sin", "tan"]

_F32, _F64, _I32, _I64 = map(np.dtype, ("float32", "float64", "int32", "int64"))

# For numbers from the key on, 2⁻ˢ and 2ˢ · 2/π, which is taken modulo 4 if s > 0: quarter turns in
# three parts, of which the first two have 29 bits.
_QUARTER_TURNS = {
    least: (2.0**-exponent, *map(float.fromhex, parts))
    for least, exponent, *parts in (
        (0.0, 0, "0x1.45f306e000000p-1", "-0x1.b1bbead000000p-32", "-0x1.80f62a0b82b2dp-62"),
        (2.0**47, 24, "-0x1.236377d000000p-1", "-0x1.6b01ec5000000p-31", "-0x1.05c1596447e49p-61"),
        (2.0**71, 48, "0x1.529fc27000000p-4", "0x1.5f47d4d000000p-34", "0x1.bb81b6c52b328p-65"),
        (2.0**95, 72, "0x1.3abe8fb000000p-3", "-0x1.96447e5000000p-33", "0x1.b14acc9e21c82p-63"),
        (2.0**119, 96, "0x1.f534ddc000000p+0", "0x1.b6c52b3000000p-33", "0x1.3c439041fe516p-64"),
    )
}

# sin(r) = r + r³ S(r²) and cos(r) = 1 + r² C(r²) for |r| ≤ π/4: the interpolation of S and C at
# Chebyshev's points, whose errors are below 2⁻³⁵ and 2⁻³² of the results.
_SINE = (-0.1666666666385417, 0.008333331874273714, -0.000198400864995936, 2.724989523061168e-06)
_COSINE = (-0.4999999996910698, 0.041666650639724655, -0.0013887588896733915, 2.446375473009544e-05)


def _times(x: Array, factor: float) -> Array:
    return mul(x, scalar_like(x, factor))


def _quadrant(x: Array) -> tuple[Array, Array]:
    """For |x| of float64: r in [-π/4, π/4], and k modulo 4 with |x| - k π/2 - r in 2πℤ.

    x = h 2^s, where h has the 24 bits of a float32 and is an integer if s > 0, so that the turns
    of 2^s count modulo 4 (Payne and Hanek's reduction). The products by the first two parts are
    exact, and so are the differences to the nearest integers, also where nearly all cancels.
    """
    x = abs(x)
    parts = [filled_like(x, number) for number in _QUARTER_TURNS[0.0]]
    for least, numbers in list(_QUARTER_TURNS.items())[1:]:
        large = ge(x, scalar_like(x, least))
        parts = [
            select(large, filled_like(x, n), part) for n, part in zip(numbers, parts, strict=True)
        ]
    scale, first, second, third = parts
    h = mul(x, scale)
    whole, fraction = _split(mul(h, first))
    correction, remainder = _split(mul(h, second))
    last, turns = _split(add(add(fraction, remainder), mul(h, third)))
    return _times(turns, pi / 2), converted(add(add(whole, correction), last), _I32)


def _split(x: Array) -> tuple[Array, Array]:
    """The integer nearest to |x| < 2⁵¹, right in its lowest 32 bits, and the difference.

    The sum with 1.5 · 2⁵² keeps the last bits of the integer. It does not round: XLA of jaxlib 0.11
    takes (x + c) - c for x.
    """
    whole = round(x, RoundingMethod.TO_NEAREST_EVEN)
    return bitcast_convert_type(add(whole, scalar_like(x, 1.5 * 2**52)), _I64), sub(x, whole)


def _sine_and_cosine(r: Array) -> tuple[Array, Array]:
    square = mul(r, r)
    sine = add(r, mul(mul(r, square), polynomial_of(_SINE, square)))
    cosine = add(mul(square, polynomial_of(_COSINE, square)), scalar_like(r, 1))
    return sine, cosine


def _is_odd(k: Array) -> Array:
    return eq(bitwise_and(k, scalar_like(k, 1)), scalar_like(k, 1))


def sin(x: Array) -> Array:
    r, k = _quadrant(converted(x, _F64))
    sine, cosine = _sine_and_cosine(r)
    size = converted(select(_is_odd(k), cosine, sine), _F32)
    # The second bit of k says whether the angle is past half a turn.
    turned = shift_left(k, scalar_like(k, 30))
    return with_sign_bit(size, bitwise_xor(turned, bitcast_convert_type(x, _I32)))


def cos(x: Array) -> Array:
    r, k = _quadrant(converted(x, _F64))
    sine, cosine = _sine_and_cosine(r)
    size = converted(select(_is_odd(k), sine, cosine), _F32)
    return with_sign_bit(size, shift_left(add(k, scalar_like(k, 1)), scalar_like(k, 30)))


def tan(x: Array) -> Array:
    r, k = _quadrant(converted(x, _F64))
    sine, cosine = _sine_and_cosine(r)
    odd = _is_odd(k)
    size = converted(div(select(odd, neg(cosine), sine), select(odd, sine, cosine)), _F32)
    return with_sign_bit(size, bitcast_convert_type(x, _I32))
