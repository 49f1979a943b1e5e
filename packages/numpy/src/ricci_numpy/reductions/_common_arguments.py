"""Common arguments of reductions: axes, masks, and the dtypes of accumulation."""

from operator import index

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_numpy._axes import axis_tuple
from ricci_numpy._promotion import INEXACT_DTYPES, INT32, operands

_FLOAT32 = np.dtype("float32")
# Dtypes whose sums are computed in float32.
_SHORT_FLOATS = frozenset((np.dtype(ir.bfloat16), np.dtype("float16")))


def reduced_axes(name: str, axis: ir.Axis, ndim: int) -> tuple[int, ...]:
    """The axes to reduce, counted from the start.

    Args:
      name: the function, for messages.
      axis: an int, a sequence of ints, or ``None`` for all.
      ndim: the number of axes of the array.

    Raises:
      AxisError: if an axis is out of bounds; it is a ``ValueError`` and an ``IndexError``.
      ValueError: if one is given twice.
      TypeError: if one is not an integer.
    """
    if axis is None:
        return tuple(range(ndim))
    if type(axis) is int:
        if -ndim <= axis < ndim:
            return (axis % ndim,)
        numbers: tuple = (axis,)
    else:
        numbers = tuple(map(index, axis_tuple(axis)))
    for i in numbers:
        if not -ndim <= i < ndim:
            raise np.exceptions.AxisError(
                f"{name}: axis {i} is out of bounds for an array of dimension {ndim}."
            )
    axes = tuple(i % ndim for i in numbers)
    if len(set(axes)) != len(axes):
        raise ValueError(f"{name}: an axis is given twice in axis={axis}.")
    return axes


def no_out(name: str, out: object) -> None:
    """Raise if ``out`` is given: arrays do not change, so results are not written to one."""
    if out is not None:
        raise NotImplementedError(
            f"{name}: out= is not supported, since arrays do not change. Use the result."
        )


def keep_axes(x: ir.Array, axes: tuple[int, ...]) -> ir.Array:
    """A reduced array with sizes of 1 where the reduced axes were."""
    return lax.expand_dims(x, axes) if axes else x


def checked_mask(name: str, mask: ir.ArrayLike) -> ir.ArrayLike:
    """The mask of a reduction.

    Raises:
      TypeError: if it is not an array.
      ValueError: if it is not boolean.
    """
    (mask,) = operands(name, mask)
    dtype = ir.get_aval(mask).dtype
    if dtype != ir.BOOL:
        raise ValueError(
            f"{name}: where must be a boolean mask, got dtype {dtype}. Convert it, as with "
            "where != 0."
        )
    return mask


def sum_dtype(dtype: np.dtype, promote_integers: bool = True) -> np.dtype:
    """The dtype of a sum or product: at least the default int for booleans and integers."""
    if dtype == ir.BOOL:
        return ir.python_scalar_dtype(int) if promote_integers else INT32
    if promote_integers and dtype not in INEXACT_DTYPES:
        default = ir.python_scalar_dtype(int)
        if ir.issubdtype(dtype, np.unsignedinteger):
            default = ir.canonicalize_dtype(ir.UINTS[-1])
        return default if dtype.itemsize < default.itemsize else dtype
    return dtype


def accumulated_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype of the accumulator of a sum with a result of this dtype."""
    return _FLOAT32 if dtype in _SHORT_FLOATS else dtype
