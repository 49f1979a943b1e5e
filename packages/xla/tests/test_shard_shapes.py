"""Shapes of shards, the messages of errors, and names for the tiles of XLA."""

import itertools

import numpy as np
import pytest

from ricci_xla import (
    AbstractMesh,
    AxisType,
    IndivisibleError,
    Mesh,
    NamedSharding,
    P,
    check_fits,
    device_put,
    jit,
)
from ricci_xla.meshes._encodings import named_by_tiles
from ricci_xla.meshes._sharding_types import GSPMDSharding


@pytest.fixture
def cube(eight_devices):
    return Mesh(np.array(eight_devices[:8]).reshape(2, 2, 2), ("a", "b", "c"))


def _specs():
    """Every division of two dimensions by axes of the cube."""
    parts = [axes for size in range(4) for axes in itertools.permutations("abc", size)]
    for one, other in itertools.product(parts, parts):
        if not set(one) & set(other):
            yield P(one or None, other or None)


def test_tiles_are_named_by_mesh_axes(cube):
    count = 0
    for spec in _specs():
        named = NamedSharding(cube, spec)
        tiles = GSPMDSharding(named._internal_device_list, named._to_xla_hlo_sharding(2))
        found = named_by_tiles(tiles, cube, 2)
        assert isinstance(found, NamedSharding), spec
        assert found.is_equivalent_to(named, 2), spec
        assert found.devices_indices_map((8, 8)) == named.devices_indices_map((8, 8))
        count += 1
    assert count == 49


def test_tiles_without_mesh_axes_stay_tiles(cube):
    line = Mesh(cube.devices.ravel()[[0, 2, 1, 3, 4, 5, 6, 7]], "x")
    named = NamedSharding(line, P("x"))
    places = GSPMDSharding(
        NamedSharding(cube, P())._internal_device_list,
        type(named._to_xla_hlo_sharding(1)).iota_tile([4, 2], [8], [0], []),
    )
    assert isinstance(named_by_tiles(places, Mesh(line.devices, "x"), 1), GSPMDSharding)


def test_results_are_named_by_several_axes(cube):
    x = device_put(np.arange(64.0).reshape(8, 8), NamedSharding(cube, P(("c", "a"), "b")))
    assert jit(lambda x: x)(x).sharding.spec == P(("c", "a"), "b")


def test_tiles_are_for_arrays_of_their_rank(cube):
    named = NamedSharding(cube, P("a", ("c", "b")))
    tiles = GSPMDSharding(named._internal_device_list, named._to_xla_hlo_sharding(2))
    assert tiles.shard_shape((4, 8)) == named.shard_shape((4, 8)) == (2, 2)
    assert tiles.shard_shape((4, 8, 3)) == (2, 2, 3)
    with pytest.raises(ValueError, match="divides arrays of rank 2, but the array has rank 1"):
        tiles.shard_shape((4,))
    whole = GSPMDSharding.get_replicated(cube.devices.ravel().tolist())
    assert whole.is_fully_replicated and whole.shard_shape(()) == ()


@pytest.mark.parametrize(
    ("spec", "shape", "words"),
    [
        (
            P("a"),
            (3,),
            ["dimension 0, of size 3,", "axis 'a' of size 2", "Pad it to (4,)", "P(None,)"],
        ),
        (
            P(("a", "b")),
            (6, 1),
            ["axes 'a' of size 2 and 'b' of size 2", "Pad it to (8, 1)", "P('a',)"],
        ),
        (P("a", ("b", "c")), (4, 6), ["dimension 1, of size 6,", "by P('a', 'b')"]),
        (
            P("a", "b"),
            (1, 3),
            ["dimension 0, of size 1,", "and dimension 1, of size 3,", "P(None, None)"],
        ),
    ],
)
def test_a_size_that_does_not_divide(cube, spec, shape, words):
    for sharding in (NamedSharding(cube, spec), NamedSharding(cube.abstract_mesh, spec)):
        with pytest.raises(IndivisibleError) as caught:
            check_fits(sharding, shape, "argument x")
        assert str(caught.value).startswith(f"argument x, of shape {shape}: NamedSharding")
        for word in words:
            assert word in str(caught.value)


def f(tree):
    return tree


def test_jit_names_the_leaf_that_does_not_fit(cube):
    split = NamedSharding(cube, P("a"))
    with pytest.raises(
        IndivisibleError, match=r"argument tree\['k'\] of jit\(f\), of shape \(3,\)"
    ):
        jit(f, in_shardings=({"k": split, "l": None},))({"k": np.ones(3), "l": np.ones(4)})
    with pytest.raises(IndivisibleError, match=r"result\['l'\] of jit\(f\), of shape \(3,\)"):
        jit(f, out_shardings={"k": None, "l": split})({"k": np.ones(4), "l": np.ones(3)})
    good = jit(f, in_shardings=split)({"k": np.ones(4), "l": np.ones(2)})
    assert good["l"].sharding == split


@pytest.mark.parametrize(
    ("error", "words", "spec"),
    [
        (ValueError, "names the axis 'bb'.*Did you mean 'b'", P("bb")),
        (ValueError, "twice for dimension 0", P(("a", "a"))),
        (ValueError, "for the dimensions 0 and 1", P("a", ("b", "a"))),
        (ValueError, "unreduced over 'b', which is Auto", P("a", unreduced={"b"})),
        (ValueError, "names the axis 'q'", P(reduced={"q"})),
    ],
)
def test_a_spec_that_does_not_fit_its_mesh(cube, error, words, spec):
    with pytest.raises(error, match=words):
        NamedSharding(cube, spec)
    with pytest.raises(error, match=words):
        NamedSharding(cube.abstract_mesh, spec)


def test_unconstrained_needs_an_auto_axis():
    with pytest.raises(ValueError, match="no axis of type Auto"):
        NamedSharding(AbstractMesh((2,), "x", AxisType.Explicit), P(P.UNCONSTRAINED))


def test_unreduced_differs_from_replicated(cube):
    mesh = cube.update(axis_types=(AxisType.Explicit,) * 3)
    terms = NamedSharding(mesh, P("a", unreduced={"b"}))
    assert not terms.is_equivalent_to(NamedSharding(mesh, P("a")), 1)
    assert NamedSharding(mesh, P("a", reduced={"b"})).is_equivalent_to(
        NamedSharding(mesh, P("a")), 1
    )
    assert terms.replicated_axes == {"c"} and not terms.is_fully_replicated
