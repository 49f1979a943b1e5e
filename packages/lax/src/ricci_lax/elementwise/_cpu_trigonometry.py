"""Trigonometric functions of float32, as formulas for CPUs.

Sums and products of float64 are vectorised instead, and rounded to float32 once at the end: three
to twenty times as fast, and at most 0.51 units of the last place from the exact result.
"""

from math import pi, sqrt

import numpy as np

import ricci_ir as ir
from ricci_ir import Array

from ._arithmetic import abs, div, mul
from ._comparison import bitwise_and, bitwise_or, bitwise_xor, eq, ge, lt, select, shift_left
from ._conversion import bitcast_convert_type, converted
from ._factories import filled_like, scalar_like
from ._float_bits import with_sign_bit
from ._linear import add, neg, sub
from ._piecewise_linear import RoundingMethod, round
from ._series import polynomial_of

__all__ = ["acos", "asin", "atan2", "cos", "sin", "tan"]

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


# asin(s) = s + s³ R(s²) for 0 ≤ s ≤ ½ and atan(q) = q A(q²) for |q| ≤ √2 - 1, interpolated at
# Chebyshev's points with errors below 2⁻³⁴ of the results.
_ARC_SINE = (
    *(0.16666666686085643, 0.07499992404401838, 0.04464766388813485, 0.030269138728589183),
    *(0.023611817008891752, 0.010574415516912909, 0.030974540371355073),
)
_ARC_TANGENT = (
    *(0.9999999999783987, -0.33333332097609386, 0.19999883856551304, -0.14281588772654125),
    *(0.1104048922721824, -0.08456192886940496, 0.0470734814196802),
)


def _sqrt(x: Array) -> Array:
    return ir.primitives["sqrt"].bind(x)  # the compiler vectorises it


def atan2(y: Array, x: Array) -> Array:
    """The angle of the point (|x|, |y|), at most π/4 from an axis, reflected to its quadrant.

    An angle above π/8 is π/4 + atan((h - w) / (h + w)), where h is the smaller part.
    """
    height, width = abs(converted(y, _F64)), abs(converted(x, _F64))
    is_steep = lt(width, height)
    smaller, larger = select(is_steep, width, height), select(is_steep, height, width)
    zeros = filled_like(smaller, 0)
    # Zeros and infinities have no quotient.
    is_diagonal = eq(smaller, larger)
    is_wide = lt(_times(larger, sqrt(2) - 1), smaller)
    upper = select(is_wide, sub(smaller, larger), smaller)
    lower = select(is_wide, add(smaller, larger), larger)
    ratio = div(
        select(is_diagonal, zeros, upper), select(is_diagonal, filled_like(lower, 1), lower)
    )
    is_origin = eq(larger, zeros)
    start = select(bitwise_or(is_wide, is_diagonal), filled_like(ratio, pi / 4), zeros)
    start = select(is_origin, zeros, start)
    angle = add(start, mul(ratio, polynomial_of(_ARC_TANGENT, mul(ratio, ratio))))
    angle = select(is_steep, sub(filled_like(angle, pi / 2), angle), angle)
    is_left = lt(bitcast_convert_type(x, _I32), np.int32(0))
    angle = select(is_left, sub(filled_like(angle, pi), angle), angle)
    return with_sign_bit(converted(angle, _F32), bitcast_convert_type(y, _I32))


def _arc_sine_of_size(size: Array) -> tuple[Array, Array]:
    """Whether x ≥ 0 is above ½, and asin(x); where it is, asin(s) with s = √((1 - x) / 2).

    There asin(x) is π/2 - 2 asin(s).
    """
    half = scalar_like(size, 0.5)
    is_large = lt(half, size)
    square = select(is_large, mul(sub(scalar_like(size, 1), size), half), mul(size, size))
    s = select(is_large, _sqrt(square), size)
    return is_large, add(s, mul(mul(s, square), polynomial_of(_ARC_SINE, square)))


def asin(x: Array) -> Array:
    is_large, angle = _arc_sine_of_size(abs(converted(x, _F64)))
    angle = select(is_large, sub(filled_like(angle, pi / 2), _times(angle, 2)), angle)
    return with_sign_bit(converted(angle, _F32), bitcast_convert_type(x, _I32))


def acos(x: Array) -> Array:
    wide = converted(x, _F64)
    is_large, angle = _arc_sine_of_size(abs(wide))
    is_left = lt(wide, scalar_like(wide, 0))
    signed = select(is_left, neg(angle), angle)
    turned = select(is_left, filled_like(angle, pi), filled_like(angle, 0))
    angle = select(
        is_large, add(turned, _times(signed, 2)), sub(filled_like(angle, pi / 2), signed)
    )
    return converted(angle, _F32)
