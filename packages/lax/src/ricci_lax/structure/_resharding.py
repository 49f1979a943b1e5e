"""Moving a value to another sharding of its type."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import ricci_ir as ir
from ricci_autodiff import UndefinedPrimal, linear
from ricci_batching import Axis, batch_broadcast, batch_of_type, batch_sum, batch_transpose
from ricci_stablehlo import Lowering, Value

from ._broadcasting import broadcast_in_dim, reduce_sum_p
from ._operand_types import checked_out_sharding, constrain_to_place
from ._transposing import transpose

__all__ = ["as_typed", "reshard_p"]


def _resharded(
    avals: Sequence[ir.ShapedArray],
    results: Sequence[ir.ShapedArray],
    *,
    sharding: ir.TypeSharding | None,
    mesh: object,
) -> list[ir.TypeSharding | None]:
    (aval,) = avals
    current = aval.type_sharding
    if sharding is None:
        parts, unreduced, reduced = ((),) * aval.ndim, frozenset(), frozenset()
    else:
        parts, unreduced, reduced = sharding.parts, sharding.unreduced, sharding.reduced
    return [
        ir.make_type_sharding(
            mesh if sharding is None else sharding.mesh,
            parts,
            () if current is None else current.varying,
            unreduced,
            reduced,
        )
    ]


def _reshard_batch(
    axis: Axis,
    args: Sequence[ir.ArrayLike],
    dims: Sequence[int | None],
    *,
    sharding: ir.TypeSharding | None,
    mesh: object,
) -> tuple[ir.Array, int | None]:
    (x,), (dim,) = args, dims
    aval = _aval(x)
    if dim is None:
        return reshard_p.bind(x, sharding=sharding, mesh=mesh), None
    current = aval.type_sharding
    batch_axes: tuple[Hashable, ...] = () if current is None else current.parts[dim]
    if sharding is None:
        parts: tuple[Any, ...] = ((),) * (aval.ndim - 1)
        batched = ir.make_type_sharding(mesh, (*parts[:dim], batch_axes, *parts[dim:]))
    else:
        parts = sharding.parts
        batched = sharding.update(parts=(*parts[:dim], batch_axes, *parts[dim:]))
    return reshard_p.bind(x, sharding=batched, mesh=mesh), dim


def _reshard_lower(
    ctx: Lowering, x: Value, *, sharding: ir.TypeSharding | None, mesh: object
) -> Value:
    """Write the constraint. The compiler may shard further over its automatic axes."""
    if mesh is None:
        return x
    if sharding is None:
        return ctx.sharded(x, mesh, ())
    terms = sharding.sums[0]
    current = x.aval.type_sharding
    if terms and (current is None or not current.sums[0]):
        # Otherwise XLA may take a value that all devices can compute for one of the terms.
        x = ctx.sharded(x, mesh, () if current is None else current.parts)
    return ctx.sharded(x, mesh, sharding.parts, terms)


def _reshard_transpose(
    ct: ir.Array, x: UndefinedPrimal, *, sharding: ir.TypeSharding | None, mesh: object
) -> list[ir.ArrayLike]:
    """The transpose rule: a cotangent is resharded to the operand's cotangent sharding.

    The cotangent of an unreduced value is reduced, and vice versa.
    """
    current = x.aval.type_sharding
    return [reshard_to(ct, None if current is None else current.cotangent())]


# The same value, sharded by ``sharding`` over the Explicit axes of ``mesh``. Unreduced values are
# summed, unless they are unreduced in ``sharding``, too.
reshard_p: ir.Primitive = ir.define(
    "reshard",
    abstract_eval=lambda x, *, sharding, mesh: x,
    jvp=linear,
    transpose=_reshard_transpose,
    batch=_reshard_batch,
    lower=_reshard_lower,
    extended_lower=_reshard_lower,
    exact=lambda x, *, sharding, mesh: x,
    reference=lambda x, *, sharding, mesh: x,
    sharding=ir.makes_sharding(ir.own_sharding(_resharded)),
    shown=lambda **params: {},
)


def _aval(x: ir.ArrayLike) -> ir.ShapedArray:
    return ir.get_aval(x)  # pyright: ignore[reportReturnType]


def _explicit_part(sharding: ir.TypeSharding | None) -> Any:
    """The sharding of a type over ``Explicit`` axes, comparable; ``None`` if there is none."""
    if sharding is None or sharding.mesh is None:
        return None
    return sharding.mesh, sharding.parts, sharding.sums


def reshard_to(x: ir.ArrayLike, sharding: ir.TypeSharding | None) -> ir.ArrayLike:
    """A value resharded to a type's ``sharding``; unchanged if it has it already."""
    current = _aval(x).type_sharding
    if _explicit_part(current) == _explicit_part(sharding):
        return x
    mesh = sharding.mesh if sharding is not None else ir.current_mesh.value
    if mesh is None and current is not None:
        mesh = current.mesh
    return reshard_p.bind(x, sharding=sharding, mesh=mesh)


def resolved_by[R](out_sharding: object, apply: Callable[[], R]) -> R:
    """Return ``apply()``, resharded.

    An ambiguous sharding of an intermediate result is decided, rather than an error.

    Args:
      out_sharding: the user's argument; ``None`` leaves the result unchanged.
      apply: computes an array.
    """
    if out_sharding is None:
        return apply()
    target = checked_out_sharding.call(out_sharding)
    with ir.lenient_sharding(True):
        result = apply()
    return constrain_to_place.call(result, target)  # pyright: ignore


def as_typed(x: ir.ArrayLike, aval: ir.ShapedArray) -> Any:
    """A value resharded to another type, and varying at least along its axes.

    Args:
      x: the value.
      aval: the type.

    Returns:
      The value, of that sharding.
    """
    target = aval.type_sharding
    if target is _aval(x).type_sharding:
        return x
    return ir.cast_varying(reshard_to(x, target), ir.varying(aval))


batch_broadcast.provide(broadcast_in_dim)
batch_transpose.provide(transpose)
batch_sum.provide(lambda x, dim: reduce_sum_p.bind(x, axes=(dim,), out_sharding=None))
batch_of_type.provide(as_typed)
