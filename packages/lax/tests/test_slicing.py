"""Slices, padding, joining and splitting: types, printed programs, derivatives and batches."""

import numpy as np
import pytest

from ricci_autodiff import grad, jvp, linear_transpose
from ricci_batching import vmap
from ricci_ir import ShapeDtypeStruct, check_jaxpr, make_jaxpr
from ricci_lax.shapes._dynamic_slicing import dynamic_slice, dynamic_update_slice
from ricci_lax.shapes._dynamic_slicing_in_dim import (
    dynamic_index_in_dim,
    dynamic_slice_in_dim,
    dynamic_update_index_in_dim,
    dynamic_update_slice_in_dim,
)
from ricci_lax.shapes._joining import concatenate, split, stack, unstack
from ricci_lax.shapes._rearranging import rev, tile
from ricci_lax.shapes._slicing import index_in_dim, pad, slice_in_dim
from ricci_lax.shapes._slicing import slice as slice_at
from ricci_lax.structure._broadcasting import broadcast_shapes, broadcast_to_rank, reduce_sum
from ricci_lax.structure._reshaping import collapse
from ricci_stablehlo import lower_jaxpr


def of(*shape, dtype="float32"):
    return ShapeDtypeStruct(shape, np.dtype(dtype))


def total(x):
    return reduce_sum(x, tuple(range(len(x.shape))))


def program(fun, *args):
    jaxpr = make_jaxpr(fun)(*args)
    check_jaxpr(jaxpr)
    return jaxpr


def names(fun, *args):
    return [eqn.primitive.name for eqn in program(fun, *args).eqns]


def last_params(fun, *args):
    return program(fun, *args).eqns[-1].params


ZERO = np.float32(0)
# Each operation: a function of one array of shape (4, 6), and the result's shape.
OPERATIONS = {
    "slice": (lambda x: slice_at(x, (0, 1), (3, 6), (2, 2)), (2, 3)),
    "slice_unit": (lambda x: slice_at(x, (0, 1), (3, 6)), (3, 5)),
    "slice_empty": (lambda x: slice_at(x, (1, 0), (1, 6), (2, 1)), (0, 6)),
    "slice_in_dim": (lambda x: slice_in_dim(x, 1, -1, 2, axis=-1), (4, 2)),
    "index_in_dim": (lambda x: index_in_dim(x, -1, 1), (4, 1)),
    "index_in_dim_dropped": (lambda x: index_in_dim(x, 2, 1, keepdims=False), (4,)),
    "pad": (lambda x: pad(x, ZERO, [(1, 2, 0), (-1, 0, 2)]), (7, 15)),
    "concatenate": (lambda x: concatenate([x, np.ones((2, 6), np.float32), x], 0), (10, 6)),
    "stack": (lambda x: stack([x, np.ones((4, 6), np.float32)], -1), (4, 6, 2)),
    "split": (lambda x: split(x, (2, 3, 1), 1)[1], (4, 3)),
    "unstack": (lambda x: unstack(x, 1)[2], (4,)),
    "tile": (lambda x: tile(x, (2, 3)), (8, 18)),
    "rev": (lambda x: rev(x, (1,)), (4, 6)),
    "collapse": (lambda x: collapse(x, 0, 2), (24,)),
    "broadcast_to_rank": (lambda x: broadcast_to_rank(x, 3), (1, 4, 6)),
    "dynamic_slice": (lambda x: dynamic_slice(x, (1, -2), (2, 3)), (2, 3)),
    "dynamic_slice_in_dim": (lambda x: dynamic_slice_in_dim(x, 1, 2, -1), (4, 2)),
    "dynamic_index_in_dim": (lambda x: dynamic_index_in_dim(x, 1, 1, keepdims=False), (4,)),
    "dynamic_update_slice": (
        lambda x: dynamic_update_slice(x, np.ones((2, 3), np.float32), (1, 0)),
        (4, 6),
    ),
    "dynamic_update_slice_in_dim": (
        lambda x: dynamic_update_slice_in_dim(x, np.ones((2, 6), np.float32), 1, 0),
        (4, 6),
    ),
    "dynamic_update_index_in_dim": (
        lambda x: dynamic_update_index_in_dim(x, np.ones(6, np.float32), 1, 0),
        (4, 6),
    ),
}
table = pytest.mark.parametrize(("fun", "result"), OPERATIONS.values(), ids=OPERATIONS)


@table
def test_result_shape(fun, result):
    (aval,) = program(fun, of(4, 6)).out_avals
    assert (aval.shape, aval.dtype.name) == (result, "float32")


