"""Operations on shapes and constant arrays: types, printed programs, derivatives, batches."""

import numpy as np
import pytest

from ricci_autodiff import grad, jvp
from ricci_batching import vmap
from ricci_ir import ShapeDtypeStruct, check_jaxpr, make_jaxpr
from ricci_lax.structure._broadcasting import broadcast, broadcast_in_dim, expand_dims, reduce_sum
from ricci_lax.structure._filling import broadcasted_iota, full, full_like, iota
from ricci_lax.structure._reshaping import reshape, squeeze
from ricci_lax.structure._transposing import transpose
from ricci_stablehlo import lower_jaxpr


def of(*shape, dtype="float32"):
    return ShapeDtypeStruct(shape, np.dtype(dtype))


def total(x):
    return reduce_sum(x, tuple(range(len(x.shape))))


def program(fun, *args):
    jaxpr = make_jaxpr(fun)(*args)
    check_jaxpr(jaxpr)
    return jaxpr


def steps(fun, *args):
    """Each equation as its primitive and its parameters."""
    return [(eqn.primitive.name, eqn.params) for eqn in program(fun, *args).eqns]


# Each operation: a function, an operand's shape, the result's shape.
OPERATIONS = {
    "broadcast_in_dim": (lambda x: broadcast_in_dim(x, (4, 2, 3), (1, 2)), (1, 3), (4, 2, 3)),
    "broadcast_scalar": (lambda x: broadcast_in_dim(x, (2, 3), ()), (), (2, 3)),
    "broadcast_permuted": (lambda x: broadcast_in_dim(x, (3, 4, 2), (2, 0)), (2, 3), (3, 4, 2)),
    "broadcast": (lambda x: broadcast(x, (2, 4)), (3,), (2, 4, 3)),
    "reshape": (lambda x: reshape(x, (3, 4)), (2, 6), (3, 4)),
    "reshape_permuted": (lambda x: reshape(x, (12,), (1, 0)), (2, 6), (12,)),
    "squeeze": (lambda x: squeeze(x, (0, -1)), (1, 2, 1), (2,)),
    "expand_dims": (lambda x: expand_dims(x, (0, -1)), (2, 3), (1, 2, 3, 1)),
    "transpose": (lambda x: transpose(x, (1, 2, 0)), (2, 3, 4), (3, 4, 2)),
    "reduce_sum": (lambda x: reduce_sum(x, (0, 2)), (2, 3, 4), (3,)),
}
table = pytest.mark.parametrize(("fun", "shape", "result"), OPERATIONS.values(), ids=OPERATIONS)


@table
def test_result_shape(fun, shape, result):
    (aval,) = program(fun, of(*shape, dtype="bfloat16")).out_avals
    assert (aval.shape, aval.dtype.name, aval.weak_type) == (result, "bfloat16", False)


@table
def test_the_tangent_has_the_type_of_the_result(fun, shape, result):
    primal, tangent = program(lambda x: jvp(fun, (x,), (x,)), of(*shape)).out_avals
    assert primal is tangent


@table
def test_the_cotangent_has_the_type_of_the_operand(fun, shape, result):
    (aval,) = program(grad(lambda x: total(fun(x))), of(*shape)).out_avals
    assert aval.shape == shape


@table
def test_every_axis_can_be_mapped(fun, shape, result):
    for dim in range(len(shape) + 1):
        batch = (*shape[:dim], 5, *shape[dim:])
        (aval,) = program(vmap(fun, dim, out_axes=-1), of(*batch)).out_avals
        assert aval.shape == (*result, 5)


@table
def test_lowering_writes_only_stablehlo(fun, shape, result):
    text = lower_jaxpr(program(fun, of(*shape)), "f")
    body = [line.split(" = ")[1] for line in text.splitlines() if " = stablehlo" in line]
    assert body
    assert all(line.startswith("stablehlo.") for line in body)


@pytest.mark.parametrize(
    "fun",
    [
        lambda x: broadcast_in_dim(x, (2, 3), (0, 1)),
        lambda x: broadcast(x, ()),
        lambda x: reshape(x, (2, 3)),
        lambda x: squeeze(x, ()),
        lambda x: expand_dims(x, ()),
        lambda x: transpose(x, (0, 1)),
    ],
)
def test_operations_without_effect_are_not_recorded(fun):
    assert steps(fun, of(2, 3)) == []


def test_a_trivial_permutation_is_not_recorded():
    ((_, params),) = steps(lambda x: reshape(x, (6,), (0, 1)), of(2, 3))
    assert params == {"new_sizes": (6,), "dimensions": None, "sharding": None}


def test_parameters_are_python_ints():
    shape, dims = np.array([2, 3]), np.array([1])
    ((_, params),) = steps(lambda x: broadcast_in_dim(x, shape, dims), of(3))
    assert [type(n) for n in (*params["shape"], *params["broadcast_dimensions"])] == [int] * 3


def test_transposed_broadcast_sums_then_restores_dimensions_of_size_one():
    recorded = steps(grad(lambda x: total(broadcast_in_dim(x, (4, 2, 3), (1, 2)))), of(1, 3))
    assert [name for name, _ in recorded[-2:]] == ["reduce_sum", "broadcast_in_dim"]
    assert recorded[-2][1]["axes"] == (0, 1)
    assert recorded[-1][1]["broadcast_dimensions"] == (1,)


