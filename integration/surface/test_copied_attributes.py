"""Wrappers of functions, whose attributes ``functools.wraps`` copies to another function."""

import functools
from collections.abc import Callable
from typing import Any

import pytest

import ricci
import ricci.numpy as jnp
from ricci import P
from ricci.experimental import checkify
from ricci.experimental.custom_partitioning import custom_partitioning

STAGES = ("lower", "trace", "eval_shape", "clear_cache")


def double(x):
    return 2 * x


def negative(x):
    return -x


def _with_jvp(f):
    wrapped = ricci.custom_jvp(f)
    wrapped.defjvp(lambda primals, tangents: (f(*primals), tangents[0]))
    return wrapped


def _with_vjp(f):
    wrapped = ricci.custom_vjp(f)
    wrapped.defvjp(lambda x: (f(x), None), lambda _, ct: (ct,))
    return wrapped


def _with_vmap(f):
    wrapped = ricci.custom_batching.custom_vmap(f)
    wrapped.def_vmap(lambda size, batched, x: (f(x), batched[0]))
    return wrapped


def _partitioned(f):
    wrapped = custom_partitioning(f)
    wrapped.def_partition(
        lambda mesh, arguments, result: (mesh, f, result.sharding, (arguments[0].sharding,)),
        sharding_rule="i -> i",
    )
    return wrapped


def _checked(f):
    checked = checkify.checkify(f)
    return functools.wraps(checked)(lambda x: checked(x)[1])


def _over_one_device(f):
    mesh = ricci.make_mesh((1,), ("x",), devices=ricci.devices()[:1])
    return ricci.shard_map(f, mesh=mesh, in_specs=P(), out_specs=P())


WRAPPERS: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "bucketed": lambda f: ricci.bucketed(f, sizes=[4]),
    "roll": ricci.roll,
    "checkify": _checked,
    "checkpoint": ricci.checkpoint,
    "custom_jvp": _with_jvp,
    "custom_partitioning": _partitioned,
    "custom_vjp": _with_vjp,
    "custom_vmap": _with_vmap,
    "frompyfunc": lambda f: jnp.frompyfunc(f, 1, 1),
    "jit": ricci.jit,
    "named_call": ricci.named_call,
    "named_scope": lambda f: ricci.named_scope("scope")(f),
    "shard_map": _over_one_device,
    "vectorize": jnp.vectorize,
    "vmap": ricci.vmap,
}


@pytest.mark.parametrize("outer", WRAPPERS)
def test_stages_of_jit_are_not_copied_to_other_functions(outer):
    wrapper = WRAPPERS[outer](ricci.jit(double))
    for function in (functools.wraps(wrapper)(lambda x: -x), wrapper):
        if outer == "jit" and function is wrapper:
            continue
        assert [name for name in STAGES if hasattr(function, name)] == []


@pytest.mark.sampled(61)
@pytest.mark.parametrize("inner", WRAPPERS)
@pytest.mark.parametrize("outer", WRAPPERS)
def test_wrapper_computes_the_function_that_it_was_given(outer, inner):
    """A function with copied attributes of a wrapper is wrapped itself."""
    disguised = functools.wraps(WRAPPERS[inner](double))(lambda x: -x)
    assert WRAPPERS[outer](disguised)(jnp.ones(3)).tolist() == [-1.0] * 3


def test_stages_are_methods_of_every_jitted_function():
    inner = ricci.jit(double)
    outer = ricci.jit(functools.wraps(inner)(lambda x: jnp.stack([-x, x])))
    assert outer.eval_shape(1.0).shape == (2,)
    assert outer.lower(1.0).compile()(1.0).tolist() == [-1.0, 1.0]
    assert outer.trace(1.0).out_info.shape == (2,)
    assert inner.eval_shape(1.0).shape == ()
    outer.clear_cache()
    assert outer(1.0).tolist() == [-1.0, 1.0]


def test_pmap_has_stages_that_are_not_copied():
    mapped = ricci.pmap(double)
    assert mapped.lower(jnp.ones((1, 2))).compile() is not None
    assert not hasattr(functools.wraps(mapped)(negative), "lower")


def test_custom_partitioning_keeps_the_derivative_rule_of_its_function():
    wrapper = custom_partitioning(_with_jvp(double))
    assert isinstance(wrapper.fun, ricci.custom_jvp)
