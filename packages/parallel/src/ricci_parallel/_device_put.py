"""``device_put`` of arrays, and of traced values as an operation of the program.

``device_put_sharded`` stacks the parts along a new leading axis, which is sharded over the devices.
"""

from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np

import ricci_ir as ir
import ricci_pytree as pytree
import ricci_xla as xla
from ricci_autodiff import Tape, Zero
from ricci_ir import Array, ArrayLike, PyTree, get_aval
from ricci_lax import expand_dims
from ricci_stablehlo import Lowering, Value

from ._sharding_constraint import is_typed, mesh_of_sharding

__all__ = ["device_put", "device_put_p", "device_put_replicated", "device_put_sharded"]

# For each operand: the device or sharding that it goes to, or that it comes from, if it is given.
type _Place = xla.Device | xla.Sharding | xla.MemorySpace | None
type _Places = tuple[_Place, ...]
type _CopySemantics = tuple[xla.ArrayCopySemantics, ...]

_copy = xla.ArrayCopySemantics.ALWAYS_COPY
_donate = xla.ArrayCopySemantics.DONATE_INPUT


def _device_put_jvp(
    primals: Sequence[ir.ArrayLike],
    tangents: Sequence[Any],
    *,
    devices: _Places,
    srcs: _Places,
    copy_semantics: _CopySemantics,
) -> tuple[list[ir.Array], list[Any]]:
    """The jvp rule. A tangent comes from its primal's place; its cotangent returns there."""
    # Symbolic zeros are nowhere, so that nothing of them is moved.
    nonzero = [i for i, t in enumerate(tangents) if type(t) is not Zero]
    origins = tuple(srcs[i] or _place_of(primals[i]) or _opposite(devices[i]) for i in nonzero)
    results = device_put_p.bind(*primals, devices=devices, srcs=srcs, copy_semantics=copy_semantics)
    if not nonzero:
        return results, list(tangents)
    moved = iter(
        device_put_p.bind(
            *(tangents[i] for i in nonzero),
            devices=tuple(devices[i] for i in nonzero),
            srcs=origins,
            copy_semantics=tuple(copy_semantics[i] for i in nonzero),
        )
    )
    return results, [t if type(t) is Zero else next(moved) for t in tangents]


def _place_of(x: ir.ArrayLike) -> xla.Sharding | None:
    """Return an operand's sharding, or ``None`` if it is unknown under differentiation."""
    value = x.concrete() if isinstance(x, ir.Tracer) else x
    return getattr(value, "sharding", None)


def _opposite(place: _Place) -> xla.MemorySpace | None:
    """Return the source of a value that is put on the host, if nothing else specifies it."""
    return xla.MemorySpace.Device if place is xla.MemorySpace.Host else None


def _device_put_linearize(
    tape: Tape, primals: Sequence[ir.ArrayLike], tangents: Sequence[Any], **params: Any
) -> tuple[list[ir.Array], list[Any]]:
    """The linearize rule: put results eagerly, since a compiled jaxpr would leave them in place.

    The rule runs on the tape, which evaluates equations that depend on no tangent.
    """
    ir.context.trace = tape
    return _device_put_jvp(primals, tangents, **params)


def _device_put_transpose(
    cts: Sequence[Any],
    *args: object,
    devices: _Places,
    srcs: _Places,
    copy_semantics: _CopySemantics,
) -> list[ir.Array | None]:
    """The transpose rule: cotangents return to the operands' places."""
    nonzero = [i for i, ct in enumerate(cts) if type(ct) is not Zero]
    moved = iter(
        device_put_p.bind(
            *(cts[i] for i in nonzero),
            devices=tuple(srcs[i] for i in nonzero),
            srcs=tuple(devices[i] for i in nonzero),
            copy_semantics=(_copy,) * len(nonzero),
        )
    )
    return [None if type(ct) is Zero else next(moved) for ct in cts]


def _memory_of(place: _Place) -> str | None:
    """Return the memory kind of a place; ``None`` for a device, which keeps a value's memory."""
    if isinstance(place, xla.MemorySpace):
        return xla.HOST_MEMORY if place is xla.MemorySpace.Host else "device"
    return None if place is None or isinstance(place, xla.Device) else place.memory_kind or "device"


