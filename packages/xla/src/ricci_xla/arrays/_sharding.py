"""Shardings: which part of an array each device holds. Adds the methods of jaxlib's classes."""

from collections.abc import Hashable, Sequence
from functools import lru_cache
from math import prod
from typing import Any

from ricci_xla.devices._errors import DuplicateSpecError, IndivisibleError
from ricci_xla.devices._jaxlib import hlo
from ricci_xla.devices._registration import introduce_spec_check
from ricci_xla.devices._runtime_types import Device, DeviceList

from ._sharding_types import (
    GSPMDSharding,
    HloSharding,
    NamedSharding,
    Sharding,
    SingleDeviceSharding,
)
from ._spec import PartitionSpec

__all__ = [
    "make_single_device_sharding",
    "single_device_sharding",
]

Index = tuple[slice, ...]
_whole = slice(None)
_replicated_type = hlo.OpSharding.Type.REPLICATED


def _named_repr(self: NamedSharding) -> str:
    memory = "" if self._memory_kind is None else f", memory_kind={self._memory_kind}"
    return f"NamedSharding(mesh={self.mesh!s}, spec={self.spec}{memory})"


def _replicated_axes(self: NamedSharding) -> frozenset[Hashable]:
    """The mesh axes along which the devices hold copies."""
    used = {name for _, name in self.spec._axis_names()}
    return frozenset(name for name in self.mesh.axis_names if name not in used)


def _named_update(
    self: NamedSharding, mesh: Any = None, spec: Any = None, memory_kind: str | None = None
) -> NamedSharding:
    """This sharding with some parts replaced; ``spec`` may be a tuple."""
    if spec is None:
        spec = self.spec
    elif not isinstance(spec, PartitionSpec):
        spec = PartitionSpec(*spec)
    return NamedSharding(
        self.mesh if mesh is None else mesh,
        spec,
        self._memory_kind if memory_kind is None else memory_kind,
    )


def _named_with_memory_kind(self: NamedSharding, kind: str) -> NamedSharding:
    return NamedSharding(self.mesh, self.spec, kind)


def _check_spec(mesh: Any, spec: Any) -> None:
    """Check that a spec fits a mesh. jaxlib calls this for every new ``NamedSharding``."""
    if not isinstance(spec, PartitionSpec):
        raise TypeError(
            f"NamedSharding: expected spec to be a PartitionSpec, got {spec!r} of type "
            f"{type(spec).__name__}. Write NamedSharding(mesh, PartitionSpec('x', None))."
        )
    seen: set[Hashable] = set()
    known = set(mesh.axis_names)
    for _, name in spec._axis_names():
        if name not in known:
            raise ValueError(
                f"NamedSharding: {spec} names the axis {name!r}, but the axes of the mesh are "
                f"{mesh.axis_names}."
            )
        if name in seen:
            raise DuplicateSpecError(
                f"NamedSharding: {spec} uses the mesh axis {name!r} for two dimensions; each mesh "
                "axis can divide only one."
            )
        seen.add(name)


def _named_hlo(sharding: NamedSharding, ndim: int) -> HloSharding:
    # The devices are numbered in the grid of the mesh. Its axes are transposed so that those that
    # divide dimensions come first, in the dimensions' order, and those along which copies lie last.
    mesh, spec = sharding.mesh, sharding.spec
    sizes = mesh.shape
    order: list[int] = []
    tiles = [1] * ndim
    for dimension, name in spec._axis_names():
        order.append(mesh.axis_names.index(name))
        tiles[dimension] *= sizes[name]
    if prod(tiles) == 1:
        return HloSharding.replicate()
    rest = [axis for axis in range(len(mesh.axis_names)) if axis not in order]
    copies = mesh.size // prod(tiles)
    return HloSharding.iota_tile(
        dims=[*tiles, copies] if copies > 1 else tiles,
        reshape_dims=list(mesh.axis_sizes),
        transpose_perm=order + rest,
        subgroup_types=[_replicated_type] if copies > 1 else [],
    )


def _hlo_sharding(sharding: Sharding, ndim: int) -> HloSharding:
    """XLA's form of a sharding, for arrays of ``ndim`` dimensions."""
    if isinstance(sharding, NamedSharding):
        return _named_hlo(sharding, ndim)
    if isinstance(sharding, GSPMDSharding):
        return sharding._hlo_sharding
    return HloSharding.replicate()


@lru_cache(maxsize=4096)
def _tiles(sharding: Sharding, ndim: int) -> tuple[int, ...]:
    """The number of parts that each dimension is divided into."""
    if isinstance(sharding, SingleDeviceSharding):
        return (1,) * ndim
    if isinstance(sharding, NamedSharding):
        _check_rank(sharding, ndim)
    form = _hlo_sharding(sharding, ndim)
    if form.is_replicated() or form.is_maximal():
        return (1,) * ndim
    return tuple(form.tile_assignment_dimensions()[:ndim])


