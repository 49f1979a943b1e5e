"""Jaxprs with explicit shardings pass `jax_enable_checks`, also where a sharding is ambiguous."""

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
