"""Derivatives of determinants of matrices of any rank, beside exact minors."""

from itertools import product

import numpy as np
import pytest

import ricci_numpy as jnp
from ricci_autodiff import grad, jvp
from ricci_batching import vmap
from ricci_ir import enable_x64


def minor(a, rows, columns):
    kept = np.delete(np.delete(a, rows, 0), columns, 1)
    return np.linalg.det(kept) if kept.size else 1


def cofactors(a):
    size = len(a)
    entries = [(-1) ** (i + j) * minor(a, [i], [j]) for i, j in np.ndindex(size, size)]
    return np.reshape(entries, (size, size))


def cofactor_tangents(a, t):
    """The derivatives of the cofactors in the direction ``t``, from minors without two rows."""
    size = len(a)
    result = np.zeros(a.shape, np.result_type(a, t))
    for i, j, k, m in product(range(size), repeat=4):
        if i != k and j != m:
            sign = (-1) ** (i + j + k + m + (i > k) + (j > m))
            result[i, j] += sign * minor(a, [i, k], [j, m]) * t[k, m]
    return result


def matrices(size, dtype):
    """Matrices of full rank and of one and two less, with zeros at all places of the pivots."""
    rng = np.random.default_rng(5)

    def numbers(*shape):
        x = rng.integers(-3, 4, shape).astype(dtype)
        return x + 1j * rng.integers(-3, 4, shape) if np.iscomplexobj(x) else x

    products = [numbers(size, rank) @ numbers(rank, size) for rank in (size - 1, max(size - 2, 0))]
    without_columns = [numbers(size, size), numbers(size, size)]
    without_columns[0][:, :1] = 0
    without_columns[1][:, :2] = 0
    diagonal = np.arange(size)
    return np.stack(
        [
            numbers(size, size) + 9 * np.eye(size),
            *products,
            *without_columns,
            np.eye(size, k=1),
            np.diag(diagonal),
            np.diag(diagonal[::-1]),
            np.diag(np.maximum(diagonal - 1, 0)),
            np.zeros((size, size)),
        ]
    ).astype(dtype)


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("size", "dtype"),
    [*((size, "float64") for size in range(1, 7)), (3, "complex128"), (5, "complex128")],
)
def test_derivatives_of_determinants_are_cofactors_at_any_rank(size, dtype, backend):
    a = matrices(size, dtype)
    t = matrices(size, dtype)[::-1]
    with enable_x64(True):
        total = lambda a: jnp.linalg.det(a).sum().real
        first, second = jvp(grad(total), (a,), (t,))
    # The derivative of the real part of a function of complex numbers is the conjugate's.
    expected = np.array([cofactors(x) for x in a])
    tangents = np.array([cofactor_tangents(x, y) for x, y in zip(a, t, strict=True)])
    scale = np.abs(expected).max() + 1
    np.testing.assert_allclose(first, expected, atol=1e-13 * scale)
    np.testing.assert_allclose(second, tangents, atol=1e-12 * (np.abs(tangents).max() + 1))


@pytest.mark.parametrize("size", [2, 3, 4, 6])
def test_gradients_of_mapped_singular_determinants_are_cofactors(size, backend):
    a = matrices(size, "float32")
    expected = np.array([cofactors(x.astype(float)) for x in a])
    mapped = vmap(grad(jnp.linalg.det))(a)
    np.testing.assert_allclose(mapped, expected, atol=3e-5 * (np.abs(expected).max() + 1))


def test_determinants_of_singular_matrices_are_zero_beside_their_derivatives(backend):
    a = np.eye(5, k=1, dtype=np.float32)
    value, change = jvp(jnp.linalg.det, (a,), (np.eye(5, k=-4, dtype=np.float32),))
    assert float(value) == 0
    assert float(change) == pytest.approx(1, rel=1e-5)


@pytest.mark.parametrize(("size", "dtype"), [(4, "float32"), (6, "float64"), (5, "complex128")])
def test_second_derivatives_are_right_where_rounding_leaves_an_early_pivot(size, dtype, backend):
    rng = np.random.default_rng(3)
    a, t = (rng.normal(size=(2, size, size)) for _ in range(2))
    if dtype == "complex128":
        a = a + 1j * t
    # A column that is a combination of those before it has a pivot of zero but for rounding.
    a[:, :, 2] = 0.7 * a[:, :, 0] + a[:, :, 1] / 3
    a, t = a.astype(dtype), t.astype(dtype)
    with enable_x64(dtype != "float32"):
        first, second = jvp(grad(lambda a: jnp.linalg.det(a).sum().real), (a,), (t,))
    tangents = np.array([cofactor_tangents(*xs) for xs in zip(a.astype("c16"), t, strict=True)])
    scale = np.abs(tangents).max() * np.finfo(dtype).eps
    expected = np.array([cofactors(x.astype("c16")) for x in a])
    np.testing.assert_allclose(first, expected, atol=200 * scale)
    np.testing.assert_allclose(second, tangents, atol=200 * scale)
