"""The kernel of sums along rows."""

import numpy as np
import pytest

import ricci_numpy as jnp
from ricci_autodiff import grad
from ricci_batching import vmap
from ricci_xla import jit

pytestmark = pytest.mark.usefixtures("wide")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(128, 128), (40, 4133), (3, 20, 1000), (16, 65536)])
def test_sums(comparison, shape, dtype):
    x = np.random.default_rng(0).uniform(1, 2, shape).astype(dtype)
    add = lambda x: jnp.sum(x, -1)
    assert comparison.calls_kernel(add, x, name="reduce_sum")
    result = np.asarray(jit(add)(x))
    exact = x.astype("longdouble").sum(-1)
    assert result.dtype == np.dtype(dtype)
    # An element is rounded in 64 sums, those of the lanes, and those of the blocks.
    roundings = 64 + 8 + shape[-1] / 2048 + 64
    assert (abs(result - exact) <= roundings * np.finfo(dtype).eps * exact).all()
    np.testing.assert_array_equal(np.asarray(add(x)), result)


def test_infinities_and_nans():
    x = np.ones((300, 200), "float32")
    x[3, 5], x[4, 199], x[5, 0] = np.inf, -np.inf, np.nan
    x[6, [0, 150]] = np.inf, -np.inf
    x[7, ::2] = 3e38
    result = np.asarray(jnp.sum(x, 1))
    assert result[3] == np.inf
    assert result[4] == -np.inf
    assert np.isnan(result[5:7]).all()
    assert result[7] == np.inf
    assert (result[8:] == 200).all()


def test_derivatives_and_batches(comparison):
    x = np.random.default_rng(0).normal(size=(5, 30, 150))
    rows = vmap(lambda x: jnp.sum(x, -1))
    assert comparison.calls_kernel(rows, x, name="reduce_sum")
    np.testing.assert_allclose(np.asarray(rows(x)), x.sum(-1), rtol=1e-12)
    total = grad(lambda x: jnp.sum(jnp.sum(x, -1) ** 2))
    np.testing.assert_allclose(np.asarray(total(x[0])), 2 * x[0].sum(-1)[:, None] + 0 * x[0])


def test_fused_sums_and_others_are_left_to_xla(comparison):
    x = np.ones((300, 200), "float32")
    for function in (
        lambda x: jnp.sum(jnp.exp(x), -1),
        lambda x: jnp.sum(x, -1) + 1,
        lambda x: jnp.sum(x[:5], -1),
        lambda x: jnp.sum(x[:, :5], -1),
    ):
        assert not comparison.calls_kernel(function, x, name="reduce_sum")
    for dtype in ("int32", "float16", "complex64"):
        add = lambda x: jnp.sum(x, -1)
        assert not comparison.calls_kernel(add, x.astype(dtype), name="reduce_sum")
