"""``with_sharding_constraint``: constrain the sharding of values, also inside of ``jit``."""

from collections.abc import Hashable, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_xla as xla
from ricci_autodiff import linear
from ricci_batching import Axis
from ricci_pytree import flatten_axes, keystr, tree_flatten_with_path, tree_unflatten
from ricci_stablehlo import Lowering, Value, string
from ricci_xla import AbstractMesh, Mesh, NamedSharding, PartitionSpec, Sharding

from ._layout_constraint import with_layout_constraint

__all__ = ["sharding_constraint_p", "with_sharding_constraint"]


class _NoMesh:
    """The value of ``context_mesh`` if no mesh was entered; printed as an empty mesh."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "Mesh()"


_no_mesh = _NoMesh()


def _names(part: Hashable) -> tuple[Hashable, ...]:
    if part is None or part is xla.UNCONSTRAINED:
        return ()
    return part if isinstance(part, tuple) else (part,)


def _batched_sharding(sharding: Sharding, ndim: int, dim: int, spmd_name: Hashable) -> Sharding:
    """Return the sharding of a batch, given that of its examples.

    Args:
      sharding: the sharding of arrays of ``ndim`` dimensions.
      ndim: the rank of an example.
      dim: the batch dimension.
      spmd_name: the mesh axis, or axes, that the batch is sharded over; ``None`` leaves it
        unconstrained.

    Raises:
      ValueError: if the examples are sharded over one of these mesh axes already.
    """
    if not isinstance(sharding, NamedSharding):
        return sharding
    used = {name for _, name in sharding.spec._axis_names()}
    twice = [name for name in _names(spmd_name) if name in used]
    if twice:
        raise ValueError(
            f"with_sharding_constraint: {sharding.spec} names the mesh axis {twice[0]!r}, which is "
            f"the spmd_axis_name of a vmap around it: the batch is sharded over that axis. Leave "
            "it out of the spec, or name another axis in vmap."
        )
    spec = [*sharding.spec, *[None] * (ndim - len(sharding.spec))]
    # With Explicit axes alone the compiler has no choice left.
    free = None if sharding.mesh.are_all_axes_explicit else xla.UNCONSTRAINED
    spec.insert(dim, free if spmd_name is None else spmd_name)
    while spec and spec[-1] is None:
        spec.pop()
    return sharding.update(spec=PartitionSpec(*spec))


def _constraint_batch(
    axis: Axis,
    args: Sequence[ir.ArrayLike],
    dims: Sequence[int],
    *,
    sharding: Sharding,
    unconstrained_dims: frozenset[int],
    **params: object,
) -> tuple[ir.Array, int]:
    (x,), (dim,) = args, dims
    aval = ir.get_aval(x)
    # Dimensions at or behind the batch dimension move up by one.
    free = {d + (d >= dim) for d in unconstrained_dims}
    name = axis.spmd_name if axis.sharding is None else axis.sharding.parts[0]
    if name is None:
        free.add(dim)
    result = sharding_constraint_p.bind(
        x,
        sharding=_batched_sharding(sharding, aval.ndim - 1, dim, name),
        unconstrained_dims=frozenset(free),
        **params,
    )
    return result, dim


def _constraint_lower(ctx: Lowering, x: Value, *, sharding: Sharding, **params: object) -> Value:
    ndim = ir.physical_aval(x.aval).ndim
    if isinstance(sharding, NamedSharding):
        if isinstance(sharding.mesh, AbstractMesh):
            if ctx.module.num_partitions == 1:
                return x  # one device, where every sharding is trivial
            _check_size(sharding.mesh, ctx.module.num_partitions)
        mesh = ctx.module.mesh(tuple(sharding.mesh.shape.items()))
        spec = [*sharding.spec, *[None] * (ndim - len(sharding.spec))]
    else:
        mesh, spec = ctx.module.mesh(()), [None] * ndim
    # The type's Explicit axes stay, unless the sharding names them for another dimension.
    typed_parts = () if x.aval.type_sharding is None else x.aval.type_sharding.parts
    used = {name for part in spec for name in _names(part)}
    typed = [[name for name in part if name not in used] for part in typed_parts]
    parts = (
        _dimension_text(part, explicit) for part, explicit in zip_longest(spec, typed, fillvalue=())
    )
    return ctx.constrained(x, f"<@{mesh}, [{', '.join(parts)}]>")


def _dimension_text(part: object, explicit: Sequence[Hashable]) -> str:
    names = [string(str(n)) for n in (*explicit, *_names(part))]
    return f"{{{', '.join([*names, '?'] if part is xla.UNCONSTRAINED else names)}}}"


def _check_size(mesh: AbstractMesh, devices: int) -> None:
    if mesh.size != devices:
        raise ValueError(
            f"with_sharding_constraint: the sharding has {mesh}, which is for {mesh.size} "
            f"devices, but the program runs on {devices}. Set a mesh of as many devices, or name "
            "the mesh in the sharding."
        )


def is_typed(sharding: object) -> bool:
    """Whether the types of arrays with a sharding include it, that is, it has ``Explicit`` axes."""
    return isinstance(sharding, NamedSharding) and bool(sharding.mesh.abstract_mesh.explicit_axes)


def mesh_of_sharding(sharding: Sharding) -> Mesh | None:
    """Return the mesh that an operation with this sharding requires; one device has no axes."""
    if isinstance(sharding, xla.SingleDeviceSharding):
        return Mesh(np.array(sharding._device_assignment[0], dtype=object), ())
    if isinstance(sharding, NamedSharding) and isinstance(sharding.mesh, Mesh):
        return sharding.mesh
    return None


def _move_now(x: ir.ArrayLike, sharding: Sharding, *, strict: bool) -> ir.Array:
    """Move an array to a sharding eagerly.

    Args:
      x: the array.
      sharding: the sharding.
      strict: whether an array that is committed to other devices is refused even if its shards are
        the same. In transformed calls of functions with ``in_shardings`` such arrays are copied.

    Raises:
      ValueError: if ``x`` is committed to other devices.
    """
    target = _decided(sharding, x)
    current: Sharding | None = getattr(x, "sharding", None)
    if current is None or not getattr(x, "committed", False):
        return xla.device_put(x, target)
    source, destination = current._device_assignment, target._device_assignment
    ndim = ir.physical_aval(ir.get_aval(x)).ndim
    if source != destination and (strict or not xla.same_partitioning(current, target, ndim)):
        raise ValueError(
            f"with_sharding_constraint: the array is committed to the devices "
            f"{[d.id for d in source]}, but the constraint is for {[d.id for d in destination]}. "
            "To move it to other devices, call device_put(x, sharding)."
        )
    return xla.device_put(x, target)


def _decided(sharding: Sharding, x: ir.ArrayLike) -> Sharding:
    """Replace unconstrained entries of a sharding by those of the array's current sharding."""
    if not isinstance(sharding, NamedSharding):
        return sharding
    current: Sharding | None = getattr(x, "sharding", None)
    if isinstance(sharding.mesh, AbstractMesh):
        sharding = _with_devices(sharding, current)
    if xla.UNCONSTRAINED not in sharding.spec:
        return sharding
    current_spec: tuple[Any, ...] = ()
    if isinstance(current, NamedSharding) and current.mesh == sharding.mesh:
        current_spec = tuple(current.spec)
    # An unconstrained dimension stays sharded as it is, unless the spec uses one of its axes for
    # another dimension: an axis shards one dimension only.
    used = {name for _, name in sharding.spec._axis_names()}
    spec = [
        part if part is not xla.UNCONSTRAINED else now if used.isdisjoint(_names(now)) else None
        for part, now in zip_longest(sharding.spec, current_spec[: len(sharding.spec)])
    ]
    while spec and spec[-1] is None:
        spec.pop()
    return sharding.update(spec=PartitionSpec(*spec))


