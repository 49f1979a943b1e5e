"""Products of small matrices by the kernel."""

import numpy as np
import pytest

import ricci_autodiff as ad
import ricci_ir as ir
import ricci_lax as lax
import ricci_numpy as jnp
from ricci_batching import vmap
from ricci_xla import jit

pytestmark = pytest.mark.usefixtures("wide")

# Rows, columns and terms: whole tiles, and remainders in each direction.
SIZES = [(64, 64, 64), (8, 8, 8), (4, 5, 26), (7, 13, 9), (33, 31, 17), (5, 100, 64), (100, 5, 256)]


def _product(lhs_transposed, rhs_transposed, rank):
    shared = tuple(range(rank - 2))
    contracting = ((rank - 1 - lhs_transposed,), (rank - 2 + rhs_transposed,))
    return lambda x, y: lax.dot_general(x, y, (contracting, (shared, shared)))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("batch", [(), (3,), (2, 5)])
@pytest.mark.parametrize("transposed", [(0, 0), (0, 1), (1, 0), (1, 1)])
@pytest.mark.parametrize(("m", "n", "k"), SIZES)
def test_products(comparison, m, n, k, transposed, batch, dtype):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((*batch, *((k, m) if transposed[0] else (m, k)))).astype(dtype)
    y = rng.standard_normal((*batch, *((n, k) if transposed[1] else (k, n)))).astype(dtype)
    function = _product(*transposed, len(batch) + 2)
    assert comparison.calls_kernel(function, x, y, name="dot_general")
    result = np.asarray(jit(function)(x, y))
    x, y = (np.swapaxes(a, -1, -2) if t else a for a, t in zip((x, y), transposed, strict=True))
    exact = np.matmul(x.astype("longdouble"), y.astype("longdouble"))
    # Each term and each partial sum may be rounded.
    bound = k * np.finfo(dtype).eps * np.matmul(abs(x), abs(y))
    assert (np.abs(result - exact) <= bound).all()


def test_a_product_has_the_bits_of_the_same_in_a_batch():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 9, 24, 24)).astype("float32")
    together = np.asarray(jit(vmap(jnp.matmul))(x, y))
    one_by_one = [np.asarray(jit(jnp.matmul)(*pair)) for pair in zip(x, y, strict=True)]
    np.testing.assert_array_equal(together, one_by_one)


def test_nans_and_infinities_stay_in_their_row_and_column():
    x, y = np.ones((16, 16), "float32"), np.ones((16, 16), "float32")
    x[3, 4], y[5, 6] = np.nan, np.inf
    result = np.asarray(jit(jnp.matmul)(x, y))
    assert np.isnan(result[3]).all()
    assert np.isinf(np.delete(result[:, 6], 3)).all()
    assert np.isfinite(np.delete(np.delete(result, 3, 0), 6, 1)).all()


def test_derivatives(comparison):
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((6, 12, 20)), rng.standard_normal((6, 20, 9))
    gradient = ad.grad(lambda x, y: jnp.sum(jnp.sin(x @ y)), (0, 1))
    assert comparison.calls_kernel(gradient, x, y, name="dot_general")
    ours = gradient(x, y)
    with ir.native_kernels(False):
        theirs = jit(lambda x, y: gradient(x, y))(x, y)
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(np.asarray(mine), np.asarray(other), rtol=1e-9, atol=1e-12)


def test_large_narrow_and_other_products_are_left_to_xla(comparison):
    for m, n, k in [(128, 128, 128), (64, 1, 64), (3, 64, 64), (8, 8, 1000), (4, 4, 4)]:
        x, y = np.ones((m, k)), np.ones((k, n))
        assert not comparison.calls_kernel(jnp.matmul, x, y, name="dot_general"), (m, n, k)
    integers = np.ones((32, 32), "int32")
    assert not comparison.calls_kernel(jnp.matmul, integers, integers, name="dot_general")
    outer = np.ones((8, 8, 8))
    assert not comparison.calls_kernel(lambda x: jnp.tensordot(x, x), outer, name="dot_general")
