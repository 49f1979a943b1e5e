"""Jaxprs with shardings and named axes pass `jax_enable_checks`.

So do those whose shardings are ambiguous, and those whose types depend on the axes of `shard_map`.
"""

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="shardings need devices")

import ricci
import ricci.numpy as jnp
from ricci.sharding import PartitionSpec as P

PROGRAMS = {
    "gradient of a product": (lambda x, w: ricci.grad(lambda w: (x @ w).sum())(w), P(None, None)),
    "gradient of both": (
        lambda x, w: ricci.grad(lambda x, w: (jnp.sin(x) @ w).sum(), (0, 1))(x, w)[0],
        P("x", None),
    ),
    "einsum": (lambda x, w: jnp.einsum("ab,bc->ac", x, w, out_sharding=P("x", None)), P("x", None)),
    "gather": (lambda x, w: x.at[jnp.arange(4)].get(out_sharding=P("x", None)), P("x", None)),
    "scatter": (
        lambda x, w: ricci.grad(lambda x: (x.at[jnp.arange(4)].get(out_sharding=P()) ** 2).sum())(
            x
        ),
        P("x", None),
    ),
    "reshape": (lambda x, w: jnp.reshape(x, (16,), out_sharding=P("x")), P("x")),
    "scan": (
        lambda x, w: ricci.grad(
            lambda w: ricci.lax.scan(lambda c, _: (c, (x @ c).sum()), w, None, length=2)[1].sum()
        )(w),
        P(None, None),
    ),
    "checkpoint": (
        lambda x, w: ricci.grad(ricci.checkpoint(lambda w: jnp.sin(x @ w).sum()))(w),
        P(None, None),
    ),
    "vmap": (lambda x, w: ricci.vmap(lambda r: r @ w)(x), P("x", None)),
}


@pytest.mark.sampled(11)
@pytest.mark.parametrize("jitted", [True, False], ids=["jit", "eager"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_with_explicit_shardings_pass_the_checks(name, jitted):
    program, spec = PROGRAMS[name]
    mesh = ricci.make_mesh((2, 2), ("x", "y"))
    with ricci.enable_checks(True), ricci.set_mesh(mesh):
        x = ricci.device_put(np.ones((8, 2), "float32"), P("x", None))
        w = ricci.device_put(np.ones((2, 8), "float32"), P(None, None))
        result = (ricci.jit(program) if jitted else program)(x, w)
    assert result.sharding.spec == spec


def position(x):
    return x * ricci.lax.axis_index("x")


def summed_positions(x):
    return ricci.lax.scan(lambda c, _: (c + position(c), None), x, None, length=2)[0]


SHARDED = {
    "position": position,
    "branches": lambda x: ricci.lax.cond(ricci.lax.axis_index("x") > 0, jnp.sin, jnp.cos, x),
    "keys": lambda x: (
        x
        + ricci.random.normal(ricci.random.fold_in(ricci.random.key(0), ricci.lax.axis_index("x")))
    ),
    "scan": summed_positions,
    "nested": lambda x: ricci.shard_map(
        lambda y: position(y) + ricci.lax.axis_index("y"),
        in_specs=P("y"),
        out_specs=P("y"),
        axis_names={"y"},
    )(x),
}


@pytest.mark.parametrize("transform", ["value", "grad", "vmap", "remat"])
@pytest.mark.parametrize("name", SHARDED)
def test_programs_on_shards_pass_the_checks(name, transform):
    auto = (ricci.sharding.AxisType.Auto,) * 2
    mesh = ricci.make_mesh((2, 2), ("x", "y"), axis_types=auto)
    body = ricci.checkpoint(SHARDED[name]) if transform == "remat" else SHARDED[name]
    fun = ricci.shard_map(body, mesh=mesh, in_specs=P("x"), out_specs=P("x"), axis_names={"x"})
    program = {
        "value": fun,
        "grad": ricci.grad(lambda x: fun(x).sum()),
        "vmap": ricci.vmap(fun),
        "remat": ricci.grad(lambda x: fun(x).sum()),
    }[transform]
    x = np.arange(8.0, dtype="float32") if transform != "vmap" else np.ones((3, 8), "float32")
    expected = ricci.jit(program)(x)
    ricci.clear_caches()
    with ricci.enable_checks(True):
        np.testing.assert_allclose(ricci.jit(program)(x), expected, rtol=1e-6)
