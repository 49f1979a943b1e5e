"""Conversions between arrays of one process and arrays over all processes.

Both directions are primitives, each the transpose of the other. They move no data between
processes: the shards on this process's devices are wrapped in an array of another shape.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_xla as xla
from ricci_autodiff import linear
from ricci_pytree import flatten_axes, tree_flatten
from ricci_xla import Mesh, NamedSharding, PartitionSpec

from ._device_put import device_put

__all__ = ["global_array_to_host_local_array", "global_array_to_host_local_array_impl"]
__all__ += ["global_array_to_host_local_array_p", "gtl_abstract_eval"]
__all__ += ["host_local_array_to_global_array", "host_local_array_to_global_array_impl"]
__all__ += ["host_local_array_to_global_array_p", "ltg_abstract_eval", "ltg_batcher"]


def _scaled(shape: ir.Shape, global_mesh: Mesh, pspec: PartitionSpec, inverse: bool) -> ir.Shape:
    """Return the shape of a global array, given that of this process's part; or the inverse."""
    whole, mine = global_mesh.shape, global_mesh.local_mesh.shape
    sizes = list(shape)
    for axis, part in enumerate(pspec.partitions):
        if axis >= len(sizes) or not part:
            continue
        names = part if isinstance(part, tuple) else (part,)
        # The number of processes along this dimension.
        times = prod(whole[name] for name in names) // prod(mine[name] for name in names)
        sizes[axis] = sizes[axis] // times if inverse else sizes[axis] * times
    return tuple(sizes)


def ltg_abstract_eval(
    arr: ir.ShapedArray, *, global_mesh: Mesh, pspec: PartitionSpec
) -> ir.ShapedArray:
    """Return the type of a global array, given that of this process's part.

    Args:
      arr: the type of the part.
      global_mesh: the mesh of all devices.
      pspec: the sharding of the global array.

    Returns:
      The type.
    """
    return ir.ShapedArray(_scaled(arr.shape, global_mesh, pspec, False), arr.dtype)


def gtl_abstract_eval(
    arr: ir.ShapedArray, *, global_mesh: Mesh, pspec: PartitionSpec
) -> ir.ShapedArray:
    """Return the type of this process's part of a global array.

    Args:
      arr: the type of the global array.
      global_mesh: the mesh of all devices.
      pspec: the sharding of the global array.

    Returns:
      The type.
    """
    return ir.ShapedArray(_scaled(arr.shape, global_mesh, pspec, True), arr.dtype)


def host_local_array_to_global_array_impl(
    arr: Any, *, global_mesh: Mesh, pspec: PartitionSpec
) -> ir.Array:
    """Make one global array of this process's part of it.

    Args:
      arr: this process's part.
      global_mesh: the mesh of all devices.
      pspec: the sharding of the global array.

    Returns:
      The global array.
    """
    if ir.is_extended(getattr(arr, "dtype", None)):
        words = {"global_mesh": global_mesh, "pspec": pspec}
        return arr.dtype.from_physical(host_local_array_to_global_array_impl(arr.physical, **words))
    # It is global already.
    if isinstance(arr, xla.ArrayImpl) and not arr.is_fully_addressable:
        return arr
    local = device_put(arr, NamedSharding(global_mesh.local_mesh, pspec))
    shape = _scaled(local.shape, global_mesh, pspec, False)
    return _rewrapped(local, shape, NamedSharding(global_mesh, pspec))


def global_array_to_host_local_array_impl(
    arr: Any, *, global_mesh: Mesh, pspec: PartitionSpec
) -> ir.Array:
    """Take this process's part of one global array.

    Args:
      arr: the global array.
      global_mesh: the mesh of all devices.
      pspec: the sharding of the global array.

    Returns:
      This process's part.
    """
    if ir.is_extended(getattr(arr, "dtype", None)):
        words = {"global_mesh": global_mesh, "pspec": pspec}
        return arr.dtype.from_physical(global_array_to_host_local_array_impl(arr.physical, **words))
    if isinstance(arr, xla.ArrayImpl) and arr.is_fully_addressable:
        return arr
    whole = device_put(arr, NamedSharding(global_mesh, pspec))
    shape = _scaled(whole.shape, global_mesh, pspec, True)
    return _rewrapped(whole, shape, NamedSharding(global_mesh.local_mesh, pspec))


def _rewrapped(array: Any, shape: ir.Shape, sharding: NamedSharding) -> ir.Array:
    """Return an array of the same shards with another shape and sharding."""
    if array.shape == shape and array.sharding == sharding:
        return array
    return xla.make_array_from_single_device_arrays(
        shape, sharding, xla.parts(array), dtype=array.dtype
    )


def _batch(which: Callable[[], ir.Primitive]) -> Callable[..., tuple[ir.Array, int]]:
    def rule(
        axis: Any,
        args: Sequence[Any],
        dims: Sequence[int],
        *,
        pspec: PartitionSpec,
        **params: object,
    ) -> tuple[ir.Array, int]:
        (x,), (dim,) = args, dims
        entries = [*pspec.partitions, *[None] * (np.ndim(x) - 1 - len(pspec.partitions))]
        # The batch dimension is sharded over the axes that vmap names, if any.
        entries.insert(dim, axis.spmd_name)
        return which().bind(x, pspec=PartitionSpec(*entries), **params), dim

    return rule


