"""Eigenvalues without symmetry and Schur forms, where results are unique only up to signs."""

import numpy as np
import pytest

import ricci
from ricci import lax

RANDOM = np.random.default_rng(0)
REAL = RANDOM.normal(size=(3, 5, 5)).astype(np.float32)
MATRICES = {
    "real": REAL,
    "complex": (REAL + 1j * RANDOM.normal(size=(3, 5, 5))).astype(np.complex64),
    "defective": np.eye(4, k=1, dtype=np.float32),
}
each_matrix = pytest.mark.parametrize("x", MATRICES.values(), ids=MATRICES)


def adjoint(x):
    return np.swapaxes(x, -1, -2).conj()


def only_on_cpu():
    if ricci.default_backend() != "cpu":
        pytest.skip("there is a routine for CPU only")


@each_matrix
def test_schur(x):
    only_on_cpu()
    t, q = map(np.asarray, lax.linalg.schur(x))
    np.testing.assert_allclose(q @ adjoint(q) - np.eye(x.shape[-1]), 0, atol=1e-5)
    np.testing.assert_allclose(q @ t @ adjoint(q), x, atol=2e-5)
    assert not np.tril(t, -2 if np.isrealobj(x) else -1).any()


@each_matrix
def test_hessenberg_has_the_eigenvalues(x):
    only_on_cpu()
    h, _ = lax.linalg.hessenberg(x)
    moments = lambda x: [np.trace(np.linalg.matrix_power(x, n), axis1=-2, axis2=-1) for n in (1, 2)]
    np.testing.assert_allclose(moments(np.triu(h, -1)), moments(x), atol=2e-4)


@each_matrix
def test_eig(x):
    if ricci.default_backend() == "tpu":
        pytest.skip("there is no routine for TPU")
    w, u, v = map(np.asarray, lax.linalg.eig(x))
    np.testing.assert_allclose(x @ v, v * w[..., np.newaxis, :], atol=2e-5)
    np.testing.assert_allclose(adjoint(u) @ x, w[..., np.newaxis] * adjoint(u), atol=2e-5)


def test_the_gradient_of_a_sum_of_eigenvalues_is_one_where_they_are_equal():
    if ricci.default_backend() == "tpu":
        pytest.skip("there is no routine for TPU")
    values = lambda x: lax.linalg.eig(
        x, compute_left_eigenvectors=False, compute_right_eigenvectors=False
    )[0]
    total = lambda x: lax.reduce_sum(lax.real(values(x)), (0,))
    gradient = ricci.grad(total)(2 * np.eye(3, dtype=np.float32))
    np.testing.assert_allclose(np.asarray(gradient), np.eye(3), atol=1e-6)


def test_eigenvalues_of_matrices_with_nan_are_nan():
    if ricci.default_backend() == "tpu":
        pytest.skip("there is no routine for TPU")
    x = np.stack([np.eye(2), np.full((2, 2), np.nan)]).astype(np.float32)
    for result in map(np.asarray, lax.linalg.eig(x)):
        assert np.isfinite(result[0]).all()
        assert np.isnan(result[1]).all()
