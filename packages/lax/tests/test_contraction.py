"""Contractions: dimension numbers, precisions, derivatives and batches."""

from itertools import product

import ml_dtypes
import numpy as np
import pytest

from ricci_autodiff import grad
from ricci_batching import vmap
from ricci_ir import ShapeDtypeStruct, check_jaxpr, default_matmul_precision, enable_x64, make_jaxpr
from ricci_lax.contractions._dot import batch_matmul, dot, dot_general
from ricci_lax.contractions._precision import (
    DotAlgorithm,
    DotAlgorithmPreset,
    Precision,
    resolve_algorithm,
)
from ricci_lax.elementwise._arithmetic import mul
from ricci_lax.structure._broadcasting import reduce_sum

MATMUL = (((1,), (0,)), ((), ()))
# Two summed pairs and one batch pair, out of order.
TWISTED = (((3, 1), (0, 2)), ((0,), (1,)))


def of(*shape, dtype="float32"):
    return ShapeDtypeStruct(shape, np.dtype(dtype))


def total(x):
    return reduce_sum(x, tuple(range(len(x.shape))))


def equation(fun, *args):
    (eqn,) = make_jaxpr(fun)(*args).eqns
    return eqn


@pytest.mark.parametrize(
    ("lhs", "rhs", "numbers", "shape"),
    [
        ((3, 4), (4, 5), MATMUL, (3, 5)),
        ((2, 3, 4, 5), (5, 2, 3, 6), TWISTED, (2, 4, 6)),
        ((2, 3), (4, 5), (((), ()), ((), ())), (2, 3, 4, 5)),
        ((3, 2), (2, 3), (((), ()), ((0, 1), (1, 0))), (3, 2)),
    ],
)
def test_the_result_has_batch_then_free_dimensions(lhs, rhs, numbers, shape):
    eqn = equation(lambda x, y: dot_general(x, y, numbers), of(*lhs), of(*rhs))
    assert eqn.outvars[0].aval.shape == shape


def test_dot_general_prints_as_in_jax():
    jaxpr = make_jaxpr(lambda x, y: dot_general(x, y, MATMUL))(of(3, 4), of(4, 5))
    assert str(jaxpr) == (
        "{ lambda ; a:f32[3,4] b:f32[4,5]. let\n"
        "    c:f32[3,5] = dot_general[dimension_numbers=(([1], [0]), ([], []))] a b\n"
        "  in (c,) }"
    )


@pytest.mark.parametrize(
    ("lhs", "rhs", "preferred", "dtype"),
    [
        ("float32", ml_dtypes.bfloat16, None, "float32"),
        ("int8", "int8", None, "int8"),
        ("int8", "int8", np.int32, "int32"),
        ("int8", "float32", None, "float32"),
        ("bool", "bool", None, "bool"),
        ("float32", "complex64", None, "complex64"),
    ],
)
def test_the_dtype_is_the_preferred_or_the_promoted_one(lhs, rhs, preferred, dtype):
    eqn = equation(
        lambda x, y: dot_general(x, y, MATMUL, preferred_element_type=preferred),
        of(3, 4, dtype=lhs),
        of(4, 5, dtype=rhs),
    )
    assert eqn.outvars[0].aval.dtype == dtype


@pytest.mark.parametrize(
    ("precision", "param"),
    [
        (None, None),
        ("highest", (Precision.HIGHEST, Precision.HIGHEST)),
        ("tensorfloat32", (Precision.HIGH, Precision.HIGH)),
        (("high", "fastest"), (Precision.HIGH, Precision.DEFAULT)),
        ((None, None), None),
        (Precision.HIGH, (Precision.HIGH, Precision.HIGH)),
        ("F32_F32_F32", DotAlgorithmPreset.F32_F32_F32),
        (DotAlgorithm(np.float32, np.float32, np.float32), (np.float32,) * 3 + (1, 1, 1, False)),
    ],
)
def test_precisions(precision, param):
    eqn = equation(lambda x, y: dot(x, y, precision=precision), of(3, 4), of(4))
    assert eqn.params["precision"] == param


def test_the_precision_may_come_from_the_configuration():
    with default_matmul_precision("highest"):
        eqn = equation(dot, of(3, 4), of(4))
    assert eqn.params["precision"] == (Precision.HIGHEST, Precision.HIGHEST)


@pytest.mark.parametrize("precision", ["bad", ("high", "bad"), 3, ("high",)])
def test_unknown_precisions_are_refused(precision):
    with pytest.raises(ValueError, match="DotAlgorithm, DotAlgorithmPreset or its name"):
        make_jaxpr(lambda x, y: dot(x, y, precision=precision))(of(3, 4), of(4))


@pytest.mark.parametrize("preset", [p for p in DotAlgorithmPreset if p.name.startswith("ANY")])
def test_float8_algorithms_need_float8_operands(preset):
    f32, f8 = np.dtype(np.float32), np.dtype(ml_dtypes.float8_e5m2)
    with pytest.raises(ValueError, match="float8"):
        resolve_algorithm(preset, "cuda", f32, f32, f32)
    with pytest.raises(ValueError, match="dot_general: no CPU can compute products by"):
        resolve_algorithm(preset, "cpu", f8, f8, f32)
    resolved = resolve_algorithm(preset, "cuda", f8, f8, f32)
    assert "lhs_precision_type = f8E5M2" in resolved.text


