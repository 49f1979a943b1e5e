"""Sharding constraints and ``device_put``, eagerly and inside programs."""

import numpy as np
import pytest

from ricci_autodiff import grad, jvp
from ricci_batching import vmap
from ricci_ir import ShapeDtypeStruct, make_jaxpr
from ricci_lax import mul, reduce_sum
from ricci_parallel import (
    device_put,
    device_put_p,
    pmap,
    shard_map,
    sharding_constraint_p,
    with_sharding_constraint,
)
from ricci_stablehlo import lower_jaxpr
from ricci_xla import (
    ArrayCopySemantics,
    AxisType,
    Format,
    Layout,
    Mesh,
    NamedSharding,
    P,
    SingleDeviceSharding,
    devices,
    jit,
    single_device_sharding,
)

ONES = np.ones(8, np.float32)
F8 = ShapeDtypeStruct((8,), np.float32)


@pytest.fixture
def mesh(eight_devices):
    return Mesh(np.array(devices()[:8]).reshape(4, 2), ("i", "j"))


def params_of(name, fun, *args):
    return [e.params for e in make_jaxpr(fun)(*args).eqns if e.primitive.name == name]


@pytest.mark.parametrize(
    ("spec", "shape", "text"),
    [
        (P("i"), (8,), '<@mesh, [{"i"}]>'),
        (P(), (8, 8), "<@mesh, [{}, {}]>"),
        (P(None, ("i", "j")), (8, 8), '<@mesh, [{}, {"i", "j"}]>'),
        (P(P.UNCONSTRAINED, "j"), (8, 8), '<@mesh, [{?}, {"j"}]>'),
    ],
)
def test_sharding_constraints_lower_to_mesh_axes(mesh, spec, shape, text):
    constrained = jit(lambda x: with_sharding_constraint(x, NamedSharding(mesh, spec)))
    lowered = constrained.lower(ShapeDtypeStruct(shape, np.float32)).as_text()
    assert f"sdy.sharding_constraint %arg0 {text} :" in lowered
    assert 'sdy.mesh @mesh = <["i"=4, "j"=2]>' in lowered


@pytest.mark.parametrize("spec", [P("i"), P("j"), P(("i", "j"))])
def test_results_have_the_constrained_sharding(mesh, spec):
    sharding = NamedSharding(mesh, spec)
    x = jit(lambda x: with_sharding_constraint(mul(x, x), sharding))(ONES)
    assert x.sharding.is_equivalent_to(sharding, 1)


def test_concrete_arrays_are_moved(mesh):
    sharding = NamedSharding(mesh, P("i"))
    assert with_sharding_constraint(ONES, sharding).sharding == sharding


def test_the_cotangent_is_spread_as_the_value(mesh):
    sharding = NamedSharding(mesh, P("i"))
    loss = lambda x: reduce_sum(with_sharding_constraint(mul(x, x), sharding), (0,))
    found = params_of("sharding_constraint", grad(loss), F8)
    assert [p["sharding"] for p in found] == [sharding, sharding]


@pytest.mark.parametrize(
    ("in_axis", "spmd_name", "spec", "unconstrained"),
    [
        (0, None, P(P.UNCONSTRAINED, "i"), {0}),
        (1, None, P("i", P.UNCONSTRAINED), {1}),
        (0, "j", P("j", "i"), set()),
    ],
)
def test_the_axis_of_a_batch_is_free_or_named(mesh, in_axis, spmd_name, spec, unconstrained):
    sharding = NamedSharding(mesh, P("i"))
    mapped = vmap(
        lambda x: with_sharding_constraint(x, sharding), in_axis, spmd_axis_name=spmd_name
    )
    (found,) = params_of("sharding_constraint", mapped, ShapeDtypeStruct((8, 8), np.float32))
    assert found["sharding"].spec == spec
    assert found["unconstrained_dims"] == unconstrained


def test_a_spec_is_for_the_mesh_that_is_entered(mesh):
    with mesh:
        (found,) = params_of(
            "sharding_constraint", lambda x: with_sharding_constraint(x, P("j")), F8
        )
    assert (found["sharding"], found["context_mesh"]) == (NamedSharding(mesh, P("j")), mesh)


def test_sharding_constraint_prints_as_in_jax(mesh):
    jaxpr = make_jaxpr(lambda x: with_sharding_constraint(x, NamedSharding(mesh, P("i"))))(F8)
    assert str(jaxpr) == (
        "{ lambda ; a:f32[8]. let\n"
        "    b:f32[8] = sharding_constraint[\n"
        "      context_mesh=Mesh()\n"
        "      layout=None\n"
        "      sharding=NamedSharding(mesh=Mesh('i': 4, 'j': 2, axis_types=(Auto, Auto)), "
        "spec=P('i',), memory_kind=device)\n"
        "      unconstrained_dims=frozenset({})\n"
        "    ] a\n"
        "  in (b,) }"
    )


@pytest.mark.parametrize(
    ("error", "message", "x", "where"),
    [
        (ValueError, "sharding None", {"a": ONES}, {"a": None}),
        (RuntimeError, "no mesh is set", ONES, P("i")),
        (ValueError, "The spec of a scalar is", 1.0, "i"),
        (ValueError, "x, of shape .8,.: .* is for arrays of rank 2 or higher", ONES, ("i", "j")),
        (TypeError, "neither a sharding nor a PartitionSpec", ONES, 3),
        (ValueError, "does not match", (ONES, ONES), (P(),)),
        (ValueError, "acts as an assertion", ONES, AxisType.Explicit),
    ],
)
def test_errors_name_the_argument(mesh, error, message, x, where):
    if isinstance(where, str) or isinstance(where, tuple) and isinstance(where[0], str):
        where = NamedSharding(mesh, P(*where))
    if isinstance(where, AxisType):
        where = NamedSharding(Mesh(devices()[:2], "k", where), P("k"))
    with pytest.raises(error, match=message):
        with_sharding_constraint(x, where)


