"""``pmap``: run a function on several devices at once, on a slice of the arguments each.

The devices may be of several processes, each of which passes its own slices. The slices of all
processes are joined to global arrays, without moving data. The function runs on those, and each
process gets its part of the results.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from typing import Any, cast

import numpy as np

import ricci_ir as ir
import ricci_pytree as pytree
import ricci_xla as xla
from ricci_batching import mapped_dims
from ricci_ir import Array, ArrayLike, is_extended
from ricci_xla import Device, ProgramShardings, Wrapped, jit, local_devices

from ._global_arrays import (
    global_array_to_host_local_array_impl,
    host_local_array_to_global_array_impl,
)
from ._slices import UNNAMED, Slices, argument_shardings, call_on_slices, enclosing

__all__ = ["pmap"]


def devices_of_several_processes(
    chosen: Sequence[xla.Device] | None, backend: Any
) -> tuple[xla.Device, ...] | None:
    """Return the devices that a ``pmap`` runs on; ``None`` if all belong to this process.

    Args:
      chosen: the devices that the user has chosen; by default all of a platform.
      backend: the platform.
    """
    if chosen is None:
        return tuple(xla.devices(backend)) if xla.process_count(backend) > 1 else None
    rank = xla.process_index(backend)
    return None if all(d.process_index == rank for d in chosen) else tuple(chosen)


def check_slices(name: str, size: int, axis_size: int | None, over: Sequence[xla.Device]) -> None:
    """Raise ``ValueError`` unless this process passes a slice for each of its devices.

    Args:
      name: the function's name.
      size: the number of slices that this process passes.
      axis_size: the number of all slices, if the user gave it.
      over: the devices of all processes.
    """
    rank = xla.process_index()
    count = sum(device.process_index == rank for device in over)
    if size != count:
        raise ValueError(
            f"pmap of {name}: the mapped axis has size {size} in this process (rank {rank}), which "
            f"has {count} of the {len(over)} devices. Each process passes a slice for each of its "
            "devices; to run on some of them, or on this process alone, give devices."
        )
    if axis_size is not None and axis_size != len(over):
        raise ValueError(
            f"pmap of {name}: axis_size is {axis_size}, but there are {len(over)} devices in all "
            "processes, with a slice for each."
        )


def joined(
    leaves: Sequence[ArrayLike],
    dims: Sequence[int | None],
    over: Sequence[xla.Device],
    axis: Hashable,
) -> list[Any]:
    """Join this process's slices with those of the others into global arrays."""
    mesh = xla.Mesh(np.array(over, dtype=object), (axis,))
    return [
        host_local_array_to_global_array_impl(x, global_mesh=mesh, pspec=_spec(dim, axis))
        for x, dim in zip(leaves, dims, strict=True)
    ]


def _spec(dim: int | None, axis: Hashable) -> xla.PartitionSpec:
    return xla.PartitionSpec() if dim is None else xla.PartitionSpec(*(None,) * dim, axis)


def part_of_this_process(result: Any) -> Array:
    """Return this process's part of a result."""
    physical = result.physical if is_extended(result.dtype) else result
    place = physical.sharding
    return global_array_to_host_local_array_impl(result, global_mesh=place.mesh, pspec=place.spec)


