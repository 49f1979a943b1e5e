"""The Threefry generator: keys and random bits from a cipher, in two layouts.

A key is two words of 32 bits, and so is what the cipher encrypts. Random bits are encrypted
counters (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011).

In the partitionable layout the counter of an element is its position in the array, so that each
device can compute its own part of an array. In the original layout the counters of a whole array
are cut into two halves, and the cipher takes one of each; this uses both words of its output, but
an element depends on the array's size.
"""

from math import prod
from typing import Any

import numpy as np

import ricci_lax as lax
from ricci_ir import (
    Array,
    ArrayLike,
    Shape,
    is_symbolic_dim,
    surely_at_least,
    surely_at_most,
    threefry_partitionable,
)
from ricci_lax.authoring import threefry2x32
from ricci_random.keys._key_type import Generator, register_generator

_UINT32 = np.dtype("uint32")


def _word(keys: Array, i: int) -> Array:
    """One of the two words of every key."""
    return lax.squeeze(lax.slice_in_dim(keys, i, i + 1, axis=-1), (keys.ndim - 1,))


def _pair(x0: Array, x1: Array) -> Array:
    """The words of keys from the arrays of their first and second words."""
    last = x0.ndim
    return lax.concatenate([lax.expand_dims(x0, (last,)), lax.expand_dims(x1, (last,))], last)


def _keys_for(keys: Array, ndim: int) -> tuple[Array, Array]:
    """Both words of every key, with ``ndim`` dimensions of size 1 after the keys' own.

    One key alone stays a scalar: it broadcasts as it is.
    """
    lead = keys.ndim - 1
    new = tuple(range(lead, lead + ndim)) if lead else ()
    return lax.expand_dims(_word(keys, 0), new), lax.expand_dims(_word(keys, 1), new)


def _leading(x: Array, keys: Array) -> Array:
    """Counters with dimensions of size 1 in front, which the keys' own broadcast to."""
    return lax.expand_dims(x, tuple(range(keys.ndim - 1)))


def _positions(shape: Shape) -> tuple[Array, Array]:
    """The upper and lower 32 bits of each element's row-major position."""
    if surely_at_least(prod(shape), 2**32 + 1):
        return _wide_positions(shape)
    low = lax.full(shape, 0, _UINT32)
    stride = 1
    for d in reversed(range(len(shape))):
        if not surely_at_most(shape[d], 1):
            index = lax.broadcasted_iota(_UINT32, shape, d)
            term = index if stride == 1 else lax.mul(index, _modulo_word(stride))
            low = term if stride == 1 else lax.add(low, term)
            stride *= shape[d]
    return lax.full(shape, 0, _UINT32), low


def _modulo_word(stride: Any) -> ArrayLike:
    """A number of elements, modulo 2³²."""
    if is_symbolic_dim(stride):
        return lax.convert_element_type(stride, _UINT32)
    return np.uint32(stride % 2**32)


def _wide_positions(shape: Shape) -> tuple[Array, Array]:
    """The positions in an array of more than 2³² elements, added up in two words with a carry."""
    high = low = lax.full(shape, 0, _UINT32)
    stride = 1
    for d in reversed(range(len(shape))):
        index = lax.broadcasted_iota(_UINT32, shape, d)
        for bit in range((shape[d] - 1).bit_length()):
            # The multiple of the stride that this bit of the index stands for.
            bit_set = lax.bitwise_and(lax.shift_right_logical(index, np.uint32(bit)), np.uint32(1))
            step = stride << bit
            total = lax.add(low, lax.mul(bit_set, np.uint32(step % 2**32)))
            carry = lax.convert_element_type(lax.lt(total, low), _UINT32)
            upper = lax.mul(bit_set, np.uint32(step >> 32))
            high, low = lax.add(lax.add(high, upper), carry), total
        stride *= shape[d]
    return high, low


def _by_position(keys: Array, shape: Shape) -> tuple[Array, Array]:
    """The partitionable layout: the encrypted position of each element, for every key."""
    high, low = _positions(shape)
    return threefry2x32(*_keys_for(keys, len(shape)), _leading(high, keys), _leading(low, keys))


