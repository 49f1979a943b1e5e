"""A user's own context decides which program of a jitted function runs."""

import threading

import pytest

import ricci
import ricci.numpy as jnp


def counted():
    traced = []

    @ricci.jit
    def fun(x):
        traced.append(context.value)
        return x if context.value == "plain" else jnp.negative(x)

    context = ricci.make_user_context("plain")
    return fun, context, traced


def test_each_value_is_traced_once():
    fun, context, traced = counted()
    results = [fun(1.0)]
    for _ in range(2):
        with context("negated"):
            results.append(fun(1.0))
    results.append(fun(1.0))
    assert [float(r) for r in results] == [1.0, -1.0, -1.0, 1.0]
    assert traced == ["plain", "negated"]


def test_other_threads_keep_their_value():
    fun, context, _ = counted()
    found = []
    with context("negated"):
        thread = threading.Thread(target=lambda: found.append((context.value, float(fun(1.0)))))
        thread.start()
        thread.join()
        assert float(fun(1.0)) == -1.0
    assert found == [("plain", 1.0)]


def test_values_must_be_hashable():
    context = ricci.make_user_context()
    with pytest.raises(TypeError, match="unhashable"), context([1]):
        ricci.jit(lambda x: x)(1.0)
    assert float(ricci.jit(lambda x: x)(1.0)) == 1.0


def test_effort_levels_are_ordered_as_their_names():
    values = [level.value for level in ricci.CompilerEffortLevel]
    assert values == sorted(values)