def _with_devices(sharding: NamedSharding, current: Sharding | None) -> NamedSharding:
    """Replace a sharding's abstract mesh by devices: those that are set, or the array's.

    Raises:
      TypeError: if there are none.
    """
    mesh = sharding.mesh
    device_mesh = xla.on_set_devices(mesh.abstract_mesh)
    if (
        device_mesh is None
        and isinstance(current, NamedSharding)
        and current.num_devices == mesh.size
    ):
        grid = np.array(current._device_assignment, dtype=object).reshape(mesh.axis_sizes)
        device_mesh = Mesh(grid, mesh.axis_names, mesh.axis_types)
    if device_mesh is None:
        raise TypeError(
            f"with_sharding_constraint: the sharding has {mesh}, which has no devices, and the "
            f"array, with {current}, is not on a mesh of {mesh.size}. Set the mesh by "
            "`with set_mesh(mesh):`, or give NamedSharding(mesh, spec) with a mesh of devices."
        )
    return sharding.update(mesh=device_mesh)


sharding_constraint_p: ir.Primitive = ir.define(
    "sharding_constraint",
    sharding=ir.each_its_own,  # it constrains Auto axes, which types do not have
    abstract_eval=lambda x, **params: x,
    jvp=linear,
    transpose=lambda ct, x, **params: [sharding_constraint_p.bind(ct, **params)],
    batch=_constraint_batch,
    lower=_constraint_lower,
    mesh=lambda *, sharding, **params: mesh_of_sharding(sharding),
    eager=lambda x, *, sharding, **params: _move_now(x, sharding, strict=False),
    reference=lambda x, **params: x,
)


