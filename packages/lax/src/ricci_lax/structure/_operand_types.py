"""Checks of the dtypes and shapes of operands, shared by families of primitives."""

from collections.abc import Sequence

import numpy as np

from ricci_ir import ShapedArray, issubdtype

type _Classes = tuple[type[np.generic], ...]

# The dtypes that a family accepts, as a tuple of NumPy's abstract scalar classes.
real_valued: _Classes = (np.integer, np.floating)
floating: _Classes = (np.floating,)
inexact: _Classes = (np.floating, np.complexfloating)
numeric: _Classes = (np.integer, np.floating, np.complexfloating)
integral: _Classes = (np.integer,)
logical: _Classes = (np.bool_, np.integer)
anything: _Classes = (np.bool_, np.integer, np.floating, np.complexfloating)


def check_dtype(name: str, aval: ShapedArray, accepted: Sequence[type]) -> None:
    """Raise ``TypeError`` unless an operand's dtype is of one of the accepted kinds."""
    if not any(issubdtype(aval.dtype, kind) for kind in accepted):
        kinds = ", ".join(kind.__name__ for kind in accepted)
        raise TypeError(
            f"{name} is not defined for dtype {aval.dtype}, only for {kinds}. Convert the "
            "operand with astype first."
        )


def broadcast_result_shape(name: str, *avals: ShapedArray) -> tuple[int, ...]:
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
                f"{name}: incompatible shapes for broadcasting, "
                f"{', '.join(str(shape) for shape in shapes)}. Along each dimension, sizes must "
                "agree or be 1."
            )
        result.append(wide.pop() if wide else 1)
    return tuple(result)


def check_same_dtype(name: str, *avals: ShapedArray) -> None:
    """Raise ``TypeError`` unless all operands have one dtype."""
    if any(aval.dtype != avals[0].dtype for aval in avals[1:]):
        raise TypeError(
            f"{name}: the operands differ in dtype: "
            f"{', '.join(str(aval.dtype) for aval in avals)}. Convert them with astype, or "
            "use ricci.numpy, which promotes."
        )
