"""Arrays over several devices, assembled from their shards."""

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_pytree import flatten_axes, tree_flatten
from ricci_xla.devices._jaxlib import runtime
from ricci_xla.devices._jaxlib_options import explicit_transfer
from ricci_xla.devices._runtime_types import Device, HostBufferSemantics
from ricci_xla.meshes._current_mesh import sharding_on_devices
from ricci_xla.meshes._shard_shapes import tiles
from ricci_xla.meshes._sharding import single_device_sharding
from ricci_xla.meshes._sharding_types import Sharding
from ricci_xla.meshes._spec import PartitionSpec
from ricci_xla.meshes._type_forms import placed_aval

from ._array_impl import ArrayImpl
from ._layout import Format, in_format, in_layout, special_layout
from ._placement import move_array

__all__ = ["make_array_from_callback", "make_array_from_process_local_data"]
__all__ += ["make_array_from_single_device_arrays"]


def _check_sharding(user: str, sharding: object) -> None:
    if not isinstance(sharding, Sharding):
        raise TypeError(
            f"{user}: sharding must be a Sharding, got {sharding!r} of type "
            f"{type(sharding).__name__}. A device is given as SingleDeviceSharding(device)."
        )


def _as_sharding(place: Sharding | PartitionSpec | Device) -> Sharding:
    """Return the sharding on a device, or by a spec on the mesh that is set."""
    if isinstance(place, Device):
        return single_device_sharding(place)
    if isinstance(place, PartitionSpec):
        return sharding_on_devices(place, "make_array_from_process_local_data")
    return place


def _sizes(user: str, shape: Sequence[int] | int) -> tuple[int, ...]:
    try:
        sizes = shape if np.iterable(shape) else (shape,)
        return tuple(map(operator.index, sizes))
    except TypeError:
        raise TypeError(
            f"{user}: a shape is an int or a sequence of ints, got {shape!r}."
        ) from None


def _agree(element: object, dtype: ir.DTypeLike) -> bool:
    """Whether the dtype of the parts is the requested one of the whole."""
    if ir.is_extended(element) or ir.is_extended(dtype):
        return element == dtype
    return element == ir.canonicalize_dtype(dtype)


