"""Logarithms of float64, as formulas for CPUs.

The leading terms are sums of two floats, so that the results are at most 0.52 units of the last
place from the exact ones. No step relies on whether the processor fuses a product with a sum.
"""

from math import inf, nan

import numpy as np

from ricci_ir import Array
from ricci_lax.elementwise._arithmetic import abs, div, mul
from ricci_lax.elementwise._comparison import (
    bitwise_and,
    bitwise_or,
    eq,
    ge,
    gt,
    lt,
    select,
    shift_left,
    shift_right_arithmetic,
)
from ricci_lax.elementwise._conversion import bitcast_convert_type
from ricci_lax.elementwise._factories import filled_like, scalar_like
from ricci_lax.elementwise._linear import add, sub
from ricci_lax.elementwise._piecewise_linear import max, min
from ricci_lax.elementwise._series import polynomial_of

from ._float_bits import leading_bits

__all__ = ["log", "log1p"]

_F64, _I64 = map(np.dtype, ("float64", "int64"))
_TINY_BITS, _ROOT_HALF_BITS, _INFINITE_BITS = 1 << 52, 0x3FE6A09E667F3BCD, 0x7FF << 52
_TINY = 2.0**-1022
# ln 2 in two parts, of which the first has 40 bits: its products by exponents are exact.
_LN2, _LN2_END = map(float.fromhex, ("0x1.62e42fefa4000p-1", "-0x1.8432a1b0e2634p-43"))

# ln m = 2 s + s³ L(s²) with s = (m - 1) / (m + 1), and 1 / m, for m in [√½, √2]: interpolations at
# Chebyshev's points, whose relative errors are 2⁻⁵⁴ and 2⁻⁹.
_LOGARITHM = (
    *(0.6666666666666666, 0.4000000000000088, 0.2857142857080323, 0.2222222239180047),
    *(0.18181795630884753, 0.15386240205813478, 0.13268759668560612, 0.13086767009948175),
)
_INVERSE = (0.9986630252997662, -1.0113274460829325, 1.1026551677730918, -0.8873483535528596)


def _exponent_and_mantissa(x: Array) -> tuple[Array, Array]:
    """The integers k and the m in [√½, √2) with x = m 2^k, for positive normal x."""
    bits = bitcast_convert_type(x, _I64)
    above = sub(bits, scalar_like(bits, _ROOT_HALF_BITS))
    exponent = bitwise_and(above, scalar_like(bits, -(1 << 52)))
    m = bitcast_convert_type(sub(bits, exponent), _F64)
    return shift_right_arithmetic(exponent, scalar_like(bits, 52)), m


def _as_floats(k: Array) -> Array:
    """Small integers as float64: with those in the last bits, 1.5 · 2⁵² is increased by them."""
    shift = np.float64(1.5 * 2**52)
    shifted = bitcast_convert_type(add(k, scalar_like(k, int(shift.view(_I64)))), _F64)
    return sub(shifted, scalar_like(shifted, float(shift)))


def _sum_of_logarithms(k: Array, f: Array, correction: Array | None = None) -> Array:
    """k ln 2 + ln(1 + f) + a small correction, for f of which 1 + f is in [√½, √2].

    With s = f / (2 + f). The remainder r of the division is computed with products of numbers that
    are cut off, which are exact; the error of the logarithm is r / (1 + s). XLA does not fuse a
    quotient with several operations that use it, but one that a single product uses.
    """
    two = scalar_like(f, 2)
    divisor = add(two, f)
    s = mul(f, div(scalar_like(f, 1), divisor))
    s_start, divisor_start = leading_bits(s, 26), leading_bits(divisor, 26)
    divisor_end = add(sub(two, divisor_start), f)
    remainder = sub(f, mul(s_start, divisor_start))
    remainder = sub(remainder, mul(s_start, divisor_end))
    remainder = sub(remainder, mul(sub(s, s_start), divisor))
    square = mul(s, s)
    error = mul(remainder, add(sub(scalar_like(s, 1), s), square))
    end = add(error, mul(mul(s, square), polynomial_of(_LOGARITHM, square)))
    if correction is not None:
        end = add(end, correction)
    k = _as_floats(k)
    start, twice_s = mul(k, scalar_like(k, _LN2)), add(s, s)
    total = add(start, twice_s)
    error = add(sub(start, total), twice_s)  # Dekker's sum: k ln 2 is 0 or the larger one
    return add(total, add(error, add(end, mul(k, scalar_like(k, _LN2_END)))))


def _with_corners(x: Array, result: Array) -> Array:
    """The logarithm of x, where it is not a positive normal number: subnormal ones count as 0."""
    bits = bitcast_convert_type(x, _I64)
    corner = select(lt(abs(x), scalar_like(x, _TINY)), filled_like(x, -inf), filled_like(x, nan))
    corner = select(eq(x, scalar_like(x, inf)), x, corner)
    is_finite = lt(bits, scalar_like(bits, _INFINITE_BITS))
    is_normal = bitwise_and(ge(bits, scalar_like(bits, _TINY_BITS)), is_finite)
    return select(is_normal, result, corner)


def log(x: Array) -> Array:
    k, m = _exponent_and_mantissa(x)
    return _with_corners(x, _sum_of_logarithms(k, sub(m, scalar_like(m, 1))))


def log1p(x: Array) -> Array:
    """The logarithm of 1 + x.

    Of the rounded sum u = m 2^k, where k is not 0; the error of u, divided by u, corrects it.
    """
    one = scalar_like(x, 1)
    u = add(one, x)
    k, m = _exponent_and_mantissa(u)
    near = eq(k, scalar_like(k, 0))
    # Multiplied by 2⁻ᵏ, u is m; the error is the smaller summand less m's difference to the larger.
    unit = bitcast_convert_type(shift_left(sub(scalar_like(k, 1023), k), scalar_like(k, 52)), _F64)
    scaled = mul(x, unit)
    error = sub(min(scaled, unit), sub(m, max(scaled, unit)))
    f = select(near, x, sub(m, one))
    is_exact = bitwise_or(near, gt(x, scalar_like(x, 2.0**54)))
    correction = select(is_exact, filled_like(x, 0), mul(error, polynomial_of(_INVERSE, f)))
    result = _with_corners(u, _sum_of_logarithms(k, f, correction))
    # Of numbers this small, and of -0, the logarithm is the number itself.
    return select(lt(abs(x), scalar_like(x, 2.0**-54)), x, result)
