"""Products and norms: jaxprs as JAX prints them, values as NumPy computes them, and errors."""

import numpy as np
import pytest

import ricci_numpy as jnp
from ricci_ir import ShapeDtypeStruct, make_jaxpr

X = np.array([3.0, 1.0, 2.0, 1.0, 5.0], np.float32)
M = np.arange(12.0, dtype=np.float32).reshape(3, 4) / 4
T = np.arange(60.0, dtype=np.float32).reshape(3, 4, 5) / 9
N = np.array([3, 0, 2, 0, 2], np.int32)
C = (M + 1j * M[::-1]).astype(np.complex64)

SAME = """
np.dot(X, X) | np.dot(M, X[:4]) | np.dot(T, X) | np.dot(T, np.swapaxes(T, 1, 2)) | np.dot(X, N)
np.dot(2.0, X) | np.matmul(M, M.T) | np.matmul(X[:3], M) | np.matmul(T, X) | np.matmul(X[:4], T)
np.matmul(T, np.swapaxes(T, 1, 2)) | np.matmul(T[:1], np.swapaxes(T, 1, 2))
np.matmul(T[:, None], np.swapaxes(T, 1, 2)) | np.matmul(T[None], np.swapaxes(T, 1, 2)[:, None])
np.matmul(T[:1], np.swapaxes(T[:1], 1, 2)) | np.matmul(T, T[0].T) | np.matmul(M, N[:4]) | M @ M.T
np.vdot(M, M) | np.vdot(C, C) | np.vecdot(M, X[:4]) | np.vecdot(C, C, axis=0) | np.inner(M, M)
np.inner(X, 2.0) | np.outer(M, X) | np.tensordot(M, M) | np.tensordot(T, M, axes=[[0, 1], [0, 1]])
np.tensordot(T, X, axes=1) | np.tensordot(M, X, axes=0) | np.matvec(T, X) | np.vecmat(M, T)
np.kron(X[:2], X[:3]) | np.kron(M, M[:2, :2]) | np.cross(M[:, :3], X[:3])
np.cross(M, M[::-1], axis=0)
np.linalg.norm(X) | np.linalg.norm(M) | np.linalg.norm(T) | np.linalg.norm(M, axis=1)
np.linalg.norm(X, 1) | np.linalg.norm(X, 3) | np.linalg.norm(X, np.inf) | np.linalg.norm(X, -np.inf)
np.linalg.norm(N, 0) | np.linalg.norm(M, "fro") | np.linalg.norm(M, 1) | np.linalg.norm(M, -np.inf)
np.linalg.norm(C) | np.linalg.norm(M, axis=1, keepdims=True)
np.linalg.norm(T, np.inf, axis=(0, 2))
np.linalg.vector_norm(M, axis=0, ord=1) | np.linalg.matrix_norm(T)
"""
CASES = [case.strip() for line in SAME.strip().splitlines() for case in line.split("|")]
EINSUMS = [
    ("ij,jk->ik", (M, M.T)),
    ("ij,jk->ki", (M, M.T)),
    ("ij,jk", (M, M.T)),
    ("ba,ca", (M, M)),
    ("ii->i", (M[:3, :3],)),
    ("ii", (M[:3, :3],)),
    ("iij->j", (T[:, :3],)),
    ("iii->i", (np.ones((3, 3, 3), np.float32),)),
    ("ij->", (M,)),
    ("ij->ji", (M,)),
    ("i,j->ji", (X, X)),
    ("ij,k->", (M, X)),
    ("ij,ij->ji", (M, M)),
    ("bij,bkj->ikb", (T, T)),
    ("bij,bkj->kib", (T, T)),
    ("i,->i", (X, np.float32(2))),
    ("i,i,i->i", (X, X, X)),
    ("i,ij,j->", (X[:3], M, X[:4])),
    ("ij,jk,kl->li", (M, M.T, M)),
    ("ij,jk,kl,lm,mn,no->io", (M, M.T, M, M.T, M, M.T)),
    ("...ij,...kj->...ik", (T, T)),
    ("...i,i->...", (T, X)),
    ("i...->...", (M,)),
    ("bij,...j->bi", (T, X)),
    ("i,ij->ij", (X[:1], M)),
    (" i j , j k -> i k", (M, M.T)),
]


def test_jaxpr_prints_as_jaxs(program, printed):
    expression, expected = program
    assert printed(expression) == expected


@pytest.mark.sampled(32)
@pytest.mark.parametrize("expression", CASES)
def test_value_is_numpys(expression, backend):
    names = {"X": X, "M": M, "T": T, "N": N, "C": C}
    expected = eval(expression, {"np": np, **names})
    ours = {name: jnp.asarray(value) for name, value in names.items()}
    found = eval(expression.replace("np.", "jnp."), {"jnp": jnp, **ours})
    np.testing.assert_allclose(found, expected, rtol=2e-6, atol=1e-5)
    assert found.shape == np.shape(expected)


