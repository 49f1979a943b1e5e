"""The compiler's generators compute the published values of their algorithms."""

import numpy as np
import pytest

import ricci
from ricci import lax
from ricci_ir import use_backend
from ricci_reference import reference_backend

KEYS = np.array(
    [
        [0, 0, 0, 0],
        [0x13198A2E, 0x03707344, 0x243F6A88, 0x85A308D3],
        [1, 2, 0xFFFFFFFE, 0xFFFFFFFF],
    ],
    np.uint32,
)
SHAPES = [(), (3, 0), (16,), (3, 5), (5, 3), (3, 2, 2), (3, 7, 5)]
ALGORITHMS = [lax.RandomAlgorithm.RNG_THREE_FRY, lax.RandomAlgorithm.RNG_PHILOX]


def check(draw, keys):
    """A compiled function of a key has the values of the reference backend."""
    compiled = ricci.jit(draw)
    for key in keys:
        found = compiled(key)
        with use_backend(reference_backend):
            expected = draw(key)
        for ours, theirs in zip(found, expected, strict=True):
            for x, y in zip(ours, theirs, strict=True):
                np.testing.assert_array_equal(np.asarray(x), np.asarray(y))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_bits_are_those_of_the_reference(algorithm, dtype):
    with ricci.enable_x64(True):
        check(lambda key: [lax.rng_bit_generator(key, s, dtype, algorithm) for s in SHAPES], KEYS)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_bits_of_wide_keys(algorithm):
    with ricci.enable_x64(True):
        check(
            lambda key: [lax.rng_bit_generator(key, (5,), algorithm=algorithm)],
            KEYS.view(np.uint64),
        )


def test_a_batch_draws_from_the_first_key():
    draw = lambda key: lax.rng_bit_generator(key, (5,), algorithm=ALGORITHMS[0])
    keys, bits = ricci.vmap(draw)(KEYS)
    new_key, expected = lax.rng_bit_generator(KEYS[0], (3, 5), algorithm=ALGORITHMS[0])
    np.testing.assert_array_equal(bits, expected)
    np.testing.assert_array_equal(keys, [np.asarray(new_key), *KEYS[1:]])


@pytest.mark.parametrize(("low", "high"), [(2.0, 3.0), (-4, 9)])
def test_uniform_numbers_lie_between_their_bounds(low, high):
    numbers = np.asarray(lax.rng_uniform(low, high, (100,)))
    assert ((numbers >= low) & (numbers < high)).all()


def test_uniform_numbers_are_other_ones_with_every_call():
    first, second = (np.asarray(lax.rng_uniform(0.0, 1.0, (9,))) for _ in range(2))
    assert (first != second).any()
