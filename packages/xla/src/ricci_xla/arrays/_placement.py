"""Creation of arrays from the host's, and moves of arrays to other shardings."""

from collections.abc import Sequence
from math import prod

import numpy as np

import ricci_ir as ir
from ricci_xla.devices import _jaxlib_options as jaxlib_options
from ricci_xla.devices._client import check_not_forked, get_default_device
from ricci_xla.devices._jaxlib import runtime
from ricci_xla.devices._runtime_types import (
    ArrayCopySemantics,
    HostBufferSemantics,
    JaxRuntimeError,
)
from ricci_xla.devices._topologies import is_described
from ricci_xla.meshes import _shard_shapes as shard_shapes
from ricci_xla.meshes._encodings import reordered
from ricci_xla.meshes._sharding import single_device_sharding
from ricci_xla.meshes._sharding_types import Sharding
from ricci_xla.meshes._type_forms import placed_aval

from . import _array
from ._array_impl import ArrayImpl

__all__ = ["array_from_host", "copy_semantics", "move_array"]

_during_call = HostBufferSemantics.IMMUTABLE_ONLY_DURING_CALL
_zero_copy = HostBufferSemantics.ZERO_COPY
_reuse = ArrayCopySemantics.REUSE_INPUT
_copy = ArrayCopySemantics.ALWAYS_COPY
_donate = ArrayCopySemantics.DONATE_INPUT

# The attribute of an array that is a row of another one, with that and its index. jaxlib's class of
# arrays lets objects have further attributes, but not be keys of a dictionary.
_ORIGIN = "_ricci_row_of"
_NO_ORIGIN: tuple[None, int] = (None, 0)


def copy_semantics(donate: bool, may_alias: bool | None) -> ArrayCopySemantics:
    """The treatment of an operand's memory by ``device_put``: reuse, copy or donate.

    Raises:
      ValueError: if it may both be donated and be shared.
    """
    if donate and may_alias:
        raise ValueError(
            "device_put: donate=True and may_alias=True exclude each other: donated memory cannot "
            "be shared with the operand. Leave one of them out."
        )
    return _donate if donate else _copy if may_alias is False else _reuse


def array_from_host(
    value: np.ndarray,
    aval: ir.ShapedArray,
    sharding: Sharding | None = None,
    *,
    committed: bool | None = None,
    may_alias: bool = False,
) -> ArrayImpl:
    """Create an array from a NumPy array.

    Args:
      value: the values, in the shape of ``aval``. They are cast if their dtype differs.
      aval: the array's type.
      sharding: the array's sharding; by default the default device.
      committed: whether computing with the array must take place on these devices; by default only
        if ``sharding`` is given.
      may_alias: whether the array may share memory with ``value``, which must then not change.

    Raises:
      IndivisibleError: if the sharding cannot divide the array evenly.
      JaxRuntimeError: if the devices are those of a topology.
    """
    check_not_forked()
    if committed is None:
        committed = sharding is not None
    alone = sharding is None
    if sharding is None:
        sharding = single_device_sharding(get_default_device())
    if value.dtype != aval.dtype:
        # The cast is a new array that nothing else refers to, so its memory may be shared.
        value = value.astype(aval.dtype)
        may_alias = True
    devices = sharding._internal_device_list.addressable_device_list
    if not devices:
        return ArrayImpl(placed_aval(aval, sharding), sharding, [], committed)
    semantics = _zero_copy if may_alias else _during_call
    if alone or sharding.num_devices == 1:
        pieces = [value]
    else:
        # jaxlib cannot copy a replicated or an empty shard during the call, so the copy is made
        # first, and the runtime then shares its memory.
        repeated = prod(shard_shapes.tiles(sharding, value.ndim)) != sharding.num_devices
        if not may_alias and (repeated or not value.size):
            semantics = _zero_copy
            value = value.copy()
        if sharding.is_fully_addressable:
            pieces = [value[index] for index in shard_shapes.device_indices(sharding, aval.shape)]
        else:
            indices = sharding.addressable_devices_indices_map(aval.shape)
            pieces = [value[indices[device]] for device in devices]
        if shard_shapes.has_terms(sharding):
            whole = shard_shapes.holds_whole_term(sharding)
            # The terms of an unreduced array must add up to the value: one device of each group has
            # it whole, and the others have zeros.
            pieces = [x if all_ else x * 0 for x, all_ in zip(pieces, whole, strict=True)]
    try:
        return runtime.batched_device_put(
            placed_aval(aval, sharding),
            sharding,
            pieces,
            list(devices),
            committed,
            host_buffer_semantics=semantics,
            enable_x64=True,
        )
    except (RuntimeError, ValueError):
        if not is_described(devices[0]):
            raise
        raise JaxRuntimeError(
            f"{devices[0]} is a device of a topology, which is described and not attached, so it "
            "holds no arrays. Describe the array: "
            f"ShapeDtypeStruct({aval.shape}, {aval.dtype.name}, sharding=...)."
        ) from None


