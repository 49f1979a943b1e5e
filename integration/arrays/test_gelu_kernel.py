"""The exact `nn.gelu`: a kernel where it is all that a call computes, formulas everywhere else."""

import math

import numpy as np
import pytest

import ricci
import ricci.numpy as jnp
from ricci_native import library_path

X = np.random.default_rng(0).normal(scale=2, size=(8, 500)).astype(np.float32)
BUILT = pytest.mark.skipif(library_path() is None, reason="the library is not built")


@pytest.fixture(autouse=True)
def _with_kernels():
    with ricci.native_kernels(True):
        yield


def gelu(x):
    return ricci.nn.gelu(x, approximate=False)


def distribution(x):
    return np.reshape([0.5 * math.erfc(-a * math.sqrt(0.5)) for a in np.ravel(x)], x.shape)


def text(function, *args):
    return ricci.jit(lambda *xs: function(*xs)).lower(*args).as_text()


@BUILT
def test_the_kernel_is_called_where_the_function_stands_alone():
    assert "ricci_native_gelu" in text(gelu, X)
    assert "ricci_native_gelu" in text(ricci.vmap(gelu), X)
    assert "ricci_native_gelu" not in text(lambda x, w: gelu(x @ w), X[:, :8], X[:, :8].T @ X)
    assert "ricci_native" not in text(gelu, X.astype(np.float16))
    with ricci.native_kernels(False):
        assert "ricci_native" not in text(gelu, X)


@pytest.mark.parametrize("function", [gelu, ricci.jit(gelu), ricci.vmap(gelu)])
def test_values_are_those_of_the_normal_distribution(function):
    expected = X * distribution(X.astype(np.float64))
    for _ in range(2):
        np.testing.assert_allclose(function(X), expected, rtol=2e-6, atol=1e-12)
    ricci.clear_caches()
    np.testing.assert_allclose(function(X), expected, rtol=2e-6, atol=1e-12)


def test_eager_calls_and_compiled_ones_have_the_same_bits():
    np.testing.assert_array_equal(gelu(X), ricci.jit(gelu)(X))


def test_derivatives():
    x = X.astype(np.float64)
    density = np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)
    slope = ricci.grad(lambda x: jnp.sum(gelu(x)))
    np.testing.assert_allclose(slope(X), distribution(x) + x * density, rtol=1e-5, atol=1e-6)
    curvature = ricci.vmap(ricci.grad(ricci.grad(gelu)))
    np.testing.assert_allclose(curvature(X[0]), (2 - x[0] ** 2) * density[0], rtol=1e-5, atol=1e-6)


def test_integers_empty_arrays_and_scalars():
    assert gelu(np.zeros((0, 3), np.float32)).shape == (0, 3)
    assert float(gelu(np.int32(0))) == 0
    assert gelu(jnp.ones(600, jnp.bfloat16)).dtype == jnp.bfloat16
    with ricci.enable_x64(True):
        wide = gelu(X[0].astype(np.float64))
        np.testing.assert_allclose(wide, X[0] * distribution(X[0].astype(np.float64)), rtol=1e-13)