def _as_sharding(sharding: object, what: str) -> Sharding:
    """Return a sharding; a ``PartitionSpec`` is one on the mesh that is set."""
    if isinstance(sharding, xla.Layout | xla.AutoLayout):
        raise ValueError(
            f"with_sharding_constraint: {what} has the layout {sharding} alone. Give "
            "Format(layout, sharding), or call with_layout_constraint."
        )
    if sharding is None:
        raise ValueError(
            f"with_sharding_constraint: {what} has the sharding None. Give a sharding, or a "
            "PartitionSpec inside `with set_mesh(mesh):`; an empty PartitionSpec means replicated."
        )
    if isinstance(sharding, PartitionSpec):
        return xla.sharding_in_program(sharding, "with_sharding_constraint")
    if not isinstance(sharding, Sharding):
        raise TypeError(
            f"with_sharding_constraint: the sharding of {what} is {sharding!r}, which is neither a "
            "sharding nor a PartitionSpec."
        )
    return sharding


def _check(sharding: Sharding, x: ir.ArrayLike, what: str) -> None:
    """Raise ``ValueError`` unless a sharding fits an array, and names axes of type ``Auto``."""
    aval = ir.get_aval(x)
    if not isinstance(sharding, NamedSharding):
        return
    now = ir.context.trace is ir.eval_trace and not isinstance(x, ir.Tracer)
    xla.check_fits(sharding, aval.shape, f"with_sharding_constraint: {what}", evenly=now)
    mesh = sharding.mesh
    # The constraint is an assertion then, which is checked against the type.
    if mesh.axis_names and mesh.are_all_axes_explicit:
        return
    types = mesh._name_to_type
    for _, name in sharding.spec._axis_names():
        if types[name] is not xla.AxisType.Auto:
            raise ValueError(
                f"with_sharding_constraint: {sharding.spec} names the axis {name!r}, which is "
                f"{types[name]} in {mesh}. Only axes of type Auto, which the compiler decides on, "
                "can be constrained: make the mesh with axis_types=AxisType.Auto for them."
            )


def _check_in_shards(sharding: NamedSharding, what: str) -> None:
    """Raise ``ValueError`` if a function on shards constrains one of its manual axes."""
    inside: AbstractMesh | None = ir.current_mesh.value
    if inside is None or not inside.manual_axes:
        return
    manual = inside.manual_axes
    wrong = [
        name
        for _, name in sharding.spec._axis_names()
        if name in manual or inside.are_all_axes_manual
    ]
    if wrong:
        raise ValueError(
            f"with_sharding_constraint: {sharding.spec} divides {what} over the mesh axis "
            f"{wrong[0]!r} inside a function that pmap or shard_map runs on the shards along "
            f"{', '.join(map(repr, manual))}. It has the shard of one device there. Constrain the "
            "result outside, or an axis that is not manual."
        )


def _is_an_assertion(sharding: Sharding) -> bool:
    """Whether a sharding has ``Explicit`` axes alone, so that the constraint checks a type."""
    if not isinstance(sharding, NamedSharding):
        return False
    return bool(sharding.mesh.axis_names) and sharding.mesh.are_all_axes_explicit


