"""Sorting and the greatest elements."""

import numpy as np
import pytest

from ricci_autodiff import grad, jvp
from ricci_batching import vmap
from ricci_ir import ShapeDtypeStruct, check_jaxpr, make_jaxpr
from ricci_lax.elementwise._arithmetic import mul
from ricci_lax.reductions._sorting import sort, sort_key_val, top_k
from ricci_lax.structure._broadcasting import reduce_sum


def of(*shape, dtype="float32"):
    return ShapeDtypeStruct(shape, np.dtype(dtype))


def total(x):
    return reduce_sum(x, tuple(range(len(x.shape))))


def _top_values(x):
    return top_k(x, 2, axis=0)[0]


FUNCTIONS = [lambda x: sort(x, 0), lambda x: sort(x), _top_values]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_batches(function, dim):
    (one,) = make_jaxpr(function)(of(3, 4)).out_avals
    shape = (*(3, 4)[:dim], 5, *(3, 4)[dim:])
    jaxpr = make_jaxpr(vmap(function, dim))(of(*shape))
    check_jaxpr(jaxpr)
    assert jaxpr.out_avals[0].shape == (5, *one.shape)


@pytest.mark.parametrize("in_axes", [(0, None), (None, 2), (1, 1)])
def test_batches_of_several_operands(in_axes):
    shapes = [(3, 4) if d is None else (*(3, 4)[:d], 5, *(3, 4)[d:]) for d in in_axes]
    jaxpr = make_jaxpr(vmap(lambda x, y: sort((x, y), 0), in_axes))(*(of(*s) for s in shapes))
    check_jaxpr(jaxpr)
    assert [aval.shape for aval in jaxpr.out_avals] == [(5, 3, 4)] * 2


@pytest.mark.parametrize("function", FUNCTIONS)
def test_derivatives_of_second_order_check(function):
    first = grad(lambda x: total(mul(function(x), function(x))))
    jaxpr = make_jaxpr(grad(lambda x: total(mul(first(x), first(x)))))(of(3, 4))
    check_jaxpr(jaxpr)
    assert jaxpr.out_avals[0].shape == (3, 4)


def test_tangents_are_reordered_in_the_same_way():
    jaxpr = make_jaxpr(lambda x, t: jvp(sort, (x,), (t,)))(of(3, 4), of(3, 4))
    names = [eqn.primitive.name for eqn in jaxpr.eqns]
    assert names == ["iota", "sort", "broadcast_in_dim", "gather"]


def test_keys_and_values_keep_their_dtypes():
    jaxpr = make_jaxpr(sort_key_val)(of(3, 4), of(3, 4, dtype="int32"))
    assert [aval.dtype for aval in jaxpr.out_avals] == [np.float32, np.int32]


def test_indices_are_int32():
    values, indices = make_jaxpr(lambda x: top_k(x, 2))(of(3, 4, dtype="uint8")).out_avals
    assert (values.dtype, indices.dtype) == (np.uint8, np.int32)


@pytest.mark.parametrize(
    ("error", "message", "function"),
    [
        (
            TypeError,
            "sort: the operands are sorted together, but",
            lambda x: sort((x, reduce_sum(x, (0,)))),
        ),
        (ValueError, "is out of bounds for an array of dimension", lambda x: sort(x, 2)),
        (ValueError, "of them at least, and by all at most", lambda x: sort((x,), num_keys=2)),
        (ValueError, "of them at least, and by all at most", lambda x: sort((x,), num_keys=0)),
        (TypeError, "sort: there is nothing to sort; give one", lambda x: sort(())),
        (ValueError, "top_k: there are no", lambda x: top_k(x, 9)),
        (ValueError, "is negative", lambda x: top_k(x, -1)),
        (ValueError, "is out of bounds for an array of dimension", lambda x: top_k(total(x), 1)),
    ],
)
def test_errors_name_the_rule_that_is_broken(error, message, function):
    with pytest.raises(error, match=message):
        make_jaxpr(function)(of(3, 4))


def test_complex_numbers_have_no_greatest():
    with pytest.raises(ValueError, match="complex"):
        make_jaxpr(lambda x: top_k(x, 1))(of(3, dtype="complex64"))
