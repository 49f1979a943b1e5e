"""Gather and scatter: types, printed programs, derivatives, batches, lowered text and errors."""

import numpy as np
import pytest

from ricci_autodiff import grad, jvp
from ricci_batching import vmap
from ricci_ir import ShapeDtypeStruct, check_jaxpr, make_jaxpr
from ricci_lax.elementwise._linear import neg
from ricci_lax.shapes._dimension_numbers import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
)
from ricci_lax.shapes._gather import gather, index_take
from ricci_lax.shapes._scatter import (
    scatter,
    scatter_add,
    scatter_max,
    scatter_min,
    scatter_mul,
    scatter_sub,
)
from ricci_lax.shapes._scatter_apply import scatter_apply
from ricci_lax.structure._broadcasting import reduce_sum
from ricci_stablehlo import lower_jaxpr

READ = GatherDimensionNumbers((1,), (0,), (0,))
WRITE = ScatterDimensionNumbers((1,), (0,), (0,))
SCATTERS = [scatter, scatter_add, scatter_sub, scatter_mul, scatter_min, scatter_max]


def of(*shape, dtype="float32"):
    return ShapeDtypeStruct(shape, np.dtype(dtype))


X, AT, UPDATES = of(4, 6), of(3, 1, dtype="int32"), of(3, 6)


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


def rows(x, i, **options):
    return gather(x, i, READ, (1, 6), **options)


def mapped(aval, dim):
    """The type of a batch of five."""
    if dim is None:
        return aval
    return of(*aval.shape[:dim], 5, *aval.shape[dim:], dtype=aval.dtype)


# Modes


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        ("clip", GatherScatterMode.CLIP),
        ("fill", GatherScatterMode.FILL_OR_DROP),
        ("drop", GatherScatterMode.FILL_OR_DROP),
        (None, GatherScatterMode.FILL_OR_DROP),
        ("promise_in_bounds", GatherScatterMode.PROMISE_IN_BOUNDS),
        ("one_hot", GatherScatterMode.ONE_HOT),
        (GatherScatterMode.CLIP, GatherScatterMode.CLIP),
    ],
)
def test_modes_have_names(name, mode):
    assert GatherScatterMode.from_any(name) is mode


def test_an_unknown_mode_is_refused():
    with pytest.raises(ValueError, match="is not a mode for indices out of bounds:"):
        GatherScatterMode.from_any("foo")


# Gather


def test_gather_promises_by_default_that_indices_are_in_bounds():
    params = last_params(rows, X, AT)
    assert params["mode"] is GatherScatterMode.PROMISE_IN_BOUNDS
    assert params["fill_value"] is None


@pytest.mark.parametrize(
    ("dtype", "fill"), [("int8", -128), ("uint8", 255), ("bool", True), ("int32", -(2**31))]
)
def test_the_fill_value_depends_on_the_dtype(dtype, fill):
    params = last_params(lambda x, i: rows(x, i, mode="fill"), of(4, 6, dtype=dtype), AT)
    assert params["fill_value"] == fill


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "complex64"])
def test_inexact_numbers_are_filled_with_nan(dtype):
    params = last_params(lambda x, i: rows(x, i, mode="fill"), of(4, 6, dtype=dtype), AT)
    assert np.isnan(params["fill_value"])


def test_tangents_are_filled_with_zero():
    fun = lambda x, i: jvp(lambda x: rows(x, i, mode="fill", fill_value=3.0), (x,), (x,))
    primal, tangent = program(fun, X, AT).eqns
    assert primal.params["fill_value"] == 3.0
    assert tangent.params["fill_value"] == 0


@pytest.mark.parametrize("mode", ["clip", "fill", "promise_in_bounds"])
def test_the_transpose_of_gather_adds_with_the_same_promises(mode):
    fun = grad(lambda x, i: total(rows(x, i, mode=mode, unique_indices=True)))
    eqn = program(fun, X, AT).eqns[-1]
    assert eqn.primitive.name == "scatter-add"
    assert eqn.params["mode"] is GatherScatterMode.from_any(mode)
    assert eqn.params["unique_indices"] is True
    assert eqn.params["dimension_numbers"] == WRITE


