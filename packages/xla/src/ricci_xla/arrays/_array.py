"""Arrays: jaxlib's array class, with the methods that do not compute.

What computes (operators, indexing, reductions) is added by ``ricci_numpy``.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ricci_ir import api_boundary, check_index, check_item, check_number, check_truth
from ricci_xla.devices import _state as _state
from ricci_xla.devices._jaxlib import runtime

from ._pieces import parts, whole_part
from ._sharding import device_indices

__all__ = [
    "ArrayImpl",
    "check_not_deleted",
    "Shard",
]

ArrayImpl = runtime.ArrayImpl
Array = runtime.Array


class Shard:
    """The part of an array that one device holds.

    Attributes:
      device: the device.
      index: where the part is in the array, a tuple of slices.
      replica_id: the number of the copy; 0 for parts of which there is only one.
      data: the part, as an array on that device; ``None`` if another process has it.
    """

    __slots__ = ("_global_shape", "_sharding", "data", "device")

    def __init__(self, device: Any, sharding: Any, global_shape: Any, data: Any = None):
        self.device = device
        self.data = data
        self._sharding = sharding
        self._global_shape = tuple(global_shape)

    def _position(self) -> int:
        return list(self._sharding._internal_device_list).index(self.device)

    @property
    def index(self) -> tuple[slice, ...]:
        return device_indices(self._sharding, self._global_shape)[self._position()]

    @property
    def replica_id(self) -> int:
        indices = device_indices(self._sharding, self._global_shape)
        position = self._position()
        return indices[:position].count(indices[position])

    def __repr__(self) -> str:
        return (
            f"Shard(device={self.device!r}, index={self.index}, replica_id={self.replica_id}, "
            f"data={self.data})"
        )


def check_not_deleted(array: Any) -> None:
    """Raise if an array's memory is gone.

    Raises:
      RuntimeError: if the array was deleted, or donated to a computation.
    """
    if array.is_deleted():
        aval = array.aval
        shape = ",".join(map(str, aval.shape))
        raise RuntimeError(
            f"This array was deleted: {aval.dtype.name}[{shape}].\nIts memory was freed by "
            "delete(), or given away: it was an argument that a compiled function may overwrite "
            "(donate_argnums, donate_argnames, device_put(donate=True)). Keep using the "
            "function's result instead, or do not donate this argument."
        )


def _value(self: Any) -> np.ndarray:
    cached = self._npy_value
    if cached is not None:
        return cached
    check_not_deleted(self)
    if not (self.is_fully_addressable or self.is_fully_replicated):
        raise RuntimeError(
            f"This process cannot see all of the array {self.aval.str_short()}, which is spread "
            f"over devices of other processes by {self._sharding}.\nRead this process's parts with "
            "x.addressable_shards, or gather the array first with "
            "multihost_utils.process_allgather."
        )
    try:
        value, copied = self._to_np_array_did_copy()
    except runtime.JaxRuntimeError:
        if self._sharding.num_devices == 1:
            raise
        value, copied = _joined(self), True
    value.flags.writeable = False
    if copied:
        # Only a copy is kept: a view would keep the device's memory from being donated.
        self._npy_value = value
    return value


def _joined(self: Any) -> np.ndarray:
    """The whole array, read part by part.

    A guard of transfers makes jaxlib refuse to put parts together, even those that the host's
    memory holds already. Read one by one, only those are refused that are really copied.
    """
    value = np.empty(self.aval.shape, self.aval.dtype)
    for shard in self.addressable_shards:
        value[shard.index] = np.asarray(shard.data)
    return value


def _array(self: Any, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    value = self._value
    if dtype is not None and value.dtype != dtype:
        if copy is False:
            raise ValueError(
                f"an array of dtype {value.dtype} cannot become one of {dtype} without a copy; "
                "leave copy=False out."
            )
        return value.astype(dtype)
    return value.copy() if copy else value


def _repr(self: Any) -> str:
    aval = self.aval
    suffix = f"dtype={aval.dtype.name}"
    if aval.weak_type:
        suffix += ", weak_type=True"
    if not (self.is_fully_addressable or self.is_fully_replicated):
        return f"Array(shape={aval.shape}, {suffix})"
    if 0 in aval.shape:
        return f"Array([], shape={aval.shape}, {suffix})"
    text = np.array2string(self._value, prefix="Array(", suffix=",", separator=", ")
    # What precedes the dtype on its line counts, "Array(" does not.
    width = len(text.rpartition("\n")[2]) + len(f", {suffix})")
    if width >= np.get_printoptions()["linewidth"]:
        return f"Array({text},{' ' * len('Array(')}{suffix})"
    return f"Array({text}, {suffix})"


def _str(self: Any) -> str:
    if not (self.is_fully_addressable or self.is_fully_replicated):
        return _repr(self)
    return str(self._value)


def _format(self: Any, format_spec: str) -> str:
    if self.aval.shape == ():
        return format(self._value[()], format_spec)
    return format(self._value, format_spec)


def _len(self: Any) -> int:
    shape = self.aval.shape
    if not shape:
        raise TypeError("a scalar (an array of rank 0) has no length.")
    return shape[0]


def _iter(self: Any) -> Iterator[Any]:
    shape = self.aval.shape
    if not shape:
        raise TypeError("a scalar (an array of rank 0) has no first axis to iterate over.")
    return (self[i] for i in range(shape[0]))


def _reversed(self: Any) -> Iterator[Any]:
    shape = self.aval.shape
    if not shape:
        raise TypeError("a scalar (an array of rank 0) has no first axis to reverse.")
    return (self[i] for i in reversed(range(shape[0])))


def _scalar(self: Any) -> Any:
    check_number(self.aval)
    return self._value


def _bool(self: Any) -> bool:
    if not self.aval.shape:
        return bool(self._value)
    check_truth(self.aval)
    return bool(self._value.reshape(()))


def _index(self: Any) -> int:
    check_index(self.aval)
    return int(self._value)


def _item(self: Any, *args: Any) -> Any:
    check_item(self.aval, args)
    return self._value.item(*args)


@api_boundary
def _setitem(self: Any, index: Any, value: Any) -> None:
    raise TypeError(
        f"an array of type {self.aval.str_short()} cannot be assigned to: arrays are immutable. "
        "Use x = x.at[index].set(value), which returns an updated copy."
    )


def _devices(self: Any) -> set[Any]:
    check_not_deleted(self)
    return self._sharding.device_set


def _device(self: Any) -> Any:
    check_not_deleted(self)
    sharding = self._sharding
    return next(iter(sharding.device_set)) if sharding.num_devices == 1 else sharding


def _addressable_shards(self: Any) -> list[Shard]:
    check_not_deleted(self)
    shape, sharding = self.aval.shape, self._sharding
    if sharding.num_devices == 1:
        return [Shard(sharding._device_assignment[0], sharding, shape, self)]
    here = sharding._internal_device_list.addressable_device_list
    return [
        Shard(device, sharding, shape, part) for device, part in zip(here, parts(self), strict=True)
    ]


def _global_shards(self: Any) -> list[Shard]:
    if self.is_fully_addressable:
        return _addressable_shards(self)
    mine = {shard.device: shard for shard in _addressable_shards(self)}
    shape, sharding = self.aval.shape, self._sharding
    return [
        mine.get(device) or Shard(device, sharding, shape)
        for device in sharding._internal_device_list
    ]


def _addressable_data(self: Any, index: int) -> Any:
    check_not_deleted(self)
    if self.is_fully_replicated:
        return whole_part(self)
    return parts(self)[index]


def _copy_to_host_async(self: Any) -> None:
    check_not_deleted(self)
    if self._npy_value is None:
        runtime.batched_copy_to_host_async([self])


def _copy_array(self: Any) -> Any:
    check_not_deleted(self)
    return runtime.batched_copy_array_to_devices_with_sharding(
        [self],
        [self._sharding._internal_device_list],
        [self._sharding],
        [runtime.ArrayCopySemantics.ALWAYS_COPY],
    )[0]


def _check_and_rearrange(arrays: list[Any], sharding: Any, aval: Any) -> list[Any]:
    """Called by jaxlib when an array is made of parts: checks them and puts them in order."""
    devices = list(sharding._internal_device_list.addressable_device_list)
    if len(arrays) != len(devices):
        raise ValueError(
            f"this process has {len(devices)} devices of the sharding, and {len(arrays)} arrays "
            "were given. Give one array for each device."
        )
    by_device = {next(iter(a.sharding.device_set)): a for a in arrays}
    if set(by_device) != set(devices):
        raise ValueError(
            "The devices of the per-device arrays are not those of the sharding.\n"
            f"found: {list(by_device)}\nexpected: {devices}"
        )
    piece = sharding.shard_shape(aval.shape)
    for array in arrays:
        if array.dtype != aval.dtype:
            raise ValueError(
                f"one part has dtype {array.dtype}, but the whole array has {aval.dtype}. Convert "
                "the parts to one dtype."
            )
        if array.shape != piece:
            raise ValueError(
                f"a part has shape {array.shape}, but {sharding} cuts {aval.str_short()} into "
                f"parts of shape {piece}."
            )
    return [by_device[device] for device in devices]


_attributes: dict[str, Any] = {
    "shape": property(lambda self: self.aval.shape),
    "dtype": property(lambda self: self.aval.dtype),
    "weak_type": property(lambda self: self.aval.weak_type),
    "ndim": property(lambda self: len(self.aval.shape)),
    "size": property(lambda self: self.aval.size),
    "itemsize": property(lambda self: self.aval.dtype.itemsize),
    "nbytes": property(lambda self: self.aval.size * self.aval.dtype.itemsize),
    "sharding": property(lambda self: self._sharding),
    "committed": property(lambda self: self._committed),
    "device": property(_device),
    "is_fully_replicated": property(lambda self: self._sharding.is_fully_replicated),
    "is_fully_addressable": property(lambda self: self._sharding.is_fully_addressable),
    "addressable_shards": property(_addressable_shards),
    "global_shards": property(_global_shards),
    "_value": property(_value),
    "devices": _devices,
    "addressable_data": _addressable_data,
    "copy_to_host_async": _copy_to_host_async,
    "tolist": lambda self: self._value.tolist(),
    "tobytes": lambda self, order="C": self._value.tobytes(order),
    "item": _item,
    "_check_if_deleted": check_not_deleted,
    "_check_and_rearrange": staticmethod(_check_and_rearrange),
    "__array__": _array,
    "__array_priority__": 100,
    "__repr__": _repr,
    "__str__": _str,
    "__format__": _format,
    "__len__": _len,
    "__iter__": _iter,
    "__reversed__": _reversed,
    "__bool__": _bool,
    "__int__": lambda self: int(_scalar(self)),
    "__float__": lambda self: float(_scalar(self)),
    "__complex__": lambda self: complex(_scalar(self)),
    "__index__": _index,
    "__hex__": lambda self: hex(_index(self)),
    "__oct__": lambda self: oct(_index(self)),
    "__hash__": None,
    "__setitem__": _setitem,
    "__copy__": _copy_array,
    "__deepcopy__": lambda self, memo: _copy_array(self),
}
for _name, _attribute in _attributes.items():
    setattr(ArrayImpl, _name, _attribute)
