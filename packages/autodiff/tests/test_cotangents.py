"""Cotangents that pullbacks accept, and tangents that depend on no tangent."""

import numpy as np
import pytest

import ricci_autodiff as ad
import ricci_ir as ir

X = np.array([0.3, -1.2, 1.7], np.float32)
T = np.array([1.0, 0.5, -2.0], np.float32)
N = np.array([3, 1, 2], np.int32)

FLOAT0 = np.zeros(3, ir.float0)


@pytest.mark.parametrize("ct", [FLOAT0, np.zeros(3, np.int32), np.ones(3, bool), T], ids=str)
def test_vjp_ignores_the_cotangents_of_integers(toy, ct):
    _, pull = ad.vjp(lambda x: (toy.neg(x), N), X)
    np.testing.assert_array_equal(pull((T, ct))[0], -T)


@pytest.mark.parametrize("ct", [np.zeros(2, np.int32), np.zeros((), ir.float0)], ids=str)
def test_the_cotangent_of_integers_must_have_their_shape(toy, ct):
    _, pull = ad.vjp(lambda x: (toy.neg(x), N), X)
    with pytest.raises(ValueError, match=r"cotangent at \[1\] must have the shape"):
        pull((T, ct))


def test_linear_transpose_of_a_function_of_integers(toy):
    (ct,) = ad.linear_transpose(lambda n: toy.mul(n, N), N)(N)
    np.testing.assert_array_equal(ct, N * N)


@pytest.mark.parametrize(
    ("fun", "args"),
    [
        (lambda x: x, (N > 1,)),
        (lambda x: (x, N), (X,)),
        (lambda n: X, (N,)),
        (lambda x, n: x, (X, N)),
    ],
    ids=["Booleans", "integers of floats", "floats of integers", "both"],
)
def test_linear_transpose_rejects_mixed_dtypes(toy, fun, args):
    with pytest.raises(TypeError, match="linear_transpose: the function maps"):
        ad.linear_transpose(fun, *args)


@pytest.mark.parametrize("ct", [X.astype(np.float16), X[:2], FLOAT0], ids=str)
def test_linear_transpose_requires_a_cotangent_of_the_results_type(toy, ct):
    with pytest.raises(TypeError, match="must have the type of its output"):
        ad.linear_transpose(toy.neg, X)(ct)


@pytest.mark.parametrize("wrap", ["plain", "jit"])
def test_linearize_drops_tangents_that_depend_on_no_tangent(toy, wrap):
    fun = toy.settled if wrap == "plain" else toy.jit(toy.settled)
    np.testing.assert_array_equal(ad.vjp(fun, X)[1](T)[0], np.zeros(3))
    np.testing.assert_array_equal(ad.linearize(fun, X)[1](T), np.zeros(3))
    np.testing.assert_array_equal(ad.vjp(lambda x: toy.mul(fun(x), x), X)[1](T)[0], T * X)
