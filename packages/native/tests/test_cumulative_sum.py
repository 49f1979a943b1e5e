"""The kernel of ``cumsum`` sums in the order of XLA's tree, to the same bits."""

import numpy as np
import pytest

import ricci_autodiff as ad
import ricci_lax as lax
import ricci_numpy as jnp
from ricci_batching import vmap
from ricci_random import choice, key

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
LENGTHS = (256, 257, 271, 272, 273, 4095, 4096, 4097, 16 * 129, 65536, 100_001)

pytestmark = pytest.mark.usefixtures("wide")


def cumsum(x):
    return lax.cumsum(x, x.ndim - 1)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("name", ["float32", "float64", "int32"])
def test_lengths(comparison, name, length):
    x = (100 * np.random.default_rng(length).normal(size=length)).astype(name)
    comparison.assert_equal_bits(cumsum, x)


@pytest.mark.parametrize("shape", [(5, 64), (3, 4, 300)])
@pytest.mark.parametrize("name", [*INTEGERS, "float32", "float64"])
def test_rows_of_any_bits(comparison, elements, name, shape):
    x = elements(name, shape)

    def one_nan(x):
        # A NaN has the bits of an operand of the sum, and which is not specified.
        return jnp.where(x == x, x, jnp.full_like(x, jnp.nan)) if x.dtype.kind == "f" else x

    comparison.assert_equal_bits(lambda x: one_nan(cumsum(x)), x)


def test_special_values(comparison):
    x = np.ones((6, 300), np.float32)
    x[0, 20] = np.inf
    x[1, 20:80:30] = np.inf, -np.inf
    x[2] = -0.0
    x[3] = 1e-40
    x[4] = 3e37
    x[5, 299] = np.nan
    comparison.assert_equal_bits(cumsum, x)


def test_rows_that_threads_share(comparison):
    comparison.assert_equal_bits(cumsum, np.random.default_rng(0).normal(size=(300, 200)))


@pytest.mark.parametrize(
    "function",
    [
        vmap(lambda row: jnp.cumsum(row)),
        lambda x: jnp.cumsum(x),
        lambda x: jnp.nancumsum(2 * x, axis=1) / 3,
        lambda x: ad.jvp(lambda x: jnp.cumsum(x), (x,), (x,)),
        lambda x: choice(key(0), 1800, (50,), p=jnp.abs(x.ravel())),
    ],
)
def test_functions_that_sum(comparison, function):
    x = np.random.default_rng(1).normal(size=(6, 300)).astype(np.float32)
    comparison.assert_equal_bits(function, x)


def test_gradients(comparison):
    x = np.random.default_rng(2).normal(size=400)
    weights = np.arange(400.0)
    gradient = ad.grad(lambda x: (weights * cumsum(x)).sum())
    np.testing.assert_allclose(gradient(x), np.cumsum(weights[::-1])[::-1])


@pytest.mark.parametrize("name", ["float16", "bfloat16", "complex64"])
def test_other_dtypes_axes_and_directions_are_left_to_xla(comparison, name):
    x = np.ones((300, 300), np.float32)
    assert not comparison.calls_kernel(cumsum, jnp.ones(300, name))
    assert not comparison.calls_kernel(lambda x: lax.cumsum(x, 0), x)
    assert not comparison.calls_kernel(lambda x: lax.cumsum(x, 1, reverse=True), x)