def ltg_batcher(
    insert_axis: bool,
    axis_data: object,
    vals_in: Sequence[Any],
    dims_in: Sequence[int],
    global_mesh: Mesh,
    pspec: PartitionSpec,
) -> tuple[ir.Array, int]:
    """The batching rule of both primitives, as JAX names it."""
    rule = _batch(lambda: host_local_array_to_global_array_p)
    return rule(axis_data, vals_in, dims_in, global_mesh=global_mesh, pspec=pspec)


_in_program = ir.unsupported(
    "inside jit, a program runs over all its devices at once and knows no arrays of one process; "
    "call it outside",
    ValueError,
)

host_local_array_to_global_array_p: ir.Primitive = ir.define(
    "host_local_array_to_global_array",
    sharding=ir.without_sharding,
    abstract_eval=ltg_abstract_eval,
    jvp=linear,
    transpose=lambda ct, x, **params: [global_array_to_host_local_array_p.bind(ct, **params)],
    batch=_batch(lambda: host_local_array_to_global_array_p),
    lower=_in_program,
    eager=host_local_array_to_global_array_impl,
)

global_array_to_host_local_array_p: ir.Primitive = ir.define(
    "global_array_to_host_local_array",
    sharding=ir.without_sharding,
    abstract_eval=gtl_abstract_eval,
    jvp=linear,
    transpose=lambda ct, x, **params: [host_local_array_to_global_array_p.bind(ct, **params)],
    batch=_batch(lambda: global_array_to_host_local_array_p),
    lower=_in_program,
    eager=global_array_to_host_local_array_impl,
)


def _each(primitive: ir.Primitive, arrays: ir.PyTree, mesh: Mesh, pspecs: ir.PyTree) -> ir.PyTree:
    leaves, tree = tree_flatten(arrays)
    if pspecs is None:
        raise ValueError(
            f"{primitive.name}: pspecs is None. Pass PartitionSpec() for values that are the same "
            "in every process."
        )
    specs = flatten_axes(f"{primitive.name}: pspecs", tree, pspecs)
    wrong = [spec for spec in specs if not isinstance(spec, PartitionSpec)]
    if wrong:
        raise ValueError(
            f"{primitive.name}: pspecs has {wrong[0]!r}, where a PartitionSpec was expected. Pass "
            "PartitionSpec() for values that are the same in every process."
        )
    return tree.unflatten(
        primitive.bind(x, global_mesh=mesh, pspec=_for_rank(spec, np.ndim(x)))
        for x, spec in zip(leaves, specs, strict=True)
    )


def _for_rank(spec: PartitionSpec, ndim: int) -> PartitionSpec:
    """Drop empty entries of a spec past an array's rank."""
    entries = spec.partitions
    extra = entries[ndim:]
    return PartitionSpec(*entries[:ndim]) if extra and not any(extra) else spec


def host_local_array_to_global_array(
    local_inputs: ir.PyTree, global_mesh: Mesh, pspecs: ir.PyTree
) -> ir.PyTree:
    """Make arrays over the devices of all processes, of which each process holds a part.

    Args:
      local_inputs: a pytree of arrays, the parts of this process. Arrays over several processes are
        returned as they are.
      global_mesh: the mesh of all devices.
      pspecs: a ``PartitionSpec``, or a pytree of them that is a prefix of ``local_inputs``. Along
        axes that it names the parts of the processes are joined; where it names none, all
        processes must have the same.

    Returns:
      A pytree of arrays over the devices of ``global_mesh``.

    Raises:
      ValueError: if a leaf of ``pspecs`` is not a ``PartitionSpec``.
      IndivisibleError: if this process's devices cannot divide a part evenly.

    Example:
      With one process the part is the whole:

      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental import multihost_utils
      >>> mesh = ricci.make_mesh((1,), ("x",), devices=ricci.devices()[:1])
      >>> whole = multihost_utils.host_local_array_to_global_array(jnp.ones(2), mesh, ricci.P("x"))
      >>> whole.shape
      (2,)
    """
    return _each(host_local_array_to_global_array_p, local_inputs, global_mesh, pspecs)


def global_array_to_host_local_array(
    global_inputs: ir.PyTree, global_mesh: Mesh, pspecs: ir.PyTree
) -> ir.PyTree:
    """Return the part of this process of arrays over the devices of all processes.

    Args:
      global_inputs: a pytree of arrays.
      global_mesh: the mesh of all devices.
      pspecs: a ``PartitionSpec``, or a pytree of them that is a prefix of ``global_inputs``. An
        array that is sharded in another way is moved first.

    Returns:
      A pytree of arrays on the devices of this process.

    Raises:
      ValueError: if a leaf of ``pspecs`` is not a ``PartitionSpec``.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental import multihost_utils
      >>> mesh = ricci.make_mesh((1,), ("x",), devices=ricci.devices()[:1])
      >>> x = ricci.device_put(jnp.ones(2), ricci.NamedSharding(mesh, ricci.P("x")))
      >>> multihost_utils.global_array_to_host_local_array(x, mesh, ricci.P("x")).shape
      (2,)
    """
    return _each(global_array_to_host_local_array_p, global_inputs, global_mesh, pspecs)
