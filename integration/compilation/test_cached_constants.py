"""Zeros of both signs, one after the other: a constant cached for one is not used for the other."""

import numpy as np
import pytest

import ricci
import ricci.numpy as jnp

# A call with each sign of a zero, in both orders.
CALLS = {
    "where": lambda x, z: jnp.where(x > 2, x, z),
    "full": lambda x, z: jnp.full(2, z),
    "asarray": lambda x, z: jnp.asarray(z),
    "maximum": lambda x, z: jnp.maximum(-x, z),
    "pad": lambda x, z: jnp.pad(x, 1, constant_values=z),
    "set": lambda x, z: x.at[0].set(z),
    "copysign": lambda x, z: jnp.copysign(x, z),
    "lax.pad": lambda x, z: ricci.lax.pad(x, z, [(1, 1, 0)]),
    "jit": lambda x, z: ricci.jit(lambda x: x * z)(x),
    "scan": lambda x, z: ricci.lax.scan(lambda c, _: (c, c * z), 1.0, None, length=1)[1],
}


@pytest.mark.sampled(10)
@pytest.mark.parametrize("first", [0.0, -0.0])
@pytest.mark.parametrize("name", CALLS)
def test_calls_with_both_zeros(name, first):
    ricci.clear_caches()
    x, call = jnp.ones(2), CALLS[name]
    alone = {}
    for z in (0.0, -0.0):
        ricci.clear_caches()
        alone[str(z)] = np.asarray(call(x, z)).tobytes()
    assert alone["0.0"] != alone["-0.0"]
    ricci.clear_caches()
    for z in (first, -first, first, -first):
        assert np.asarray(call(x, z)).tobytes() == alone[str(z)]
