"""Explicit shardings: library functions with constants of their own, and reshapes that split."""

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="shardings need devices")

import ricci
import ricci.numpy as jnp
from ricci.sharding import PartitionSpec as P
from ricci_ir import ShardingTypeError


@pytest.fixture(autouse=True)
def mesh():
    with ricci.set_mesh(ricci.make_mesh((2, 2), ("x", "y"))):
        yield


def on_mesh(array, *spec):
    return ricci.device_put(np.asarray(array, "float32"), P(*spec))


@pytest.mark.parametrize("method", ["max", "min", "multiply", "add", "set"])
def test_gradients_of_scatters_with_replicated_updates(method):
    x = on_mesh(np.ones((2, 8)), "x", None)
    update = lambda x: getattr(x.at[:, 3:4], method)(jnp.ones((2, 1))).sum()
    gradient = ricci.jit(ricci.grad(update))(x)
    assert gradient.sharding.spec == P("x", None)
    np.testing.assert_array_equal(gradient, ricci.grad(update)(np.ones((2, 8), "float32")))


SOLVERS = {
    "slogdet": (lambda a, b: jnp.linalg.slogdet(a)[1], P("x")),
    "det": (lambda a, b: jnp.linalg.det(a), P("x")),
    "solve": (jnp.linalg.solve, P("x", None, None)),
    "inv": (lambda a, b: jnp.linalg.inv(a), P("x", None, None)),
    "gradient of solve": (
        ricci.grad(lambda a, b: jnp.linalg.solve(a, b).sum()),
        P("x", None, None),
    ),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("jitted", [True, False], ids=["jit", "eager"])
@pytest.mark.parametrize("name", SOLVERS)
def test_solvers_of_sharded_batches_of_matrices(name, jitted):
    fun, spec = SOLVERS[name]
    a = np.random.default_rng(0).normal(size=(8, 4, 4)).astype("float32") + 4 * np.eye(4)
    b = np.ones((8, 4, 2))
    result = (ricci.jit(fun) if jitted else fun)(on_mesh(a, "x", None, None), on_mesh(b, "x"))
    assert result.sharding.spec == spec
    expected = fun(a.astype("float32"), b.astype("float32"))
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("sizes", "spec"),
    [
        ((2, 4), P("x", "y")),
        ((4, 2), P(("x", "y"), None)),
        ((8, 1), P(("x", "y"), None)),
        ((1, 8), P(None, ("x", "y"))),
        ((2, 2, 2), P("x", "y", None)),
        ((2, 4, 1), P("x", "y", None)),
    ],
)
def test_the_parts_of_a_split_dimension_share_its_mesh_axes(sizes, spec):
    x = on_mesh(np.arange(8), ("x", "y"))
    for fun in (ricci.jit(lambda x: x.reshape(sizes)), lambda x: x.reshape(sizes)):
        result = fun(x)
        assert result.sharding.spec == spec
        np.testing.assert_array_equal(result, np.arange(8).reshape(sizes))
    back = ricci.jit(ricci.grad(lambda x: (x.reshape(sizes) ** 2).sum()))(x)
    assert back.sharding.spec == P(("x", "y"))


def test_a_part_that_the_axes_do_not_divide_is_refused():
    with pytest.raises(ShardingTypeError, match="multiple"):
        ricci.jit(lambda x: x.reshape(6, 2))(on_mesh(np.arange(12), ("x", "y")))