def _placed(ctx: Lowering, x: Value, place: _Place) -> Value:
    """Return an operand in the requested memory kind, if that may differ from its own."""
    kind = _memory_of(place)
    # CPUs have one memory in compiled code.
    if kind is None or ctx.platform == "cpu":
        return x
    # Without a host operand all values are in device memory anyway.
    if kind == "device" and not ctx.module.uses_host_memory:
        return x
    (result,) = ctx.custom_call(
        "annotate_device_placement",
        [x],
        [x.aval],
        api_version=1,
        has_side_effect=True,
        metadata=(("_xla_buffer_placement", kind),),
    )
    return result


def _device_put_lower(
    ctx: Lowering, *operands: Value, devices: _Places, **params: object
) -> list[Value]:
    return [_placed(ctx, x, device) for x, device in zip(operands, devices, strict=True)]


def _device_put_eager(
    *args: ir.ArrayLike, devices: _Places, srcs: _Places, copy_semantics: _CopySemantics
) -> list[ir.Array]:
    return [
        xla.device_put(x, place, donate=how == _donate, may_alias=False if how == _copy else None)
        for x, place, how in zip(args, devices, copy_semantics, strict=True)
    ]


def _device_put_memory(
    on_host: Sequence[bool], *, devices: _Places, **params: object
) -> tuple[bool, ...]:
    """The memory rule: whether each result is in host memory."""
    return tuple(
        there if memory is None else memory == xla.HOST_MEMORY
        for there, memory in zip(on_host, map(_memory_of, devices), strict=True)
    )


def _device_put_mesh(*, devices: _Places, **params: object) -> xla.Mesh | None:
    meshes = (mesh_of_sharding(d) for d in devices if isinstance(d, xla.Sharding))
    return next((mesh for mesh in meshes if mesh is not None), None)


def _device_put_types(
    avals: Sequence[Any], results: Sequence[Any], *, devices: _Places, **params: object
) -> list[ir.TypeSharding | None]:
    """Result types: the operand's for a value without a place, else the place's sharding."""
    return [
        xla.explicit_sharding(aval.ndim, place)
        if isinstance(place, xla.NamedSharding)
        else aval.type_sharding
        for aval, place in zip(avals, devices, strict=True)
    ]


device_put_p: ir.Primitive = ir.define(
    "device_put",
    sharding=ir.makes_sharding(ir.own_sharding(_device_put_types, joins=False)),
    abstract_eval=lambda *avals, **params: list(avals),
    multiple_results=True,
    jvp=_device_put_jvp,
    linearize=_device_put_linearize,
    transpose=_device_put_transpose,
    batch=lambda axis, args, dims, **params: (device_put_p.bind(*args, **params), dims),
    lower=_device_put_lower,
    mesh=_device_put_mesh,
    memory=_device_put_memory,
    eager=_device_put_eager,
    reference=lambda *args, **params: args,
)


@ir.memory_move.provide
def _move(x: ir.Var, result: ir.Var, memory: str) -> ir.JaxprEqn:
    place = xla.MemorySpace.Device if memory == "device" else xla.MemorySpace.Host
    params = {"devices": (place,), "srcs": (None,), "copy_semantics": (_copy,)}
    return ir.JaxprEqn([x], [result], device_put_p, params)


def _place(target: Any) -> _Place:
    """Normalize the place that a traced value is put at.

    Raises:
      ValueError: if it names devices in a function that is run on shards.
    """
    if target is None or isinstance(target, xla.MemorySpace):
        return target
    inside: xla.AbstractMesh | None = ir.current_mesh.value
    if inside is not None and inside.manual_axes:
        raise ValueError(
            f"device_put: to {target} inside a function that pmap or shard_map runs on the shards "
            f"along {', '.join(map(repr, inside.manual_axes))}. Each device has its own shard "
            "there: call device_put outside, or exchange shards with ppermute or all_gather."
        )
    if isinstance(target, xla.Device):
        return target
    if isinstance(target, xla.PartitionSpec):
        return xla.sharding_in_program(target, "device_put", ValueError)
    if isinstance(target, xla.NamedSharding):
        return target  # on an abstract mesh as well
    return xla.as_sharding(target)


