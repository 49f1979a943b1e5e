"""Shapes and indices of an array's shards, and checks that a sharding fits an array."""

from collections.abc import Hashable, Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from ricci_xla.devices import Device, DeviceList, IndivisibleError

from ._abstract_mesh import AbstractMesh
from ._encodings import hlo_sharding, tiled_dimensions
from ._sharding_types import GSPMDSharding, NamedSharding, Sharding, SingleDeviceSharding
from ._spec import UNCONSTRAINED, PartitionSpec

__all__ = ["check_fits"]

type Index = tuple[slice, ...]
_whole = slice(None)


def is_abstract(sharding: Sharding) -> bool:
    """Whether a sharding is on a mesh without devices."""
    return isinstance(sharding, NamedSharding) and isinstance(sharding.mesh, AbstractMesh)


def devices_of(sharding: Sharding) -> DeviceList:
    """The devices of a sharding, in order.

    Raises:
      ValueError: if its mesh is abstract.
    """
    if is_abstract(sharding):
        raise ValueError(
            f"{sharding} is on an abstract mesh, which has no devices. Make it on a Mesh instead."
        )
    return sharding._internal_device_list


def num_devices(sharding: Sharding) -> int:
    """The number of devices."""
    if isinstance(sharding, NamedSharding):
        return sharding.mesh.size
    return len(sharding._internal_device_list)


@lru_cache(maxsize=4096)
def tiles(sharding: Sharding, ndim: int) -> tuple[int, ...]:
    """The number of shards along each dimension.

    Raises:
      ValueError: if arrays of rank ``ndim`` have too few dimensions for the sharding.
    """
    if isinstance(sharding, SingleDeviceSharding):
        return (1,) * ndim
    # Only the rank counts here, so any sizes will do.
    check_compatible_aval(sharding, (1,) * ndim)
    form = hlo_sharding(sharding, ndim)
    if not form.is_tiled():
        return (1,) * ndim
    counts = tiled_dimensions(form)
    return (*counts, *(1,) * (ndim - len(counts)))


def _check_rank(sharding: NamedSharding, ndim: int) -> None:
    spec = sharding.spec
    if len(spec) <= ndim:
        return
    if any(part is not None for part in spec.partitions[ndim:]):
        advice = "Shorten the spec" if ndim else "The spec of a scalar is P()"
    else:
        advice = f"Write {spec.update(partitions=spec.partitions[:ndim])}"
    raise ValueError(
        f"{sharding} is for arrays of rank {len(spec)} or higher, but the array has rank {ndim}. "
        f"{advice}."
    )


def check_compatible_aval(self: Sharding, aval_shape: Sequence[int]) -> None:
    """Check that arrays of a shape have enough dimensions for this sharding.

    Raises:
      ValueError: if they have fewer.
    """
    if isinstance(self, NamedSharding):
        _check_rank(self, len(aval_shape))
    elif isinstance(self, GSPMDSharding) and self._hlo_sharding.is_tiled():
        rank = len(tiled_dimensions(self._hlo_sharding))
        if rank > len(aval_shape):
            raise ValueError(
                f"{self} divides arrays of rank {rank}, but the array has rank {len(aval_shape)}."
            )


