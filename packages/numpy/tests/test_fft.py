"""Fourier transforms: types and errors as JAX's, values as NumPy's, derivatives by definition."""

import numpy as np
import pytest

import ricci_numpy as jnp
from ricci_autodiff import grad

RANDOM = np.random.RandomState(0)
X = RANDOM.randn(3, 4, 5).astype(np.float32)
C = (X + 1j * RANDOM.randn(3, 4, 5)).astype(np.complex64)
OF_REALS = ("rfft", "ihfft", "rfft2", "rfftn")


def test_types_are_jaxs(types, outcome):
    name, rows = types
    wrong = []
    for row in rows.splitlines():
        arguments, _, expected = row.rpartition(" -> ")
        found = outcome(f"jnp.{name}({arguments})")
        if expected not in (found if isinstance(found, list) else [found]):
            wrong.append(f"{name}({arguments}) gives {found}, not {expected}")
    assert not wrong, "\n".join(wrong)


def _compare(name, x, *arguments):
    found = getattr(jnp.fft, name)(jnp.asarray(x), *arguments)
    expected = getattr(np.fft, name)(x, *arguments)
    assert found.shape == expected.shape
    scale = max(1, np.abs(expected).max())
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-6 * scale)


@pytest.mark.sampled(15)
@pytest.mark.parametrize("norm", [None, "backward", "ortho", "forward"])
@pytest.mark.parametrize(("n", "axis"), [(None, -1), (None, 0), (3, 2), (8, 1)])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_along_one_axis(name, n, axis, norm, backend):
    _compare(name, X if name in OF_REALS else C, n, axis, norm)


@pytest.mark.sampled(15)
@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize(
    ("s", "axes"), [(None, (-2, -1)), ((3, 6), (1, 2)), ((2, 4), (0, 2)), ((5, 3), (2, 0))]
)
@pytest.mark.parametrize(
    "name", ["fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"]
)
def test_along_two_axes(name, s, axes, norm, backend):
    _compare(name, X if name in OF_REALS else C, s, axes, norm)


@pytest.mark.parametrize("rank", [3, 4, 5, 7])
@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
def test_along_more_axes_than_one_operation_takes(name, rank, backend):
    x = RANDOM.randn(*(2 + i % 2 for i in range(rank))).astype(np.float32)
    _compare(name, x if name in OF_REALS else x.astype(np.complex64))


@pytest.mark.parametrize("n", [1, 4, 5, 8])
@pytest.mark.parametrize("d", [1.0, 0.3, 2])
@pytest.mark.parametrize("name", ["fftfreq", "rfftfreq"])
def test_frequencies(name, n, d, backend):
    found = getattr(jnp.fft, name)(n, d)
    np.testing.assert_allclose(found, getattr(np.fft, name)(n, d), rtol=1e-6)


@pytest.mark.parametrize("axes", [None, 0, -1, (0, 2), (1,)])
@pytest.mark.parametrize("name", ["fftshift", "ifftshift"])
def test_shifts(name, axes, backend):
    found = getattr(jnp.fft, name)(jnp.asarray(X), axes)
    np.testing.assert_array_equal(found, getattr(np.fft, name)(X, axes))


@pytest.mark.sampled(10)
@pytest.mark.parametrize("n", [None, 3, 8])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_derivative_is_the_transpose(name, n, backend):
    fun = lambda x: getattr(jnp.fft, name)(x, n, norm="ortho")
    x = X[0, 0]
    columns = np.stack([np.asarray(fun(jnp.asarray(e))) for e in np.eye(5, dtype=np.float32)])
    weights = np.cos(np.arange(columns.shape[1], dtype=np.float32))
    found = grad(lambda x: jnp.sum(jnp.real(fun(x)) * weights))(jnp.asarray(x))
    np.testing.assert_allclose(found, np.real(columns) @ weights, rtol=1e-5, atol=1e-5)
