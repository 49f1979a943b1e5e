"""Reductions over named axes equal those over a dimension that holds all members."""

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="devices need the runtime")

import ricci
import ricci.numpy as jnp
from ricci import P, lax
from ricci.scipy import special
from ricci.sharding import AxisType

X = np.float32([[1, 5, 2], [4, 4, 9], [3, 0, 7], [8, 6, 2]])

REDUCTIONS = {
    **{name: getattr(jnp, name) for name in ("sum", "max", "min", "mean", "var", "std", "ptp")},
    **{name: getattr(jnp, name) for name in ("nansum", "nanmean", "nanvar", "nanstd", "minmax")},
    "count_nonzero": jnp.count_nonzero,
    "logsumexp": special.logsumexp,
    "logmeanexp": ricci.nn.logmeanexp,
    "vector_norm": jnp.linalg.vector_norm,
    "largest_norm": lambda x, axis, **kw: jnp.linalg.vector_norm(x, axis=axis, ord=jnp.inf, **kw),
    "method": lambda x, axis, **kw: jnp.asarray(x).sum(axis, **kw),
}
SHAPE_KEEPING = {
    name: getattr(ricci.nn, name) for name in ("softmax", "log_softmax", "standardize")
}
WITHOUT_COLLECTIVE = {name: getattr(jnp, name) for name in ("prod", "any", "all", "nanprod")}


def each(table):
    return pytest.mark.parametrize("function", table.values(), ids=table)


def close(result, expected):
    for one, other in zip(ricci.tree.leaves(result), ricci.tree.leaves(expected), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=1e-6)


@each(REDUCTIONS)
@pytest.mark.parametrize(("axis", "axes"), [("i", 0), (("i", 0), (0, 1)), ([-1, "i"], (0, 1))])
def test_vmap_reduces_over_its_axis(function, axis, axes):
    mapped = ricci.vmap(lambda x: function(x, axis=axis), axis_name="i", out_axes=None)
    close(mapped(X), function(X, axis=axes))


@each(REDUCTIONS)
def test_kept_axes_are_dimensions_of_the_array(function):
    mapped = ricci.vmap(lambda x: function(x, axis=("i", 0), keepdims=True), axis_name="i")
    assert {leaf.shape for leaf in ricci.tree.leaves(mapped(X))} == {(4, 1)}


@each({**REDUCTIONS, **SHAPE_KEEPING})
def test_another_size_of_the_axis_is_another_result(function):
    mapped = ricci.vmap(lambda x: ricci.jit(function, static_argnames="axis")(x, axis="i"), 0, 0,
                        axis_name="i")  # fmt: skip
    for size in (2, 4, 1, 2):
        result = function(X[:size], axis=0)
        full = ricci.tree.map(lambda r, n=size: jnp.broadcast_to(r, (n, 3)), result)
        close(mapped(X[:size]), full)


@each(SHAPE_KEEPING)
def test_normalizations_over_named_axes(function):
    close(ricci.vmap(lambda x: function(x, axis="i"), axis_name="i")(X), function(X, axis=0))
    whole = ricci.vmap(lambda x: function(x, axis=("i", 0)), axis_name="i")(X)
    close(whole, function(X, axis=(0, 1)))


@each({**REDUCTIONS, **SHAPE_KEEPING})
def test_gradients_are_those_over_a_dimension(function):
    weights = jnp.arange(12.0).reshape(4, 3)
    mean = lambda r: sum(jnp.sum(jnp.broadcast_to(x, (4, 3)) * weights)
                         for x in ricci.tree.leaves(r))  # fmt: skip
    if function is jnp.count_nonzero:
        mean = lambda r: 0.0
    mapped = ricci.vmap(lambda x: function(x, axis="i"), axis_name="i")
    close(
        ricci.grad(lambda x: mean(mapped(x)))(X), ricci.grad(lambda x: mean(function(x, axis=0)))(X)
    )


@pytest.mark.parametrize("dtype", ["int8", "uint8", "bool", "bfloat16", "float16", "complex64"])
@pytest.mark.parametrize("name", ["sum", "max", "mean", "nansum", "var"])
def test_dtypes_are_those_over_a_dimension(name, dtype):
    x = X.astype(dtype)
    function = getattr(jnp, name)
    mapped = ricci.vmap(lambda x: function(x, axis="i"), axis_name="i", out_axes=None)(x)
    expected = function(x, axis=0)
    assert mapped.dtype == expected.dtype
    np.testing.assert_array_equal(mapped, expected)


