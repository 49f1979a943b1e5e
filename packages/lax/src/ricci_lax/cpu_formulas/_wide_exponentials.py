"""The exponential of float64, as a formula for CPUs.

XLA's own takes 1.3 times as long, and is up to 1.7 units of the last place from the exact result.
"""

from math import inf, log

import numpy as np

from ricci_ir import Array
from ricci_lax.elementwise._arithmetic import mul
from ricci_lax.elementwise._comparison import gt, lt, ne, select, shift_left
from ricci_lax.elementwise._conversion import bitcast_convert_type
from ricci_lax.elementwise._factories import filled_like, scalar_like
from ricci_lax.elementwise._linear import add, sub
from ricci_lax.elementwise._rounding import RoundingMethod, round
from ricci_lax.elementwise._series import polynomial_of

__all__ = ["exp"]

_F64, _I64 = map(np.dtype, ("float64", "int64"))
# The greatest number whose exponential is finite, and the least whose exponential is normal.
_GREATEST, _LEAST = 709.782712893384, -708.3964185322641
# ln 2 in two parts, of which the first has 42 bits: its products by exponents are exact.
_LN2, _LN2_END = map(float.fromhex, ("0x1.62e42fefa3800p-1", "0x1.ef35793c76730p-45"))
# exp(r) for |r| ≤ ln 2 / 2, from its third term on interpolated at Chebyshev's points: the error is
# below 2⁻⁵⁶.
_EXPONENTIAL = (
    *(1, 1, 0.5000000000000001, 0.16666666666666669, 0.04166666666662399, 0.008333333333330051),
    *(0.0013888888917281794, 0.00019841269863105968, 2.480152119021773e-05, 2.7557268378684192e-06),
    *(2.7620138719733994e-07, 2.5100424157005067e-08),
)


def exp(x: Array) -> Array:
    """exp(r) 2ᵏ for x = k ln 2 + r; k is added to the exponent of exp(r) as an integer.

    Results that would be subnormal are 0, as those of XLA on CPUs.
    """
    k = round(mul(x, scalar_like(x, 1 / log(2))), RoundingMethod.TO_NEAREST_EVEN)
    r = sub(sub(x, mul(k, scalar_like(k, _LN2))), mul(k, scalar_like(k, _LN2_END)))
    # The lowest bits of the sum are those of k.
    shifted = bitcast_convert_type(add(k, scalar_like(k, 1.5 * 2**52)), _I64)
    exponent = shift_left(shifted, scalar_like(shifted, 52))
    start = bitcast_convert_type(polynomial_of(_EXPONENTIAL, r), _I64)
    result = bitcast_convert_type(add(start, exponent), _F64)
    result = select(gt(x, scalar_like(x, _GREATEST)), filled_like(x, inf), result)
    result = select(lt(x, scalar_like(x, _LEAST)), filled_like(x, 0), result)
    return select(ne(x, x), x, result)
