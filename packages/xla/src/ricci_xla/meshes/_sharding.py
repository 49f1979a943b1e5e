"""Methods that this package adds to jaxlib's classes of shardings, and the check of specs."""

from collections.abc import Hashable, Sequence
from types import FunctionType
from typing import Any

from ricci_ir import as_method, leave, similar_names
from ricci_xla.devices import Device, DeviceList, DuplicateSpecError, is_described
from ricci_xla.devices._registration import introduce_spec_check

from . import _shard_shapes as shard_shapes
from ._abstract_mesh import AbstractMesh
from ._axes import AxisType
from ._encodings import hlo_sharding
from ._mesh import Mesh
from ._sharding_types import (
    GSPMDSharding,
    HloSharding,
    NamedSharding,
    OpSharding,
    Sharding,
    SingleDeviceSharding,
)
from ._spec import UNCONSTRAINED, Partition, PartitionSpec

__all__ = ["default_memory_kind", "make_single_device_sharding", "single_device_sharding"]


def _named_repr(self: NamedSharding) -> str:
    memory = "" if self._memory_kind is None else f", memory_kind={self._memory_kind}"
    return f"NamedSharding(mesh={self.mesh!s}, spec={self.spec}{memory})"


def _replicated_axes(self: NamedSharding) -> frozenset[Hashable]:
    """The mesh axes along which the devices hold copies."""
    spec = self.spec
    used = {*(name for _, name in spec._axis_names()), *spec.unreduced, *spec.reduced}
    return frozenset(name for name in self.mesh.axis_names if name not in used)


