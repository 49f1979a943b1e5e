"""``device_put`` and ``device_get``: transfers of pytrees of arrays, and waits for them."""

from typing import TYPE_CHECKING, Any, Protocol, overload

import numpy as np

import ricci_ir as ir
from ricci_pytree import PyTreeDef, flatten_axes, tree_flatten, tree_flatten_with_path, tree_leaves
from ricci_xla.devices import _jaxlib_options as jaxlib_options
from ricci_xla.devices._client import check_computed
from ricci_xla.devices._jaxlib import runtime
from ricci_xla.devices._runtime_types import Device
from ricci_xla.meshes import _shard_shapes as shard_shapes
from ricci_xla.meshes._abstract_mesh import AbstractMesh
from ricci_xla.meshes._current_mesh import sharding_on_devices, with_set_devices
from ricci_xla.meshes._sharding import single_device_sharding
from ricci_xla.meshes._sharding_types import NamedSharding, Sharding
from ricci_xla.meshes._spec import PartitionSpec

from . import _array
from ._array_impl import ArrayImpl
from ._layout import Format, MemorySpace, in_format, in_memory, sharding_of_format
from ._placement import array_from_host, copy_semantics, move_array

__all__ = [
    "as_sharding",
    "block_until_ready",
    "copy_to_host_async",
    "device_get",
    "device_put",
    "put_leaf",
]


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


if TYPE_CHECKING:

    class HasNamedFields(Protocol):
        """An instance of a ``NamedTuple``."""

        def _asdict(self) -> dict[str, Any]: ...


@overload
def device_get(x: "HasNamedFields") -> ir.PyTree: ...  # the annotations of its fields are arrays
@overload
def device_get(x: ir.Array | np.ndarray) -> np.ndarray: ...
@overload
def device_get(x: tuple[ir.Array, ir.Array]) -> tuple[np.ndarray, np.ndarray]: ...
@overload
def device_get(x: tuple[ir.Array, ...]) -> tuple[np.ndarray, ...]: ...
@overload
def device_get(x: list[ir.Array]) -> list[np.ndarray]: ...
@overload
def device_get[K](x: dict[K, ir.Array]) -> dict[K, np.ndarray]: ...
@overload
def device_get(x: ir.PyTree) -> ir.PyTree: ...
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
        if isinstance(x, ArrayImpl):  # waiting for one small array takes less time than flattening
            check_computed((x,))
            x.block_until_ready()
            return x
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
