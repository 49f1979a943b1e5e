"""The shards of an array, and its methods that do not compute, added to jaxlib's class.

``ricci_numpy`` adds those that compute: operators, indexing, reductions.
"""

from collections.abc import Callable, Iterator, Sequence
from types import FunctionType
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_ir import Hook
from ricci_xla.devices._client import check_computed
from ricci_xla.devices._jaxlib import runtime
from ricci_xla.devices._registration import shown_to_jaxlib
from ricci_xla.devices._runtime_types import ArrayCopySemantics, Device, JaxRuntimeError
from ricci_xla.meshes._shard_shapes import device_indices, has_terms, unknown_sum
from ricci_xla.meshes._sharding_types import Sharding

from ._array_impl import ArrayImpl
from ._donation import deleted_array

__all__ = [
    "Shard",
    "can_be_read",
    "check_equal_across_processes",
    "check_not_deleted",
    "copy_array",
    "parts",
    "reshard_on_devices",
]


def parts(array: ArrayImpl) -> list[ArrayImpl]:
    """The shards of an array on the devices of this process, in the order of the sharding."""
    sharding = array._sharding
    # An array on one device is its own shard: nothing to take apart.
    if sharding.num_devices == 1:
        return [array] if sharding.is_fully_addressable else []
    with shown_to_jaxlib():
        return array._arrays


def whole_part(array: ArrayImpl) -> ArrayImpl:
    """One copy of a fully replicated array, as a single-device array."""
    if array._sharding.num_devices == 1:
        return array
    with shown_to_jaxlib():
        return array._fully_replicated_shard()


def with_types[R](call: Callable[[], R]) -> R:
    """Call a function of jaxlib that creates single-device arrays and their types itself.

    It looks up our types each time, and would import JAX if it is installed.
    """
    with shown_to_jaxlib():
        return call()


def can_be_read(array: ArrayImpl) -> bool:
    """Whether the devices of this process hold all values of an array."""
    sharding = array._sharding
    if sharding.is_fully_addressable:
        return True
    addressable = sharding._internal_device_list.addressable_device_list
    return bool(sharding.is_fully_replicated and addressable)


# ``(array, sharding)``: reshards an array on the same devices in the same order, without the host.
reshard_on_devices: Hook[Callable[[Any, Sharding], Any]] = Hook(
    "resharding on devices", provided_by="ricci_xla"
)
# ``(value, sharding)``: raises an error if the processes that a sharding's devices belong to have
# different values. Each of them must call it.
check_equal_across_processes: Hook[Callable[[Any, Sharding], object]] = Hook(
    "checks of values across processes",
    provided_by="ricci_parallel",
    default=lambda value, sharding: None,
)


class Shard:
    """The part of an array that one device holds.

    Args:
      device, sharding, global_shape, data: passed by ``addressable_shards``.

    Attributes:
      device: the device.
      index: the index of the part in the array, a tuple of slices.
      replica_id: the number of this copy of the part, from 0.
      data: the part, as an array on that device; ``None`` if the device is another process's.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> devices = ricci.devices()[:2]
      >>> mesh = ricci.make_mesh((len(devices),), ("x",), devices=devices)
      >>> x = ricci.device_put(jnp.arange(4), ricci.NamedSharding(mesh, ricci.P("x")))
      >>> shard = x.addressable_shards[-1]
      >>> shard.device == devices[-1], int(shard.data[-1])
      (True, 3)
    """

    __slots__ = ("_global_shape", "_sharding", "data", "device")

    def __init__(
        self,
        device: Device,
        sharding: Sharding,
        global_shape: Sequence[int],
        data: ir.Array | None = None,
    ):
        self.device: Device = device
        self.data: ir.Array | None = data
        self._sharding = sharding
        self._global_shape = tuple(global_shape)

    def _position(self) -> int:
        return list(self._sharding._internal_device_list).index(self.device)

    @property
    def index(self) -> tuple[slice, ...]:
        """The index of the part in the array."""
        return device_indices(self._sharding, self._global_shape)[self._position()]

    @property
    def replica_id(self) -> int:
        """The number of this copy of the part, from 0."""
        indices = device_indices(self._sharding, self._global_shape)
        position = self._position()
        return indices[:position].count(indices[position])

    def __repr__(self) -> str:
        return (
            f"Shard(device={self.device!r}, index={self.index}, replica_id={self.replica_id}, "
            f"data={self.data})"
        )