def rows_in_place(array: ArrayImpl, committed: bool) -> list[ArrayImpl]:
    """Return the rows of an array on a CPU, in its memory, which lives as long as one of them.

    Args:
      array: the array, on one device. It must not be donated later.
      committed: whether computing with a row must take place on its device.
    """
    values = np.asarray(array)
    sharding = array._sharding
    aval = placed_aval(ir.ShapedArray(values.shape[1:], values.dtype), sharding)
    devices = list(sharding._internal_device_list.addressable_device_list)
    # Arguments by position take less time, which counts for hundreds of rows.
    put, semantics = runtime.batched_device_put, _zero_copy
    rows = [put(aval, sharding, [x], devices, committed, False, semantics, True) for x in values]
    for i, row in enumerate(rows):
        setattr(row, _ORIGIN, (array, i))
    return rows


def array_of_rows(rows: Sequence[object]) -> ArrayImpl | None:
    """Return the array that ``rows_in_place`` took all of these rows from, in order, or ``None``.

    Args:
      rows: the rows; ``None`` is returned where one has been deleted.
    """
    array, _ = getattr(rows[0], _ORIGIN, _NO_ORIGIN)
    if array is None or len(rows) != array.shape[0]:
        return None
    for i, row in enumerate(rows):
        origin, index = getattr(row, _ORIGIN, _NO_ORIGIN)
        if origin is not array or index != i or row.is_deleted():  # pyright: ignore
            return None
    return array


def move_array(
    array: ArrayImpl, sharding: Sharding, *, donate: bool = False, copy: bool = False
) -> ArrayImpl:
    """Reshard an array.

    Args:
      array: the array. It may be returned itself if it has the sharding already.
      sharding: the sharding of the result.
      donate: whether the array's memory may be reused, so that it must not be used again. It is
        deleted if its shards go unchanged to other devices or memories.
      copy: whether the result must not share memory with the array.

    Raises:
      RuntimeError: if the array has been deleted.
    """
    _array.check_not_deleted(array)
    old = array._sharding
    ndim = array.ndim
    # Each process copies its shards. No process can read the whole array.
    if copy and old == sharding and not old.is_fully_addressable:
        copies = [_copied(part, part._sharding) for part in _array.parts(array)]
        return ArrayImpl(placed_aval(array.aval, sharding), sharding, copies, True)
    if old == sharding and not copy and array._committed:
        return array
    if old.memory_kind == sharding.memory_kind and old.is_equivalent_to(sharding, ndim):
        # The devices hold the same shards already, so only the sharding's form changes.
        return _rebind(_copied(array, old) if copy else array, sharding)
    sharding.check_compatible_aval(array.shape)
    sharding.shard_shape(array.shape)
    if shard_shapes.has_terms(old):
        raise shard_shapes.unknown_sum("device_put", old)
    if not shard_shapes.has_terms(sharding) and _in_other_order(old, sharding):
        return _reordered(array, sharding, donate, copy)
    # Shards are copied one by one where both shardings have as many devices and the same pieces;
    # all else goes through the host, or over several processes through an executable.
    shardwise = not shard_shapes.has_terms(sharding) and sharding.num_devices == old.num_devices
    addressable = old.is_fully_addressable and sharding.is_fully_addressable
    if not addressable and old._device_assignment != sharding._device_assignment:
        shardwise = False  # shards cannot be sent to devices of other processes
    if shardwise and _same_pieces(old, sharding, array.shape):
        return _moved_shards(array, sharding, donate)
    if not old.is_fully_addressable:
        moved = _across(array, sharding)
        if moved is not None:
            if donate:
                array.delete()
            return moved
    if old.num_devices > 1:
        return array_from_host(array._value, array.aval, sharding, may_alias=not copy)
    # To the user this is a transfer between devices: it is guarded as one, and not as two with the
    # host.
    jaxlib_options.check_device_to_device(array.aval, sharding)
    with jaxlib_options.unguarded():
        return array_from_host(array._value, array.aval, sharding, may_alias=not copy)


