"""Exchange of arrays with other processes and libraries: pickling and DLPack."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ricci_ir import Array, ShapedArray
from ricci_xla.devices import Device, JaxRuntimeError, get_backend
from ricci_xla.devices._jaxlib import runtime
from ricci_xla.devices._jaxlib_options import unguarded
from ricci_xla.meshes import Sharding, single_device_sharding

from ._array import check_not_deleted, with_types
from ._array_impl import ArrayImpl
from ._placement import array_from_host, move_array

__all__ = ["from_dlpack"]

# Device types of the DLPack standard.
DLPACK_CPU = 1
_DLPACK_TYPES = {"cpu": DLPACK_CPU, "cuda": 2, "gpu": 2, "rocm": 10}
_PLATFORMS = {1: "cpu", 2: "cuda", 3: "cpu", 10: "rocm"}


def _rebuild_array(value: np.ndarray, weak_type: bool) -> Array:
    return array_from_host(value, ShapedArray(value.shape, value.dtype, weak_type))


def _reduce(self: ArrayImpl) -> tuple[Any, ...]:
    return _rebuild_array, (self._value, self.weak_type)


def _dlpack_device(self: ArrayImpl) -> tuple[int, int]:
    if self._sharding.num_devices != 1:
        raise BufferError(
            f"an array on {self._sharding.num_devices} devices has no single DLPack device; pass "
            "the data of one of its x.addressable_shards instead."
        )
    device = self._sharding._device_assignment[0]
    try:
        kind = _DLPACK_TYPES[device.platform]
    except KeyError:
        raise BufferError(f"DLPack has no device type for the platform {device.platform}") from None
    return kind, 0 if kind == DLPACK_CPU else device.local_hardware_id or 0


def _dlpack(
    self: ArrayImpl,
    *,
    stream: object = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    check_not_deleted(self)
    current = _dlpack_device(self)
    source = self
    if dl_device is not None and tuple(dl_device) != current:
        if copy is False:
            raise BufferError(f"the array is on DLPack device {current}, not {tuple(dl_device)}")
        if dl_device[0] != DLPACK_CPU:
            raise BufferError(
                f"__dlpack__ cannot move an array to DLPack device {tuple(dl_device)}"
            )
        cpu = get_backend("cpu").local_devices()[0]
        source = move_array(self, single_device_sharding(cpu))
    elif copy:
        with unguarded():  # a copy on one device
            source = move_array(self, self._sharding, copy=True)
    # The capsule holds a second object on the same buffers. If it held the array itself, deleting
    # the array would destroy buffers that are in use, which ends the process.
    alias = source._rewrap_with_aval_and_sharding(source.aval, source._sharding)
    return runtime.buffer_to_dlpack_managed_tensor(alias, stream=stream)


def from_dlpack(
    external_array: Any, device: Device | Sharding | None = None, copy: bool | None = None
) -> Array:
    """Convert an array of another library by the DLPack protocol, sharing memory if possible.

    Args:
      external_array: an object with ``__dlpack__`` and ``__dlpack_device__``.
      device: the device of the result, or the sharding of one; by default that of the external
        array.
      copy: ``True`` makes a copy, ``False`` forbids one, ``None`` copies only if necessary.

    Raises:
      TypeError: if ``external_array`` does not follow the protocol. ValueError: if a copy is needed
      but ``copy`` is ``False``, or ``device`` is not a single device.

    Example:
      >>> import numpy as np
      >>> from ricci_xla import from_dlpack
      >>> from_dlpack(np.arange(3, dtype="int32"))
      Array([0, 1, 2], dtype=int32)
    """
    if not hasattr(external_array, "__dlpack_device__"):
        raise TypeError(
            f"from_dlpack: expected an array with __dlpack__ and __dlpack_device__, got "
            f"{type(external_array)}."
        )
    kind, number = external_array.__dlpack_device__()
    platform = _PLATFORMS.get(int(kind))
    if platform is None:
        raise TypeError(f"from_dlpack: arrays on DLPack device type {int(kind)} are unsupported.")
    client = get_backend(platform)
    source = (
        client.local_devices()[0]
        if platform == "cpu"
        else client.device_from_local_hardware_id(number)
    )
    target = source if device is None else _single_device(device)
    if copy is False and target != source:
        raise ValueError(f"from_dlpack: moving the array from {source} to {target} needs a copy.")
    stream = None if platform == "cpu" else source.get_stream_for_external_ready_events()
    capsule = _exported(external_array.__dlpack__, stream, copy)
    try:
        array = with_types(
            lambda: runtime.dlpack_managed_tensor_to_buffer(
                capsule, source, stream, copy, int(kind)
            )
        )
    except JaxRuntimeError as error:
        if copy is not False:
            raise
        raise ValueError(
            f"from_dlpack: the memory cannot be shared, and copy=False forbids a copy: {error}"
        ) from None
    if target == source and not copy:
        return array
    # The runtime shares aligned memory even if told to copy, so a copy is made here.
    sharding = single_device_sharding(target)
    if target != source:
        return move_array(array, sharding, copy=bool(copy))
    with unguarded():  # a copy on one device
        return move_array(array, sharding, copy=True)


def _exported(export: Callable[..., object], stream: object, copy: bool | None) -> object:
    """The capsule of an external array; of one that it refuses to share, of a copy.

    The runtime takes capsules from before DLPack 1.0, which cannot say that memory is read-only.
    """
    try:
        return export(stream=stream)
    except BufferError as error:
        if copy is False:
            raise ValueError(
                f"from_dlpack: the memory cannot be shared, and copy=False forbids a copy: {error}"
            ) from None
        try:
            return export(stream=stream, copy=True)
        except TypeError:  # an exporter from before DLPack 1.0
            raise error from None


def _single_device(device: Device | Sharding) -> Device:
    if isinstance(device, Sharding):
        (device,) = device.device_set if len(device.device_set) == 1 else (device,)
    if not isinstance(device, Device):
        raise ValueError(f"from_dlpack: device must be one device, got {device!r}.")
    return device


for _name, _method in {
    "__dlpack__": _dlpack,
    "__dlpack_device__": _dlpack_device,
    "__reduce__": _reduce,
}.items():
    setattr(ArrayImpl, _name, _method)
