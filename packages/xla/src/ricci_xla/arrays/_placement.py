"""Creation of arrays, and transfers between the host and devices or between devices."""

from math import prod
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_pytree import PyTreeDef, flatten_axes, tree_flatten, tree_flatten_with_path, tree_leaves
from ricci_xla.devices import _jaxlib_options as jaxlib_options
from ricci_xla.devices._client import check_computed, check_not_forked, get_default_device
from ricci_xla.devices._jaxlib import runtime
from ricci_xla.devices._runtime_types import (
    ArrayCopySemantics,
    Device,
    HostBufferSemantics,
    JaxRuntimeError,
)
from ricci_xla.devices._topologies import is_described
from ricci_xla.meshes import _shard_shapes as shard_shapes
from ricci_xla.meshes._abstract_mesh import AbstractMesh
from ricci_xla.meshes._current_mesh import sharding_on_devices, with_set_devices
from ricci_xla.meshes._encodings import reordered
from ricci_xla.meshes._sharding import single_device_sharding
from ricci_xla.meshes._sharding_types import NamedSharding, Sharding
from ricci_xla.meshes._spec import PartitionSpec
from ricci_xla.meshes._type_forms import placed_aval

from . import _array
from ._array_impl import ArrayImpl
from ._layout import Format, MemorySpace, in_format, in_memory, sharding_of_format

__all__ = ["array_from_host", "as_sharding", "block_until_ready", "copy_semantics"]
__all__ += ["copy_to_host_async", "device_get", "device_put", "move_array", "put_leaf"]

_during_call = HostBufferSemantics.IMMUTABLE_ONLY_DURING_CALL
_zero_copy = HostBufferSemantics.ZERO_COPY
_reuse = ArrayCopySemantics.REUSE_INPUT
_copy = ArrayCopySemantics.ALWAYS_COPY
_donate = ArrayCopySemantics.DONATE_INPUT


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


def as_sharding(where: Device | Sharding | PartitionSpec | Format) -> Sharding:
    """Convert a device, a sharding, a spec or a format to a sharding.

    Raises:
      ValueError: if ``where`` is none of these, or needs a mesh and none is set.
    """
    if isinstance(where, NamedSharding) and isinstance(where.mesh, AbstractMesh):
        return with_set_devices(where, "device_put")
    if isinstance(where, Sharding):
        return where
    if isinstance(where, Device):
        return single_device_sharding(where)
    if isinstance(where, PartitionSpec):
        return sharding_on_devices(where, "device_put", ValueError)
    if isinstance(where, Format):
        return sharding_of_format(where)
    raise ValueError(
        "device_put: device must be a Device, a Sharding, a PartitionSpec, a Format, a "
        "memory.Space, None, or a pytree of these, "
        f"got {where!r} of type {type(where).__name__}."
    )


def put_leaf(
    x: Any,
    where: Device | Sharding | PartitionSpec | Format | MemorySpace | None = None,
    *,
    donate: bool = False,
    may_alias: bool | None = None,
) -> Any:
    """Put one leaf on a device: ``device_put`` for a value that is not a pytree."""
    copy_semantics(donate, may_alias)
    if isinstance(where, Format) and (where.layout is not None or where.sharding is None):
        moved = put_leaf(x, where.sharding, donate=donate, may_alias=may_alias)
        return in_format(moved, where)
    if isinstance(where, MemorySpace):
        sharding = in_memory(getattr(x, "sharding", None), where)
    else:
        sharding = None if where is None else as_sharding(where)
    if isinstance(x, ArrayImpl):
        if sharding is None:
            _array.check_not_deleted(x)
            return _array.copy_array(x) if may_alias is False else x
        if not sharding.is_fully_addressable and x._sharding.is_fully_addressable:
            _check_equal(x, sharding)
        return move_array(x, sharding, donate=donate, copy=may_alias is False)
    if isinstance(x, ir.Tracer):
        raise TypeError(f"the runtime cannot put a traced value on a device: {x!r}.")
    aval = _aval_of(x)
    if sharding is not None:
        shard_shapes.device_indices(sharding, aval.shape)  # raises an error if it does not fit
    if ir.is_extended(aval.dtype):
        words = put_leaf(x.physical, sharding, donate=donate, may_alias=may_alias)
        return aval.dtype.from_physical(words)
    value = np.asarray(x)
    if sharding is not None and not sharding.is_fully_addressable:
        _check_equal(value, sharding)
    return array_from_host(value, aval, sharding, may_alias=bool(may_alias))


