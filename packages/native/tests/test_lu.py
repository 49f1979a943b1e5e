"""The kernel of LU factorizations agrees with LAPACK, by pivots and by factors."""

import numpy as np
import pytest

import ricci_autodiff as ad
import ricci_ir as ir
import ricci_numpy as jnp
from ricci_lax import linalg
from ricci_xla import jit

pytestmark = pytest.mark.usefixtures("wide")


def both(x):
    results = []
    for enabled in (True, False):
        with ir.native_kernels(enabled):
            results.append([np.asarray(out) for out in jit(lambda x: linalg.lu(x))(x)])
    return results


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "shape", [(500, 3, 3), (4, 30, 8, 8), (40, 32, 32), (30, 9, 17), (30, 20, 5)]
)
def test_factors_and_pivots(comparison, shape, dtype):
    x = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    assert comparison.calls_kernel(lambda x: linalg.lu(x), x, name="lu")
    (factors, pivots, permutation), theirs = both(x)
    np.testing.assert_array_equal(pivots, theirs[1])
    np.testing.assert_array_equal(permutation, theirs[2])
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(factors, theirs[0], rtol=0, atol=1e4 * eps * np.abs(x).max())
    # The factors' product is the matrix, to rounding errors of its size.
    m, n = shape[-2:]
    k = min(m, n)
    wide = factors.astype("float64")
    lower = np.tril(wide[..., :k], -1) + np.eye(m, k)
    product = lower @ np.triu(wide[..., :k, :])
    rows = np.take_along_axis(x, permutation[..., None], -2)
    np.testing.assert_allclose(product, rows, rtol=0, atol=100 * eps * np.abs(x).max())


def test_singular_matrices_and_ties():
    x = np.zeros((20, 4, 4))
    x[1] = 1  # every column has equal elements
    x[2] = np.diag([0.0, 2.0, 0.0, 3.0])
    x[3] = [[1, 2, 3, 4], [2, 4, 6, 8], [-2, 1, 0, 1], [0, 0, 0, 0]]
    for ours, theirs in zip(*both(x), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_only_the_matrix_of_a_nan_has_nans():
    x = np.random.default_rng(0).standard_normal((50, 6, 6))
    x[7, 2, 3] = np.nan
    (factors, *_), _ = both(x)
    assert np.isnan(factors[7]).any()
    assert np.isfinite(np.delete(factors, 7, 0)).all()


def test_solutions_and_their_derivatives(comparison):
    a = np.random.default_rng(0).standard_normal((100, 8, 8))
    b = np.random.default_rng(1).standard_normal((100, 8, 2))
    gradient = ad.grad(lambda a, b: jnp.sum(jnp.sin(jnp.linalg.solve(a, b))), (0, 1))
    assert comparison.calls_kernel(gradient, a, b, name="lu")
    ours = gradient(a, b)
    with ir.native_kernels(False):
        theirs = jit(gradient)(a, b)
    for x, y in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=1e-6)


def test_large_matrices_and_few_are_left_to_lapack(comparison):
    for shape in ((10, 33, 33), (3, 30, 30), (30, 30)):
        assert not comparison.calls_kernel(lambda x: linalg.lu(x), np.ones(shape), name="lu")
