"""The complementary error function of float32, as a formula for CPUs.

XLA computes two forms for every element, near 0 and far from it, with two divisions.
"""

from math import log

import numpy as np

from ricci_ir import Array
from ricci_lax.elementwise._arithmetic import abs, mul
from ricci_lax.elementwise._comparison import bitwise_and, ge, lt, select, shift_left
from ricci_lax.elementwise._conversion import bitcast_convert_type
from ricci_lax.elementwise._factories import filled_like, scalar_like
from ricci_lax.elementwise._linear import add, sub
from ricci_lax.elementwise._piecewise_linear import min
from ricci_lax.elementwise._rounding import RoundingMethod, round
from ricci_lax.elementwise._series import polynomial_of

__all__ = ["erfc"]

_F32, _I32 = map(np.dtype, ("float32", "int32"))
_BOUND = 9.2  # from which on the results are below the least normal number
# ln 2 in two parts, of which the first has 15 bits: its products by exponents are exact.
_LN2, _LN2_END = 0.693145751953125, 1.4286068203094173e-06

# exp(r) for r in [-0.43, 0.36], and L = -log(exp(x²) erfc(x)) by the difference of x to a centre in
# each of [0, 2.6] and [2.6, 9.2]: interpolations at Chebyshev's points, whose errors are 2⁻²⁷ of
# the exponential, and 2⁻²⁶ and 2⁻²⁴.
_EXPONENTIAL = (
    *(1.0000000026349272, 1.0000000658478656, 0.4999995986282875, 0.16666313770834443),
    *(0.04167516492083976, 0.008382176816129919, 0.0013476718233258525),
)
# Each row has the numbers of both intervals; the lowest powers come first.
_FAR = 2.6
_CENTRES = (0.0, 5.75)
_LOGARITHMS = (
    (0.0, 2.3361544935033987),
    (1.1283791646364845, 0.16901174435753763),
    (-0.36338003248043577, -0.013900570996211056),
    (0.10276973899881883, 0.001484879208631477),
    (-0.019110600433682033, -0.00017405646602172516),
    (-0.000269767921536472, 2.1314029701610782e-05),
    (0.001821596629602088, -2.6084584873940757e-06),
    (-0.0007580347822923395, 2.9991686266576356e-07),
    (0.00017529926118979407, -4.0404275341624224e-08),
    (-2.3231147069316982e-05, 7.141616146867798e-09),
    (1.3782547868039311e-06, -6.94312636057958e-10),
)


def _negative_logarithm(size: Array) -> Array:
    """L, whose coefficients are selected: a division would take longer."""
    is_far = lt(scalar_like(size, _FAR), size)

    def choose(near: float, far: float) -> Array:
        return select(is_far, filled_like(size, far), filled_like(size, near))

    difference = sub(size, choose(*_CENTRES))
    *lower, highest = _LOGARITHMS
    result = choose(*highest)
    for coefficients in reversed(lower):
        result = add(mul(result, difference), choose(*coefficients))
    return result


def erfc(x: Array) -> Array:
    """exp(-x² - L) for x ≥ 0, and 2 less that of -x for others.

    With h, the first 12 bits of x, h² is exact, and x² - h² = (x - h) (x + h) is small. The largest
    terms, h² and the multiple of ln 2, are subtracted first, without rounding.
    """
    size = min(abs(x), scalar_like(x, _BOUND))
    less = _negative_logarithm(size)
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
    tail = select(ge(size, scalar_like(x, _BOUND)), filled_like(tail, 0), tail)
    return select(lt(x, scalar_like(x, 0)), sub(filled_like(x, 2), tail), tail)
