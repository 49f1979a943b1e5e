"""Logs of backward passes: ``pullback.with_logs``, rules that log, and transformations of them."""

import numpy as np
import pytest

import ricci_ir as ir
import ricci_lax as lax
from ricci_autodiff import grad, vjp
from ricci_batching import vmap
from ricci_pytree import tree_map


@pytest.fixture(autouse=True)
def backend():
    reference = pytest.importorskip("ricci_reference", reason="values need a backend")
    with ir.use_backend(reference.reference_backend):
        yield


def doubled(key):
    """A function whose derivative is 2, and whose backward pass logs the cotangent."""

    @lax.custom_gradient(with_logs=True)
    def fun(x):
        return lax.mul(x, 2.0), lambda ct: (lax.mul(ct, 2.0), {key: ct})

    return fun


def logged_by_vjp(key):
    fun = lax.custom_vjp(lambda x: lax.mul(x, 2.0))
    fun.defvjp_with_logs(
        lambda x: (lax.mul(x, 2.0), None), lambda _, ct: ((lax.mul(ct, 2.0),), {key: ct})
    )
    return fun


f, g = doubled("f"), logged_by_vjp("g")


@pytest.mark.parametrize(
    ("fun", "at", "ct", "cotangent", "logs"),
    [
        (lax.neg, 3.0, 1.0, -1.0, {}),
        (f, 3.0, 1.0, 2.0, {"f": 1.0}),
        (g, 3.0, 3.0, 6.0, {"g": 3.0}),
        (lambda x: g(f(x)), 3.0, 1.0, 4.0, {"g": 1.0, "f": 2.0}),
        (lambda x: lax.checkpoint(lambda x: f(lax.sin(x)))(x), 0.0, 1.0, 2.0, {"f": 1.0}),
        (lambda x: (f(x), x)[1], 3.0, 1.0, 1.0, {}),
        (
            lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=3)[0],
            3.0,
            1.0,
            8.0,
            {"f": [4.0, 2.0, 1.0]},
        ),
        (
            lambda xs: lax.scan(lambda c, x: (lax.add(c, f(x)), None), 0.0, xs)[0],
            np.ones(2, "float32"),
            1.0,
            [2.0, 2.0],
            {"f": [1.0, 1.0]},
        ),
        (lambda x: lax.fori_loop(0, 3, lambda i, c: f(c), x), 3.0, 1.0, 8.0, {"f": [4, 2, 1]}),
        (vmap(f), np.ones(2, "float32"), np.ones(2, "float32"), [2, 2], {"f": [1, 1]}),
        (vmap(vmap(g)), np.ones((1, 2), "float32"), np.ones((1, 2), "float32"), [[2, 2]], None),
    ],
)
def test_pullbacks_return_the_logs_of_their_rules(fun, at, ct, cotangent, logs):
    pullback = vjp(fun, at)[1]
    for _ in range(2):
        (got,), found = pullback.with_logs(ct)
        np.testing.assert_array_equal(got, cotangent)
        expected = {"g": np.ones((1, 2))} if logs is None else logs
        assert list(found) == list(expected)
        for key, value in expected.items():
            np.testing.assert_array_equal(found[key], value)
        (plain,) = pullback(ct)
        np.testing.assert_array_equal(plain, cotangent)
        ir.clear_caches()


def test_logs_are_batched_by_a_vmap_around_them():
    run = lambda x, ct: vjp(f, x)[1].with_logs(ct)[1]["f"]
    np.testing.assert_array_equal(vmap(run)(np.ones(3), np.arange(3.0)), [0, 1, 2])


def test_logs_of_a_key_may_be_pytrees():
    fun = lax.custom_gradient(
        lambda x: (x, lambda ct: (ct, {"a": {"b": ct, "c": [lax.neg(ct)]}})), with_logs=True
    )
    logs = vjp(fun, 3.0)[1].with_logs(2.0)[1]
    assert tree_map(float, logs) == {"a": {"b": 2.0, "c": [-2.0]}}


@pytest.mark.parametrize(
    ("fun", "error", "words"),
    [
        (lambda x: lax.add(f(x), f(x)), ValueError, "under the key 'f'"),
        (lambda x: lax.cond(lax.gt(x, 0.0), f, lax.neg, x), NotImplementedError, "inside of cond"),
        (
            lax.custom_gradient(lambda x: (x, lambda ct: (ct, {"a": 1})), with_logs=True),
            NotImplementedError,
            "must be floats",
        ),
        (
            lax.custom_gradient(lambda x: (x, lambda ct: (ct, [ct])), with_logs=True),
            TypeError,
            "None or a dict",
        ),
    ],
)
def test_logs_that_cannot_be_returned_are_refused(fun, error, words):
    with pytest.raises(error, match=words):
        vjp(fun, 3.0)[1].with_logs(1.0)


def test_gradients_drop_logs():
    assert float(grad(lambda x: lax.add(f(x), f(x)))(3.0)) == 4.0