@pytest.mark.parametrize("dims", [(0, None), (2, None), (None, 0), (None, 1), (1, 0), (2, 2)])
def test_gather_maps_over_operand_and_indices(dims):
    fun = vmap(rows, dims)
    jaxpr = program(fun, mapped(X, dims[0]), mapped(AT, dims[1]))
    assert jaxpr.out_avals[0].shape == (5, 3, 6)
    numbers = jaxpr.eqns[-1].params["dimension_numbers"]
    both = None not in dims
    assert numbers.operand_batching_dims == ((0,) if both else ())
    assert numbers.start_indices_batching_dims == ((0,) if both else ())


def test_promises_are_dropped_where_only_the_indices_are_mapped():
    fun = vmap(lambda x, i: rows(x, i, unique_indices=True, indices_are_sorted=True), (None, 0))
    params = last_params(fun, X, mapped(AT, 0))
    assert not params["unique_indices"]
    assert not params["indices_are_sorted"]


def test_nested_maps_collect_batching_dimensions():
    params = last_params(vmap(vmap(rows)), of(2, 5, 4, 6), of(2, 5, 3, 1, dtype="int32"))
    assert params["dimension_numbers"] == GatherDimensionNumbers((3,), (2,), (2,), (0, 1), (0, 1))
    assert params["slice_sizes"] == (1, 1, 1, 6)


def test_gather_of_windows_keeps_their_dimensions():
    dims = GatherDimensionNumbers((0, 2), (), (0, 1))
    fun = lambda x, i: gather(x, i, dims, (2, 3))
    assert program(fun, X, of(7, 2, dtype="int32")).out_avals[0].shape == (2, 7, 3)


def test_index_take_keeps_the_other_axes():
    fun = lambda x, i: index_take(x, (i,), (1,))
    assert program(fun, X, of(7, dtype="int32")).out_avals[0].shape == (7, 4)


@pytest.mark.parametrize(("mode", "masked"), [("clip", 0), ("promise_in_bounds", 0), ("fill", 1)])
def test_only_filling_lowers_to_a_mask(mode, masked):
    text = lower_jaxpr(program(lambda x, i: rows(x, i, mode=mode), X, AT), "f")
    assert text.count("stablehlo.select") == masked


def test_lowered_gather_names_its_dimensions():
    text = lower_jaxpr(program(vmap(rows), of(5, 4, 6), of(5, 3, 1, dtype="int32")), "f")
    assert (
        "#stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], "
        "operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], "
        "index_vector_dim = 2>"
    ) in text


def test_narrow_indices_are_widened_before_comparison():
    text = lower_jaxpr(
        program(lambda x, i: rows(x, i, mode="fill"), X, of(3, 1, dtype="uint8")), "f"
    )
    assert "stablehlo.convert %arg1 : (tensor<3x1xui8>) -> tensor<3x1xi32>" in text


# Scatter


@pytest.mark.parametrize("fun", SCATTERS)
def test_scatter_keeps_the_type_of_the_operand(fun):
    (aval,) = program(lambda *a: fun(*a, WRITE), X, AT, UPDATES).out_avals
    assert (aval.shape, aval.dtype) == ((4, 6), np.float32)


@pytest.mark.parametrize("fun", SCATTERS)
def test_scatter_drops_out_of_bounds_updates_by_default(fun):
    params = last_params(lambda *a: fun(*a, WRITE), X, AT, UPDATES)
    assert params["mode"] is GatherScatterMode.FILL_OR_DROP


@pytest.mark.parametrize(
    ("fun", "combine"),
    [
        (scatter_add, "add"),
        (scatter_sub, "sub"),
        (scatter_mul, "mul"),
        (scatter_min, "min"),
        (scatter_max, "max"),
    ],
)
def test_scatter_carries_the_program_that_combines(fun, combine):
    params = last_params(lambda *a: fun(*a, WRITE), X, AT, UPDATES)
    (eqn,) = params["update_jaxpr"].eqns
    assert eqn.primitive.name == combine


