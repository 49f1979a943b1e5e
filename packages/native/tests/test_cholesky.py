"""Cholesky factors by the kernel."""

import numpy as np
import pytest

import ricci_autodiff as ad
import ricci_ir as ir
import ricci_numpy as jnp
from ricci_lax import linalg
from ricci_xla import jit

pytestmark = pytest.mark.usefixtures("wide")


def definite(shape, dtype="float64"):
    x = np.random.default_rng(0).standard_normal(shape)
    return (x @ np.swapaxes(x, -1, -2) + shape[-1] * np.eye(shape[-1])).astype(dtype)


def factor(a):
    return linalg.cholesky(a, symmetrize_input=False)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(4, 4), (2, 3, 31, 31), (32, 32), (33, 33), (3, 100, 100)])
def test_factors(comparison, shape, dtype):
    a = definite(shape, dtype)
    assert comparison.calls_kernel(factor, a, name="cholesky")
    result = np.asarray(jit(factor)(np.tril(a)))  # the upper triangle is not read
    exact = np.linalg.cholesky(a.astype("float64"))
    bound = 2 * np.finfo(dtype).eps * np.abs(exact).max()
    np.testing.assert_allclose(result, exact, rtol=0, atol=bound)
    assert not np.triu(result, 1).any()


@pytest.mark.parametrize("wrong", [-1.0, 0.0, np.nan])
def test_only_a_matrix_that_is_not_definite_has_nans(wrong):
    a = definite((4, 40, 40))
    a[2, 35, 35] = wrong
    results = []
    for enabled in (True, False):
        with ir.native_kernels(enabled):
            results.append(np.asarray(jit(lambda a: factor(a))(a)))
    ours, theirs = (np.isnan(x) for x in results)
    np.testing.assert_array_equal(ours, theirs)
    assert ours[2].any()


def test_derivatives():
    gradient = ad.grad(lambda a: jnp.sum(jnp.sin(jnp.linalg.cholesky(a))))
    a = definite((20, 20))
    ours = np.asarray(jit(gradient)(a))
    with ir.native_kernels(False):
        theirs = np.asarray(jit(lambda a: gradient(a))(a))
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


def test_large_and_complex_matrices_are_left_to_lapack(comparison):
    for a in (np.eye(513), np.eye(8, dtype="complex128")):
        assert not comparison.calls_kernel(factor, a, name="cholesky")
