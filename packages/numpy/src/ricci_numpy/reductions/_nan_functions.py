"""Reductions that leave NaNs out."""

from collections.abc import Callable
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_ir import Array, ArrayLike, Axis, DTypeLike
from ricci_numpy._promotion import INEXACT_DTYPES, convert, no_out, strong_constant
from ricci_numpy.arrays._broadcasting import select_where
from ricci_numpy.arrays._creation import chosen_dtype

from ._axis_reductions import all, max, min, prod, sum
from ._extreme_indices import argmax, argmin, index_of_extreme
from ._kinds import reduction_operands
from ._moments import deviation, mean_of, real_dtype, squared_modulus, variance_dtypes
from ._reduced_axes import ReducedAxis, keep_axes

__all__ = ["nanargmax", "nanargmin", "nanmax", "nanmean", "nanmin", "nanprod", "nanstd", "nansum"]
__all__ += ["nanvar"]


def _filled(name: str, a: Array, value: float) -> Array:
    """The array with ``value`` in place of NaNs."""
    if a.dtype not in INEXACT_DTYPES:
        return a
    return select_where(lax.ne(a, a), strong_constant(a.dtype, value), a, name)


def _valid(a: Array, where: Array | None) -> Array:
    """The mask of the elements that are not NaN and that ``where`` selects."""
    # NaN is the one value that does not equal itself.
    valid = lax.eq(a, a)
    if where is None:
        return valid
    return select_where(where, valid, strong_constant(valid.dtype, False))


def _total_step(name: str, reduction: Callable[..., Array], neutral: float) -> ir.Composite:
    """A sum or product with ``neutral`` in place of NaNs."""

    @ir.composite(name)
    def step(a, initial, where, *, axes, dtype, keepdims):
        return reduction(_filled(name, a, neutral), axes, dtype, None, keepdims, initial, where)

    return step


def _extreme_step(name: str, reduction: Callable[..., Array], neutral: float) -> ir.Composite:
    """An extreme with ``neutral`` in place of NaNs; NaN if all elements are."""

    @ir.composite(name)
    def step(a, initial, where, *, axes, keepdims):
        result = reduction(_filled(name, a, neutral), axes, None, keepdims, initial, where)
        if initial is not None or a.dtype not in INEXACT_DTYPES:
            return result
        # The neutral element would be the result where there are only NaNs.
        nothing = all(lax.ne(a, a), axes, None, keepdims)
        return select_where(nothing, strong_constant(a.dtype, np.nan), result)

    return step


def _index_step(name: str, find: Callable[..., Array], neutral: float) -> ir.Composite:
    """The index of an extreme with ``neutral`` in place of NaNs; -1 if all elements are NaN."""

    @ir.composite(f"_{name}")
    def step(a, *, axis, keepdims):
        position = find(_filled(name, a, neutral), axis, None, keepdims)
        if a.dtype not in INEXACT_DTYPES:
            return position
        # Among neutral elements alone the index would be that of the first, which is not the
        # extreme.
        nothing = all(lax.ne(a, a), axis, None, keepdims)
        return select_where(nothing, strong_constant(position.dtype, -1), position)

    return step


_STEPS = {
    "nansum": _total_step("nansum", sum, 0),
    "nanprod": _total_step("nanprod", prod, 1),
    "nanmax": _extreme_step("nanmax", max, -np.inf),
    "nanmin": _extreme_step("nanmin", min, np.inf),
    "nanargmax": _index_step("nanargmax", argmax, -np.inf),
    "nanargmin": _index_step("nanargmin", argmin, np.inf),
}


def _reduce(
    name: str,
    a: ArrayLike,
    axis: Axis,
    out: None,
    keepdims: bool,
    initial: ArrayLike | None,
    mask: ArrayLike | None,
    **settings: object,
) -> Array:
    no_out(name, out)
    a, mask, initial, axes = reduction_operands(name, a, axis, mask, initial)
    return _STEPS[name](a, initial, mask, axes=axes, keepdims=bool(keepdims), **settings)


