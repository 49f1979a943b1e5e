"""Derivatives of decompositions of matrices with repeated eigenvalues or singular values."""

from functools import partial

import numpy as np
import pytest

from ricci_autodiff import grad, jvp, vjp
from ricci_batching import vmap
from ricci_ir import enable_x64, use_backend
from ricci_lax import linalg
from ricci_lax.elementwise._arithmetic import abs as magnitude
from ricci_lax.elementwise._arithmetic import mul, square
from ricci_lax.elementwise._conversion import converted
from ricci_lax.elementwise._factories import filled_like
from ricci_lax.elementwise._linear import conj, real
from ricci_lax.elementwise._transcendental import exp, log, sqrt
from ricci_lax.linalg._matrices import adjoint as adjoint_of
from ricci_lax.linalg._matrices import is_complex
from ricci_lax.linalg._rotations import _in_columns
from ricci_lax.linalg._triangular_solve import matmul
from ricci_lax.shapes._slicing import slice_in_dim
from ricci_lax.structure._broadcasting import reduce_sum

DTYPES = ("float32", "float64", "complex64", "complex128")


@pytest.fixture(autouse=True)
def x64():
    reference = pytest.importorskip("ricci_reference", reason="values need a backend")
    with use_backend(reference.reference_backend), enable_x64(True):
        yield


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def random(*shape, dtype, seed=0):
    generator = np.random.default_rng(seed)
    x = generator.normal(size=shape)
    return (x + 1j * generator.normal(size=shape) if np.dtype(dtype).kind == "c" else x).astype(
        dtype
    )


def rotated(values, dtype):
    """A Hermitian matrix of these eigenvalues, and its eigenvectors."""
    wide = "complex128" if np.dtype(dtype).kind == "c" else "float64"
    vectors = np.linalg.qr(random(len(values), len(values), dtype=wide, seed=7))[0]
    return (vectors * values) @ adjoint(vectors), vectors


def assert_close(result, expected, dtype):
    scale = np.abs(expected).max()
    digits = 2e-5 if np.dtype(dtype).name in ("float32", "complex64") else 1e-12
    np.testing.assert_allclose(result, expected, 0, digits * max(scale, 1))


def total(x):
    x = real(x) if is_complex(x) else x
    return reduce_sum(x, tuple(range(x.ndim)))


def of_values(fun, x, weights):
    """Sum of the weights times V f(w) Vᴴ."""
    vectors, values = linalg.eigh(x)
    scaled = mul(vectors, _in_columns(converted(fun(values), vectors.dtype), vectors.shape))
    return total(
        mul(conj(weights) if is_complex(x) else weights, matmul(scaled, adjoint_of(vectors)))
    )


def divided_differences(fun, slope, values):
    rows, columns = np.meshgrid(values, values, indexing="ij")
    gaps = rows - columns
    safe = np.where(gaps == 0, 1, gaps)
    return np.where(gaps == 0, slope(rows), (fun(rows) - fun(columns)) / safe)


FUNCTIONS = {
    "exp": (exp, np.exp, np.exp),
    "sqrt": (sqrt, np.sqrt, lambda w: 0.5 / np.sqrt(w)),
    "log": (log, np.log, lambda w: 1 / w),
    "square": (square, np.square, lambda w: 2 * w),
}
SPECTRA = {"one of three": (1.5, 1.5, 2.5), "all": (2.0,) * 4, "two pairs": (0.7, 0.7, 3.0, 3.0)}


@pytest.mark.parametrize("spectrum", SPECTRA)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_gradients_of_matrix_functions_are_divided_differences(dtype, name, spectrum):
    fun, exact, slope = FUNCTIONS[name]
    values = np.array(SPECTRA[spectrum])
    x, vectors = rotated(values, dtype)
    weights = random(*x.shape, dtype=dtype)
    half = (weights + adjoint(weights)) / 2
    inner = adjoint(vectors) @ half @ vectors
    expected = vectors @ (divided_differences(exact, slope, values) * inner) @ adjoint(vectors)
    gradient = np.conj(grad(partial(of_values, fun))(x.astype(dtype), weights))
    assert_close(gradient, expected, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_gradient_of_the_trace_of_a_matrix_function(dtype):
    for x in (rotated(np.array([1.0, 1.0, 1.0, 2.0]), dtype)[0], np.eye(4), np.diag([1.0, 1, 2])):
        values, vectors = np.linalg.eigh(x)
        unit = np.eye(len(x), dtype=dtype)
        gradient = np.conj(grad(partial(of_values, exp))(x.astype(dtype), unit))
        assert_close(gradient, (vectors * np.exp(values)) @ adjoint(vectors), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_simple_eigenvector_beside_equal_ones_has_a_derivative(dtype):
    x, _ = rotated(np.array([1.0, 1.0, 1.0, 3.0]), dtype)
    dx = random(4, 4, dtype=dtype)
    dx = (dx + adjoint(dx)) / 2

    def projector(x):
        top = slice_in_dim(linalg.eigh(x)[0], 3, 4, axis=1)
        return matmul(top, adjoint_of(top))

    p, tangent = jvp(projector, (x.astype(dtype),), (dx,))
    p = np.asarray(p)
    # The resolvent of the other eigenvalues, 1 / (3 - 1), on both sides.
    rest = np.eye(4) - p
    expected = (rest @ dx @ p + p @ dx @ rest) / 2
    assert_close(tangent, expected, dtype)
    weights = random(4, 4, dtype=dtype, seed=3)
    (gradient,) = vjp(projector, x.astype(dtype))[1](weights)
    assert np.real(np.sum(np.asarray(gradient) * dx)) == pytest.approx(
        np.real(np.sum(weights * expected)), rel=1e-4
    )


def scaled_product(fun, x):
    u, s, vh = linalg.svd(x, full_matrices=False)
    scaled = mul(u, _in_columns(converted(fun(s), u.dtype), u.shape))
    return matmul(scaled, vh)


SINGULAR = {"all": (1.0, 1.0, 1.0), "two": (2.0, 2.0, 1.0)}


def of_singular_values(shape, values, dtype):
    wide = "complex128" if np.dtype(dtype).kind == "c" else "float64"
    u, _, vh = np.linalg.svd(random(*shape, dtype=wide), full_matrices=False)
    return (u * values) @ vh, u, vh


@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (3, 5)])
@pytest.mark.parametrize("spectrum", SINGULAR)
@pytest.mark.parametrize("dtype", DTYPES)
def test_gradients_of_products_of_singular_factors(dtype, spectrum, shape):
    x, u, vh = of_singular_values(shape, np.array(SINGULAR[spectrum]), dtype)
    weights = random(*shape, dtype=dtype, seed=2)
    gradient = lambda fun: np.conj(
        grad(lambda x: total(mul(np.conj(weights), scaled_product(fun, x))))(x.astype(dtype))
    )
    # U S Vᴴ is the matrix itself.
    assert_close(gradient(lambda s: s), weights, dtype)
    # The polar factor U Vᴴ moves by 2 K / (s[i] + s[j]), with the antihermitian part of Uᴴ dA V,
    # and by the components outside of the vectors' spans.
    s = np.array(SINGULAR[spectrum])
    inner = adjoint(u) @ weights @ adjoint(vh)
    turn = (inner - adjoint(inner)) / (s[:, None] + s)
    outside = weights - u @ inner @ vh
    if shape[0] > shape[1]:
        outside = (outside @ adjoint(vh)) / s @ vh
    elif shape[0] < shape[1]:
        outside = u @ ((adjoint(u) @ outside) / s[:, None])
    assert_close(gradient(lambda s: filled_like(s, 1)), u @ turn @ vh + outside, dtype)


