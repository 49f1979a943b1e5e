"""Means, variances and standard deviations."""

from collections.abc import Callable
from math import floor
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_ir import Array, ArrayLike, Axis, DTypeLike, Shape
from ricci_numpy import _promotion as promotion
from ricci_numpy.arrays._broadcasting import select_where
from ricci_numpy.arrays._creation import asarray, chosen_dtype

from ._axis_reductions import sum
from ._kinds import accumulated_dtype, checked_mask
from ._reduced_axes import ReducedAxis, axis_count, keep_axes, reduce_along, reduced_and_named_axes

__all__ = ["mean", "std", "var"]


def masked_count(
    name: str, mask: ArrayLike, shape: Shape, axis: Axis, dtype: np.dtype, keepdims: bool
) -> Array:
    """The number of elements that a mask selects for each result, as an array of ``dtype``."""
    mask = checked_mask(name, mask)
    # The mask is broadcast to the array first: each element that it covers counts.
    if np.shape(mask) != shape:
        mask = select_where(mask, np.ones(shape, bool), np.zeros((), bool)[()], name)
    return sum(mask, axis, dtype, None, keepdims)


@ir.dispatched("axis", "dtype", "out", "keepdims")
def mean(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> Array:
    """The arithmetic mean along axes.

    Args:
      a: an array; integers become floats.
      axis: the axis or axes to reduce; all without it.
      dtype: the dtype of the result and of the computation.
      out: not supported.
      keepdims: whether the axes stay, with size 1.
      where: a boolean mask that broadcasts with ``a``; other elements are left out.

    Returns:
      An array of the shape of ``a`` without the axes, of a float or complex dtype.

    Raises:
      TypeError: if ``a`` is not an array.
      ValueError: if an axis is out of bounds or given twice.

    Of float16 and bfloat16 the sum is taken in float32. The mean of no element is NaN.

    Example:
      >>> import ricci.numpy as jnp
      >>> x = jnp.array([[1, 2, 6], [4, 4, 4]])
      >>> jnp.mean(x, axis=1).tolist()
      [3.0, 4.0]
      >>> (x - jnp.mean(x, axis=1, keepdims=True)).tolist()
      [[-2.0, -1.0, 3.0], [0.0, 0.0, 0.0]]
      >>> jnp.mean(x, axis=1, where=x < 5).tolist()
      [1.5, 4.0]

    See also:
      ``nanmean``; ``average``, with weights.

    Source: numpy.mean.
    """
    promotion.no_out("mean", out)
    dtype = chosen_dtype(dtype, "mean")
    return mean_of("mean", a, axis, dtype, keepdims, where)


def mean_of(
    name: str,
    a: ArrayLike,
    axis: Axis,
    dtype: np.dtype | None,
    keepdims: bool,
    mask: ArrayLike | None,
) -> Array:
    """``mean``, with a dtype that has been checked, for the function ``name``."""
    (a,) = promotion.operands(name, a)
    axes = reduced_and_named_axes(name, axis, np.ndim(a))
    if mask is not None:
        mask = checked_mask(name, mask)
    return _mean(a, mask, axes=axes, dtype=dtype, keepdims=bool(keepdims))


@ir.inlined("mean")
def _mean(
    a: Array,
    where: Array | None,
    *,
    axes: tuple[ReducedAxis, ...],
    dtype: np.dtype | None,
    keepdims: bool,
) -> Array:
    a = asarray(a)
    result_dtype = promotion.inexact_dtype(a.dtype)[0] if dtype is None else dtype
    computed = accumulated_dtype(result_dtype) if dtype is None else result_dtype
    a = promotion.convert(a, computed)
    if where is not None:
        count = masked_count("mean", where, a.shape, axes, computed, keepdims)
        total = sum(a, axes, computed, None, keepdims, None, where)
        return promotion.convert(lax.div(total, count), result_dtype)
    total = reduce_along("mean", "sum", lax.reduce_sum_p, a, axes, {"out_sharding": None})
    if keepdims:
        total = keep_axes(total, axes)
    count = promotion.strong_constant(computed, axis_count(a.shape, axes))
    return promotion.convert(lax.div(total, count), result_dtype)


@ir.dispatched("axis", "dtype", "out", "ddof", "keepdims", "correction")
def var(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
    correction: float | None = None,
) -> Array:
    """The variance along axes: the mean of the squared distances from the mean.

    Args:
      a: an array; integers become floats.
      axis: the axis or axes to reduce; all without it.
      dtype: the dtype of the result and of the computation. Of an integer one the quotients are
        cut off, and the result is a weakly typed float.
      out: not supported.
      ddof: the sum of squares is divided by the number of elements minus this.
      keepdims: whether the axes stay, with size 1.
      where: a boolean mask that broadcasts with ``a``; other elements are left out.
      mean: the mean, if already computed, of a shape that broadcasts with ``a``.
      correction: another name of ``ddof``.

    Returns:
      An array of the shape of ``a`` without the axes, of a float dtype, which is real for complex
      elements.

    Raises:
      TypeError: if ``a`` is not an array.
      ValueError: if both ``ddof`` and ``correction`` are given, or an axis is out of bounds.

    Example:
      >>> import ricci.numpy as jnp
      >>> x = jnp.array([[1.0, 3.0], [2.0, 2.0]])
      >>> jnp.var(x, axis=1).tolist(), jnp.var(x, axis=1, ddof=1).tolist()
      ([1.0, 0.0], [2.0, 0.0])

    See also:
      ``std``, its square root.

    Source: numpy.var.
    """
    promotion.no_out("var", out)
    dtype = chosen_dtype(dtype, "var")
    return _variance("var", a, axis, dtype, _ddof("var", ddof, correction), keepdims, where, mean)


@ir.dispatched("axis", "dtype", "out", "ddof", "keepdims", "correction")
def std(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
    correction: float | None = None,
) -> Array:
    """The standard deviation along axes, the square root of the variance; see ``var``.

    Args:
      a, axis, dtype, out, ddof, keepdims, where, mean, correction: as for ``var``.

    Returns:
      An array of the shape of ``a`` without the axes, of a float dtype.

    Raises:
      ValueError: as ``var`` does.

    As in NumPy the sum is divided by the number of elements; for an estimate from a sample give
    ``ddof=1``. Where all elements are equal the gradient is the subgradient 0. In float32 the
    squares of distances beyond 1.8e19 are infinite, and those below 1e-23 are 0.

    Example:
      >>> import ricci.numpy as jnp
      >>> x = jnp.array([1.0, 3.0])
      >>> float(jnp.std(x)), round(float(jnp.std(x, ddof=1)), 4)
      (1.0, 1.4142)

    Source: numpy.std.
    """
    promotion.no_out("std", out)
    dtype = chosen_dtype(dtype, "std")
    if dtype is not None and dtype not in promotion.INEXACT_DTYPES:
        raise ValueError(f"std: dtype must be one of floats or complex, got {dtype}.")
    freedom = _ddof("std", ddof, correction)
    return _variance("std", a, axis, dtype, freedom, keepdims, where, mean)


def _ddof(name: str, ddof: ArrayLike, correction: ArrayLike | None) -> ArrayLike:
    if correction is None:
        return ddof
    if not (type(ddof) is int and ddof == 0):
        raise ValueError(f"{name}: give ddof or correction, which mean the same, not both.")
    return correction


def variance_dtypes(
    name: str, a_dtype: np.dtype, dtype: np.dtype | None
) -> tuple[np.dtype, np.dtype]:
    """The dtypes that a variance is computed in and returned in.

    Raises:
      ValueError: if a real dtype is requested and the array is complex.
    """
    if dtype is None:
        promoted = promotion.inexact_dtype(a_dtype)[0]
        computed = accumulated_dtype(promoted)
    else:
        if dtype == ir.BOOL or (dtype not in promotion.INEXACT_DTYPES and name != "var"):
            raise ValueError(f"{name}: dtype must be one of floats or complex, got {dtype}.")
        if a_dtype in promotion.COMPLEX_DTYPES and dtype not in promotion.COMPLEX_DTYPES:
            raise ValueError(
                f"{name}: the array is complex, so the dtype {dtype} cannot hold its elements. "
                "Take the real part first, or give a complex dtype."
            )
        return dtype, dtype
    return computed, real_dtype(promoted)


def _is_more(count: int, ddof: float) -> bool:
    """Whether ``count > ddof`` holds, for all sizes if it is symbolic."""
    return ir.surely_at_least(count, floor(ddof) + 1) if ir.is_symbolic_dim(count) else count > ddof


def real_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype of the real parts: for a complex dtype a float one, else the dtype itself."""
    return np.dtype(f"float{dtype.itemsize * 4}") if dtype in promotion.COMPLEX_DTYPES else dtype


def squared_modulus(x: Array) -> Array:
    """The square of each element's absolute value."""
    if x.dtype in promotion.COMPLEX_DTYPES:
        return lax.real(lax.mul(x, lax.conj(x)))
    return lax.square(x)


def _variance(
    name: str,
    a: ArrayLike,
    axis: Axis,
    dtype: np.dtype | None,
    ddof: ArrayLike,
    keepdims: bool,
    mask: ArrayLike | None,
    mean: ArrayLike | None,
) -> Array:
    (a,) = promotion.operands(name, a)
    axes = reduced_and_named_axes(name, axis, np.ndim(a))
    if mask is not None:
        mask = checked_mask(name, mask)
    if mean is not None:
        (mean,) = promotion.operands(name, mean)
    is_concrete = isinstance(ddof, int | float | np.generic)
    step = _var if name == "var" else _std
    return step(
        a,
        mask,
        mean,
        None if is_concrete else ddof,
        axes=axes,
        dtype=dtype,
        ddof=ddof if is_concrete else None,
        keepdims=bool(keepdims),
    )


def root_of_sum(total: Array) -> Array:
    """The root of a sum of squares, whose derivative is 0 where the sum is."""
    return lax.sqrt_p.bind(total, flat_at_zero=True)


def deviation(
    name: str,
    variance: Callable[..., Array],
    a: Array,
    *arrays: Array | None,
    dtype: np.dtype | None,
    **settings: object,
) -> Array:
    """The root of a variance, which is not rounded to a narrow dtype before."""
    computed, result_dtype = variance_dtypes(name, a.dtype, dtype)
    if result_dtype.itemsize >= 4:
        return root_of_sum(variance(a, *arrays, dtype=dtype, **settings))
    # In a narrow dtype, the variance may be infinite or 0.
    squared = variance(promotion.convert(a, computed), *arrays, dtype=None, **settings)
    return promotion.convert(root_of_sum(squared), result_dtype)


@ir.composite("_std")
def _std(
    a: Array,
    *arrays: Array | None,
    axes: tuple[ReducedAxis, ...],
    dtype: np.dtype | None,
    ddof: float,
    keepdims: bool,
) -> Array:
    settings = {"axes": axes, "ddof": ddof, "keepdims": keepdims}
    return deviation("std", _var.fun, a, *arrays, dtype=dtype, **settings)


@ir.composite("_var")
def _var(
    a: Array,
    where: Array | None,
    mean: Array | None,
    traced_ddof: Array | None,
    *,
    axes: tuple[ReducedAxis, ...],
    dtype: np.dtype | None,
    ddof: Any,
    keepdims: bool,
) -> Array:
    name = "var"
    computed, result_dtype = variance_dtypes(name, a.dtype, dtype)
    a = promotion.convert(a, computed)
    if mean is None:
        center = mean_of(name, a, axes, computed, True, where)
    else:
        center = promotion.convert(mean, computed)
        if center.ndim != a.ndim:
            # A mean that was computed without keepdims lacks the reduced axes.
            center = keep_axes(center, axes if center.ndim else tuple(range(a.ndim)))
    # Two passes: the mean of the squares less the square of the mean would cancel.
    squares = squared_modulus(lax.sub(a, center))
    real = squares.dtype
    total = sum(squares, axes, real, None, keepdims, None, where)
    weak = result_dtype in promotion.INTEGER_DTYPES
    if weak:  # an integer dtype gives a weakly typed float
        result_dtype = ir.python_scalar_dtype(float)
    # The usual case: a static divisor, known to be positive. Otherwise the result is NaN where the
    # divisor is 0 or less.
    if where is None and traced_ddof is None and _is_more(axis_count(a.shape, axes), ddof):
        count = promotion.strong_constant(real, axis_count(a.shape, axes) - ddof)
        return promotion.convert(lax.div(total, count), result_dtype, weak)
    if where is None:
        count = promotion.strong_constant(real, axis_count(a.shape, axes))
    else:
        count = masked_count(name, where, a.shape, axes, real, keepdims)
    ddof = (
        promotion.strong_constant(real, ddof)
        if traced_ddof is None
        else promotion.convert(traced_ddof, real)
    )
    count = lax.sub(count, ddof)
    result = promotion.convert(lax.div(total, count), result_dtype)
    positive = lax.gt(count, promotion.strong_constant(real, 0))
    result = select_where(positive, result, promotion.strong_constant(result_dtype, np.nan), name)
    return promotion.convert(result, result_dtype, weak)
