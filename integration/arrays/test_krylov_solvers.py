"""Iterative solvers called eagerly: their compilations, and their reports of convergence."""

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="values need the compiler")

import ricci
import ricci.numpy as jnp
from ricci.scipy.sparse import linalg

A = np.float32([[4.0, 1.0, 0.0], [1.0, 3.0, 0.5], [0.0, 0.5, 2.0]])
B = np.float32([1.0, 2.0, 3.0])


@pytest.mark.parametrize("name", ["cg", "bicgstab", "gmres"])
@pytest.mark.parametrize("of_function", [False, True])
def test_solvers_compile_nothing_in_later_eager_calls(name, of_function, compilations):
    solver = getattr(linalg, name)
    matrix = jnp.asarray(A)

    def solve(scale):
        scaled = matrix * scale
        return solver((lambda x: scaled @ x) if of_function else scaled, jnp.asarray(B))[0]

    for _ in range(4):
        solve(1.0)
    before = len(compilations)
    np.testing.assert_allclose(solve(2.0), np.linalg.solve(2 * A, B), rtol=1e-3)
    assert len(compilations) == before


def test_a_changed_closure_changes_the_solution():
    factor = 1.0
    operator = lambda x: factor * x
    first = linalg.cg(operator, jnp.asarray(B))[0]
    factor = 2.0
    np.testing.assert_allclose(first / linalg.cg(operator, jnp.asarray(B))[0], 2.0)


@pytest.mark.parametrize("wrap", [lambda f: f, ricci.jit], ids=["eager", "jit"])
def test_gmres_says_whether_it_converged(wrap):
    shift = jnp.roll(jnp.eye(40), 1, axis=0)
    b = jnp.ones(40).at[0].set(3.0)
    run = wrap(lambda a, b: linalg.gmres(a, b, restart=3, maxiter=2)[1])
    assert int(run(jnp.eye(40), b)) == 0
    assert int(run(jnp.eye(40), 0 * b)) == 0
    assert int(run(shift, b)) == 2
    assert int(run(shift * jnp.nan, b)) == -1
    assert ricci.vmap(run, (0, None))(jnp.stack([jnp.eye(40), shift]), b).tolist() == [0, 2]
    assert int(linalg.gmres(shift, b, maxiter=0)[1]) != 0