def _across(array: ArrayImpl, sharding: Sharding) -> ArrayImpl | None:
    """Reshard an array over several processes, or return ``None`` if this process can read it.

    Raises:
      ValueError: if it must move to one other device, or to others of several processes.
      NotImplementedError: if it must move to several other devices of this process.
    """
    old = array._sharding
    if old._device_assignment == sharding._device_assignment:
        return _array.reshard_on_devices.call(array, sharding)
    if _array.can_be_read(array):
        return None
    alone = sharding.num_devices == 1 or not sharding.is_fully_addressable
    kind = ValueError if alone else NotImplementedError
    raise kind(
        f"device_put cannot move an array that lies on devices of other processes from {old} to "
        f"{sharding}, which has other devices. Read this process's parts with x.addressable_shards,"
        " or gather the array with multihost_utils.process_allgather."
    )


def _in_other_order(old: Sharding, new: Sharding) -> bool:
    """Whether both shardings have the same devices, several, in different orders."""
    return (
        old.num_devices > 1
        and old._device_assignment != new._device_assignment
        and old.device_set == new.device_set
        and old.memory_kind == new.memory_kind
    )


def _reordered(array: ArrayImpl, sharding: Sharding, donate: bool, copy: bool) -> ArrayImpl:
    """Reshard an array over the same devices in another order.

    An executable has one order of devices. So the shards are first described in the new order,
    without a transfer, which XLA's form of shardings can do. Transfers are not guarded, as they
    are not within an executable.
    """
    devices = sharding._internal_device_list
    described = reordered(array._sharding, devices, array.ndim)
    by_device = {part._sharding._device_assignment[0]: part for part in _array.parts(array)}
    pieces = [by_device[device] for device in devices.addressable_device_list]
    if described.is_equivalent_to(sharding, array.ndim):
        if copy:
            with jaxlib_options.unguarded():
                pieces = [_copied(part, part._sharding) for part in pieces]
        return ArrayImpl(placed_aval(array.aval, sharding), sharding, pieces, True)
    addressable = array._sharding.is_fully_addressable
    if addressable and _same_pieces(array._sharding, sharding, array.shape):
        with jaxlib_options.unguarded():
            return _moved_shards(array, sharding, donate)
    same = ArrayImpl(placed_aval(array.aval, described), described, pieces, True)
    moved = _array.reshard_on_devices.call(same, sharding)
    if donate:
        array.delete()
    return moved


def _moved_shards(array: ArrayImpl, sharding: Sharding, donate: bool) -> ArrayImpl:
    """Copy each shard to the device at its position in another sharding."""
    old = array._sharding
    # The runtime's donation (DONATE_INPUT) leaves an array between devices of a CPU without its
    # buffers, and reading that is a segmentation fault. Deleting it later frees as much.
    deleted = donate and (old.num_devices > 1 or old.memory_kind != sharding.memory_kind)
    positions = zip(old._device_assignment, sharding._device_assignment, strict=True)
    stays = any(source is target for source, target in positions)
    moved = _rebind(_copy_to(array, sharding, _copy if deleted and stays else _reuse), sharding)
    if deleted:
        array.delete()
    return moved


def _same_pieces(old: Sharding, new: Sharding, shape: tuple[int, ...]) -> bool:
    return shard_shapes.device_indices(old, shape) == shard_shapes.device_indices(new, shape)


def _copy_to(array: ArrayImpl, sharding: Sharding, semantics: ArrayCopySemantics) -> ArrayImpl:
    return runtime.batched_copy_array_to_devices_with_sharding(
        [array], [sharding._internal_device_list], [sharding], [semantics]
    )[0]


def _copied(array: ArrayImpl, sharding: Sharding) -> ArrayImpl:
    return _copy_to(array, sharding, _copy)


def _rebind(array: ArrayImpl, sharding: Sharding) -> ArrayImpl:
    """An array with the same memory, committed to an equivalent sharding."""
    aval = placed_aval(array.aval, sharding)
    if array._committed:
        return array._rewrap_with_aval_and_sharding(aval, sharding)
    devices = list(sharding._internal_device_list.addressable_device_list)
    with jaxlib_options.unguarded():
        return runtime.batched_device_put(aval, sharding, _array.parts(array), devices, True)