def _check_equal(value: object, sharding: Sharding) -> None:
    """Raise an error unless all processes put the same values on devices that they share."""
    addressable = sharding._internal_device_list.addressable_device_list
    if addressable and sharding.num_devices > len(addressable):
        _array.check_equal_across_processes.call(value, sharding)


def _aval_of(x: ir.ArrayLike) -> ir.ShapedArray:
    try:
        return ir.get_aval(x)
    except TypeError:
        raise TypeError(
            f"{x!r}, of type {type(x)}, is not an array. Pass arrays, NumPy arrays or Python "
            "scalars."
        ) from None


def _broadcast(name: str, prefix: ir.PyTree, treedef: PyTreeDef, count: int) -> list[Any]:
    """Broadcast a prefix pytree to the leaves of a pytree; ``None`` is a leaf."""
    if prefix is None or isinstance(prefix, Sharding | Device | bool):
        return [prefix] * count
    return flatten_axes(f"device_put: {name}", treedef, prefix)


def device_put(
    x: ir.PyTree,
    device: ir.PyTree = None,
    *,
    src: ir.PyTree = None,
    donate: ir.PyTree = False,
    may_alias: ir.PyTree = None,
) -> ir.PyTree:
    """Put arrays, NumPy arrays and Python scalars in a pytree on devices.

    Args:
      x: the pytree.
      device: a device, a sharding, a ``PartitionSpec`` for the mesh that is set or a memory, or a
        pytree of these that is a prefix of ``x``; without it, arrays are returned unchanged and
        other values go to the default device.
      src: has no effect.
      donate: whether the memory of ``x`` may be reused: a bool, or a pytree of them that is a
        prefix of ``x``.
      may_alias: whether the result may share memory with ``x``, likewise.

    Returns:
      The pytree with arrays as leaves.

    Raises:
      TypeError: if a leaf cannot be made an array.
      ValueError: if ``device`` has leaves other than devices and shardings, or a leaf has both
        ``donate`` and ``may_alias``.
      IndivisibleError: if a sharding cannot divide an array evenly.

    Example:
      >>> import numpy as np
      >>> from ricci_xla import device_put
      >>> device_put({"a": np.arange(3)})["a"]
      Array([0, 1, 2], dtype=int32)
    """
    mark = jaxlib_options.begin_explicit("explicit_device_put") if jaxlib_options.watch.on else None
    try:
        leaves, treedef = tree_flatten(x)
        count = len(leaves)
        places = _broadcast("device", device, treedef, count)
        donated = _broadcast("donate", donate, treedef, count)
        aliased = _broadcast("may_alias", may_alias, treedef, count)
        moved = []
        try:
            for leaf, place, donate_leaf, alias in zip(
                leaves, places, donated, aliased, strict=True
            ):
                moved.append(put_leaf(leaf, place, donate=bool(donate_leaf), may_alias=alias))
        # The leaves that were moved are those before the one that fails.
        except (TypeError, ValueError) as error:
            path, leaf = tree_flatten_with_path(x)[0][len(moved)]
            raise _named(error, path, leaf) from None
        return treedef.unflatten(moved)
    finally:
        if mark is not None:
            jaxlib_options.end_explicit(mark)


