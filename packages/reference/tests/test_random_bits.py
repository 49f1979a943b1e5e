"""XLA's generators: known answers, and the order of the words of a block."""

from typing import Any

import numpy as np
import pytest

from ricci_ir import enable_x64
from ricci_lax import RandomAlgorithm, rng_bit_generator, rng_uniform

THREE_FRY, PHILOX = RandomAlgorithm.RNG_THREE_FRY, RandomAlgorithm.RNG_PHILOX
ZEROS = np.zeros(4, np.uint32)
# The counter is about to overflow; Philox continues it with the key's words.
LATE = np.array([1, 2, 0xFFFFFFFE, 0xFFFFFFFF], np.uint32)


def drawn(key, shape, algorithm, dtype: Any = np.uint32):
    key, bits = rng_bit_generator(key, shape, dtype, algorithm)
    return np.asarray(key).tolist(), np.asarray(bits).tolist()


# The first two of each are known answers of Random123; the others XLA's.
KNOWN_ANSWERS = [
    (THREE_FRY, ZEROS, [0x6B200159, 0x99BA4EFE, 0x508EFB2C], [0, 0, 2, 0]),
    (PHILOX, ZEROS, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8, 0xF8E4CCA4], [0, 0, 2, 0]),
    (THREE_FRY, LATE, [0xF549DE6F, 0xA0A6A1E9, 0xE5890944, 0x9C2710FF, 0x257EDF33], [1, 2, 1, 0]),
    (
        PHILOX,
        LATE,
        [0x91727C03, 0xA2FE85DF, 0x4D5B8CE2, 0x255695D7, 0x3427FC20, 0x9279B540, 0x38CB9485]
        + [0x1FF5C099, 0x409ECD8],
        [1, 2, 1, 0],
    ),
]


@pytest.mark.parametrize(("algorithm", "key", "bits", "new_key"), KNOWN_ANSWERS)
def test_known_answers(algorithm, key, bits, new_key):
    assert drawn(key, (len(bits),), algorithm) == (new_key, bits)


def test_the_default_is_philox():
    assert drawn(LATE, (5,), RandomAlgorithm.RNG_DEFAULT) == drawn(LATE, (5,), PHILOX)


@pytest.mark.parametrize("algorithm", [THREE_FRY, PHILOX])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_narrow_bits_are_the_low_ones(dtype, algorithm):
    _, words = drawn(LATE, (5,), algorithm)
    _, narrow = drawn(LATE, (5,), algorithm, dtype)
    assert narrow == [word % 2 ** (8 * np.dtype(dtype).itemsize) for word in words]


@pytest.mark.parametrize("algorithm", [THREE_FRY, PHILOX])
def test_wide_bits_are_pairs_of_words(algorithm):
    _, words = drawn(LATE, (6,), algorithm)
    with enable_x64(True):
        _, wide = drawn(LATE, (3,), algorithm, np.uint64)
    assert wide == [low + (high << 32) for low, high in zip(words[::2], words[1::2], strict=True)]


def test_a_wide_key_is_the_same_key():
    with enable_x64(True):
        key, bits = drawn(LATE.view(np.uint64), (5,), PHILOX)
    new_key, same_bits = drawn(LATE, (5,), PHILOX)
    assert (bits, np.array(key, np.uint64).view(np.uint32).tolist()) == (same_bits, new_key)


# As XLA computes them: places in the stream of words, for each shape.
THREE_FRY_PLACES = [
    ((2, 3), [0, 2, 4, 1, 3, 5]),
    ((3, 2, 2), [0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11]),
    ((3, 5), [0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 12, 13, 14, 15, 16]),
    ((5, 3), [0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9, 11, 12, 14, 16]),
    ((1, 3, 1), [0, 1, 2]),
    ((), [0]),
]


@pytest.mark.parametrize(("shape", "places"), THREE_FRY_PLACES)
def test_order_of_the_words_of_a_block(shape, places):
    _, stream = drawn(ZEROS, (20,), THREE_FRY)
    _, bits = drawn(ZEROS, shape, THREE_FRY)
    assert np.ravel(bits).tolist() == [stream[place] for place in places]


@pytest.mark.parametrize("shape", [(0,), (3, 0)])
@pytest.mark.parametrize("algorithm", [THREE_FRY, PHILOX])
def test_key_is_unchanged_without_elements(algorithm, shape):
    assert drawn(LATE, shape, algorithm)[0] == LATE.tolist()


@pytest.mark.parametrize(("low", "high"), [(2.0, 3.0), (-4, 9), (np.uint32(3), np.uint32(4))])
def test_uniform_numbers_lie_between_their_bounds(low, high):
    numbers = np.asarray(rng_uniform(low, high, (100,)))
    assert ((numbers >= low) & (numbers < high)).all()


def test_uniform_numbers_differ_between_calls():
    first, second = (np.asarray(rng_uniform(0.0, 1.0, (9,))) for _ in range(2))
    assert (first != second).any()