@pytest.mark.parametrize("name", ["sum", "max", "min", "mean", "var", "nanmean"])
def test_masks_select_elements_of_all_members(name):
    settings = {"initial": 2.5} if name in ("max", "min") else {}
    function = lambda x, axis: getattr(jnp, name)(x, axis=axis, where=x > 2, **settings)
    mapped = ricci.vmap(lambda x: function(x, "i"), axis_name="i", out_axes=None)
    close(mapped(X), function(X, 0))


def test_sums_start_from_the_initial_value_once():
    mapped = ricci.vmap(lambda x: jnp.sum(x, "i", initial=2.5), axis_name="i", out_axes=None)
    close(mapped(X), jnp.sum(X, 0) + 2.5)


def test_a_value_that_is_not_mapped_counts_for_each_member():
    sums = ricci.vmap(lambda x: jnp.sum(X[0], "i"), axis_name="i", out_axes=None)(X)
    close(sums, 4 * X[0])


def test_nested_maps_reduce_over_any_of_their_axes():
    x = jnp.arange(24.0).reshape(4, 2, 3)
    nested = lambda axis: ricci.vmap(
        ricci.vmap(lambda x: jnp.var(x, axis=axis), axis_name="j", out_axes=None),
        axis_name="i",
        out_axes=None,
    )
    close(nested(("i", "j"))(x), jnp.var(x, (0, 1)))
    close(nested(("j", 0, "i"))(x), jnp.var(x))


@each(WITHOUT_COLLECTIVE)
def test_reductions_without_a_collective_say_so(function):
    with pytest.raises(NotImplementedError, match="named axes are sums, maxima and minima"):
        ricci.vmap(lambda x: function(x, axis="i"), axis_name="i")(X)


@each({"median": jnp.median, "argmax": jnp.argmax, "cumsum": jnp.cumsum, "average": jnp.average})
def test_other_functions_take_no_names(function):
    with pytest.raises(TypeError, match="'str' object cannot be interpreted as an integer"):
        ricci.vmap(lambda x: function(x, axis="i"), axis_name="i")(X)


@each({**REDUCTIONS, **SHAPE_KEEPING})
def test_names_are_of_axes_in_scope_and_are_given_once(function):
    with pytest.raises(NameError, match="unbound axis name: 'batch'"):
        function(X, axis="batch")
    with pytest.raises(ValueError, match="an axis is given twice"):
        ricci.vmap(lambda x: function(x, axis=("i", "i")), axis_name="i")(X)


@each({**REDUCTIONS, **SHAPE_KEEPING})
@pytest.mark.parametrize("check_vma", [True, False])
def test_shards_are_reduced_together(eight_devices, function, check_vma):
    mesh = ricci.make_mesh((4, 2), ("i", "j"), axis_types=(AxisType.Auto,) * 2)
    x = jnp.arange(24.0).reshape(4, 6)
    keeps_shape = function in SHAPE_KEEPING.values()
    sharded = ricci.shard_map(
        lambda x: function(x, axis=("j", 1, "i")),
        mesh=mesh,
        in_specs=P("i", "j"),
        out_specs=P("i", "j") if keeps_shape else P(),
        check_vma=check_vma,
    )
    axis = (0, 1)
    expected = function(x, axis=axis)
    full = expected if keeps_shape else ricci.tree.map(lambda r: r[None], expected)
    close(sharded(x), full)
    close(ricci.jit(sharded)(x), full)


def test_sums_over_devices_are_one_collective(eight_devices):
    mesh = ricci.make_mesh((8,), ("i",), axis_types=(AxisType.Auto,))
    mean = ricci.shard_map(
        lambda x: jnp.mean(x, axis=("i", 0)), mesh=mesh, in_specs=P("i"), out_specs=P()
    )
    jaxpr = str(ricci.make_jaxpr(mean)(jnp.arange(16.0)))
    assert jaxpr.count("psum") == 1 and "all_gather" not in jaxpr
    close(mean(jnp.arange(16.0)), jnp.float32(7.5))


def test_names_in_loops_of_a_mapped_function():
    def carry(x):
        return lax.scan(lambda c, _: (c - jnp.mean(c, "i"), jnp.std(c, ("i", 0))), x, length=2)

    last, deviations = ricci.vmap(carry, axis_name="i", out_axes=(0, None))(X)
    close(last, jnp.asarray(X - X.mean(0)))
    close(deviations, jnp.stack([jnp.std(X), jnp.std(X - X.mean(0))]))


def test_pmap_reduces_over_its_devices(eight_devices):
    mapped = ricci.pmap(lambda x: x / jnp.sum(x, ("i", 0)), axis_name="i")
    close(mapped(X), jnp.asarray(X / X.sum()))
