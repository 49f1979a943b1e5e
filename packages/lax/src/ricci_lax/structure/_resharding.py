"""Moving a value to another sharding of its type."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from ricci_autodiff import UndefinedPrimal, linear
from ricci_batching import Axis, array_ops
from ricci_ir import (
    Array,
    ArrayLike,
    Primitive,
    ShapedArray,
    TypeSharding,
    cast_varying,
    current_mesh,
    define,
    get_aval,
    lenient_sharding,
    make_type_sharding,
    makes_sharding,
    own_sharding,
    varying,
)
from ricci_lax.rules._law_examples import no_examples
from ricci_stablehlo import Lowering, Value

from ._broadcasting import broadcast_in_dim, reduce_sum_p
from ._placement import placement
from ._transposing import transpose

__all__ = [
    "as_typed",
    "reshard_p",
]


def _resharded(
    avals: Sequence[ShapedArray],
    results: Sequence[ShapedArray],
    *,
    sharding: TypeSharding | None,
    mesh: object,
) -> list[TypeSharding | None]:
    (aval,) = avals
    found = aval.type_sharding
    if sharding is None:
        parts, unreduced, reduced = ((),) * aval.ndim, frozenset(), frozenset()
    else:
        parts, unreduced, reduced = sharding.parts, sharding.unreduced, sharding.reduced
    return [
        make_type_sharding(
            mesh if sharding is None else sharding.mesh,
            parts,
            () if found is None else found.varying,
            unreduced,
            reduced,
        )
    ]


def _reshard_batch(
    axis: Axis,
    args: Sequence[ArrayLike],
    dims: Sequence[int | None],
    *,
    sharding: TypeSharding | None,
    mesh: object,
) -> tuple[Array, int | None]:
    (x,), (dim,) = args, dims
    aval = _aval(x)
    if dim is None:
        return reshard_p.bind(x, sharding=sharding, mesh=mesh), None
    found = aval.type_sharding
    kept: tuple[Hashable, ...] = () if found is None else found.parts[dim]
    if sharding is None:
        parts: tuple[Any, ...] = ((),) * (aval.ndim - 1)
        batched = make_type_sharding(mesh, (*parts[:dim], kept, *parts[dim:]))
    else:
        parts = sharding.parts
        batched = sharding.update(parts=(*parts[:dim], kept, *parts[dim:]))
    return reshard_p.bind(x, sharding=batched, mesh=mesh), dim


def _reshard_lower(
    ctx: Lowering, x: Value, *, sharding: TypeSharding | None, mesh: object
) -> Value:
    """Write the constraint. The compiler may divide further over axes that it decides about."""
    if mesh is None:
        return x
    if sharding is None:
        return ctx.divided(x, mesh, ())
    terms = sharding.sums[0]
    found = x.aval.type_sharding
    if terms and (found is None or not found.sums[0]):
        # Otherwise XLA may take a value that all devices can compute for one of the terms.
        x = ctx.divided(x, mesh, () if found is None else found.parts)
    return ctx.divided(x, mesh, sharding.parts, terms)


def _reshard_transpose(
    ct: Array, x: UndefinedPrimal, *, sharding: TypeSharding | None, mesh: object
) -> list[ArrayLike]:
    """The transpose rule: a cotangent is moved to where the operand's are.

    The cotangent of what is unreduced is reduced, and the other way round.
    """
    found = x.aval.type_sharding
    return [reshard_to(ct, None if found is None else found.cotangent())]


# The same value, divided as ``sharding`` says over the Explicit axes of ``mesh``. What is unreduced
# is summed, if ``sharding`` does not say that it stays so.
reshard_p: Primitive = define(
    "reshard",
    abstract_eval=lambda x, *, sharding, mesh: x,
    jvp=linear,
    transpose=_reshard_transpose,
    batch=_reshard_batch,
    lower=_reshard_lower,
    extended_lower=_reshard_lower,
    exact=lambda x, *, sharding, mesh: x,
    reference=lambda x, *, sharding, mesh: x,
    sharding=makes_sharding(own_sharding(_resharded)),
    shown=lambda **params: {},
    examples=no_examples("it moves a value between the devices of a mesh"),
)


def _aval(x: ArrayLike) -> ShapedArray:
    return get_aval(x)  # pyright: ignore[reportReturnType]


def _explicit_part(sharding: TypeSharding | None) -> Any:
    """What a type says of ``Explicit`` axes; ``None`` if it says nothing."""
    if sharding is None or sharding.mesh is None:
        return None
    return sharding.mesh, sharding.parts, sharding.sums


def reshard_to(x: ArrayLike, sharding: TypeSharding | None) -> ArrayLike:
    """A value divided as a type with ``sharding`` says; itself if it is so already."""
    found = _aval(x).type_sharding
    if _explicit_part(found) == _explicit_part(sharding):
        return x
    mesh = sharding.mesh if sharding is not None else current_mesh.value
    if mesh is None and found is not None:
        mesh = found.mesh
    return reshard_p.bind(x, sharding=sharding, mesh=mesh)


def resolved_by[R](out_sharding: object, apply: Callable[[], R]) -> R:
    """What ``apply()`` returns, moved to a sharding.

    Where it is ambiguous how a result on the way is divided, that is decided, not refused.

    Args:
      out_sharding: what the user gave; ``None`` leaves the result as it is.
      apply: computes an array.
    """
    if out_sharding is None:
        return apply()
    wanted = placement.checked(out_sharding)
    with lenient_sharding(True):
        result = apply()
    return placement.constrain(result, wanted)  # pyright: ignore


def as_typed(x: ArrayLike, aval: ShapedArray) -> Any:
    """A value of the sharding of another type, and varying along its axes at least.

    Args:
      x: the value.
      aval: the type.

    Returns:
      The value, of that sharding.
    """
    wanted = aval.type_sharding
    if wanted is _aval(x).type_sharding:
        return x
    return cast_varying(reshard_to(x, wanted), varying(aval))


array_ops.register(
    broadcast_in_dim=broadcast_in_dim,
    transpose=transpose,
    sum_over=lambda x, dim: reduce_sum_p.bind(x, axes=(dim,), out_sharding=None),
    as_typed=as_typed,
)
