"""Kinds of reductions over axes: arguments, primitives, masks, initial values and dtypes."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_numpy import _promotion as promotion
from ricci_numpy.arrays._broadcasting import select_where

from ._reduced_axes import ReducedAxis, keep_axes, reduce_along, reduced_and_named_axes

_FLOAT32 = np.dtype("float32")
# Dtypes whose sums are computed in float32.
_SHORT_FLOATS = frozenset((np.dtype(ir.bfloat16), np.dtype("float16")))


def checked_mask(name: str, mask: ir.ArrayLike) -> ir.ArrayLike:
    """The mask of a reduction.

    Raises:
      TypeError: if it is not an array.
      ValueError: if it is not boolean.
    """
    (mask,) = promotion.operands(name, mask)
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
        return ir.python_scalar_dtype(int) if promote_integers else promotion.INT32
    # As in NumPy, short integers are added in the default width, those without a sign in one
    # without.
    if promote_integers and dtype not in promotion.INEXACT_DTYPES:
        default = ir.python_scalar_dtype(int)
        if ir.issubdtype(dtype, np.unsignedinteger):
            default = ir.canonicalize_dtype(ir.UINTS[-1])
        return default if dtype.itemsize < default.itemsize else dtype
    return dtype


def accumulated_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype of the accumulator of a sum with a result of this dtype."""
    return _FLOAT32 if dtype in _SHORT_FLOATS else dtype


def _initial(name: str, initial: ir.ArrayLike, dtype: np.dtype) -> ir.ArrayLike:
    """The initial value of a reduction, as a scalar of its dtype."""
    (initial,) = promotion.operands(name, initial)
    shape = np.shape(initial)
    if shape:
        raise ValueError(
            f"{name}: initial has shape {shape}; the reduction of each element starts from one and "
            "the same scalar."
        )
    if hasattr(type(initial), "aval"):
        return promotion.convert(initial, dtype)
    return ir.exact_scalar(initial, dtype)


def _bound(upper: bool, dtype: np.dtype) -> float:
    """The lowest or the highest value of a dtype."""
    if dtype == ir.BOOL:
        return upper
    if dtype in promotion.INEXACT_DTYPES:
        return np.inf if upper else -np.inf
    limits = ir.iinfo(dtype)
    return int(limits.max if upper else limits.min)


class _Kind(ir.TupleRecord):
    """A kind of reduction.

    Attributes:
      primitive: reduces an array along axes.
      combine: the same operation on two values; it brings in the caller's ``initial``.
      neutral: given a dtype, the value that replaces elements which a mask leaves out.
      params: the primitive's parameters beside the axes.
      collective: the same reduction over named axes, a kind of ``ir.axis_reduction``, or ``None``.
    """

    primitive: ir.Primitive
    combine: Callable[[ir.ArrayLike, ir.ArrayLike], ir.Array]
    neutral: Callable[[np.dtype], float]
    params: dict[str, Any]
    collective: str | None = None


_UNSHARDED = {"out_sharding": None}


KINDS = {
    "sum": _Kind(lax.reduce_sum_p, lax.add, lambda dtype: 0, _UNSHARDED, "sum"),
    "prod": _Kind(lax.reduce_prod_p, lax.mul, lambda dtype: 1, {}),
    "max": _Kind(lax.reduce_max_p, lax.max, partial(_bound, False), _UNSHARDED, "max"),
    "peak": _Kind(
        lax.reduce_max_p, lax.max, partial(_bound, False), {**_UNSHARDED, "keeps_nan": False}, "max"
    ),
    "min": _Kind(lax.reduce_min_p, lax.min, partial(_bound, True), _UNSHARDED, "min"),
    "all": _Kind(lax.reduce_and_p, lax.bitwise_and, lambda dtype: True, {}),
    "any": _Kind(lax.reduce_or_p, lax.bitwise_or, lambda dtype: False, {}),
}


def reduced(
    name: str,
    kind: str,
    a: ir.Array,
    where: ir.ArrayLike | None,
    initial: ir.ArrayLike | None,
    axes: tuple[ReducedAxis, ...],
    keepdims: bool,
) -> ir.Array:
    """Reduce an array that has been converted to the dtype to compute in."""
    primitive, combine, neutral, params, collective = KINDS[kind]
    # Masked elements become the neutral one, which leaves a reduction unchanged; so an empty
    # selection has that as its result.
    if where is not None:
        a = select_where(where, a, promotion.strong_constant(a.dtype, neutral(a.dtype)), name)
    result = reduce_along(name, collective, primitive, a, axes, params)
    if initial is not None:
        result = combine(_initial(name, initial, a.dtype), result)
    return keep_axes(result, axes) if keepdims else result


def reduction_operands(
    name: str,
    a: ir.ArrayLike,
    axis: ir.Axis,
    mask: ir.ArrayLike | None = None,
    initial: ir.ArrayLike | None = None,
) -> tuple[Any, Any, Any, tuple[ReducedAxis, ...]]:
    """Check the arguments that all reductions take.

    Returns:
      The array, the mask and the initial value as operands, or ``None``, and the axes.
    """
    (a,) = promotion.operands(name, a)
    axes = reduced_and_named_axes(name, axis, np.ndim(a))
    if mask is not None:
        mask = checked_mask(name, mask)
    if initial is not None:
        (initial,) = promotion.operands(name, initial)
    return a, mask, initial, axes
