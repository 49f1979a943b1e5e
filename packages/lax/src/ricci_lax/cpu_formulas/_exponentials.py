"""The exponential less 1 of float32, as a formula for CPUs."""

from math import log

import numpy as np

from ricci_ir import Array
from ricci_lax.elementwise._arithmetic import abs, mul
from ricci_lax.elementwise._comparison import bitwise_and, lt, select, shift_left
from ricci_lax.elementwise._conversion import bitcast_convert_type
from ricci_lax.elementwise._factories import scalar_like
from ricci_lax.elementwise._linear import add, sub
from ricci_lax.elementwise._piecewise_linear import max, min
from ricci_lax.elementwise._rounding import RoundingMethod, round
from ricci_lax.elementwise._series import polynomial_of

__all__ = ["expm1"]

_F32, _I32 = map(np.dtype, ("float32", "int32"))
# Beyond these bounds the results are -1, and infinite.
_LEAST, _GREATEST = -18, 89
# ln 2 in two parts, of which the first has 15 bits: its products by exponents are exact.
_LN2 = (0.693145751953125, 1.4286068203094173e-06)
# exp(r) = 1 + r + r²/2 + r³ E(r) for |r| ≤ ln 2 / 2, interpolated at Chebyshev's points: its errors
# are below 2⁻³⁰ of exp(r) - 1.
_EXPONENTIAL = (0.166666667, 0.0416664642, 0.00833331084, 0.00139337307, 0.000198910805)


def expm1(x: Array) -> Array:
    """exp(x) - 1 = 2 (h - ½ + h (exp(r) - 1)) for x = k ln 2 + r, where h is 2^(k - 1).

    The leading terms, h, -½ and the exact part of h r, are added with their rounding errors
    (Dekker's sums: the smaller one comes second, or is added to 0).
    """
    bounded = min(max(x, scalar_like(x, _LEAST)), scalar_like(x, _GREATEST))
    k = round(mul(bounded, scalar_like(x, 1 / log(2))), RoundingMethod.TO_NEAREST_EVEN)
    first, second = (mul(k, scalar_like(k, part)) for part in _LN2)
    exact = sub(bounded, first)
    r = sub(exact, second)
    # With the first 12 bits of r, half of its square is exact but for a small product.
    bits = bitcast_convert_type(r, _I32)
    leading = bitcast_convert_type(bitwise_and(bits, scalar_like(bits, -(1 << 12))), _F32)
    half_leading = mul(leading, scalar_like(r, 0.5))
    product = mul(sub(r, leading), mul(add(r, leading), scalar_like(r, 0.5)))
    end = mul(mul(mul(r, r), r), polynomial_of(_EXPONENTIAL, r))
    end = add(mul(leading, half_leading), add(end, sub(product, second)))
    # The lowest bits of the sum are those of the biased exponent of h.
    biased = bitcast_convert_type(add(k, scalar_like(k, 1.5 * 2**23 + 126)), _I32)
    h = bitcast_convert_type(shift_left(biased, scalar_like(biased, 23)), _F32)
    a_half, part = scalar_like(h, 0.5), mul(h, exact)
    start = sub(h, a_half)
    total = add(start, part)
    error = add(add(sub(start, total), part), sub(sub(h, start), a_half))
    result = add(total, add(error, mul(h, end)))
    # Of numbers this small, and of -0, the result is the number itself.
    return select(lt(abs(x), scalar_like(x, 2.0**-25)), x, add(result, result))
