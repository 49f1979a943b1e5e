"""Eigenvalues of larger tridiagonal matrices, by bisection."""

import numpy as np
import pytest
import scipy.linalg

import ricci_numpy as jnp
import ricci_xla  # noqa: F401  (the backend)
from ricci_autodiff import grad
from ricci_batching import vmap
from ricci_ir import enable_x64, make_jaxpr
from ricci_scipy.linalg import eigh_tridiagonal

RANDOM = np.random.RandomState(0)
D, E = RANDOM.randn(40), RANDOM.randn(39)
MATRICES = {
    "random": (D, E),
    "large": (D * 1e300, E * 1e300),
    "small": (D * 1e-300, E * 1e-300),
    "diagonal": (D, E * 0),
    "zero": (D * 0, E * 0),
    "equal blocks": (np.ones(40), np.arange(39) % 2 * 1.0),
    "wilkinson": (np.abs(np.arange(40) - 20.0), np.ones(39)),
}


@pytest.mark.parametrize("name", MATRICES)
def test_eigenvalues_equal_scipys(name):
    d, e = MATRICES[name]
    with enable_x64(True):
        result = np.asarray(eigh_tridiagonal(d, e, eigvals_only=True))
    want = scipy.linalg.eigvalsh_tridiagonal(d, e)
    scale = np.abs(want).max() or 1
    assert np.max(np.abs(result - want)) <= 20 * np.finfo(np.float64).eps * scale


def test_chosen_eigenvalues_of_complex_matrices():
    d, e = D.astype(np.complex64), (E * np.exp(1j * E)).astype(np.complex64)
    result = eigh_tridiagonal(d, e, eigvals_only=True, select="i", select_range=(3, 7))
    assert result.dtype == np.float32
    want = scipy.linalg.eigvalsh_tridiagonal(D, E)[3:8]
    np.testing.assert_allclose(result, want, atol=2e-6)


def test_nan_elements_make_nan_eigenvalues():
    d = D.astype(np.float32)
    d[3] = np.nan
    assert np.isnan(eigh_tridiagonal(d, E.astype(np.float32), eigvals_only=True)).all()


def test_batches_are_separate_matrices():
    d, e = np.stack([D, D[::-1]]).astype(np.float32), E.astype(np.float32)
    batched = eigh_tridiagonal(d, np.stack([e, e]), eigvals_only=True)
    mapped = vmap(lambda d: eigh_tridiagonal(d, e, eigvals_only=True))(d)
    np.testing.assert_allclose(batched, mapped, atol=1e-6)


def test_gradient_of_the_sum_of_cubes_is_that_of_the_trace():
    d, e = D.astype(np.float32), E.astype(np.float32)
    matrix = jnp.diag(d) + jnp.diag(e, 1) + jnp.diag(e, -1)
    g = grad(lambda d: (eigh_tridiagonal(d, e, eigvals_only=True) ** 3).sum())(d)
    np.testing.assert_allclose(g, 3 * np.diag(matrix @ matrix), rtol=1e-4, atol=1e-4)


def test_no_dense_matrix_is_made():
    jaxpr = make_jaxpr(
        lambda d, e: eigh_tridiagonal(d, e, eigvals_only=True, select="i", select_range=(0, 1))
    )(D[:40], E)
    assert "40,40" not in str(jaxpr)
