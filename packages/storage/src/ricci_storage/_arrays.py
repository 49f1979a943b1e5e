"""Write and read single arrays: each device's shard goes to its part of the stored array."""

import asyncio
import math
from collections.abc import Coroutine, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from ricci_ir import Array, DTypeLike, ShapeDtypeStruct
from ricci_xla import Format, Sharding, make_array_from_callback, process_count, process_index

from ._specs import Spec, array_metadata, dtype_name, open_array, shared_context, tensorstore
from ._specs import chunk_layout as default_chunks

__all__ = ["async_deserialize", "async_serialize", "estimate_read_memory_footprint"]
__all__ += ["run_deserialization", "run_serialization"]

type Destination = Sharding | Format | ShapeDtypeStruct


def run[R](coroutine: Coroutine[Any, Any, R]) -> R:
    """Run a coroutine, also inside a running event loop, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()


async def all_of(coroutines: Iterable[Coroutine[Any, Any, Any]]) -> list[Any]:
    """Gather the results of coroutines; raise the first error when all have ended."""
    # Without ``return_exceptions``, the first error would be raised while other coroutines still
    # run.
    results = await asyncio.gather(*coroutines, return_exceptions=True)
    for value in results:
        if isinstance(value, BaseException):
            raise value
    return results


class BytesInFlight:
    """Limit on the number of bytes that are read at a time; further reads wait.

    Args:
      limit: the maximum number of bytes.
    """

    def __init__(self, limit: int):
        self._limit = self._free = limit
        self._changed = asyncio.Condition()

    async def wait_for_bytes(self, number: int) -> None:
        """Wait until so many bytes may be read. A read beyond the limit waits for all others."""
        # Without the cut, a read larger than the limit would wait forever.
        number = min(number, self._limit)
        async with self._changed:
            await self._changed.wait_for(lambda: self._free >= number)
            self._free -= number

    async def release_bytes(self, number: int) -> None:
        """Release bytes that have been read."""
        async with self._changed:
            self._free += min(number, self._limit)
            self._changed.notify_all()


async def async_serialize(
    arr_inp: Array,
    tensorstore_spec: Spec,
    commit_future: list[Any] | None = None,
    context: Any | None = None,
    chunk_layout: Any | None = None,
    primary_host: int | None = None,
    replica_id: int = 0,
    transaction: Any | None = None,
) -> None:
    """Write an array.

    Args:
      arr_inp: the array, of any sharding.
      tensorstore_spec: its specification, as ``get_tensorstore_spec`` returns it.
      commit_future: a list to which futures are added that are done when all is on disk; if None,
        this waits for them. In any case it waits until the array has been copied.
      context, chunk_layout: of TensorStore; by default those that all files share.
      primary_host: the process that writes metadata; by default each does.
      replica_id: which of several copies of a part is written.
      transaction: of TensorStore; the array is written when it is committed.

    Raises:
      TypeError: for an array of an extended dtype.
      ValueError: if each of several processes has a separate array, or TensorStore raises.
    """
    ts = tensorstore()
    if (
        primary_host is None
        and process_count() > 1
        and getattr(arr_inp, "is_fully_addressable", True)
    ):
        raise ValueError(
            "async_serialize: the array lies on devices of this process alone, and each of "
            f"{process_count()} processes would write one to the same place. Write an array over "
            "all processes (make_array_from_process_local_data), or give primary_host."
        )
    spec = dict(tensorstore_spec)
    name = dtype_name(arr_inp)
    if "metadata" not in spec and spec.get("driver") in ("zarr", "zarr3"):
        spec["metadata"] = array_metadata(spec["driver"], arr_inp)
    spec.setdefault("dtype", name)
    options: dict[str, Any] = {
        "open": True,
        "create": True,
        "context": context or shared_context(),
        "chunk_layout": chunk_layout or default_chunks(),
        "transaction": transaction,
    }
    if primary_host is None or process_index() == primary_host:
        store = await open_array(ts.Spec(spec), **options)
    else:
        # One process writes the metadata, and all others know it from the array: with this option
        # they need neither read it nor wait for it.
        store = await open_array(ts.Spec(spec), assume_metadata=True, **options)
    writes = [store[index].write(data) for index, data in _parts(arr_inp, replica_id)]
    # Once copied, the array may be overwritten or donated.
    await asyncio.gather(*(write.copy for write in writes))
    if commit_future is not None:
        commit_future.extend(write.commit for write in writes)
    elif transaction is None:
        await asyncio.gather(*(write.commit for write in writes))


def _parts(array: Any, replica_id: int) -> list[tuple[Any, np.ndarray]]:
    """The parts of an array that this process writes: the index and the values of each."""
    if isinstance(array, np.ndarray):
        return [((...,), array)]
    shards = [s for s in array.addressable_shards if s.replica_id == replica_id]
    for shard in shards:
        # All copies are started before the first is waited for, so that they overlap.
        shard.data.copy_to_host_async()
    return [(shard.index, np.asarray(shard.data)) for shard in shards]


def estimate_read_memory_footprint(t: Any, domain: Any) -> int:
    """Number of bytes that TensorStore reads for a part of an array: whole chunks.

    Args:
      t: an open array of TensorStore's.
      domain: the part, one of its index domains.

    Returns:
      The number of bytes.

    Example:
      >>> from tempfile import TemporaryDirectory
      >>> import tensorstore
      >>> from ricci.experimental.array_serialization import tensorstore_impl
      >>> spec = {"driver": "zarr", "metadata": {"shape": [8], "chunks": [4], "dtype": "<f4"}}
      >>> spec["kvstore"] = {"driver": "memory"}
      >>> array = tensorstore.open(spec, create=True).result()
      >>> tensorstore_impl.estimate_read_memory_footprint(array, array.domain)
      32
    """
    # Along each dimension, the chunks from the one with the first index to the one with the last:
    # floor and ceiling of the distances from the grid's origin, in chunks.
    grid = t.chunk_layout.read_chunk_template
    touched = 1
    for low, size, start, chunk in zip(
        domain.origin, domain.shape, grid.origin, grid.shape, strict=True
    ):
        first = (low - start) // chunk
        touched *= (-((start - low - size) // chunk) - first) * chunk
    return touched * t.dtype.numpy_dtype.itemsize


async def async_deserialize(
    in_type: Destination,
    tensorstore_spec: Spec | Any,
    global_shape: Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    byte_limiter: BytesInFlight | None = None,
    context: Any | None = None,
    chunk_layout: Any | None = None,
    assume_metadata: bool = False,
) -> Array:
    """Read an array, each process the parts of its devices.

    Args:
      in_type: the sharding of the result, a format, or a ``ShapeDtypeStruct`` with either, whose
        dtype counts as ``dtype``.
      tensorstore_spec: the specification of the array.
      global_shape: the shape of the result, by default as saved: a larger array is cut, a smaller
        one padded with zeros.
      dtype: the dtype of the result, by default as saved.
      byte_limiter: limits how many bytes are read at a time.
      context, chunk_layout: of TensorStore; by default those that all files share.
      assume_metadata: whether the specification has all metadata, so that none is read.

    Raises:
      TypeError: if ``in_type`` has no sharding.
      ValueError: if the array is missing or damaged, or has another rank.
      IndivisibleError: if the sharding cannot divide the shape.
    """
    ts = tensorstore()
    place = in_type
    if isinstance(in_type, ShapeDtypeStruct):
        place = in_type.sharding if in_type.format is None else in_type.format
        dtype = in_type.dtype if dtype is None else dtype
    sharding = place.sharding if isinstance(place, Format) else place
    if not isinstance(sharding, Sharding):
        raise TypeError(
            "the sharding to read an array onto must be a Sharding, a Format with one, or a "
            f"ShapeDtypeStruct with either; got {in_type!r} of type {type(in_type).__name__}."
        )
    spec = tensorstore_spec if isinstance(tensorstore_spec, ts.Spec) else ts.Spec(tensorstore_spec)
    store = await open_array(
        spec,
        open=True,
        assume_metadata=assume_metadata,
        context=context or shared_context(),
        chunk_layout=chunk_layout or default_chunks(),
    )
    shape = tuple(store.shape if global_shape is None else global_shape)
    if len(shape) != store.rank:
        raise ValueError(
            f"global_shape={shape} has rank {len(shape)}, and the saved array rank "
            f"{store.rank}, with shape {tuple(store.shape)}."
        )
    indices = sharding.addressable_devices_indices_map(shape)
    # Replicas have equal bounds, so each part is read once for all devices of this process.
    bounds = {_bounds(index, shape) for index in indices.values()}

    async def read(box: tuple[tuple[int, int], ...]) -> np.ndarray:
        return await _read(store, box, byte_limiter)

    parts = dict(zip(bounds, await all_of(map(read, bounds)), strict=True))
    kind = np.dtype(store.dtype.numpy_dtype if dtype is None else dtype)
    return make_array_from_callback(
        shape,
        place,  # type: ignore[arg-type]
        lambda index: parts[_bounds(index, shape)].astype(kind, copy=False),
        kind,
    )


def _bounds(index: tuple[slice, ...], shape: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    return tuple(part.indices(n)[:2] for part, n in zip(index, shape, strict=True))


async def _read(
    store: Any, box: tuple[tuple[int, int], ...], limiter: BytesInFlight | None
) -> np.ndarray:
    """The values in a box, padded with zeros outside the array."""
    # The requested shape may exceed the saved one. Only the overlap is read; the rest is zeros.
    inside = [(low, min(high, n)) for (low, high), n in zip(box, store.shape, strict=True)]
    part = np.zeros([high - low for low, high in box], store.dtype.numpy_dtype)
    if any(low >= high for low, high in inside):
        return part
    view = store[tuple(slice(*ends) for ends in inside)]
    place = tuple(slice(0, high - low) for low, high in inside)
    number = 0 if limiter is None else estimate_read_memory_footprint(view, view.domain)
    if limiter is not None:
        await limiter.wait_for_bytes(number)
    try:
        values = await view.read()
    finally:
        if limiter is not None:
            await limiter.release_bytes(number)
    if values.shape == part.shape:
        return values
    part[place] = values
    return part


def run_serialization(arrays: Sequence[Array], tensorstore_specs: Sequence[Spec]) -> None:
    """Write several arrays, and wait until they are on disk.

    Args:
      arrays: the arrays.
      tensorstore_specs: the specification of each.

    Example:
      >>> from tempfile import TemporaryDirectory
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental.array_serialization import serialization
      >>> x = jnp.arange(3)
      >>> with TemporaryDirectory() as folder:
      ...     specs = [serialization.get_tensorstore_spec(f"{folder}/x")]
      ...     serialization.run_serialization([x], specs)
      ...     serialization.run_deserialization([x.sharding], specs)
      [Array([0, 1, 2], dtype=int32)]
    """

    async def write() -> None:
        rows = zip(arrays, tensorstore_specs, strict=True)
        await all_of(async_serialize(x, spec) for x, spec in rows)

    run(write())


def run_deserialization(
    shardings: Sequence[Destination],
    tensorstore_specs: Sequence[Spec],
    global_shapes: Sequence[Sequence[int]] | None = None,
    dtypes: Sequence[DTypeLike] | None = None,
    concurrent_gb: int = 32,
) -> list[Array]:
    """Read several arrays.

    Args:
      shardings: for each the ``in_type`` of ``async_deserialize``.
      tensorstore_specs: their specifications.
      global_shapes, dtypes: for each the shape and the dtype, if not as saved.
      concurrent_gb: the number of gigabytes that are read at a time.

    Returns:
      The arrays.

    Raises:
      ValueError: if these differ in number.

    Example:
      >>> from tempfile import TemporaryDirectory
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental.array_serialization import serialization
      >>> x = jnp.arange(3)
      >>> with TemporaryDirectory() as folder:
      ...     specs = [serialization.get_tensorstore_spec(f"{folder}/x")]
      ...     serialization.run_serialization([x], specs)
      ...     serialization.run_deserialization([x.sharding], specs, global_shapes=[(2,)])
      [Array([0, 1], dtype=int32)]
    """
    number = len(tensorstore_specs)
    columns: dict[str, Sequence[Any]] = {
        "shardings": shardings,
        "global_shapes": [None] * number if global_shapes is None else global_shapes,
        "dtypes": [None] * number if dtypes is None else dtypes,
    }
    for name, values in columns.items():
        if len(values) != number:
            raise ValueError(
                f"{name} has {len(values)} entries for {number} tensorstore_specs; give one each."
            )

    async def read() -> list[Array]:
        limiter = BytesInFlight(math.ceil(concurrent_gb * 10**9))
        rows = zip(*columns.values(), tensorstore_specs, strict=True)
        return await all_of(
            async_deserialize(place, spec, shape, dtype, limiter)
            for place, shape, dtype, spec in rows
        )

    return run(read())