@overload
def device_put(
    x: ir.ArrayLike,
    device: ir.PyTree = None,
    *,
    src: ir.PyTree = None,
    donate: ir.PyTree = False,
    may_alias: ir.PyTree = None,
) -> ir.Array: ...
@overload
def device_put[T](
    x: T,
    device: ir.PyTree = None,
    *,
    src: ir.PyTree = None,
    donate: ir.PyTree = False,
    may_alias: ir.PyTree = None,
) -> T: ...
@ir.boundary
def device_put(
    x: ir.PyTree,
    device: ir.PyTree = None,
    *,
    src: ir.PyTree = None,
    donate: ir.PyTree = False,
    may_alias: ir.PyTree = None,
) -> ir.PyTree:
    """Put the arrays, NumPy arrays and Python scalars of a pytree on devices.

    Inside a traced function, the place is a request; the compiler may place values elsewhere.
    Cotangents return to the sources.

    Args:
      x: the pytree.
      device: a device, a sharding, a ``PartitionSpec`` for the mesh that is set or a
        ``MemorySpace``, or a pytree of these that is a prefix of ``x``. Without it, arrays stay
        where they are and other values go to the default device.
      src: where ``x`` is now, in the same form.
      donate: whether the memory of arrays may be reused; a bool, or a pytree that is a prefix of
        ``x``.
      may_alias: whether the result may share memory with ``x``, in the same form.

    Returns:
      The pytree with arrays for leaves.

    Raises:
      TypeError: if a leaf is not an array, a NumPy array or a number.
      ValueError: if a leaf of ``device`` is not a device, sharding or memory, or needs a mesh and
        none is set, or ``device`` is not a prefix of ``x``, or a leaf has both ``donate`` and
        ``may_alias``.
      IndivisibleError: if a sharding cannot divide an array evenly.

    Example:
      Parameters to one device, and a batch sharded over several:

      >>> import numpy as np
      >>> import ricci
      >>> from ricci import P
      >>> devices = ricci.devices()[:2]
      >>> mesh = ricci.make_mesh((len(devices),), ("batch",), devices=devices)
      >>> params = ricci.device_put({"w": np.ones(3), "b": 0.0}, devices[0])
      >>> params["w"].devices() == {devices[0]}
      True
      >>> batch = ricci.device_put(np.arange(8), ricci.NamedSharding(mesh, P("batch")))
      >>> batch.addressable_shards[0].data.shape == (8 // len(devices),)
      True

    Notes:
      An array that was put somewhere explicitly is committed: computing with it takes place there,
      and together with one that is committed elsewhere it is an error. Without ``device`` it is not
      committed.

      With ``donate`` the old array must not be used again.

    See also:
      ``reshard`` and ``with_sharding_constraint``, inside of programs; ``device_get``;
      ``make_array_from_process_local_data``, for several hosts.
    """
    try:
        leaves, tree = pytree.tree_flatten(x)
        if ir.context.trace is ir.eval_trace and not any(
            isinstance(leaf, ir.Tracer) for leaf in leaves
        ):
            return xla.device_put(x, device, src=src, donate=donate, may_alias=may_alias)
        places = tuple(pytree.flatten_axes("device_put: device", tree, device))
        places = tuple(map(_place, places))
        for (path, leaf), place in zip(pytree.tree_flatten_with_path(x)[0], places, strict=True):
            if is_typed(place):
                xla.check_fits(place, np.shape(leaf), f"device_put: x{pytree.keystr(path)}")  # pyright: ignore
        donated = pytree.flatten_axes("device_put: donate", tree, donate)
        aliased = pytree.flatten_axes("device_put: may_alias", tree, may_alias)
        how = tuple(map(xla.copy_semantics, donated, aliased))
        srcs = tuple(pytree.flatten_axes("device_put: src", tree, src))
        results = device_put_p.bind(*leaves, devices=places, srcs=srcs, copy_semantics=how)
        return pytree.tree_unflatten(tree, results)
    except Exception as error:
        ir.leave(error)
        raise


