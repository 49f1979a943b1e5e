"""Kinds of reductions over axes, with their primitives, masks and initial values."""

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_numpy._promotion import INEXACT_DTYPES, convert, operands, strong_constant
from ricci_numpy.arrays._selection import select_where

from ._common_arguments import checked_mask, keep_axes, reduced_axes


def _initial(name: str, initial: ir.ArrayLike, dtype: np.dtype) -> ir.ArrayLike:
    """The initial value of a reduction, as a scalar of its dtype."""
    (initial,) = operands(name, initial)
    shape = np.shape(initial)
    if shape:
        raise ValueError(
            f"{name}: initial has shape {shape}; the reduction of each element starts from one and "
            "the same scalar."
        )
    if hasattr(type(initial), "aval"):
        return convert(initial, dtype)
    return ir.exact_scalar(initial, dtype)


def _lowest(dtype: np.dtype) -> float:
    """The smallest value of a dtype, -inf for floats."""
    if dtype == ir.BOOL:
        return False
    if dtype in INEXACT_DTYPES:
        return -np.inf
    return int(ir.iinfo(dtype).min)


def _highest(dtype: np.dtype) -> float:
    """The largest value of a dtype, inf for floats."""
    if dtype == ir.BOOL:
        return True
    if dtype in INEXACT_DTYPES:
        return np.inf
    return int(ir.iinfo(dtype).max)


class _Kind(ir.TupleRecord):
    """A kind of reduction.

    Attributes:
      primitive: reduces an array along axes.
      combine: the same operation on two values; it brings in the caller's ``initial``.
      neutral: given a dtype, the value that replaces elements which a mask leaves out.
      params: the primitive's parameters beside the axes.
    """

    primitive: ir.Primitive
    combine: Callable[[ir.ArrayLike, ir.ArrayLike], ir.Array]
    neutral: Callable[[np.dtype], float]
    params: dict[str, Any]


_UNSHARDED = {"out_sharding": None}


KINDS = {
    "sum": _Kind(lax.reduce_sum_p, lax.add, lambda dtype: 0, _UNSHARDED),
    "prod": _Kind(lax.reduce_prod_p, lax.mul, lambda dtype: 1, {}),
    "max": _Kind(lax.reduce_max_p, lax.max, _lowest, _UNSHARDED),
    "min": _Kind(lax.reduce_min_p, lax.min, _highest, _UNSHARDED),
    "all": _Kind(lax.reduce_and_p, lax.bitwise_and, lambda dtype: True, {}),
    "any": _Kind(lax.reduce_or_p, lax.bitwise_or, lambda dtype: False, {}),
}


def reduced(
    name: str,
    kind: str,
    a: ir.Array,
    where: ir.ArrayLike | None,
    initial: ir.ArrayLike | None,
    axes: tuple[int, ...],
    keepdims: bool,
) -> ir.Array:
    """Reduce an array that has been converted to the dtype to compute in."""
    primitive, combine, neutral, params = KINDS[kind]
    if where is not None:
        a = select_where(where, a, strong_constant(a.dtype, neutral(a.dtype)), name)
    result = primitive.bind(a, axes=axes, **params)
    if initial is not None:
        result = combine(_initial(name, initial, a.dtype), result)
    return keep_axes(result, axes) if keepdims else result


def reduction_operands(
    name: str,
    a: ir.ArrayLike,
    axis: ir.Axis,
    mask: ir.ArrayLike | None = None,
    initial: ir.ArrayLike | None = None,
) -> tuple[Any, Any, Any, tuple[int, ...]]:
    """Check the arguments that all reductions take.

    Returns:
      The array, the mask and the initial value as operands, or ``None``, and the axes.
    """
    (a,) = operands(name, a)
    axes = reduced_axes(name, axis, np.ndim(a))
    if mask is not None:
        mask = checked_mask(name, mask)
    if initial is not None:
        (initial,) = operands(name, initial)
    return a, mask, initial, axes


def any_zero(shape: tuple[int, ...], axes: tuple[int, ...]) -> bool:
    """Whether one of the axes of a shape has size 0."""
    return builtins.any(shape[i] == 0 for i in axes)
