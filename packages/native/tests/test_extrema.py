"""The kernels of ``max`` and ``min`` find NumPy's extrema, NaNs included."""

import numpy as np
import pytest

import ricci_numpy as jnp
from ricci_autodiff import grad
from ricci_batching import vmap

FLOATS = ("float16", "bfloat16", "float32", "float64")
FUNCTIONS = {"max": (jnp.max, np.max), "min": (jnp.min, np.min)}

pytestmark = pytest.mark.usefixtures("wide")


@pytest.mark.parametrize("shape", [(4096,), (40, 257), (3, 5, 1000)])
@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_extrema_are_those_of_numpy(comparison, function, name, shape):
    ours, numpy = FUNCTIONS[function]
    dtype = jnp.zeros(0, name).dtype
    rng = np.random.default_rng(0)
    x = rng.normal(size=shape).astype(dtype)
    find = lambda x: ours(x, -1)
    assert comparison.calls_kernel(find, x)
    np.testing.assert_array_equal(np.asarray(find(x)), numpy(x, -1))
    rows = x.reshape(-1, shape[-1])
    # A NaN of either sign, anywhere in a row, and infinities beside it.
    for row, position in zip(rows, (0, 63, 64, 255, 256, -1) * 8, strict=False):
        row[position] = np.copysign(np.array(np.nan, dtype), dtype.type(position % 2 - 0.5))
        row[3] = np.inf if position % 3 else -np.inf
    assert np.isnan(np.asarray(find(x)).astype(np.float64)).reshape(-1)[: len(rows)].all()
    rows[:, :] = -np.inf if function == "max" else np.inf
    np.testing.assert_array_equal(np.asarray(find(x)), numpy(x, -1))


@pytest.mark.parametrize("name", FLOATS)
def test_zeros_are_ordered_by_their_signs(name):
    row = np.resize(np.array([0.0, -0.0], jnp.zeros(0, name).dtype), (10, 600))
    assert not np.signbit(np.asarray(jnp.max(row, 1)).astype(np.float32)).any()
    assert np.signbit(np.asarray(jnp.min(row, 1)).astype(np.float32)).all()
    # One zero of each sign, before and behind the last whole vector.
    for positions in ((0, 599), (599, 0), (598, 599), (100, 580)):
        other = np.full((10, 603), -1, row.dtype)
        other[:, positions] = row[0, :2]
        assert not np.signbit(np.asarray(jnp.max(other, 1)).astype(np.float32)).any()
        assert np.signbit(np.asarray(jnp.min(-other, 1)).astype(np.float32)).all()


@pytest.mark.parametrize(
    "function",
    [
        vmap(lambda row: jnp.max(row)),
        lambda x: jnp.nanmin(x, axis=1),
        lambda x: jnp.max(jnp.abs(x), axis=-1, keepdims=True),
        vmap(grad(lambda row: jnp.max(row))),
    ],
)
def test_functions_of_numpy(comparison, function):
    x = np.random.default_rng(0).normal(size=(30, 300)).astype(np.float32)
    comparison.assert_equal_bits(function, x)


def test_other_axes_dtypes_and_short_rows_are_left_to_xla(comparison):
    x = np.ones((600, 600), np.float32)
    assert not comparison.calls_kernel(lambda x: jnp.max(x, 0), x)
    assert not comparison.calls_kernel(lambda x: jnp.max(x), x)
    assert not comparison.calls_kernel(lambda x: jnp.max(x, 1), x.astype(np.int32))
    assert not comparison.calls_kernel(lambda x: jnp.max(x, 1), np.ones((600, 100), np.float32))
