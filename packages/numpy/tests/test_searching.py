"""Searching in sorted vectors: types, values and errors as JAX's."""

import numpy as np
import pytest

import ricci_numpy as jnp


def test_result_is_jaxs(recorded, check):
    check(recorded)


@pytest.mark.sampled(11)
@pytest.mark.parametrize("method", ["scan", "compare_all", "sort"])
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("size", [1, 32, 33])
def test_position_is_numpys(size, side, method, backend):
    random = np.random.RandomState(size)
    a = np.sort(random.randint(0, size, size)).astype(np.float32)
    v = random.randint(-2, size + 2, 40).astype(np.float32)
    found = jnp.searchsorted(a, v, side, method=method)
    np.testing.assert_array_equal(found, np.searchsorted(a, v, side))


SIZED = {
    "nonzero": lambda x, size: jnp.nonzero(x, size=size),
    "flatnonzero": lambda x, size: jnp.flatnonzero(x, size=size),
    "argwhere": lambda x, size: jnp.argwhere(x, size=size),
    "where": lambda x, size: jnp.where(x, size=size),
    "unique": lambda x, size: jnp.unique(x, size=size),
    "unique_all": lambda x, size: jnp.unique_all(x, size=size),
    "union1d": lambda x, size: jnp.union1d(x, x, size=size),
    "intersect1d": lambda x, size: jnp.intersect1d(x, x, size=size),
    "setdiff1d": lambda x, size: jnp.setdiff1d(x, x, size=size),
    "setxor1d": lambda x, size: jnp.setxor1d(x, x, size=size),
    "compress": lambda x, size: jnp.compress(x > 0, x, size=size),
}


@pytest.mark.parametrize("name", SIZED)
def test_negative_size_is_a_value_error(name, backend):
    with pytest.raises(ValueError, match=r"size.*negative"):
        SIZED[name](np.array([1, 0, 2], np.int32), -1)
