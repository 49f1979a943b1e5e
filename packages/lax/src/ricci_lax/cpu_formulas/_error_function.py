"""The complementary error function of float32, as a formula for CPUs.

XLA computes two forms for every element, near 0 and far from it, with two divisions.
"""

from math import log

import numpy as np

from ricci_ir import Array
from ricci_lax.elementwise._arithmetic import abs, div, mul
from ricci_lax.elementwise._comparison import bitwise_and, lt, select, shift_left
from ricci_lax.elementwise._conversion import bitcast_convert_type
from ricci_lax.elementwise._factories import filled_like, scalar_like
from ricci_lax.elementwise._linear import add, sub
from ricci_lax.elementwise._piecewise_linear import RoundingMethod, min, round
from ricci_lax.elementwise._series import polynomial_of

__all__ = ["erfc"]

_F32, _I32 = map(np.dtype, ("float32", "int32"))
_BOUND = 9.2  # from which on the results are below the least normal number
# ln 2 in two parts, of which the first has 15 bits: its products by exponents are exact.
_LN2, _LN2_END = 0.693145751953125, 1.4286068203094173e-06

# exp(r) for r in [-0.43, 0.36], and -log(exp(x²) erfc(x)) / x by t = (x - 4) / (x + 4):
# interpolations at Chebyshev's points, whose relative errors are 2⁻³² and 2⁻²⁷.
_EXPONENTIAL = (
    *(0.999999999915278, 1.000000001470619, 0.5000000178448304, 0.16666657225875892),
    *(0.04166605779636404, 0.008334788656007605, 0.0013957526015483663, 0.00019242034694256466),
)
_LOGARITHM = (
    *(0.49694457934950786, -0.5211353756806525, 0.09624858265661237, -0.035613021694237135),
    *(-0.014344349217761487, 0.0033563424378915386, -0.006771240208598257, -0.002702515811631016),
    *(-0.0010485341782027432, -0.002010077630568671, -0.0007545230907323368),
)


def erfc(x: Array) -> Array:
    """exp(-x² - x L) for x ≥ 0, and 2 less that of -x for others.

    With h, the first 12 bits of x, h² is exact, and x² - h² = (x - h) (x + h) is small. The largest
    terms, h² and the multiple of ln 2, are subtracted first, without rounding.
    """
    size = min(abs(x), scalar_like(x, _BOUND))
    # XLA does not fuse a quotient with several operations that use it, but one that a product uses.
    inverse = mul(div(scalar_like(x, 1), add(size, scalar_like(x, 4))), scalar_like(x, 8))
    less = mul(size, polynomial_of(_LOGARITHM, sub(scalar_like(x, 1), inverse)))
    bits = bitcast_convert_type(size, _I32)
    h = bitcast_convert_type(bitwise_and(bits, scalar_like(bits, -(1 << 12))), _F32)
    square, end = mul(h, h), mul(sub(size, h), add(size, h))
    turns = mul(add(square, less), scalar_like(x, 1 / log(2)))
    k = round(turns, RoundingMethod.TO_NEAREST_EVEN)
    r = sub(sub(mul(k, scalar_like(k, _LN2)), square), less)
    r = sub(add(r, mul(k, scalar_like(k, _LN2_END))), end)
    # The lowest bits of the difference are those of the biased exponent.
    biased = bitcast_convert_type(sub(scalar_like(k, 1.5 * 2**23 + 127), k), _I32)
    unit = bitcast_convert_type(shift_left(biased, scalar_like(biased, 23)), _F32)
    tail = mul(polynomial_of(_EXPONENTIAL, r), unit)
    tail = select(lt(size, scalar_like(x, _BOUND)), tail, mul(tail, scalar_like(x, 0)))
    return select(lt(x, scalar_like(x, 0)), sub(filled_like(x, 2), tail), tail)
