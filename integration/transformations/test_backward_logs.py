"""Logs of backward passes through ``jit``."""

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="devices need the runtime")

import ricci as jax
import ricci.numpy as jnp


@jax.custom_gradient(with_logs=True)
def logged(x):
    return jnp.sin(x), lambda ct: (ct * jnp.cos(x), {"norm": jnp.linalg.norm(ct)})


CASES = {
    "eager": lambda x, ct: jax.vjp(logged, x)[1].with_logs(ct),
    "jitted function": lambda x, ct: jax.vjp(jax.jit(logged), x)[1].with_logs(ct),
    "jitted pass": jax.jit(lambda x, ct: jax.vjp(logged, x)[1].with_logs(ct)),
    "jitted twice": jax.jit(lambda x, ct: jax.vjp(jax.jit(jax.jit(logged)), x)[1].with_logs(ct)),
    "jitted pullback": lambda x, ct: jax.jit(lambda v, ct: v.with_logs(ct))(
        jax.vjp(jax.jit(logged), x)[1], ct
    ),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("run", CASES.values(), ids=CASES)
def test_logs_pass_through_jit(run, x64):
    with jax.enable_x64(x64):
        x, ct = jnp.arange(3.0), jnp.ones(3)
        for _ in range(2):
            (cotangent,), logs = run(x, ct)
            np.testing.assert_allclose(cotangent, np.cos(x), rtol=1e-6)
            np.testing.assert_allclose(logs["norm"], np.sqrt(3), rtol=1e-6)
            assert logs["norm"].dtype == x.dtype
            jax.clear_caches()
