"""The kernels of ``argmax`` and ``argmin`` find the position that XLA finds."""

import numpy as np
import pytest

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_batching import vmap

DTYPES = ("bool", "int8", "int32", "int64", "uint16", "uint64")
FLOATS = ("float16", "bfloat16", "float32", "float64")
FUNCTIONS = {"argmax": lax.argmax, "argmin": lax.argmin}

pytestmark = pytest.mark.usefixtures("wide")


@pytest.mark.sampled(30)
@pytest.mark.parametrize("shape", [(512,), (40, 257), (3, 5, 1000)])
@pytest.mark.parametrize("name", [*DTYPES, *FLOATS])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_positions(comparison, elements, function, name, shape):
    x = elements(name, shape)
    find = FUNCTIONS[function]
    comparison.assert_equal_bits(lambda x: find(x, len(shape) - 1, np.int32), x)
    if x.dtype.kind != "b":
        # Without NaNs, of which every row above has some.
        x = np.where(x == x, x, np.ones((), x.dtype))
        comparison.assert_equal_bits(lambda x: find(x, len(shape) - 1, np.int64), x)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("name", FLOATS)
def test_the_first_of_equal_elements_is_chosen(comparison, name, function):
    dtype = jnp.zeros(0, name).dtype
    position = lambda x: FUNCTIONS[function](x, 0, np.int32)
    for values in ([0.0, -0.0], [-0.0, 0.0], [5.0, np.nan, np.inf, np.nan], [np.inf], [-np.inf]):
        row = np.resize(np.array(values, dtype), 600)
        row[:300] = np.array(values[0], dtype)
        comparison.assert_equal_bits(position, row)


@pytest.mark.parametrize("position", [0, 63, 64, 511, 512, 598, 599])
def test_every_block_of_a_row_is_searched(comparison, position):
    row = np.zeros(600, np.float32)
    row[position] = 3
    assert comparison.calls_kernel(jnp.argmax, row)
    assert jnp.argmax(row) == position
    assert jnp.argmin(-row) == position


@pytest.mark.parametrize(
    "function",
    [
        vmap(lambda row: jnp.argmax(row)),
        lambda x: jnp.nanargmin(x, axis=1),
        lambda x: jnp.argmax(jnp.exp(x), axis=-1, keepdims=True),
        lambda x: jnp.argmax(x.ravel()),
    ],
)
def test_functions_of_numpy(comparison, function):
    comparison.assert_equal_bits(
        function, np.random.default_rng(0).normal(size=(9, 300)).astype(np.float32)
    )


def test_other_axes_and_index_dtypes_are_left_to_xla(comparison):
    x = np.ones((600, 600), np.float32)
    assert not comparison.calls_kernel(lambda x: lax.argmax(x, 0, np.int32), x)
    assert not comparison.calls_kernel(lambda x: lax.argmax(x, 1, np.uint32), x, name="argmax")
    assert not comparison.calls_kernel(lambda x: lax.argmax(x, 0, np.int32), np.ones(100))