def shard_shape(self: Sharding, global_shape: Sequence[int]) -> tuple[int, ...]:
    """The shape of each device's shard of an array.

    Args:
      global_shape: the array's shape.

    Raises:
      ValueError: if the array has too few dimensions.
      IndivisibleError: if a dimension cannot be divided evenly.
    """
    shape = tuple(global_shape)
    pieces = tiles(self, len(shape))
    for size, count in zip(shape, pieces, strict=True):
        if size % count:
            raise _indivisible(self, shape, pieces)
    return tuple(size // count for size, count in zip(shape, pieces, strict=True))


def check_fits(
    sharding: Sharding | None, shape: tuple[int, ...], what: str, evenly: bool = True
) -> None:
    """Check that an array of a shape can have a sharding.

    Args:
      sharding: the sharding, or ``None`` to check nothing.
      shape: the array's shape.
      what: the array, for the error.
      evenly: whether its shards must be of one size. Inside of a jitted function XLA pads them.

    Raises:
      ValueError: if the array has too few dimensions.
      IndivisibleError: if a dimension cannot be divided evenly.
    """
    if sharding is None:
        return
    try:
        (shard_shape if evenly else check_compatible_aval)(sharding, shape)
    except ValueError as error:
        raise type(error)(f"{what}, of shape {shape}: {error}") from None


def _indivisible(
    sharding: Sharding, shape: tuple[int, ...], pieces: tuple[int, ...]
) -> IndivisibleError:
    faults = [
        f"dimension {dim}, of size {size}, {_over(sharding, dim, count)}"
        for dim, (size, count) in enumerate(zip(shape, pieces, strict=True))
        if size % count
    ]
    padded = tuple(-(-size // count) * count for size, count in zip(shape, pieces, strict=True))
    advice = f"Pad it to {padded}"
    if isinstance(sharding, NamedSharding):
        advice += f", or divide it by {_fitting(sharding, shape)}"
    return IndivisibleError(
        f"{sharding} divides {' and '.join(faults)}. The parts must be of one size, but the array "
        f"has shape {shape}. {advice}."
    )


def _over(sharding: Sharding, dim: int, count: int) -> str:
    """Describe the sharding of a dimension, for errors."""
    if not isinstance(sharding, NamedSharding):
        return f"into {count} parts"
    sizes = sharding.mesh.shape
    names = [name for d, name in sharding.spec._axis_names() if d == dim]
    axes = " and ".join(f"{name!r} of size {sizes[name]}" for name in names)
    return f"over the mesh {'axes' if len(names) > 1 else 'axis'} {axes}"


def _fitting(sharding: NamedSharding, shape: tuple[int, ...]) -> PartitionSpec:
    """The spec without the mesh axes that do not fit."""
    sizes = sharding.mesh.shape
    parts: list[Any] = [
        part if part is UNCONSTRAINED else None for part in sharding.spec.partitions
    ]
    axes_by_dim: dict[int, list[Hashable]] = {}
    # An axis stays if the dimension divides by its size together with those of the axes that stay.
    for dim, name in sharding.spec._axis_names():
        so_far = axes_by_dim.setdefault(dim, [])
        if shape[dim] % prod(sizes[axis] for axis in (*so_far, name)) == 0:
            so_far.append(name)
    for dim, names in axes_by_dim.items():
        parts[dim] = tuple(names) or None
    return sharding.spec.update(partitions=parts)


@lru_cache(maxsize=4096)
def device_indices(sharding: Sharding, shape: tuple[int, ...]) -> tuple[Index, ...]:
    """The index of each device's shard in an array, in the order of the sharding's devices."""
    count = num_devices(sharding)
    piece = shard_shape(sharding, shape)
    pieces = tiles(sharding, len(shape))
    if prod(pieces) == 1:
        return ((_whole,) * len(shape),) * count
    order = hlo_sharding(sharding, len(shape)).tile_assignment_devices()
    copies = count // prod(pieces)
    indices: list[Index] = [()] * count
    # Tiles are listed in row-major order, each with its copies, so that the position of a device in
    # the list gives the tile's index along each dimension, the last dimension first.
    for position, device in enumerate(order):
        tile_number = position // copies
        index: list[slice] = []
        for size, many in zip(reversed(piece), reversed(pieces), strict=True):
            tile_number, tile = divmod(tile_number, many)
            index.append(_whole if many == 1 else slice(tile * size, (tile + 1) * size))
        indices[device] = tuple(reversed(index))
    return tuple(indices)


def has_terms(sharding: Sharding) -> bool:
    """Whether a sharding is unreduced: devices hold partial sums."""
    return isinstance(sharding, NamedSharding) and bool(sharding.spec.unreduced)


def holds_whole_term(sharding: Sharding) -> list[bool]:
    """Whether each device holds the value when a whole value is put on an unreduced sharding.

    Of the devices whose terms are added, the first holds the value and the others zeros.
    """
    if not isinstance(sharding, NamedSharding):
        return [True] * num_devices(sharding)
    mesh = sharding.mesh
    # The first device along each unreduced axis has the value, the others have zeros.
    axes = [i for i, name in enumerate(mesh.axis_names) if name in sharding.spec.unreduced]
    beyond_first = np.indices(mesh.axis_sizes)[axes].any(axis=0)
    return [not beyond for beyond in beyond_first.flat]


def unknown_sum(what: str, sharding: Sharding) -> NotImplementedError:
    """The error for a use of an unreduced array that needs the reduced value."""
    return NotImplementedError(
        f"{what}: by {sharding} the devices hold terms of a sum that is not done yet. Do it first, "
        "with jax.sharding.reshard(x, P(...))."
    )


def devices_indices_map(self: Sharding, global_shape: Sequence[int]) -> dict[Device, Index]:
    """The index of each device's shard in an array.

    Args:
      global_shape: the array's shape.
    """
    indices = device_indices(self, tuple(global_shape))
    return dict(zip(devices_of(self), indices, strict=True))


def addressable_devices_indices_map(
    self: Sharding, global_shape: Sequence[int]
) -> dict[Device, Index]:
    """The index of the shard of each device of this process.

    Args:
      global_shape: the array's shape.
    """
    indices = devices_indices_map(self, global_shape)
    if self._internal_device_list.is_fully_addressable:
        return indices
    return {
        device: indices[device] for device in self._internal_device_list.addressable_device_list
    }


def is_equivalent_to(self: Sharding, other: Sharding, ndim: int) -> bool:
    """Whether two shardings place arrays of ``ndim`` dimensions in the same way."""
    if self == other:
        return True
    if is_abstract(self) or is_abstract(other):
        if not (is_abstract(self) and is_abstract(other)):
            return False
        if num_devices(self) != num_devices(other):
            return False
    elif self._internal_device_list != other._internal_device_list:
        return False
    if self.memory_kind != other.memory_kind:
        return False
    # One partitioning has several forms in XLA, by tiles or by a mesh's axes: tiled ones are equal
    # if the number of tiles, the order of devices and the treatment of the devices of one tile are.
    mine, its = hlo_sharding(self, ndim), hlo_sharding(other, ndim)
    if not (mine.is_tiled() and its.is_tiled()):
        return mine == its
    return (
        tiles(self, ndim) == tiles(other, ndim)
        and mine.tile_assignment_devices() == its.tile_assignment_devices()
        and mine.subgroup_types() == its.subgroup_types()
    )
