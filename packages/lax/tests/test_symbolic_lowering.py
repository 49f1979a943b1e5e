"""Programs with symbolic shapes in StableHLO: which form of an operation is written."""

import re

import numpy as np
import pytest

import ricci_lax as lax
from ricci_ir import ShapedArray, symbolic_shape, trace_to_jaxpr
from ricci_stablehlo import lower_jaxpr

B, D = symbolic_shape("b, d")
(C,) = symbolic_shape("c", constraints=["c >= 2"])


def _text(fun, *shapes):
    avals = [ShapedArray(shape, np.float32) for shape in shapes]
    return lower_jaxpr(trace_to_jaxpr(lambda *xs: [fun(*xs)], avals), "f")


# A function, the shapes of its arguments, and the operation that is written.
_WRITTEN = {
    "broadcast": (
        lambda x: lax.broadcast_in_dim(1.0, x.shape, ()),
        [(B,)],
        "dynamic_broadcast_in_",
    ),
    "reshape": (lambda x: lax.reshape(x, (3 * B,)), [(B, 3)], "dynamic_reshape"),
    "iota": (lambda x: lax.iota(np.float32, x.shape[0]), [(B,)], "dynamic_iota"),
    "slice": (lambda x: lax.slice(x, (1,), (C,)), [(C,)], "real_dynamic_slice"),
    "known slice": (lambda x: lax.slice(x, (0,), (2,)), [(C,)], "stablehlo.slice"),
    "pad": (lambda x: lax.pad(x, 0.0, [(B, 0, 0)]), [(B,)], "dynamic_pad"),
    "known pad": (lambda x: lax.pad(x, 0.0, [(1, 0, 0)]), [(B,)], "stablehlo.pad"),
    "window": (lambda x: lax.cumsum(x, 0), [(B,)], "dynamic_reduce_window"),
    "part": (
        lambda x, y: lax.dynamic_slice(x, (1, 0), (1, y.shape[0])),
        [(2, B), (B,)],
        "dynamic_gather",
    ),
    "elementwise": (lax.sin, [(B, D)], "stablehlo.sine %arg0 : tensor<?x?xf32>"),
}


@pytest.mark.parametrize("name", _WRITTEN)
def test_the_form_that_is_needed_is_written(name):
    fun, shapes, operation = _WRITTEN[name]
    assert operation in _text(fun, *shapes)


def test_static_shapes_are_lowered_statically():
    text = _text(lambda x: lax.reshape(lax.pad(x, 0.0, [(1, 0, 0)]), (2, 2)), (3,))
    assert not re.search("dynamic|get_dimension_size|shape_assertion|polymorphism", text)


def test_main_finds_the_variables_and_checks_them():
    text = _text(lambda x, y: lax.reduce_sum(x, (0,)), (2 * B + 1,), (B,))
    assert text.count("get_dimension_size") == 2
    # 2*b + 1 is solved for b, or the other argument gives it: one remainder or one equality.
    assert text.count('call_target_name = "shape_assertion"') >= 2
    assert "args[0].shape = (2*b + 1,); args[1].shape = (b,)" in text


def test_functions_take_the_variables():
    jitted = trace_to_jaxpr(
        lambda x: [lax.scan(lambda s, a: (lax.add(s, a), a), np.float32(0), x)[0]],
        [ShapedArray((B,), np.float32)],
    )
    assert "get_dimension_size %arg0" in lower_jaxpr(jitted, "f")


def test_a_variable_that_cannot_be_found_is_named():
    with pytest.raises(ValueError, match="dimension variables b, d"):
        _text(lax.sin, (B * D,))
