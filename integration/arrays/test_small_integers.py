"""Integers of 2 and 4 bits give what bytes give."""

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="values need the compiler")

import ricci
import ricci.numpy as jnp
from ricci import lax

RANGES = {"int2": (-2, 1), "uint2": (0, 3), "int4": (-8, 7), "uint4": (0, 15)}
FUNCTIONS = {
    "sort": jnp.sort,
    "sort of columns": lambda x: lax.sort(x, dimension=0),
    "sort of several": lambda x: lax.sort((x, x[::-1], x.astype("float32")), num_keys=2),
    "mapped sort": lambda x: ricci.vmap(jnp.sort, 1, 1)(x),
    "argsort": jnp.argsort,
    "lexsort": lambda x: jnp.lexsort((x[0], x[1])),
    "searchsorted": lambda x: jnp.searchsorted(jnp.sort(x.ravel()), x),
    "argmax": lambda x: jnp.argmax(x, -1),
    "argmin": lambda x: jnp.argmin(x, 0),
    "top_k": lambda x: lax.top_k(x, 2),
    "dot": lambda x: lax.dot(x, x.T, preferred_element_type="int32"),
    "dot of few bits": lambda x: lax.dot(x & 1, x.T & 1).astype("int32") & 1,
    "cummax": lambda x: lax.cummax(x, axis=1),
    "gather": lambda x: jnp.take_along_axis(x, jnp.array([[0, 2, 1], [1, 1, 0]]), 1),
    "scatter": lambda x: x.at[:, jnp.array([1, 2])].max(x[:, :1]),
}


@pytest.mark.parametrize("dtype", RANGES)
@pytest.mark.parametrize("fun", FUNCTIONS.values(), ids=FUNCTIONS)
def test_small_integers_give_what_bytes_give(fun, dtype):
    low, high = RANGES[dtype]
    values = np.random.default_rng(0).integers(low, high + 1, (2, 3))
    values[0, :2] = high, low
    small, byte = jnp.array(values, dtype), jnp.array(values, "uint8" if low == 0 else "int8")
    for ours, expected in zip(
        ricci.tree.leaves(ricci.jit(fun)(small)), ricci.tree.leaves(fun(byte)), strict=True
    ):
        np.testing.assert_array_equal(ours.astype("int32"), expected.astype("int32"))
