"""Searching in sorted vectors: types, values and errors as JAX's."""

import numpy as np
import pytest

import ricci_numpy as jnp


def test_result_is_jaxs(recorded, check):
    check(recorded)


@pytest.mark.parametrize("method", ["scan", "compare_all", "sort"])
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("size", [1, 32, 33])
def test_position_is_numpys(size, side, method, backend):
    random = np.random.RandomState(size)
    a = np.sort(random.randint(0, size, size)).astype(np.float32)
    v = random.randint(-2, size + 2, 40).astype(np.float32)
    found = jnp.searchsorted(a, v, side, method=method)
    np.testing.assert_array_equal(found, np.searchsorted(a, v, side))
