"""Attributes for XLA: on operations, values and calls, and on their derivatives and batches."""

import random
import re
from typing import Any

import numpy as np
import pytest

import ricci
import ricci.numpy as jnp
from ricci import grad, jit, lax, make_jaxpr, vmap
from ricci.experimental.xla_metadata import (
    fuse_limit,
    must_fuse_call,
    set_xla_metadata,
    xla_metadata_call,
    xla_metadata_call2,
)
from ricci_ir import operation_metadata, primitives
from ricci_testing import check_programs, examples
from ricci_xla.compile._effects import parse_module

X = np.arange(4, dtype=np.float32)
BAD: Any = 3
# The name of an operation; "})" where its regions end.
_operation: Any = re.compile(r'\s*(?:%[\w:#]+ = )?"?(?:\w+\.)?(\w+|\}\))')


def attributes(fun: Any, *args):
    """The operations of a program that have attributes, with these."""
    staged: Any = jit(fun)
    text = staged.lower(*(args or (X,))).as_text()
    parse_module(text)
    found = []
    for line in text.splitlines():
        head, mark, rest = line.partition("mhlo.frontend_attributes = {")
        if mark:
            found.append((_operation.match(head)[1], rest.partition("}")[0]))
    return found


def double_sine(x):
    return jnp.sin(x) * 2


def test_operations_in_the_block_have_the_attributes():
    def fun(x):
        with set_xla_metadata(a=1, b=True):
            y = jnp.sin(x)
            with set_xla_metadata(a=2.5):
                y = jnp.cos(y)
        return jnp.exp(y)

    expected = [("sine", 'a = "1", b = "true"'), ("cosine", 'a = "2.5", b = "true"')]
    assert attributes(fun) == expected
    assert attributes(fun) == expected
    ricci.clear_caches()
    assert attributes(fun) == expected


def test_derived_operations_have_them():
    def fun(x):
        with set_xla_metadata(a=1):
            y = jnp.sin(x)
        return jnp.exp(y).sum()

    assert ("cosine", 'a = "1"') in attributes(grad(fun))
    assert attributes(vmap(lambda x: fun(x[None]))) == [("sine", 'a = "1"')]


def test_inner_functions_and_branches_have_them():
    inner = jit(double_sine)

    def fun(x):
        with set_xla_metadata(a=1):
            return lax.cond(x.sum() > 0, inner, lambda x: -x, x)

    found = [name for name, _ in attributes(fun)]
    assert {"call", "sine", "multiply", "negate"} <= set(found)
    assert found.count("})") == 1  # the end of the branches
    assert attributes(inner) == []  # the same function, elsewhere


def test_a_jitted_function_is_traced_for_each_block():
    fun = jit(jnp.sin)
    assert "a = " not in fun.lower(X).as_text()
    with set_xla_metadata(a=1):
        assert 'a = "1"' in fun.lower(X).as_text()
        assert fun(X).tolist() == jnp.sin(X).tolist()
    assert "a = " not in fun.lower(X).as_text()


def test_metadata_of_a_value_is_set_on_its_operation():
    assert attributes(lambda x: set_xla_metadata(double_sine(x), a="1")) == [
        ("multiply", 'a = "1"')
    ]
    assert attributes(lambda x: set_xla_metadata(lax.top_k(x, 2)[0], a="1")) == [
        ("top_k", 'a = "1"')
    ]
    twice = lambda x: set_xla_metadata(set_xla_metadata(jnp.sin(x), a=1), a=2, b=3)
    assert attributes(twice) == [("sine", 'a = "1", b = "3"')]
    assert attributes(lambda x: set_xla_metadata(x, a="1") + 1) == []  # nothing computes it
    loop = lambda x: set_xla_metadata(lax.fori_loop(0, 3, lambda i, c: c * 2, x), a="1")
    assert attributes(loop) == [("})", 'a = "1"')]


@pytest.mark.parametrize("wide", [False, True])
def test_values_are_the_same(wide):
    with ricci.enable_x64(wide):
        tree = {"a": X, "b": (2.0, None, jnp.ones((0, 2)))}
        found = set_xla_metadata(tree, note="x")
        assert ricci.tree.structure(found) == ricci.tree.structure(tree)
        assert found["b"][0] == 2.0
        key = ricci.random.key(0)
        assert jit(lambda k: set_xla_metadata(k, note="x"))(key) == key
        annotated = lambda x: set_xla_metadata(jnp.sin(x), note="x").sum()
        assert grad(annotated)(X).tolist() == jnp.cos(X).tolist()
        assert jit(vmap(annotated))(X).tolist() == jnp.sin(X).tolist()


def test_calls_have_them():
    fun: Any = xla_metadata_call(double_sine, a=1)
    assert attributes(fun) == [("call", 'a = "1"')]
    jitted: Any = jit(fun)
    assert fun(X).tolist() == jitted(X).tolist() == double_sine(X).tolist()
    assert attributes(vmap(fun)) == [("call", 'a = "1"')]
    assert attributes(grad(lambda x: fun(x).sum())) == [("call", 'a = "1"')] * 2
    assert grad(lambda x: fun(x).sum())(X).tolist() == (2 * jnp.cos(X)).tolist()

    @xla_metadata_call(m="x")
    def keywords(tree, *, scale):
        return {"out": tree["x"] * scale}

    call: Any = jit(keywords)
    assert call({"x": X}, scale=2.0)["out"].tolist() == (X * 2).tolist()


@pytest.mark.parametrize(
    "ad_metadata, last", [("same", "(('a', '1'),)"), ("drop", "()"), ({"b": 2}, "(('b', '2'),)")]
)
def test_calls_of_derivatives_have_their_own(ad_metadata, last):
    fun = xla_metadata_call2(double_sine, {"a": 1}, ad_metadata=ad_metadata)
    text = str(make_jaxpr(grad(fun))(1.0))
    found = [line.split("=", 1)[1] for line in text.splitlines() if " xla_metadata=" in line]
    assert found == ["(('a', '1'),)", last]
    assert float(grad(fun)(1.0)) == pytest.approx(2 * np.cos(1.0))


def test_fusions_are_asked_for():
    assert attributes(must_fuse_call("name")(double_sine)) == [("call", 'MUST_FUSE = "name"')]

    def limited(x):
        with fuse_limit():
            return double_sine(x)

    assert attributes(limited)[0] == ("sine", 'FUSE_LIMIT = "true"')


def test_names_and_texts_are_quoted():
    def fun(x):
        with set_xla_metadata(None, **{"two words": 'a "b" }'}):
            return jnp.sin(x)

    assert r'"two words" = "a \22b\22 }"' in jit(fun).lower(X).as_text()
    assert jit(fun)(X).tolist() == jnp.sin(X).tolist()


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: set_xla_metadata(a=[1]), "the value of 'a', got \\[1\\] of type list"),
        (lambda: xla_metadata_call(double_sine, a=None), "the value of 'a', got None"),
        (
            lambda: xla_metadata_call2(double_sine, {}, ad_metadata=BAD),
            "expected 'same', 'drop' or",
        ),
        (lambda: set_xla_metadata("text", a=1), "not a valid array type"),
    ],
)
def test_wrong_attributes_are_refused(call, message):
    with pytest.raises(TypeError, match=message):
        call()


@pytest.mark.parametrize("name", sorted(examples()))
def test_every_operation_takes_them(name):
    example = random.Random(name).choice(list(examples()[name]))
    with operation_metadata((("note", 'a "b" }'), ("other name", "1"))):
        for _, text in check_programs(primitives[name], example):
            parse_module(text)
