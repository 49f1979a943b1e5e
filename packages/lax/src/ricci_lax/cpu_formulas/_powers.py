"""Powers of float32, as a formula for CPUs."""

from math import inf, nan

import numpy as np

from ricci_ir import Array
from ricci_lax.elementwise._arithmetic import div, mul
from ricci_lax.elementwise._comparison import (
    bitwise_and,
    bitwise_not,
    bitwise_or,
    eq,
    gt,
    lt,
    ne,
    select,
    shift_left,
    shift_right_arithmetic,
)
from ricci_lax.elementwise._conversion import bitcast_convert_type, converted
from ricci_lax.elementwise._factories import filled_like, scalar_like
from ricci_lax.elementwise._linear import add, sub
from ricci_lax.elementwise._rounding import RoundingMethod, floor, round
from ricci_lax.elementwise._series import polynomial_of
from ricci_lax.structure._operand_types import array_aval

from ._float_bits import INFINITE_BITS, TINY_BITS, size_bits, with_sign_bit

__all__ = ["pow"]

_F32, _F64, _I32, _I64 = map(np.dtype, ("float32", "float64", "int32", "int64"))
_ONE_BITS, _ROOT_HALF_BITS = 0x3F800000, 0x3F3504F3
# The quotients of more elements take longer in memory than in a loop with the other operations.
_MOST_SEPARATE = 2**21

# log2 m = s L(s²) with s = (m - 1) / (m + 1) for m in [√½, √2], and 2^f for |f| ≤ ½: interpolations
# at Chebyshev's points, whose relative errors are 2⁻³⁷ and 2⁻³⁴.
_LOGARITHM = (
    *(2.885390081789987, 0.9617966734515485, 0.5770835660048659, 0.41167376623771057),
    0.3407120415619086,
)
_POWER_OF_TWO = (
    *(0.9999999999595618, 0.6931471805568324, 0.24022651213498092, 0.055504109063258665),
    *(0.009618025613318034, 0.0013333478473685416, 0.00015469729214118296),
    1.5303700711365693e-05,
)


def _log2_of_size(x: Array) -> Array:
    """The logarithm of |x| in float64: infinite of 0 and infinity, NaN of NaN."""
    bits = size_bits(x)
    # XLA's CPUs read subnormal numbers as 0; as integers they count multiples of 2⁻¹⁴⁹.
    is_subnormal = lt(bits, np.int32(TINY_BITS))
    scaled = bitcast_convert_type(converted(bits, _F32), _I32)
    normal = select(is_subnormal, scaled, bits)
    exponent = shift_right_arithmetic(sub(normal, np.int32(_ROOT_HALF_BITS)), np.int32(23))
    m = sub(normal, shift_left(exponent, np.int32(23)))
    m = converted(bitcast_convert_type(m, _F32), _F64)
    unit = select(is_subnormal, filled_like(exponent, 149), filled_like(exponent, 0))
    whole = converted(sub(exponent, unit), _F32)
    is_ordinary = lt(bits, np.int32(INFINITE_BITS))
    whole = select(is_ordinary, whole, bitcast_convert_type(bits, _F32))
    whole = select(eq(bits, np.int32(0)), filled_like(whole, -inf), whole)
    upper, lower = sub(m, scalar_like(m, 1)), add(m, scalar_like(m, 1))
    # XLA does not fuse a quotient with several operations that use it, but one that a product uses.
    is_fused = array_aval(x).size > _MOST_SEPARATE
    s = mul(upper, div(scalar_like(m, 1), lower)) if is_fused else div(upper, lower)
    return add(converted(whole, _F64), mul(s, polynomial_of(_LOGARITHM, mul(s, s))))


def _power_of_two(t: Array) -> Array:
    """2^t in float32, from the float64 t, whose rounding to an integer is the exponent."""
    # Outside of these bounds the result is 0 or infinite in float32, and inside normal in float64.
    t = select(gt(t, scalar_like(t, 1000)), filled_like(t, 1000), t)
    t = select(lt(t, scalar_like(t, -1000)), filled_like(t, -1000), t)
    whole = round(t, RoundingMethod.TO_NEAREST_EVEN)
    # The lowest bits of the sum are those of the biased exponent.
    bits = bitcast_convert_type(add(whole, scalar_like(t, 1.5 * 2**52 + 1023)), _I64)
    scale = bitcast_convert_type(shift_left(bits, scalar_like(bits, 52)), _F64)
    return converted(mul(polynomial_of(_POWER_OF_TWO, sub(t, whole)), scale), _F32)


def pow(x: Array, y: Array) -> Array:
    """The power 2^(y log2 |x|), computed in float64, with the signs and corners of C's ``pow``."""
    bits, size, exponent_size = bitcast_convert_type(x, _I32), size_bits(x), size_bits(y)
    # The least normal exponent has the same effect as a subnormal one, which is read as 0.
    is_subnormal = bitwise_and(
        gt(exponent_size, np.int32(0)), lt(exponent_size, np.int32(TINY_BITS))
    )
    least = with_sign_bit(filled_like(y, 2.0**-126), bitcast_convert_type(y, _I32))
    y = select(is_subnormal, least, y)
    result = _power_of_two(mul(converted(y, _F64), _log2_of_size(x)))

    half = mul(y, scalar_like(y, 0.5))
    is_whole = eq(floor(y), y)
    is_odd = bitwise_and(is_whole, ne(floor(half), half))
    result = with_sign_bit(result, select(is_odd, bits, filled_like(bits, 0)))
    # A root of a negative number, but for -0 and -∞.
    is_negative = bitwise_and(lt(bits, np.int32(0)), gt(size, np.int32(0)))
    is_negative = bitwise_and(is_negative, lt(size, np.int32(INFINITE_BITS)))
    is_root = bitwise_and(is_negative, bitwise_not(is_whole))
    result = select(is_root, filled_like(result, nan), result)
    # Also of NaN to the power 0, 1 to the power NaN, and -1 to infinite powers.
    is_one = bitwise_or(eq(y, scalar_like(y, 0)), eq(bits, np.int32(_ONE_BITS)))
    is_infinite = eq(exponent_size, np.int32(INFINITE_BITS))
    is_minus_one = bitwise_and(is_infinite, eq(size, np.int32(_ONE_BITS)))
    return select(bitwise_or(is_one, is_minus_one), filled_like(result, 1), result)
