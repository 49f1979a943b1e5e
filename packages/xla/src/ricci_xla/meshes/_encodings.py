"""Encodings of shardings: XLA's ``HloSharding`` and its bytes, and ``sdy`` text."""

from collections.abc import Hashable
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from ricci_stablehlo import string
from ricci_xla.devices._jaxlib import hlo
from ricci_xla.devices._runtime_types import DeviceList

from ._abstract_mesh import AbstractMesh
from ._mesh import Mesh
from ._sharding_types import GSPMDSharding, HloSharding, NamedSharding, OpSharding, Sharding
from ._spec import PartitionSpec

__all__ = ["get_hlo_sharding_from_serialized_proto", "get_op_sharding_from_serialized_proto"]
__all__ += ["get_serialized_proto_from_hlo_sharding"]

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
    # In XLA's form, devices with equal tiles are groups along trailing dimensions of the tile
    # assignment, and ``subgroup_types`` has the type of each of these dimensions.
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


def reordered(sharding: Sharding, devices: DeviceList, ndim: int) -> GSPMDSharding:
    """The same tiles on the same devices, which are in another order.

    Args:
      sharding: a sharding over the devices.
      devices: the devices in the new order.
      ndim: the number of dimensions of the arrays.
    """
    form = hlo_sharding(sharding, ndim)
    memory = sharding.memory_kind
    if form.is_replicated():
        return GSPMDSharding(devices, form, memory_kind=memory)
    positions = {device: i for i, device in enumerate(devices)}
    numbers = [positions[device] for device in sharding._device_assignment]
    message = form.to_proto()
    message.tile_assignment_devices = [numbers[i] for i in form.tile_assignment_devices()]
    message.iota_reshape_dims = message.iota_transpose_perm = []
    return GSPMDSharding(devices, HloSharding.from_proto(message), memory_kind=memory)


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
    # A spec cannot name a mesh axis for two dimensions.
    if len(used) > len(set(used)):
        return sharding
    named = NamedSharding(mesh, PartitionSpec(*spec))
    return named if is_equal_form(form, hlo_sharding(named, ndim)) else sharding


def is_equal_form(form: HloSharding, other: HloSharding) -> bool:
    """Whether two of XLA's forms, neither of them manual or maximal, have the same tiles."""
    if form.is_replicated() or other.is_replicated():
        return form.is_replicated() and other.is_replicated()
    return (
        form.tile_assignment_dimensions() == other.tile_assignment_dimensions()
        and form.tile_assignment_devices() == other.tile_assignment_devices()
        and form.subgroup_types() == other.subgroup_types()
        and form.replicate_on_last_tile_dim() == other.replicate_on_last_tile_dim()
    )


def get_op_sharding_from_serialized_proto(sharding: bytes) -> OpSharding:
    """Read the protocol buffer of a sharding.

    Args:
      sharding: the bytes.

    Returns:
      The message.

    Raises:
      TypeError: if ``sharding`` is not ``bytes``.

    Example:
      >>> import ricci
      >>> from ricci.extend.sharding import get_op_sharding_from_serialized_proto
      >>> mesh = ricci.make_mesh((1,), ("i",), devices=ricci.devices()[:1])
      >>> form = ricci.NamedSharding(mesh, ricci.P("i"))._to_xla_hlo_sharding(1).to_proto()
      >>> get_op_sharding_from_serialized_proto(form.SerializeToString()).type == form.type
      True
    """
    message = OpSharding()
    message.ParseFromString(sharding)
    return message


def get_hlo_sharding_from_serialized_proto(sharding: bytes) -> HloSharding:
    """Read XLA's form of a sharding.

    Args:
      sharding: the bytes.

    Returns:
      The sharding.

    Raises:
      TypeError: if ``sharding`` is not ``bytes``.

    Example:
      >>> import ricci
      >>> from ricci.extend.sharding import get_hlo_sharding_from_serialized_proto
      >>> from ricci.extend.sharding import get_serialized_proto_from_hlo_sharding
      >>> mesh = ricci.make_mesh((1,), ("i",), devices=ricci.devices()[:1])
      >>> sharding = ricci.NamedSharding(mesh, ricci.P("i"))
      >>> data = get_serialized_proto_from_hlo_sharding(sharding._to_xla_hlo_sharding(1))
      >>> get_hlo_sharding_from_serialized_proto(data)
      {replicated}
    """
    return HloSharding.from_proto(get_op_sharding_from_serialized_proto(sharding))


def get_serialized_proto_from_hlo_sharding(sharding: HloSharding) -> bytes:
    """Write XLA's form of a sharding.

    Args:
      sharding: the sharding.

    Returns:
      The bytes.

    Example:
      >>> import ricci
      >>> from ricci.extend.sharding import get_serialized_proto_from_hlo_sharding
      >>> mesh = ricci.make_mesh((1,), ("i",), devices=ricci.devices()[:1])
      >>> sharding = ricci.NamedSharding(mesh, ricci.P("i"))._to_xla_hlo_sharding(1)
      >>> type(get_serialized_proto_from_hlo_sharding(sharding))
      <class 'bytes'>
    """
    return sharding.to_proto().SerializeToString()


def shardy_text(sharding: NamedSharding, rank: int) -> str:
    """The dimension shardings of an array in Shardy's syntax, which follow the mesh's symbol."""
    spec = sharding.spec
    parts = list(spec.partitions) + [None] * (rank - len(spec))
    dims = ", ".join(f"{{{', '.join(map(_quoted, _axis_names(part)))}}}" for part in parts)
    terms = [name for name in sharding.mesh.axis_names if name in spec.unreduced]
    sums = f", unreduced={{{', '.join(map(_quoted, terms))}}}" if terms else ""
    return f"[{dims}]{sums}"


def _axis_names(part: object) -> tuple[Hashable, ...]:
    if part is None:
        return ()
    return part if isinstance(part, tuple) else (part,)


def _quoted(name: Hashable) -> str:
    return string(str(name))
