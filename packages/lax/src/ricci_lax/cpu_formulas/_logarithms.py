"""The logarithm of 1 + x of float32, as a formula for CPUs.

XLA computes two forms for every element, near 0 and far from it, one of them with a division.
"""

from math import inf, nan

import numpy as np

from ricci_ir import Array
from ricci_lax.elementwise._arithmetic import abs, mul
from ricci_lax.elementwise._comparison import (
    bitwise_and,
    eq,
    gt,
    lt,
    select,
    shift_right_arithmetic,
)
from ricci_lax.elementwise._conversion import bitcast_convert_type, converted
from ricci_lax.elementwise._factories import filled_like, scalar_like
from ricci_lax.elementwise._linear import add, sub
from ricci_lax.elementwise._series import polynomial_of

__all__ = ["log1p"]

_F32, _I32 = map(np.dtype, ("float32", "int32"))
_FOUR_BITS, _ROOT_HALF_BITS = 0x40800000, 0x3F3504F3
# ln 2 in two parts, of which the first has 15 bits: its products by exponents are exact.
_LN2, _LN2_END = 0.693145751953125, 1.4286068203094173e-06
# ln(1 + f) = f - f²/2 + f³ L(f) for 1 + f in [√½, √2], interpolated at Chebyshev's points with an
# error below 2⁻²⁷ of the result.
_LOGARITHM = (
    *(0.333333312, -0.24999997, 0.200007157, -0.166678023, 0.142490576),
    *(-0.124256873, 0.116854199, -0.114797338, 0.0697161147),
)


def log1p(x: Array) -> Array:
    """The logarithm of u = 1 + x as k ln 2 + ln(1 + f), with u = (1 + f) 2^k.

    The rounded u determines k alone: f is x 2⁻ᵏ + (2⁻ᵏ - 1), which is rounded once.
    """
    one, quarter = scalar_like(x, 1), scalar_like(x, 0.25)
    bits = bitcast_convert_type(add(one, x), _I32)
    above = sub(bits, scalar_like(bits, _ROOT_HALF_BITS))
    exponent = bitwise_and(above, scalar_like(bits, -(1 << 23)))
    # 4 · 2⁻ᵏ, since 2⁻ᵏ may be subnormal.
    unit = bitcast_convert_type(sub(scalar_like(bits, _FOUR_BITS), exponent), _F32)
    f = add(mul(mul(x, quarter), unit), sub(mul(unit, quarter), one))
    square = mul(f, f)
    k = converted(shift_right_arithmetic(exponent, scalar_like(exponent, 23)), _F32)
    end = add(mul(mul(f, square), polynomial_of(_LOGARITHM, f)), mul(k, scalar_like(k, _LN2_END)))
    end = sub(end, mul(square, scalar_like(f, 0.5)))
    result = add(mul(k, scalar_like(k, _LN2)), add(f, end))
    corner = select(eq(x, scalar_like(x, -1)), filled_like(x, -inf), filled_like(x, nan))
    result = select(gt(x, scalar_like(x, -1)), result, corner)
    result = select(lt(x, scalar_like(x, inf)), result, x)
    # Of numbers this small, and of -0, the logarithm is the number itself.
    return select(lt(abs(x), scalar_like(x, 2.0**-25)), x, result)
