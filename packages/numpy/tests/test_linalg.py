"""Linear algebra: types, errors and derivatives as JAX's, values as NumPy's."""

import json
from pathlib import Path

import numpy as np
import pytest

import ricci_numpy as jnp
from ricci_autodiff import grad
from ricci_batching import vmap

RECORDED = json.loads((Path(__file__).parent / "data" / "linalg_gradients.json").read_text())


def _inputs() -> dict[str, np.ndarray]:
    """Inputs of all tests: tall, square, positive definite, Hermitian, complex, batched."""
    random = np.random.RandomState(0)
    normal = lambda *shape: random.randn(*shape).astype(np.float32)
    tall, square, batch = normal(4, 3), normal(4, 4), normal(2, 3, 3)
    complex_ = (normal(3, 3) + 1j * normal(3, 3)).astype(np.complex64)
    return {
        "T": tall,
        "S": square,
        "B": batch,
        "C": complex_,
        "P": tall.T @ tall + np.eye(3, dtype=np.float32),
        "H": complex_ + complex_.conj().T,
        "V": normal(4),
        "W": normal(4, 2),
        "N": np.arange(9, dtype=np.int32).reshape(3, 3) % 5,
        "R": np.array([[1, 2, 3], [2, 4, 6], [1, 0, 1]], np.float32),
    }


INPUTS = _inputs()

SAME = """
cholesky(P) | eigvalsh(H) | eigvalsh(P) | inv(S) | inv(B) | inv(C) | inv(N + 5 * np.eye(3))
det(S) | det(B) | det(C) | det(N) | det(B[:, :2, :2]) | det(B[:, :1, :1]) | det(np.zeros((0, 0)))
slogdet(S) | slogdet(C) | slogdet(B[:, :2, :2]) | slogdet(N) | slogdet(0 * B)
solve(S, V) | solve(S, W) | solve(C, C) | solve(B, B) | solve(B, T[:3, :2]) | solve(P, B)
lstsq(T, V, None)[0] | lstsq(T, W, None) | lstsq(S, V, None)[::2] | pinv(T) | pinv(T.T) | pinv(B)
pinv(H, hermitian=True) | pinv(R, 1e-3) | tensorinv(S.reshape(4, 2, 2), 1) | svdvals(B)
tensorsolve(S.reshape(2, 2, 4), S[:2, :2]) | tensorsolve(S.reshape(4, 2, 2), S[:2, :2], axes=(0,))
matrix_power(N, 0) | matrix_power(N, 3) | matrix_power(S, 5) | matrix_power(B, -2)
matrix_rank(T) | matrix_rank(R) | matrix_rank(B) | matrix_rank(V) | matrix_rank(P, hermitian=True)
cond(T) | cond(B) | cond(S, 1) | cond(S, "fro") | cond(S, "nuc") | cond(S, -2) | cond(C, np.inf)
multi_dot([T, T.T, S, W]) | multi_dot([V, S, V]) | multi_dot([T, T.T]) | multi_dot([V, T, T.T])
norm(T, 2) | norm(T, -2) | norm(T, "nuc") | norm(B, 2, axis=(0, 2)) | norm(C, "nuc") | norm(S, -1)
norm(B, -2, axis=(2, 1), keepdims=True) | matrix_norm(B, ord=2) | matrix_norm(B, ord="nuc")
vector_norm(B, axis=(0, 2), ord=3) | vector_norm(T, ord=0) | vector_norm(T, keepdims=True)
svd(T, compute_uv=False) | svd(H, compute_uv=False, hermitian=True) | qr(T, mode="r") | qr(T)
cross(T[:, :3], T[0]) | outer(V, W[:, 0]) | trace(B, offset=1) | diagonal(B, offset=-1)
matmul(B, P) | tensordot(S, S, axes=1) | vecdot(C, C) | matrix_transpose(B)
"""
CASES = [case.strip() for line in SAME.strip().splitlines() for case in line.split(" | ")]


def _parts(result):
    return result if isinstance(result, tuple) else (result,)


def _evaluate(expression, library, names):
    return eval(f"linalg.{expression}", {"linalg": library.linalg, "np": np, **names})


