"""Gamma numbers whose first proposals a kernel draws have the bits of those that XLA draws."""

import numpy as np
import pytest

import ricci_autodiff as ad
import ricci_ir as ir
import ricci_random as random
from ricci_batching import vmap

SIZE = 65537  # from 65536 on numbers are drawn in batches
PARAMETERS = [0.01, 0.5, 1, 1.0001, 2.5, 30, 1e6, np.inf, np.nan, 0, -0.5, -1]
MIXED = np.resize(np.array(PARAMETERS, np.float32), SIZE)


@pytest.mark.parametrize("sampler", [random.gamma, random.loggamma])
def test_parameters(comparison, sampler):
    comparison.assert_equal_bits(lambda key: sampler(key, MIXED), random.key(0))


@pytest.mark.sampled(3)  # each compiles for some seconds
@pytest.mark.parametrize(
    "function",
    [
        lambda key: random.gamma(key, 2.5, (5 * SIZE,)),
        lambda key: random.beta(key, 2.5, 1.5, (SIZE,)),
        lambda key: random.dirichlet(key, np.ones(4, np.float32), (SIZE // 4 + 1,)),
        lambda key: random.t(key, 3.0, (SIZE,)),
        lambda key: vmap(lambda key: random.gamma(key, MIXED[: SIZE // 2]))(random.split(key, 3)),
        lambda key: ad.jvp(lambda a: random.gamma(key, a, (SIZE,)), (2.0,), (1.0,)),
    ],
)
def test_samplers_that_draw_them(comparison, function):
    comparison.assert_equal_bits(function, random.key(1))


def test_few_numbers_other_dtypes_and_keys_are_left_to_xla(comparison):
    def draws(key, size=SIZE, name="float32"):
        return comparison.calls_kernel(
            lambda key: random.gamma(key, 2.5, (size,), name), key, name="gamma"
        )

    assert draws(random.key(0))
    assert not draws(random.key(0), 1000)
    assert not draws(random.key(0), name="bfloat16")
    assert not draws(random.key(0, impl="rbg"))
    with ir.enable_x64(True):
        assert not draws(random.key(0), name="float64")
    with ir.threefry_partitionable(False):
        assert not draws(random.key(0))
