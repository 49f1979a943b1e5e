"""``sparsify`` agrees with the function of the dense array; operations without a rule raise."""

import numpy as np
import pytest

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_autodiff import grad
from ricci_ir import use_backend
from ricci_lax import custom_jvp
from ricci_random import key
from ricci_reference import reference_backend
from ricci_sparse import BCOO, BCSR, COO, random_bcoo, sparsify, todense
from ricci_sparse.transform import sparse_rules_bcoo

DENSE = np.float32([[0, 1, 0, 2], [0, 0, 0, 0], [3, 0, 4, 0]])
V = np.float32([1, 2, 3, 4])


@pytest.fixture(autouse=True)
def _without_a_compiler():
    with use_backend(reference_backend):
        yield


@custom_jvp
def _own(x):
    return jnp.sin(x) * 2


_own.defjvps(lambda t, y, x: 2 * jnp.cos(x) * t)

FUNCTIONS = {
    "elementwise": lambda m: jnp.tanh(jnp.sin(m) * 3),
    "zero at zero, not in JAX's table": lambda m: lax.erf(m) + lax.cbrt(m),
    "product": lambda m: m @ V,
    "sparse product": lambda m: m @ m.T,
    "einsum": lambda m: jnp.einsum("ij,kj->ik", m, DENSE),
    "sums": lambda m: (m.sum(0), m.sum(), m.sum((0, 1), keepdims=True)),
    "same indices": lambda m: m + 3 * m,
    "other indices": lambda m: m[:, :3] + m[:, :3].T,
    "quotient": lambda m: m / (DENSE + 1),
    "powers": lambda m: m**2 * m,
    "parts": lambda m: (m[0], m[:, 1], m[::2], m[:, ::-1], m[1, 2]),
    "gather": lambda m: m[np.int32([0, 2])],
    "reshape": lambda m: m.reshape(2, 6).T,
    "joined": lambda m: (jnp.concatenate([m, m], 1), jnp.stack([m, m])),
    "roll": lambda m: jnp.roll(m, 1, 0),
    "expanded": lambda m: (m[None], jnp.expand_dims(m, 1), jnp.broadcast_to(m, (2, 3, 4))),
    "custom rule": _own,
    "cond": lambda m: lax.cond(m.sum() > 0, lambda x: x * 2, lambda x: -x, m),
    "while": lambda m: lax.while_loop(lambda x: x.sum() < 99, lambda x: x * 2, m),
    "scan": lambda m: lax.scan(lambda c, x: (c * x, (c @ V).sum()), m, jnp.arange(1.0, 3.0)),
    "nested": lambda m: jnp.linalg.norm(m @ V),
    "dense result": lambda m: todense(m) + 1,
    "gradient inside": lambda m: grad(lambda x: (x**2).sum())(m),
}


def dense(x):
    if isinstance(x, tuple):
        return [dense(y) for y in x]
    return np.asarray(x.todense() if hasattr(x, "todense") else x)


@pytest.mark.parametrize("use_tracer", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_are_those_of_the_dense_array(name, use_tracer):
    fun = FUNCTIONS[name]
    expected = dense(fun(jnp.asarray(DENSE)))
    for mat in (BCOO.fromdense(DENSE), BCOO.fromdense(DENSE, nse=6)):
        found = dense(sparsify(fun, use_tracer=use_tracer)(mat))
        for x, y in zip(
            *(v if isinstance(v, list) else [v] for v in (found, expected)), strict=True
        ):
            np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("fun", [jnp.sin, lambda m: -m, lambda m: m @ V, lambda m: m[None]])
def test_bcsr_results_are_those_of_the_dense_array(fun):
    found = sparsify(fun)(BCSR.fromdense(DENSE))
    np.testing.assert_allclose(dense(found), dense(fun(jnp.asarray(DENSE))), rtol=1e-6)


@pytest.mark.parametrize(
    "fun", [jnp.cos, jnp.exp, jnp.sort, jnp.max, lambda m: m + 1, lambda m: 1 / m, lambda m: m > 0]
)
def test_dense_results_raise_and_leave_no_trace_behind(fun):
    mat = BCOO.fromdense(DENSE)
    with pytest.raises(NotImplementedError, match="todense"):
        sparsify(fun)(mat)
    np.testing.assert_allclose((mat @ V), DENSE @ V)


def test_duplicates_are_summed_before_a_function_is_applied():
    twice = BCOO((np.float32([1, 2]), np.int32([[1], [1]])), shape=(3,))
    np.testing.assert_allclose(sparsify(jnp.square)(twice).todense(), [0, 9, 0])


def test_other_formats_are_refused():
    with pytest.raises(TypeError, match="got a COO"):
        sparsify(jnp.sin)(COO.fromdense(DENSE))


def test_users_can_register_a_sparse_rule():
    def rule(spenv, x, **params):
        data = jnp.cos(spenv.data(x)) - 1
        return [spenv.sparse(x.shape, data, indices_ref=x.indices_ref)]

    sparse_rules_bcoo[lax.cos_p] = rule
    try:
        found = sparsify(jnp.cos)(BCOO.fromdense(DENSE))
    finally:
        del sparse_rules_bcoo[lax.cos_p]
    np.testing.assert_allclose(found.todense(), np.cos(DENSE) - 1, rtol=1e-6)


def test_random_arrays_have_the_requested_layout():
    mat = random_bcoo(key(0), (3, 4, 5), nse=0.5, n_batch=1, dtype=np.float32, sorted_indices=True)
    assert (mat.n_batch, mat.nse, mat.indices_sorted) == (1, 10, True)
    places = np.asarray(mat.indices) @ [5, 1]
    assert (np.diff(places) > 0).all()
