"""Records of shardings and arrays: a device is its position among those of the executable."""

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from ricci_ir import Array, UnreducedKind
from ricci_xla import meshes
from ricci_xla.devices._runtime_types import Device, DeviceList

from ._container import FileError
from ._plain import PlainRecord, decode_plain, encode_plain
from ._types import MeshAxesRecord, TypeRecord, decode_axes, encode_axes, encode_type

__all__ = ["ShardingRecord", "SpecRecord", "decode_sharding", "decode_spec", "encode_sharding"]
__all__ += ["encode_spec"]


class SpecRecord(msgspec.Struct, frozen=True):
    """A partition spec. The part of a dimension is ``None`` if it is ``UNCONSTRAINED``."""

    parts: list[PlainRecord | None]
    unreduced: PlainRecord
    reduced: PlainRecord
    unreduced_kind: str | None = None


class SingleDeviceRecord(msgspec.Struct, frozen=True, tag="single"):
    """A sharding on one device."""

    device: int
    memory_kind: str | None = None


class NamedRecord(msgspec.Struct, frozen=True, tag="named"):
    """A sharding over a mesh."""

    axes: MeshAxesRecord
    devices: list[int]
    spec: SpecRecord
    memory_kind: str | None = None


class TiledRecord(msgspec.Struct, frozen=True, tag="tiled"):
    """A sharding in XLA's protocol buffer, over all devices in their order."""

    devices: list[int]
    proto: bytes
    memory_kind: str | None = None


type ShardingRecord = SingleDeviceRecord | NamedRecord | TiledRecord
"""A sharding of one of the three classes."""


def encode_spec(spec: meshes.PartitionSpec) -> SpecRecord:
    """A record of a partition spec.

    Raises:
      TypeError: if a mesh axis's name is not a plain value.
    """
    kind = spec.unreduced_kind
    return SpecRecord(
        [None if part is meshes.UNCONSTRAINED else encode_plain(part) for part in spec.partitions],
        encode_plain(frozenset(spec.unreduced)),
        encode_plain(frozenset(spec.reduced)),
        None if kind is None else kind.name,
    )


def decode_spec(record: SpecRecord) -> meshes.PartitionSpec:
    """The partition spec of a record.

    Raises:
      FileError: if the record is invalid.
    """
    parts = [meshes.UNCONSTRAINED if r is None else decode_plain(r) for r in record.parts]
    try:
        return meshes.PartitionSpec(
            *parts,
            unreduced=decode_plain(record.unreduced),
            reduced=decode_plain(record.reduced),
            unreduced_kind=None
            if record.unreduced_kind is None
            else UnreducedKind[record.unreduced_kind],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise FileError(f"the record is not a valid partition spec: {error}") from error


def encode_sharding(sharding: meshes.Sharding, devices: Sequence[Device]) -> ShardingRecord:
    """A record of a sharding.

    Args:
      sharding: the sharding.
      devices: the devices of the executable, which include those of the sharding.

    Raises:
      TypeError: if it is of another class than jaxlib's, or a mesh axis has no plain name.
      ValueError: if it has a device that is not among ``devices``.
    """
    # The reading process may have other devices: a device is its place among those of the
    # executable.
    position = {device: i for i, device in enumerate(devices)}
    try:
        if isinstance(sharding, meshes.SingleDeviceSharding):
            return SingleDeviceRecord(position[sharding._device], sharding._memory_kind)
        if isinstance(sharding, meshes.NamedSharding) and isinstance(sharding.mesh, meshes.Mesh):
            places = [position[device] for device in sharding.mesh.devices.flat]
            spec = encode_spec(sharding.spec)
            return NamedRecord(encode_axes(sharding.mesh), places, spec, sharding._memory_kind)
        if isinstance(sharding, meshes.GSPMDSharding):
            places = [position[device] for device in sharding._device_assignment]
            proto = meshes.get_serialized_proto_from_hlo_sharding(sharding._to_xla_hlo_sharding(0))
            return TiledRecord(places, proto, sharding.memory_kind)
    except KeyError as error:
        raise ValueError(f"{sharding} has {error}, which is not a device of the program") from error
    raise TypeError(f"the sharding {sharding} cannot be written to a file")


def decode_sharding(record: ShardingRecord, devices: Sequence[Device]) -> meshes.Sharding:
    """The sharding of a record, on some devices.

    Raises:
      FileError: if the record is invalid, or needs more devices.
    """
    try:
        if isinstance(record, SingleDeviceRecord):
            device = devices[_position(record.device)]
            if record.memory_kind is None:
                return meshes.single_device_sharding(device)
            return meshes.SingleDeviceSharding(device, record.memory_kind)
        own_devices = [devices[_position(i)] for i in record.devices]
        if isinstance(record, NamedRecord):
            names, types = decode_axes(record.axes)
            grid: Any = np.empty(len(own_devices), object)
            grid[:] = own_devices
            mesh = meshes.Mesh(grid.reshape(record.axes.sizes), names, types)
            return meshes.NamedSharding(mesh, decode_spec(record.spec), record.memory_kind)
        form = meshes.get_hlo_sharding_from_serialized_proto(record.proto)
        return meshes.GSPMDSharding(DeviceList(tuple(own_devices)), form, record.memory_kind)
    except IndexError as error:
        raise FileError(
            f"the record has a sharding over more than the {len(devices)} available devices"
        ) from error
    except (TypeError, ValueError, RuntimeError) as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"the record is not a valid sharding: {error}") from error


def _position(i: int) -> int:
    # Python would count it from the end.
    if i < 0:
        raise FileError(f"the record has a device at position {i}")
    return i


class ArrayRecord(msgspec.Struct, frozen=True):
    """A constant of an executable."""

    type: TypeRecord
    sharding: ShardingRecord
    data: bytes


def encode_array(array: Array, devices: Sequence[Device]) -> ArrayRecord:
    """Return the record of a constant of an executable."""
    data = np.ascontiguousarray(np.asarray(array)).tobytes()
    return ArrayRecord(encode_type(array.aval), encode_sharding(array.sharding, devices), data)