@table
def test_the_tangent_has_the_type_of_the_result(fun, result):
    primal, tangent = program(lambda x: jvp(fun, (x,), (x,)), of(4, 6)).out_avals
    assert primal is tangent


@table
def test_the_cotangent_has_the_type_of_the_operand(fun, result):
    (aval,) = program(grad(lambda x: total(fun(x))), of(4, 6)).out_avals
    assert aval.shape == (4, 6)


@table
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_every_axis_can_be_mapped(fun, result, dim):
    shape = [4, 6]
    shape.insert(dim, 5)
    (aval,) = program(vmap(fun, dim, out_axes=-1), of(*shape)).out_avals
    assert aval.shape == (*result, 5)


@table
def test_the_program_can_be_lowered(fun, result):
    assert "stablehlo." in lower_jaxpr(program(fun, of(4, 6)), "f")


def test_transposed_slice_pads_between_elements():
    fun = grad(lambda x: total(slice_at(x, (0, 1), (2, 5), (1, 2))))
    assert last_params(fun, of(4, 6)) == {"padding_config": ((0, 2, 0), (1, 2, 1))}


def test_transposed_padding_sums_the_remaining_cotangent_into_the_value():
    fun = grad(lambda x, v: total(pad(x, v, [(1, 2, 0), (-1, 0, 2)])), (0, 1))
    recorded = names(fun, of(4, 6), of())
    assert recorded[-5:] == ["pad", "slice", "reduce_sum", "reduce_sum", "sub"]


@pytest.mark.parametrize("dims", [(1, 0), (None, 0), (1, None)])
def test_padding_maps_over_its_value(dims):
    operand = of(4) if dims[0] is None else of(4, 6)
    value = of() if dims[1] is None else of(6)
    fun = vmap(lambda x, v: pad(x, v, [(1, 2, 1)]), dims)
    (aval,) = program(fun, operand, value).out_avals
    assert aval.shape == (6, 10)


@pytest.mark.parametrize(
    ("join", "part"), [(concatenate, "split"), (stack, "unstack")], ids=["concatenate", "stack"]
)
def test_joining_and_parting_are_transposes(join, part):
    joined = names(grad(lambda x, y: total(join([x, y], 1)), (0, 1)), of(4, 6), of(4, 6))
    assert joined[-1] == part
    take = {"split": lambda x: split(x, (2, 4), 1)[0], "unstack": lambda x: unstack(x, 1)[0]}
    parted = names(grad(lambda x: total(take[part](x))), of(4, 6))
    assert parted[-1] == join.__name__


def test_stacked_batches_in_one_place_are_not_moved():
    fun = vmap(lambda x: stack([x, x], 1), 1)
    assert names(fun, of(4, 3, 6))[0] == "stack"


def test_one_array_is_concatenated_with_itself_alone():
    assert names(lambda x: concatenate([x], 1), of(4, 6)) == []


def test_known_indices_are_literals():
    jaxpr = program(lambda x: dynamic_slice(x, (-1, 0), (2, 3)), of(4, 6))
    (eqn,) = jaxpr.eqns
    assert [int(atom.val) for atom in eqn.invars[1:]] == [3, 0]
    assert not any(atom.aval.weak_type for atom in eqn.invars[1:])


@pytest.mark.parametrize(
    ("dtype", "negative", "expected"),
    [
        ("int32", True, ["lt", "add", "select_n", "dynamic_slice"]),
        ("int8", True, ["lt", "add", "select_n", "dynamic_slice"]),
        ("int32", False, ["dynamic_slice"]),
        ("uint8", True, ["dynamic_slice"]),
    ],
)
def test_negative_indices_are_counted_from_the_end(dtype, negative, expected):
    zero = np.zeros((), dtype)[()]

    def fun(x, i):
        return dynamic_slice(x, (i, zero), (2, 3), allow_negative_indices=negative)

    assert names(fun, of(4, 6), of(dtype=dtype)) == expected


def test_weak_indices_become_strong():
    recorded = names(lambda x, i: dynamic_slice(x, (i, 0), (2, 3)), of(4, 6), 1)
    assert recorded == ["lt", "convert_element_type", "add", "select_n", "dynamic_slice"]


def test_an_array_of_indices_is_taken_apart():
    fun = lambda x, i: dynamic_slice(x, i, (2, 3))
    assert names(fun, of(4, 6), of(2, dtype="int32"))[0] == "unstack"


