"""The signs and sizes of floats as bits, which CPUs set also of zeros, NaNs and subnormals."""

import numpy as np

import ricci_ir as ir
from ricci_ir import Array
from ricci_lax.elementwise._comparison import bitwise_and, bitwise_xor
from ricci_lax.elementwise._conversion import bitcast_convert_type
from ricci_lax.elementwise._factories import scalar_like
from ricci_lax.structure._operand_types import array_aval

__all__ = ["INFINITE_BITS", "TINY_BITS", "leading_bits", "size_bits", "with_sign_bit"]

_F64, _I32, _I64 = map(np.dtype, ("float64", "int32", "int64"))
TINY_BITS = 0x800000  # of the least normal number
INFINITE_BITS = 0x7F800000


def size_bits(x: Array) -> Array:
    """The bits of |x| as an int32, whose order is that of the values: NaNs come last."""
    return bitwise_and(bitcast_convert_type(x, _I32), np.int32(0x7FFFFFFF))


def with_sign_bit(x: Array, bits: Array) -> Array:
    """Change the sign of x, a float, where the highest bit is set of integers of its width."""
    lowest = scalar_like(bits, ir.iinfo(array_aval(bits).dtype).min)
    as_bits = bitcast_convert_type(x, array_aval(bits).dtype)
    signed = bitwise_xor(as_bits, bitwise_and(bits, lowest))
    return bitcast_convert_type(signed, array_aval(x).dtype)


def leading_bits(x: Array, count: int) -> Array:
    """x, a float64, cut off behind its first bits, so that products of such numbers are exact."""
    bits = bitcast_convert_type(x, _I64)
    return bitcast_convert_type(bitwise_and(bits, scalar_like(bits, -(1 << (53 - count)))), _F64)