def pmap[**P, R](
    fun: Callable[P, R],
    axis_name: Hashable | None = None,
    *,
    in_axes: ir.PyTree = 0,
    out_axes: ir.PyTree = 0,
    static_broadcasted_argnums: int | Iterable[int] = (),
    devices: Sequence[Device] | None = None,
    backend: str | None = None,
    axis_size: int | None = None,
    donate_argnums: int | Iterable[int] = (),
    global_arg_shapes: Sequence[ir.Shape | None] | None = None,
) -> Wrapped[P, R]:
    """Run a function on several devices at once, on a slice of the arguments each.

    A ``pmap`` inside a function that ``pmap`` runs divides each slice further: it needs as many
    devices as the product of the sizes of both axes.

    Args:
      fun: a function of pytrees of arrays.
      axis_name: a name by which collectives such as ``psum`` refer to the devices.
      in_axes: the axis of the arguments that is sharded over the devices: an int for all of them,
        or a tuple with one entry for each positional argument. An entry is an int, ``None`` (every
        device gets the whole argument), or a pytree of these that is a prefix of the argument.
        Keyword arguments are sharded along axis 0.
      out_axes: the axis along which the results of the devices are stacked; ``None`` takes the
        result of one device.
      static_broadcasted_argnums: the positions of arguments that are compile-time constants. They
        must be passed by position.
      devices: the devices to use, in order; by default the first local ones. In a program of
        several processes they are by default those of all processes. Each process then passes and
        gets as many slices as it has devices among them, and collectives go over all.
      backend: the platform to take devices from.
      axis_size: the number of slices; by default the size of the mapped axes.
      donate_argnums: the positions of arguments whose buffers the results may reuse.
      global_arg_shapes: a tuple with the shape of a slice, or ``None``, for each array among the
        arguments. It is for slices that several processes share; a slice that belongs to one
        process must have the shape that is given for it.

    Returns:
      A function whose results are sharded over the devices. It is compiled as by ``jit``, and can
      be differentiated, batched and traced.

    Raises:
      TypeError: if ``fun`` is not a function, or ``in_axes`` or ``out_axes`` has a leaf that is
        neither an int nor ``None``.
      ValueError: if the mapped axes differ in size, there are fewer devices than slices, an axis of
        the results is out of bounds, or a static argument is not passed by position.

    Example:
      Each device normalizes its slice by the sum over all:

      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> count = min(2, ricci.local_device_count())
      >>> x = jnp.array([1.0, 3.0])[:count].reshape(count, 1)
      >>> shares = ricci.pmap(lambda x: x / lax.psum(x, "i"), axis_name="i")(x)
      >>> float(shares.sum())
      1.0

    Notes:
      The mapped axis must not be longer than the number of devices; the slices do not have it.
      Values that are replicated (``in_axes=None``) are copied to each device in every call.

    See also:
      ``shard_map`` and ``jit`` with shardings, whose arrays stay whole; ``vmap``, for one device.
    """
    ir.check_callable("pmap", fun)
    _check_axes("in_axes", in_axes)
    _check_axes("out_axes", out_axes)
    if isinstance(axis_name, tuple):
        raise ValueError(
            f"pmap: axis_name={axis_name!r} is a tuple, which collectives read as the names of "
            "several axes. A pmap has one axis: give it another name."
        )
    call = cast(Callable[..., Any], fun)
    static_argnums = _as_tuple(static_broadcasted_argnums)
    name = getattr(fun, "__name__", type(fun).__name__)

    def cut(args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Cut:
        # Static arguments are left out of the slices, and inserted again at their positions in each
        # call.
        static = {n % len(args) for n in static_argnums if -len(args) <= n < len(args)}
        if not all(-len(args) <= n < len(args) for n in static_argnums):
            raise ValueError(
                f"pmap of {name} has static_broadcasted_argnums={static_argnums}, but was called "
                f"with {len(args)} positional arguments. Pass static arguments by position."
            )
        dynamic = tuple(a for i, a in enumerate(args) if i not in static)
        leaves, tree = pytree.tree_flatten((dynamic, kwargs))
        axes = in_axes
        if isinstance(axes, tuple | list) and len(axes) == len(args):
            axes = tuple(a for i, a in enumerate(axes) if i not in static)
        dims = pytree.flatten_axes("pmap in_axes", tree, (axes, 0))
        names = lambda: pytree.argument_paths(dynamic, kwargs, None if static else fun)
        return _Cut(leaves, tree, dims, static, names)

    def on_slices(available: Sequence[Device] | None, *args: object, **kwargs: object) -> Any:
        leaves, tree, dims, static, names = cut(args, kwargs)
        # Over several processes the arguments are already joined into global arrays.
        expected = axis_size if available is None else None
        dims, size = mapped_dims("pmap", leaves, dims, expected, names)
        if global_arg_shapes is not None:
            _check_shapes(leaves, dims, tuple(global_arg_shapes), names)

        def on_one(*slices: ir.ArrayLike) -> Any:
            dynamic, keywords = pytree.tree_unflatten(tree, slices)
            full = list(dynamic)
            for i in sorted(static):
                full.insert(i, args[i])
            return call(*full, **keywords)

        info = ir.DebugInfo("pmap", name, tuple(names()))
        slices = Slices(on_one, leaves, dims, size, axis_name, out_axes, info)
        return call_on_slices(slices, available or _devices(devices, backend, name))

    def compiled(available: Sequence[Device] | None, across: Any = None) -> Any:
        return jit(
            ir.looks_like(fun)(partial(on_slices, available)),
            in_shardings=ProgramShardings(argument_shardings, across),
            static_argnums=static_argnums or None,
            donate_argnums=_as_tuple(donate_argnums) or None,
        )

    whole: dict[tuple[Device, ...], Any] = {}  # the function over devices of several processes

    def across(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any] | None:
        over = devices_of_several_processes(devices, backend)
        # None leaves the call to ``compiled``: all devices belong to this process, or it is traced,
        # where arrays of several processes cannot be joined.
        if over is None or ir.context.trace is not ir.eval_trace:
            return None
        leaves, tree, dims, static, names = cut(args, kwargs)
        if any(isinstance(x, ir.Tracer) for x in leaves):
            return None
        dims, size = mapped_dims("pmap", leaves, dims, None, names)
        check_slices(name, size, axis_size, over)
        if over not in whole:
            whole[over] = compiled(over)
        axis = UNNAMED if axis_name is None else axis_name
        dynamic, keywords = tree.unflatten(joined(leaves, dims, over, axis))
        full = list(dynamic)
        for i in sorted(static):
            full.insert(i, args[i])
        return (pytree.tree_map(part_of_this_process, whole[over](*full, **keywords)),)

    mapped: Any = compiled(None, across)
    mapped.__wrapped__ = fun
    return mapped


class _Cut(ir.TupleRecord):
    """The array arguments of a call, and the axis along which each is cut into slices.

    Attributes:
      leaves: the arrays.
      tree: their structure, a tuple of positional arguments and a dictionary of the others.
      dims: the axis of each array, ``None`` for replicated arrays.
      static: the positions of the static arguments, which are not among them.
      names: returns the names of the arrays.
    """

    leaves: Sequence[ir.ArrayLike]
    tree: pytree.PyTreeDef
    dims: Sequence[int | None]
    static: set[int]
    names: Callable[[], list[str]]


def _check_axes(name: str, axes: ir.PyTree) -> None:
    """Raise ``TypeError`` unless the leaves of an axes argument are ints or ``None``."""
    wrong = [x for x in pytree.tree_leaves(axes) if not isinstance(x, int) or isinstance(x, bool)]
    if wrong:
        raise TypeError(
            f"pmap: {name} has the entry {wrong[0]!r} of type {type(wrong[0]).__name__}; each "
            "entry must be an axis (an int) or None."
        )


def _check_shapes(
    leaves: Sequence[ir.ArrayLike],
    dims: Sequence[int | None],
    shapes: Sequence[ir.Shape | None],
    names: Callable[[], list[str]],
) -> None:
    """Raise ``ValueError`` unless the slices of arguments have the shapes that the user gave."""
    if len(shapes) != len(leaves):
        raise ValueError(
            f"pmap: global_arg_shapes has {len(shapes)} entries, but the arguments have "
            f"{len(leaves)} arrays. Give a shape or None for each."
        )
    for i, (leaf, dim, shape) in enumerate(zip(leaves, dims, shapes, strict=True)):
        slice_ = list(ir.get_aval(leaf).shape)
        if dim is not None:
            del slice_[dim]
        if shape is not None and tuple(shape) != tuple(slice_):
            raise ValueError(
                f"pmap: global_arg_shapes says {tuple(shape)} for argument {names()[i]}, whose "
                f"slices have shape {tuple(slice_)}. A slice belongs to one process: give its "
                "shape, or None."
            )


def _as_tuple(argnums: int | Iterable[int]) -> tuple[int, ...]:
    return (argnums,) if isinstance(argnums, int) else tuple(argnums)


def _devices(devices: Sequence[Device] | None, backend: str | None, name: str) -> Sequence[Device]:
    """Return the devices that may run the slices; ``devices`` are those that the user chose."""
    if devices is None:
        return local_devices(backend=backend)
    if enclosing.value is not None:
        raise ValueError(
            f"pmap of {name}: devices cannot be chosen inside a function that pmap runs. Choose "
            "those of all of them in the outermost one."
        )
    if len(set(devices)) < len(devices):
        raise ValueError(
            f"pmap of {name}: devices={list(devices)} has a device twice. Each slice needs a "
            "device of its own."
        )
    return devices