@pytest.mark.parametrize(
    ("dims", "batching", "flags"),
    [((0, None), (), True), ((None, 0), (), False), ((1, 0), (0,), True)],
)
def test_a_mapped_dynamic_slice_is_a_gather(dims, batching, flags):
    x = of(4, 6) if dims[0] is None else of(3, 4, 6) if dims[0] == 0 else of(4, 3, 6)
    i = of(dtype="int32") if dims[1] is None else of(3, dtype="int32")
    fun = vmap(lambda x, i: dynamic_slice(x, (i, 0), (2, 3), allow_negative_indices=False), dims)
    params = last_params(fun, x, i)
    assert params["dimension_numbers"].operand_batching_dims == batching
    assert (params["indices_are_sorted"], params["unique_indices"]) == (flags, flags)


@pytest.mark.parametrize("dims", [(0, None, None), (0, 1, None), (None, 1, None), (None, None, 0)])
def test_a_mapped_dynamic_update_is_a_scatter(dims):
    shapes = [(4, 6), (2, 3), ()]
    dtypes = ["float32", "float32", "int32"]
    args = []
    for shape, dim, dtype in zip(shapes, dims, dtypes, strict=True):
        args.append(of(*shape if dim is None else (*shape[:dim], 5, *shape[dim:]), dtype=dtype))

    def fun(x, update, i):
        return dynamic_update_slice(x, update, (i, 0), allow_negative_indices=False)

    jaxpr = program(vmap(fun, dims), *args)
    assert jaxpr.eqns[-1].primitive.name == "scatter"
    assert jaxpr.out_avals[0].shape == (5, 4, 6)


def test_the_gradient_of_an_update_splits_the_cotangent():
    def fun(x, update):
        return total(dynamic_update_slice(x, update, (1, 0)))

    recorded = names(grad(fun, (0, 1)), of(4, 6), of(2, 3))
    assert recorded[-2:] == ["dynamic_update_slice", "dynamic_slice"]


def test_indexing_along_an_axis_is_one_unit():
    assert names(lambda x, i: dynamic_index_in_dim(x, i, 1), of(4, 6), of(dtype="int32")) == ["jit"]


def test_indexing_along_an_axis_is_traced_once():
    fun = lambda x, i: dynamic_index_in_dim(x, i, 1)
    first = last_params(fun, of(4, 6), of(dtype="int32"))
    again = last_params(fun, of(4, 6), of(dtype="int32"))
    assert first["jaxpr"] is again["jaxpr"]


@pytest.mark.parametrize(
    ("shapes", "expected"),
    [(((2, 1), (3,)), (2, 3)), (((0,), (1,)), (0,)), ((), ()), (((), (4, 1), (5,)), (4, 5))],
)
def test_broadcast_shapes(shapes, expected):
    assert broadcast_shapes(*shapes) == expected


