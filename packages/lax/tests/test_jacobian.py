"""``jacfwd``, ``jacrev`` and ``hessian``: structures, values, and errors."""

import numpy as np
import pytest

from ricci_batching import vmap
from ricci_ir import ShapeDtypeStruct, enable_x64, float0, make_jaxpr
from ricci_lax import (
    convert_element_type,
    custom_vjp,
    fwd_and_bwd,
    hessian,
    jacfwd,
    jacobian,
    jacrev,
    mul,
    real,
    reduce_sum,
    sin,
)
from ricci_pytree import tree_map, tree_structure


def f32(values):
    return np.array(values, np.float32)


X = f32([1.0, 2.0])
M = np.arange(6, dtype=np.float32).reshape(3, 2)
C = np.array([1 + 2j, 3 - 1j], np.complex64)
FORWARD_AND_REVERSE = pytest.mark.parametrize("jac", [jacfwd, jacrev], ids=["jacfwd", "jacrev"])
ALL = pytest.mark.parametrize("jac", [jacfwd, jacrev, hessian], ids=lambda f: f.__name__)


def of(*shape):
    return ShapeDtypeStruct(shape, np.dtype("float32"))


def total(x):
    return reduce_sum(x, tuple(range(len(x.shape))))


def sine_times(x):
    return mul(sin(x), x)


def tree(x, y):
    return {"a": mul(x["u"], y), "b": total(x["v"])}


@pytest.mark.usefixtures("backend")
class TestValues:
    @FORWARD_AND_REVERSE
    def test_jacobian_of_an_elementwise_function_is_diagonal(self, jac):
        expected = np.diag((np.cos(M) * M + np.sin(M)).ravel()).reshape(3, 2, 3, 2)
        np.testing.assert_allclose(jac(sine_times)(M), expected, rtol=1e-5, atol=1e-6)

    def test_hessian(self):
        found = hessian(lambda x: total(mul(mul(x, x), x)))(M)
        expected = np.diag(6 * M.ravel()).reshape(3, 2, 3, 2)
        np.testing.assert_allclose(found, expected, rtol=1e-5)

    @FORWARD_AND_REVERSE
    def test_values_in_pytrees(self, jac):
        found = jac(tree, (0, 1))({"u": X, "v": M}, X + 1)
        np.testing.assert_allclose(found["a"][0]["u"], np.diag(X + 1))
        np.testing.assert_allclose(found["a"][0]["v"], np.zeros((2, 3, 2)))
        np.testing.assert_allclose(found["a"][1], np.diag(X))
        np.testing.assert_allclose(found["b"][0]["u"], np.zeros(2))
        np.testing.assert_allclose(found["b"][0]["v"], np.ones((3, 2)))
        np.testing.assert_allclose(found["b"][1], np.zeros(2))

    @ALL
    def test_aux_is_passed_through(self, jac):
        found, aux = jac(lambda x: (total(x), {"k": x}), has_aux=True)(X)
        np.testing.assert_array_equal(aux["k"], X)
        plain = jac(total)(X)
        np.testing.assert_array_equal(found, plain)

    @FORWARD_AND_REVERSE
    def test_holomorphic(self, jac):
        found = jac(lambda z: mul(z, z), holomorphic=True)(C)
        np.testing.assert_allclose(found, np.diag(2 * C))

    @ALL
    def test_vmap(self, jac):
        found = np.asarray(vmap(jac(sine_times))(M))
        for ours, x in zip(found, M, strict=True):
            np.testing.assert_allclose(ours, jac(sine_times)(x), rtol=1e-5, atol=1e-6)

    def test_integers_have_zero_derivatives(self):
        n = np.array([3, 4], np.int32)
        f = lambda x, n: mul(x, convert_element_type(n, np.float32))
        by_x, by_n = jacrev(f, (0, 1), allow_int=True)(X, n)
        np.testing.assert_allclose(by_x, np.diag(n))
        assert (by_n.shape, by_n.dtype) == ((2, 2), np.int32)
        assert by_n.dtype != float0
        assert not np.any(np.asarray(by_n))

    def test_integer_results_have_zero_derivatives_forward(self):
        found = jacfwd(lambda x: convert_element_type(x, np.int32))(X)
        assert (found.shape, found.dtype) == ((2, 2), np.int32)
        assert not np.any(np.asarray(found))

    def test_reverse_mode_uses_the_rule_of_a_custom_vjp(self):
        f = custom_vjp(lambda x: sin(x))
        f.defvjp(lambda x: (sin(x), None), lambda _, ct: (mul(ct, 10.0),))
        np.testing.assert_allclose(jacrev(f)(X), 10 * np.eye(2))


