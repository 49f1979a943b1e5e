"""Meshes, partition specs and shardings: what each device holds, and how they print."""

import numpy as np
import pytest
from numpy import s_

from ricci_xla import (
    AbstractMesh,
    AxisType,
    DuplicateSpecError,
    IndivisibleError,
    Mesh,
    NamedSharding,
    P,
    Sharding,
    SingleDeviceSharding,
    get_hlo_sharding_from_serialized_proto,
    get_op_sharding_from_serialized_proto,
    get_serialized_proto_from_hlo_sharding,
    make_mesh,
    single_device_sharding,
)


@pytest.fixture
def mesh(eight_devices):
    return Mesh(np.array(eight_devices).reshape(4, 2), ("x", "y"))


# Each spec with a shape, the shape of a part, and the parts of devices 0, 1, 2 and 7.
CASES = [
    (P(), (8, 4), (8, 4), [s_[:, :]] * 4),
    (P("x"), (8, 4), (2, 4), [s_[0:2, :], s_[0:2, :], s_[2:4, :], s_[6:8, :]]),
    (P("y"), (8, 4), (4, 4), [s_[0:4, :], s_[4:8, :], s_[0:4, :], s_[4:8, :]]),
    (P("x", "y"), (8, 4), (2, 2), [s_[0:2, 0:2], s_[0:2, 2:4], s_[2:4, 0:2], s_[6:8, 2:4]]),
    (P("y", "x"), (8, 4), (4, 1), [s_[0:4, 0:1], s_[4:8, 0:1], s_[0:4, 1:2], s_[4:8, 3:4]]),
    (P(("x", "y")), (8,), (1,), [s_[0:1,], s_[1:2,], s_[2:3,], s_[7:8,]]),
    (P(("y", "x")), (8,), (1,), [s_[0:1,], s_[4:5,], s_[1:2,], s_[7:8,]]),
    (P(None, ("x", "y")), (1, 16), (1, 2), [s_[:, 0:2], s_[:, 2:4], s_[:, 4:6], s_[:, 14:16]]),
]


@pytest.mark.parametrize(("spec", "shape", "piece", "parts"), CASES, ids=lambda v: str(v)[:20])
def test_parts_of_named_sharding(mesh, spec, shape, piece, parts):
    sharding = NamedSharding(mesh, spec)
    assert sharding.shard_shape(shape) == piece
    indices = list(sharding.devices_indices_map(shape).values())
    assert [indices[i] for i in (0, 1, 2, 7)] == parts


@pytest.mark.parametrize("spec", [case[0] for case in CASES], ids=str)
def test_xla_form_agrees_with_indices(mesh, spec):
    sharding = NamedSharding(mesh, spec)
    form = sharding._to_xla_hlo_sharding(2)
    assert form.is_replicated() == sharding.is_fully_replicated
    assert form.is_replicated() or sorted(form.tile_assignment_devices()) == list(range(8))


SPECS = [
    (P(), "P()"),
    (P("x", None), "P('x', None)"),
    (P("x"), "P('x',)"),
    (P(("x", "y"), "z"), "P(('x', 'y'), 'z')"),
    (P(["x", "y"]), "P(('x', 'y'),)"),
    (P("x", P.UNCONSTRAINED), "P('x', UNCONSTRAINED)"),
]


@pytest.mark.parametrize(("spec", "text"), SPECS)
def test_spec_prints(spec, text):
    assert repr(spec) == text


def test_spec_compares_by_partitions():
    assert P("x") == P(("x",))
    assert hash(P("x")) == hash(P(("x",)))
    assert P("x") != P("x", None)
    assert P("x") + P("y") == P("x", "y")


def test_mesh_prints(mesh):
    assert repr(mesh) == ("Mesh(axis_sizes=(4, 2), axis_names=('x', 'y'), axis_types=(Auto, Auto))")
    assert str(mesh) == "Mesh('x': 4, 'y': 2, axis_types=(Auto, Auto))"


def test_named_sharding_prints(mesh):
    assert repr(NamedSharding(mesh, P("x"))) == (
        "NamedSharding(mesh=Mesh('x': 4, 'y': 2, axis_types=(Auto, Auto)), spec=P('x',), "
        "memory_kind=device)"
    )


def test_single_device_sharding_prints(eight_devices):
    assert repr(SingleDeviceSharding(eight_devices[1])) == (
        "SingleDeviceSharding(device=CpuDevice(id=1), memory_kind=device)"
    )