def _in_halves(keys: Array, count: int) -> Array:
    """The original layout: ``count`` words for every key, from counters of both halves in pairs."""
    half = (count + 1) // 2
    counters = lax.iota(_UINT32, half)
    second = lax.add(counters, _modulo_word(half))
    if count % 2 != 0:  # the counter past the end is zero, as JAX has it
        last = _modulo_word(half - 1)
        past = lax.eq(counters, last)
        if is_symbolic_dim(count % 2):  # there may be none
            past = lax.bitwise_and(past, lax.eq(_modulo_word(count % 2), np.uint32(1)))
        second = lax.select(past, lax.full_like(counters, 0), second)
    k0, k1 = _keys_for(keys, 1)
    y0, y1 = threefry2x32(k0, k1, _leading(counters, keys), _leading(second, keys))
    both = lax.concatenate([y0, y1], keys.ndim - 1)
    return lax.slice_in_dim(both, 0, count, axis=keys.ndim - 1)


def _seed(seeds: Array) -> Array:
    """The 64 bits of an integer are the two words of its key."""
    low = lax.convert_element_type(seeds, _UINT32)
    if np.dtype(seeds.dtype).itemsize < 8:
        return _pair(lax.full_like(low, 0), low)
    upper = lax.shift_right_logical(seeds, np.array(32, seeds.dtype)[()])
    return _pair(lax.convert_element_type(upper, _UINT32), low)


def _split(keys: Array, shape: Shape) -> Array:
    if threefry_partitionable.value:
        return _pair(*_by_position(keys, shape))
    words = _in_halves(keys, 2 * prod(shape))
    return lax.reshape(words, (*keys.shape[:-1], *shape, 2))


def _fold_in(keys: Array, data: Array) -> Array:
    """The integer, encrypted with the key."""
    counter = _seed(data)
    words = [_word(keys, 0), _word(keys, 1), _word(counter, 0), _word(counter, 1)]
    return _pair(*threefry2x32(*words))


def _bits(keys: Array, bit_width: int, shape: Shape) -> Array:
    dtype = np.dtype(f"uint{bit_width}")
    if threefry_partitionable.value:
        y0, y1 = _by_position(keys, shape)
        if bit_width == 64:
            return _join(y0, y1)
        return lax.convert_element_type(lax.bitwise_xor(y0, y1), dtype)
    lead, size = keys.shape[:-1], prod(shape)
    if not size:
        return lax.full((*lead, *shape), 0, dtype)
    words = _in_halves(keys, -(-size * bit_width // 32))
    if bit_width == 64:
        y0, y1 = (lax.slice_in_dim(words, i, i + size, axis=-1) for i in (0, size))
        return lax.reshape(_join(y0, y1), (*lead, *shape))
    if bit_width < 32:
        words = _cut(words, bit_width, size)
    return lax.reshape(lax.convert_element_type(words, dtype), (*lead, *shape))


def _join(high: Array, low: Array) -> Array:
    """64-bit integers from their upper and lower halves."""
    wide = np.dtype("uint64")
    upper = lax.shift_left(lax.convert_element_type(high, wide), np.uint64(32))
    return lax.bitwise_or(upper, lax.convert_element_type(low, wide))


def _cut(words: Array, bit_width: int, size: int) -> Array:
    """Words cut into narrower integers, the lowest bits first."""
    parts, last = 32 // bit_width, words.ndim
    shape = (*words.shape, parts)
    shifts = lax.mul(lax.broadcasted_iota(_UINT32, shape, last), np.uint32(bit_width))
    whole = lax.broadcast_in_dim(words, shape, tuple(range(last)))
    cut = lax.bitwise_and(lax.shift_right_logical(whole, shifts), np.uint32(2**bit_width - 1))
    flat = lax.reshape(cut, (*words.shape[:-1], words.shape[-1] * parts))
    return lax.slice_in_dim(flat, 0, size, axis=-1)


threefry: Generator = register_generator(
    Generator("threefry2x32", "fry", (2,), _seed, _split, _fold_in, _bits)
)