@ALL
@pytest.mark.parametrize("argnums", [0, 1, -1, (0,), (0, 1), [1, 0]], ids=str)
def test_structure(jac, argnums):
    args = {"u": of(2), "v": of(3, 2)}, of(2)
    jaxpr, shapes = make_jaxpr(jac(tree, argnums), return_shape=True)(*args)
    chosen = args[argnums] if isinstance(argnums, int) else tuple(args[i] for i in argnums)
    inner = tree_map(lambda _: chosen, chosen) if jac is hessian else chosen
    assert tree_structure(shapes) == tree_structure({"a": inner, "b": inner})
    assert len(jaxpr.outvars) == tree_structure(shapes).num_leaves


@FORWARD_AND_REVERSE
def test_shapes_are_those_of_the_result_and_the_argument(jac):
    (out,) = make_jaxpr(jac(lambda x: total(x)))(of(3, 2)).out_avals
    assert out.shape == (3, 2)
    (out,) = make_jaxpr(jac(lambda x: mul(x, X)))(of()).out_avals
    assert out.shape == (2,)
    (out,) = make_jaxpr(jac(lambda x: x))(of(0)).out_avals
    assert out.shape == (0, 0)


@FORWARD_AND_REVERSE
def test_each_argument_keeps_its_dtype(jac):
    def f(x):
        return mul(x[0], convert_element_type(x[1], np.float32))

    wide, narrow = make_jaxpr(jac(f))(
        (of(2), ShapeDtypeStruct((2,), np.dtype("float16")))
    ).out_avals
    assert wide.dtype == np.float32
    # Forward mode gives tangents of the result, reverse mode cotangents of the argument.
    assert narrow.dtype == (np.float32 if jac is jacfwd else np.float16)


@ALL
def test_wide_types_change_nothing_for_narrow_arguments(jac):
    narrow = make_jaxpr(jac(total))(of(2))
    with enable_x64(True):
        wide = make_jaxpr(jac(total))(of(2))
    assert wide.out_avals == narrow.out_avals


@ALL
def test_the_function_keeps_its_name(jac):
    assert jac(sine_times).__name__ == "sine_times"


def test_jacobian_is_reverse_mode():
    assert str(make_jaxpr(jacobian(sine_times))(X)) == str(make_jaxpr(jacrev(sine_times))(X))


MISTAKES = {
    "integer": (
        sine_times,
        {},
        (np.array([1, 2], np.int32),),
        TypeError,
        r"argument x has dtype int32",
    ),
    "boolean": (sine_times, {}, (True,), TypeError, "bool"),
    "no array": (lambda x: x["k"], {}, ({"k": "a"},), TypeError, r"x\['k'\]"),
    "holomorphic of reals": (
        sine_times,
        {"holomorphic": True},
        (X,),
        TypeError,
        "requires complex inputs",
    ),
    "holomorphic to reals": (
        lambda z: real(z),
        {"holomorphic": True},
        (C,),
        TypeError,
        "returned dtype float32",
    ),
    "argnums out of range": (sine_times, {"argnums": 1}, (X,), ValueError, "1 positional"),
    "argnums below range": (sine_times, {"argnums": -2}, (X,), ValueError, "argnums=-2"),
    "argnums that is a string": (sine_times, {"argnums": "x"}, (X,), TypeError, "argnums"),
    "argnums that is a float": (sine_times, {"argnums": 1.0}, (X,), TypeError, "argnums"),
    "no argnums": (sine_times, {"argnums": ()}, (X,), ValueError, "no arrays"),
    "an empty argument": (lambda x: X, {}, ((),), ValueError, "no arrays"),
    "has_aux without aux": (sine_times, {"has_aux": True}, (X,), TypeError, "pair"),
    "no function": (3, {}, (X,), TypeError, "needs a function"),
}


