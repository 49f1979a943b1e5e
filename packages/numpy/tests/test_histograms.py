"""Counts, covariances and interpolation: types, values, derivatives and errors as JAX's."""

import numpy as np
import pytest

import ricci_numpy as jnp


@pytest.mark.sampled(15)
def test_result_is_jaxs(recorded, check):
    check(recorded)


@pytest.mark.parametrize("bins", [1, 7, 50])
def test_every_element_is_counted_once(bins, backend):
    x = np.random.RandomState(1).randn(300).astype(np.float32)
    counts, edges = jnp.histogram(x, bins)
    assert float(counts.sum()) == 300
    np.testing.assert_array_equal(counts, np.histogram(x, np.asarray(edges))[0])
