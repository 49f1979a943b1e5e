"""Laws of factorizations, matrix functions and solvers."""

import numpy as np
import pytest
import scipy.linalg

import ricci_numpy as jnp
from ricci_autodiff import grad
from ricci_ir import make_jaxpr
from ricci_scipy import linalg
from ricci_scipy.sparse.linalg import bicgstab, cg, gmres

pytest.importorskip("ricci_xla", reason="values are computed by a backend")

A = np.sin(np.arange(16.0, dtype=np.float32) ** 2).reshape(4, 4) + 3 * np.eye(4, dtype=np.float32)
C = (A + 1j * A.T).astype(np.complex64)
TALL = A[:, :3]
B = np.cos(np.arange(4.0, dtype=np.float32))


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-4)


def adjoint(x):
    return jnp.conj(jnp.matrix_transpose(x))


PRODUCTS = {
    "cholesky": lambda a: (
        adjoint(linalg.cholesky(a @ adjoint(a)))
        @ linalg.cholesky(a @ adjoint(a))
        @ jnp.linalg.inv(adjoint(a))
    ),
    "qr": lambda a: jnp.matmul(*linalg.qr(a)),
    "lu": lambda a: jnp.linalg.multi_dot([*linalg.lu(a)]) if not jnp.iscomplexobj(a) else a,
    "polar": lambda a: jnp.matmul(*linalg.polar(a)),
    "schur": lambda a: (lambda t, z: z @ t @ adjoint(z))(*linalg.schur(a)),
    "hessenberg": lambda a: (lambda h, q: q @ h @ adjoint(q))(*linalg.hessenberg(a, calc_q=True)),
    "sqrtm": lambda a: linalg.sqrtm(a) @ linalg.sqrtm(a),
    "svd": lambda a: (lambda u, s, vh: (u * s) @ vh)(*linalg.svd(a)),
}


@pytest.mark.sampled(10)
@pytest.mark.parametrize("matrix", [A, C], ids=["real", "complex"])
@pytest.mark.parametrize("name", PRODUCTS)
def test_factors_multiply_to_the_matrix(name, matrix):
    close(PRODUCTS[name](jnp.asarray(matrix)), matrix)


def test_complex_schur_form_of_a_real_matrix_is_triangular():
    t, z = linalg.rsf2csf(*linalg.schur(A))
    close(z @ t @ adjoint(z), A)
    assert not np.tril(t, -1).any()


def test_exponential_is_the_power_series():
    small = A / 8
    terms, total = np.eye(4), np.eye(4)
    for k in range(1, 20):
        terms = terms @ small / k
        total = total + terms
    close(linalg.expm(small), total)


def test_exponential_of_a_matrix_that_needs_many_squarings():
    w, v = np.linalg.eigh((A + A.T).astype(np.float64) * 4)
    expected = (v * np.exp(w)) @ v.T
    found = linalg.expm((A + A.T) * 4)
    np.testing.assert_allclose(
        found / np.abs(expected).max(), expected / np.abs(expected).max(), atol=1e-4
    )


def test_function_of_a_matrix_by_name_is_the_one_by_eigenvalues():
    close(linalg.funm(A / 4, jnp.exp), linalg.expm(A / 4))


@pytest.mark.parametrize("method", ["schur", "eigen"])
def test_sylvester_equation_holds(method):
    x = linalg.solve_sylvester(A, A.T, TALL @ TALL.T, method=method)
    close(A @ x + x @ A.T, TALL @ TALL.T)


MATRIX_FUNCTIONS = {
    "expm": linalg.expm,
    "funm": lambda a: linalg.funm(a, lambda x: jnp.exp(x), disp=False)[0],
    "polar": linalg.polar,
    "rsf2csf": lambda a: linalg.rsf2csf(a, a),
    "sqrtm": linalg.sqrtm,
    "solve_sylvester schur": lambda a: linalg.solve_sylvester(a, a, a, method="schur"),
    "solve_sylvester eigen": lambda a: linalg.solve_sylvester(a, a, a, method="eigen"),
}


@pytest.mark.parametrize("name", MATRIX_FUNCTIONS)
def test_matrix_functions_multiply_at_the_highest_precision(name):
    """An accelerator otherwise rounds the operands of products to bfloat16 or TF32."""
    text = str(make_jaxpr(MATRIX_FUNCTIONS[name])(A))
    assert "dot_general" in text
    assert text.count("dot_general[") == text.count("precision=(Precision.HIGHEST")


@pytest.mark.parametrize("solver", [cg, bicgstab, gmres])
def test_iterative_solvers_solve_and_differentiate_as_the_inverse(solver):
    matrix = jnp.asarray(A @ A.T)
    close(matrix @ solver(matrix, B, tol=1e-7)[0], B)
    found = grad(lambda b: solver(matrix, b, tol=1e-7)[0].sum())(B)
    close(found, np.linalg.solve(A @ A.T, np.ones(4)))