def test_types_are_jaxs(types, outcome):
    name, rows = types
    wrong = []
    for row in rows.splitlines():
        arguments, _, expected = row.rpartition(" -> ")
        found = outcome(f"jnp.{name}({arguments})".replace("L.", "jnp.linalg."))
        if expected not in (found if isinstance(found, list) else [found]):
            wrong.append(f"{name}({arguments}) gives {found}, not {expected}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.sampled(15)
@pytest.mark.parametrize("expression", CASES)
def test_value_is_numpys(expression, backend):
    found = _evaluate(expression, jnp, {k: jnp.asarray(v) for k, v in INPUTS.items()})
    with np.errstate(divide="ignore"):
        expected = _evaluate(expression, np, INPUTS)
    for ours, theirs in zip(_parts(found), _parts(expected), strict=True):
        assert ours.shape == np.shape(theirs)
        np.testing.assert_allclose(ours, theirs, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize(
    ("name", "product"),
    [
        ("eigh(H)", lambda x, r: (x @ r.eigenvectors, r.eigenvectors * r.eigenvalues)),
        ("eigh(H, 'U')", lambda x, r: (x @ r.eigenvectors, r.eigenvectors * r.eigenvalues)),
        ("eig(C)", lambda x, r: (x @ r.eigenvectors, r.eigenvectors * r.eigenvalues)),
        ("qr(C)", lambda x, r: (x, r.Q @ r.R)),
        ("qr(T, 'complete')", lambda x, r: (x, r.Q @ r.R)),
        ("svd(C)", lambda x, r: (x, r.U * r.S @ r.Vh)),
        ("svd(T, full_matrices=False)", lambda x, r: (x, r.U * r.S @ r.Vh)),
        ("svd(H, hermitian=True)", lambda x, r: (x, r.U * r.S @ r.Vh)),
        ("cholesky(P, upper=True)", lambda x, r: (x, jnp.conj(r.T) @ r)),
    ],
)
def test_decomposition_gives_the_matrix_back(name, product, backend):
    x = jnp.asarray(INPUTS[name.partition("(")[2][0]])
    result = _evaluate(name, jnp, {k: jnp.asarray(v) for k, v in INPUTS.items()})
    left, right = product(x, result)
    np.testing.assert_allclose(left, right, rtol=1e-4, atol=1e-4)


def test_a_raw_factorisation_is_the_transpose_of_lapacks(backend):
    reflectors, factors = jnp.linalg.qr(jnp.asarray(INPUTS["T"]), "raw")
    assert (reflectors.shape, factors.shape) == ((3, 4), (3,))
    r = jnp.linalg.qr(jnp.asarray(INPUTS["T"]), "r")
    np.testing.assert_allclose(np.triu(np.asarray(reflectors).T[:3]), r, rtol=1e-5)


@pytest.mark.parametrize("name", ["EigResult", "EighResult", "QRResult", "SlogdetResult"])
def test_results_are_named_tuples(name, backend):
    function = name.removesuffix("Result").lower()
    assert type(getattr(jnp.linalg, function)(jnp.eye(2))).__name__ == name


def weighted(result):
    """A number that depends on every element of every result."""
    total = 0.0
    for seed, part in enumerate(_parts(result)):
        weights = np.cos(np.arange(part.size, dtype=np.float32) + seed).reshape(part.shape)
        for component in (jnp.real(part), jnp.imag(part)):
            total = total + jnp.sum(component * weights)
    return total


@pytest.mark.sampled(6)
@pytest.mark.parametrize("case", RECORDED, ids=[case["expression"] for case in RECORDED])
def test_derivative_is_jaxs(case, backend):
    names = {k: jnp.asarray(v) for k, v in INPUTS.items()}
    fun = lambda x: weighted(_evaluate(case["expression"], jnp, names | {case["by"]: x}))
    found = np.asarray(grad(fun)(names[case["by"]]))
    expected = np.array(case["real"]) + 1j * np.array(case["imag"])
    np.testing.assert_allclose(found, expected, rtol=2e-3, atol=2e-3 * np.abs(expected).max())


@pytest.mark.parametrize(
    "expression",
    ["det(x)", "slogdet(x)", "inv(x)", "solve(x, x[0])", "pinv(x)", "svdvals(x)", "cond(x)"],
)
def test_mapped_equals_batched(expression, backend):
    x = jnp.asarray(INPUTS["B"])
    fun = lambda x: _evaluate(expression, jnp, {"x": x})
    for mapped, one in zip(_parts(vmap(fun)(x)), _parts(fun(x[1])), strict=True):
        np.testing.assert_allclose(mapped[1], one, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("rows", "rank"), [((0, 1, 2, 3), 4), ((0, 1, 2, 2), 3), ((0, 0, 1, 1), 2)]
)
def test_derivative_of_a_singular_determinant_is_the_matrix_of_cofactors(rows, rank, backend):
    x = INPUTS["S"][list(rows)]
    assert np.linalg.matrix_rank(x) == rank
    cofactors = np.zeros((4, 4))
    for i, j in np.ndindex(4, 4):
        minor = np.delete(np.delete(x, i, 0), j, 1)
        cofactors[i, j] = (-1) ** (i + j) * np.linalg.det(minor)
    np.testing.assert_allclose(grad(jnp.linalg.det)(jnp.asarray(x)), cofactors, atol=2e-5)


def test_residuals_as_numpy_gives_them(backend):
    tall, square = jnp.asarray(INPUTS["T"]), jnp.asarray(INPUTS["S"])
    v = jnp.asarray(INPUTS["V"])
    assert jnp.linalg.lstsq(tall, v, numpy_resid=True)[1].shape == (1,)
    assert jnp.linalg.lstsq(square, v, numpy_resid=True)[1].shape == (0,)
    assert jnp.linalg.lstsq(square, v)[1].shape == (1,)
