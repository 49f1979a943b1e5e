"""Types of operands, and users' shapes and axes, with checks."""

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