def test_operands_are_converted_to_the_dtypes_of_an_algorithm():
    f16, f32 = np.dtype(np.float16), np.dtype(np.float32)
    preset = DotAlgorithmPreset.BF16_BF16_F32
    resolved = resolve_algorithm(preset, "cpu", f16, f32, f16)
    assert (resolved.lhs, resolved.rhs, resolved.out) == (ml_dtypes.bfloat16, f32, f32)


def _dims(lhs_contracting, rhs_contracting, lhs_batch=(), rhs_batch=()):
    numbers = ((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch))
    return lambda x, y: dot_general(x, y, numbers)


@pytest.mark.parametrize(
    ("error", "message", "function"),
    [
        (TypeError, "contracting dimensions of operands", _dims((0,), (0,))),
        (TypeError, "contracting dimensions of operands", _dims((0, 1), (0,))),
        (TypeError, "name a dimension that it lacks", _dims((2,), (0,))),
        (TypeError, "name a dimension that it lacks", _dims((-1,), (0,))),
        (TypeError, "dot_general: the contracting dimensions", _dims((1, 1), (0, 0))),
        (TypeError, "dot_general: a dimension of lhs is in both", _dims((1,), (0,), (1,), (0,))),
        (TypeError, "batch dimensions of operands", _dims((1,), (0,), (0,), (1,))),
        (ValueError, "For other products say what is contracted", lambda x, y: dot(y, x)),
        (
            ValueError,
            "give both the same batch dimensions",
            lambda x, y: batch_matmul(x, reduce_sum(y, (0,))),
        ),
        (
            ValueError,
            "batch_matmul: a matrix has rank",
            lambda x, y: batch_matmul(total_of(x), total_of(y)),
        ),
    ],
)
def test_errors_name_the_rule_that_is_broken(error, message, function):
    with pytest.raises(error, match=message):
        make_jaxpr(function)(of(3, 4), of(4, 5))


def total_of(x):
    return reduce_sum(x, (0,))


@pytest.mark.parametrize("numbers", [MATMUL, TWISTED])
def test_derivatives_of_second_order_check(numbers):
    shapes = [(3, 4), (4, 5)] if numbers is MATMUL else [(2, 3, 4, 5), (5, 2, 3, 6)]

    def first(x, y):
        return grad(lambda x: total(mul(f(x, y), f(x, y))))(x)

    def f(x, y):
        return dot_general(x, y, numbers)

    second = grad(lambda x, y: total(mul(first(x, y), first(x, y))), (0, 1))
    jaxpr = make_jaxpr(second)(*(of(*s) for s in shapes))
    check_jaxpr(jaxpr)
    assert [aval.shape for aval in jaxpr.out_avals] == shapes


def test_cotangents_have_the_operands_dtypes():
    bfloat16 = np.dtype(ml_dtypes.bfloat16)
    jaxpr = make_jaxpr(grad(lambda x, y: total(dot(x, y)), (0, 1)))(
        of(3, 4), of(4, 5, dtype=bfloat16)
    )
    assert [aval.dtype for aval in jaxpr.out_avals] == [np.float32, bfloat16]


MAPPED = [pair for pair in product([None, 0, 2, 4], [None, 0, 3, 4]) if pair != (None, None)]


@pytest.mark.parametrize(("lhs_dim", "rhs_dim"), MAPPED)
def test_batches(lhs_dim, rhs_dim):
    shapes = [(2, 3, 4, 5), (5, 2, 3, 6)]
    for i, dim in enumerate((lhs_dim, rhs_dim)):
        if dim is not None:
            shapes[i] = (*shapes[i][:dim], 7, *shapes[i][dim:])
    mapped = vmap(lambda x, y: dot_general(x, y, TWISTED), (lhs_dim, rhs_dim))
    jaxpr = make_jaxpr(mapped)(*(of(*s) for s in shapes))
    check_jaxpr(jaxpr)
    assert jaxpr.out_avals[0].shape == (7, 2, 4, 6)


# The same as JAX accepts: floats may be rounded, other products must fit.
@pytest.mark.parametrize(
    ("dtype", "preferred", "accepted"),
    [
        ("int8", "bool", False),
        ("int8", "uint8", True),
        ("int32", "float16", False),
        ("int32", "float32", True),
        ("int64", "complex64", False),
        ("complex64", "float16", False),
        ("complex64", "int32", True),
        ("float32", "int8", True),
        ("bool", "bool", True),
    ],
)
def test_only_products_of_floats_are_narrowed(dtype, preferred, accepted):
    with enable_x64(True):
        x = of(2, 2, dtype=dtype)
        fun = lambda x: dot_general(x, x, MATMUL, preferred_element_type=np.dtype(preferred))
        if accepted:
            assert make_jaxpr(fun)(x).out_avals[0].dtype == preferred
        else:
            with pytest.raises(TypeError, match="is narrower than the operands' dtype"):
                make_jaxpr(fun)(x)
