"""``jax.extend.linear_util`` and ``jax.api_util``: transformations and arguments of calls."""

import inspect
import re

import pytest

from jax.api_util import debug_info, donation_vector, flatten_axes, rebase_donate_argnums
from jax.api_util import flatten_fun_nokwargs as flatten_fun
from jax.extend import linear_util as lu
from jax.tree_util import tree_structure

IDENTITY = lu.wrap_init(lambda x: x)


def scaled(f, factor, x):
    return f(x * factor) + 1


def scaled_with_aux(f, store, factor, x):
    store.store(("aux", x))
    return f(x * factor) + 1


def test_transformations_that_store_something():
    fun, aux = lu.transformation_with_aux2(scaled_with_aux)(IDENTITY, 10)
    with pytest.raises(lu.StoreException):
        aux()
    assert (fun.call_wrapped(2), aux()) == (21, ("aux", 2))
    with pytest.raises(lu.StoreException):
        fun.call_wrapped(2)
    fun, aux = lu.transformation_with_aux2(scaled_with_aux)(IDENTITY, 10, use_eq_store=True)
    assert [fun.call_wrapped(2), fun.call_wrapped(2)] == [21, 21]
    with pytest.raises(lu.StoreException):
        fun.call_wrapped(3)
    assert lu.transformation2(scaled)(IDENTITY, 10).call_wrapped(2) == 21


def test_results_are_cached_by_function_transformations_and_arguments():
    calls = []

    @lu.cache
    def call(fun, x):
        calls.append(x)
        return fun.call_wrapped(x)

    double = lambda x: 2 * x
    times = lu.transformation2(scaled)
    assert [call(lu.wrap_init(double), x) for x in (1, 1, 2)] == [2, 2, 4]
    assert [call(times(lu.wrap_init(double), k), 1) for k in (5, 6, 5)] == [11, 13, 11]
    assert calls == [1, 2, 1, 1]
    call.evict_function(double)
    call(lu.wrap_init(double), 1)
    call.cache_clear()
    call(lu.wrap_init(double), 1)
    assert calls == [1, 2, 1, 1, 1, 1]


def test_a_cached_result_restores_the_stores_of_its_call():
    calls = []

    @lu.cache
    def call(fun, x):
        calls.append(x)
        return fun.call_wrapped(x)

    pair = lambda x: (x, {"a": x})
    for _ in range(2):
        fun, tree = flatten_fun(lu.wrap_init(pair), tree_structure((0,)))
        assert (call(fun, 1), tree()) == ([1, 1], tree_structure((0, {"a": 0})))
    assert calls == [1]


def test_donated_buffers():
    tree = tree_structure(((1, (2, 3)), {"a": 1, "b": (1, 2)}))
    assert donation_vector((1,), ("a",), tree) == (False, True, True, True, False, False)
    assert not any(donation_vector((5, -1), (), tree))
    assert donation_vector((0,), (), tree_structure((1, (2, 3))), kws=False) == (True, False, False)


@pytest.mark.parametrize(
    ("donated", "static", "expected"),
    [
        ((0, 2), (1,), (0, 1)),
        ((3,), (0, 1), (1,)),
        ((2, 1), (0,), (0, 1)),
        ((-1,), (0,), (-1,)),
        ((), (), ()),
    ],
)
def test_positions_among_the_arguments_that_are_not_static(donated, static, expected):
    assert rebase_donate_argnums(donated, static) == expected


def test_an_argument_that_is_donated_and_static():
    with pytest.raises(ValueError, match=re.escape("arguments 0 are in donate_argnums and in")):
        rebase_donate_argnums((0,), (0,))


def test_axes_of_arguments_and_keyword_arguments():
    tree = tree_structure(((1, (2, 3)), {"a": 1}))
    assert flatten_axes("n", tree, (0, 1), kws=True) == [0, 0, 0, 1]
    args = tree_structure(((1, (2, 3)),))
    assert flatten_axes("n", args, ((0, (1, 2)),), tupled_args=True) == [0, 1, 2]


def test_names_for_messages():
    signature = inspect.signature(lambda left, right: None)
    found = debug_info("t", lambda *xs: xs, (1.0, 2.0), {}, sourceinfo="f", signature=signature)
    assert (found.func_name, found.arg_names) == ("f", ("left", "right"))
