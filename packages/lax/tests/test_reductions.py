"""Reductions: types, printed programs, derivatives, batches and errors."""

import numpy as np
import pytest

from ricci_autodiff import grad, jvp
from ricci_batching import vmap
from ricci_ir import ShapeDtypeStruct, check_jaxpr, make_jaxpr, use_backend
from ricci_lax.elementwise._arithmetic import mul
from ricci_lax.elementwise._linear import add
from ricci_lax.elementwise._piecewise_linear import max
from ricci_lax.reductions._arg_extrema import argmax, argmin
from ricci_lax.reductions._axis_reductions import (
    reduce_and,
    reduce_max,
    reduce_min,
    reduce_or,
    reduce_prod,
    reduce_xor,
)
from ricci_lax.reductions._cumulative import (
    associative_scan,
    cumlogsumexp,
    cummax,
    cummin,
    cumprod,
    cumsum,
)
from ricci_lax.reductions._reduce import reduce
from ricci_lax.reductions._windows import reduce_window
from ricci_lax.structure._broadcasting import reduce_sum
from ricci_lax.structure._filling import full

REDUCTIONS = [reduce_max, reduce_min, reduce_prod]
LOGICAL = [reduce_and, reduce_or, reduce_xor]
CUMULATIVE = [cumsum, cumprod, cummax, cummin, cumlogsumexp]


def of(*shape, dtype="float32"):
    return ShapeDtypeStruct(shape, np.dtype(dtype))


def primitives(jaxpr):
    return [eqn.primitive.name for eqn in jaxpr.eqns]


def total(x):
    return reduce_sum(x, tuple(range(len(x.shape))))


def result_of(fun, *args):
    (aval,) = make_jaxpr(fun)(*args).out_avals
    return aval


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_reduced_axes_are_removed(reduction):
    assert result_of(lambda x: reduction(x, (0, 2)), of(3, 4, 5)).shape == (4,)


@pytest.mark.parametrize("reduction", LOGICAL)
@pytest.mark.parametrize("dtype", ["bool", "int32", "uint8"])
def test_logical_reductions_keep_the_dtype(reduction, dtype):
    assert result_of(lambda x: reduction(x, (0,)), of(3, dtype=dtype)).dtype == dtype


def test_the_result_is_weak_where_the_operand_is():
    assert result_of(lambda: reduce_max(full((3,), 2.0), (0,))).weak_type


@pytest.mark.parametrize("reduction", [*REDUCTIONS, *LOGICAL])
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_batching_shifts_the_axes(reduction, dim):
    shape = [3, 4]
    shape.insert(dim, 2)
    jaxpr = make_jaxpr(vmap(lambda x: reduction(x, (1,)), dim))(of(*shape, dtype="int32"))
    assert jaxpr.out_avals[0].shape == (2, 3)
    assert jaxpr.eqns[0].params["axes"] == (1 + (dim <= 1),)


def test_the_derivative_of_a_maximum_is_shared_among_equals():
    jaxpr = make_jaxpr(grad(lambda x: reduce_max(x, (0,))))(of(4))
    expected = ["reduce_max", "reshape", "eq", "convert_element_type", "reduce_sum", "div"]
    assert [name for name in primitives(jaxpr) if name in expected] == expected


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1), ()])
def test_derivatives_of_second_order_check(reduction, axes):
    def first(x):
        return grad(lambda x: total(mul(reduction(x, axes), reduction(x, axes))))(x)

    jaxpr = make_jaxpr(grad(lambda x: total(mul(first(x), first(x)))))(of(3, 4))
    check_jaxpr(jaxpr)
    assert jaxpr.out_avals[0].shape == (3, 4)


def test_a_product_of_nothing_has_a_zero_derivative():
    jaxpr = make_jaxpr(lambda x: jvp(lambda x: reduce_prod(x, (0,)), (x,), (x,)))(of(0, 4))
    assert [aval.shape for aval in jaxpr.out_avals] == [(4,), (4,)]


@pytest.mark.parametrize("function", [argmax, argmin])
def test_arguments_of_extrema_have_the_index_dtype(function):
    assert str(make_jaxpr(lambda x: function(x, 1, np.uint8))(of(3, 4))) == (
        "{ lambda ; a:f32[3,4]. let\n"
        f"    b:u8[3] = {function.__name__}[axes=(1,) index_dtype=uint8] a\n"
        "  in (b,) }"
    )


ERRORS = [
    (ValueError, "names an axis that is out of bounds", lambda x: reduce_max(x, (2,))),
    (ValueError, "names an axis twice", lambda x: reduce_min(x, (0, 0))),
    (ValueError, "names an axis that is out of bounds", lambda x: reduce_prod(x, (-1,))),
    (TypeError, "only booleans and integers can be combined", lambda x: reduce_and(x, (0,))),
    (ValueError, "is out of bounds for shape", lambda x: argmax(x, 2, np.int32)),
    (ValueError, "is out of bounds for shape", lambda x: argmin(x, -1, np.int32)),
    (TypeError, "cannot count positions; give an integer", lambda x: argmax(x, 0, np.float32)),
    (ValueError, "is negative; count the axes of lax", lambda x: cumsum(x, -1)),
    (ValueError, "is out of bounds for shape", lambda x: cummax(x, 2)),
    (
        TypeError,
        "Give each operand an initial value of its",
        lambda x: reduce(x, np.int32(1), add, (0,)),
    ),
    (
        ValueError,
        "reduce: operands have structure PyTreeDef",
        lambda x: reduce((x, x), (np.float32(0),), add, (0,)),
    ),
    (
        ValueError,
        "reduce: the initial values have shapes",
        lambda x: reduce(x, np.zeros(3, np.float32), add, (0,)),
    ),
    (ValueError, "reduce: there is nothing to reduce; give", lambda x: reduce((), (), add, (0,))),
    (TypeError, "give a function of two elements that", lambda x: associative_scan(1, x)),
]


