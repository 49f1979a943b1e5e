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


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(4, 4), (2, 31, 31), (70, 70), (3, 100, 100)])
def test_the_kernel_makes_matrices_symmetric(comparison, shape, dtype):
    # The means of both triangles are definite, one alone is not.
    a = definite(shape, dtype) + np.triu(np.full(shape, 3, dtype), 1)
    text = comparison.text(lambda a: linalg.cholesky(a), a)
    assert "symmetrizes = true" in text
    assert "stablehlo.transpose" not in text
    result = np.asarray(jit(lambda a: linalg.cholesky(a))(a))
    symmetric = (a + np.swapaxes(a, -1, -2)) / 2
    np.testing.assert_array_equal(result, np.asarray(jit(factor)(symmetric)))


def test_a_symmetric_operand_with_other_uses():
    a = definite((6, 6)) + np.triu(np.ones((6, 6)), 1)

    def both(a):
        symmetric = (a + a.T) / 2
        return factor(symmetric), symmetric

    factors, symmetric = jit(both)(a)
    np.testing.assert_array_equal(np.asarray(symmetric), (a + a.T) / 2)
    np.testing.assert_array_equal(np.asarray(factors), np.asarray(factor(symmetric)))


@pytest.mark.parametrize("n", [3, 513])
def test_matrices_left_to_lapack_are_made_symmetric(comparison, n):
    for dtype in ("float64", "complex128"):
        a = np.eye(n, dtype=dtype) * n + np.triu(np.ones((n, n)), 1)
        assert not comparison.calls_kernel(linalg.cholesky, a, name="cholesky")
        expected = np.linalg.cholesky((a + a.T) / 2)
        np.testing.assert_allclose(np.asarray(linalg.cholesky(a)), expected, rtol=1e-12, atol=1e-12)


def test_sums_and_quotients_of_another_kind_stay():
    a, b = definite((8, 8)), definite((8, 8)) + 1
    for other in (lambda a: (a + b.T) / 2, lambda a: (a + a.T) / 3, lambda a: (a - a.T) / 2 + b):
        expected = np.linalg.cholesky(np.asarray(other(a)))
        result = jit(lambda a, other=other: factor(other(a)))(a)
        np.testing.assert_allclose(np.asarray(result), expected, rtol=1e-12, atol=1e-12)


def test_large_and_complex_matrices_are_left_to_lapack(comparison):
    for a in (np.eye(513), np.eye(8, dtype="complex128")):
        assert not comparison.calls_kernel(factor, a, name="cholesky")