def test_iterative_solvers_take_pytrees():
    b = {"u": jnp.ones(3), "v": jnp.ones((2, 2))}
    x, _ = gmres(lambda t: {"u": 2 * t["u"] + t["v"].sum(), "v": 4 * t["v"]}, b)
    close(x["v"], np.full((2, 2), 0.25))
    close(x["u"], np.zeros(3))


@pytest.mark.parametrize("kind", [1, 2, 3])
@pytest.mark.parametrize("matrix", [A, C], ids=["real", "complex"])
def test_generalised_eigenvectors_solve_their_problem(matrix, kind):
    a = matrix + np.conj(matrix.T)
    b = matrix @ np.conj(matrix.T)
    w, v = linalg.eigh(a, b, type=kind)
    close(linalg.eigh(a, b, type=kind, eigvals_only=True), w)
    assert (np.diff(w) >= 0).all()
    left, right = {1: (a @ v, b @ v * w), 2: (a @ b @ v, v * w), 3: (b @ a @ v, v * w)}[kind]
    np.testing.assert_allclose(left, right, rtol=1e-3, atol=1e-3 * np.abs(left).max())
    metric = np.linalg.inv(b) if kind == 3 else b
    close(adjoint(v) @ metric @ v, np.eye(4))


def test_generalised_problems_broadcast_and_differentiate():
    a, b = A + A.T, A @ A.T
    w, v = linalg.eigh(np.stack([a, 2 * a]), b)
    assert v.shape == (2, 4, 4)
    close(w[1], 2 * w[0])
    # The sum of the eigenvalues is the trace of b⁻¹ a.
    slope = grad(lambda a: linalg.eigh(a, b, eigvals_only=True).sum())(jnp.asarray(a))
    close(slope, np.linalg.inv(b))


def test_indefinite_metric_gives_nan():
    assert np.isnan(linalg.eigh(A + A.T, -np.eye(4, dtype=np.float32))[0]).all()


REFUSED = [
    (lambda: linalg.solve_triangular(A, B[:3]), ValueError, "rows"),
    (lambda: linalg.solve_triangular(A, B, trans="X"), ValueError, "trans"),
    (lambda: linalg.qr(A, mode="x"), ValueError, "mode"),
    (lambda: linalg.eigh(A, A, eigvals=(0, 1)), NotImplementedError, "eigvals"),
    (lambda: linalg.eigh(A, A, type=4), ValueError, "type must be 1, 2 or 3, got 4"),
    (lambda: linalg.eigh(A, A[:2, :2]), ValueError, "square matrices of one size"),
    (lambda: linalg.expm(TALL), ValueError, "square"),
    (lambda: linalg.polar(TALL, "left"), NotImplementedError, "svd"),
    (lambda: linalg.block_diag(np.ones((1, 1, 1))), ValueError, "rank"),
    (lambda: cg(3, B), TypeError, "function or a matrix"),
    (lambda: cg(A, B, x0=B[:2]), ValueError, "x0"),
    (lambda: gmres(A, B, restart=0), ValueError, "restart"),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSED)
def test_invalid_arguments_raise(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("kind", ["general", "lower", "hessenberg", "ones", "complex"])
def test_rsf2csf_of_matrices_not_in_schur_form_is_scipys(kind):
    general = np.random.RandomState(0).randn(4, 4)
    matrix = {
        "general": general,
        "lower": np.tril(general),
        "hessenberg": np.triu(general, -1),
        "ones": np.ones((3, 3)),
        "complex": general + 1j * general.T,
    }[kind]
    matrix = matrix.astype(np.complex64 if kind == "complex" else np.float32)
    basis = np.eye(len(matrix), dtype=matrix.dtype)
    for ours, theirs in zip(
        linalg.rsf2csf(matrix, basis), scipy.linalg.rsf2csf(matrix, basis), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, atol=1e-3)


class _Twice:
    """An operator with a product, and with a shape or without one."""

    def __init__(self, shape=None):
        if shape is not None:
            self.shape = shape

    def __matmul__(self, x):
        return 2.0 * x


@pytest.mark.parametrize("solver", [cg, bicgstab, gmres])
@pytest.mark.parametrize("shape", [None, (3, 3)])
def test_solvers_accept_objects_with_a_matrix_product(solver, shape):
    b = np.float32([1.0, 2.0, 3.0])
    np.testing.assert_allclose(solver(_Twice(shape), b)[0], b / 2, rtol=1e-5)
    eye = np.eye(3, dtype=np.float32)
    np.testing.assert_allclose(solver(eye, b, M=_Twice(shape))[0], b, rtol=1e-5)


@pytest.mark.parametrize("solver", [cg, bicgstab, gmres])
def test_solvers_refuse_operators_that_are_not_square_matrices(solver):
    b = np.ones(3, np.float32)
    with pytest.raises(ValueError, match="square"):
        solver(_Twice((3, 2)), b)
    with pytest.raises(TypeError, match="function or a matrix"):
        solver([[2.0, 0.0], [0.0, 2.0]], b)