def _named_update(
    self: NamedSharding,
    mesh: Mesh | AbstractMesh | None = None,
    spec: PartitionSpec | Sequence[Partition] | None = None,
    memory_kind: str | None = None,
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


def _with_memory_kind(self: Sharding, kind: str) -> Sharding:
    """The same sharding in another memory of the devices."""
    raise NotImplementedError(
        f"{type(self).__name__}.with_memory_kind is not defined. A class of shardings defines it: "
        "return the sharding whose memory_kind is that of the argument."
    )


def _check_new(mesh: Mesh | AbstractMesh, spec: object) -> None:
    """Check a new ``NamedSharding``: jaxlib calls this, as if the user's code did."""
    try:
        _check_spec(mesh, spec)
    except Exception as error:
        leave(error)
        raise


def _check_spec(mesh: Mesh | AbstractMesh, spec: object) -> None:
    """Check that a spec fits a mesh."""
    if not isinstance(spec, PartitionSpec):
        raise TypeError(
            f"NamedSharding: expected spec to be a PartitionSpec, got {spec!r} of type "
            f"{type(spec).__name__}. Write NamedSharding(mesh, PartitionSpec('x', None))."
        )
    types = mesh._name_to_type
    seen: dict[Hashable, int] = {}
    for dim, name in spec._axis_names():
        if name not in types:
            raise _unknown_axis(spec, name, types)
        if name in seen:
            uses = (
                f"twice for dimension {dim}"
                if seen[name] == dim
                else f"for the dimensions {seen[name]} and {dim}"
            )
            raise DuplicateSpecError(
                f"NamedSharding: {spec} uses the mesh axis {name!r} {uses}. A mesh axis divides "
                "one dimension: use it once, and None or another axis elsewhere."
            )
        seen[name] = dim
    for what in ("unreduced", "reduced"):
        for name in getattr(spec, what):
            if name not in types:
                raise _unknown_axis(spec, name, types)
            if types[name] is not AxisType.Explicit:
                raise ValueError(
                    f"NamedSharding: {spec} is {what} over {name!r}, which is "
                    f"{types[name].name} in {mesh}. Only axes of type Explicit can be: make the "
                    "mesh with axis_types=AxisType.Explicit for them."
                )
    if UNCONSTRAINED in spec.partitions and types and AxisType.Auto not in types.values():
        raise ValueError(
            f"NamedSharding: {spec} has UNCONSTRAINED, which leaves a dimension to the compiler, "
            f"but {mesh} has no axis of type Auto that it could use. Write None instead."
        )


def _unknown_axis(
    spec: PartitionSpec, name: Hashable, types: dict[Hashable, AxisType]
) -> ValueError:
    alike = similar_names(str(name), map(str, types))
    return ValueError(
        f"NamedSharding: {spec} names the axis {name!r}, but the axes of the mesh are "
        f"{tuple(types)}.{f' Did you mean {alike[0]!r}?' if alike else ''}"
    )


def _is_fully_replicated(self: Sharding) -> bool:
    """Whether every device holds the whole array."""
    if isinstance(self, NamedSharding):
        sizes = self.mesh.shape
        # Along an unreduced axis devices have terms of a sum, not copies.
        used = (*(name for _, name in self.spec._axis_names()), *self.spec.unreduced)
        return all(sizes[name] == 1 for name in used)
    if isinstance(self, GSPMDSharding):
        return self._hlo_sharding.is_replicated() or self.num_devices == 1
    return True


def _single_eq(self: SingleDeviceSharding, other: object) -> bool:
    if type(other) is not SingleDeviceSharding:
        return False
    # By the memory's name, which the property looks up: a sharding without one is in the default
    # memory, and equal to one that names it.
    return self._device == other._device and self.memory_kind == other.memory_kind


def _single_hash(self: SingleDeviceSharding) -> int:
    return hash((self._device, self.memory_kind))


def _single_repr(self: SingleDeviceSharding) -> str:
    return f"SingleDeviceSharding(device={self._device!r}, memory_kind={self.memory_kind})"


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


def _gspmd_get_replicated(
    devices: Sequence[Device], *, memory_kind: str | None = None
) -> GSPMDSharding:
    """The replicated sharding: the whole array on each device."""
    device_list = DeviceList(tuple(devices))
    return GSPMDSharding(device_list, HloSharding.replicate(), memory_kind=memory_kind)


def _memory_kind(self: Any) -> str | None:
    """The kind of the devices' memory that holds the array."""
    kind = self._memory_kind
    if kind is not None or shard_shapes.is_abstract(self):
        return kind
    return default_memory_kind(self) or "device"


def default_memory_kind(sharding: Sharding) -> str | None:
    """The kind of the devices' default memory; ``None`` where the runtime has no memories.

    It has none for CPUs and GPUs of a topology, and drops the memory kinds of their shardings. An
    abstract sharding is of any devices, whose own memory is the default.
    """
    if shard_shapes.is_abstract(sharding):
        return "device"
    devices: Any = sharding._internal_device_list
    try:
        return devices.default_memory_kind
    # Described devices have no memories, which jaxlib reports as an error.
    except ValueError:
        if all(isinstance(d, Device) and is_described(d) for d in devices):
            return None
        raise


def _reduce_sharding(self: Sharding) -> tuple[Any, ...]:
    """The constructor and arguments that rebuild the sharding, for ``copy`` and ``pickle``."""
    # The kind as it was specified: the default memory of another process may have another name.
    kind: str | None = getattr(self, "_memory_kind", None)
    if isinstance(self, NamedSharding):
        return NamedSharding, (self.mesh, self.spec, kind)
    if isinstance(self, GSPMDSharding):
        return _gspmd, (tuple(self._internal_device_list), self._hlo_sharding.to_proto(), kind)
    (device,) = self._internal_device_list
    return _on_device, (device, kind)


def _on_device(device: Device, kind: str | None) -> SingleDeviceSharding:
    return make_single_device_sharding(device, memory_kind=kind)


def _gspmd(devices: tuple[Device, ...], form: OpSharding, kind: str | None) -> GSPMDSharding:
    return GSPMDSharding(DeviceList(devices), HloSharding.from_proto(form), memory_kind=kind)


def _addressable(self: Sharding) -> DeviceList:
    return shard_shapes.devices_of(self).addressable_device_list


_SHARDING_DOC = """The distribution of an array's shards over devices.

Shardings are immutable and can be compared, hashed, copied and pickled.
"""

_NAMED_DOC = """A sharding over a mesh: each dimension of an array is sharded along mesh axes.

Args:
  mesh: a ``Mesh``, or an ``AbstractMesh`` without devices.
  spec: a ``PartitionSpec``: the mesh axes that shard each dimension.
  memory_kind: the kind of memory, such as ``"pinned_host"``; the devices' default memory without
    it.

Raises:
  ValueError: if the spec names axes that the mesh does not have.
  DuplicateSpecError: if it names one twice.

Example:
  A batch sharded over the devices of an axis. Dimensions that the spec does not name are
  replicated.

  >>> import ricci
  >>> import ricci.numpy as jnp
  >>> devices = ricci.devices()[:2]
  >>> mesh = ricci.make_mesh((len(devices),), ("batch",), devices=devices)
  >>> sharding = ricci.NamedSharding(mesh, ricci.P("batch"))
  >>> x = ricci.device_put(jnp.ones((4, 3)), sharding)
  >>> {shard.data.shape for shard in x.addressable_shards} == {(4 // len(devices), 3)}
  True

Notes:
  The sizes of sharded dimensions must be multiples of the number of devices along their axes;
  ``device_put`` raises an ``IndivisibleError`` otherwise.

See also:
  ``make_mesh``, ``PartitionSpec``, ``reshard``.
"""

_SINGLE_DOC = """The sharding of arrays that are whole on one device.

Args:
  device: the device.
  memory_kind: the kind of memory; the device's default memory without it.

Example:
  >>> import ricci
  >>> import ricci.numpy as jnp
  >>> device = ricci.devices()[-1]
  >>> x = ricci.device_put(jnp.ones(3), ricci.sharding.SingleDeviceSharding(device))
  >>> x.devices() == {device}
  True
"""

_GSPMD_DOC = """A sharding in the compiler's own form, which names no mesh."""

# The attributes that are set on each of jaxlib's classes.
_members: dict[type, dict[str, Any]] = {
    Sharding: {
        "__doc__": _SHARDING_DOC,
        "device_set": property(
            lambda self: set(shard_shapes.devices_of(self)), doc="The devices that hold a part."
        ),
        "addressable_devices": property(
            lambda self: set(_addressable(self)),
            doc="The devices of this process that hold a part.",
        ),
        "has_addressable_devices": property(
            lambda self: len(_addressable(self)) > 0,
            doc="Whether a device of this process holds a part.",
        ),
        "is_fully_addressable": property(
            lambda self: shard_shapes.devices_of(self).is_fully_addressable,
            doc="Whether all devices belong to this process.",
        ),
        "is_fully_replicated": property(_is_fully_replicated),
        "memory_kind": property(_memory_kind),
        "num_devices": property(shard_shapes.num_devices),
        # Libraries that write checkpoints (orbax) read these two.
        "_device_assignment": property(lambda self: tuple(shard_shapes.devices_of(self))),
        "_addressable_device_assignment": property(lambda self: tuple(_addressable(self))),
        "__reduce__": _reduce_sharding,
        "addressable_devices_indices_map": shard_shapes.addressable_devices_indices_map,
        "check_compatible_aval": shard_shapes.check_compatible_aval,
        "devices_indices_map": shard_shapes.devices_indices_map,
        "is_equivalent_to": shard_shapes.is_equivalent_to,
        "shard_shape": shard_shapes.shard_shape,
        "with_memory_kind": _with_memory_kind,
        "_to_xla_hlo_sharding": hlo_sharding,
    },
    NamedSharding: {
        "__doc__": _NAMED_DOC,
        "__repr__": _named_repr,
        "replicated_axes": property(_replicated_axes),
        "update": _named_update,
        "with_memory_kind": lambda self, kind: NamedSharding(self.mesh, self.spec, kind),
    },
    SingleDeviceSharding: {
        "__doc__": _SINGLE_DOC,
        "__eq__": _single_eq,
        "__hash__": _single_hash,
        "__repr__": _single_repr,
        "with_memory_kind": lambda self, kind: SingleDeviceSharding(self._device, memory_kind=kind),
    },
    GSPMDSharding: {
        "__doc__": _GSPMD_DOC,
        "__eq__": _gspmd_eq,
        "__hash__": _gspmd_hash,
        "__repr__": _gspmd_repr,
        "get_replicated": staticmethod(
            as_method(_gspmd_get_replicated, "get_replicated", GSPMDSharding)
        ),
        "with_memory_kind": _gspmd_with_memory_kind,
    },
}
for _class, _named in _members.items():
    for _name, _member in _named.items():
        if type(_member) is FunctionType:
            _member = as_method(_member, _name, _class)
        setattr(_class, _name, _member)
introduce_spec_check(_check_new, PartitionSpec())


_single: dict[Device, SingleDeviceSharding] = {}  # grows to the number of devices


def single_device_sharding(device: Device) -> SingleDeviceSharding:
    """The sharding of arrays that are whole on a device, the same object at each call.

    Dispatching compares shardings by identity first.
    """
    sharding = _single.get(device)
    if sharding is None:
        sharding = _single.setdefault(device, SingleDeviceSharding(device))
    return sharding


def make_single_device_sharding(
    device: Device, *, memory_kind: str | None = None
) -> SingleDeviceSharding:
    """The sharding of arrays that are whole in a memory of a device.

    Args:
      device: the device.
      memory_kind: the kind of memory; the device's default memory without it.

    Returns:
      The sharding.

    Example:
      >>> import ricci
      >>> from ricci.sharding import make_single_device_sharding
      >>> make_single_device_sharding(ricci.devices()[0]).num_devices
      1
    """
    if memory_kind is None:
        return single_device_sharding(device)
    return SingleDeviceSharding(device, memory_kind=memory_kind)
