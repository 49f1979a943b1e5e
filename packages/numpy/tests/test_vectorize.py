"""``vectorize``: jaxprs as JAX prints them, values as NumPy's, and errors."""

import numpy as np
import pytest

import ricci_numpy as jnp
from ricci_numpy.generalized._mapping import parse_signature
from ricci_pytree import register_pytree_node

M = np.arange(6.0, dtype=np.float32).reshape(2, 3)
X = np.array([1.0, 2.0, 4.0], np.float32)
MATVEC = "(n,m),(m)->(n)"


def matvec(a, b):
    assert a.ndim == 2 and b.ndim == 1
    return a @ b


def test_jaxpr_prints_as_jaxs(program, printed):
    expression, expected = program
    assert printed(expression) == expected


@pytest.mark.parametrize(
    ("fun", "options", "args"),
    [
        (lambda a, b: a + b, {}, (M, X)),
        (lambda a, b: a * b, {}, (M[:, None], X[:, None])),
        (lambda a, b: a * b, {}, (M[:, :1], 2.0)),
        (matvec, {"signature": MATVEC}, (M, X)),
        (matvec, {"signature": MATVEC}, (np.stack([M, M * 2]), X)),
        (matvec, {"signature": MATVEC}, (M[None, None], np.stack([X, X])[:, None])),
        (lambda a, b: (a * b, a - b), {"signature": "(),()->(),()"}, (M, X)),
        (lambda a: a.sum(), {"signature": "(n)->()"}, (M,)),
        (lambda a, k: a[k], {"signature": "(n)->()", "excluded": {1}}, (M, 2)),
    ],
)
def test_value_is_numpys(fun, options, args, backend):
    found = jnp.vectorize(fun, **options)(*args)
    expected = np.vectorize(fun, **options)(*args)
    for ours, numpys in zip(np.atleast_1d(found), np.atleast_1d(expected), strict=True):
        np.testing.assert_allclose(ours, numpys, rtol=1e-6)


@pytest.mark.parametrize(
    ("options", "args", "keywords", "shape"),
    [
        ({"excluded": {"k"}}, (M,), {"k": "abc"}, (2, 3)),
        ({"excluded": (1,)}, (M, "abc"), {}, (2, 3)),
        ({}, (M, None), {}, (2, 3)),
        ({}, (M[:1, None],), {}, (1, 1, 3)),
    ],
)
def test_excluded_arguments_are_passed_unchanged(options, args, keywords, shape, backend):
    def fun(a, k="abc"):
        assert k is None or k == "abc"
        return a

    assert jnp.vectorize(fun, **options)(*args, **keywords).shape == shape


@pytest.mark.parametrize(
    ("fun", "options", "args", "error", "message"),
    [
        (matvec, {"signature": MATVEC}, (X, X), ValueError, r"enough dimensions .*\('n', 'm'\)"),
        (matvec, {"signature": MATVEC}, (M, X[:2]), ValueError, "'m' has size 2 here and 3"),
        (matvec, {"signature": MATVEC}, (M,), TypeError, "expected 2 arrays, got 1"),
        (matvec, {"signature": MATVEC}, (M, None), ValueError, r"None was passed at .*\[1\]"),
        (matvec, {"signature": "(n,m),(m)->(m)"}, (M, X), ValueError, "'m' has size 2"),
        (matvec, {"signature": "(n,m),(m)->()"}, (M, X), ValueError, r"shape \(2,\)"),
        (lambda a: (a, a), {"signature": "()->()"}, (X,), TypeError, "expected 1 results, got 2"),
        (lambda a: a, {"signature": "()->(),()"}, (X,), TypeError, "a tuple of 2 results"),
        (lambda a: [a, a], {"signature": "()->(),()"}, (X,), TypeError, "a tuple of 2 results"),
        (matvec, {"signature": "(n,m)->(n"}, (M,), ValueError, "not a signature"),
        (matvec, {"signature": "->(n)"}, (), ValueError, "not a signature"),
        (matvec, {"excluded": {-1}}, (), ValueError, "negative"),
        (matvec, {"excluded": {0.5}}, (), TypeError, "positions and names"),
        (lambda a, b: a, {}, (M, X[:2]), ValueError, "broadcast"),
        (lambda a: a, {}, ("a",), TypeError, "array"),
    ],
)
def test_vectorize_checks_arguments(fun, options, args, error, message):
    with pytest.raises(error, match=message):
        jnp.vectorize(fun, **options)(*args)


def test_an_argument_by_keyword_is_not_dropped():
    with pytest.raises(TypeError, match="'b' was passed by keyword"):
        jnp.vectorize(lambda a, b=2: a * b)(X, b=X)


def test_signature_is_parsed():
    assert parse_signature("(n,m),(),(m)->(n,p),()") == ([("n", "m"), (), ("m",)], [("n", "p"), ()])


def test_vectorize_wraps_the_function():
    vectorized = jnp.vectorize(matvec, signature=MATVEC)
    assert (vectorized.__name__, vectorized.__wrapped__) == ("matvec", matvec)


class _Pair:
    """A pytree with a shape."""

    def __init__(self, a, b):
        self.a, self.b = a, b

    @property
    def shape(self):
        return self.a.shape


register_pytree_node(_Pair, lambda pair: ((pair.a, pair.b), None), lambda _, ab: _Pair(*ab))


@pytest.mark.parametrize("shape", [(3,), (2, 3), (1, 3)])
def test_vectorized_functions_return_pytrees_with_a_shape(shape, backend):
    x = jnp.ones(shape)
    pairs = jnp.vectorize(lambda v: _Pair(v[:, None], 2 * v), signature="(n)->(n,m)")(x)
    assert isinstance(pairs, _Pair)
    assert (pairs.a.shape, pairs.b.shape) == ((*shape, 1), shape)
    with pytest.raises(ValueError, match=r"shape \(3, 1\) does not have the core dimensions"):
        jnp.vectorize(lambda v: _Pair(v[:, None], v), signature="(n)->(n)")(x)
