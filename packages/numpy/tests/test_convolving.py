"""Convolution and correlation: as NumPy's, in JAX's dtypes; and errors."""

import numpy as np
import pytest

import ricci_numpy as jnp
from ricci_autodiff import grad

pytestmark = pytest.mark.usefixtures("backend")

MODES = ("full", "same", "valid")
SIZES = [(3, 2), (2, 3), (5, 5), (1, 4), (4, 1), (6, 3), (3, 6)]


def sequence(size, dtype, seed):
    random = np.random.RandomState(seed)
    x = 3 * random.randn(size)
    return (x + 1j * random.randn(size)).astype(dtype) if dtype == "complex64" else x.astype(dtype)


@pytest.mark.sampled(20)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("dtype", ["float32", "complex64", "int32"])
@pytest.mark.parametrize("name", ["convolve", "correlate"])
def test_values_are_those_of_numpy(name, dtype, sizes, mode):
    a, v = (sequence(size, dtype, i) for i, size in enumerate(sizes))
    found = getattr(jnp, name)(a, v, mode)
    expected = getattr(np, name)(a, v, mode)
    assert found.dtype == ("complex64" if dtype == "complex64" else "float32")
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-4, atol=1e-4)


def test_gradient():
    a = np.arange(4, dtype=np.float32)
    found = grad(lambda a: jnp.sum(jnp.convolve(a, np.float32([1.0, 2.0]))))(a)
    assert np.asarray(found).tolist() == [3.0] * 4


@pytest.mark.parametrize("name", ["convolve", "correlate"])
@pytest.mark.parametrize(
    ("args", "error", "text"),
    [
        ((np.ones((2, 2)), np.ones(2)), ValueError, "rank 1"),
        ((np.ones(0), np.ones(2)), ValueError, "must have elements"),
        ((np.ones(2), np.ones(2), "bad"), ValueError, "mode must be"),
        (([1, 2], [3]), TypeError, "list"),
    ],
)
def test_invalid_arguments_raise(name, args, error, text):
    with pytest.raises(error, match=text):
        getattr(jnp, name)(*args)