def test_device_put_of_a_traced_value_is_an_operation_of_the_program():
    device = devices()[1]
    (found,) = params_of("device_put", lambda x: device_put({"a": x, "b": 2.0}, device), F8)
    assert found == {
        "devices": (device, device),
        "srcs": (None, None),
        "copy_semantics": (ArrayCopySemantics.REUSE_INPUT,) * 2,
    }


@pytest.mark.parametrize(
    ("options", "semantics"),
    [
        ({"donate": True}, ArrayCopySemantics.DONATE_INPUT),
        ({"may_alias": False}, ArrayCopySemantics.ALWAYS_COPY),
        ({"may_alias": True}, ArrayCopySemantics.REUSE_INPUT),
    ],
)
def test_how_device_put_treats_memory(options, semantics):
    (found,) = params_of("device_put", lambda x: device_put(x, devices()[1], **options), F8)
    assert found["copy_semantics"] == (semantics,)


def test_cotangents_return_to_the_place_of_the_value():
    here, there = devices()[:2]
    loss = lambda x: reduce_sum(device_put(x, there, src=here), (0,))
    found = params_of("device_put", grad(loss), F8)
    assert [(p["devices"], p["srcs"]) for p in found] == [((there,), (here,)), ((here,), (there,))]


def test_tangents_and_batches_are_moved_with_values():
    device = devices()[1]
    move = lambda x: device_put(x, device)
    results = [*jvp(move, (ONES,), (ONES,)), vmap(move)(ONES)]
    assert [x.devices() for x in results] == [{device}] * 3


@pytest.mark.parametrize("platform", ["cpu", "cuda", "tpu"])
def test_a_kind_of_memory_is_an_annotation_where_there_are_several(platform):
    from_host = single_device_sharding(devices()[0]).with_memory_kind("pinned_host")
    jaxpr = make_jaxpr(lambda x: device_put(x, from_host))(F8)
    text = lower_jaxpr(jaxpr, "f", platform=platform)
    assert ('_xla_buffer_placement = "pinned_host"' in text) == (platform != "cpu")


def test_device_put_refuses_invalid_places():
    with pytest.raises(ValueError, match="got 3 of type int"):
        make_jaxpr(lambda x: device_put(x, 3))(1.0)


def test_the_primitives_keep_types():
    aval = make_jaxpr(lambda x: x)(1.0).in_avals[0]
    assert sharding_constraint_p.abstract_eval(aval, sharding=None) is aval
    assert device_put_p.abstract_eval(aval) == [aval]


def test_parts_of_a_constrained_value_may_differ_in_size(mesh):
    """XLA pads them; an argument of `device_put` must be sharded evenly."""
    sharding = NamedSharding(mesh, P("i"))
    odd = np.arange(9, dtype=np.float32)
    constrained = lambda x: with_sharding_constraint(x, sharding)
    np.testing.assert_array_equal(jit(constrained)(odd), odd)
    with pytest.raises(ValueError, match="x, of shape .9,"):
        constrained(odd)


def test_a_shard_is_not_constrained(mesh):
    """Along the axes that a function on shards works on; along others it is."""
    sharding = NamedSharding(mesh, P("i"))
    for inner in (
        lambda x: with_sharding_constraint({"k": x}, sharding)["k"],
        lambda x: jit(lambda y: y, out_shardings=sharding)(x),
    ):
        with pytest.raises(
            ValueError, match="mesh axis 'i' inside a function that pmap or shard_map"
        ):
            pmap(inner)(np.ones((8, 8), np.float32))
    partly = shard_map(
        lambda x: with_sharding_constraint(x, P(None, "j")),
        mesh=mesh,
        in_specs=P("i"),
        out_specs=P("i"),
        axis_names={"i"},
    )
    x = jit(partly)(np.ones((8, 8), np.float32))
    assert x.sharding.spec == P("i", "j")


def test_a_result_is_on_the_mesh_that_it_was_constrained_to(mesh):
    line = NamedSharding(Mesh(devices()[:8], "x"), P("x"))
    grid = NamedSharding(mesh, P(("i", "j")))
    both = jit(lambda x: [with_sharding_constraint(x, s) for s in (line, grid)])
    assert [y.sharding for y in both(ONES)] == [line, grid]


def test_a_format_constrains_sharding_and_layout():
    sharding = SingleDeviceSharding(devices()[0])
    place = Format(Layout((1, 0)), sharding)
    x = np.ones((4, 2), np.float32)
    for fun in (
        lambda x: with_sharding_constraint(x, place),
        jit(lambda x: with_sharding_constraint(mul(x, np.float32(2)), place)),
    ):
        assert fun(device_put(x)).format.layout.major_to_minor == (1, 0)
    value = jit(grad(lambda x: reduce_sum(mul(with_sharding_constraint(x, place), x), (0, 1))))(x)
    np.testing.assert_array_equal(value, 2 * x)
    batch = jit(vmap(lambda x: with_sharding_constraint(x, place)))(x[None])
    assert batch.format.layout.major_to_minor == (0, 2, 1)
    assert with_sharding_constraint(device_put(x), Format(None, sharding)).sharding == sharding


@pytest.mark.parametrize("layout", [Layout((1, 0)), Layout.AUTO])
def test_a_layout_needs_a_sharding(layout):
    with pytest.raises(ValueError, match="alone"):
        with_sharding_constraint(np.ones((4, 2), np.float32), layout)
    for name in ("in_shardings", "out_shardings"):
        with pytest.raises(ValueError, match="alone"):
            jit(lambda x: x, **{name: layout})
