"""Products of groups of rows: shapes, text, derivatives, batches and errors."""

from typing import Any

import numpy as np
import pytest

from ricci_autodiff import grad
from ricci_batching import vmap
from ricci_ir import ShapeDtypeStruct, bfloat16, check_jaxpr, make_jaxpr
from ricci_lax import RaggedDotDimensionNumbers, mul, ragged_dot, ragged_dot_general, reduce_sum
from ricci_stablehlo import lower_jaxpr

FREE = RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), [0], [0])
CONTRACTING = RaggedDotDimensionNumbers((((0,), (0,)), ((), ())), [0], [])
BATCH = RaggedDotDimensionNumbers((((2,), (1,)), ((0,), (0,))), [0], [])
FREE_OF_BATCH = RaggedDotDimensionNumbers((((2,), (2,)), ((0,), (0,))), [1], [1])
# By mode: dimension numbers, and shapes of lhs, rhs, group sizes and the result.
MODES = {
    "free": (FREE, (6, 3), (2, 3, 4), (2,), (6, 4)),
    "contracting": (CONTRACTING, (6, 3), (6, 4), (2,), (2, 3, 4)),
    "batch": (BATCH, (6, 5, 3), (6, 3, 4), (2,), (6, 5, 4)),
    "free of a batch": (FREE_OF_BATCH, (5, 6, 3), (5, 2, 3, 4), (5, 2), (5, 6, 4)),
}


def of(*shape, dtype: Any = "float32"):
    return ShapeDtypeStruct(shape, np.dtype(dtype))


def product(numbers, **options):
    return lambda x, y, sizes: ragged_dot_general(x, y, sizes, numbers, **options)


def operands(mode):
    numbers, lhs, rhs, sizes, _ = MODES[mode]
    return product(numbers), (of(*lhs), of(*rhs), of(*sizes, dtype="int32"))


def total(x):
    return reduce_sum(mul(x, x), tuple(range(len(x.shape))))


@pytest.mark.parametrize("mode", MODES)
def test_shapes(mode):
    fun, args = operands(mode)
    (aval,) = make_jaxpr(fun)(*args).out_avals
    assert aval.shape == MODES[mode][-1]


def test_ragged_dot_prints_as_in_jax():
    args = of(6, 3), of(2, 3, 4), of(2, dtype="int32")
    jaxpr = make_jaxpr(lambda *xs: ragged_dot(*xs, preferred_element_type=np.float32))(*args)
    assert str(jaxpr) == (
        "{ lambda ; a:f32[6,3] b:f32[2,3,4] c:i32[2]. let\n"
        "    d:f32[6,4] = ragged_dot_general[\n"
        "      group_offset=None\n"
        "      out_sharding=None\n"
        "      precision=None\n"
        "      preferred_element_type=<class 'numpy.float32'>\n"
        "      ragged_dot_dimension_numbers=RaggedDotDimensionNumbers("
        "dot_dimension_numbers=(((1,), (1,)), ((), ())), lhs_ragged_dimensions=(0,), "
        "rhs_group_dimensions=(0,))\n"
        "    ] a b c\n"
        "  in (d,) }"
    )