x = np.ones((4, 6), np.float32)


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (
            TypeError,
            "does not have one number for each dimension",
            lambda: slice_at(x, (0,), (2, 2)),
        ),
        (
            TypeError,
            "lies beyond the end of an array of shape",
            lambda: slice_at(x, (0, 0), (2, 9)),
        ),
        (TypeError, "holds a negative number; count from", lambda: slice_at(x, (-1, 0), (2, 3))),
        (TypeError, "lies past limit_indices=", lambda: slice_at(x, (3, 0), (2, 3))),
        (TypeError, "holds a number below", lambda: slice_at(x, (0, 0), (2, 3), (0, 1))),
        (
            TypeError,
            "does not have one number for each dimension",
            lambda: slice_at(x, (0, 0), (2, 3), (1,)),
        ),
        (TypeError, "lies beyond the end of an array of shape", lambda: slice_in_dim(x, 0, 10)),
        (IndexError, "index_in_dim: index 9 is out of bounds", lambda: index_in_dim(x, 9, 1)),
        (
            ValueError,
            "start indices were given for an array of",
            lambda: dynamic_slice(x, (0,), (2, 3)),
        ),
        (
            ValueError,
            "must be scalars or a vector; give one for each",
            lambda: dynamic_slice(x, np.ones((2, 2), int), (2, 1)),
        ),
        (ValueError, "one size for each dimension", lambda: dynamic_slice(x, (0, 0), (2,))),
        (
            TypeError,
            "is larger than the operand, of shape",
            lambda: dynamic_slice(x, (0, 0), (2, 9)),
        ),
        (TypeError, "dynamic_slice: slice_sizes", lambda: dynamic_slice(x, (0, 0), (2, -1))),
        (
            TypeError,
            "dynamic_slice: the start indices have",
            lambda: dynamic_slice(x, (0.5, 0), (2, 1)),
        ),
        (
            TypeError,
            "dynamic_slice: each start index is a",
            lambda: dynamic_slice(x, (np.array([1, 2]),) * 2, (2, 1)),
        ),
        (
            ValueError,
            "Pass allow_negative_indices=True to count",
            lambda: dynamic_slice(x, (-1, 0), (2, 3), allow_negative_indices=False),
        ),
        (
            TypeError,
            "dynamic_update_slice: update has shape",
            lambda: dynamic_update_slice(x, x[0], (0, 0)),
        ),
        (
            TypeError,
            "dynamic_update_slice: an update of shape",
            lambda: dynamic_update_slice(x[:2], x, (0, 0)),
        ),
        (
            TypeError,
            "dynamic_update_slice: the arrays differ in",
            lambda: dynamic_update_slice(x, x.astype(int), (0, 0)),
        ),
        (ValueError, "entries for an operand of shape", lambda: pad(x, 0.0, [(1, 2, 0)])),
        (
            ValueError,
            "has a negative interior, but elements",
            lambda: pad(x, 0.0, [(1, 2, -1), (0, 0, 0)]),
        ),
        (
            ValueError,
            "cuts off more than an operand of shape",
            lambda: pad(x, 0.0, [(-5, 0, 0), (0, 0, 0)]),
        ),
        (
            ValueError,
            "and one scalar fills all of the padding",
            lambda: pad(x, x, [(0, 0, 0), (0, 0, 0)]),
        ),
        (TypeError, "Convert the value to the operand", lambda: pad(x, 1, [(0, 0, 0), (0, 0, 0)])),
        (ValueError, "concatenate: operands is empty", lambda: concatenate([], 0)),
        (TypeError, "concatenate: the arrays have different", lambda: concatenate([x, x[0]], 0)),
        (TypeError, "cannot be joined along dimension", lambda: concatenate([x, x[:, :2]], 0)),
        (TypeError, "is out of bounds for arrays of shapes", lambda: concatenate([x, x], 2)),
        (TypeError, "is out of bounds for arrays of shapes", lambda: concatenate([x, x], -1)),
        (
            TypeError,
            "concatenate: the arrays differ in dtype",
            lambda: concatenate([x, x.astype(int)], 0),
        ),
        (ValueError, "split: the sizes add up to", lambda: split(x, (2, 3), 0)),
        (ValueError, "holds a negative size", lambda: split(x, (7, -3), 0)),
        (ValueError, "is out of bounds for an array of dimension", lambda: split(x, (2, 3), 5)),
        (ValueError, "is out of bounds for an array of dimension", lambda: stack([x, x], 5)),
        (ValueError, "stack: the arrays have different shapes", lambda: stack([x, x[:2]])),
        (TypeError, "stack: the arrays differ in dtype: float", lambda: stack([x, x.astype(int)])),
        (ValueError, "is out of bounds for an array of dimension", lambda: unstack(x, 5)),
        (TypeError, "names a dimension twice", lambda: rev(x, (0, 0))),
        (TypeError, "names a dimension that an array of rank", lambda: rev(x, (3,))),
        (TypeError, "holds a negative number; count from", lambda: rev(x, (-1,))),
        (TypeError, "entries for an array of rank", lambda: tile(x, (2,))),
        (ValueError, "is not a range of dimensions of shape", lambda: collapse(x, 1, 0)),
        (
            ValueError,
            "Along each dimension, sizes must agree or be",
            lambda: broadcast_shapes((2, 1), (3, 3)),
        ),
        (TypeError, "broadcast_shapes: shape", lambda: broadcast_shapes((2, -1), (3, 3))),
    ],
)
def test_errors_name_the_rule_that_is_broken(error, message, call):
    with pytest.raises(error, match=message):
        make_jaxpr(call)()


@pytest.mark.parametrize(
    "join", [lambda xs: concatenate(xs, 0), stack], ids=["concatenate", "stack"]
)
def test_joining_is_transposed_by_some_of_its_operands(join):
    x = np.ones((2, 3), np.float32)
    result = make_jaxpr(lambda x: join([x, x]))(x).out_avals[0]
    pull = linear_transpose(lambda y: join([x, y]), x)
    assert make_jaxpr(pull)(ShapeDtypeStruct(result.shape, result.dtype)).out_avals[0].shape == (
        2,
        3,
    )
