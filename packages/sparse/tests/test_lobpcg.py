"""The eigenvalue iteration: how often its loop is traced."""

import numpy as np
import pytest

import ricci_numpy as jnp
from ricci_sparse import BCOO
from ricci_sparse.linalg import _lobpcg, lobpcg_standard


@pytest.mark.parametrize("convert", [jnp.asarray, BCOO.fromdense], ids=["dense", "sparse"])
def test_matrices_of_one_type_share_the_trace_of_the_loop(convert, monkeypatch):
    traced = []
    step = _lobpcg._step
    monkeypatch.setattr(_lobpcg, "_step", lambda *args: traced.append(args) or step(*args))
    X = jnp.asarray(np.random.default_rng(0).normal(size=(23, 2)), np.float32)
    matrix = np.diag(np.arange(1, 24, dtype=np.float32))
    lobpcg_standard(convert(matrix), X)
    count = len(traced)
    assert count > 0
    theta, _, _ = lobpcg_standard(convert(2 * matrix), X)
    np.testing.assert_allclose(theta, [46, 44], rtol=1e-4)
    assert len(traced) == count


def test_calls_with_one_function_share_the_trace_of_the_loop():
    matrix = jnp.diag(jnp.arange(1, 24, dtype=jnp.float32))
    traced = []

    def multiply(x):
        traced.append(x)
        return matrix @ x

    X = jnp.asarray(np.random.default_rng(0).normal(size=(23, 2)), np.float32)
    counts = []
    for m in [100, 100, 1]:
        _, _, steps = lobpcg_standard(multiply, X, m=m)
        counts.append(len(traced))
    # The second call runs the function for the check of its type and for the start.
    assert counts[1] - counts[0] == 2 < counts[0]
    assert steps == 1