def make_array_from_single_device_arrays(
    shape: Sequence[int],
    sharding: Sharding,
    arrays: Sequence[ir.Array],
    *,
    dtype: ir.DTypeLike | None = None,
) -> ir.Array:
    """Assemble an array from parts that are on its devices already, without a copy.

    Args:
      shape: the shape of the whole.
      sharding: its sharding. Each of the devices in this process holds one of ``arrays``.
      arrays: the parts, in any order: a list or tuple.
      dtype: the dtype, needed only if this process holds no part.

    Returns:
      The whole array.

    Raises:
      ValueError: if the parts do not fit the sharding, or are traced.
      TypeError: if a part is not an array, or ``arrays`` is not a list or tuple.
      IndivisibleError: if the sharding cannot divide ``shape`` evenly.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> devices = ricci.devices()[:2]
      >>> mesh = ricci.make_mesh((len(devices),), ("x",), devices=devices)
      >>> parts = [ricci.device_put(jnp.ones((1, 3)), device) for device in devices]
      >>> whole = ricci.make_array_from_single_device_arrays(
      ...     (len(devices), 3), ricci.NamedSharding(mesh, ricci.P("x")), parts
      ... )
      >>> whole.shape == (len(devices), 3)
      True
    """
    user = "make_array_from_single_device_arrays"
    _check_sharding(user, sharding)
    if not isinstance(arrays, list | tuple):
        raise TypeError(
            f"{user}: arrays must be a list or tuple of arrays, got a {type(arrays).__name__}."
        )
    shape = _sizes(user, shape)
    element = getattr(arrays[0], "dtype", None) if arrays else dtype
    if arrays and dtype is not None and not _agree(element, dtype):
        raise ValueError(f"{user}: dtype={dtype} was given, but the parts have dtype {element}.")
    if isinstance(element, ir.ExtendedDType):
        physical = element.physical_aval(ir.ShapedArray(shape, element))
        # Keys are assembled as arrays of their words, whose last dimension is not sharded.
        words = [getattr(array, "physical", array) for array in arrays]
        return element.from_physical(
            make_array_from_single_device_arrays(
                physical.shape, sharding, words, dtype=physical.dtype
            )
        )
    parts: list[ArrayImpl] = []
    for array in arrays:
        if isinstance(array, ir.Tracer):
            raise ValueError(
                f"{user}: arrays holds a traced value, {array!r}. Call it outside of traced "
                "functions; inside, with_sharding_constraint sets the sharding of a value."
            )
        if not isinstance(array, ArrayImpl):
            raise TypeError(
                f"arrays holds a {type(array).__name__}; each part must be an array on one device."
            )
        parts.append(array)
    sharding.shard_shape(shape)
    if len(set(map(special_layout, parts))) > 1:  # an executable takes all parts in one layout
        parts = [in_layout(array, None) for array in parts]
    if dtype is None:
        if not parts:
            raise ValueError("dtype must be given if this process holds no part of the array.")
        dtype = parts[0].dtype
    aval = ir.ShapedArray(shape, ir.canonicalize_dtype(dtype))
    # One part that is the whole: the same buffer under the sharding's own type.
    alone = sharding.num_devices == 1 and len(parts) == 1 and parts[0].aval.plain == aval
    if alone and parts[0].sharding.device_set == sharding.device_set:
        return move_array(parts[0], sharding)
    return ArrayImpl(placed_aval(aval, sharding), sharding, parts, True)


def make_array_from_callback(
    shape: Sequence[int],
    sharding: Sharding | Format,
    data_callback: Callable[[tuple[slice, ...]], ir.ArrayLike],
    dtype: ir.DTypeLike | None = None,
) -> ir.Array:
    """Assemble an array from parts that a function returns.

    Args:
      shape: the shape of the whole.
      sharding: its sharding; a format has the order of the parts' elements as well.
      data_callback: called with the index of a part, a tuple of slices; returns its values.
        It is called once for a part that several devices hold.
      dtype: the dtype that the parts must have; needed only if this process holds no part.

    Returns:
      The whole array.

    Raises:
      ValueError: if a part does not have the shape of a shard, or parts differ in dtype.
      TypeError: if a part is not an array.

    Example:
      Each process reads only the rows that its devices hold, from a file that may be larger than
      its memory:

      >>> import tempfile
      >>> import numpy as np
      >>> import ricci
      >>> folder = tempfile.TemporaryDirectory()
      >>> np.save(f"{folder.name}/x.npy", np.arange(8.0, dtype=np.float32))
      >>> file = np.load(f"{folder.name}/x.npy", mmap_mode="r")
      >>> devices = ricci.devices()[:2]
      >>> mesh = ricci.make_mesh((len(devices),), ("x",), devices=devices)
      >>> sharding = ricci.NamedSharding(mesh, ricci.P("x"))
      >>> x = ricci.make_array_from_callback((8,), sharding, lambda index: file[index])
      >>> x.tolist()
      [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
    """
    user = "make_array_from_callback"
    if isinstance(sharding, Format):
        format_ = sharding
        _check_sharding(user, format_.sharding)
        assert format_.sharding is not None
        whole = make_array_from_callback(shape, format_.sharding, data_callback, dtype)
        return in_format(whole, format_)
    _check_sharding(user, sharding)
    shape = _sizes(user, shape)
    values: dict[Any, Any] = {}
    pieces: list[Any] = []
    indices = sharding.addressable_devices_indices_map(shape)
    for index in indices.values():
        # Devices that hold the same part share one call of the callback.
        key = tuple((s.start, s.stop) for s in index)
        if key not in values:
            values[key] = _part(user, data_callback(index), index)
        pieces.append(values[key])
    if not pieces:
        if dtype is None:
            raise ValueError("dtype must be given if this process holds no part of the array.")
        aval = ir.ShapedArray(shape, ir.canonicalize_dtype(dtype))
        return ArrayImpl(placed_aval(aval, sharding), sharding, [], True)
    element: Any = pieces[0].dtype
    if not isinstance(element, ir.ExtendedDType):
        element = ir.canonicalize_dtype(element)
    if dtype is not None and not _agree(element, dtype):
        raise ValueError(
            f"{user}: dtype={dtype} was given, but the callback returned dtype {element}."
        )
    piece = sharding.shard_shape(shape)
    for index, value in zip(indices.values(), pieces, strict=True):
        if value.dtype != pieces[0].dtype:
            raise ValueError(
                f"{user}: the parts differ in dtype: the callback returned {pieces[0].dtype} "
                f"first, and {value.dtype} for {index}."
            )
        if value.shape != piece:
            raise ValueError(
                f"the callback returned shape {value.shape}, but {sharding} divides arrays of "
                f"shape {shape} into parts of shape {piece}."
            )
    if isinstance(element, ir.ExtendedDType):
        physical = element.physical_aval(ir.ShapedArray(shape, element))
        # The same indices are asked for in the same order, each once.
        words = iter(values.values())
        return element.from_physical(
            make_array_from_callback(physical.shape, sharding, lambda _: next(words).physical)
        )
    # A callback may return a view of a buffer that it writes again later, and ``ZERO_COPY`` shares
    # the memory. So each part is copied, once for all devices that hold it.
    copies = {id(value): np.array(value, element) for value in pieces}
    return runtime.batched_device_put(
        placed_aval(ir.ShapedArray(shape, element), sharding),
        sharding,
        [copies[id(value)] for value in pieces],
        list(indices),
        True,
        host_buffer_semantics=HostBufferSemantics.ZERO_COPY,
        enable_x64=True,
    )


