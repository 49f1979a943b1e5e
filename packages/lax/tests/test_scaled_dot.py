"""Products of scaled blocks."""

from typing import Any

import numpy as np
import pytest
from ml_dtypes import float8_e4m3fn, float8_e8m0fnu

from ricci_autodiff import grad, jvp
from ricci_batching import vmap
from ricci_ir import ShapeDtypeStruct, bfloat16, check_jaxpr, make_jaxpr
from ricci_lax import mul, reduce_sum, scaled_dot
from ricci_stablehlo import lower_jaxpr

NARROW, SCALE = np.dtype(float8_e4m3fn), np.dtype(float8_e8m0fnu)


def of(*shape, dtype: Any = NARROW):
    return ShapeDtypeStruct(shape, np.dtype(dtype))


def scaled(x, y, x_scale, y_scale):
    return scaled_dot(x, y, lhs_scale=x_scale, rhs_scale=y_scale)


MATRICES = of(2, 8), of(8, 3), of(2, 4, dtype=SCALE), of(2, 3, dtype=SCALE)


@pytest.mark.parametrize(
    ("shapes", "numbers", "shape"),
    [
        (((2, 8), (8, 3)), None, (2, 3)),
        (((5, 2, 8), (5, 8, 3)), None, (5, 2, 3)),
        (((4, 5, 2, 8), (4, 5, 8, 3)), None, (4, 5, 2, 3)),
        (((8,), (8,)), (((0,), (0,)), ((), ())), ()),
        (((4, 8), (8, 4)), (((1, 0), (0, 1)), ((), ())), ()),
    ],
)
def test_shapes(shapes, numbers, shape):
    jaxpr = make_jaxpr(lambda x, y: scaled_dot(x, y, dimension_numbers=numbers))(
        *(of(*s) for s in shapes)
    )
    assert (jaxpr.out_avals[0].shape, jaxpr.out_avals[0].dtype) == (shape, bfloat16)


def test_scaled_dot_prints_as_in_jax():
    assert str(make_jaxpr(scaled)(*MATRICES)) == (
        "{ lambda ; a:f8_e4m3fn[2,8] b:f8_e4m3fn[8,3] c:f8_e8m0fnu[2,4] d:f8_e8m0fnu[2,3]. let\n"
        "    e:bf16[2,3] = scaled_dot[\n"
        "      dimension_numbers=(((1,), (0,)), ((), ()))\n"
        "      preferred_element_type=bfloat16\n"
        "    ] a b c d\n"
        "  in (e,) }"
    )


@pytest.mark.parametrize("platform", ["cpu", "cuda", "tpu"])
def test_compilers_see_a_composite(platform):
    text = lower_jaxpr(make_jaxpr(scaled)(*MATRICES), "f", platform=platform)
    assert (
        'stablehlo.composite "xla.scaled_dot" %arg0, %arg1, %arg2, %arg3 {composite_attributes = '
        "{dimension_numbers = [[[1], [0]], [[], []]], preferred_element_type = bf16}, "
        "decomposition = @xla.scaled_dot}"
    ) in text


def test_blocks_are_scaled(backend):
    x = np.array([[1, 2, 3, 4]], np.float32)
    y = np.ones((4, 1), np.float32)
    scale = np.array([[2, 0.5]], np.float32)
    product = scaled_dot(x, y, lhs_scale=scale, preferred_element_type=np.float32)
    assert float(np.asarray(product)[0, 0]) == 2 * (1 + 2) + 0.5 * (3 + 4)


def test_derivatives_are_those_of_the_decomposition(backend):
    x, y = np.array([[1, 2, 3, 4]], np.float32), np.ones((4, 1), np.float32)
    scale = np.array([[2, 0.5]], np.float32)
    fun: Any = lambda x, s: scaled_dot(x, y, lhs_scale=s, preferred_element_type=np.float32)
    by_x, by_scale = grad(lambda *xs: reduce_sum(fun(*xs), (0, 1)), (0, 1))(x, scale)
    np.testing.assert_array_equal(np.asarray(by_x), [[2, 2, 0.5, 0.5]])
    np.testing.assert_array_equal(np.asarray(by_scale), [[3, 7]])
    pushed = jvp(fun, (x, scale), (x, scale))[1]
    assert float(np.asarray(pushed)[0, 0]) == 2 * (6 + 3.5)


def test_derivatives_of_second_order_are_well_formed():
    args = of(2, 8, dtype="float32"), of(8, 3, dtype="float32")
    square = lambda x: reduce_sum(mul(x, x), (0, 1))
    first: Any = lambda x, y: square(grad(lambda z: square(scaled_dot(z, y)))(x))
    check_jaxpr(make_jaxpr(grad(first, (0, 1)))(*args))


@pytest.mark.parametrize("in_axes", [(0, 0, 0, 0), (1, None, 2, None), (None, None, None, 1)])
def test_batches(in_axes):
    args = [
        x if d is None else of(*x.shape[:d], 7, *x.shape[d:], dtype=x.dtype)
        for x, d in zip(MATRICES, in_axes, strict=True)
    ]
    assert make_jaxpr(vmap(scaled, in_axes))(*args).out_avals[0].shape == (7, 2, 3)


@pytest.mark.parametrize(
    ("message", "shapes"),
    [
        ("contracting dimensions of operands", ((2, 8), (4, 3), (2, 2), (2, 3))),
        ("must all have one rank", ((2, 8), (8, 3), (2,), (2, 3))),
        ("cannot be cut into 3 equal blocks", ((2, 8), (8, 3), (2, 3), (2, 3))),
        ("a block must have 2 elements", ((2, 8), (8, 3), (2, 8), (2, 3))),
        ("must have the size of lhs", ((2, 8), (8, 3), (1, 2), (2, 3))),
        ("batch dimensions .0, 0.", ((5, 2, 8), (5, 8, 3), (1, 2, 2), (5, 2, 3))),
    ],
)
def test_errors_name_the_rule_that_is_broken(message, shapes):
    with pytest.raises(TypeError, match=message):
        make_jaxpr(scaled)(*(of(*s) for s in shapes))


def test_vectors_need_dimension_numbers():
    with pytest.raises(TypeError, match="products of vectors need dimension_numbers"):
        make_jaxpr(scaled_dot)(of(8), of(8))