def device_put_sharded(shards: Sequence[PyTree], devices: Sequence[xla.Device]) -> PyTree:
    """Put each of several pytrees on its own device, and stack them.

    Args:
      shards: one pytree of arrays and scalars for each device. All have the same structure, and
        leaves of the same shapes and dtypes.
      devices: the devices.

    Returns:
      A pytree of that structure. Its arrays have a new leading axis, sharded over the devices.

    Raises:
      TypeError: if ``shards`` is not a sequence.
      ValueError: if there are not as many shards as devices, or they differ in structure, shapes
        or dtypes.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> devices = ricci.local_devices()
      >>> shards = [np.full(2, i) for i, _ in enumerate(devices)]
      >>> ricci.device_put_sharded(shards, devices).shape == (len(devices), 2)
      True
    """
    if not isinstance(shards, Sequence):
        raise TypeError(
            "device_put_sharded: shards must be a sequence with one entry for each device, got "
            f"{type(shards).__name__}."
        )
    if len(shards) != len(devices) or not shards:
        raise ValueError(
            f"device_put_sharded: {len(shards)} shards were given for {len(devices)} devices. "
            "Give one for each device."
        )
    trees = [pytree.tree_flatten(shard) for shard in shards]
    for i, (_, tree) in enumerate(trees):
        if tree != trees[0][1]:
            raise ValueError(
                "device_put_sharded: all shards must have the same tree structure, but that of "
                f"shard 0 is {trees[0][1]} and that of shard {i} is {tree}."
            )
    parts = list(zip(*(leaves for leaves, _ in trees), strict=True))
    for k, leaves in enumerate(parts):
        _check_same_types(
            leaves, lambda k=k: pytree.keystr(pytree.tree_flatten_with_path(shards[0])[0][k][0])
        )
    return pytree.tree_unflatten(trees[0][1], [_stacked(leaves, devices) for leaves in parts])


def device_put_replicated(x: PyTree, devices: Sequence[xla.Device]) -> PyTree:
    """Put a copy of a pytree on each of several devices, and stack the copies.

    Args:
      x: a pytree of arrays and scalars.
      devices: the devices.

    Returns:
      The pytree. Its arrays have a new leading axis, sharded over the devices.

    Raises:
      ValueError: if there are no devices.

    Example:
      >>> import ricci
      >>> devices = ricci.local_devices()
      >>> ricci.device_put_replicated({"a": 2.0}, devices)["a"].shape == (len(devices),)
      True
    """
    if not isinstance(devices, Sequence) or not devices:
        raise ValueError(
            f"device_put_replicated: give a sequence of at least one device, got {devices!r}."
        )
    return pytree.tree_map(lambda leaf: _stacked([leaf] * len(devices), devices), x)


def _check_same_types(leaves: Sequence[ArrayLike], path: Callable[[], str]) -> None:
    """Raise ``ValueError`` unless all leaves have the same shape and dtype."""
    first = get_aval(leaves[0])
    for i, leaf in enumerate(leaves):
        aval = get_aval(leaf)
        if (aval.shape, aval.dtype) != (first.shape, first.dtype):
            raise ValueError(
                "device_put_sharded: all shards must have leaves of the same types, but the leaf"
                f"{path()} is {first.str_short()} in shard 0 and {aval.str_short()} in shard {i}."
            )


def _stacked(parts: Sequence[ArrayLike], devices: Sequence[xla.Device]) -> Array:
    """Return an array whose parts are each on one device."""
    shape = (len(parts), *np.shape(parts[0]))
    sharding = xla.NamedSharding(xla.Mesh(np.array(devices), ("devices",)), xla.P("devices"))
    placed = [
        expand_dims(xla.device_put(part, device), (0,))
        for part, device in zip(parts, devices, strict=True)
    ]
    return xla.make_array_from_single_device_arrays(shape, sharding, placed)
