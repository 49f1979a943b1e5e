"""Convolutions: geometry, derivatives, batches and errors."""

import numpy as np
import pytest

from ricci_autodiff import grad, vjp
from ricci_batching import vmap
from ricci_ir import ShapeDtypeStruct, check_jaxpr, make_jaxpr
from ricci_lax.contractions._convolution import conv_general_dilated
from ricci_lax.contractions._convolution_forms import (
    conv,
    conv_general_dilated_local,
    conv_general_dilated_patches,
    conv_transpose,
    conv_with_general_padding,
)
from ricci_lax.contractions._convolution_shape import (
    ConvDimensionNumbers,
    conv_dimension_numbers,
    conv_general_permutations,
    conv_general_shape_tuple,
    conv_transpose_shape_tuple,
)
from ricci_lax.elementwise._arithmetic import mul
from ricci_lax.structure._broadcasting import reduce_sum

LHS, RHS = (2, 6, 8, 9), (4, 6, 3, 2)


def of(*shape, dtype="float32"):
    return ShapeDtypeStruct(shape, np.dtype(dtype))


def total(x):
    return reduce_sum(x, tuple(range(len(x.shape))))


def shape_of(fun, *shapes):
    jaxpr = make_jaxpr(fun)(*(of(*s) for s in shapes))
    check_jaxpr(jaxpr)
    return jaxpr.out_avals[0].shape


def _options(**options):
    options = {"window_strides": (1, 2), "padding": "SAME", **options}
    return lambda x, y: conv_general_dilated(x, y, **options)


# Each with the shapes of its operands.
CONVOLUTIONS = {
    "plain": (_options(), LHS, RHS),
    "feature groups": (_options(feature_group_count=3), LHS, (12, 2, 3, 2)),
    "batch groups": (_options(batch_group_count=2), (4, 6, 8, 9), RHS),
    "dilated": (
        _options(
            padding=((1, 1), (2, 0)),
            lhs_dilation=(2, 1),
            rhs_dilation=(1, 2),
            dimension_numbers=("NHWC", "HWIO", "NWHC"),
        ),
        (2, 8, 9, 6),
        (3, 2, 6, 4),
    ),
    "no space": (_options(window_strides=(), padding=()), (2, 6), (4, 6)),
}


@pytest.mark.parametrize(
    ("padding", "shape"),
    [
        ("SAME", (2, 4, 8, 5)),
        ("SAME_LOWER", (2, 4, 8, 5)),
        ("VALID", (2, 4, 6, 4)),
        (((1, 2), (0, -1)), (2, 4, 9, 4)),
    ],
)
def test_padding(padding, shape):
    assert shape_of(_options(padding=padding), LHS, RHS) == shape


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_derivatives_of_second_order_have_the_operands_shapes(name):
    f, lhs, rhs = CONVOLUTIONS[name]

    def first(x, y):
        return grad(lambda x: total(mul(f(x, y), f(x, y))))(x)

    second = grad(lambda x, y: total(mul(first(x, y), first(x, y))), (0, 1))
    jaxpr = make_jaxpr(second)(of(*lhs), of(*rhs))
    check_jaxpr(jaxpr)
    assert [aval.shape for aval in jaxpr.out_avals] == [lhs, rhs]


@pytest.mark.parametrize("name", CONVOLUTIONS)
@pytest.mark.parametrize("in_axes", [(0, None), (2, None), (None, 0), (None, 1), (0, 0), (2, 1)])
def test_batches_of_either_operand(name, in_axes):
    f, *shapes = CONVOLUTIONS[name]
    one = shape_of(f, *shapes)
    mapped = [s if d is None else (*s[:d], 3, *s[d:]) for s, d in zip(shapes, in_axes, strict=True)]
    assert shape_of(vmap(f, in_axes), *mapped) == (3, *one)


def test_dimension_numbers():
    strings = ("NHWC", "HWIO", "NCWH")
    expected = ConvDimensionNumbers((0, 3, 1, 2), (3, 2, 0, 1), (0, 1, 3, 2))
    assert conv_dimension_numbers(LHS, RHS, strings) == expected
    assert conv_general_permutations(strings) == tuple(expected)
    assert conv_dimension_numbers(LHS, RHS, None).out_spec == (0, 1, 2, 3)
    assert conv_dimension_numbers(LHS, RHS, expected) is expected


def test_shape_functions_need_no_operands():
    numbers = ("NCHW", "OIHW", "NHWC")
    assert conv_general_shape_tuple(LHS, RHS, (1, 2), "SAME", numbers) == (2, 8, 5, 4)
    assert conv_transpose_shape_tuple(LHS, RHS, (1, 2), "SAME", None) == (2, 4, 8, 18)