@pytest.mark.parametrize(
    ("mode", "fields"),
    [
        ("free", "lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], "
         "lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]"),
        ("contracting", "lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0], "
         "lhs_ragged_dimensions = [0]"),
        ("batch", "lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], "
         "lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1], "
         "lhs_ragged_dimensions = [0]"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("platform", ["cuda", "rocm", "tpu"])
def test_accelerators_get_it_as_one_operation(mode, fields, platform):
    fun, args = operands(mode)
    text = lower_jaxpr(make_jaxpr(fun)(*args), "f", platform=platform)
    assert f"ragged_dot_dimension_numbers = #chlo.ragged_dot<{fields}>" in text
    assert "precision_config = [#chlo<precision DEFAULT>, #chlo<precision DEFAULT>]" in text


@pytest.mark.parametrize(
    ("mode", "dims"),
    [
        ("free", "contracting_dims = [2, 0] x [1, 0]"),
        ("contracting", "batching_dims = [0] x [0], contracting_dims = [1] x [1]"),
        ("batch", "batching_dims = [0] x [0], contracting_dims = [2] x [1]"),
        ("free of a batch", "batching_dims = [1] x [0], contracting_dims = [3, 0] x [2, 1]"),
    ],
)
def test_the_cpu_gets_a_dense_product(mode, dims):
    fun, args = operands(mode)
    text = lower_jaxpr(make_jaxpr(fun)(*args), "f", platform="cpu")
    assert f"{dims}, precision = [DEFAULT, DEFAULT]" in text
    assert "ragged" not in text


def test_precision_and_algorithm_reach_the_product():
    args = of(6, 3), of(2, 3, 4), of(2, dtype="int32")
    texts = [
        lower_jaxpr(make_jaxpr(product(FREE, precision=p))(*args), "f", platform=platform)
        for p, platform in (("highest", "cuda"), ("F32_F32_F32", "cpu"))
    ]
    assert "[#chlo<precision HIGHEST>, #chlo<precision HIGHEST>]" in texts[0]
    assert "algorithm = <lhs_precision_type = f32" in texts[1]


@pytest.mark.parametrize("mode", MODES)
def test_derivatives_of_second_order_are_well_formed(mode):
    fun, args = operands(mode)
    first = lambda x, y, sizes: total(grad(lambda x: total(fun(x, y, sizes)))(x))
    jaxpr = make_jaxpr(grad(first, (0, 1)))(*args)
    check_jaxpr(jaxpr)
    assert [a.shape for a in jaxpr.out_avals] == [a.shape for a in args[:2]]


def test_cotangents_have_the_operands_dtypes():
    args = of(6, 3), of(2, 3, 4, dtype=bfloat16), of(2, dtype="int32")
    jaxpr = make_jaxpr(grad(lambda *xs: total(ragged_dot(*xs)), (0, 1)))(*args)
    assert [a.dtype for a in jaxpr.out_avals] == [np.float32, bfloat16]


@pytest.mark.parametrize("in_axes", [(0, 0, 0), (1, None, None), (None, 2, None), (None, None, 1)])
@pytest.mark.parametrize("mode", MODES)
def test_batches(mode, in_axes):
    fun, args = operands(mode)
    batched = [
        x if d is None else of(*x.shape[:d], 7, *x.shape[d:], dtype=x.dtype)
        for x, d in zip(args, in_axes, strict=True)
    ]
    jaxpr = make_jaxpr(vmap(fun, in_axes))(*batched)
    check_jaxpr(jaxpr)
    assert jaxpr.out_avals[0].shape == (7, *MODES[mode][-1])


@pytest.mark.parametrize(
    ("sizes", "ends"), [([2, 3], (2, 5)), ([0, 6], (0, 6)), ([4, 4], (4, 6)), ([6, 0], (6, 6))]
)
def test_each_row_meets_its_groups_matrix(backend, sizes, ends):
    x = np.arange(18, dtype=np.float32).reshape(6, 3)
    y = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    expected = np.zeros((6, 4), np.float32)
    expected[: ends[0]] = x[: ends[0]] @ y[0]
    expected[ends[0] : ends[1]] = x[ends[0] : ends[1]] @ y[1]
    found = ragged_dot(x, y, np.array(sizes, np.int32))
    np.testing.assert_array_equal(np.asarray(found), expected)


@pytest.mark.parametrize(
    ("message", "ragged", "groups", "shapes"),
    [
        ("must name one dimension of lhs", [0, 1], [0], ()),
        ("must name one dimension of lhs", [], [0], ()),
        ("lhs_ragged_dimensions=.2,. names a dimension that lhs", [2], [0], ()),
        ("lhs_ragged_dimensions=.-1,. names a dimension that lhs", [-1], [0], ()),
        ("rhs_group_dimensions=.5,. names a dimension that rhs", [0], [5], ()),
        ("also among the contracting", [0], [1], ()),
        ("neither contracted nor a batch", [0], [], ()),
        ("must name none", [1], [0], ()),
        ("got a scalar", [0], [0], ((6, 3), (2, 3, 4), ())),
        ("group_sizes must have shape .2,. for lhs", [0], [0], ((6, 3), (2, 3, 4), (1, 2))),
        ("list 3 groups, but rhs", [0], [0], ((6, 3), (2, 3, 4), (3,))),
        ("contracting dimensions of operands", [0], [0], ((6, 5), (2, 3, 4), (2,))),
    ],
)
def test_errors_name_the_rule_that_is_broken(message, ragged, groups, shapes):
    lhs, rhs, sizes = shapes or ((6, 3), (2, 3, 4), (2,))
    numbers = RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), ragged, groups)
    with pytest.raises(TypeError, match=message):
        make_jaxpr(product(numbers))(of(*lhs), of(*rhs), of(*sizes, dtype="int32"))


def test_group_sizes_are_integers():
    with pytest.raises(TypeError, match="must be integers, got float32"):
        make_jaxpr(ragged_dot)(of(6, 3), of(2, 3, 4), of(2))


def test_a_group_offset_is_refused():
    with pytest.raises(TypeError, match="group_offset is not supported"):
        ragged_dot(np.ones((6, 3)), np.ones((2, 3, 4)), np.array([2, 3]), group_offset=1)


def test_dimension_numbers_are_equal_by_value():
    other = RaggedDotDimensionNumbers((([1], [1]), ([], [])), (0,), (np.int64(0),))
    assert other == FREE and hash(other) == hash(FREE) and repr(other) == repr(FREE)
