"""Conversion of shardings to XLA's ``HloSharding``, tiles over numbered devices, and back."""

from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from ricci_xla.devices._jaxlib import hlo

from ._abstract_mesh import AbstractMesh
from ._mesh import Mesh
from ._sharding_types import GSPMDSharding, HloSharding, NamedSharding, Sharding
from ._spec import PartitionSpec

_KINDS = hlo.OpSharding.Type


@lru_cache(maxsize=4096)
def hlo_sharding(sharding: Sharding, ndim: int) -> HloSharding:
    """XLA's form of a sharding, for arrays of ``ndim`` dimensions."""
    if isinstance(sharding, NamedSharding):
        return _of_named(sharding, ndim)
    if isinstance(sharding, GSPMDSharding):
        return sharding._hlo_sharding
    return HloSharding.replicate()


@lru_cache(maxsize=4096)
def _of_named(sharding: NamedSharding, ndim: int) -> HloSharding:
    # The devices are numbered in the grid of the mesh. Its axes are transposed so that those that
    # shard dimensions come first, in the dimensions' order; then the unreduced axes; last the
    # replicated ones.
    mesh, spec = sharding.mesh, sharding.spec
    sizes = mesh.shape
    order: list[int] = []
    tiles = [1] * ndim
    for dimension, name in spec._axis_names():
        order.append(mesh.axis_names.index(name))
        tiles[dimension] *= sizes[name]
    terms = [axis for axis, name in enumerate(mesh.axis_names) if name in spec.unreduced]
    count = prod(mesh.axis_sizes[axis] for axis in terms)
    if prod(tiles) * count == 1:
        return HloSharding.replicate()
    replicated = [axis for axis in range(len(mesh.axis_names)) if axis not in order + terms]
    groups = [
        (size, kind)
        for size, kind in (
            (count, _KINDS.UNREDUCED),
            (mesh.size // (prod(tiles) * count), _KINDS.REPLICATED),
        )
        if size > 1
    ]
    return HloSharding.iota_tile(
        dims=[*tiles, *(size for size, _ in groups)],
        reshape_dims=list(mesh.axis_sizes),
        transpose_perm=order + terms + replicated,
        subgroup_types=[kind for _, kind in groups],
    )


def tiled_dimensions(form: HloSharding) -> tuple[int, ...]:
    """The number of tiles along each dimension of an array."""
    dims = form.tile_assignment_dimensions()
    others = len(form.subgroup_types()) + form.replicate_on_last_tile_dim()
    return tuple(dims[: len(dims) - others])


def named_by_tiles(sharding: Sharding, mesh: Mesh | AbstractMesh | None, ndim: int) -> Sharding:
    """Rewrite XLA's sharding as an equal ``NamedSharding`` on a mesh, or return it unchanged.

    Along each dimension, a device's tile number must have its coordinates in the mesh as digits.
    The device next to the first along a mesh axis has as its tile number that axis's stride, 0 if
    the axis does not shard the dimension; axes sorted by stride give the spec. It is then checked
    on all devices.
    """
    if mesh is None:
        return sharding
    form = hlo_sharding(sharding, ndim)
    if form.is_replicated():
        return NamedSharding(mesh, PartitionSpec())
    if not form.is_tiled():
        return sharding
    dims = form.tile_assignment_dimensions()
    devices = np.array(form.tile_assignment_devices())
    if devices.size != mesh.size:
        return sharding
    places = np.argsort(devices).reshape(mesh.axis_sizes)  # the tile of each device of the mesh
    spec: list[Any] = []
    for tile in np.unravel_index(places, dims)[:ndim]:
        strides = [
            (int(np.take(tile, 1, axis).flat[0]), name)
            for axis, (name, size) in enumerate(mesh.shape_tuple)
            if size > 1
        ]
        axes = [name for stride, name in sorted(strides, key=lambda s: -s[0]) if stride]
        spec.append(tuple(axes) if axes else None)
    while spec and spec[-1] is None:
        spec.pop()
    used = [name for axes in spec if axes is not None for name in axes]
    if len(used) > len(set(used)):
        return sharding
    named = NamedSharding(mesh, PartitionSpec(*spec))
    form_of_named = hlo_sharding(named, ndim)
    same = (
        not form_of_named.is_replicated()
        and form_of_named.tile_assignment_dimensions() == dims
        and form_of_named.tile_assignment_devices() == form.tile_assignment_devices()
        and form_of_named.subgroup_types() == form.subgroup_types()
        and form_of_named.replicate_on_last_tile_dim() == form.replicate_on_last_tile_dim()
    )
    return named if same else sharding
