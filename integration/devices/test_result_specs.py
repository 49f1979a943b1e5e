"""Results that XLA shards like the first argument have its spec, as it was written."""

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="shardings need devices")

import ricci
import ricci.numpy as jnp
from ricci.sharding import AxisType, NamedSharding
from ricci.sharding import PartitionSpec as P

SHAPE = (1, 32, 2)
UNARY = {
    "add": lambda a: a + 1,
    "another dtype": lambda a: a * 1.5,
    "comparison": lambda a: a > 3,
    "cumsum": lambda a: jnp.cumsum(a, axis=2),
    "vmap": ricci.vmap(lambda a: a * 2),
    "scan": lambda a: ricci.lax.scan(lambda c, _: (c + 1, None), a, None, length=2)[0],
    "unused argument": lambda a: ricci.jit(lambda b, c: c + 1)(np.ones(3), a),
}
SPECS = [P("x", "y"), P("x", "y", "z"), P(None, "y", "z"), P(None, "y", None), P(None, ("x", "y"))]


@pytest.fixture(scope="module")
def mesh():
    return ricci.make_mesh((1, 8, 1), ("x", "y", "z"), axis_types=(AxisType.Auto,) * 3)


def array(mesh, spec):
    return ricci.device_put(np.arange(64).reshape(SHAPE), NamedSharding(mesh, spec))


@pytest.mark.sampled(18)
@pytest.mark.parametrize("jitted", [True, False], ids=["jit", "eager"])
@pytest.mark.parametrize("spec", SPECS, ids=str)
@pytest.mark.parametrize("name", UNARY)
def test_results_have_the_spec_of_their_argument(mesh, name, spec, jitted):
    fun = UNARY[name]
    for _ in range(2):
        assert (ricci.jit(fun) if jitted else fun)(array(mesh, spec)).sharding.spec == spec


@pytest.mark.parametrize("spec", [P("x"), P(None, None, "z"), P()], ids=str)
def test_replicated_results_have_the_spec_of_their_argument(mesh, spec):
    x = array(mesh, spec)
    assert (x + 1).sharding == x.sharding
    assert ricci.jit(jnp.sum)(x).sharding.spec == P()


def test_the_first_argument_decides(mesh):
    x, y = array(mesh, P("x", "y")), array(mesh, P(None, "y", "z"))
    assert (x + y).sharding.spec == P("x", "y")
    assert (y + x).sharding.spec == P(None, "y", "z")
    assert (2 * x).sharding.spec == P(None, "y")


def test_results_of_another_rank_have_the_shortest_spec(mesh):
    x = array(mesh, P("x", "y", "z"))
    assert x[..., None].sharding.spec == P(None, "y")
    assert x[:, :, 0].sharding.spec == P(None, "y")


def test_gradients_have_the_spec_of_their_argument(mesh):
    x = array(mesh, P("x", "y", "z")) * 1.0
    assert ricci.grad(lambda a: (a * a).sum())(x).sharding == x.sharding
