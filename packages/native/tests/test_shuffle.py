"""Random orders that a kernel computes are those of XLA's sorts."""

import numpy as np
import pytest

import ricci_ir as ir
import ricci_lax as lax
import ricci_numpy as jnp
import ricci_random as random
from ricci_batching import vmap
from ricci_xla import jit

pytestmark = pytest.mark.usefixtures("wide")

# One round of numbers up to 1625 elements, three from 2642246 on; more buckets from 8193 on.
FULL_BUCKET = (6, 140_000, 4470)
SIZES = (8, 65, 1000, 1625, 1626, 4097, 8193, 100_003, 2_700_001)


@pytest.mark.parametrize("size", SIZES)
def test_orders_of_integers(comparison, size):
    order = lambda key: random.permutation(key, size)
    for seed in (0, 2**31 + 5) if size < 10**6 else (1,):
        comparison.assert_equal_bits(order, random.key(seed))


@pytest.mark.parametrize("name", ["bool", "int8", "bfloat16", "float32", "int64", "complex128"])
def test_elements_of_each_width(comparison, elements, name):
    if name == "complex128":
        x = elements("float64", (6000,)).view(name)
    else:
        x = elements(name, (3000,))
    comparison.assert_equal_bits(random.permutation, random.key(2), x)


def test_equal_numbers_keep_the_order_of_their_elements(comparison):
    # Of 300,000 numbers of 32 bits some ten pairs are equal.
    numbers = np.asarray(random.bits(random.split(random.key(7))[1], (300_000,), "uint32"))
    assert len(np.unique(numbers)) < numbers.size
    comparison.assert_equal_bits(lambda k: random.permutation(k, 300_000), random.key(7))


def test_full_bucket(comparison):
    # One of the buckets of this seed's numbers has more than five standard deviations too many.
    bits, size, seed = FULL_BUCKET
    numbers = np.asarray(random.bits(random.split(random.key(seed))[1], (size,), "uint32"))
    counts = np.bincount(numbers >> (32 - bits))
    assert counts.max() > size / 2**bits + 5 * np.sqrt(size / 2**bits) + 1
    comparison.assert_equal_bits(lambda k: random.permutation(k, size), random.key(seed))


def test_rows_and_other_axes(comparison):
    x = np.arange(8000.0).reshape(100, 80)
    for axis in (0, 1):
        comparison.assert_equal_bits(
            lambda k, axis=axis: random.permutation(k, x, axis), random.key(3)
        )


def test_eager_compiled_and_mapped_calls_agree():
    x = np.arange(500, dtype="float32")
    keys = random.split(random.key(0), 3)
    with ir.native_kernels(False):
        expected = np.stack([random.permutation(key, x) for key in keys])
    for _ in range(2):
        np.testing.assert_array_equal([random.permutation(key, x) for key in keys], expected)
        np.testing.assert_array_equal(jit(random.permutation)(keys[0], x), expected[0])
    np.testing.assert_array_equal(vmap(lambda k: random.permutation(k, x))(keys), expected)
    _, scanned = lax.scan(lambda c, k: (c, random.permutation(k, x)), 0, keys)
    np.testing.assert_array_equal(scanned, expected)


def test_other_calls_are_left_to_xla(comparison):
    def shuffles(function, key):
        return comparison.calls_kernel(function, key, name="shuffle")

    key = random.key(0)
    assert shuffles(lambda k: random.permutation(k, 8), key)
    assert not shuffles(lambda k: random.permutation(k, 7), key)
    assert not shuffles(lambda k: random.permutation(k, 8), random.key(0, impl="rbg"))
    assert not shuffles(lambda k: random.permutation(k, 1 + (1 << 22)), key)
    assert not shuffles(lambda k: random.permutation(k, jnp.ones((80, 2)), independent=True), key)
    with ir.threefry_partitionable(False):
        assert not shuffles(lambda k: random.permutation(k, 8), key)
