"""Weighted averages."""

from typing import Literal, overload

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_numpy import _promotion as promotion
from ricci_numpy.arrays._broadcasting import broadcast
from ricci_numpy.arrays._creation import asarray

from ._axis_reductions import sum
from ._moments import mean
from ._reduced_axes import axis_count, reduced_axes

__all__ = ["average"]


@overload
def average(
    a: ir.ArrayLike,
    axis: ir.Axis = None,
    weights: ir.ArrayLike | None = None,
    returned: Literal[False] = False,
    keepdims: bool = False,
) -> ir.Array: ...
@overload
def average(
    a: ir.ArrayLike,
    axis: ir.Axis = None,
    weights: ir.ArrayLike | None = None,
    *,
    returned: Literal[True],
    keepdims: bool = False,
) -> tuple[ir.Array, ir.Array]: ...
@overload
def average(
    a: ir.ArrayLike,
    axis: ir.Axis = None,
    weights: ir.ArrayLike | None = None,
    returned: bool = False,
    keepdims: bool = False,
) -> ir.Array | tuple[ir.Array, ir.Array]: ...
@ir.dispatched("axis", "returned", "keepdims")
def average(
    a: ir.ArrayLike,
    axis: ir.Axis = None,
    weights: ir.ArrayLike | None = None,
    returned: bool = False,
    keepdims: bool = False,
) -> ir.Array | tuple[ir.Array, ir.Array]:
    """The weighted mean along axes.

    Args:
      a: an array; integers become floats.
      axis: the axis or axes; all without it.
      weights: an array of the shape of ``a``, or of its shape along ``axis``; equal without it.
      returned: also return the sum of the weights.
      keepdims: whether the axes stay, with size 1.

    Returns:
      An array of the shape of ``a`` without the axes, of a float or complex dtype; with
      ``returned`` a tuple of it and the sum of the weights, of the same shape.

    Raises:
      TypeError: if ``a`` or ``weights`` is not an array.
      ValueError: if the shape of the weights does not fit.

    Example:
      >>> import ricci.numpy as jnp
      >>> float(jnp.average(jnp.array([1.0, 3.0]), weights=jnp.array([3, 1])))
      1.5

    Source: numpy.average.
    """
    if weights is None:
        (a,) = promotion.operands("average", a)
        a = asarray(a)
        axes = reduced_axes("average", axis, a.ndim)
        result = mean(a, axes, None, None, keepdims)
        if not returned:
            return result
        count = axis_count(a.shape, axes)
        return result, _counts(result, count=count)
    a, weights = promotion.operands("average", a, weights)
    axes = reduced_axes("average", axis, np.ndim(a))
    result, total = _average(
        a, weights, axes=axes, everywhere=axis is None, keepdims=bool(keepdims)
    )
    return (result, total) if returned else result


@ir.inlined("average")
def _counts(means: ir.Array, *, count: int) -> ir.Array:
    return lax.full_like(means, count)


@ir.inlined("average")
def _average(
    a: ir.Array, weights: ir.Array, *, axes: tuple[int, ...], everywhere: bool, keepdims: bool
) -> tuple[ir.Array, ir.Array]:
    dtype, _ = promotion.inexact_dtype(*promotion.common_dtype(a, weights))
    a, weights = (promotion.convert(asarray(x), dtype) for x in (a, weights))
    if weights.shape != a.shape:
        if everywhere:
            raise ValueError(
                f"average: give the axis, since the weights have shape {weights.shape} and the "
                f"array has {a.shape}."
            )
        if weights.shape != tuple(a.shape[i] for i in axes):
            raise ValueError(
                f"average: the weights have shape {weights.shape}; along the axes {axes} the array "
                f"has {tuple(a.shape[i] for i in axes)}."
            )
        # Weights along ``axes``, in the order in which these are given: they get the order of the
        # array's dimensions, and dimensions of 1 for the others.
        order = sorted(range(len(axes)), key=axes.__getitem__)
        weights = lax.transpose(weights, order) if order != list(range(len(axes))) else weights
        weights = lax.reshape(weights, tuple(n if i in axes else 1 for i, n in enumerate(a.shape)))
    total = sum(weights, axes, None, None, keepdims)
    products = sum(lax.mul(a, weights), axes, None, None, keepdims)
    # Weights along some axes have one total for all of the means.
    total = broadcast(total, products.shape)
    return lax.div(products, total), total
