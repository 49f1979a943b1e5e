"""Products of sparse arrays are those of the dense ones, with their derivatives and batches."""

import numpy as np
import pytest

import ricci_numpy as jnp
from ricci_autodiff import grad, jvp
from ricci_batching import vmap
from ricci_sparse import BCOO, BCSR, COO, CSR, bcoo_dot_general, bcoo_dot_general_sampled
from ricci_xla import jit

RNG = np.random.default_rng(0)
MATRIX = np.where(RNG.random((6, 5)) < 0.4, RNG.normal(size=(6, 5)), 0).astype(np.float32)
STACK = np.where(RNG.random((2, 6, 5)) < 0.4, RNG.normal(size=(2, 6, 5)), 0).astype(np.float32)
# Widths on both sides of the one from which on the kernel for CPUs is used.
FACTORS = [RNG.normal(size=shape).astype(np.float32) for shape in ((5,), (5, 1), (5, 3), (5, 9))]
FORMATS = {
    "BCOO": BCOO.fromdense,
    "unsorted": lambda m: BCOO.fromdense(m.T).T,
    "padded": lambda m: BCOO.fromdense(m, nse=40),
    "BCSR": BCSR.fromdense,
    "COO": COO.fromdense,
    "CSR": CSR.fromdense,
    "CSC": lambda m: CSR.fromdense(m.T).T,
}


def close(x, y):
    np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("x", FACTORS, ids=lambda x: str(x.shape))
def test_products_have_the_derivatives_of_dense_ones(name, x):
    sparse = FORMATS[name](MATRIX)
    weights = RNG.normal(size=(6, *x.shape[1:])).astype(np.float32)

    def loss(x, m=sparse):
        return jnp.sum((m @ x) * weights) + jnp.sum((m @ x) ** 2)

    close(sparse @ x, MATRIX @ x)
    close(jit(loss)(x), loss(x, MATRIX))
    close(jit(grad(loss))(x), grad(lambda x: loss(x, jnp.asarray(MATRIX)))(x))
    close(jvp(lambda x: sparse @ x, (x,), (2 * x,))[1], 2 * MATRIX @ x)


@pytest.mark.parametrize("x", FACTORS, ids=lambda x: str(x.shape))
def test_the_gradient_by_elements_is_that_of_the_dense_matrix_there(x):
    mat = BCOO.fromdense(MATRIX)

    def loss(data):
        return jnp.sum((BCOO((data, mat.indices), shape=mat.shape, indices_sorted=True) @ x) ** 2)

    dense = grad(lambda m: jnp.sum((m @ x) ** 2))(jnp.asarray(MATRIX))
    rows, columns = np.asarray(mat.indices).T
    close(jit(grad(loss))(mat.data), np.asarray(dense)[rows, columns])


@pytest.mark.parametrize("x", [FACTORS[0], FACTORS[3]], ids=lambda x: str(x.shape))
def test_products_of_batches(x):
    batches = np.stack([x, -x, 2 * x])
    mats = BCOO.fromdense(STACK, n_batch=1)
    numbers = (((2,), (0,)), ((), ()))
    one = BCOO.fromdense(MATRIX)
    close(vmap(lambda x: one @ x)(batches), MATRIX @ batches if x.ndim == 2 else batches @ MATRIX.T)
    close(bcoo_dot_general(mats, x, dimension_numbers=numbers), STACK @ x)

    def of_data(data, indices):
        return BCOO((data, indices), shape=mats.shape[1:], indices_sorted=True) @ x

    close(jit(vmap(of_data))(mats.data, mats.indices), STACK @ x)


def test_elements_of_a_row_that_lies_outside_do_not_count():
    # The kernel for CPUs checks no index, so none must reach it.
    indices = np.int32([[0, 0], [0, 99], [1, -7], [5, 4], [99, 0], [6, 5]])
    mat = BCOO((np.ones(6, np.float32), indices), shape=(6, 5), indices_sorted=True)
    x = np.ones((5, 9), np.float32)
    close(mat @ x, np.float32([[1], [0], [0], [0], [0], [1]]) * x[:1])


def test_sampled_products_are_elements_of_the_product():
    a, b = RNG.normal(size=(2, 4, 3)), RNG.normal(size=(2, 3, 5))
    indices = np.int32([[[0, 1], [3, 4]], [[2, 2], [9, 9]]])
    numbers = (((2,), (1,)), ((0,), (0,)))
    found = bcoo_dot_general_sampled(a, b, indices, dimension_numbers=numbers)
    whole = a @ b
    close(found, [[whole[0, 0, 1], whole[0, 3, 4]], [whole[1, 2, 2], 0]])
