"""Words that generators encrypt: positions of elements, integers, and words of keys."""

from math import prod
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_lax as lax

_UINT32 = np.dtype("uint32")


def word(keys: ir.Array, i: int) -> ir.Array:
    """One of the words of every key."""
    return lax.squeeze(lax.slice_in_dim(keys, i, i + 1, axis=-1), (keys.ndim - 1,))


def leading(x: ir.Array, keys: ir.Array) -> ir.Array:
    """Add leading dimensions of size 1 to counters, to broadcast with keys."""
    return lax.expand_dims(x, tuple(range(keys.ndim - 1)))


def positions(shape: ir.Shape) -> tuple[ir.Array, ir.Array]:
    """The upper and lower 32 bits of each element's row-major position."""
    if ir.surely_at_least(prod(shape), 2**32 + 1):
        return _wide_positions(shape)
    low = lax.full(shape, 0, _UINT32)
    stride = 1
    for d in reversed(range(len(shape))):
        if not ir.surely_at_most(shape[d], 1):
            index = lax.broadcasted_iota(_UINT32, shape, d)
            term = index if stride == 1 else lax.mul(index, modulo_word(stride))
            low = term if stride == 1 else lax.add(low, term)
            stride *= shape[d]
    return lax.full(shape, 0, _UINT32), low


def modulo_word(stride: Any) -> ir.ArrayLike:
    """A number of elements, modulo 2³²."""
    if ir.is_symbolic_dim(stride):
        return lax.convert_element_type(stride, _UINT32)
    return np.uint32(stride % 2**32)


def _wide_positions(shape: ir.Shape) -> tuple[ir.Array, ir.Array]:
    """The positions in an array of more than 2³² elements, as sums of two words with carry."""
    high = low = lax.full(shape, 0, _UINT32)
    stride = 1
    for d in reversed(range(len(shape))):
        index = lax.broadcasted_iota(_UINT32, shape, d)
        for bit in range((shape[d] - 1).bit_length()):
            # Add the multiple of the stride that this bit of the index represents.
            bit_set = lax.bitwise_and(lax.shift_right_logical(index, np.uint32(bit)), np.uint32(1))
            step = stride << bit
            total = lax.add(low, lax.mul(bit_set, np.uint32(step % 2**32)))
            carry = lax.convert_element_type(lax.lt(total, low), _UINT32)
            upper = lax.mul(bit_set, np.uint32(step >> 32))
            high, low = lax.add(lax.add(high, upper), carry), total
        stride *= shape[d]
    return high, low


def halves(integers: ir.Array) -> tuple[ir.Array, ir.Array]:
    """The upper and lower 32 bits of integers; the upper are zero for narrower types."""
    low = lax.convert_element_type(integers, _UINT32)
    if np.dtype(integers.dtype).itemsize < 8:
        return lax.full_like(low, 0), low
    upper = lax.shift_right_logical(integers, _word_bits(integers.dtype))
    return lax.convert_element_type(upper, _UINT32), low


def join(high: ir.Array, low: ir.Array) -> ir.Array:
    """64-bit integers from their upper and lower halves."""
    wide = np.dtype("uint64")
    upper = lax.shift_left(lax.convert_element_type(high, wide), _word_bits(wide))
    return lax.bitwise_or(upper, lax.convert_element_type(low, wide))


def _word_bits(dtype: np.dtype) -> ir.Array:
    """Return 32 as an integer of ``dtype``.

    It is converted in the program: lowering rules trace these functions, and take no constants.
    """
    return lax.convert_element_type_p.bind(
        np.uint32(32), new_dtype=dtype, weak_type=False, sharding=None
    )
