"""The kernel of resampling computes products with a matrix that is mostly zeros."""

import numpy as np
import pytest

import ricci_ir as ir
import ricci_lax as lax
import ricci_numpy as jnp
from ricci_autodiff import grad
from ricci_batching import vmap
from ricci_lax.authoring import resample
from ricci_xla import jit

pytestmark = pytest.mark.usefixtures("wide")

# The operand's shape, the axis, the samples of the result, and the elements of a band.
CASES = {
    "rows": ((40, 67), 1, 131, 3),
    "fewer samples": ((60, 300), 1, 70, 5),
    "pixels": ((3, 40, 50, 3), 2, 77, 4),
    "rows of pixels": ((3, 40, 50, 3), 1, 55, 2),
    "columns": ((70, 150), 0, 35, 6),
    "in parts": ((20, 5000), 0, 31, 2),
    "one sample": ((1, 5000), 0, 3, 1),
}


def _weights(size, count, band, dtype):
    rng = np.random.default_rng(size)
    matrix = np.zeros((size, count), dtype)
    for j in range(count):
        first = max(0, min(size - band, round(j * size / count)))
        matrix[first : first + band, j] = rng.normal(size=min(band, size))
    if count > 4:
        matrix[:, 2] = 0
    return matrix


def _case(name, dtype):
    shape, axis, count, band = CASES[name]
    x = np.random.default_rng(0).normal(size=shape).astype(dtype)
    weights = _weights(shape[axis], count, band, dtype)
    return x, weights, lambda x, weights: resample(x, weights, axis, band, "highest")


def _both(function, *args):
    results = []
    for enabled in (True, False):
        with ir.native_kernels(enabled):
            results.append(np.asarray(jit(lambda *xs: function(*xs))(*args)))
    return results


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CASES)
def test_products(comparison, name, dtype):
    x, weights, function = _case(name, dtype)
    assert comparison.calls_kernel(function, x, weights, name="resample")
    axis = CASES[name][1]
    exact = np.moveaxis(np.tensordot(x.astype("longdouble"), weights, (axis, 0)), -1, axis)
    bound = np.moveaxis(np.tensordot(abs(x), abs(weights), (axis, 0)), -1, axis)
    result = np.asarray(jit(function)(x, weights))
    assert result.dtype == np.dtype(dtype)
    assert (np.abs(result - exact) <= 8 * np.finfo(dtype).eps * bound).all()


@pytest.mark.parametrize("name", CASES)
def test_infinities_and_nans_reach_all_sums_that_they_are_in(name):
    x, weights, function = _case(name, "float64")
    x.flat[x.size // 3], x.flat[-2] = np.inf, np.nan
    ours, theirs = _both(function, x, weights)
    np.testing.assert_array_equal(np.isnan(ours), np.isnan(theirs))
    np.testing.assert_array_equal(np.isinf(ours), np.isinf(theirs))


@pytest.mark.parametrize("name", ["rows", "pixels", "columns"])
def test_derivatives_and_batches(comparison, name):
    x, weights, function = _case(name, "float64")
    loss = lambda x, w: jnp.sum(jnp.sin(function(x, w)))
    xs, matrices = np.stack([x, 2 * x]), np.stack([weights, -weights])
    for fun, args in (
        (grad(loss), (x, weights)),
        (grad(loss, 1), (x, weights)),
        (vmap(grad(loss), (0, None)), (xs, weights)),
        (vmap(function, (1, None), 1), (np.moveaxis(xs, 0, 1), weights)),
        (vmap(function, (None, 0)), (x, matrices)),
        (vmap(function, (0, 2)), (xs, np.moveaxis(matrices, 0, 2))),
    ):
        ours, theirs = _both(fun, *args)
        np.testing.assert_allclose(ours, theirs, atol=1e-12)
    assert comparison.calls_kernel(grad(loss), x, weights, name="resample")


def test_other_dtypes_and_dense_matrices_are_left_to_xla(comparison):
    x, weights, function = _case("rows", "float16")
    assert not comparison.calls_kernel(function, x, weights)
    x, weights, _ = _case("fewer samples", "float32")
    dense = lambda x, w: resample(x, w, 1, 30)
    assert not comparison.calls_kernel(dense, x, weights)
    wrong = lambda x: resample(x, weights[1:], 1, 3)
    with pytest.raises(TypeError, match="must have a row"):
        wrong(x)
    with pytest.raises(TypeError, match="of dtype float32"):
        resample(x, lax.convert_element_type(weights, "float64"), 1, 3)
