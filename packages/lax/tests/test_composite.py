"""Composite operations: text, attributes, values and errors."""

from typing import Any

import numpy as np
import pytest

from ricci_autodiff import grad
from ricci_batching import vmap
from ricci_ir import ShapeDtypeStruct, UnexpectedTracerError, bfloat16, make_jaxpr
from ricci_lax import add, composite, custom_jvp, mul, neg, sin
from ricci_lax.staged_calls._composite import HashableArray, attribute
from ricci_stablehlo import lower_jaxpr

F3 = ShapeDtypeStruct((3,), np.float32)


def scaled_sum(x, y, *, k=1.0):
    """Documented."""
    return add(mul(x, k), y)


NO_FUNCTION: Any = 7
op = composite(scaled_sum, "example.scaled_sum")


def text_of(fun, *args):
    return lower_jaxpr(make_jaxpr(fun)(*args), "f")


def test_composite_prints_as_in_jax():
    assert str(make_jaxpr(lambda x, y: op(x, y, k=3.0))(F3, F3)) == (
        "{ lambda ; a:f32[3] b:f32[3]. let\n"
        "    c:f32[3] = composite[\n"
        "      attributes=(('k', (3.0,), PyTreeDef(*)),)\n"
        "      call_jaxpr={ lambda ; d:f32[3] e:f32[3]. let\n"
        "          f:f32[3] = mul d 3.0:f32[]\n"
        "          g:f32[3] = add f e\n"
        "        in (g,) }\n"
        "      name=example.scaled_sum\n"
        "      version=0\n"
        "    ] a b\n"
        "  in (c,) }"
    )


def test_the_decomposition_is_a_private_function():
    text = text_of(lambda x: op(x, x, k=2.0), F3)
    assert (
        'stablehlo.composite "example.scaled_sum" %arg0, %arg0 {composite_attributes = '
        "{k = 2.0 : f64}, decomposition = @example.scaled_sum} : "
        "(tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>"
    ) in text
    assert "func.func private @example.scaled_sum(" in text


def test_results_and_version():
    pair = composite(lambda x: {"a": x, "b": neg(x)}, "example.pair", 3)
    text = text_of(lambda x: pair(x)["b"], F3)
    assert "%0:2 = stablehlo.composite" in text
    assert "decomposition = @example.pair, version = 3 : i32}" in text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1, "1 : i64"),
        (2.5, "2.5 : f64"),
        (True, "true"),
        (np.True_, "true"),
        ('a"b', '"a\\22b"'),
        (b"x", '"x"'),
        ((1, [2.0]), "[1 : i64, [2.0 : f64]]"),
        ([], "[]"),
        ({"b": 1, "a": {}}, "{a = {}, b = 1 : i64}"),
        (np.float32(3), "3.0 : f32"),
        (np.int8(-3), "-3 : i8"),
        (np.arange(3), "dense<[0, 1, 2]> : tensor<3xi64>"),
        (np.ones((2, 2), bool), "dense<true> : tensor<2x2xi1>"),
        (HashableArray(np.ones((), np.float32)), "dense<1.0> : tensor<f32>"),
        (np.dtype(np.float32), "f32"),
        (np.dtype(bfloat16), "bf16"),
    ],
)
def test_attributes(value, text):
    assert attribute(value) == text


@pytest.mark.parametrize("value", [1j, object(), np.float32, np.array(["a"]), {1}])
def test_invalid_attributes_are_refused(value):
    with pytest.raises(TypeError, match="has no form in StableHLO"):
        text_of(lambda x: composite(lambda x, *, a: x, "a.b")(x, a=value), F3)


def test_an_attribute_that_is_none_is_left_out():
    text = text_of(lambda x: composite(lambda x, *, a: x, "a.b")(x, a=None), F3)
    assert "composite_attributes" not in text


def test_arrays_are_attributes_by_value():
    ones = HashableArray(np.ones(2))
    assert ones == HashableArray(np.ones(2)) and hash(ones) == hash(HashableArray(np.ones(2)))
    assert ones != HashableArray(np.ones(2, np.float32))
    assert repr(ones) == "HashableArray(array([1., 1.]))"


def test_values(backend):
    assert float(op(1.0, 2.0, k=3.0)) == 5.0


def test_constants_of_the_decomposition_become_operands(backend):
    constant = sin(np.zeros(3, np.float32))
    jaxpr = make_jaxpr(composite(lambda x: add(x, constant), "a.b"))(F3)
    assert len(jaxpr.eqns[0].invars) == 2
    assert not jaxpr.eqns[0].params["call_jaxpr"].constvars


def test_the_function_keeps_its_name():
    assert (op.__name__, op.__doc__) == ("scaled_sum", "Documented.")


def test_a_derivative_can_be_given(backend):
    fun = custom_jvp(lambda x: op(x, x))
    fun.defjvp(lambda xs, ts: (fun(*xs), mul(ts[0], 7.0)))
    assert float(grad(fun)(1.0)) == 7.0


@pytest.mark.parametrize(
    ("error", "message", "fun"),
    [
        (ValueError, "custom_jvp or custom_vjp around", grad(lambda x: op(x, x))),
        (NotImplementedError, "custom_vmap", lambda x: vmap(op)(mul(x, np.ones(2)), np.ones(2))),
        (UnexpectedTracerError, "closes over", lambda x: composite(lambda: neg(x), "a.b")()),
        (UnexpectedTracerError, "attribute 'k' is a traced value", lambda x: op(x, x, k=x)),
        (TypeError, "must be a function, got 7", lambda x: composite(NO_FUNCTION, "a.b")(x)),
    ],
)
def test_errors(error, message, fun):
    with pytest.raises(error, match=message):
        make_jaxpr(fun)(np.float32(1))


@pytest.mark.parametrize("name", ["", "a", ".b", "a.b c", "1.a"])
def test_names_have_a_namespace(name):
    with pytest.raises(ValueError, match="Give it a namespace"):
        text_of(composite(lambda x: x, name), F3)