def test_the_combining_program_is_shared():
    first = last_params(lambda *a: scatter_add(*a, WRITE), X, AT, UPDATES)
    again = last_params(lambda *a: scatter_add(*a, WRITE), X, AT, UPDATES)
    assert first["update_jaxpr"] is again["update_jaxpr"]


DIMS = [(0, None, None), (None, 0, None), (None, None, 1), (2, None, 1), (2, 1, 0), (1, 2, 2)]


@pytest.mark.parametrize("fun", SCATTERS)
@pytest.mark.parametrize("dims", DIMS)
def test_scatter_maps_over_every_operand(fun, dims):
    args = [mapped(a, d) for a, d in zip((X, AT, UPDATES), dims, strict=True)]
    jaxpr = program(vmap(lambda *a: fun(*a, WRITE), dims), *args)
    assert jaxpr.out_avals[0].shape == (5, 4, 6)
    numbers = jaxpr.eqns[-1].params["dimension_numbers"]
    assert numbers.operand_batching_dims == (() if dims[1] is None else (0,))


@pytest.mark.parametrize("fun", SCATTERS)
def test_gradients_have_the_types_of_their_arguments(fun):
    loss = lambda x, i, u: total(fun(x, i, u, WRITE, unique_indices=True))
    avals = program(grad(loss, (0, 2)), X, AT, UPDATES).out_avals
    assert [aval.shape for aval in avals] == [(4, 6), (3, 6)]


@pytest.mark.parametrize(
    ("fun", "expected"), [(scatter_add, ["gather"]), (scatter_sub, ["gather", "neg"])]
)
def test_the_cotangent_of_added_updates_is_read_back(fun, expected):
    loss = grad(lambda u, x, i: total(fun(x, i, u, WRITE)))
    assert names(loss, UPDATES, X, AT)[-len(expected) :] == expected


def test_overlapping_updates_are_numbered_to_find_which_stayed():
    recorded = names(grad(lambda x, i, u: total(scatter(x, i, u, WRITE))), X, AT, UPDATES)
    assert recorded.index("iota") < recorded.index("scatter") < recorded.index("gather")
    assert "scatter-add" in recorded


def test_overlapping_factors_have_no_derivative():
    with pytest.raises(NotImplementedError, match="unique_indices=True"):
        program(grad(lambda u, x, i: total(scatter_mul(x, i, u, WRITE))), UPDATES, X, AT)


def test_scatter_apply_carries_its_function():
    fun = lambda x, i: scatter_apply(x, i, neg, WRITE, update_shape=(3, 6))
    params = last_params(fun, X, AT)
    assert [eqn.primitive.name for eqn in params["update_jaxpr"].eqns] == ["neg"]


def test_scatter_apply_has_no_derivative():
    fun = lambda x, i: total(scatter_apply(x, i, neg, WRITE, update_shape=(3, 6)))
    with pytest.raises(NotImplementedError, match="scatter_apply"):
        program(grad(fun), X, AT)


@pytest.mark.parametrize(("mode", "clamps"), [("clip", 1), ("fill", 0), ("promise_in_bounds", 0)])
def test_only_clipping_lowers_to_a_clamp(mode, clamps):
    fun = lambda *a: scatter_add(*a, WRITE, mode=mode)
    text = lower_jaxpr(program(fun, X, AT, UPDATES), "f")
    assert text.count("stablehlo.clamp") == clamps


def test_plain_scatter_returns_the_update():
    text = lower_jaxpr(program(lambda *a: scatter(*a, WRITE), X, AT, UPDATES), "f")
    block = text[text.index("^bb0") : text.index("stablehlo.return")].splitlines()[0]
    update = block.split(",")[1].split(":")[0].strip()
    assert f"stablehlo.return {update} : tensor<f32>" in text


# Errors