def _part(user: str, value: object, index: tuple[slice, ...]) -> Any:
    """Convert the result of a callback to an array."""
    try:
        aval: Any = ir.get_aval(value)
    except TypeError:
        raise TypeError(
            f"{user}: the callback returned {value!r:.60} of type {type(value).__name__} for "
            f"{index}, which is not an array."
        ) from None
    return (
        value if ir.is_extended(aval.dtype) or isinstance(value, ArrayImpl) else np.asarray(value)
    )


@explicit_transfer("explicit_device_put")
def make_array_from_process_local_data(
    sharding: ir.PyTree,
    local_data: ir.PyTree,
    global_shape: Sequence[int] | ir.PyTree | None = None,
) -> ir.PyTree:
    """Assemble an array from the parts that each process has in host memory.

    Args:
      sharding: the sharding of the whole; a device, or a spec on the mesh that is set.
      local_data: this process's part: the smallest box that holds the parts of all its devices, or
        the whole. It may be a pytree of arrays, with a sharding for all or for each.
      global_shape: the shape of the whole. By default it follows from the shape of ``local_data``,
        if all processes have parts of one shape.

    Returns:
      The array, or a pytree of arrays like ``local_data``.

    Raises:
      ValueError: if ``local_data`` has another shape than this process's part.

    Example:
      With one process the local data are the whole; with several each passes its own rows of the
      batch.

      >>> import numpy as np
      >>> import ricci
      >>> devices = ricci.devices()[:2]
      >>> mesh = ricci.make_mesh((len(devices),), ("batch",), devices=devices)
      >>> sharding = ricci.NamedSharding(mesh, ricci.P("batch"))
      >>> rows = np.arange(4, dtype=np.float32)
      >>> ricci.make_array_from_process_local_data(sharding, rows).tolist()
      [0.0, 1.0, 2.0, 3.0]
    """
    leaves, tree = tree_flatten(local_data)
    places = flatten_axes("make_array_from_process_local_data: sharding", tree, sharding)
    shardings = list(map(_as_sharding, places))
    shapes: list[Any] = [global_shape] * len(leaves)
    one_shape = isinstance(global_shape, tuple) and all(isinstance(n, int) for n in global_shape)
    if global_shape is not None and tree.num_nodes > 1 and not one_shape:
        shapes = tree.flatten_up_to(global_shape)
    return tree.unflatten(list(map(_from_local_data, shardings, leaves, shapes)))


