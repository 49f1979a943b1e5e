"""The kernel of ``top_k`` has the bits of XLA's operation."""

import numpy as np
import pytest

import ricci_autodiff as ad
import ricci_lax as lax
import ricci_numpy as jnp
from ricci_batching import vmap

DTYPES = ("bool", "int8", "int32", "int64", "uint16", "uint64")
FLOATS = ("float16", "bfloat16", "float32", "float64")

pytestmark = pytest.mark.usefixtures("wide")


@pytest.mark.sampled(30)
@pytest.mark.parametrize(("shape", "k"), [((1024,), 1), ((2, 3000), 40), ((3, 2, 515), 257)])
@pytest.mark.parametrize("name", [*DTYPES, *FLOATS])
def test_rows(comparison, elements, name, shape, k):
    def one_nan(x):
        # XLA forgets which NaN of bfloat16 it was, as it computes in float32.
        return jnp.where(x == x, x, jnp.full_like(x, jnp.nan)) if name == "bfloat16" else x

    def function(x):
        values, positions = lax.top_k(x, k)
        return one_nan(values), positions

    comparison.assert_equal_bits(function, elements(name, shape))


ORDERS = {
    "ascending": lambda x: np.sort(x),
    "descending": lambda x: -np.sort(-x),
    "equal": lambda x: np.full_like(x, 7),
    "greatest at the end": lambda x: np.concatenate([x[:-5], x.max() + np.arange(5.0)]),
    "few values": lambda x: np.round(x),
}


@pytest.mark.parametrize("k", [1, 31, 32, 33, 100, 2000])
@pytest.mark.parametrize("order", ORDERS)
def test_orders(comparison, order, k):
    x = ORDERS[order](np.random.default_rng(k).normal(size=4100)).astype(np.float32)
    comparison.assert_equal_bits(lambda x: lax.top_k(x, k), x)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: lax.top_k(x, 3, axis=0),
        lambda x: lax.top_k(x, 5, is_stable=False),
        vmap(lambda row: lax.top_k(row, 20)),
        vmap(lambda column: lax.top_k(column, 2, axis=0)),
        lambda x: ad.jvp(lambda x: lax.top_k(x, 3)[0], (x,), (x,)),
        ad.grad(lambda x: jnp.sum(lax.top_k(x, 3)[0])),
    ],
)
def test_functions_that_select(comparison, function):
    # Distinct elements, since an unstable selection may order others in any way.
    x = np.random.default_rng(1).permutation(600 * 600).reshape(600, 600).astype(np.float32)
    comparison.assert_equal_bits(function, x)


@pytest.mark.parametrize(
    ("shape", "k"), [((1000,), 3), ((300, 300), 3), ((2048,), 1025), ((2048,), 0)]
)
def test_short_rows_and_most_of_a_row_are_left_to_xla(comparison, shape, k):
    assert not comparison.calls_kernel(lambda x: lax.top_k(x, k), np.ones(shape))
