"""Meshes of TPU slices that are not there: which chips are next to each other."""

import itertools
from dataclasses import dataclass
from math import prod

import numpy as np
import pytest

from ricci_xla import (
    create_device_mesh,
    create_hybrid_device_mesh,
    device_kind_handler_dict,
    make_mesh,
)


@dataclass(frozen=True)
class Chip:
    """A device with the attributes of TPUs that are read."""

    id: int
    coords: tuple[int, int, int]
    core_on_chip: int = 0
    slice_index: int = 0
    device_kind: str = "TPU v4"
    process_index: int = 0
    platform: str = "tpu"


def torus(x, y, z=1, kind="TPU v4", cores=1, slices=1):
    places = itertools.product(range(slices), range(z), range(y), range(x), range(cores))
    return [
        Chip(i, (a, b, c), core, piece, kind) for i, (piece, c, b, a, core) in enumerate(places)
    ]


def ids(devices):
    return np.vectorize(lambda d: d.id, otypes=[int])(devices).tolist()


def shapes_of(size, rank):
    if rank == 1:
        return [(size,)]
    return [
        (first, *rest)
        for first in range(1, size + 1)
        if size % first == 0
        for rest in shapes_of(size // first, rank - 1)
    ]


def steps(one, other, shape):
    """Count the links of a torus between two chips."""
    distances = [abs(a - b) for a, b in zip(one.coords, other.coords, strict=True)]
    return sum(min(d, n - d) for d, n in zip(distances, shape, strict=True))


@pytest.mark.parametrize("shape", [(4, 4, 4), (2, 2, 4), (4, 8, 1), (2, 4, 8), (4, 1, 1)])
def test_every_shape_that_fits_has_each_chip_once(shape):
    chips = torus(*shape)
    count = 0
    for rank in (1, 2, 3):
        for mesh in shapes_of(len(chips), rank):
            found = create_device_mesh(mesh, chips, allow_split_physical_axes=True)
            assert found.shape == mesh
            assert {c.id for c in found.flat} == set(range(len(chips)))
            try:
                whole = create_device_mesh(mesh, chips)
            except NotImplementedError:
                continue
            count += 1
            assert {c.id for c in whole.flat} == set(range(len(chips)))
    assert count > 3


@pytest.mark.parametrize(
    ("machine", "mesh"),
    [((4, 4, 4), (4, 4, 4)), ((4, 4, 1), (4, 4)), ((2, 4, 8), (8, 4, 2)), ((4, 8, 8), (8, 4, 8))],
)
def test_neighbours_along_whole_axes_are_neighbours_in_the_machine(machine, mesh):
    found = create_device_mesh(mesh, torus(*machine))
    for axis in range(len(mesh)):
        for one, other in zip(found.flat, np.roll(found, -1, axis).flat, strict=True):
            assert steps(one, other, machine) == 1


@pytest.mark.parametrize(
    ("machine", "kind"),
    [
        ((2, 2, 1), "TPU v5e"),
        ((4, 2, 1), "TPU v6 lite"),
        ((4, 4, 1), "TPU v5 lite"),
        ((2, 2, 2), "TPU v5p"),
    ],
)
def test_small_slices_have_a_ring_through_all_chips(machine, kind):
    chips = torus(*machine, kind=kind)
    ring = create_device_mesh((len(chips),), chips[::-1])
    for one, other in zip(ring, np.roll(ring, -1), strict=True):
        assert sum(abs(a - b) for a, b in zip(one.coords, other.coords, strict=True)) == 1


@pytest.mark.parametrize(("kind", "cores"), [("TPU v3", 2), ("TPU7x", 2)])
def test_cores_of_a_chip_are_next_to_each_other(kind, cores):
    tray = create_device_mesh((8,), torus(2, 2, kind=kind, cores=cores))
    for one, other in zip(tray[::2], tray[1::2], strict=True):
        assert one.coords == other.coords
    for one, other in zip(tray[::2], np.roll(tray[::2], -1), strict=True):
        assert steps(one, other, (2, 2, 1)) == 1


def test_an_axis_uses_as_many_physical_axes_as_possible():
    # Of 2x2x4 chips, four along z are one ring, four in a square of x and y have two links each.
    assert ids(create_device_mesh((4, 4), torus(2, 2, 4)))[0] == [0, 2, 1, 3]


def test_a_shape_that_fits_in_one_way_only_is_found():
    found = create_device_mesh((2, 2, 4), torus(2, 2, 4))
    assert ids(found)[0][0] == [0, 4, 8, 12]


def test_physical_axes_are_split_where_that_is_allowed():
    chips = torus(4, 4)
    with pytest.raises(NotImplementedError, match="4x4x1 chips.*allow_split_physical_axes=True"):
        create_device_mesh((8, 2), chips)
    found = create_device_mesh((8, 2), chips, allow_split_physical_axes=True)
    assert ids(found) == [[0, 1], [4, 5], [8, 9], [12, 13], [2, 3], [6, 7], [10, 11], [14, 15]]
    assert make_mesh((8, 2), ("a", "b"), devices=chips).device_ids.tolist() == ids(found)


@pytest.mark.parametrize(
    ("machine", "mesh", "box"),
    [
        ((4, 4, 4), (16, 4), (4, 1, 1)),
        ((4, 8, 8), (4, 64), (1, 8, 8)),
        ((2, 2, 4), (4, 4), (2, 2, 1)),
    ],
)
def test_contiguous_submeshes_are_boxes(machine, mesh, box):
    for row in create_device_mesh(mesh, torus(*machine), contiguous_submeshes=True):
        extent = [max(axis) - min(axis) + 1 for axis in zip(*(c.coords for c in row), strict=True)]
        assert sorted(extent) == sorted(box) and len(row) == prod(box)


def test_a_shape_without_contiguous_submeshes():
    with pytest.raises(ValueError, match="does not fit the machine"):
        create_device_mesh((2, 8), torus(4, 4), contiguous_submeshes=True)


def test_slices_are_the_major_part_of_each_axis():
    chips = torus(2, 2, slices=4)
    found = create_hybrid_device_mesh((2, 2), (2, 2), chips[::-1])
    assert found.shape == (4, 4)
    for (i, j), chip in np.ndenumerate(found):
        assert chip.slice_index == i // 2 * 2 + j // 2
    unsorted = create_hybrid_device_mesh(
        (2, 2), (4, 1), chips[::-1], should_sort_granules_by_key=False
    )
    assert [row[0].slice_index for row in unsorted[::2]] == [3, 2, 1, 0]


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (
            ValueError,
            "is for 8 devices, but there are 4",
            lambda: create_device_mesh((8,), torus(2, 2)),
        ),
        (
            ValueError,
            "size of an axis is positive",
            lambda: create_device_mesh((-2, -2), torus(2, 2)),
        ),
        (TypeError, "integer", lambda: create_device_mesh((2.0, 2), torus(2, 2))),
        (ValueError, "do not fill a box", lambda: create_device_mesh((3,), torus(2, 2)[:3])),
        (
            ValueError,
            "is for 3 slices, but by slice_index there are 2",
            lambda: create_hybrid_device_mesh((4,), (3,), torus(2, 2, slices=2)),
        ),
        (
            ValueError,
            "has no slice_index. Pass process_is_granule=True",
            lambda: create_hybrid_device_mesh((1,), (1,), [object()]),
        ),
    ],
)
def test_misuse(error, message, call):
    with pytest.raises(error, match=message):
        call()


def test_make_mesh_keeps_the_listed_order_of_devices_that_fill_no_box():
    mesh = make_mesh((3,), ("x",), devices=torus(2, 2)[:3])
    assert mesh.device_ids.tolist() == [0, 1, 2]


def test_a_kind_of_device_can_be_given_a_rule(monkeypatch):
    def last_first(mesh_shape, devices, **unused):
        return np.array(devices[::-1], dtype=object).reshape(mesh_shape)

    monkeypatch.setitem(device_kind_handler_dict, "TPU v99", last_first)
    assert ids(create_device_mesh((4,), torus(2, 2, kind="TPU v99"))) == [3, 2, 1, 0]


@pytest.mark.parametrize("shape", [(8,), (2, 4), (4, 2)])
def test_a_cube_of_chips_without_a_ring_is_in_the_order_of_coordinates(shape):
    mesh = create_device_mesh(shape, torus(2, 2, 2, "TPU v5 lite"))
    assert [d.id for d in mesh.flat] == [0, 4, 2, 6, 1, 5, 3, 7]
