"""Functions with transformations around them."""

import pytest

from ricci_compat import api_util
from ricci_compat import linear_util as lu
from ricci_pytree import tree_structure


def add(x, y, *, z=0):
    return x + y, {"z": z}


def test_parameters_are_given_in_every_call():
    assert lu.wrap_init(add, {"z": 5}).call_wrapped(1, 2) == (3, {"z": 5})
    assert lu.wrap_init(add).call_wrapped(1, 2, z=4) == (3, {"z": 4})


def test_flatten_fun():
    fun, out_tree = lu.flatten_fun(lu.wrap_init(add), tree_structure(((1, 2), {"z": 3})))
    assert fun.call_wrapped(1, 2, 3) == [3, 3]
    assert out_tree() == tree_structure((0, {"z": 0}))


def test_flatten_fun_nokwargs():
    fun, out_tree = lu.flatten_fun_nokwargs(lu.wrap_init(add), tree_structure((1, 2)))
    assert fun.call_wrapped(1, 2) == [3, 0]
    assert out_tree() == tree_structure((0, {"z": 0}))


def test_a_store_is_filled_by_the_call():
    _, out_tree = lu.flatten_fun_nokwargs(lu.wrap_init(add), tree_structure((1, 2)))
    with pytest.raises(lu.StoreException, match="has not been called"):
        out_tree()


@pytest.mark.parametrize(("dynamic", "given", "expected"), [(0, 7, (27, 10)), ((1,), 7, (17, 20))])
def test_argnums_partial(dynamic, given, expected):
    fun, values = api_util.argnums_partial(lu.wrap_init(lambda x, y: x + y), dynamic, (10, 20))
    assert (fun.call_wrapped(given), *values) == expected


def test_argnums_partial_refuses_unhashable_values():
    f = lu.wrap_init(lambda x, y: (x, y))
    with pytest.raises(ValueError, match="argument 1 of .*list"):
        api_util.argnums_partial(f, 0, (1, [2]))
    fun, _ = api_util.argnums_partial(f, 0, (1, [2]), require_static_args_hashable=False)
    assert fun.call_wrapped(3) == (3, [2])


@lu.transformation
def scaled(factor, *args):
    result = yield tuple(x * factor for x in args), {}
    yield result, factor


@lu.transformation_with_aux
def counted(*args):
    result = yield args, {}
    yield result, len(args)


@lu.transformation2
def negated(f, *args):
    return -f(*args)


@lu.transformation_with_aux2
def noted(f, store, *args):
    store.store(args)
    return f(*args)


def plus(x, y):
    return x + y


def test_transformations_nest():
    fun = negated(lu.wrap_init(plus))
    assert scaled(fun, 3).call_wrapped(1, 2) == (-9, 3)
    assert repr(scaled(fun, 3)) == "WrappedFun(scaled/negated/plus)"


@pytest.mark.parametrize(("transform", "aux"), [(counted, 2), (noted, (1, 2))])
def test_transformations_store_auxiliary_outputs(transform, aux):
    fun, stored = transform(lu.wrap_init(plus))
    assert (fun.call_wrapped(1, 2), stored()) == (3, aux)


def test_merge_linear_aux():
    (first, one), (second, two) = counted(lu.wrap_init(plus)), counted(lu.wrap_init(plus))
    with pytest.raises(lu.StoreException):
        lu.merge_linear_aux(one, two)
    second.call_wrapped(1, 2)
    assert lu.merge_linear_aux(one, two) == (False, 2)
    first.call_wrapped(1, 2)
    assert lu.merge_linear_aux(one, two) == (True, 2)


def test_equal_functions_are_equal():
    assert scaled(lu.wrap_init(plus), 2) == scaled(lu.wrap_init(plus), 2)
    assert scaled(lu.wrap_init(plus), 2) != scaled(lu.wrap_init(plus), 3)
    assert len({lu.wrap_init(plus), lu.wrap_init(plus)}) == 1


def test_debug_info_leaves_out_static_arguments():
    info = api_util.debug_info("t", lambda x, n, *, k: x, (1.0, 2), {"k": 3}, static_argnums=(-1,))
    assert (info.traced_for, info.func_name, info.arg_names) == ("t", "<lambda>", ("x", "k"))


def test_safe_map_wants_one_length():
    assert api_util.safe_map(plus, [1, 2], [3, 4]) == [4, 6]
    with pytest.raises(ValueError, match="shorter"):
        api_util.safe_map(plus, [1, 2], [3])


def test_safe_zip_wants_one_length():
    assert api_util.safe_zip([1, 2], [3, 4]) == [(1, 3), (2, 4)]
    with pytest.raises(ValueError, match="shorter"):
        api_util.safe_zip([1, 2], [3])


def test_a_function_that_stores_may_be_called_again():
    fun, out_tree = lu.flatten_fun_nokwargs(lu.wrap_init(add), tree_structure((1, 2)))
    fun.call_wrapped(1, 2)
    with pytest.raises(lu.StoreException, match="called before"):
        fun.call_wrapped(1, 2)
    assert fun.call_again(1, 2) == [3, 0]
    assert out_tree() == tree_structure((0, {"z": 0}))
