"""Names of operations reach the compiled program, through transformations."""

import re

import pytest

import ricci
import ricci.numpy as jnp
from ricci import grad, jit, jvp, lax, named_call, named_scope, vmap


def f(x):
    with named_scope("outer"):
        y = jnp.sin(x)
        with named_scope("inner"):
            y = jnp.cos(y)
    return named_call(lambda z: z * 2, name="last")(y)


def names(fun, *args):
    text = jit(fun).lower(*args).as_text(debug_info=True)
    return set(re.findall(r'loc\("jit\([^)]*\)/([^"]*)"', text))


CASES = {
    "plain": (f, (1.0,), {"outer/sin", "outer/inner/cos", "last/mul"}),
    "vmap": (
        vmap(f),
        (jnp.ones(3),),
        {"vmap(outer)/sin", "vmap(outer)/inner/cos", "vmap(last)/mul"},
    ),
    "jvp": (lambda x: jvp(f, (x,), (x,)), (1.0,), {"jvp(outer)/inner/neg", "jvp(last)/mul"}),
    "grad": (
        grad(f),
        (1.0,),
        {"jvp(outer)/sin", "transpose(jvp(outer))/inner/neg", "transpose(jvp(last))/mul"},
    ),
    "vmap of grad": (
        vmap(grad(f)),
        (jnp.ones(3),),
        {"vmap(jvp(outer))/sin", "vmap(transpose(jvp(outer)))/inner/neg"},
    ),
    "no scope": (grad(lambda x: jnp.sin(x) * x), (1.0,), {"jvp()/sin", "transpose(jvp())/add_any"}),
    "loop": (
        lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=3)[0],
        (1.0,),
        {"scan/outer/inner/cos", "scan/last/mul"},
    ),
    "branches": (
        lambda x: lax.cond(x > 0, f, jnp.tanh, x),
        (1.0,),
        {"cond/outer/sin", "cond/tanh", "gt"},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_names(case):
    fun, args, expected = CASES[case]
    assert expected <= names(fun, *args)


def test_names_reach_the_compiled_program():
    text = jit(f).lower(1.0).compile().as_text()
    assert 'op_name="jit(f)/outer/inner/cos"' in text


def test_names_are_left_out_unless_asked_for():
    lowered = jit(f).lower(1.0)
    assert "loc" not in lowered.as_text()
    assert "metadata" not in lowered.as_text("hlo")
    assert "jit(f)/outer/sin" in lowered.as_text("hlo", debug_info=True)


def test_programs_are_named_apart_from_their_callers():
    inner = jit(f)

    def caller(x):
        with named_scope("first"):
            return inner(x)

    caller_names = names(caller, 1.0)
    assert not any("first/outer" in name for name in caller_names)
    assert {"outer/sin", "outer/inner/cos", "last/mul"} <= names(lambda x: f(x), 1.0)


def test_a_scope_decorates_a_function_that_calls_itself():
    @named_scope("level")
    def down(x, n):
        return jnp.sin(x) if n == 0 else down(x, n - 1)

    assert "level/level/sin" in names(lambda x: down(x, 1), 1.0)
    assert down.__name__ == "down"


def test_a_scope_ends_with_an_error():
    with pytest.raises(ZeroDivisionError), named_scope("broken"):
        raise ZeroDivisionError
    assert "sin" in names(jnp.sin, 1.0)
    assert ricci.named_call(lambda x: x)(3) == 3