x, at, updates = np.ones((4, 6), np.float32), np.zeros((3, 1), int), np.ones((3, 6), np.float32)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"offset_dims": (1, 0)}, "is not in increasing order"),
        ({"offset_dims": (5,)}, "offset_dims"),
        ({"offset_dims": (1, 1)}, "names a dimension twice"),
        ({"offset_dims": ()}, "offset_dims"),
        ({"collapsed_slice_dims": (1,)}, "gather: collapsed_slice_dims drops dimension"),
        ({"collapsed_slice_dims": (0, 0)}, "gather: collapsed_slice_dims="),
        ({"collapsed_slice_dims": (7,)}, "gather: collapsed_slice_dims names dimension"),
        ({"collapsed_slice_dims": (1, 0)}, "gather: collapsed_slice_dims="),
        ({"start_index_map": (0, 1)}, "dimensions, but the last dimension of"),
        ({"start_index_map": (7,)}, "out of bounds: there are dimensions"),
        ({"operand_batching_dims": (0,)}, "gather: a dimension is in both"),
        (
            {"operand_batching_dims": (1,), "start_indices_batching_dims": (0,)},
            "gather: the batching dimensions of the",
        ),
        ({"start_indices_batching_dims": (0,)}, "are paired, so give as many of each"),
    ],
)
def test_gather_dimension_numbers_must_fit(changes, message):
    with pytest.raises(TypeError, match=message):
        make_jaxpr(lambda: gather(x, at, READ._replace(**changes), (1, 6)))()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"update_window_dims": (1, 0)}, "but the indices and dimension_numbers call"),
        ({"update_window_dims": (5,)}, "scatter: update_window_dims names dimension"),
        ({"update_window_dims": ()}, "but the indices and dimension_numbers call"),
        ({"inserted_window_dims": (0, 0)}, "scatter: inserted_window_dims="),
        ({"inserted_window_dims": (7,)}, "scatter: inserted_window_dims names"),
        ({"inserted_window_dims": ()}, "scatter: the dimension numbers describe a"),
        ({"scatter_dims_to_operand_dims": (7,)}, "of scatter_dims_to_operand_dims is"),
        ({"scatter_dims_to_operand_dims": (0, 1)}, "dimensions, but the last dimension of"),
        (
            {"operand_batching_dims": (1,), "scatter_indices_batching_dims": (0,)},
            "scatter: the batching dimensions of the",
        ),
        ({"scatter_indices_batching_dims": (0,)}, "are paired, so give as many of each"),
    ],
)
def test_scatter_dimension_numbers_must_fit(changes, message):
    with pytest.raises(TypeError, match=message):
        make_jaxpr(lambda: scatter_add(x, at, updates, WRITE._replace(**changes)))()


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (
            ValueError,
            "gather: the indices have dtype float",
            lambda: gather(x, at.astype(float), READ, (1, 6)),
        ),
        (TypeError, "does not fit into a dimension of size", lambda: gather(x, at, READ, (1, 7))),
        (TypeError, "entries for an operand of rank", lambda: gather(x, at, READ, (1,))),
        (
            TypeError,
            "gather: collapsed_slice_dims drops dimension",
            lambda: gather(x, at, READ, (2, 6)),
        ),
        (TypeError, "at least one dimension", lambda: gather(x, np.int32(0), READ, (1, 6))),
        (
            ValueError,
            "scatter: the indices have dtype float",
            lambda: scatter_add(x, at.astype(float), updates, WRITE),
        ),
        (
            TypeError,
            "scatter: the arrays differ in dtype: float",
            lambda: scatter_add(x, at, updates.astype(int), WRITE),
        ),
        (
            TypeError,
            "scatter: a window of updates has size",
            lambda: scatter_add(x[:, :5], at, updates, WRITE),
        ),
        (TypeError, "scatter: updates has size", lambda: scatter_add(x, at, updates[:2], WRITE)),
        (
            TypeError,
            "but the indices and dimension_numbers call",
            lambda: scatter_add(x, at, updates[0], WRITE),
        ),
        (TypeError, "dtype bool", lambda: scatter_add(x > 1, at, updates > 1, WRITE)),
    ],
)
def test_errors_name_the_rule_that_is_broken(error, message, call):
    with pytest.raises(error, match=message):
        make_jaxpr(call)()
