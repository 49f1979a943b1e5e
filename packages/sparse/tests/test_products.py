"""Products of sparse arrays are those of the dense ones, with their derivatives and batches."""

import numpy as np
import pytest

import ricci_numpy as jnp
from ricci_autodiff import grad, value_and_grad
from ricci_batching import vmap
from ricci_ir import use_backend
from ricci_pytree import tree_flatten, tree_unflatten
from ricci_reference import reference_backend
from ricci_sparse import BCOO, BCSR, COO, CSC, CSR, bcoo_dot_general, bcoo_dot_general_sampled
from ricci_xla import jit

RNG = np.random.default_rng(0)
MATRIX = np.where(RNG.random((6, 5)) < 0.4, RNG.normal(size=(6, 5)), 0).astype(np.float32)
STACK = np.where(RNG.random((2, 6, 5)) < 0.4, RNG.normal(size=(2, 6, 5)), 0).astype(np.float32)
# Widths for which a scatter, the kernel for CPUs, and sorting before it are used.
FACTORS = [RNG.normal(size=shape).astype(np.float32) for shape in ((5,), (5, 3), (5, 33))]
WEIGHTS = [RNG.normal(size=(6, *x.shape[1:])).astype(np.float32) for x in FACTORS]
FORMATS = {
    "BCOO": BCOO.fromdense,
    "unsorted": lambda m: BCOO.fromdense(m.T).T,
    "padded": lambda m: BCOO.fromdense(m, nse=40),
    "BCSR": BCSR.fromdense,
    "COO": COO.fromdense,
    "CSR": CSR.fromdense,
    "CSC": lambda m: CSR.fromdense(m.T).T,
    "COO by columns": lambda m: COO.fromdense(m.T, nse=40).T,
    "CSR transposed": lambda m: CSC.fromdense(m.T, nse=40).T,
}
NUMBERS = (((1,), (0,)), ((), ()))


def close(x, y):
    np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=1e-5, atol=1e-5)


def losses(mat, xs):
    """A number for each factor; its gradient has two terms, of which one depends on the factor."""
    return [
        jnp.sum((mat @ x) * w) + jnp.sum((mat @ x) ** 2) for x, w in zip(xs, WEIGHTS, strict=True)
    ]


def check(mat, programs=lambda f: f):
    found = programs(lambda xs: [mat @ x for x in xs])(FACTORS)
    for y, x in zip(found, FACTORS, strict=True):
        close(y, MATRIX @ x)
    gradients = programs(grad(lambda xs: sum(losses(mat, xs))))(FACTORS)
    for y, x, w in zip(gradients, FACTORS, WEIGHTS, strict=True):
        close(y, MATRIX.T @ (w + 2 * MATRIX @ x))


@pytest.mark.parametrize("name", ["BCOO", "unsorted", "BCSR", "CSR transposed"])
def test_compiled_products_have_the_gradients_of_dense_ones(name):
    check(FORMATS[name](MATRIX), jit)


@pytest.mark.parametrize("name", FORMATS)
def test_products_without_a_compiler_have_the_gradients_of_dense_ones(name):
    with use_backend(reference_backend):
        check(FORMATS[name](MATRIX))


def test_the_gradient_by_elements_is_the_dense_gradient_at_their_indices():
    mat = BCOO.fromdense(MATRIX)

    def of_data(data):
        return BCOO((data, mat.indices), shape=mat.shape, indices_sorted=True)

    values = [jit(grad(lambda d, i=i: losses(of_data(d), FACTORS)[i])) for i in range(3)]
    rows, columns = np.asarray(mat.indices).T
    for i, (x, w) in enumerate(zip(FACTORS, WEIGHTS, strict=True)):
        outer = (w + 2 * MATRIX @ x).reshape(6, -1) @ x.reshape(5, -1).T
        close(values[i](mat.data), outer[rows, columns])


def test_a_batch_of_matrices_is_one_product():
    mats, x = BCOO.fromdense(STACK, n_batch=1), FACTORS[2]
    numbers = (((2,), (0,)), ((), ()))

    def of_data(data, indices, x):
        return BCOO((data, indices), shape=mats.shape[1:], indices_sorted=True) @ x

    def everything(data, indices, xs):
        whole = bcoo_dot_general(mats, x, dimension_numbers=numbers)
        return (
            whole,
            vmap(of_data)(data, indices, xs),
            vmap(lambda x: of_data(data[0], indices[0], x))(xs),
        )

    both = np.stack([x, 2 * x])
    whole, each, of_one = jit(everything)(mats.data, mats.indices, both)
    close(whole, STACK @ x)
    close(each, STACK @ both)
    close(of_one, STACK[0] @ both)


def test_elements_out_of_bounds_count_as_zero():
    # The kernel for CPUs does not check indices, so none out of bounds may reach it.
    indices = np.int32([[0, 0], [0, 99], [1, -7], [5, 4], [99, 0], [6, 5]])
    x = np.ones((5, 9), np.float32)
    mat = BCOO((np.ones(6, np.float32), indices), shape=(6, 5), indices_sorted=True)
    close(mat @ x, np.float32([[1], [0], [0], [0], [0], [1]]) * x[:1])
    indptr = np.int32([0, 2, 3, 4, 99, -5, 7])
    rows = BCSR((np.ones(6, np.float32), indices[:, 1], indptr), shape=(6, 5))
    assert np.isfinite(np.asarray(rows @ x)).all()


def test_sampled_products_are_elements_of_the_product():
    a, b = RNG.normal(size=(2, 4, 3)), RNG.normal(size=(2, 3, 5))
    indices = np.int32([[[0, 1], [3, 4]], [[2, 2], [9, 9]]])
    numbers = (((2,), (1,)), ((0,), (0,)))
    with use_backend(reference_backend):
        found = bcoo_dot_general_sampled(a, b, indices, dimension_numbers=numbers)
    whole = a @ b
    close(found, [[whole[0, 0, 1], whole[0, 3, 4]], [whole[1, 2, 2], 0]])


def test_errors_name_the_shapes_and_dimensions():
    mat = BCOO.fromdense(MATRIX)
    with pytest.raises(TypeError, match=r"contracting dimensions.*got \(5,\) and \(6,\)"):
        bcoo_dot_general(mat, np.ones(6, np.float32), dimension_numbers=NUMBERS)
    with pytest.raises(NotImplementedError, match="batch dimensions"):
        bcoo_dot_general(mat, MATRIX, dimension_numbers=(((1,), (1,)), ((0,), (0,))))
    value, _ = value_and_grad(lambda x: jnp.sum(mat @ x))(FACTORS[0])
    close(value, (MATRIX @ FACTORS[0]).sum())


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("form", [COO, CSR, CSC])
def test_batches_of_padded_matrices_have_the_gradients_of_dense_ones(form, transposed):
    matrices = [form.fromdense(m, nse=20) for m in STACK]
    parts, structure = zip(*map(tree_flatten, matrices), strict=True)
    stacked = [jnp.stack(arrays) for arrays in zip(*parts, strict=True)]
    dense = STACK.transpose(0, 2, 1) if transposed else STACK
    x = RNG.normal(size=(2, dense.shape[2], 3)).astype(np.float32)

    def product(arrays, x):
        matrix = tree_unflatten(structure[0], arrays)
        return (matrix.T if transposed else matrix) @ x

    close(jit(vmap(product))(stacked, x), dense @ x)
    gradient = grad(lambda x, arrays: jnp.sum(product(arrays, x) ** 2))
    close(jit(vmap(gradient))(x, stacked), 2 * dense.transpose(0, 2, 1) @ (dense @ x))
