"""The kernel of products of a matrix and a vector."""

import numpy as np
import pytest

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_autodiff import grad
from ricci_batching import vmap
from ricci_xla import jit

pytestmark = pytest.mark.usefixtures("wide")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(128, 128), (16, 1033), (700, 513), (1000, 2048)])
def test_products(comparison, shape, dtype):
    rng = np.random.default_rng(0)
    x, y = (rng.uniform(1, 2, s).astype(dtype) for s in (shape, shape[1]))
    multiply = lambda x, y: x @ y
    assert comparison.calls_kernel(multiply, jnp.asarray(x), y, name="matrix_vector")
    result = np.asarray(jit(multiply)(x, y))
    exact = x.astype("longdouble") @ y.astype("longdouble")
    assert result.dtype == np.dtype(dtype)
    # A product is rounded, and as an element of a sum of a row is.
    roundings = 1 + 64 + 8 + shape[1] / 1024 + 64
    assert (abs(result - exact) <= roundings * np.finfo(dtype).eps * exact).all()
    np.testing.assert_array_equal(np.asarray(jnp.asarray(x) @ y), result)


def test_infinities_and_nans():
    x, y = np.ones((128, 300), "float32"), np.ones(300, "float32")
    y[7] = 0
    x[3, 5], x[4, 299], x[5, 0], x[6, 7] = np.inf, -np.inf, np.nan, np.inf
    x[8, [0, 150]] = np.inf, -np.inf
    result = np.asarray(jnp.matmul(x, y))
    assert result[3] == np.inf
    assert result[4] == -np.inf
    assert np.isnan(result[[5, 6, 8]]).all()
    assert (result[9:] == 299).all()


def test_derivatives_and_batches():
    rng = np.random.default_rng(0)
    x, y, z = (jnp.asarray(rng.normal(size=s)) for s in ((200, 150), (150,), (7, 150)))
    both = grad(lambda x, y: jnp.sum((x @ y) ** 2), (0, 1))(x, y)
    product = np.asarray(x) @ np.asarray(y)
    np.testing.assert_allclose(both[0], 2 * np.outer(product, y), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(both[1], 2 * product @ np.asarray(x), rtol=1e-9, atol=1e-9)
    batch = vmap(lambda y: x @ y)(z)
    np.testing.assert_allclose(batch, np.asarray(z) @ np.asarray(x).T, rtol=1e-9, atol=1e-9)


def test_fused_products_and_others_are_left_to_xla(comparison):
    x, y = np.ones((300, 200), "float32"), np.ones(200, "float32")
    long = np.ones((16, 8192), "float32"), np.ones(8192, "float32")
    left = lambda x, y: lax.dot_general(x, y, (((0,), (0,)), ((), ())))
    for function, *args in (
        (lambda x, y: x @ y + 1, x, y),
        (lambda x, y: jnp.exp(x) @ y, x, y),
        (lambda x, y: y @ x.T, x, y),
        (left, x, np.ones(300, "float32")),
        (jnp.matmul, x[:8], y),
        (jnp.matmul, *long),
        (jnp.matmul, x.astype("int32"), y.astype("int32")),
        (jnp.matmul, x.astype("float16"), y.astype("float16")),
    ):
        assert not comparison.calls_kernel(function, *args, name="matrix_vector")
