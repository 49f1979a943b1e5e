"""The residuals of differentiated functions of shards."""

import numpy as np

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_autodiff import grad
from ricci_ir import make_jaxpr
from ricci_parallel import pcast, shard_map
from ricci_xla import AxisType, PartitionSpec, make_mesh

P = PartitionSpec
ONES = np.ones((2, 3), np.float32)


def halves(body, in_specs, *args):
    """The two programs on shards of a gradient, and the gradient's number of equations."""
    mesh = make_mesh((1,), ("x",), axis_types=(AxisType.Auto,))
    on_shards = shard_map(body, mesh=mesh, in_specs=in_specs, out_specs=P("x"))
    jaxpr = make_jaxpr(grad(lambda *args: on_shards(*args).sum()))(*args)
    eqns = [eqn for eqn in jaxpr.eqns if eqn.primitive.name == "shard_map"]
    assert len(eqns) == 2
    return [eqn.params["jaxpr"] for eqn in eqns]


def names(jaxpr):
    return [eqn.primitive.name for eqn in jaxpr.eqns]


def test_a_cast_argument_is_cast_again():
    first, second = halves(lambda a, w: a * w, (P("x"), P()), ONES, ONES)
    assert len(first.outvars) == 1  # the result alone: ``w`` is an argument
    assert names(second) == ["pvary", "mul"]


def test_zeros_are_recomputed_instead_of_saved():
    def body(a):
        return jnp.where(a > 0, a, 0.0)

    first, second = halves(body, P("x"), ONES)
    assert [str(v.aval) for v in first.outvars[1:]] == ["bool[2,3]{V:x}"]
    assert "select_n" in str(second)


def test_a_scan_starts_from_zeros_that_it_makes():
    def body(a):
        start = pcast(jnp.zeros(3), "x", to="varying")
        carried, _ = lax.scan(lambda c, x: (c + jnp.sin(x), None), start, a)
        return carried[None]

    first, _ = halves(body, P("x"), ONES)
    assert [str(v.aval) for v in first.outvars[1:]] == ["float32[2,3]{V:x}"]


def test_scalars_that_vary_are_handed_over_with_a_dimension():
    def body(a):
        return a * jnp.sin(a.sum())

    first, second = halves(body, P("x"), ONES)
    assert all(v.aval.shape for v in first.outvars)
    assert "float32[1]{V:x}" in {str(v.aval) for v in second.invars}