@pytest.mark.parametrize(("subscripts", "arrays"), EINSUMS, ids=[e[0] for e in EINSUMS])
def test_einsum_is_numpys(subscripts, arrays, backend):
    found = jnp.einsum(subscripts, *map(jnp.asarray, arrays))
    np.testing.assert_allclose(found, np.einsum(subscripts, *arrays), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("optimize", ["auto", "greedy", True, False, [(1, 2), (0, 1)]])
def test_order_of_contractions_does_not_matter(optimize, backend):
    found = jnp.einsum("ij,jk,kl->il", M, M.T, M, optimize=optimize)
    np.testing.assert_allclose(found, M @ M.T @ M, rtol=1e-5)


def test_einsum_takes_the_cheapest_order():
    tall, wide = np.ones((9, 2)), np.ones((2, 9))
    assert jnp.einsum_path("ij,jk,kl", tall, wide, tall)[0] == [(1, 2), (0, 1)]
    assert jnp.einsum_path("ij,jk,kl", wide, tall, wide)[0] == [(0, 1), (0, 1)]


def test_einsum_of_lists_of_dimensions(backend):
    found = jnp.einsum(M, [0, 1], M, [2, 1], [2, 0])
    np.testing.assert_allclose(found, M @ M.T, rtol=1e-6)


@pytest.mark.parametrize(
    ("dtypes", "preferred", "expected"),
    [
        (("float32", "int32"), None, "float32"),
        (("bfloat16", "bfloat16"), None, "bfloat16"),
        (("bfloat16", "bfloat16"), np.float32, "float32"),
        (("int8", "int8"), np.int32, "int32"),
        (("bool", "bool"), None, "bool"),
    ],
)
def test_dtype_of_products(dtypes, preferred, expected):
    a, b = (ShapeDtypeStruct((3, 3), jnp.dtype(name)) for name in dtypes)
    for product in (jnp.dot, jnp.matmul, lambda *args, **kw: jnp.einsum("ij,jk", *args, **kw)):
        jaxpr = make_jaxpr(lambda a, b, p=product: p(a, b, preferred_element_type=preferred))(a, b)
        assert jaxpr.out_avals[0].dtype.name == expected


@pytest.mark.parametrize(
    ("fun", "error"),
    [
        (lambda x, m: jnp.dot(x, m), TypeError),
        (lambda x, m: jnp.dot([1], x), TypeError),
        (lambda x, m: jnp.matmul(m, 2.0), ValueError),
        (lambda x, m: jnp.matmul(m, None), TypeError),
        (lambda x, m: m @ [1.0], TypeError),
        (lambda x, m: jnp.tensordot(x, x, axes=2), TypeError),
        (lambda x, m: jnp.einsum("ij", x), ValueError),
        (lambda x, m: jnp.einsum("i->j", x), ValueError),
        (lambda x, m: jnp.einsum("i,i", x, x[:2]), ValueError),
        (lambda x, m: jnp.einsum("ij->ii", m), ValueError),
        (lambda x, m: jnp.einsum("i,j", x), ValueError),
        (lambda x, m: jnp.cross(x, x), ValueError),
        (lambda x, m: jnp.cross(x[:2], x[:2]), ValueError),
        (lambda x, m: jnp.cross(x[:2], x[:3]), ValueError),
        (lambda x, m: jnp.linalg.norm(x, "fro"), ValueError),
        (lambda x, m: jnp.linalg.norm(m[None], 2), ValueError),
        (lambda x, m: jnp.vecdot(x, x[:2]), ValueError),
    ],
)
def test_invalid_operands_raise(fun, error):
    x, m = (ShapeDtypeStruct(shape, np.dtype("float32")) for shape in ((5,), (3, 4)))
    with pytest.raises(error):
        make_jaxpr(fun)(x, m)


NARROW = ("int8", "uint8", "int16", "uint16", "int32", "uint32")


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("preferred", [None, "int32", "uint32"])
@pytest.mark.parametrize("name", NARROW)
def test_products_of_integers_keep_their_lowest_bits(name, preferred):
    bounds, out = np.iinfo(name), np.dtype(preferred or name)
    random = np.random.default_rng(0)
    x, y = (
        random.integers(bounds.min, bounds.max, shape, name, endpoint=True)
        for shape in ((3, 40, 30), (3, 30, 20))
    )
    product = jnp.matmul(x, y, preferred_element_type=preferred)
    assert product.dtype == out
    exact = np.matmul(x.astype(np.int64), y.astype(np.int64))
    np.testing.assert_array_equal(np.asarray(product), exact.astype(out))
    vector = jnp.matmul(x, y[:, :, 0][..., None], preferred_element_type=preferred)
    np.testing.assert_array_equal(np.asarray(vector), exact[..., :1].astype(out))