@ir.dispatched("axis", "dtype", "out", "keepdims")
def nansum(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """The sum of the elements that are not NaN; see ``sum``.

    Args:
      a, axis, dtype, out, keepdims, initial, where: as for ``sum``.

    Returns:
      An array of the shape of ``a`` without the axes.

    Example:
      >>> import ricci.numpy as jnp
      >>> float(jnp.nansum(jnp.array([1.0, jnp.nan])))
      1.0

    Source: numpy.nansum.
    """
    dtype = chosen_dtype(dtype, "nansum")
    return _reduce("nansum", a, axis, out, keepdims, initial, where, dtype=dtype)


@ir.dispatched("axis", "dtype", "out", "keepdims")
def nanprod(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """The product of the elements that are not NaN; see ``prod``.

    Args:
      a, axis, dtype, out, keepdims, initial, where: as for ``prod``.

    Returns:
      An array of the shape of ``a`` without the axes.

    Example:
      >>> import ricci.numpy as jnp
      >>> float(jnp.nanprod(jnp.array([2.0, jnp.nan])))
      2.0

    Source: numpy.nanprod.
    """
    dtype = chosen_dtype(dtype, "nanprod")
    return _reduce("nanprod", a, axis, out, keepdims, initial, where, dtype=dtype)


@ir.dispatched("axis", "out", "keepdims")
def nanmax(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """The largest element that is not NaN; see ``max``.

    Args:
      a, axis, out, keepdims, initial, where: as for ``max``.

    Returns:
      An array of the shape of ``a`` without the axes; NaN where all are NaN.

    Example:
      >>> import ricci.numpy as jnp
      >>> float(jnp.nanmax(jnp.array([1.0, jnp.nan])))
      1.0

    Source: numpy.nanmax.
    """
    return _reduce("nanmax", a, axis, out, keepdims, initial, where)


@ir.dispatched("axis", "out", "keepdims")
def nanmin(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """The smallest element that is not NaN; see ``min``.

    Args:
      a, axis, out, keepdims, initial, where: as for ``min``.

    Returns:
      An array of the shape of ``a`` without the axes; NaN where all are NaN.

    Example:
      >>> import ricci.numpy as jnp
      >>> float(jnp.nanmin(jnp.array([1.0, jnp.nan])))
      1.0

    Source: numpy.nanmin.
    """
    return _reduce("nanmin", a, axis, out, keepdims, initial, where)


@ir.dispatched("axis", "out", "keepdims")
def nanargmax(
    a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Array:
    """The index of the first largest element that is not NaN, -1 if all are; see ``argmax``.

    Args:
      a, axis, out, keepdims: as for ``argmax``.

    Returns:
      An array of integers of the shape of ``a`` without the axis.

    Example:
      >>> import ricci.numpy as jnp
      >>> int(jnp.nanargmax(jnp.array([jnp.nan, 1.0, 3.0])))
      2

    Source: numpy.nanargmax.
    """
    return index_of_extreme("nanargmax", a, axis, out, keepdims, _STEPS["nanargmax"])


@ir.dispatched("axis", "out", "keepdims")
def nanargmin(
    a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Array:
    """The index of the first smallest element that is not NaN, -1 if all are; see ``argmin``.

    Args:
      a, axis, out, keepdims: as for ``argmax``.

    Returns:
      An array of integers of the shape of ``a`` without the axis.

    Example:
      >>> import ricci.numpy as jnp
      >>> int(jnp.nanargmin(jnp.array([jnp.nan, 1.0, 3.0])))
      1

    Source: numpy.nanargmin.
    """
    return index_of_extreme("nanargmin", a, axis, out, keepdims, _STEPS["nanargmin"])


@ir.dispatched("axis", "dtype", "out", "keepdims")
def nanmean(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    where: ArrayLike | None = None,
) -> Array:
    """The mean of the elements that are not NaN; see ``mean``.

    Args:
      a, axis, dtype, out, keepdims, where: as for ``mean``.

    Returns:
      An array of the shape of ``a`` without the axes; NaN where all are NaN.

    Example:
      >>> import ricci.numpy as jnp
      >>> float(jnp.nanmean(jnp.array([1.0, jnp.nan, 3.0])))
      2.0

    Source: numpy.nanmean.
    """
    no_out("nanmean", out)
    dtype = chosen_dtype(dtype, "nanmean")
    a, mask, _, axes = reduction_operands("nanmean", a, axis, where)
    return _nanmean(a, mask, axes=axes, dtype=dtype, keepdims=bool(keepdims))


@ir.composite("nanmean")
def _nanmean(
    a: Array,
    mask: Array | None,
    *,
    axes: tuple[ReducedAxis, ...],
    dtype: np.dtype | None,
    keepdims: bool,
) -> Array:
    if a.dtype in INEXACT_DTYPES:
        mask = _valid(a, mask)
    return mean_of("nanmean", a, axes, dtype, keepdims, mask)


@ir.dispatched("axis", "dtype", "out", "ddof", "keepdims")
def nanvar(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
) -> Array:
    """The variance of the elements that are not NaN; see ``var``.

    Args:
      a, axis, dtype, out, ddof, keepdims, where, mean: as for ``var``.

    Returns:
      An array of the shape of ``a`` without the axes.

    Example:
      >>> import ricci.numpy as jnp
      >>> float(jnp.nanvar(jnp.array([1.0, jnp.nan, 3.0])))
      1.0

    Source: numpy.nanvar.
    """
    return _nan_variance("nanvar", a, axis, dtype, out, ddof, keepdims, where, mean)


@ir.dispatched("axis", "dtype", "out", "ddof", "keepdims")
def nanstd(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
) -> Array:
    """The standard deviation of the elements that are not NaN; see ``std``.

    Args:
      a, axis, dtype, out, ddof, keepdims, where, mean: as for ``var``.

    Returns:
      An array of the shape of ``a`` without the axes.

    Example:
      >>> import ricci.numpy as jnp
      >>> float(jnp.nanstd(jnp.array([1.0, jnp.nan, 3.0])))
      1.0

    Source: numpy.nanstd.
    """
    return _nan_variance("nanstd", a, axis, dtype, out, ddof, keepdims, where, mean)


def _nan_variance(
    name: str,
    a: ArrayLike,
    axis: Axis,
    dtype: DTypeLike | None,
    out: None,
    ddof: ArrayLike,
    keepdims: bool,
    mask: ArrayLike | None,
    mean: ArrayLike | None,
) -> Array:
    no_out(name, out)
    dtype = chosen_dtype(dtype, name)
    a, mask, mean, axes = reduction_operands(name, a, axis, mask, mean)
    step = _nanvar if name == "nanvar" else _nanstd
    is_concrete = isinstance(ddof, int | float | np.generic)
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


@ir.composite("nanstd")
def _nanstd(a: Array, *arrays: Array | None, dtype: np.dtype | None, **settings: Any) -> Array:
    return deviation("nanstd", _nanvar.fun, a, *arrays, dtype=dtype, **settings)


@ir.composite("nanvar")
def _nanvar(
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
    name = "nanvar"
    computed, result_dtype = variance_dtypes(name, a.dtype, dtype)
    a = convert(a, computed)
    valid = _valid(a, where)
    if mean is None:
        center = mean_of(name, a, axes, computed, True, valid)
    else:
        center = convert(mean, computed)
        if center.ndim != a.ndim:
            center = keep_axes(center, axes if center.ndim else tuple(range(a.ndim)))
    # NaNs are replaced before the square is taken, so that its derivative has none, either.
    distance = select_where(valid, lax.sub(a, center), strong_constant(computed, 0), name)
    real = real_dtype(computed)
    total = sum(squared_modulus(distance), axes, real, None, keepdims)
    freedom = strong_constant(real, ddof) if traced_ddof is None else convert(traced_ddof, real)
    count = lax.sub(sum(valid, axes, real, None, keepdims), freedom)
    enough = lax.gt(count, strong_constant(real, 0))
    # Division by a harmless number where the result is NaN anyway, for the derivative.
    divisor = select_where(enough, count, strong_constant(real, 1), name)
    total = select_where(enough, total, strong_constant(real, np.nan), name)
    return convert(lax.div(total, divisor), result_dtype)
