"""The Threefry generator: keys and random bits from a cipher, in two layouts.

A key is two words of 32 bits, and so is what the cipher encrypts. Random bits are encrypted
counters (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011).

In the partitionable layout the counter of an element is its position in the array, so that each
device can compute its own part of an array. In the original layout the counters of a whole array
are cut into two halves, and the cipher takes one of each; this uses both words of its output, but
an element depends on the array's size.
"""

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_lax.authoring import threefry2x32, threefry2x32_xor
from ricci_random.keys._key_type import Generator, register_generator


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
    # The sum of index times stride over all dimensions, from one iota for each: unlike the reshaped
    # iota of the whole array, it is computed on each device for the elements that it holds.
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
            # An unsigned sum that wraps around is less than either of its terms.
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


_UINT32 = np.dtype("uint32")


def _pair(x0: ir.Array, x1: ir.Array) -> ir.Array:
    """The words of keys from the arrays of their first and second words."""
    last = x0.ndim
    return lax.concatenate([lax.expand_dims(x0, (last,)), lax.expand_dims(x1, (last,))], last)


def _keys_for(keys: ir.Array, ndim: int) -> tuple[ir.Array, ir.Array]:
    """Both words of every key, with ``ndim`` dimensions of size 1 after the keys' own.

    A single key stays a scalar, which broadcasts.
    """
    lead = keys.ndim - 1
    new = tuple(range(lead, lead + ndim)) if lead else ()
    return lax.expand_dims(word(keys, 0), new), lax.expand_dims(word(keys, 1), new)


def _by_position[Words](encrypted: Callable[..., Words], keys: ir.Array, shape: ir.Shape) -> Words:
    """The partitionable layout: the encrypted position of each element, for every key."""
    high, low = positions(shape)
    return encrypted(*_keys_for(keys, len(shape)), leading(high, keys), leading(low, keys))


def _in_halves(keys: ir.Array, count: int) -> ir.Array:
    """The original layout: ``count`` words for every key, from counters of both halves in pairs."""
    half = (count + 1) // 2
    counters = lax.iota(_UINT32, half)
    second = lax.add(counters, modulo_word(half))
    if count % 2 != 0:  # the counter past the end is zero, as in JAX
        last = modulo_word(half - 1)
        past = lax.eq(counters, last)
        if ir.is_symbolic_dim(count % 2):  # there may be none
            past = lax.bitwise_and(past, lax.eq(modulo_word(count % 2), np.uint32(1)))
        second = lax.select(past, lax.full_like(counters, 0), second)
    k0, k1 = _keys_for(keys, 1)
    y0, y1 = threefry2x32(k0, k1, leading(counters, keys), leading(second, keys))
    both = lax.concatenate([y0, y1], keys.ndim - 1)
    return lax.slice_in_dim(both, 0, count, axis=keys.ndim - 1)


def _seed(seeds: ir.Array) -> ir.Array:
    """The key of a seed: the two words of its 64 bits."""
    return _pair(*halves(seeds))


def _split(keys: ir.Array, shape: ir.Shape) -> ir.Array:
    if ir.threefry_partitionable.value:
        return _pair(*_by_position(threefry2x32, keys, shape))
    words = _in_halves(keys, 2 * prod(shape))
    return lax.reshape(words, (*keys.shape[:-1], *shape, 2))


def _fold_in(keys: ir.Array, data: ir.Array) -> ir.Array:
    """The integer, encrypted with the key."""
    counter = _seed(data)
    words = [word(keys, 0), word(keys, 1), word(counter, 0), word(counter, 1)]
    return _pair(*threefry2x32(*words))


def _bits(keys: ir.Array, bit_width: int, shape: ir.Shape) -> ir.Array:
    dtype = np.dtype(f"uint{bit_width}")
    if ir.threefry_partitionable.value:
        if bit_width == 64:
            return join(*_by_position(threefry2x32, keys, shape))
        return lax.convert_element_type(_by_position(threefry2x32_xor, keys, shape), dtype)
    lead, size = keys.shape[:-1], prod(shape)
    if not size:
        return lax.full((*lead, *shape), 0, dtype)
    # The form of before threefry_partitionable: the counters of all words are cut into two halves,
    # one for each word of a block, so that the bits depend on the size of the whole array.
    words = _in_halves(keys, -(-size * bit_width // 32))
    if bit_width == 64:
        y0, y1 = (lax.slice_in_dim(words, i, i + size, axis=-1) for i in (0, size))
        return lax.reshape(join(y0, y1), (*lead, *shape))
    if bit_width < 32:
        words = _narrow_words(words, bit_width, size)
    return lax.reshape(lax.convert_element_type(words, dtype), (*lead, *shape))


def _narrow_words(words: ir.Array, bit_width: int, size: int) -> ir.Array:
    """Split words into narrower integers, the lowest bits first."""
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