def test_transposed_broadcast_undoes_a_permutation():
    fun = grad(lambda x: total(broadcast_in_dim(x, (3, 4, 2), (2, 0))))
    name, params = steps(fun, of(2, 3))[-1]
    assert (name, params) == ("transpose", {"permutation": (1, 0)})


def test_batched_reduction_stays_in_place():
    ((_, params),) = steps(vmap(lambda x: reduce_sum(x, (0,)), 1), of(2, 5, 3))
    assert params["axes"] == (0,)


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (1.0, None, ("float32", True)),
        (1, None, ("int32", True)),
        (True, None, ("bool", False)),
        (1, np.float32, ("float32", False)),
        (1, "bfloat16", ("bfloat16", False)),
        (-1, "uint32", ("uint32", False)),
        (1.5, int, ("int32", False)),
        (np.float64(1), None, ("float32", False)),
        (2 + 1j, None, ("complex64", True)),
    ],
)
def test_full_takes_the_dtype_of_its_value_or_the_given_one(value, dtype, expected):
    (aval,) = program(lambda: full((2,), value, dtype)).out_avals
    assert (aval.dtype.name, aval.weak_type) == expected


def test_full_of_no_dimensions_is_a_literal():
    assert steps(lambda: full((), 1, np.float32)) == []


@pytest.mark.parametrize(
    ("like", "expected"),
    [
        (of(2, 3), ((2, 3), "float32", False)),
        (np.ones(4, np.int8), ((4,), "int8", False)),
        (1.0, ((), "float32", True)),
    ],
)
def test_full_like_follows_a_description(like, expected):
    (aval,) = program(lambda: full_like(like, 2)).out_avals
    assert (aval.shape, aval.dtype.name, aval.weak_type) == expected


def test_iota_records_its_parameters():
    ((name, params),) = steps(lambda: broadcasted_iota(np.int32, (4, 5), 1))
    assert name == "iota"
    assert params == {"dtype": np.dtype("int32"), "shape": (4, 5), "dimension": 1, "sharding": None}


x = np.ones((2, 3), np.float32)


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (
            TypeError,
            "broadcast_in_dim: broadcast_dimensions=",
            lambda: broadcast_in_dim(x, (4,), (0,)),
        ),
        (
            TypeError,
            "broadcast_in_dim: an operand of shape",
            lambda: broadcast_in_dim(x, (4, 5, 3), (1, 2)),
        ),
        (
            TypeError,
            "broadcast_in_dim: broadcast_dimensions=",
            lambda: broadcast_in_dim(x, (4, 2, 3), (0, 5)),
        ),
        (
            TypeError,
            "broadcast_in_dim: an operand of rank",
            lambda: broadcast_in_dim(x, (3,), (0, 1)),
        ),
        (
            TypeError,
            "must name each dimension only once, in",
            lambda: broadcast_in_dim(x[:1, :1], (4, 2), (1, 1)),
        ),
        (TypeError, "elements, of shape", lambda: reshape(x, (5,))),
        (TypeError, "does not list each dimension of shape", lambda: reshape(x, (6,), (0, 0))),
        (TypeError, "Work the size out from those of the operand", lambda: reshape(x, (-1,))),
        (ValueError, "one has a size other than", lambda: squeeze(x, (0,))),
        (ValueError, "is out of bounds for an array of dimension", lambda: squeeze(x, (7,))),
        (ValueError, "name one dimension twice", lambda: squeeze(x[:1, :1], (0, 0))),
        (ValueError, "expand_dims: dimensions", lambda: expand_dims(x, (0, 0))),
        (ValueError, "is out of bounds for an array of dimension", lambda: expand_dims(x, (9,))),
        (TypeError, "does not list each dimension of shape", lambda: transpose(x, (0,))),
        (TypeError, "does not list each dimension of shape", lambda: transpose(x, (-1, -2))),
        (ValueError, "names an axis that is out of bounds", lambda: reduce_sum(x, (2,))),
        (ValueError, "names an axis that is out of bounds", lambda: reduce_sum(x, (-1,))),
        (ValueError, "names an axis twice", lambda: reduce_sum(x, (0, 0))),
        (TypeError, "reduce_sum is not defined for dtype bool", lambda: reduce_sum(x > 1, (0,))),
        (TypeError, "broadcast_in_dim: the shape", lambda: full((2, -1), 1.0)),
        (TypeError, "For an array of values use broadcast_in_dim", lambda: full((2,), x)),
        (TypeError, "A size that depends on an argument of jit", lambda: iota(np.float32, 2.5)),  # pyright: ignore
        (TypeError, "iota is not defined for dtype bool, only", lambda: iota(np.bool_, 3)),
        (ValueError, "dimensions of shape", lambda: broadcasted_iota(np.float32, (2,), 1)),
    ],
)
def test_errors_name_the_rule_that_is_broken(error, message, call):
    with pytest.raises(error, match=message):
        make_jaxpr(call)()


def test_a_traced_size_is_refused():
    with pytest.raises(TypeError, match="A size that depends on an argument of jit"):
        make_jaxpr(lambda n: full((n,), 1.0))(3)