def test_equal_meshes_are_one_object(mesh, eight_devices):
    assert Mesh(np.array(eight_devices).reshape(4, 2), ("x", "y")) is mesh


def test_mesh_devices_cannot_be_changed(mesh):
    with pytest.raises(ValueError, match="read-only"):
        mesh.devices[0, 0] = None


def test_equal_shardings_hash_alike(mesh, eight_devices):
    for make in (
        lambda: NamedSharding(mesh, P("x")),
        lambda: SingleDeviceSharding(eight_devices[0]),
    ):
        assert make() == make()
        assert hash(make()) == hash(make())
    assert NamedSharding(mesh, P("x")) != NamedSharding(mesh, P("y"))
    assert NamedSharding(mesh, P("x")) != single_device_sharding(eight_devices[0])


def test_equivalence_looks_at_placement_alone(mesh, eight_devices):
    assert NamedSharding(mesh, P("x")).is_equivalent_to(NamedSharding(mesh, P("x", None)), 2)
    assert not NamedSharding(mesh, P("x")).is_equivalent_to(NamedSharding(mesh, P("y")), 2)
    alone = NamedSharding(Mesh(eight_devices[1:2], "i"), P())
    assert single_device_sharding(eight_devices[1]).is_equivalent_to(alone, 1)


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda m: NamedSharding(m, P("z")), ValueError, "NamedSharding: P"),
        (
            lambda m: NamedSharding(m, P("x", "x")),
            DuplicateSpecError,
            "'x' for the dimensions 0 and 1",
        ),
        (lambda m: NamedSharding(m, "x"), TypeError, "expected spec to be a PartitionSpec"),
        (
            lambda m: NamedSharding(m, P("x")).shard_shape((6,)),
            IndivisibleError,
            "dimension 0, of size 6, over the mesh axis 'x' of size 4.*Pad it to .8,.",
        ),
        (
            lambda m: NamedSharding(m, P("x")).shard_shape(()),
            ValueError,
            "NamedSharding.*is for arrays of rank 1 or higher",
        ),
        (lambda m: NamedSharding(m, P(), "nonesuch"), ValueError, "nonesuch"),
        (lambda m: Mesh(m.devices, ("x",)), ValueError, "Reshape the devices, or name each axis"),
        (lambda m: Mesh(m.devices, ("x", "y"), (AxisType.Auto,)), ValueError, "axis_types"),
        (lambda m: make_mesh((4096,), ("x",)), ValueError, "needs 4096 devices, but there are"),
    ],
)
def test_mistakes_are_explained(mesh, make, error, text):
    with pytest.raises(error, match=text):
        make(mesh)


def test_make_mesh_takes_the_first_devices(eight_devices):
    mesh = make_mesh((2, 3), ("a", "b"), devices=eight_devices)
    assert list(mesh.devices.flat) == eight_devices[:6]
    assert mesh.are_all_axes_explicit


def test_abstract_mesh_has_the_axes(mesh):
    abstract = mesh.abstract_mesh
    assert isinstance(abstract, AbstractMesh)
    assert abstract.shape == mesh.shape
    assert abstract == mesh.abstract_mesh
    assert NamedSharding(abstract, P("x")).spec == P("x")


def test_update_replaces_parts(mesh):
    sharding = NamedSharding(mesh, P("x"))
    assert sharding.update(spec=("y",)).spec == P("y")
    assert sharding.with_memory_kind("unpinned_host").memory_kind == "unpinned_host"
    assert mesh.update(axis_names=("p", "q")).axis_names == ("p", "q")
    changed = mesh.abstract_mesh.update_axis_types(name_to_type={"x": AxisType.Explicit})
    assert changed.axis_types == (AxisType.Explicit, AxisType.Auto)
    assert P("x").to_lo() == [P("x")]


def test_with_memory_kind_is_abstract():
    class Elsewhere(Sharding):
        pass

    with pytest.raises(NotImplementedError, match="Elsewhere.with_memory_kind"):
        Elsewhere().with_memory_kind("device")


def test_shardings_are_sent_as_bytes(mesh):
    sharding = NamedSharding(mesh, P("x"))._to_xla_hlo_sharding(2)
    sent = get_serialized_proto_from_hlo_sharding(sharding)
    assert isinstance(sent, bytes)
    assert get_hlo_sharding_from_serialized_proto(sent) == sharding
    assert get_op_sharding_from_serialized_proto(sent).SerializeToString() == sent
