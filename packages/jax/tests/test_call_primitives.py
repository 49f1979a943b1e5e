"""Primitives of a library that call a program: they do what the program does."""

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax.core import ShapedArray
from jax.extend.core import Primitive, create_call_primitive, eval_jaxpr_transpose
from jax.extend.core import register_call_primitive_rules as register
from jax.interpreters import ad

X = np.arange(3, dtype=np.float32)
TABLE = np.arange(6, dtype=np.float32)


def body(x, y):
    """Has a constant, a discrete result and one that is not used."""
    return jnp.sin(x) * y + TABLE[:3], jnp.argmax(x), jnp.cos(y)


def registered():
    primitive = Primitive("registered")
    register(primitive, "body")
    return primitive


PRIMITIVES = {
    "inlined": lambda: create_call_primitive("block"),
    "called": lambda: create_call_primitive("block", inline_jax_late=False),
    "registered": registered,
}
TRANSFORMATIONS = {
    "eager": lambda f: f,
    "jit": jax.jit,
    "vmap": lambda f: lambda x: jax.vmap(lambda y: f(y))(jnp.stack([x, x]))[0],
    "jvp": lambda f: lambda x: jax.jvp(f, (x,), (x,))[1],
    "grad": lambda f: jax.grad(lambda x: f(x).sum()),
    "jit of grad": lambda f: jax.jit(jax.grad(lambda x: f(x).sum())),
    "grad of jit": lambda f: jax.grad(lambda x: jax.jit(f)(x).sum()),
    "linearize": lambda f: lambda x: jax.linearize(f, x)[1](x),
    "checkpoint": lambda f: jax.grad(lambda x: jax.checkpoint(f)(x).sum()),
    "hessian": lambda f: lambda x: jax.hessian(lambda x: f(x).sum())(x).sum(0),
    "in a loop": lambda f: lambda x: jax.lax.fori_loop(0, 2, lambda i, c: f(c), x),
}


CASES = [*(("called", t) for t in TRANSFORMATIONS), *((k, "jit of grad") for k in PRIMITIVES)]


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("kind", "transformation"), CASES)
def test_call_primitive_agrees_with_its_jaxpr(kind, transformation):
    primitive = PRIMITIVES[kind]()
    jaxpr = jax.make_jaxpr(body)(X, X)
    call = lambda x: primitive.bind(x, 2 * x, call_jaxpr=jaxpr, name="body")[0]
    expected = lambda x: body(x, 2 * x)[0]
    transform = TRANSFORMATIONS[transformation]
    for _ in range(2):
        np.testing.assert_allclose(transform(call)(X), transform(expected)(X), rtol=1e-5)


def test_lowered_programs():
    jaxpr = jax.make_jaxpr(lambda x: (jnp.sin(x),))(X)
    for late, count in ((True, 0), (False, 1)):
        call = create_call_primitive("block", inline_jax_late=late)
        text = jax.jit(lambda x, p=call: p.bind(x, call_jaxpr=jaxpr, name="f")).lower(X).as_text()
        assert text.count("call @f") == count


def test_derivatives_of_a_call_are_calls():
    call = create_call_primitive("block")
    jaxpr = jax.make_jaxpr(lambda x: (jnp.sin(x) * 2,))(1.0)
    slope = jax.grad(lambda x: call.bind(x, call_jaxpr=jaxpr, name="f")[0])
    eqns = jax.make_jaxpr(slope)(1.0).eqns
    assert [e.primitive.name for e in eqns] == ["block", "block"]
    assert all(e.params["name"] == "f" for e in eqns)


def test_the_transposed_program():
    product = jax.make_jaxpr(lambda x, y: (x * y,))(1.0, 2.0)
    call = create_call_primitive("block")
    unknown = ad.UndefinedPrimal(ShapedArray((), np.float32))
    cts = eval_jaxpr_transpose(call, [3.0], unknown, 2.0, call_jaxpr=product)
    assert (float(cts[0]), cts[1]) == (6.0, None)


def test_a_user_defined_transpose_rule():
    primitive, seen = Primitive("mine"), []

    def rule(cts, *operands, call_jaxpr, **params):
        seen.append(len(operands))
        return [10.0 * cts[0]]

    register(primitive, transpose_rule=rule)
    double = jax.make_jaxpr(lambda x: (2 * x,))(1.0)
    call = lambda x: primitive.bind(x, call_jaxpr=double)[0]
    assert jax.linear_transpose(call, 1.0)(1.0) == (10.0,)
    assert seen == [1]


def test_dead_operands_of_a_call_are_removed():
    call = create_call_primitive("block")
    jaxpr = jax.make_jaxpr(body)(X, X)
    first = jax.make_jaxpr(lambda x: call.bind(x, x, call_jaxpr=jaxpr)[2])(X)
    text = jax.jit(lambda x: call.bind(x, x, call_jaxpr=jaxpr)[2]).lower(X).as_text()
    assert len(first.eqns) == 1
    assert "sine" not in text.replace("cosine", "")


def test_effects_are_those_of_the_program(capfd):
    noisy = jax.make_jaxpr(lambda x: (jax.debug.print("{}", x, ordered=True), x)[1:])(1.0)
    call = create_call_primitive("block")
    fun = jax.jit(lambda x: call.bind(x, call_jaxpr=noisy)[0])
    assert fun.trace(1.0).jaxpr.effects
    assert fun(4.0) == 4.0
    jax.effects_barrier()
    assert capfd.readouterr().out == "4.0\n"
