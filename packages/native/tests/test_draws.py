"""Uniform and normal numbers that kernels draw have the bits of those that XLA computes."""

from functools import partial

import numpy as np
import pytest

import ricci_autodiff as ad
import ricci_ir as ir
import ricci_numpy as jnp
import ricci_random as random
from ricci_batching import vmap
from ricci_xla import jit

SIZES = (8, 17, 511, 512, 513, 4095, 100_003)
SEEDS = (0, 1, 2**31 + 5)

pytestmark = pytest.mark.usefixtures("wide")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ["float32", "float64"])
@pytest.mark.parametrize("sampler", [random.uniform, random.normal])
def test_bits_of_samples(comparison, sampler, name, size):
    if sampler is random.uniform or name == "float32":
        size = min(size, 32767)
    draw = lambda key: sampler(key, (size,), name)
    for seed in SEEDS:
        comparison.assert_equal_bits(draw, random.key(seed))


@pytest.mark.parametrize("size", [*SIZES, 4_000_000])
def test_bits_of_gumbel_numbers(comparison, size):
    comparison.assert_equal_bits(
        lambda k: random.gumbel(k, (size,), "float32", mode="low"), random.key(size)
    )


def test_tails_of_normal_numbers(comparison):
    # Of 4 · 10⁶ numbers some need the third polynomial, which float32 does not have.
    comparison.assert_equal_bits(lambda k: random.normal(k, (2000, 2000), "float64"), random.key(3))


BOUNDS = [(-1.0, 1.0), (-3.3, 1e9 / 7), (2, 1), (0.0, np.inf), (np.nan, 1.0), (-0.0, 0.0), (5, 5)]


@pytest.mark.parametrize("name", ["float32", "float64"])
@pytest.mark.parametrize("bounds", BOUNDS)
def test_bounds(comparison, bounds, name):
    def draw(key, low, high):
        x = random.uniform(key, (300,), name, low, high)
        # The sign of a NaN is not specified.
        return jnp.abs(x) if has_nan else x

    has_nan = not np.isfinite(bounds).all()
    low, high = (np.asarray(x, np.float64) for x in bounds)
    comparison.assert_equal_bits(draw, random.key(0), low, high)
    comparison.assert_equal_bits(lambda key: draw(key, *bounds), random.key(0))


@pytest.mark.parametrize(
    "function",
    [
        lambda key: random.normal(key, (3, 5, 7), "complex64"),
        lambda key: random.bernoulli(key, 0.3, (100,)),
        lambda key: random.exponential(key, (100,)),
        lambda key: random.categorical(key, np.zeros((4, 10), "float32"), shape=(100, 4)),
        lambda key: random.truncated_normal(key, -1.0, 2.0, (100,)),
        lambda key: random.lognormal(key, 0.5, (100,)),
        lambda key: random.multivariate_normal(key, np.zeros(3), np.eye(3), (20,)),
        lambda key: ad.jvp(lambda s: s * random.normal(key, (50,)), (2.0,), (1.0,)),
    ],
)
def test_samplers_that_draw_them(comparison, function):
    comparison.assert_equal_bits(function, random.key(7))


@pytest.mark.parametrize("sampler", [random.uniform, random.normal])
def test_eager_and_compiled_calls_agree(sampler):
    for key in (random.key(1), random.PRNGKey(1)):
        eager = sampler(key, (100,))
        np.testing.assert_array_equal(eager, jit(lambda k: sampler(k, (100,)))(key))
        with ir.native_kernels(False):
            np.testing.assert_array_equal(eager, sampler(key, (100,)))


@pytest.mark.parametrize("sampler", [random.uniform, random.normal])
def test_many_keys_draw_what_each_draws(sampler):
    keys = random.split(random.key(0), 5)
    each = np.stack([sampler(key, (40,)) for key in keys])
    np.testing.assert_array_equal(vmap(lambda key: sampler(key, (40,)))(keys), each)
    np.testing.assert_array_equal(jit(vmap(lambda key: sampler(key, (40,))))(keys), each)


def test_other_keys_shapes_dtypes_and_bounds_are_left_to_xla(comparison):
    def draws(key, shape=(100,), name="float32", low=0.0):
        return comparison.calls_kernel(lambda k: random.uniform(k, shape, name, low), key)

    assert draws(random.key(0))
    assert not draws(random.key(0, impl="rbg"))
    assert not draws(random.key(0), ())
    assert not draws(random.key(0), (0, 100))
    assert not draws(random.key(0), (1 << 15,))
    assert not draws(random.key(0), name="float16")
    assert not draws(random.key(0), low=np.zeros(100))
    with ir.threefry_partitionable(False):
        assert not draws(random.key(0))
    for name, mode in (("float32", "high"), ("float64", "low")):
        gumbel = partial(random.gumbel, shape=(100,), dtype=name, mode=mode)
        assert not comparison.calls_kernel(gumbel, random.key(0), name="gumbel")
