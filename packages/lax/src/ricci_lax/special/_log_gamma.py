"""The logarithm of the absolute value of the gamma function.

Its zeros at 1 and 2 are factors of a power series, so that the relative error is a few units of the
last place for all positive numbers, and for negative ones but near their zeros, where the sum of
two logarithms cancels: the absolute error is that small there.
"""

from math import factorial, pi
from math import log as log_of

import numpy as np

from ricci_ir import Array
from ricci_lax.elementwise._arithmetic import abs, div, mul
from ricci_lax.elementwise._comparison import bitwise_and, bitwise_not, eq, ge, gt, le, lt, select
from ricci_lax.elementwise._conversion import bitcast_convert_type, converted
from ricci_lax.elementwise._factories import filled_like, scalar_like
from ricci_lax.elementwise._linear import add, neg, sub
from ricci_lax.elementwise._rounding import RoundingMethod, round
from ricci_lax.elementwise._series import polynomial_of
from ricci_lax.elementwise._transcendental import log
from ricci_lax.structure._operand_types import array_aval

# log Γ(2 + z) = z (1 - γ + c₂ z + c₃ z² + ...), where c_k is (-1)^k (ζ(k) - 1) / k (DLMF 5.7.3).
# For |z| ≤ 1/2 a term is about a quarter of the one before.
_SERIES = (
    1 - 0.5772156649015329,
    0.3224670334241132,
    -0.0673523010531981,
    0.020580808427784546,
    -0.007385551028673986,
    0.0028905103307415234,
    -0.001192753911703261,
    0.0005096695247430425,
    -0.00022315475845357939,
    9.945751278180853e-05,
    -4.492623673813314e-05,
    2.050721277567069e-05,
    -9.439488275268397e-06,
    4.374866789907488e-06,
    -2.039215753801366e-06,
    9.55141213040742e-07,
    -4.492469198764566e-07,
    2.1207184805554665e-07,
    -1.0043224823968099e-07,
    4.7698101693639804e-08,
    -2.2711094608943164e-08,
    1.0838659214896955e-08,
    -5.183475041970047e-09,
    2.4836745438024785e-09,
    -1.1921401405860912e-09,
    5.731367241678862e-10,
)
# Stirling's series times x, by powers of 1/x² (DLMF 5.11.1).
_STIRLING = (
    1 / 12,
    -1 / 360,
    1 / 1260,
    -1 / 1680,
    1 / 1188,
    -691 / 360360,
    1 / 156,
    -3617 / 122400,
)
# By the bytes of a number: the terms of the series, from where on Stirling's series is used and how
# many terms of it, and the terms of the series of sin(π r) / (π r) for |r| ≤ 1/2. What is left out
# is below half a unit of the last place.
_PLANS = {4: (12, 8, 3, 7), 8: (25, 13, 8, 11)}
_LEAST_POWER = {4: -149, 8: -1074}  # the least positive number is 2 to this


def _without_subnormals(x: Array) -> tuple[Array, Array]:
    """``m`` and ``s`` with log |x| = log m + s; processors may read a subnormal ``x`` as 0."""
    dtype = array_aval(x).dtype
    integers = np.dtype(f"int{8 * dtype.itemsize}")
    bits = bitcast_convert_type(abs(x), integers)
    least = np.asarray(np.finfo(dtype).smallest_normal).view(integers)
    is_subnormal = lt(bits, scalar_like(bits, int(least)))
    # The bits of a subnormal number count the least positive ones in it.
    m = select(is_subnormal, converted(bits, dtype), abs(x))
    shift = filled_like(x, _LEAST_POWER[dtype.itemsize] * log_of(2))
    return m, select(is_subnormal, shift, filled_like(x, 0))


def _above_minus_half(x: Array) -> Array:
    """log |Γ(x)| for x > -1/2.

    Γ(x) is Γ(2 + z), |z| ≤ 1/2, times or over a product of numbers x + k, all of which are exact.
    """
    terms, least, count, _ = _PLANS[array_aval(x).dtype.itemsize]
    zero, one = filled_like(x, 0), filled_like(x, 1)
    nearest = round(x, RoundingMethod.TO_NEAREST_EVEN)
    z = sub(x, nearest)
    series = mul(z, polynomial_of(_SERIES[:terms], z))
    # Γ(x) = (x - 1) (x - 2) ... (2 + z) Γ(2 + z), for the nearest integers from 2 on.
    above = one
    for k in range(1, least - 1):
        factor = sub(x, scalar_like(x, k))
        above = mul(above, select(gt(nearest, scalar_like(x, k + 1)), factor, one))
    # Γ(x) = Γ(2 + z) / x for the nearest integer 1, and Γ(2 + z) / (x (x + 1)) for 0.
    m, shift = _without_subnormals(x)
    is_zero = le(nearest, zero)
    below = select(is_zero, mul(m, select(eq(shift, zero), add(x, one), one)), x)
    is_below = lt(nearest, scalar_like(x, 1.5))
    is_far = ge(x, scalar_like(x, least))
    logarithm = log(select(is_far, x, select(is_below, below, above)))
    near = add(select(is_below, neg(logarithm), logarithm), series)
    near = select(is_zero, sub(near, shift), near)
    # (x - 1/2) (log x - 1) loses less than the usual form of Stirling's series.
    inverse = div(one, x)
    remainder = mul(inverse, polynomial_of(_STIRLING[:count], mul(inverse, inverse)))
    remainder = add(remainder, scalar_like(x, 0.5 * log_of(2 * pi) - 0.5))
    main = mul(sub(x, scalar_like(x, 0.5)), sub(logarithm, one))
    return select(is_far, add(main, remainder), near)


def log_gamma(x: Array) -> Array:
    """log |Γ(x)|, infinite at 0 and at negative integers."""
    dtype = array_aval(x).dtype
    if dtype.itemsize < 4:
        return converted(log_gamma(converted(x, np.dtype(np.float32))), dtype)
    is_reflected = le(x, scalar_like(x, -0.5))
    result = _above_minus_half(select(is_reflected, neg(x), x))
    # Γ(x) Γ(-x) = -π / (x sin(π x)), and |sin(π x)| = sin(π r), r the distance to an integer.
    distance = abs(sub(x, round(x, RoundingMethod.TO_NEAREST_EVEN)))
    count = _PLANS[dtype.itemsize][-1]
    sine = [(-1) ** k * pi ** (2 * k) / factorial(2 * k + 1) for k in range(count)]
    product = mul(mul(abs(x), distance), polynomial_of(sine, mul(distance, distance)))
    result = select(is_reflected, neg(add(log(product), result)), result)
    is_pole = bitwise_and(is_reflected, bitwise_not(gt(distance, filled_like(x, 0))))
    return select(is_pole, filled_like(x, np.inf), result)
