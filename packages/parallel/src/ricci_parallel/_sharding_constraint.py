"""How a value inside a program is to be spread over devices: ``with_sharding_constraint``."""

from typing import Any

from ricci_autodiff import linear
from ricci_ir import Tracer, context, define, eval_trace, get_aval
from ricci_pytree import flatten_axes, keystr, tree_flatten_with_path, tree_unflatten
from ricci_stablehlo import Lowering, Value, string, tensor_type
from ricci_xla import (
    UNCONSTRAINED,
    AxisType,
    Mesh,
    NamedSharding,
    PartitionSpec,
    Sharding,
    device_put,
    entered_mesh,
)


class _NoMesh:
    """Says that no mesh was entered."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "Mesh()"


_no_mesh = _NoMesh()


def _names(part: Any) -> tuple:
    if part is None:
        return ()
    return part if isinstance(part, tuple) else (part,)


def _batched_sharding(sharding: Any, ndim: int, dim: int, spmd_name: Any) -> Any:
    """The sharding of a batch at ``dim`` of arrays of ``ndim`` dimensions."""
    if not isinstance(sharding, NamedSharding):
        return sharding
    spec = [*sharding.spec, *[None] * (ndim - len(sharding.spec))]
    spec.insert(dim, UNCONSTRAINED if spmd_name is None else spmd_name)
    while spec and spec[-1] is None:
        spec.pop()
    return sharding.update(spec=PartitionSpec(*spec))


def _constraint_batch(axis, args, dims, *, sharding, unconstrained_dims, **params):
    (x,), (dim,) = args, dims
    aval: Any = get_aval(x)
    free = {d + (d >= dim) for d in unconstrained_dims}
    if axis.spmd_name is None:
        free.add(dim)
    result = sharding_constraint_p.bind(
        x,
        sharding=_batched_sharding(sharding, aval.ndim - 1, dim, axis.spmd_name),
        unconstrained_dims=frozenset(free),
        **params,
    )
    return result, dim


def _constraint_lower(ctx: Lowering, x: Value, *, sharding, **params) -> Value:
    ndim = len(x.shape)
    if isinstance(sharding, NamedSharding):
        mesh = ctx.module.mesh(tuple(sharding.mesh.shape.items()))
        spec = [*sharding.spec, *[None] * (ndim - len(sharding.spec))]
    else:
        mesh, spec = ctx.module.mesh(()), [None] * ndim
    parts = (
        "{?}" if part is UNCONSTRAINED else f"{{{', '.join(string(str(n)) for n in _names(part))}}}"
        for part in spec
    )
    name = ctx.new_name()
    ctx.write(
        f"{name} = sdy.sharding_constraint {x} <@{mesh}, [{', '.join(parts)}]> : "
        f"{tensor_type(x.aval)}"
    )
    return Value(name, x.aval)


def mesh_of_sharding(sharding: Any) -> Mesh | None:
    """The mesh of devices that a sharding lays arrays out on, if it names one."""
    if isinstance(sharding, NamedSharding) and isinstance(sharding.mesh, Mesh):
        return sharding.mesh
    return None


sharding_constraint_p = define(
    "sharding_constraint",
    abstract_eval=lambda x, **params: x,
    jvp=linear,
    transpose=lambda ct, x, **params: [sharding_constraint_p.bind(ct, **params)],
    batch=_constraint_batch,
    lower=_constraint_lower,
    mesh=lambda *, sharding, **params: mesh_of_sharding(sharding),
    eager=lambda x, *, sharding, **params: device_put(x, sharding),
)


def _as_sharding(where: Any, what: str) -> Any:
    if where is None:
        raise ValueError(
            f"with_sharding_constraint: {what} is given the sharding None. Give a sharding, or a "
            "PartitionSpec inside `with mesh:`; an empty PartitionSpec says replicated."
        )
    if isinstance(where, PartitionSpec):
        mesh = entered_mesh()
        if mesh is None:
            raise RuntimeError(
                f"with_sharding_constraint: {where} names axes of a mesh, and no mesh is entered. "
                "Call it inside `with mesh:`, or give NamedSharding(mesh, spec)."
            )
        return NamedSharding(mesh, where)
    if not isinstance(where, Sharding):
        raise TypeError(
            f"with_sharding_constraint: {where!r}, for {what}, is neither a sharding nor a "
            "PartitionSpec."
        )
    return where


def _check(sharding: Any, x: Any, what: str) -> None:
    aval: Any = get_aval(x)
    if not isinstance(sharding, NamedSharding):
        return
    if len(sharding.spec) > aval.ndim:
        raise ValueError(
            f"with_sharding_constraint: {what} has shape {aval.shape}, and {sharding.spec} is for "
            f"{len(sharding.spec)} dimensions. Shorten the spec"
            f"{'; a scalar takes PartitionSpec()' if not aval.ndim else ''}."
        )
    mesh = sharding.mesh
    types = dict(zip(mesh.axis_names, mesh.axis_types, strict=True))
    for _, name in sharding.spec._axis_names():
        if types[name] is not AxisType.Auto:
            raise ValueError(
                f"with_sharding_constraint: {sharding.spec} names the axis {name!r}, which is "
                f"{types[name]} in {mesh}. Only axes that the compiler decides on can be "
                "constrained: make the mesh with axis_types=AxisType.Auto for them."
            )


def _free_dims(sharding: Any) -> frozenset[int]:
    if not isinstance(sharding, NamedSharding):
        return frozenset()
    return frozenset(d for d, part in enumerate(sharding.spec) if part is UNCONSTRAINED)


def constrain(x: Any, sharding: Any) -> Any:
    """One array with a sharding: laid out that way now, or when the program runs."""
    if context.trace is eval_trace and not isinstance(x, Tracer):
        return device_put(x, sharding)
    return sharding_constraint_p.bind(
        x,
        sharding=sharding,
        layout=None,
        context_mesh=entered_mesh() or _no_mesh,
        unconstrained_dims=_free_dims(sharding),
    )


def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """The same arrays, spread over devices as said; inside a program, the compiler sees to it.

    Args:
      x: a pytree of arrays.
      shardings: a sharding, a ``PartitionSpec`` for the mesh that is entered, or a pytree of
        these that is a prefix of ``x``. Dimensions that are ``PartitionSpec.UNCONSTRAINED`` are
        left to the compiler.

    Raises:
      ValueError: if ``shardings`` is no prefix of ``x``, holds ``None``, does not fit an array's
        rank, or names mesh axes that are not ``Auto``.
      RuntimeError: if a ``PartitionSpec`` is given and no mesh is entered.
      TypeError: if anything else is given.

    Example:
      >>> import numpy as np
      >>> from ricci_xla import Mesh, NamedSharding, P, devices
      >>> sharding = NamedSharding(Mesh(devices()[:1], "x"), P("x"))
      >>> with_sharding_constraint(np.ones(2, np.float32), sharding).sharding.spec
      P('x',)

    Source: Shardy ``sharding_constraint``.
    """
    pairs, tree = tree_flatten_with_path(x)
    places = flatten_axes("with_sharding_constraint: shardings", tree, shardings)
    results = []
    for (path, leaf), where in zip(pairs, places, strict=True):
        what = f"x{keystr(path)}"
        sharding = _as_sharding(where, what)
        _check(sharding, leaf, what)
        results.append(constrain(leaf, sharding))
    return tree_unflatten(tree, results)
