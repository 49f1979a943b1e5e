"""The signs and sizes of float32 as bits, which CPUs set also of zeros, NaNs and subnormals."""

import numpy as np

from ricci_ir import Array

from ._comparison import bitwise_and, bitwise_xor
from ._conversion import bitcast_convert_type
from ._factories import scalar_like

__all__ = ["INFINITE_BITS", "TINY_BITS", "size_bits", "with_sign_bit"]

_F32, _I32 = map(np.dtype, ("float32", "int32"))
TINY_BITS = 0x800000  # of the least normal number
INFINITE_BITS = 0x7F800000


def size_bits(x: Array) -> Array:
    """The bits of |x| as an int32, whose order is that of the values: NaNs come last."""
    return bitwise_and(bitcast_convert_type(x, _I32), np.int32(0x7FFFFFFF))


def with_sign_bit(x: Array, bits: Array) -> Array:
    """Change the sign of x, a float32, where the highest bit is set."""
    sign = bitwise_and(bits, scalar_like(bits, -(2**31)))
    return bitcast_convert_type(bitwise_xor(bitcast_convert_type(x, _I32), sign), _F32)
