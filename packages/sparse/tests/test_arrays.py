"""Sparse arrays as containers: layouts, operators, derivatives, batches, solvers, errors."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_autodiff import grad as dense_grad
from ricci_batching import vmap
from ricci_ir import ConcretizationTypeError, clear_caches, enable_x64, make_jaxpr, use_backend
from ricci_pytree import tree_flatten, tree_map, tree_unflatten
from ricci_reference import reference_backend
from ricci_sparse import (
    BCOO,
    BCSR,
    COO,
    CSC,
    CSR,
    JAXSparse,
    SparseEfficiencyError,
    SparseEfficiencyWarning,
    bcoo_concatenate,
    bcoo_dynamic_slice,
    bcoo_update_layout,
    empty,
    eye,
    grad,
    jacfwd,
    jacrev,
    sparsify,
    value_and_grad,
)
from ricci_sparse.linalg import lobpcg_standard, spsolve
from ricci_sparse.linalg._spsolve import _for_cusolver
from ricci_xla import jit

STACK = np.where(np.arange(24) % 3 == 1, np.arange(24), 0).astype(np.float32).reshape(2, 3, 4)
LAYOUTS = [(b, d) for b in range(4) for d in range(4 - b)]


@pytest.fixture
def reference():
    with use_backend(reference_backend):
        yield


def assert_same(x, y):
    np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=1e-6)


@pytest.mark.parametrize(("n_batch", "n_dense"), LAYOUTS)
def test_every_layout_represents_the_dense_array(reference, n_batch, n_dense):
    mat = BCOO.fromdense(STACK, n_batch=n_batch, n_dense=n_dense)
    assert (mat.n_batch, mat.n_dense, mat.shape) == (n_batch, n_dense, STACK.shape)
    assert_same(mat.todense(), STACK)
    assert_same((-mat).todense(), -STACK)
    assert_same(mat.sum_duplicates().todense(), STACK)
    assert_same(mat.sort_indices().todense(), STACK)
    assert_same((mat * STACK).todense(), STACK**2)
    assert_same(bcoo_dynamic_slice(mat, (1, 0, 2), (1, 2, 2)).todense(), STACK[1:, :2, 2:])
    for batch, dense in LAYOUTS:
        other = bcoo_update_layout(mat, n_batch=batch, n_dense=dense, on_inefficient=None)
        assert (other.n_batch, other.n_dense) == (batch, dense)
        assert_same(other.todense(), STACK)


def test_inefficient_layouts_raise_or_warn(reference):
    mat = BCOO.fromdense(STACK)
    with pytest.raises(SparseEfficiencyError, match="on_inefficient"):
        mat.update_layout(n_batch=1)
    with pytest.warns(SparseEfficiencyWarning, match="n_dense from 0 to 1"):
        mat.update_layout(n_dense=1, on_inefficient="warn")


@pytest.mark.parametrize("kind", ["bcoo", "bcsr", "coo", "csr", "csc"])
def test_formats_are_pytrees(reference, kind):
    mat = empty((2, 3), sparse_format=kind)
    assert_same(mat.todense(), np.zeros((2, 3)))
    parts, tree = tree_flatten(mat)
    again = tree_unflatten(tree, parts)
    assert type(again) is type(mat) and isinstance(again, JAXSparse) and again.shape == (2, 3)
    # Transformations put other objects than arrays into containers.
    assert "object" in repr(tree_unflatten(tree, [object()] * len(parts)))
    with pytest.raises(TypeError, match="unhashable"):
        hash(mat)


@pytest.mark.parametrize("kind", ["bcoo", "coo", "csr", "csc"])
@pytest.mark.parametrize(("shape", "k"), [((3, 3), 0), ((3, 5), 1), ((4, 2), -2), ((2, 2), 7)])
def test_eye_has_ones_on_the_diagonal(reference, kind, shape, k):
    assert_same(eye(*shape, k, sparse_format=kind).todense(), np.eye(*shape, k))


@pytest.mark.parametrize("cls", [BCOO, BCSR, COO, CSR, CSC])
def test_a_traced_array_needs_the_number_of_elements(reference, cls):
    with pytest.raises(ConcretizationTypeError, match="Pass nse"):
        make_jaxpr(lambda x: cls.fromdense(x).data)(STACK[0])
    jaxpr = make_jaxpr(lambda x: cls.fromdense(x, nse=5).todense())(STACK[0])
    assert jaxpr.out_avals[0].shape == (3, 4)


def test_jaxprs_show_sparse_operations_by_name(reference):
    mat = BCOO.fromdense(STACK[0])
    text = str(make_jaxpr(lambda m, v: m @ v)(mat, np.ones(4, np.float32)))
    assert "bcoo_dot_general[" in text and "shape=(3, 4), indices_sorted=True" in text
    assert "bcoo_transpose" in str(make_jaxpr(lambda m: m.T.sort_indices())(mat))


def test_padding_stays_padding_in_a_concatenation(reference):
    padded = BCOO((np.float32([1, 5]), np.int32([[0], [2]])), shape=(2,))
    assert_same(bcoo_concatenate([padded, padded], dimension=0).todense(), [1, 0, 1, 0])


@pytest.mark.parametrize("wide", [False, True])
def test_jit_and_vmap_agree_with_eager_after_clear_caches(wide):
    with enable_x64(wide):
        dense = STACK.astype(float)
        mats = BCOO.fromdense(dense, n_batch=1)
        assert mats.dtype == ("float64" if wide else "float32") and mats.indices.dtype == "int32"

        def program(mats, v):
            found = vmap(lambda m: m)(mats)
            return found, vmap(lambda m, x: m @ x)(mats, v), vmap(lambda m: m.todense())(mats)

        for apply in (program, jit(program)):
            found, products, whole = apply(mats, np.ones((2, 4), found_dtype(wide)))
            assert (found.shape, found.n_batch) == ((2, 3, 4), 1)
            assert_same(products, dense.sum(2))
            assert_same(whole, dense)
        clear_caches()
        assert_same(jit(lambda m: sparsify(jnp.sin)(m).todense())(mats), np.sin(dense))


def found_dtype(wide):
    return np.float64 if wide else np.float32


def test_vmap_maps_over_batches_alone(reference):
    with pytest.raises(ValueError, match="0 batch dimensions"):
        vmap(lambda m: m.todense())(BCOO.fromdense(STACK))
    of_two = BCOO.fromdense(STACK, n_batch=2)
    assert_same(vmap(lambda m: m.todense(), in_axes=1)(of_two), STACK.swapaxes(0, 1))
    assert vmap(lambda m: m, out_axes=1)(of_two).shape == (3, 2, 4)


def test_derivatives_by_a_sparse_array_are_those_at_its_indices(reference):
    mat, v = BCOO.fromdense(STACK[0]), np.arange(4, dtype=np.float32)
    rows, columns = np.asarray(mat.indices).T

    def loss(m, v):
        return jnp.sum((m @ v) ** 2)

    def expected(m, v):
        return 2 * np.outer(m @ v, v)[rows, columns], 2 * m.T @ (m @ v)

    of_m, of_v = grad(loss, argnums=(0, 1))(mat, v)
    assert isinstance(of_m, BCOO)
    assert_same(of_m.data, expected(STACK[0], v)[0])
    assert_same(of_v, expected(STACK[0], v)[1])
    (value, aux), nested = value_and_grad(lambda d: (loss(d["m"], v), 7), has_aux=True)({"m": mat})
    assert aux == 7 and isinstance(nested["m"], BCOO)
    assert_same(value, np.sum((STACK[0] @ v) ** 2))
    for jacobian in (jacfwd, jacrev):
        found = jacobian(lambda m: m @ v)(mat)
        assert (found.shape, found.n_batch) == ((3, 3, 4), 1)
        assert_same(found.todense()[1, 1], np.where(STACK[0][1] != 0, v, 0))
    second = dense_grad(lambda v: jnp.sum(grad(loss)(mat, v).data))(v)
    assert second.shape == (4,)
    with pytest.raises(TypeError, match="int32"):
        grad(lambda m: loss(m, v))(tree_map(lambda x: x.astype(np.int32), mat))


def test_solvers_agree_with_dense_ones():
    dense = np.float32([[4, 1, 0], [1, 3, 0], [0, 0, 2]])
    A, b = BCSR.fromdense(dense), np.float32([1, 2, 3])

    def solve(data, b):
        return spsolve(data, A.indices, A.indptr, b)

    assert_same(solve(A.data, b), np.linalg.solve(dense, b))
    of_data, of_b = jit(dense_grad(lambda d, b: solve(d, b)[0], argnums=(0, 1)))(A.data, b)
    adjoint, x = np.linalg.inv(dense)[0], np.linalg.solve(dense, b)
    rows, columns = np.nonzero(dense)
    np.testing.assert_allclose(of_b, adjoint, rtol=1e-5)
    np.testing.assert_allclose(of_data, -np.outer(adjoint, x)[rows, columns], rtol=1e-4, atol=1e-7)
    with pytest.raises(ValueError, match="must have the same dtype"):
        spsolve(A.data, A.indices, A.indptr, b.astype(np.int32))

    diagonal = np.arange(1, 31, dtype=np.float32)
    X = np.random.default_rng(0).normal(size=(30, 3)).astype(np.float32)
    theta, vectors, steps = lobpcg_standard(BCOO.fromdense(np.diag(diagonal)), X)
    np.testing.assert_allclose(theta, [30, 29, 28], rtol=1e-4)
    np.testing.assert_allclose(
        np.abs(np.asarray(vectors).T @ np.eye(30)[:, :-4:-1]), np.eye(3), atol=1e-2
    )
    assert 0 < int(steps) < 100
    with pytest.raises(ValueError, match="5 times the number of columns"):
        lobpcg_standard(np.eye(9, dtype=np.float32), X[:9])


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("dtype", [np.int32, np.int16])
def test_cusolver_takes_the_rows_of_the_matrix_or_its_transpose(transpose, dtype):
    dense = np.float32([[0, 2, 0, 5], [1, 0, 3, 0], [0, 0, 0, 0], [7, 4, 0, 6]])
    matrix = csr_matrix(dense)
    parts = matrix.data, matrix.indices.astype(dtype), matrix.indptr.astype(dtype)
    for function in (_for_cusolver, jit(_for_cusolver, static_argnames="transpose")):
        data, indices, indptr = function(*map(jnp.asarray, parts), transpose=transpose)
        assert indices.dtype == indptr.dtype == np.int32
        expected = (matrix.T if transpose else matrix).tocsr()
        for actual, wanted in zip(
            (data, indices, indptr), (expected.data, expected.indices, expected.indptr), strict=True
        ):
            np.testing.assert_array_equal(actual, wanted)


@pytest.mark.parametrize(
    ("parts", "shape"),
    [
        ((np.ones(3), np.zeros((2, 2), int)), (3, 4)),
        ((np.ones(3), np.zeros((3, 3), int)), (3, 4)),
        ((np.ones((2, 3)), np.zeros((3, 2), int)), (3, 4)),
        ((np.ones((3, 5)), np.zeros((3, 1), int)), (3, 4)),
        ((np.ones(3), np.zeros(3, int)), (3,)),
    ],
)
def test_parts_of_wrong_shape_are_named(reference, parts, shape):
    with pytest.raises(ValueError, match="BCOO: .*shape"):
        BCOO(parts, shape=shape)
    assert lax.add(1, 1) == 2
