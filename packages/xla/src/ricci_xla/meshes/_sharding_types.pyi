"""What the classes of shardings have, once ``_sharding`` has added its methods.

``packages/xla/tests/test_stubs.py`` compares these with the classes.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from ricci_xla.devices._runtime_types import Device, DeviceList

from ._abstract_mesh import AbstractMesh
from ._mesh import Mesh
from ._spec import PartitionSpec

__all__ = [
    "GSPMDSharding",
    "HloSharding",
    "NamedSharding",
    "OpSharding",
    "Sharding",
    "SingleDeviceSharding",
]

class Sharding:
    """How an array is divided over devices."""

    @property
    def _internal_device_list(self) -> DeviceList: ...
    @property
    def _device_assignment(self) -> tuple[Device, ...]: ...
    @property
    def _addressable_device_assignment(self) -> tuple[Device, ...]: ...
    def _to_xla_hlo_sharding(self, ndim: int) -> HloSharding: ...
    @property
    def device_set(self) -> set[Device]:
        """The devices that hold a part."""

    @property
    def addressable_devices(self) -> set[Device]:
        """The devices of this process that hold a part."""

    @property
    def has_addressable_devices(self) -> bool:
        """Whether a device of this process holds a part."""

    @property
    def is_fully_addressable(self) -> bool:
        """Whether all devices belong to this process."""

    @property
    def is_fully_replicated(self) -> bool:
        """Whether every device holds the whole array."""

    @property
    def memory_kind(self) -> str | None:
        """The kind of the devices' memory that holds the array."""

    @property
    def num_devices(self) -> int:
        """The number of devices."""

    def shard_shape(self, global_shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of each device's shard of an array."""

    def devices_indices_map(
        self, global_shape: Sequence[int]
    ) -> Mapping[Device, tuple[slice, ...]]:
        """For each device the index of its part in an array."""

    def addressable_devices_indices_map(
        self, global_shape: Sequence[int]
    ) -> Mapping[Device, tuple[slice, ...]]:
        """For each device of this process the index of its part in an array."""

    def check_compatible_aval(self, aval_shape: Sequence[int]) -> None:
        """Check that arrays of a shape have enough dimensions for this sharding."""

    def is_equivalent_to(self, other: Sharding, ndim: int) -> bool:
        """Whether two shardings place arrays of ``ndim`` dimensions in the same way."""

    def with_memory_kind(self, kind: str) -> Sharding:
        """The same division, in another memory of the devices."""

class NamedSharding(Sharding):
    """A sharding over a mesh: each dimension of an array is divided along mesh axes.

    Args:
      mesh: the mesh.
      spec: for each dimension, the mesh axes that divide it.
      memory_kind: the kind of memory; the devices' default memory without it.
    """

    def __init__(
        self,
        mesh: Mesh | AbstractMesh,
        spec: PartitionSpec,
        memory_kind: str | None = None,
        _logical_device_ids: tuple[int, ...] | None = None,
    ) -> None: ...
    @property
    def _memory_kind(self) -> str | None: ...
    @property
    def mesh(self) -> Mesh | AbstractMesh:
        """The mesh."""

    @property
    def spec(self) -> PartitionSpec:
        """For each dimension, the mesh axes that divide it."""

    @property
    def replicated_axes(self) -> frozenset[Hashable]:
        """The mesh axes along which the devices hold copies."""

    def update(
        self,
        mesh: Mesh | AbstractMesh | None = None,
        spec: PartitionSpec | tuple[Any, ...] | None = None,
        memory_kind: str | None = None,
    ) -> NamedSharding:
        """This sharding with some parts replaced; ``spec`` may be a tuple."""

    def with_memory_kind(self, kind: str) -> NamedSharding:
        """The same division, in another memory of the devices."""

class SingleDeviceSharding(Sharding):
    """The sharding of arrays that are whole on one device.

    Args:
      device: the device.
      memory_kind: the kind of memory; the device's default memory without it.
    """

    def __init__(self, device: Device, memory_kind: str | None = None) -> None: ...
    @property
    def _device(self) -> Device: ...
    @property
    def _memory_kind(self) -> str | None: ...
    def with_memory_kind(self, kind: str) -> SingleDeviceSharding:
        """The same device, another of its memories."""

class GSPMDSharding(Sharding):
    """A sharding in the compiler's own form, which names no mesh.

    Args:
      devices: the devices.
      op_sharding: how an array is cut into tiles, one for each device.
      memory_kind: the kind of memory; the devices' default memory without it.
    """

    def __init__(
        self,
        devices: DeviceList | Sequence[Device],
        op_sharding: Any,
        memory_kind: str | None = None,
    ) -> None: ...
    @staticmethod
    def get_replicated(
        devices: Sequence[Device], *, memory_kind: str | None = None
    ) -> GSPMDSharding:
        """The sharding that has the whole array on each device."""

    @property
    def _hlo_sharding(self) -> HloSharding: ...
    @property
    def _memory_kind(self) -> str | None: ...
    def with_memory_kind(self, kind: str) -> GSPMDSharding:
        """The same division, in another memory of the devices."""

class HloSharding:
    """How XLA cuts a value into tiles, and which device has which tile."""

    @staticmethod
    def replicate() -> HloSharding:
        """Every device has the whole value."""

    @staticmethod
    def from_proto(proto: OpSharding) -> HloSharding:
        """Convert a message of ``to_proto`` back."""

    def to_proto(self) -> OpSharding:
        """The sharding as a message, which can be pickled."""

    @staticmethod
    def iota_tile(
        dims: Sequence[int],
        reshape_dims: Sequence[int] = (),
        transpose_perm: Sequence[int] = (),
        subgroup_types: Sequence[Any] = (),
    ) -> HloSharding:
        """Tiles numbered in the order of a transposed grid of devices."""

    @staticmethod
    def tuple_sharding(shape: Any, elements: Sequence[HloSharding], /) -> HloSharding:
        """The sharding of a tuple of values."""

    def tuple_elements(self) -> list[HloSharding]:
        """The shardings of the values in a tuple."""

    def is_replicated(self) -> bool:
        """Whether every device has the whole value."""

    def is_maximal(self) -> bool:
        """Whether one device has the whole value."""

    def is_tiled(self) -> bool:
        """Whether the value is cut into tiles."""

    def replicate_on_last_tile_dim(self) -> bool:
        """Whether several devices have copies of each tile, and nothing else is said of them."""

    def subgroup_types(self) -> list[Any]:
        """What the devices that have one tile hold: copies, or terms of a sum."""

    def tile_assignment_dimensions(self) -> list[int]:
        """Into how many tiles each dimension is cut; then how many copies there are."""

    def tile_assignment_devices(self) -> list[int]:
        """The number of the device of each tile."""

class OpSharding:
    """A sharding as a message of XLA's, which can be pickled."""

    Type: Any
    iota_reshape_dims: list[int]
    iota_transpose_perm: list[int]
    tile_assignment_devices: list[int]

    def ParseFromString(self, arg: bytes, /) -> None:
        """Read the message from its bytes."""

    def SerializeToString(self) -> bytes:
        """The bytes of the message."""