def _check_rank(sharding: NamedSharding, ndim: int) -> None:
    if len(sharding.spec) > ndim:
        raise ValueError(
            f"{sharding} is for arrays of at least {len(sharding.spec)} dimensions, but the array "
            f"has rank {ndim}. Shorten the spec."
        )


def _shard_shape(self: Sharding, global_shape: Sequence[int]) -> tuple[int, ...]:
    """The shape of what each device holds of an array.

    Args:
      global_shape: the array's shape.

    Raises:
      IndivisibleError: if a dimension cannot be divided evenly.
    """
    shape = tuple(global_shape)
    tiles = _tiles(self, len(shape))
    for axis, (size, pieces) in enumerate(zip(shape, tiles, strict=True)):
        if size % pieces:
            raise IndivisibleError(
                f"{self} divides axis {axis} into {pieces} parts, but its size {size} is not a "
                f"multiple of {pieces}. The array has shape {shape}; pad it, or divide another "
                "axis."
            )
    return tuple(size // pieces for size, pieces in zip(shape, tiles, strict=True))


@lru_cache(maxsize=4096)
def device_indices(sharding: Sharding, shape: tuple[int, ...]) -> tuple[Index, ...]:
    """For each device of a sharding, in order, the index of its part in an array."""
    count = len(sharding._internal_device_list)
    piece = _shard_shape(sharding, shape)
    tiles = _tiles(sharding, len(shape))
    if prod(tiles) == 1:
        return ((_whole,) * len(shape),) * count
    order = _hlo_sharding(sharding, len(shape)).tile_assignment_devices()
    copies = count // prod(tiles)
    found: list[Index] = [()] * count
    # Tiles are listed in row-major order, each with its copies, so that the position of a device in
    # the list gives the tile's index along each dimension, the last dimension first.
    for position, device in enumerate(order):
        rest = position // copies
        index: list[slice] = []
        for size, pieces in zip(reversed(piece), reversed(tiles), strict=True):
            rest, tile = divmod(rest, pieces)
            index.append(_whole if pieces == 1 else slice(tile * size, (tile + 1) * size))
        found[device] = tuple(reversed(index))
    return tuple(found)


def _devices_indices_map(self: Sharding, global_shape: Sequence[int]) -> dict[Device, Index]:
    """For each device, the index of its part in an array.

    Args:
      global_shape: the array's shape.
    """
    indices = device_indices(self, tuple(global_shape))
    return dict(zip(self._internal_device_list, indices, strict=True))


def _addressable_devices_indices_map(
    self: Sharding, global_shape: Sequence[int]
) -> dict[Device, Index]:
    """For each device of this process, the index of its part in an array.

    Args:
      global_shape: the array's shape.
    """
    found = _devices_indices_map(self, global_shape)
    if self._internal_device_list.is_fully_addressable:
        return found
    return {device: found[device] for device in self._internal_device_list.addressable_device_list}


def _is_equivalent_to(self: Sharding, other: Sharding, ndim: int) -> bool:
    """Whether two shardings place arrays of ``ndim`` dimensions in the same way."""
    if self == other:
        return True
    if self._internal_device_list != other._internal_device_list:
        return False
    if self.memory_kind != other.memory_kind:
        return False
    mine, its = _hlo_sharding(self, ndim), _hlo_sharding(other, ndim)
    if mine.is_replicated() and its.is_replicated():
        return True
    return (
        _tiles(self, ndim) == _tiles(other, ndim)
        and mine.tile_assignment_devices() == its.tile_assignment_devices()
    )


def _is_fully_replicated(self: Sharding) -> bool:
    """Whether every device holds the whole array."""
    if isinstance(self, NamedSharding):
        sizes = self.mesh.shape
        return all(sizes[name] == 1 for _, name in self.spec._axis_names())
    if isinstance(self, GSPMDSharding):
        return self._hlo_sharding.is_replicated() or self.num_devices == 1
    return True


def _check_compatible_aval(self: Sharding, aval_shape: Sequence[int]) -> None:
    """Check that arrays of a shape have enough dimensions for this sharding.

    Raises:
      ValueError: if they have fewer.
    """
    if isinstance(self, NamedSharding):
        _check_rank(self, len(aval_shape))


def _single_eq(self: SingleDeviceSharding, other: object) -> bool:
    if type(other) is not SingleDeviceSharding:
        return False
    return self._device == other._device and self.memory_kind == other.memory_kind


def _single_hash(self: SingleDeviceSharding) -> int:
    return hash((self._device, self.memory_kind))


def _single_repr(self: SingleDeviceSharding) -> str:
    return f"SingleDeviceSharding(device={self._device!r}, memory_kind={self.memory_kind})"


def _single_with_memory_kind(self: SingleDeviceSharding, kind: str) -> SingleDeviceSharding:
    return SingleDeviceSharding(self._device, memory_kind=kind)


def _gspmd_eq(self: GSPMDSharding, other: object) -> bool:
    if type(other) is not GSPMDSharding:
        return False
    return (
        self._internal_device_list == other._internal_device_list
        and self._hlo_sharding == other._hlo_sharding
        and self.memory_kind == other.memory_kind
    )


def _gspmd_hash(self: GSPMDSharding) -> int:
    return hash((self._internal_device_list, self._hlo_sharding, self.memory_kind))


def _gspmd_repr(self: GSPMDSharding) -> str:
    return f"GSPMDSharding({self._hlo_sharding!r}, memory_kind={self.memory_kind})"


def _gspmd_with_memory_kind(self: GSPMDSharding, kind: str) -> GSPMDSharding:
    return GSPMDSharding(self._internal_device_list, self._hlo_sharding, memory_kind=kind)


def _memory_kind(self: Any) -> str | None:
    """The kind of the devices' memory that holds the array."""
    kind = self._memory_kind
    return self._internal_device_list.default_memory_kind if kind is None else kind


def _reduce_sharding(self: Sharding) -> tuple[Any, ...]:
    """What makes the sharding anew, for ``copy`` and ``pickle``."""
    kind: str | None = getattr(self, "_memory_kind", None)
    if isinstance(self, NamedSharding):
        return NamedSharding, (self.mesh, self.spec, kind)
    if isinstance(self, GSPMDSharding):
        return _gspmd, (tuple(self._internal_device_list), self._hlo_sharding.to_proto(), kind)
    (device,) = self._internal_device_list
    return _on_device, (device, kind)


def _on_device(device: Device, kind: str | None) -> SingleDeviceSharding:
    return make_single_device_sharding(device, memory_kind=kind)


def _gspmd(devices: tuple[Device, ...], form: Any, kind: str | None) -> GSPMDSharding:
    return GSPMDSharding(DeviceList(devices), HloSharding.from_proto(form), memory_kind=kind)


def _addressable(self: Sharding) -> DeviceList:
    return self._internal_device_list.addressable_device_list


# What each of jaxlib's classes is given.
_members: dict[type, dict[str, Any]] = {
    Sharding: {
        "device_set": property(lambda self: set(self._internal_device_list)),
        "addressable_devices": property(lambda self: set(_addressable(self))),
        "has_addressable_devices": property(lambda self: len(_addressable(self)) > 0),
        "is_fully_addressable": property(
            lambda self: self._internal_device_list.is_fully_addressable
        ),
        "is_fully_replicated": property(_is_fully_replicated),
        "memory_kind": property(_memory_kind),
        "num_devices": property(lambda self: len(self._internal_device_list)),
        # Libraries that write checkpoints (orbax) read these two.
        "_device_assignment": property(lambda self: tuple(self._internal_device_list)),
        "_addressable_device_assignment": property(lambda self: tuple(_addressable(self))),
        "__reduce__": _reduce_sharding,
        "addressable_devices_indices_map": _addressable_devices_indices_map,
        "check_compatible_aval": _check_compatible_aval,
        "devices_indices_map": _devices_indices_map,
        "is_equivalent_to": _is_equivalent_to,
        "shard_shape": _shard_shape,
        "_to_xla_hlo_sharding": _hlo_sharding,
    },
    NamedSharding: {
        "__repr__": _named_repr,
        "replicated_axes": property(_replicated_axes),
        "update": _named_update,
        "with_memory_kind": _named_with_memory_kind,
    },
    SingleDeviceSharding: {
        "__eq__": _single_eq,
        "__hash__": _single_hash,
        "__repr__": _single_repr,
        "with_memory_kind": _single_with_memory_kind,
    },
    GSPMDSharding: {
        "__eq__": _gspmd_eq,
        "__hash__": _gspmd_hash,
        "__repr__": _gspmd_repr,
        "with_memory_kind": _gspmd_with_memory_kind,
    },
}
for _class, _named in _members.items():
    for _name, _member in _named.items():
        setattr(_class, _name, _member)
introduce_spec_check(_check_spec, PartitionSpec())


_single: dict[Device, SingleDeviceSharding] = {}  # grows to the number of devices


def single_device_sharding(device: Device) -> SingleDeviceSharding:
    """The sharding of arrays that are whole on a device, the same object at each call.

    Dispatching compares shardings by identity first.
    """
    found = _single.get(device)
    if found is None:
        found = _single.setdefault(device, SingleDeviceSharding(device))
    return found


def make_single_device_sharding(
    device: Device, *, memory_kind: str | None = None
) -> SingleDeviceSharding:
    """The sharding of arrays that are whole in a memory of a device."""
    if memory_kind is None:
        return single_device_sharding(device)
    return SingleDeviceSharding(device, memory_kind=memory_kind)
