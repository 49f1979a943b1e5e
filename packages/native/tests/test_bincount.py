"""Counts of integers by a kernel are those of XLA's scatter."""

import numpy as np
import pytest

import ricci_ir as ir
import ricci_numpy as jnp
from ricci_batching import vmap
from ricci_xla import jit

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")

pytestmark = pytest.mark.usefixtures("wide")


@pytest.mark.parametrize("length", [1, 7, 100, 5000])
@pytest.mark.parametrize("name", INTEGERS)
def test_elements_of_any_bits(comparison, elements, name, length):
    x = elements(name, (6001,))
    comparison.assert_equal_bits(lambda x: jnp.bincount(x, length=length), x)


@pytest.mark.parametrize("size", [512, 1023, 1024, 1025, 4099, 300_001])
@pytest.mark.parametrize("length", [3, 500])
def test_sizes(comparison, size, length):
    x = np.random.default_rng(size).integers(-2, length + 2, size)
    comparison.assert_equal_bits(lambda x: jnp.bincount(x, length=length), x)


def test_many_counters(comparison):
    x = np.random.default_rng(0).integers(0, 70_000, 200_000, np.int32)
    comparison.assert_equal_bits(lambda x: jnp.bincount(x, length=60_000), x)


def test_narrow_default_types(comparison):
    x = np.random.default_rng(0).integers(-5, 40, 2000, np.int32)
    with ir.enable_x64(False):
        comparison.assert_equal_bits(lambda x: jnp.bincount(x, length=30), x)
        assert jnp.bincount(x, length=30).dtype == np.int32


def test_eager_and_batched_calls():
    x = np.random.default_rng(0).integers(0, 40, (3, 2000), np.int32)
    expected = np.stack([np.bincount(row, minlength=40) for row in x])
    np.testing.assert_array_equal([jnp.bincount(row) for row in x], expected)
    count = vmap(lambda row: jnp.bincount(row, length=40))
    np.testing.assert_array_equal(count(x), expected)
    np.testing.assert_array_equal(jit(count)(x), expected)


def test_weights_few_elements_and_bools_are_left_to_xla(comparison):
    x = np.ones(1000, np.int32)
    assert comparison.calls_kernel(lambda x: jnp.bincount(x, length=3), x)
    assert not comparison.calls_kernel(lambda x: jnp.bincount(x, x, length=3), x)
    assert not comparison.calls_kernel(lambda x: jnp.bincount(x, length=3), x > 0)
    assert not comparison.calls_kernel(lambda x: jnp.bincount(x, length=3), x[:100])
    assert not comparison.calls_kernel(lambda x: jnp.bincount(x, length=2000), x)
    assert not comparison.calls_kernel(lambda x: jnp.bincount(x, length=0), x)
