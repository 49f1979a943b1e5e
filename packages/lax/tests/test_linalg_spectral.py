"""QR decompositions, eigenvalues of Hermitian matrices, singular values, polar decompositions."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ricci_autodiff import jvp, vjp
from ricci_batching import vmap
from ricci_ir import ShapeDtypeStruct, enable_x64, make_jaxpr, use_backend
from ricci_lax import linalg
from ricci_lax.contractions._dot import dot_general
from ricci_lax.elementwise._arithmetic import mul
from ricci_lax.elementwise._linear import conj
from ricci_lax.linalg._householder import geqp3_p, geqrf_p
from ricci_lax.linalg._polar import svd_by_polar
from ricci_stablehlo import lower_jaxpr

DATA = Path(__file__).parent / "data" / "linalg_spectral_jaxprs.txt"
DTYPES = ("float32", "float64", "complex64", "complex128")
SHAPES = [(4, 3), (3, 4), (3, 3), (1, 1), (2, 4, 3), (2, 3, 1, 3), (0, 3), (3, 0), (0, 4, 3)]
SQUARES = [(3, 3), (1, 1), (2, 4, 4), (0, 0), (0, 3, 3), (2, 0, 0)]
ONES = np.ones(3, np.float32)
UNKNOWN: Any = "best"


def of(*shape, dtype="float32"):
    return ShapeDtypeStruct(shape, np.dtype(dtype))


@pytest.fixture
def backend():
    """A backend to compute values with."""
    reference = pytest.importorskip("ricci_reference", reason="values need a backend")
    with use_backend(reference.reference_backend):
        yield


@pytest.fixture
def x64(backend):
    with enable_x64(True):
        yield


def values(*shape, dtype="float32", seed=0):
    random = np.random.default_rng(seed)
    x = random.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * random.normal(size=shape)
    return x.astype(dtype)


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def hermitian(*shape, dtype="float32", seed=0):
    x = values(*shape, dtype=dtype, seed=seed)
    return (x + adjoint(x)) / 2


def tolerance(dtype):
    return 2e-5 if np.dtype(dtype).name in ("float32", "complex64") else 1e-12


def assert_close(found, expected):
    digits = tolerance(np.asarray(found).dtype)
    np.testing.assert_allclose(found, expected, digits, digits)


def assert_orthonormal(x):
    gram = adjoint(x) @ x
    assert_close(gram, np.broadcast_to(np.eye(x.shape[-1]), gram.shape))


# Printed programs, as JAX prints them


def printed():
    for part in DATA.read_text().split("### ")[1:]:
        title, _, rest = part.partition("\n")
        source, _, text = rest.partition("\n--->\n")
        lines = [line.removesuffix("|") for line in text.splitlines()]
        yield pytest.param(source, "\n".join(lines), id=title)


@pytest.mark.parametrize(("source", "expected"), list(printed()))
def test_programs_print_as_in_jax(source, expected):
    names = {"make_jaxpr": make_jaxpr, "jvp": jvp, "vjp": vjp, "vmap": vmap}
    assert str(eval(source, {**names, "linalg": linalg, "of": of})) == expected


# qr


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("full_matrices", [True, False])
@pytest.mark.parametrize("dtype", DTYPES)
def test_qr_multiplies_back(x64, dtype, full_matrices, shape):
    x = values(*shape, dtype=dtype)
    q, r = map(np.asarray, linalg.qr(x, full_matrices=full_matrices))
    rows, columns = shape[-2:]
    inner = rows if full_matrices else min(rows, columns)
    assert (q.shape, r.shape) == ((*shape[:-1], inner), (*shape[:-2], inner, columns))
    assert q.dtype == r.dtype == dtype
    assert_close(q @ r, x)
    assert_orthonormal(q)
    assert np.array_equal(r, np.triu(r))


@pytest.mark.parametrize("shape", [s for s in SHAPES if 0 not in s])
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_qr_with_pivoting_orders_columns_by_their_remainder(backend, dtype, shape):
    x = values(*shape, dtype=dtype)
    q, r, places = map(np.asarray, linalg.qr(x, pivoting=True, full_matrices=False))
    assert places.dtype == np.int32
    assert_close(q @ r, np.take_along_axis(x, places[..., np.newaxis, :], -1))
    sizes = np.abs(np.diagonal(r, axis1=-1, axis2=-2))
    assert np.all(np.diff(sizes) <= 0)


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("transpose", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (2, 4, 2)])
def test_ormqr_multiplies_by_the_whole_of_q(backend, shape, dtype, transpose, left):
    x = values(*shape, dtype=dtype)
    a, taus = geqrf_p.bind(x)
    q, _ = map(np.asarray, linalg.qr(x))
    q = adjoint(q) if transpose else q
    *batch, rows, _ = shape
    c = values(*batch, *((rows, 5) if left else (5, rows)), dtype=dtype, seed=1)
    found = linalg.ormqr(a, taus, c, left=left, transpose=transpose)
    assert_close(found, q @ c if left else c @ q)


def test_kernels_are_not_called_for_empty_matrices(backend):
    """Two of these in one program ended the process: a kernel divides by a size."""
    a, c, taus = ones(4, 3), ones(4, 5), ones(3)
    cases = [
        (linalg.ormqr, (ones(4, 0), ones(0), c)),
        (linalg.ormqr, (a, taus, ones(4, 0))),
        *((geqrf_p.bind, (ones(*shape),)) for shape in [(0, 3), (3, 0), (0, 4, 3), (2, 0, 0)]),
    ]
    for fun, args in cases:
        assert "custom_call" not in lower_jaxpr(make_jaxpr(fun)(*args), "f")
    np.testing.assert_array_equal(linalg.ormqr(*cases[0][1]), c)
    assert linalg.ormqr(*cases[1][1]).shape == (4, 0)


@pytest.mark.parametrize("transpose", [True, False])
def test_ormqr_is_linear_in_the_matrix(x64, transpose):
    a, taus = geqrf_p.bind(values(4, 3, dtype="complex128"))
    c, ct = values(4, 2, dtype="complex128", seed=1), values(4, 2, dtype="complex128", seed=2)
    fun = lambda c: linalg.ormqr(a, taus, c, transpose=transpose)
    result, pull = vjp(fun, c)
    np.testing.assert_allclose(np.sum(np.asarray(result) * ct), np.sum(np.asarray(pull(ct)[0]) * c))


def test_householder_product_takes_fewer_reflectors_than_columns(backend):
    a, taus = map(np.asarray, geqrf_p.bind(values(4, 3)))
    expected = linalg.householder_product(a, np.where([True, True, False], taus, 0))
    assert_close(linalg.householder_product(a, taus[:2]), expected)


def test_requested_columns_come_first(backend):
    _, places, _ = geqp3_p.bind(values(4, 3), np.array([0, 0, 1], np.int32), use_magma=None)
    assert np.asarray(places)[0] == 3


# eigh and tridiagonal


@pytest.mark.parametrize("shape", SQUARES)
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("dtype", DTYPES)
def test_eigh_diagonalises(x64, dtype, lower, shape):
    x = hermitian(*shape, dtype=dtype)
    v, w = map(np.asarray, linalg.eigh(x, lower=lower))
    assert v.dtype == dtype and w.dtype == np.real(x).dtype
    assert_close(x @ v, v * w[..., np.newaxis, :])
    assert_orthonormal(v)
    assert np.all(np.diff(w) >= 0)


@pytest.mark.parametrize("lower", [True, False])
def test_eigh_reads_one_triangle_unless_it_symmetrizes(backend, lower):
    x = hermitian(3, 3)
    upset = x + (np.triu if lower else np.tril)(values(3, 3, seed=1), 1 if lower else -1)
    plain = linalg.eigh(x)[1]
    assert_close(linalg.eigh(upset, lower=lower, symmetrize_input=False)[1], plain)
    assert_close(linalg.eigh(upset)[1], linalg.eigh((upset + upset.T) / 2)[1])


@pytest.mark.parametrize(("dtype", "greatest"), [("int32", 3.0), ("uint8", 3.0), ("bool", 0.5)])
def test_eigh_converts_integers_that_it_symmetrizes(backend, dtype, greatest):
    w = np.asarray(linalg.eigh(np.diag([1, 3]).astype(dtype))[1])
    assert (w.dtype, w[-1]) == (np.float32, greatest)


def test_eigh_of_nonfinite_matrices_is_nan(backend):
    v, w = linalg.eigh(np.stack([np.eye(2), np.full((2, 2), np.nan)]).astype(np.float32))
    assert np.isfinite(np.asarray(v)[0]).all() and np.isnan(np.asarray(v)[1]).all()
    assert np.array_equal(np.asarray(w), [[1, 1], [np.nan, np.nan]], equal_nan=True)


@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("dtype", DTYPES)
def test_tridiagonal_keeps_the_eigenvalues(x64, dtype, lower, size):
    x = hermitian(2, size, size, dtype=dtype)
    packed, d, e, taus = map(np.asarray, linalg.tridiagonal(x, lower=lower))
    assert (packed.shape, d.shape) == (x.shape, (2, size))
    assert e.shape == taus.shape == (2, size - 1)
    for k in range(2):
        form = np.diag(d[k]) + np.diag(e[k], 1) + np.diag(e[k], -1)
        assert_close(np.linalg.eigvalsh(form), np.linalg.eigvalsh(x[k]))
        assert_close(np.diagonal(packed[k]), d[k])
        assert_close(np.diagonal(packed[k], -1 if lower else 1), e[k])


# svd


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("full_matrices", [True, False])
@pytest.mark.parametrize("dtype", DTYPES)
def test_svd_multiplies_back(x64, dtype, full_matrices, shape):
    x = values(*shape, dtype=dtype)
    u, s, vh = map(np.asarray, linalg.svd(x, full_matrices=full_matrices))
    rank = min(shape[-2:])
    assert s.shape == (*shape[:-2], rank) and s.dtype == np.real(x).dtype
    assert_close((u[..., :rank] * s[..., np.newaxis, :]) @ vh[..., :rank, :], x)
    assert_orthonormal(u)
    assert_orthonormal(adjoint(vh))
    assert_close(linalg.svd(x, compute_uv=False), s)


@pytest.mark.parametrize("shape", [s for s in SHAPES if 0 not in s])
@pytest.mark.parametrize("full_matrices", [True, False])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_svd_by_polar_decomposition(x64, dtype, full_matrices, shape):
    x = values(*shape, dtype=dtype)
    s, u, vh = map(np.asarray, svd_by_polar(x, full_matrices=full_matrices, compute_uv=True))
    rank = min(shape[-2:])
    assert_close((u[..., :rank] * s[..., np.newaxis, :]) @ vh[..., :rank, :], x)
    assert_orthonormal(u)
    assert_orthonormal(adjoint(vh))
    assert_close(s, np.linalg.svd(x, compute_uv=False))
    assert_close(svd_by_polar(x, full_matrices=full_matrices, compute_uv=False)[0], s)


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_svd_by_polar_decomposition_completes_the_vectors_of_zeros(x64, rank):
    x = values(4, rank, dtype="float64") @ values(rank, 3, dtype="float64", seed=1)
    s, u, vh = map(np.asarray, svd_by_polar(x, full_matrices=True, compute_uv=True))
    assert_close((u[:, :3] * s) @ vh, x)
    assert_orthonormal(u)


# qdwh


@pytest.mark.parametrize("shape", [(5, 3), (3, 3), (1, 1), (3, 0), (0, 0)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_qdwh_is_a_polar_decomposition(x64, dtype, shape):
    x = values(*shape, dtype=dtype)
    u, h, _, converged = map(np.asarray, linalg.qdwh(x))
    assert converged
    assert_close(u @ h, x)
    assert_close(h, adjoint(h))
    assert_orthonormal(u)
    assert np.all(np.linalg.eigvalsh(h) >= 0)


@pytest.mark.parametrize(
    ("options", "steps", "converged"),
    [
        ({}, 4, True),
        ({"max_iterations": 0}, 0, False),
        ({"max_iterations": 3}, 3, False),
        ({"eps": 1e-2}, 3, True),
        ({"eps": 1e-10}, 5, True),
        ({"eps": 1e-30}, 10, False),
    ],
)
def test_steps_of_qdwh(backend, options, steps, converged):
    *_, count, found = linalg.qdwh(values(5, 3), **options)
    assert (int(count), bool(found)) == (steps, converged)


def test_qdwh_ignores_elements_outside_of_a_dynamic_shape(backend):
    x = np.full((6, 4), np.nan, np.float32)
    x[:5, :3] = values(5, 3)
    u, h, *_ = linalg.qdwh(x, dynamic_shape=(5, 3))
    expected = linalg.qdwh(x[:5, :3])
    for found, part in zip((u, h), expected, strict=False):
        part = np.asarray(part)
        padded = np.zeros(np.asarray(found).shape, np.float32)
        padded[: part.shape[0], : part.shape[1]] = part
        assert_close(found, padded)


def test_qdwh_has_a_tangent(x64):
    x, dx = values(4, 3, dtype="float64"), values(4, 3, dtype="float64", seed=1)
    _, tangent = jvp(lambda x: linalg.qdwh(x)[0], (x,), (dx,))
    step = 1e-6
    ends = [np.asarray(linalg.qdwh(x + k * step * dx)[0]) for k in (-1, 1)]
    np.testing.assert_allclose(tangent, (ends[1] - ends[0]) / (2 * step), atol=1e-6)


# Derivatives, of functions that are the same for any choice of signs and phases


def weighted(vectors):
    """Vectors times weights, one for each column."""
    return mul(vectors, np.broadcast_to([1.0, 3.0, -2.0], vectors.shape).astype("complex128"))


def product(x, y, contracted):
    rank = len(x.shape)
    batch = tuple(range(rank - 2))
    return dot_general(x, y, (((rank - 1,), (rank - contracted,)), (batch, batch)))


def of_eigh(x, **options):
    v, w = linalg.eigh(x, **options)
    return product(weighted(v), conj(v), 1), w


def of_svd(x):
    u, s, vh = linalg.svd(x, full_matrices=False)
    return product(weighted(u), vh, 2), s


def of_values(x):
    return linalg.svd(x, compute_uv=False)


def of_qr(x, **options):
    return linalg.qr(x, **options)[:2]


COMPLEX_FUNCTIONS = [
    (of_eigh, (3, 3)),
    (of_eigh, (2, 3, 3)),
    (of_svd, (4, 3)),
    (of_svd, (3, 4)),
    (of_svd, (2, 3, 3)),
    (of_values, (2, 4, 3)),
    (of_qr, (4, 3)),
    (of_qr, (2, 3, 4)),
    (partial(of_qr, full_matrices=False), (4, 2)),
    (partial(of_qr, pivoting=True), (3, 5)),
    (partial(of_qr, pivoting=True), (2, 4, 3)),
]


@pytest.mark.parametrize(("fun", "shape"), COMPLEX_FUNCTIONS)
def test_derivatives_of_both_orders(x64, fun, shape):
    testing = pytest.importorskip("ricci_testing", reason="derivatives are checked by it")
    testing.check_grads(fun, (values(*shape, dtype="complex128"),), order=2, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("fun", "shape", "text"),
    [
        (lambda x: linalg.svd(x)[0], (4, 3), "full_matrices=False"),
        (lambda x: linalg.svd(x, full_matrices=False, subset_by_index=(0, 2))[0], (4, 3), "a part"),
        (lambda x: linalg.eigh(x, subset_by_index=(0, 2))[0], (3, 3), "a part of"),
        (lambda x: linalg.tridiagonal(x)[0], (3, 3), "differentiate eigh"),
        (lambda x: geqrf_p.bind(x)[0], (4, 3), "differentiate qr"),
        (lambda x: linalg.householder_product(x, ONES), (4, 3), "differentiate qr"),
        (lambda x: linalg.ormqr(x, ONES, np.eye(4, dtype="f")), (4, 3), "by c alone"),
    ],
)
def test_derivatives_that_do_not_exist_say_why(fun, shape, text):
    with pytest.raises(NotImplementedError, match=text):
        make_jaxpr(lambda x: jvp(fun, (x,), (x,)))(of(*shape))


# Bad input


def ones(*shape, dtype="f"):
    return np.ones(shape, dtype)


BAD = [
    (TypeError, lambda: linalg.qr(ones(3)), "two dimensions"),
    (TypeError, lambda: linalg.qr(ones(3, 3, dtype="i")), "int32"),
    (TypeError, lambda: linalg.qr(ones(3, 3, dtype="e")), "float16"),
    (TypeError, lambda: linalg.qr([[1.0, 2.0]]), "list"),
    (TypeError, lambda: linalg.svd(ones(3)), "two dimensions"),
    (TypeError, lambda: linalg.svd(ones(3, 3, dtype="?")), "bool"),
    (ValueError, lambda: linalg.svd(ones(4, 3), subset_by_index=(0, 2)), "full_matrices"),
    (ValueError, lambda: linalg.svd(ones(4, 3), subset_by_index=(2, 1)), "range|part"),
    (ValueError, lambda: linalg.eigh(ones(3)), "square"),
    (ValueError, lambda: linalg.eigh(ones(3, 4)), "square"),
    (ValueError, lambda: linalg.eigh(ones(3, 4), symmetrize_input=False), "square"),
    (ValueError, lambda: linalg.eigh(ones(3), symmetrize_input=False), "square"),
    (TypeError, lambda: linalg.eigh(ones(3, 3, dtype="i"), symmetrize_input=False), "int32"),
    (TypeError, lambda: linalg.eigh(ones(3, 3, dtype="e")), "float16"),
    (ValueError, lambda: linalg.eigh(ones(3, 3), subset_by_index=(2, 1)), "range"),
    (ValueError, lambda: linalg.eigh(ones(3, 3), implementation=UNKNOWN), "best"),
    (TypeError, lambda: linalg.tridiagonal(ones(3)), "two dimensions"),
    (ValueError, lambda: linalg.tridiagonal(ones(3, 4)), "square"),
    (ValueError, lambda: linalg.tridiagonal(ones(0, 0)), "empty"),
    (TypeError, lambda: linalg.householder_product(ones(3), ones(3)), "dimensions"),
    (ValueError, lambda: linalg.householder_product(ones(3, 4), ones(3)), "rows"),
    (ValueError, lambda: linalg.householder_product(ones(4, 3), ones(4)), "most 3"),
    (TypeError, lambda: linalg.householder_product(ones(4, 3), ones(3, dtype="F")), "dtype"),
    (TypeError, lambda: linalg.householder_product(ones(2, 4, 3), ones(3)), "number"),
    (ValueError, lambda: linalg.householder_product(ones(2, 4, 3), ones(3, 3)), "size"),
    (ValueError, lambda: linalg.ormqr(ones(4, 3), ones(3), ones(5, 4)), "rows"),
    (ValueError, lambda: linalg.ormqr(ones(4, 3), ones(3), ones(5, 5), left=False), "columns"),
    (TypeError, lambda: linalg.ormqr(ones(4, 3), ones(3), ones(4)), "dimensions"),
    (TypeError, lambda: linalg.ormqr(ones(4, 3), ones(3), ones(4, 5, dtype="F")), "dtype"),
    (ValueError, lambda: linalg.qdwh(ones(3, 4)), "rows as columns"),
    (ValueError, lambda: linalg.qdwh(ones(2, 4, 3)), "one matrix"),
    (ValueError, lambda: linalg.qdwh(ones(3, 3, dtype="i")), "floating"),
    (TypeError, lambda: linalg.qdwh(ones(3, 3, dtype="e")), "float16"),
    (ValueError, lambda: linalg.qdwh(ones(4, 3), eps=0.0), "positive"),
    (ValueError, lambda: linalg.qdwh(ones(4, 3), max_iterations=UNKNOWN), "best"),
]


@pytest.mark.parametrize(("error", "call", "text"), BAD)
def test_bad_input(backend, error, call, text):
    with pytest.raises(error, match=text):
        call()
