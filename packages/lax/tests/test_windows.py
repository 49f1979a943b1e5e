"""Windowed reductions and their derivatives."""

import numpy as np
import pytest

from ricci_autodiff import grad, jvp
from ricci_batching import vmap
from ricci_ir import ShapeDtypeStruct, check_jaxpr, make_jaxpr
from ricci_lax.elementwise._arithmetic import mul
from ricci_lax.elementwise._linear import add
from ricci_lax.elementwise._piecewise_linear import max, min
from ricci_lax.reductions._window_shape import padtype_to_pads, reduce_window_shape_tuple
from ricci_lax.reductions._windows import reduce_window
from ricci_lax.structure._broadcasting import reduce_sum

INFINITY = np.float32(np.inf)
ZERO, ONE = np.float32(0), np.float32(1)


def of(*shape, dtype="float32"):
    return ShapeDtypeStruct(shape, np.dtype(dtype))


def total(x):
    return reduce_sum(x, tuple(range(len(x.shape))))


def names(jaxpr):
    return [eqn.primitive.name for eqn in jaxpr.eqns]


def _product(a, b):
    return mul(a, b)


# Each reduces a 5 by 6 array.
WINDOWS = {
    "max": lambda x: reduce_window(x, -INFINITY, max, (2, 3), (1, 2), "SAME"),
    "min": lambda x: reduce_window(x, INFINITY, min, (2, 3), (1, 2), "VALID"),
    "max of spread": lambda x: reduce_window(
        x, -INFINITY, max, (2, 3), (1, 2), ((0, 1), (1, 0)), base_dilation=(2, 1)
    ),
    "sum": lambda x: reduce_window(x, ZERO, add, (2, 3), (1, 2), ((0, 1), (1, 0)), (2, 1), (1, 2)),
    "product": lambda x: reduce_window(x, ONE, _product, (2, 3), (1, 2), "SAME"),
}


@pytest.mark.parametrize(
    ("init", "computation", "name"),
    [
        (0.0, add, "reduce_window_sum"),
        (ONE, add, "reduce_window"),
        (-INFINITY, max, "reduce_window_max"),
        (-np.inf, max, "reduce_window_max"),
        (INFINITY, min, "reduce_window_min"),
        (ONE, mul, "reduce_window"),
        (ZERO, lambda a, b: add(a, b), "reduce_window"),
    ],
)
def test_monoids_are_known(init, computation, name):
    jaxpr = make_jaxpr(lambda x: reduce_window(x, init, computation, (2, 3)))(of(5, 6))
    assert names(jaxpr) == [name]


@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_windows_do_not_reach_across_a_batch(name, dim):
    (one,) = make_jaxpr(WINDOWS[name])(of(5, 6)).out_avals
    shape = (*(5, 6)[:dim], 3, *(5, 6)[dim:])
    jaxpr = make_jaxpr(vmap(WINDOWS[name], dim))(of(*shape))
    check_jaxpr(jaxpr)
    assert jaxpr.out_avals[0].shape == (3, *one.shape)


@pytest.mark.parametrize("name", WINDOWS)
def test_derivatives_check(name):
    forward = make_jaxpr(lambda x, t: jvp(WINDOWS[name], (x,), (t,)))(of(5, 6), of(5, 6))
    check_jaxpr(forward)
    first = grad(lambda x: total(mul(WINDOWS[name](x), WINDOWS[name](x))))
    second = make_jaxpr(grad(lambda x: total(mul(first(x), first(x)))))(of(5, 6))
    check_jaxpr(second)
    assert second.out_avals[0].shape == (5, 6)


def test_the_gradient_of_a_pooled_maximum_scatters():
    jaxpr = make_jaxpr(grad(lambda x: total(WINDOWS["max"](x))))(of(5, 6))
    assert names(jaxpr)[-1] == "select_and_scatter_add"


def test_a_dilated_window_has_no_gradient():
    def pooled(x):
        return total(reduce_window(x, -INFINITY, max, (2, 3), window_dilation=(2, 1)))

    with pytest.raises(NotImplementedError, match="mode derivative here; the windows must be"):
        make_jaxpr(grad(pooled))(of(5, 6))


def test_batches_of_initial_values():
    def one(x, init):
        return reduce_window(x, init, _product, (2, 3))

    jaxpr = make_jaxpr(vmap(one, (1, 0)))(of(5, 3, 6), of(3))
    check_jaxpr(jaxpr)
    assert jaxpr.out_avals[0].shape == (3, 4, 4)


def test_several_operands():
    def both(x, y):
        start = (ZERO, np.int32(1))
        combine = lambda a, b: (max(a[0], b[0]), add(a[1], b[1]))
        return reduce_window((x, y), start, combine, (2, 3))

    jaxpr = make_jaxpr(both)(of(5, 6), of(5, 6, dtype="int32"))
    assert [aval.dtype for aval in jaxpr.out_avals] == [np.float32, np.int32]


@pytest.mark.parametrize(
    ("arguments", "pads"),
    [
        (((10, 7), (3, 3), (2, 2), "SAME"), [(0, 1), (1, 1)]),
        (((10, 7), (3, 3), (2, 2), "SAME_LOWER"), [(1, 0), (1, 1)]),
        (((10, 7), (3, 3), (2, 2), "valid"), [(0, 0), (0, 0)]),
    ],
)
def test_named_paddings(arguments, pads):
    assert padtype_to_pads(*arguments) == pads


def test_shape_functions_need_no_operands():
    window = ((2, 3), (1, 2), ((0, 1), (1, 0)), (2, 1), (1, 2))
    assert reduce_window_shape_tuple((5, 6), *window) == (9, 2)


@pytest.mark.parametrize(
    ("error", "message", "options"),
    [
        (TypeError, "does not have one size for each dimension", {"window_dimensions": (2,)}),
        (TypeError, "differ in length; give one number of each", {"window_strides": (1,)}),
        (TypeError, "reduce_window: window_strides=", {"window_strides": (1, 0)}),
        (TypeError, "reduce_window: window_dimensions=", {"window_dimensions": (2, 0)}),
        (TypeError, "reduce_window: base_dilation=", {"base_dilation": (0, 1)}),
        (TypeError, "differ in length; give one number of each", {"padding": ((0, 1),)}),
        (RuntimeError, "is unknown; it is", {"padding": "FOO"}),
        (TypeError, "scalars", {"init_value": np.zeros(3, np.float32)}),
        (
            ValueError,
            "reduce_window: the computation must return",
            {"computation": lambda a, b: (a, b)},
        ),
        (ValueError, "reduce_window: operands have structure", {"init_value": (ZERO,)}),
    ],
)
def test_errors_name_the_rule_that_is_broken(error, message, options):
    options = {"init_value": ZERO, "computation": add, "window_dimensions": (2, 3), **options}
    with pytest.raises(error, match=message):
        make_jaxpr(lambda x: reduce_window(x, **options))(of(5, 6))