def check_not_deleted(array: ArrayImpl) -> None:
    """Raise an error if an array was deleted.

    Raises:
      RuntimeError: if the array was deleted, or donated to a computation.
    """
    if array.is_deleted():
        raise deleted_array(f"This array was deleted: {array.aval.str_short()}", array.aval)


def _value(self: ArrayImpl) -> np.ndarray:
    """The values on the host, read-only."""
    cached = self._npy_value
    if cached is not None:
        return cached
    check_not_deleted(self)
    if not can_be_read(self):
        raise RuntimeError(
            f"The array {self.aval.str_short()} is not fully addressable: by {self._sharding} it "
            "lies on devices of other processes, which this process cannot read.\nRead "
            "this process's parts with x.addressable_shards, or gather the array first with "
            "multihost_utils.process_allgather."
        )
    if has_terms(self._sharding):
        raise unknown_sum("The values of an array were asked for", self._sharding)
    check_computed((self,))
    try:
        value, copied = self._to_np_array_did_copy()
    except JaxRuntimeError:
        if self._sharding.num_devices == 1:
            raise
        value, copied = _joined(self), True
    # The cached array is handed out to all callers, and a view shares the device's memory.
    value.flags.writeable = False
    if copied:
        # A view is not cached, since it would keep the device's memory from being donated.
        self._npy_value = value
    return value


def _joined(self: ArrayImpl) -> np.ndarray:
    """The whole array, read shard by shard.

    Under a transfer guard jaxlib refuses to join shards, even if they are in the host's memory
    already. When they are read one by one, it refuses only those that need a transfer.
    """
    value = np.empty(self.aval.shape, self.aval.dtype)
    for shard in self.addressable_shards:
        value[shard.index] = np.asarray(shard.data)
    return value


def _array(self: ArrayImpl, dtype: np.dtype | None = None, copy: bool | None = None) -> np.ndarray:
    value = self._value
    if dtype is not None and value.dtype != dtype:
        if copy is False:
            raise ValueError(
                f"an array of dtype {value.dtype} cannot be converted to {dtype} without a copy; "
                "leave copy=False out."
            )
        return value.astype(dtype)
    return value.copy() if copy else value


def _has_values(self: ArrayImpl) -> bool:
    """Whether this process can read the array's values, which are not terms of sums."""
    return can_be_read(self) and not has_terms(self._sharding)


@ir.api_boundary
def _repr(self: ArrayImpl) -> str:
    aval = self.aval
    suffix = f"dtype={aval.dtype.name}"
    if aval.weak_type:
        suffix += ", weak_type=True"
    if has_terms(self._sharding):
        return f"Array(shape={aval.shape}, {suffix}, sharding={self._sharding!r})"
    if not can_be_read(self):
        return f"Array(shape={aval.shape}, {suffix})"
    if 0 in aval.shape:
        return f"Array([], shape={aval.shape}, {suffix})"
    text = np.array2string(self._value, prefix="Array(", suffix=",", separator=", ")
    # As in NumPy, the dtype goes onto a line of its own if it would make the last line too long.
    width = len(text.rpartition("\n")[2]) + len(f", {suffix})")
    if width >= np.get_printoptions()["linewidth"]:
        return f"Array({text},{' ' * len('Array(')}{suffix})"
    return f"Array({text}, {suffix})"


@ir.api_boundary
def _str(self: ArrayImpl) -> str:
    return str(self._value) if _has_values(self) else _repr(self)


@ir.api_boundary
def _format(self: ArrayImpl, format_spec: str) -> str:
    if not _has_values(self):
        return _repr(self)
    if self.aval.shape == ():
        return format(self._value[()], format_spec)
    return format(self._value, format_spec)


def _len(self: ArrayImpl) -> int:
    try:
        shape = self.aval.shape
        if not shape:
            raise TypeError("a scalar (an array of rank 0) has no length.")
        return shape[0]
    except Exception as error:
        ir.leave(error)
        raise


