"""Tokens, and what keeps values in a program."""

import numpy as np
import pytest

from ricci_autodiff import grad, jvp
from ricci_batching import vmap
from ricci_ir import ShapeDtypeStruct, Token, abstract_token, check_jaxpr, get_aval, make_jaxpr
from ricci_lax import after_all, create_token, dce_sink, mul
from ricci_stablehlo import lower_jaxpr

F3 = ShapeDtypeStruct((3,), np.float32)


def ordered(x):
    after_all(create_token(x), create_token())
    return x


def sunk(x):
    dce_sink({"a": mul(x, x)})
    return x


def names(jaxpr):
    return [eqn.primitive.name for eqn in jaxpr.eqns]


def test_tokens_print_as_jax_prints_them():
    jaxpr = make_jaxpr(lambda: after_all(create_token(), create_token()))()
    assert str(jaxpr) == (
        "{ lambda ; . let\n"
        "    a:Tok = create_token \n"
        "    b:Tok = create_token \n"
        "    c:Tok = after_all a b\n"
        "  in (c,) }"
    )


def test_tokens_are_arguments_and_results():
    jaxpr = make_jaxpr(lambda t: after_all(t, t))(Token(None))
    assert jaxpr.in_avals == jaxpr.out_avals == [abstract_token]
    text = lower_jaxpr(jaxpr, "f")
    assert "@main(%arg0: !stablehlo.token) -> !stablehlo.token" in text
    assert "stablehlo.after_all %arg0, %arg0 : !stablehlo.token" in text


def test_tokens_are_values_outside_of_programs(backend):
    token = after_all(create_token(), create_token(1.0), after_all())
    assert get_aval(token) is abstract_token
    assert token.block_until_ready() is token


@pytest.mark.parametrize("transform", [grad, lambda f: vmap(f, axis_size=1), jvp])
def test_tokens_are_left_alone_by_transformations(transform):
    if transform is jvp:
        jaxpr = make_jaxpr(lambda x: jvp(ordered, (x,), (x,)))(np.float32(1))
    elif transform is grad:
        jaxpr = make_jaxpr(grad(ordered))(np.float32(1))
    else:
        jaxpr = make_jaxpr(transform(ordered))(np.ones(1, np.float32))
    assert names(jaxpr)[:3] == ["create_token", "create_token", "after_all"]


def test_only_tokens_come_before_others():
    with pytest.raises(TypeError, match="every operand must be a token, got float32"):
        make_jaxpr(after_all)(F3)


def test_a_sink_is_an_effect():
    jaxpr = make_jaxpr(sunk)(F3)
    check_jaxpr(jaxpr)
    assert names(jaxpr) == ["mul", "dce_sink"]
    assert [str(effect) for effect in jaxpr.effects] == ["NoDCE"]


def test_a_sink_has_no_results(backend):
    assert dce_sink((1.0, [np.ones(2)])) is None


@pytest.mark.parametrize(
    ("fun", "arg", "sinks"),
    [
        (lambda x: jvp(sunk, (x,), (x,)), F3, 2),
        (grad(sunk), ShapeDtypeStruct((), np.float32), 1),
        (vmap(sunk), F3, 1),
    ],
)
def test_transformations_keep_sinks(fun, arg, sinks):
    assert names(make_jaxpr(fun)(arg)).count("dce_sink") >= sinks


@pytest.mark.parametrize("prevent", [False, True])
def test_the_compiler_keeps_sinks_only_on_request(prevent):
    text = lower_jaxpr(make_jaxpr(lambda x: dce_sink(x, prevent_mlir_dce=prevent))(F3), "f")
    assert ('call_target_name = "dce_sink", has_side_effect = true' in text) == prevent
