"""Scattering to a chosen element of each window, by any computations."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from ricci_batching import vmap
from ricci_ir import ShapeDtypeStruct, get_aval, make_jaxpr, trace_to_jaxpr
from ricci_lax import add, argmax, argmin, ge, mul, select_and_scatter_add_p, select_and_scatter_p
from ricci_lax.elementwise._comparison import ge_p
from ricci_stablehlo import lower_jaxpr


def of(*shape, dtype: Any = "float32"):
    return ShapeDtypeStruct(shape, np.dtype(dtype))


def scatter(x, source, init, combine=add, padding=((0, 0),)):
    scalar = np.zeros((), x.dtype)
    program = lambda f: trace_to_jaxpr(lambda a, b: [f(a, b)], [get_aval(scalar)] * 2)
    return select_and_scatter_p.bind(
        x,
        source,
        init,
        select_jaxpr=program(ge),
        select_consts=(),
        scatter_jaxpr=program(combine),
        scatter_consts=(),
        window_dimensions=(2,),
        window_strides=(2,),
        padding=padding,
    )


def test_select_and_scatter_is_one_operation_with_two_regions():
    text = lower_jaxpr(make_jaxpr(scatter)(of(6), of(3), of()), "f")
    assert '"stablehlo.select_and_scatter"(%arg0, %arg1, %arg2)' in text
    assert "stablehlo.compare GE" in text and "stablehlo.add" in text


@pytest.mark.parametrize(
    ("combine", "init", "expected"), [(add, 1, [1, 2, 1, 3, 5, 1]), (mul, 2, [2, 2, 2, 4, 8, 2])]
)
def test_values(backend, combine, init, expected):
    x = np.array([0, 1, 2, 3, 5, 4], np.float32)
    source = np.array([1, 2, 4], np.float32)
    found = scatter(x, source, np.float32(init), combine)
    np.testing.assert_array_equal(np.asarray(found), expected)


@pytest.mark.parametrize("in_axes", [c for c in product((None, 0), repeat=3) if any(c) or 0 in c])
def test_batches_are_the_loop(backend, in_axes):
    x = np.arange(12, dtype=np.float32).reshape(2, 6)[:, ::-1].copy()
    source, init = np.arange(6, dtype=np.float32).reshape(2, 3), np.array([1, 5], np.float32)
    args = [v if d == 0 else v[0] for v, d in zip((x, source, init), in_axes, strict=True)]
    one = lambda i: [a[i] if d == 0 else a for a, d in zip(args, in_axes, strict=True)]
    found = vmap(scatter, in_axes)(*args)
    expected = [np.asarray(scatter(*one(i))) for i in range(2)]
    np.testing.assert_array_equal(np.asarray(found), expected)


@pytest.mark.parametrize(
    ("message", "args"),
    [
        ("source must have one element for each window, shape .3,.", (of(6), of(4), of())),
        ("init_value must be a scalar", (of(6), of(3), of(2))),
        ("differ in dtype", (of(6), of(3, dtype="int32"), of())),
    ],
)
def test_errors_name_the_rule_that_is_broken(message, args):
    with pytest.raises(TypeError, match=f"select_and_scatter: .*{message}"):
        make_jaxpr(scatter)(*args)


def test_booleans_are_not_added_up():
    window = {"window_dimensions": (2,), "window_strides": (2,), "padding": ((0, 0),)}
    with pytest.raises(TypeError, match="not defined for dtype bool"):
        make_jaxpr(lambda s, x: select_and_scatter_add_p.bind(s, x, select_prim=ge_p, **window))(
            of(3, dtype="bool"), of(6, dtype="bool")
        )


@pytest.mark.parametrize("fun", [argmax, argmin])
def test_complex_numbers_have_no_extremum(fun):
    with pytest.raises(TypeError, match="complex numbers have no order"):
        make_jaxpr(lambda x: fun(x, 0, np.int32))(of(3, dtype="complex64"))