@ALL
@pytest.mark.parametrize(
    ("fun", "options", "args", "error", "mentions"), MISTAKES.values(), ids=MISTAKES
)
def test_mistakes_are_explained(jac, fun, options, args, error, mentions):
    with pytest.raises(error, match=mentions):
        make_jaxpr(lambda: jac(fun, **options)(*args))()


REVERSE_MISTAKES = {
    "complex results": (lambda x: convert_element_type(x, np.complex64), TypeError, "complex64"),
    "integer results": (lambda x: {"k": convert_element_type(x, np.int32)}, TypeError, r"\['k'\]"),
    "no results": (lambda x: None, ValueError, "no arrays"),
}


@pytest.mark.parametrize(
    ("fun", "error", "mentions"), REVERSE_MISTAKES.values(), ids=REVERSE_MISTAKES
)
def test_reverse_mode_needs_real_results(fun, error, mentions):
    with pytest.raises(error, match=mentions):
        make_jaxpr(jacrev(fun))(X)


def test_forward_mode_of_complex_arguments_is_refused():
    with pytest.raises(TypeError, match="holomorphic=True if it applies"):
        make_jaxpr(jacfwd(sine_times))(C)


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("jitted", [True, False])
class TestForwardAndBackward:
    def test_the_passes_are_those_of_vjp(self, jitted):
        fwd, bwd = fwd_and_bwd(lambda x, y: mul(sin(x), y), (0, -1), jitted=jitted)
        y, residuals = fwd(2.0, 3.0)
        np.testing.assert_allclose(y, 3 * np.sin(2.0), rtol=1e-6)
        expected = [3 * np.cos(2.0), np.sin(2.0)]
        np.testing.assert_allclose(bwd(residuals, 1.0), expected, rtol=1e-6)

    def test_one_argument_and_aux(self, jitted):
        fwd, bwd = fwd_and_bwd(lambda x, y: (mul(x, y), {"y": y}), 1, has_aux=True, jitted=jitted)
        value, residuals, aux = fwd(2.0, 3.0)
        assert (float(value), float(aux["y"]), float(bwd(residuals, 2.0))) == (6.0, 3.0, 4.0)

    def test_keywords_are_passed_on(self, jitted):
        fwd, bwd = fwd_and_bwd(lambda x, *, y: mul(x, y["a"]), 0, jitted=jitted)
        value, residuals = fwd(2.0, y={"a": 3.0})
        assert (float(value), float(bwd(residuals, 1.0))) == (6.0, 3.0)

    @pytest.mark.parametrize("argnums", [2, (0, -3)])
    def test_arguments_that_are_not_there(self, jitted, argnums):
        fwd, _ = fwd_and_bwd(mul, argnums, jitted=jitted)
        with pytest.raises(ValueError, match="is out of bounds"):
            fwd(2.0, 3.0)


@pytest.mark.usefixtures("backend")
def test_the_passes_are_traced_once_for_a_type():
    traced = []

    def square(x):
        traced.append(x)
        return mul(x, x)

    fwd, bwd = fwd_and_bwd(square, 0)
    for x in (2.0, 3.0):
        assert float(bwd(fwd(x)[1], 1.0)) == 2 * x
    assert len(traced) == 1
