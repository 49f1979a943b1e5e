"""Schur and Hessenberg forms and eigenvectors fulfil their definitions."""

import numpy as np
import pytest

from ricci_ir import enable_x64
from ricci_lax import linalg

RANDOM = np.random.default_rng(0)
REAL = RANDOM.normal(size=(3, 5, 5))
MATRICES = {
    "real": REAL,
    "complex": REAL + 1j * RANDOM.normal(size=(3, 5, 5)),
    "symmetric": REAL + np.swapaxes(REAL, 1, 2),
    "triangular": np.triu(REAL),
    "defective": np.eye(4, k=1),
    "zero": np.zeros((3, 3)),
    "a turn": np.array([[0.0, -1.0], [1.0, 0.0]]),
}
each_matrix = pytest.mark.parametrize("x", MATRICES.values(), ids=MATRICES)


def adjoint(x):
    return np.swapaxes(x, -1, -2).conj()


@pytest.fixture(autouse=True)
def _double():
    with enable_x64(True):
        yield


@each_matrix
def test_schur(x):
    t, q = map(np.asarray, linalg.schur(x))
    np.testing.assert_allclose(
        q @ adjoint(q), np.broadcast_to(np.eye(len(q[0])), q.shape), atol=1e-12
    )
    np.testing.assert_allclose(q @ t @ adjoint(q), x, atol=1e-12)
    assert not np.tril(t, -2 if np.isrealobj(x) else -1).any()


@each_matrix
def test_blocks_of_a_real_schur_form(x):
    if np.iscomplexobj(x):
        pytest.skip("complex forms have no blocks")
    for t in np.asarray(linalg.schur(x)[0]).reshape(-1, *x.shape[-2:]):
        places = np.flatnonzero(np.diagonal(t, -1))
        assert not (np.diff(places) == 1).any()
        for i in places:
            np.testing.assert_allclose(t[i, i], t[i + 1, i + 1], atol=1e-12)
            assert t[i, i + 1] * t[i + 1, i] < 0


@each_matrix
def test_hessenberg(x):
    packed, taus = map(np.asarray, linalg.hessenberg(x))
    size = x.shape[-1]
    for matrix, form, tau in zip(
        *(a.reshape(-1, *a.shape[x.ndim - 2 :]) for a in (x, packed, taus)), strict=True
    ):
        q = np.eye(size, dtype=x.dtype)
        for i in range(size - 1):
            v = np.concatenate([np.zeros(i + 1), [1], form[i + 2 :, i]])
            q = q @ (np.eye(size) - tau[i] * np.outer(v, v.conj()))
        np.testing.assert_allclose(q @ np.triu(form, -1) @ adjoint(q), matrix, atol=1e-12)


@pytest.mark.parametrize("name", ["real", "complex", "symmetric"])
def test_eigenvectors(name):
    x = MATRICES[name]
    w, u, v = map(np.asarray, linalg.eig(x))
    np.testing.assert_allclose(x @ v, v * w[:, np.newaxis], atol=1e-12)
    np.testing.assert_allclose(adjoint(u) @ x, w[..., np.newaxis] * adjoint(u), atol=1e-12)
    for vectors in (u, v):
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1)
        largest = np.take_along_axis(vectors, np.abs(vectors).argmax(1)[:, np.newaxis], 1)
        np.testing.assert_allclose(np.imag(largest), 0, atol=1e-12)


@pytest.mark.parametrize("function", [linalg.eig, linalg.schur, linalg.hessenberg])
def test_results_of_nonfinite_matrices_are_nan(function):
    x = np.stack([np.eye(2), np.full((2, 2), np.nan)])
    for result in map(np.asarray, function(x)):
        assert np.isfinite(result[0]).all()
        assert np.isnan(result[1]).all()
