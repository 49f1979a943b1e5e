"""Placement of new arrays: on the device or sharding of a user's argument or another array."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import ricci_ir as ir

from ._operand_types import array_aval

# The package that has devices places arrays on them; a place is a device or a sharding.
# ``(x, place)`` constrains a value; one that is committed to other devices is refused.
constrain_to_place: ir.Hook[Callable[[Any, Any], ir.Array]] = ir.Hook(
    "constraints of places", provided_by="ricci_parallel"
)
# ``(x, place)`` puts a new array there, wherever it was computed.
create_at_place: ir.Hook[Callable[[Any, Any], ir.Array]] = ir.Hook(
    "new arrays at a place", provided_by="ricci_parallel"
)
# ``(x, place)`` is the user's ``device_put``.
put_at_place: ir.Hook[Callable[[Any, Any], ir.Array]] = ir.Hook(
    "device_put", provided_by="ricci_parallel"
)
# The sharding that a user's argument ``out_sharding`` means; it raises where that is none.
checked_out_sharding: ir.Hook[Callable[[Any], Any]] = ir.Hook(
    "shardings of results", provided_by="ricci_parallel"
)


def with_out_sharding(x: ir.Array, out_sharding: object) -> ir.Array:
    """``x`` with the sharding of a user's ``out_sharding``, if it is not ``None``."""
    if out_sharding is None:
        return x
    return constrain_to_place.call(x, checked_out_sharding.call(out_sharding))


def bind_sharded(
    primitive: ir.Primitive,
    operands: Sequence[Any],
    rank: int,
    sharding: object,
    params: dict[str, Any],
    name: str = "sharding",
) -> ir.Array:
    """Bind a primitive with the sharding of its result as a parameter, where types have shardings.

    Args:
      primitive, operands, params: the operation.
      rank: the rank of the result.
      sharding: the result's sharding.
      name: the primitive's parameter for it.
    """
    typed = ir.read_sharding.call(rank, sharding)
    if typed is not None and typed.unreduced and name == "sharding":
        shardings = [array_aval(x).type_sharding for x in operands]
        if not any(s is not None and s.unreduced for s in shardings):
            # The devices' terms add up to the value, which is not itself a term of all.
            filled = primitive.bind(*operands, **params, **{name: typed.update(unreduced=())})
            return constrain_to_place.call(filled, sharding)
    if typed is not None:
        return primitive.bind(*operands, **params, **{name: typed})
    with ir.lenient_sharding(True):
        result = primitive.bind(*operands, **params, **{name: None})
    return constrain_to_place.call(result, sharding)


def bind_placed(
    primitive: ir.Primitive,
    operands: Sequence[Any],
    rank: int,
    out_sharding: object,
    params: dict[str, Any],
    name: str = "sharding",
) -> ir.Array:
    """``bind_sharded`` for a user's ``out_sharding``."""
    return bind_sharded(
        primitive, operands, rank, checked_out_sharding.call(out_sharding), params, name
    )


def place_of(x: object, shape: ir.Shape) -> Any:
    """The sharding or device of ``x`` for an array of another shape, or ``None``.

    It does if it was put somewhere and has that shape or is on one device, or describes an array
    with a sharding.
    """
    if ir.context.trace is not ir.eval_trace or isinstance(x, ir.Tracer):
        described = isinstance(x, ir.ShapeDtypeStruct)
        aval: Any = ir.argument_aval(x) if described else getattr(x, "aval", None)
        if aval is None or aval.type_sharding is None or aval.shape != shape:
            return None
        return aval.sharding if aval.type_sharding.is_sharded else None
    if not getattr(x, "committed", True):
        return None
    sharding: Any = getattr(x, "sharding", None)
    if sharding is None or np.shape(x) == shape:  # pyright: ignore
        return sharding
    devices = tuple(getattr(sharding, "device_set", ()))
    if len(devices) != 1:
        return None
    return sharding if len(getattr(sharding, "spec", ())) <= len(shape) else devices[0]