@pytest.mark.parametrize(("error", "message", "function"), ERRORS)
def test_errors_name_the_rule_that_is_broken(error, message, function):
    with pytest.raises(error, match=message):
        make_jaxpr(function)(of(3, 4))


def test_an_empty_axis_has_no_extremum():
    with pytest.raises(ValueError, match="is empty, so that no element can be chosen"):
        make_jaxpr(lambda x: argmax(x, 0, np.int32))(of(0, 3))


@pytest.mark.parametrize("function", CUMULATIVE)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("size", [1, 2, 5])
def test_derivatives_of_running_combinations_check(function, reverse, size):
    def scalar(x):
        return total(function(x, 1, reverse))

    jaxpr = make_jaxpr(grad(scalar))(of(2, size))
    check_jaxpr(jaxpr)
    assert jaxpr.out_avals[0].shape == (2, size)


@pytest.mark.parametrize("function", CUMULATIVE)
@pytest.mark.parametrize(("dim", "axis"), [(0, 1), (1, 0), (2, 0)])
def test_batches_of_running_combinations(function, dim, axis):
    jaxpr = make_jaxpr(vmap(lambda x: function(x, 0), dim, dim))(of(2, 3, 4))
    assert jaxpr.eqns[0].params == {"axis": axis, "reverse": False}


def test_the_transpose_of_a_running_sum_runs_backwards():
    jaxpr = make_jaxpr(grad(lambda x: total(cumsum(x))))(of(3))
    directions = [e.params["reverse"] for e in jaxpr.eqns if e.primitive.name == "cumsum"]
    assert directions == [False, True]


@pytest.mark.parametrize(
    ("init", "computation", "name"),
    [
        (np.float32(0), add, "reduce_sum"),
        (0.0, add, "reduce_sum"),
        (1.0, add, "reduce"),
        (np.float32(1), mul, "reduce_prod"),
        (-np.float32(np.inf), max, "reduce_max"),
        (np.float32(0), max, "reduce"),
        (np.float32(0), lambda a, b: add(a, b), "reduce"),
    ],
)
def test_reduce_knows_monoids(init, computation, name):
    jaxpr = make_jaxpr(lambda x: reduce(x, init, computation, (0,)))(of(3, 4))
    assert primitives(jaxpr) == [name]


def _pairs(x, y):
    start = (np.float32(0), np.int32(1))
    return reduce((x, y), start, lambda a, b: (max(a[0], b[0]), add(a[1], b[1])), (1,))


@pytest.mark.parametrize("in_axes", [(0, None), (None, 1), (2, 0)])
def test_batches_of_reductions_of_several_operands(in_axes):
    shapes = [(3, 4) if d is None else (*(3, 4)[:d], 7, *(3, 4)[d:]) for d in in_axes]
    args = of(*shapes[0]), of(*shapes[1], dtype="int32")
    jaxpr = make_jaxpr(vmap(_pairs, in_axes))(*args)
    check_jaxpr(jaxpr)
    assert [aval.shape for aval in jaxpr.out_avals] == [(7, 3), (7, 3)]


def test_batches_of_initial_values():
    def one(x, init):
        return reduce(x, init, lambda a, b: add(a, b), (0,))

    jaxpr = make_jaxpr(vmap(one, (1, 0)))(of(3, 5, 4), of(5))
    assert jaxpr.out_avals[0].shape == (5, 4)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 13])
def test_derivatives_of_reductions_keep_the_order_of_elements(count):
    # Affine maps compose associatively, and do not commute.
    compose = lambda f, g: (mul(f[0], g[0]), add(mul(f[1], g[0]), g[1]))
    slopes = np.linspace(0.5, 1.5, 2 * count, dtype=np.float32).reshape(2, count)
    offsets = np.cos(np.arange(2 * count, dtype=np.float32)).reshape(2, count)
    fun = lambda a, b: reduce((a, b), (np.float32(1), np.float32(0)), compose, (1,))
    zeros = np.zeros_like(slopes)
    # The derivative by the first offset is the product of the slopes after it.
    first = zeros.copy()
    first[:, 0] = 1
    reference = pytest.importorskip("ricci_reference", reason="values need a backend")
    with use_backend(reference.reference_backend):
        values, tangents = jvp(fun, (slopes, offsets), (zeros, first))
    slope, offset = np.ones(2), np.zeros(2)
    for a, b in zip(slopes.T, offsets.T, strict=True):
        slope, offset = slope * a, offset * a + b
    np.testing.assert_allclose(values[0], slope, rtol=1e-5)
    np.testing.assert_allclose(values[1], offset, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(tangents[1], slopes[:, 1:].prod(1), rtol=1e-5)


@pytest.mark.parametrize("name", ["reduce", "reduce_window"])
def test_a_computation_is_traced_once_for_a_type(name):
    traced = []

    def computation(a, b):
        traced.append(a)
        return add(mul(a, b), b)

    zero = np.float32(0)
    call = {
        "reduce": lambda x: reduce(x, zero, computation, (0,)),
        "reduce_window": lambda x: reduce_window(x, zero, computation, (2,), (1,), "VALID"),
    }[name]
    results = [call(np.arange(3, dtype=np.float32) + i) for i in range(3)]
    assert len(traced) == 1
    assert not np.array_equal(results[0], results[1])
    if name == "reduce":
        reduce(np.arange(3), 0, computation, (0,))
        assert len(traced) == 2
