"""Arrays that are made of constants inside of `vmap`, `grad` and the like are on a device.

They do not depend on an argument, so that they have values, and the attributes of all arrays.
"""

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="arrays on devices are tested")

import ricci
import ricci.numpy as jnp
from ricci import lax, random

MAKERS = {
    "array": lambda: jnp.array([1.0, 2.0]),
    "asarray": lambda: jnp.asarray(np.ones(2)),
    "asarray of a number": lambda: jnp.asarray(1.0),
    "full": lambda: jnp.full(2, 3.0),
    "arange": lambda: jnp.arange(3),
    "iota": lambda: lax.iota(np.int32, 3),
    "dtype": lambda: jnp.float32(1),
    "sin": lambda: jnp.sin(np.ones(2)),
    "add": lambda: jnp.add(1, 2),
    "where": lambda: jnp.where(np.array([True, False]), 1.0, 2.0),
    "stack": lambda: jnp.stack([np.ones(2), np.ones(2)]),
    "tril_indices": lambda: jnp.tril_indices(3)[0],
    "device_put": lambda: ricci.device_put(np.ones(2)),
    "one_hot": lambda: ricci.nn.one_hot(np.array([0, 1]), 3),
    "key": lambda: random.key(0),
    "key of another generator": lambda: random.key(0, impl="rbg"),
    "PRNGKey": lambda: random.PRNGKey(0),
    "wrap_key_data": lambda: random.wrap_key_data(np.zeros(2, np.uint32)),
    "key_data": lambda: random.key_data(random.key(1)),
    "split": lambda: random.split(random.key(0)),
    "fold_in": lambda: random.fold_in(random.key(0), np.uint32(3)),
    "normal": lambda: random.normal(random.key(1), (2,)),
}
TRANSFORMED = {
    "vmap": lambda f: ricci.vmap(f)(jnp.ones(2)),
    "grad": lambda f: ricci.grad(f)(1.0),
    "jvp": lambda f: ricci.jvp(f, (1.0,), (1.0,)),
    "linearize": lambda f: ricci.linearize(f, 1.0),
}


@pytest.mark.parametrize("transformed", TRANSFORMED.values(), ids=TRANSFORMED)
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_an_array_of_constants_is_on_a_device(make, transformed):
    made = []

    def record(x):
        made.append(make())
        return x

    transformed(record)
    (x,) = made
    assert isinstance(x, ricci.Array) and not isinstance(x, ricci.core.Tracer)
    assert x.devices() == {ricci.devices()[0]}
    assert x.sharding.device_set == x.devices() and not x.is_deleted()
