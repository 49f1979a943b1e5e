"""Checks of arguments: types of operands, shapes, axes, and placements of new arrays."""

from collections.abc import Callable, Sequence
from operator import index
from typing import Any, cast

import numpy as np

import ricci_ir as ir

type _Classes = tuple[type[np.generic], ...]

# The dtypes that a family accepts, as a tuple of NumPy's abstract scalar classes.
real_valued: _Classes = (np.integer, np.floating)
floating: _Classes = (np.floating,)
inexact: _Classes = (np.floating, np.complexfloating)
numeric: _Classes = (np.integer, np.floating, np.complexfloating)
integral: _Classes = (np.integer,)
logical: _Classes = (np.bool_, np.integer)
anything: _Classes = (np.bool_, np.integer, np.floating, np.complexfloating)


def check_dtype(name: str, aval: ir.ShapedArray, accepted: Sequence[type]) -> None:
    """Raise ``TypeError`` unless an operand's dtype is of one of the accepted kinds."""
    if not any(ir.issubdtype(aval.dtype, kind) for kind in accepted):
        kinds = ", ".join(kind.__name__ for kind in accepted)
        raise TypeError(
            f"{name} is not defined for dtype {aval.dtype}, only for {kinds}. Convert the "
            "operand with astype first."
        )


def broadcast_result_shape(name: str, *avals: ir.ShapedArray) -> tuple[int, ...]:
    """The shape of an elementwise result: operands are scalars, or of one rank.

    Raises:
      TypeError: if ranks differ, or two sizes differ and neither is 1.
    """
    shapes = [aval.shape for aval in avals if aval.shape]
    if not shapes:
        return ()
    first = shapes[0]
    if all(shape == first for shape in shapes):
        return first
    if len({len(shape) for shape in shapes}) != 1:
        raise TypeError(
            f"{name}: the operands have different numbers of dimensions: "
            f"{', '.join(aval.str_short() for aval in avals)}. Reshape or broadcast them "
            "first."
        )
    result = []
    for sizes in zip(*shapes, strict=True):
        wide = {n for n in sizes if n != 1}
        if len(wide) > 1:
            raise TypeError(
                ir.explained(
                    f"{name}: incompatible shapes for broadcasting, "
                    f"{', '.join(str(shape) for shape in shapes)}. Along each dimension, sizes "
                    "must agree or be 1.",
                    "shapes",
                )
            )
        result.append(wide.pop() if wide else 1)
    return tuple(result)


def check_same_dtype(name: str, *avals: ir.ShapedArray) -> None:
    """Raise ``TypeError`` unless all operands have one dtype."""
    if any(aval.dtype != avals[0].dtype for aval in avals[1:]):
        raise TypeError(
            f"{name}: the operands differ in dtype: "
            f"{', '.join(str(aval.dtype) for aval in avals)}. Convert them with astype, or "
            "use ricci.numpy, which promotes."
        )


# ``get_aval`` of an array: such a type has a shape and a dtype.
array_aval = cast(Callable[[Any], ir.ShapedArray], ir.get_aval)


def shape_of(x: ir.ArrayLike) -> tuple[int, ...]:
    """The shape of an array, a tracer or a scalar."""
    return array_aval(x).shape


def as_sizes(shape: ir.ShapeLike) -> tuple[int, ...]:
    """A user's shape as a tuple of ints; a single int is a shape of one dimension.

    Raises:
      TypeError: if it is not a sequence of concrete integers.
    """
    try:
        return ir.to_sizes(shape)
    except TypeError:
        try:
            return (ir.as_size(shape),)
        except TypeError:
            raise TypeError(
                f"invalid shape {shape!r}: give integers that are known while tracing. A size that "
                "depends on an argument of jit must be computed outside, or be a static "
                "argument."
            ) from None


def canonical_axis(axis: int, ndim: int) -> int:
    """An axis counted from the start.

    Raises:
      ValueError: if the array has no such axis.
    """
    axis = index(axis)
    if not -ndim <= axis < ndim:
        raise ValueError(f"axis {axis} is out of bounds for an array of dimension {ndim}.")
    return axis + ndim if axis < 0 else axis


def check_nonnegative(name: str, shape: Sequence[int]) -> None:
    """Raise ``TypeError`` for a shape with a negative size."""
    if any(size < 0 for size in shape):
        raise TypeError(f"{name}: the shape {shape} has a dimension of negative size.")


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