@pytest.mark.parametrize("values", [(2.0, 2.0, 0.0, 0.0), (1.0,) * 4, (0.0,) * 4])
@pytest.mark.parametrize("dtype", DTYPES)
def test_gradient_of_the_norm_of_a_product_of_singular_factors(dtype, values):
    x, _, _ = of_singular_values((4, 4), np.array(values), dtype)
    norm = lambda x: total(square(magnitude(scaled_product(lambda s: s, x))))
    assert_close(np.conj(grad(norm)(x.astype(dtype))), 2 * x, dtype)


def test_gradients_under_vmap_are_those_of_each_matrix():
    x = np.stack([np.eye(3), np.diag([1.0, 1.0, 2.0]), np.diag([1.0, 2.0, 3.0])])
    gradient = grad(partial(of_values, exp))
    weights = random(3, 3, dtype="float64")
    rows = np.stack([gradient(one, weights) for one in x])
    assert np.isfinite(rows).all()
    np.testing.assert_allclose(vmap(gradient, in_axes=(0, None))(x, weights), rows, 1e-12)
    cotangents = np.stack([weights, 2 * weights])
    of_one = np.asarray(vmap(gradient, in_axes=(None, 0))(np.eye(3), cotangents))
    assert np.isfinite(of_one).all()
    np.testing.assert_allclose(of_one[1], 2 * of_one[0], 1e-12)


def test_derivatives_are_nan_where_first_derivatives_of_factors_do_not_determine_them():
    eye, weights = np.eye(3), random(3, 3, dtype="float64")
    # A vector of equal eigenvalues, which may be any unit vector.
    of_vector = lambda x: total(slice_in_dim(linalg.eigh(x)[0], 0, 1, axis=1))
    assert np.isnan(grad(of_vector)(eye)).any()
    # log(1) is 0, so that the cotangents of the vectors vanish for all weights.
    assert np.isnan(grad(partial(of_values, log))(eye, weights)).any()
    # A tangent that rotates vectors of equal values; it moves the third one by its own part.
    x, dx = np.diag([1.0, 1.0, 2.0]), np.ones((3, 3))
    _, (dv, dw) = jvp(linalg.eigh, (x,), (dx,))
    assert np.isnan(dv)[:, :2].all()
    np.testing.assert_allclose(np.asarray(dv)[:, 2], [1, 1, 0])
    assert np.isfinite(dw).all()


def test_tangents_that_rotate_no_equal_vectors_are_finite():
    x, dx = np.diag([1.0, 1.0, 2.0]), np.diag([1.0, 2.0, 3.0])
    (_, _), (dv, dw) = jvp(linalg.eigh, (x,), (dx,))
    np.testing.assert_array_equal(dv, np.zeros((3, 3)))
    np.testing.assert_array_equal(dw, [1, 2, 3])
    _, (du, ds, dvh) = jvp(linalg.svd, (x,), (dx,))
    assert np.isfinite(du).all() and np.isfinite(dvh).all() and np.isfinite(ds).all()


def test_eigenvectors_of_diagonalizable_matrices_with_equal_eigenvalues():
    x = np.diag([1.0, 1.0, 3.0])
    dx = np.zeros((3, 3))
    dx[0, 2] = 1.0
    eig = partial(linalg.eig, compute_left_eigenvectors=False, enable_eigvec_derivs=True)
    _, (dw, dv) = jvp(eig, (x,), (dx,))
    assert np.isfinite(dv).all()
    np.testing.assert_allclose(np.asarray(dv)[0, 2], 0.5)
    np.testing.assert_allclose(dw, 0)