def _iter(self: ArrayImpl) -> Iterator[ir.Array]:
    shape = self.aval.shape
    if not shape:
        raise TypeError("a scalar (an array of rank 0) has no first axis to iterate over.")
    return (self[i] for i in range(shape[0]))


def _reversed(self: ArrayImpl) -> Iterator[ir.Array]:
    shape = self.aval.shape
    if not shape:
        raise TypeError("a scalar (an array of rank 0) has no first axis to reverse.")
    return (self[i] for i in reversed(range(shape[0])))


def _conversion[N](convert: Callable[[np.ndarray], N]) -> Callable[[ArrayImpl], N]:
    """Return the method that converts an array to a Python number."""

    def number(self: ArrayImpl) -> N:
        try:
            ir.check_number(self.aval)
            return convert(self._value)
        except Exception as error:
            ir.leave(error)
            raise

    return ir.boundary(number)


def _bool(self: ArrayImpl) -> bool:
    try:
        if not self.aval.shape:
            return bool(self._value)
        ir.check_truth(self.aval)
        return bool(self._value.reshape(()))
    except Exception as error:
        ir.leave(error)
        raise


def _index(self: ArrayImpl) -> int:
    try:
        ir.check_index(self.aval)
        return int(self._value)
    except Exception as error:
        ir.leave(error)
        raise


def _item(self: ArrayImpl, *args: Any) -> bool | int | float | complex:
    try:
        ir.check_item(self.aval, args)
        return self._value.item(*args)
    except Exception as error:
        ir.leave(error)
        raise


@ir.api_boundary
def _setitem(self: ArrayImpl, index: ir.Index, value: object) -> None:
    raise TypeError(
        f"an array of type {self.aval.str_short()} cannot be assigned to: arrays are immutable. "
        "Use x = x.at[index].set(value), which returns an updated copy."
    )


def _devices(self: ArrayImpl) -> set[Device]:
    check_not_deleted(self)
    return self._sharding.device_set


def _device(self: ArrayImpl) -> Device | Sharding:
    check_not_deleted(self)
    sharding = self._sharding
    return next(iter(sharding.device_set)) if sharding.num_devices == 1 else sharding


def _addressable_shards(self: ArrayImpl) -> list[Shard]:
    check_not_deleted(self)
    shape, sharding = self.aval.shape, self._sharding
    if sharding.num_devices == 1 and sharding.is_fully_addressable:
        return [Shard(sharding._device_assignment[0], sharding, shape, self)]
    devices = sharding._internal_device_list.addressable_device_list
    return [
        Shard(device, sharding, shape, part)
        for device, part in zip(devices, parts(self), strict=True)
    ]


def _global_shards(self: ArrayImpl) -> list[Shard]:
    if self.is_fully_addressable:
        return _addressable_shards(self)
    # Shards of other processes have a device and an index, but no data here.
    mine = {shard.device: shard for shard in _addressable_shards(self)}
    shape, sharding = self.aval.shape, self._sharding
    return [
        mine.get(device) or Shard(device, sharding, shape)
        for device in sharding._internal_device_list
    ]


def _addressable_data(self: ArrayImpl, index: int) -> ir.Array:
    check_not_deleted(self)
    if self.is_fully_replicated:
        return whole_part(self)
    return parts(self)[index]


def _copy_to_host_async(self: ArrayImpl) -> None:
    check_not_deleted(self)
    # The values are on the host already.
    if self._npy_value is None:
        runtime.batched_copy_to_host_async([self])


def copy_array(self: ArrayImpl) -> ir.Array:
    """Copy an array to new memory on the same devices; the copy is committed if the array is."""
    check_not_deleted(self)
    sharding = self._sharding
    if not sharding.is_fully_addressable:  # jaxlib cannot copy to devices of other processes
        copies = [copy_array(part) for part in parts(self)]
        return ArrayImpl(self.aval, sharding, copies, self._committed)
    return runtime.batched_copy_array_to_devices_with_sharding(
        [self], [sharding._internal_device_list], [sharding], [ArrayCopySemantics.ALWAYS_COPY]
    )[0]