def _whole_shape(sharding: Sharding, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of an array from the shape of this process's part.

    Along each dimension, a shard has the part's size divided by this process's number of distinct
    shards, and the array has as many of these as the sharding has tiles.

    Raises:
      ValueError: if a dimension of the part cannot be divided over this process's devices.
    """
    if sharding.is_fully_addressable:
        return shape
    # Part numbers instead of positions: an array with one element for each part along each
    # dimension shows which parts this process holds.
    counts = tiles(sharding, len(shape))
    mine = sharding.addressable_devices_indices_map(counts).values()
    sizes = []
    for axis, (size, count) in enumerate(zip(shape, counts, strict=True)):
        starts = {index[axis].indices(count)[0] for index in mine}
        if not starts or size % len(starts):
            raise ValueError(
                f"make_array_from_process_local_data: local_data has size {size} along dimension "
                f"{axis}, but this process's devices hold {len(starts)} parts along it by "
                f"{sharding}. Give data that can be divided evenly."
            )
        sizes.append(size // len(starts) * count)
    return tuple(sizes)


def _from_local_data(
    sharding: Sharding, local_data: Any, global_shape: Sequence[int] | None
) -> Any:
    _check_sharding("make_array_from_process_local_data", sharding)
    words: Any = getattr(local_data, "physical", None)
    if words is not None:  # an extended dtype, such as that of random keys
        word_shape = words.shape[np.ndim(local_data) :]
        moved = _from_local_data(
            sharding, words, None if global_shape is None else (*global_shape, *word_shape)
        )
        return local_data.dtype.from_physical(moved)
    local = np.asarray(local_data)
    alone = sharding.is_fully_addressable
    if global_shape is not None and None in global_shape:
        raise ValueError(
            f"make_array_from_process_local_data: global_shape={tuple(global_shape)} has None for "
            "the size of a dimension. Give all sizes, or leave global_shape out to have them "
            "worked out from local_data."
        )
    shape = _whole_shape(sharding, local.shape) if global_shape is None else tuple(global_shape)
    if alone and shape != local.shape:
        raise ValueError(
            f"local_data has shape {local.shape}, but global_shape is {shape}. All devices belong "
            "to this process, so that it holds the whole: leave global_shape out."
        )
    if shape == local.shape:
        return make_array_from_callback(shape, sharding, lambda index: local[index])
    # The process's data is the bounding box of its devices' parts.
    boxes = [
        [part.indices(size)[:2] for part, size in zip(index, shape, strict=True)]
        for index in sharding.addressable_devices_indices_map(shape).values()
    ]
    starts = [min(box[axis][0] for box in boxes) for axis in range(len(shape))]
    stops = [max(box[axis][1] for box in boxes) for axis in range(len(shape))]
    expected = tuple(stop - start for start, stop in zip(starts, stops, strict=True))
    if local.shape != expected:
        raise ValueError(
            f"local_data has shape {local.shape}, but this process's devices hold a part of shape "
            f"{expected} of the array of shape {shape}."
        )

    def part(index: tuple[slice, ...]) -> np.ndarray:
        bounds = [s.indices(size)[:2] for s, size in zip(index, shape, strict=True)]
        return local[
            tuple(slice(a - start, b - start) for (a, b), start in zip(bounds, starts, strict=True))
        ]

    return make_array_from_callback(shape, sharding, part)
