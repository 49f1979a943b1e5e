"""The kernel of sums along the leading dimensions."""

import numpy as np
import pytest

import ricci_numpy as jnp
from ricci_autodiff import grad
from ricci_batching import vmap
from ricci_xla import jit

pytestmark = pytest.mark.usefixtures("wide")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((256, 64), 0),
        ((4097, 129), 0),
        ((16, 5003), 0),
        ((2, 1500, 7, 11), (0, 1)),
        ((3000, 7, 11), 0),
    ],
)
def test_sums(comparison, shape, axes, dtype):
    x = np.random.default_rng(0).uniform(1, 2, shape).astype(dtype)
    add = lambda x: jnp.sum(x, axes)
    assert comparison.calls_kernel(add, x, name="column_sums")
    result = np.asarray(jit(add)(x))
    exact = x.astype("longdouble").sum(axes)
    assert result.dtype == np.dtype(dtype)
    # An element is rounded in 64 sums, those of 4 blocks, and those of the parts.
    roundings = 64 + 4 + x.size / exact.size / 256
    assert (abs(result - exact) <= roundings * np.finfo(dtype).eps * exact).all()
    np.testing.assert_array_equal(np.asarray(add(x)), result)


def test_infinities_and_nans():
    x = np.ones((300, 200), "float32")
    x[5, 3], x[299, 4], x[0, 5] = np.inf, -np.inf, np.nan
    x[[0, 150], 6] = np.inf, -np.inf
    x[::2, 7] = 3e38
    result = np.asarray(jnp.sum(x, 0))
    assert result[3] == np.inf
    assert result[4] == -np.inf
    assert np.isnan(result[5:7]).all()
    assert result[7] == np.inf
    assert (result[8:] == 300).all()


def test_derivatives_batches_and_layouts(comparison):
    x = np.random.default_rng(0).normal(size=(200, 5, 50))
    columns = vmap(lambda x: jnp.sum(x, 0), 1)
    np.testing.assert_allclose(np.asarray(columns(x)), x.sum(0), rtol=1e-12, atol=1e-12)
    inner = vmap(lambda x: jnp.sum(x, 0), -1, -1)
    assert comparison.calls_kernel(inner, x, name="column_sums")
    np.testing.assert_allclose(np.asarray(inner(x)), x.sum(0), rtol=1e-12, atol=1e-12)
    total = grad(lambda x: jnp.sum(jnp.sum(x, 0) ** 2))
    np.testing.assert_allclose(np.asarray(total(x)), 2 * x.sum(0) + 0 * x, atol=1e-12)


def test_fused_sums_and_others_are_left_to_xla(comparison):
    x = np.ones((300, 200), "float32")
    for function in (
        lambda x: jnp.sum(jnp.exp(x), 0),
        lambda x: jnp.sum(x),
        lambda x: jnp.sum(x, 0) + 1,
        lambda x: jnp.sum(x[:5], 0),
        lambda x: jnp.sum(x[:, :5], 0),
        lambda x: jnp.sum(x.reshape(10, 30, 200), 1),
    ):
        assert not comparison.calls_kernel(function, x, name="column_sums")
    for dtype in ("int32", "float16", "complex64"):
        add = lambda x: jnp.sum(x, 0)
        assert not comparison.calls_kernel(add, x.astype(dtype), name="column_sums")


def test_no_rows_and_no_columns():
    assert np.asarray(jnp.sum(np.ones((0, 64), "float32"), 0)).tolist() == [0] * 64
    assert np.asarray(jnp.sum(np.ones((64, 0), "float32"), 0)).shape == (0,)