def test_forms():
    assert shape_of(lambda x, y: conv(x, y, (1, 1), "VALID"), LHS, RHS) == (2, 4, 6, 8)
    padded = lambda x, y: conv_with_general_padding(x, y, (1, 1), ((1, 2), (0, 1)), (1, 2), None)
    assert shape_of(padded, LHS, RHS) == (2, 4, 9, 17)
    patches = lambda x: conv_general_dilated_patches(x, (3, 2), (1, 1), "VALID")
    assert shape_of(patches, LHS) == (2, 36, 6, 8)
    local = lambda x, y: conv_general_dilated_local(x, y, (1, 1), "VALID", (3, 2))
    assert shape_of(local, LHS, (4, 36, 6, 8)) == (2, 4, 6, 8)


@pytest.mark.parametrize("strides", [(1, 1), (2, 3), (5, 4)])
def test_a_transposed_convolution_undoes_the_shape(strides):
    small = shape_of(
        lambda x, y: conv_general_dilated(
            x, y, strides, "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        ),
        (2, 20, 60, 6),
        (3, 2, 6, 4),
    )
    back = shape_of(
        lambda x, y: conv_transpose(x, y, strides, "SAME", transpose_kernel=True),
        small,
        (3, 2, 6, 4),
    )
    assert back == (2, 20, 60, 6)


@pytest.mark.parametrize(
    ("error", "message", "options", "rhs"),
    [
        (ValueError, "conv_general_dilated: window_strides has", {"window_strides": (1,)}, RHS),
        (ValueError, "conv_general_dilated: rhs_dilation=", {"rhs_dilation": (0, 1)}, RHS),
        (TypeError, "convolution: padding has", {"padding": ((0, 0),)}, RHS),
        (ValueError, "input features of lhs do not split into", {"feature_group_count": 4}, RHS),
        (ValueError, "Check dimension_numbers and", {}, (4, 5, 3, 2)),
        (ValueError, "conv_general_dilated: feature_group_count=", {"feature_group_count": 0}, RHS),
        (ValueError, "does not split into batch_group_count=", {"batch_group_count": 3}, RHS),
        (
            ValueError,
            "conv_general_dilated: feature_group_count=",
            {"feature_group_count": 2, "batch_group_count": 2},
            (4, 3, 3, 2),
        ),
        (
            ValueError,
            "output features of rhs do not split into",
            {"feature_group_count": 3},
            (4, 2, 3, 2),
        ),
        (TypeError, "convolution: lhs has rank", {}, (4, 6, 3)),
        (RuntimeError, "is unknown; it is", {"padding": "FOO"}, RHS),
        (ValueError, "conv_general_dilated: padding by name is", {"lhs_dilation": (2, 1)}, RHS),
        (
            TypeError,
            "entries, not the three for lhs, rhs and the",
            {"dimension_numbers": ("NHWC", "HWIO")},
            RHS,
        ),
        (
            TypeError,
            "convolution: dimension_numbers",
            {"dimension_numbers": ("ABCD", "HWIO", "NHWC")},
            RHS,
        ),
        (
            TypeError,
            "repeats a letter; name each dimension by",
            {"dimension_numbers": ("NHWC", "HWIO", "NHHC")},
            RHS,
        ),
        (
            ValueError,
            "cuts off more than there is of spatial sizes",
            {"padding": ((0, 0), (-1, -20))},
            RHS,
        ),
    ],
)
def test_errors_name_the_rule_that_is_broken(error, message, options, rhs):
    with pytest.raises(error, match=message):
        shape_of(_options(**options), LHS, rhs)


def test_dtypes_must_match():
    with pytest.raises(TypeError, match="conv_general_dilated: lhs is float"):
        make_jaxpr(_options())(of(*LHS), of(*RHS, dtype="int32"))


@pytest.mark.parametrize(
    ("dtype", "preferred", "message"),
    [
        ("int32", "int8", "is narrower"),
        ("int8", "uint8", "is of another kind"),
        ("float32", "int32", "is of another kind"),
        ("float32", "bfloat16", "is narrower"),
        ("complex64", "float32", "is of another kind"),
    ],
)
def test_the_preferred_dtype_is_at_least_as_wide_as_the_operands(dtype, preferred, message):
    x = of(1, 2, 3, dtype=dtype)
    fun = lambda x: conv(x, x, (1,), "VALID", preferred_element_type=preferred)
    with pytest.raises(TypeError, match=message):
        make_jaxpr(fun)(x)


def test_the_cotangent_of_a_kernel_without_windows_is_zero():
    x, kernel = of(1, 1, 0), of(1, 1, 2)
    pull = lambda x, k, ct: vjp(lambda k: conv(x, k, (1,), ((0, 1),)), k)[1](ct)
    *_, last = make_jaxpr(pull)(x, kernel, of(1, 1, 0)).eqns
    assert last.primitive.name == "broadcast_in_dim"