def _named(error: Exception, path: tuple[object, ...], leaf: object) -> Exception:
    """Add the path of a leaf to the message of an error about it."""
    text = str(error).removeprefix("device_put: ")
    shape = getattr(leaf, "shape", None)
    which = f" of x{''.join(map(str, path))}" if path else ""
    if path and shape is not None:
        which += f", of shape {shape}"
    return type(error)(f"device_put{which}: {text}")


@ir.boundary
def device_get(x: ir.PyTree) -> ir.PyTree:
    """Copy the arrays of a pytree to the host, as NumPy arrays.

    Leaves without ``__array__`` are returned unchanged, and so are random keys, which NumPy cannot
    hold, and traced arrays, whose values are not known. All transfers are started before the first
    is waited for.

    Args:
      x: the pytree.

    Returns:
      The pytree with NumPy arrays for leaves.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> ricci.device_get({"loss": jnp.float32(2.5), "name": "run", "steps": jnp.arange(3)})
      {'loss': array(2.5, dtype=float32), 'name': 'run', 'steps': array([0, 1, 2], dtype=int32)}

    Notes:
      The NumPy arrays may share memory with the arrays, and are read-only: ``np.array(x)`` copies.
    """
    mark = jaxlib_options.begin_explicit("explicit_device_get") if jaxlib_options.watch.on else None
    try:
        leaves, treedef = tree_flatten(x)
        if mark is None:  # under a guard, arrays in host memory must not be transferred
            for leaf in leaves:
                if isinstance(leaf, ArrayImpl):
                    leaf.copy_to_host_async()
        return treedef.unflatten([np.asarray(x) if _has_numbers(x) else x for x in leaves])
    except Exception as error:
        ir.leave(error)
        raise
    finally:
        if mark is not None:
            jaxlib_options.end_explicit(mark)


def _has_numbers(leaf: object) -> bool:
    if isinstance(leaf, ir.Tracer) or not hasattr(leaf, "__array__"):
        return False
    return not ir.is_extended(getattr(leaf, "dtype", None))


@ir.boundary
def block_until_ready[T](x: T) -> T:
    """Wait until all arrays in a pytree are computed, and return the pytree.

    Args:
      x: the pytree. Leaves that are not arrays are ignored.

    Returns:
      The pytree itself.

    Raises:
      JaxRuntimeError: if computing one of them failed.

    Example:
      Calls return before the work is done. A measurement of time waits for the result:

      >>> import time
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> product = ricci.jit(lambda x: x @ x)
      >>> x = jnp.ones((64, 64))
      >>> _ = ricci.block_until_ready(product(x))  # compiled here
      >>> start = time.perf_counter()
      >>> _ = ricci.block_until_ready(product(x))
      >>> seconds = time.perf_counter() - start
    """
    try:
        leaves, _ = tree_flatten(x)
        arrays = [leaf for leaf in leaves if isinstance(leaf, ArrayImpl)]
        check_computed(arrays)
        if len(arrays) == 1:
            arrays[0].block_until_ready()
        elif arrays:
            runtime.batched_block_until_ready(arrays)
        for leaf in leaves:
            if not isinstance(leaf, ArrayImpl) and hasattr(leaf, "block_until_ready"):
                leaf.block_until_ready()
        return x
    except Exception as error:
        ir.leave(error)
        raise


def copy_to_host_async[T](x: T) -> T:
    """Start copying to the host all leaves of a pytree that can, and return the pytree.

    Those are arrays, random keys, and other objects with a method ``copy_to_host_async``.

    Args:
      x: the pytree.

    Returns:
      The pytree itself.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> losses = ricci.copy_to_host_async([jnp.float32(0.5), jnp.float32(0.25)])
      >>> [float(loss) for loss in losses]
      [0.5, 0.25]
    """
    for leaf in tree_leaves(x):
        copy = getattr(leaf, "copy_to_host_async", None)
        if copy is not None:
            copy()
    return x