def _assert_type(sharding: Sharding, x: ir.ArrayLike, what: str) -> None:
    aval = ir.get_aval(x)
    if xla.UNCONSTRAINED in sharding.spec.partitions:  # pyright: ignore
        raise ValueError(
            f"with_sharding_constraint: {sharding} leaves a dimension of {what} to the compiler, "
            "but no axis of the mesh is of type Auto. Write None, or the axis."
        )
    if xla.explicit_sharding(aval.ndim, sharding) != aval.type_sharding:
        # JAX asserts only where a mesh is in force; elsewhere it refuses axes that are not Auto.
        kind = ValueError if ir.current_mesh.value is None else AssertionError
        raise kind(
            "with_sharding_constraint acts as an assertion where all axes of the mesh are "
            f"Explicit: {what} has type {aval.str_short(True)}, which differs from "
            f"{sharding.spec}. Move it with jax.sharding.reshard(x, {sharding.spec})."  # pyright: ignore
        )


def _free_dims(sharding: Sharding) -> frozenset[int]:
    if not isinstance(sharding, NamedSharding):
        return frozenset()
    return frozenset(d for d, part in enumerate(sharding.spec) if part is xla.UNCONSTRAINED)


def constrain(x: ir.ArrayLike, sharding: Sharding, what: str = "a value") -> ir.Array:
    """Constrain the sharding of one array: eagerly, or as an operation of the traced function.

    ``what`` is the array's name in errors.
    """
    if ir.context.trace is ir.eval_trace and not isinstance(x, ir.Tracer):
        return _move_now(x, sharding, strict=True)
    if isinstance(sharding, NamedSharding):
        _check_in_shards(sharding, what)
    return sharding_constraint_p.bind(
        x,
        sharding=sharding,
        layout=None,
        context_mesh=ir.current_mesh.value or xla.entered_mesh() or _no_mesh,
        unconstrained_dims=_free_dims(sharding),
    )


def with_sharding_constraint(x: ir.PyTree, shardings: ir.PyTree) -> ir.PyTree:
    """Constrain the sharding of arrays; inside ``jit``, the compiler honours it.

    Args:
      x: a pytree of arrays.
      shardings: a sharding, a ``PartitionSpec`` for the mesh that is set, a ``Format``, which also
        constrains the layout, or a pytree of these that is a prefix of ``x``. Dimensions that are
        ``PartitionSpec.UNCONSTRAINED`` are left to the compiler.

    Returns:
      The same arrays with these shardings.

    Raises:
      ValueError: if ``shardings`` is not a prefix of ``x``, contains ``None``, does not fit an
        array's rank, or names mesh axes whose type is not ``Auto``, or along which ``pmap`` or
        ``shard_map`` runs the function on shards.
      IndivisibleError: if a sharding cannot divide an array evenly.
      RuntimeError: if a ``PartitionSpec`` is given and no mesh is set.
      TypeError: if a leaf of ``shardings`` is anything else.
      AssertionError: if all axes of the mesh are of type ``Explicit``, and the array's type has
        another sharding.

    Example:
      An intermediate result that should stay sharded. Elsewhere the compiler is free.

      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci import P, lax
      >>> from ricci.sharding import AxisType
      >>> devices = ricci.devices()[:2]
      >>> mesh = ricci.make_mesh((len(devices),), ("x",), (AxisType.Auto,), devices=devices)
      >>> @ricci.jit
      ... def f(x):
      ...     y = jnp.outer(x, x)
      ...     return lax.with_sharding_constraint(y, ricci.NamedSharding(mesh, P("x", None)))
      >>> f(jnp.arange(4.0)).addressable_shards[0].data.shape == (4 // len(devices), 4)
      True

    Source: Shardy ``sharding_constraint``.
    """
    pairs, tree = tree_flatten_with_path(x)
    places = flatten_axes("with_sharding_constraint: shardings", tree, shardings)
    results = []
    for (path, leaf), place in zip(pairs, places, strict=True):
        what = f"x{keystr(path)}"
        layout, place = (
            (place.layout, place.sharding) if isinstance(place, xla.Format) else (None, place)
        )
        sharding = _as_sharding(place, what)
        _check(sharding, leaf, what)
        if _is_an_assertion(sharding):
            _assert_type(sharding, leaf, what)
            results.append(leaf)
        else:
            results.append(constrain(leaf, sharding, what))
        if layout is not None:
            results[-1] = with_layout_constraint(results[-1], layout)
    return tree_unflatten(tree, results)