# These attributes of jaxlib look up types.
_jaxlib_pointer = ArrayImpl.unsafe_buffer_pointer
_jaxlib_raw_buffer = vars(ArrayImpl)["unsafe_raw_buffer"]
_jaxlib_cuda_interface = vars(ArrayImpl)["__cuda_array_interface__"].fget


def _unsafe_buffer_pointer(self: ArrayImpl) -> int:
    return with_types(lambda: _jaxlib_pointer(self))


def _check_and_rearrange(
    arrays: list[ArrayImpl], sharding: Sharding, aval: ir.ShapedArray
) -> list[ArrayImpl]:
    """Check the shards of a new array, and sort them in the order of the sharding's devices.

    jaxlib calls this method whenever it creates an array from shards.
    """
    devices = list(sharding._internal_device_list.addressable_device_list)
    if len(arrays) != len(devices):
        raise ValueError(
            f"the sharding has {len(devices)} devices of this process, but there are "
            f"{len(arrays)} arrays. Give one array for each device."
        )
    # jaxlib expects the parts in the order of the sharding's devices; users may give any order.
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
                f"a part has shape {array.shape}, but {sharding} divides {aval.str_short()} "
                f"into parts of shape {piece}."
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
    "unsafe_buffer_pointer": _unsafe_buffer_pointer,
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
    "__int__": _conversion(int),
    "__float__": _conversion(float),
    "__complex__": _conversion(complex),
    "__index__": _index,
    "__hex__": lambda self: hex(_index(self)),
    "__oct__": lambda self: oct(_index(self)),
    "__hash__": None,
    "__setitem__": _setitem,
    "__copy__": copy_array,
    "__deepcopy__": lambda self, memo: copy_array(self),
}
_docs = {
    "shape": "The sizes of the dimensions, a tuple of ints.",
    "dtype": "The dtype of the elements.",
    "weak_type": "Whether the dtype is weak in promotion, like those of Python scalars.",
    "ndim": "The number of dimensions.",
    "size": "The number of elements.",
    "itemsize": "The size of an element, in bytes.",
    "nbytes": "The size of all elements, in bytes; copies on several devices count once.",
    "sharding": "The sharding of the array over devices.",
    "committed": "Whether computing with the array must take place on its devices.",
    "device": "The device that holds the array; its sharding if there are several.",
    "is_fully_replicated": "Whether every device holds the whole array.",
    "is_fully_addressable": "Whether all its devices belong to this process.",
    "addressable_shards": "The part that each device of this process holds: a list of ``Shard``.",
    "global_shards": "The part of each device; without data for those of other processes.",
    "devices": "The devices that hold a part, a set.",
    "addressable_data": "The part of a device of this process, by its number among them.",
    "copy_to_host_async": "Start copying the array to the host, for a later ``np.asarray``.",
    "unsafe_buffer_pointer": "The address of the memory that holds the array on its only device.",
    "tolist": "The elements as Python scalars in nested lists; a scalar for no dimensions.",
    "tobytes": 'The elements as bytes, row by row (``order="C"``) or column by column (``"F"``).',
    "item": "The only element, or the one at a position, as a Python scalar.",
}
for _name, _attribute in _attributes.items():
    if _name in _docs:
        _attribute.__doc__ = _docs[_name]
    if type(_attribute) is FunctionType:
        _attributes[_name] = _attribute = ir.as_method(_attribute, _name, ir.Array)
    setattr(ArrayImpl, _name, _attribute)
# Attributes of runtime arrays only, which ``Array`` and other kinds of arrays do not have.
_of_runtime: dict[str, Any] = {
    "unsafe_raw_buffer": lambda self: with_types(lambda: _jaxlib_raw_buffer(self)),
    "__cuda_array_interface__": property(
        lambda self: with_types(lambda: _jaxlib_cuda_interface(self))
    ),
}
for _name, _attribute in _of_runtime.items():
    setattr(ArrayImpl, _name, _attribute)
# Attributes that jaxlib defines.
_of_jaxlib = ("block_until_ready", "delete", "is_deleted", "is_ready", "on_device_size_in_bytes")
_of_jaxlib = (*_of_jaxlib, "platform", "traceback")
ir.describe_arrays({name: getattr(ArrayImpl, name) for name in _of_jaxlib} | _attributes)
