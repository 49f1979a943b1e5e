"""Reductions that leave NaNs out."""

from operator import index
from typing import Any

import numpy as np

import ricci_lax as lax
from ricci_ir import composite, explicit_dtype
from ricci_numpy._promotion import INEXACT_DTYPES, convert, operands, strong_constant
from ricci_numpy.arrays._creation import checked_dtype
from ricci_numpy.arrays._selection import select_where

from ._axis_reductions import (
    all,
    checked_mask,
    keep_axes,
    max,
    min,
    no_out,
    prod,
    reduced_axes,
    sum,
)
from ._extreme_places import argmax, argmin
from ._moments import mean_of, real_dtype, squared_modulus, variance_dtypes

__all__ = [
    "nanargmax",
    "nanargmin",
    "nanmax",
    "nanmean",
    "nanmin",
    "nanprod",
    "nanstd",
    "nansum",
    "nanvar",
]


def _filled(name: str, a: Any, value: float) -> Any:
    """The array with ``value`` in place of NaNs."""
    if a.dtype not in INEXACT_DTYPES:
        return a
    return select_where(lax.ne(a, a), strong_constant(a.dtype, value), a, name)


def _valid(a: Any, where: Any) -> Any:
    """Which elements are no NaNs, among those that a mask selects."""
    valid = lax.eq(a, a)
    if where is None:
        return valid
    return select_where(where, valid, strong_constant(valid.dtype, False))


def nansum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """The sum of the elements that are not NaN; see ``sum``.

    Example:
      >>> import ricci_numpy as jnp
      >>> float(jnp.nansum(jnp.array([1.0, jnp.nan])))
      1.0

    Source: numpy.nansum.
    """
    no_out("nansum", out)
    return _total("nansum", _nansum, a, axis, dtype, keepdims, initial, where)


def nanprod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """The product of the elements that are not NaN; see ``prod``.

    Example:
      >>> import ricci_numpy as jnp
      >>> float(jnp.nanprod(jnp.array([2.0, jnp.nan])))
      2.0

    Source: numpy.nanprod.
    """
    no_out("nanprod", out)
    return _total("nanprod", _nanprod, a, axis, dtype, keepdims, initial, where)


def _total(name: str, step: Any, a, axis, dtype, keepdims, initial, where) -> Any:
    (a,) = operands(name, a)
    if dtype is not None:
        dtype = checked_dtype(explicit_dtype(dtype, name), name)
    if where is not None:
        where = checked_mask(name, where)
    if initial is not None:
        (initial,) = operands(name, initial)
    axes = reduced_axes(name, axis, np.ndim(a))
    return step(a, initial, where, axes=axes, dtype=dtype, keepdims=bool(keepdims))


@composite("nansum")
def _nansum(a: Any, initial: Any, where: Any, *, axes, dtype, keepdims) -> Any:
    return sum(_filled("nansum", a, 0), axes, dtype, None, keepdims, initial, where)


@composite("nanprod")
def _nanprod(a: Any, initial: Any, where: Any, *, axes, dtype, keepdims) -> Any:
    return prod(_filled("nanprod", a, 1), axes, dtype, None, keepdims, initial, where)


def _extreme(name: str, step: Any, a, axis, out, keepdims, initial, where) -> Any:
    no_out(name, out)
    (a,) = operands(name, a)
    if where is not None:
        where = checked_mask(name, where)
    if initial is not None:
        (initial,) = operands(name, initial)
    axes = reduced_axes(name, axis, np.ndim(a))
    return step(a, initial, where, axes=axes, keepdims=bool(keepdims))


@composite("nanmax")
def _nanmax(a: Any, initial: Any, where: Any, *, axes: Any, keepdims: bool) -> Any:
    result = max(_filled("nanmax", a, -np.inf), axes, None, keepdims, initial, where)
    return result if initial is not None else _or_nan(a, result, axes, keepdims)


@composite("nanmin")
def _nanmin(a: Any, initial: Any, where: Any, *, axes: Any, keepdims: bool) -> Any:
    result = min(_filled("nanmin", a, np.inf), axes, None, keepdims, initial, where)
    return result if initial is not None else _or_nan(a, result, axes, keepdims)


def _or_nan(a: Any, result: Any, axes: Any, keepdims: bool) -> Any:
    """A result of a reduction, or NaN where all elements are."""
    if a.dtype not in INEXACT_DTYPES:
        return result
    nothing = all(lax.ne(a, a), axes, None, keepdims)
    return select_where(nothing, strong_constant(a.dtype, np.nan), result)


def nanmax(
    a: Any,
    axis: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """The largest element that is not NaN; see ``max``.

    Example:
      >>> import ricci_numpy as jnp
      >>> float(jnp.nanmax(jnp.array([1.0, jnp.nan])))
      1.0

    Source: numpy.nanmax.
    """
    return _extreme("nanmax", _nanmax, a, axis, out, keepdims, initial, where)


def nanmin(
    a: Any,
    axis: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """The smallest element that is not NaN; see ``min``.

    Example:
      >>> import ricci_numpy as jnp
      >>> float(jnp.nanmin(jnp.array([1.0, jnp.nan])))
      1.0

    Source: numpy.nanmin.
    """
    return _extreme("nanmin", _nanmin, a, axis, out, keepdims, initial, where)


def _where_extreme(name: str, step: Any, a, axis, out, keepdims) -> Any:
    no_out(name, out)
    (a,) = operands(name, a)
    if axis is not None:
        (axis,) = reduced_axes(name, index(axis), np.ndim(a))
    return step(a, axis=axis, keepdims=bool(keepdims))


@composite("_nanargmax")
def _nanargmax(a: Any, **settings: Any) -> Any:
    return _place(a, argmax, -np.inf, **settings)


@composite("_nanargmin")
def _nanargmin(a: Any, **settings: Any) -> Any:
    return _place(a, argmin, np.inf, **settings)


def _place(a: Any, find: Any, fill: float, *, axis: int | None, keepdims: bool) -> Any:
    found = find(_filled("argmax", a, fill), axis, None, keepdims)
    if a.dtype not in INEXACT_DTYPES:
        return found
    nothing = all(lax.ne(a, a), axis, None, keepdims)
    return select_where(nothing, strong_constant(found.dtype, -1), found)


def nanargmax(
    a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Any:
    """The index of the first largest element that is not NaN, -1 if all are; see ``argmax``.

    Example:
      >>> import ricci_numpy as jnp
      >>> int(jnp.nanargmax(jnp.array([jnp.nan, 1.0, 3.0])))
      2

    Source: numpy.nanargmax.
    """
    return _where_extreme("nanargmax", _nanargmax, a, axis, out, keepdims)


def nanargmin(
    a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Any:
    """The index of the first smallest element that is not NaN, -1 if all are; see ``argmin``.

    Example:
      >>> import ricci_numpy as jnp
      >>> int(jnp.nanargmin(jnp.array([jnp.nan, 1.0, 3.0])))
      1

    Source: numpy.nanargmin.
    """
    return _where_extreme("nanargmin", _nanargmin, a, axis, out, keepdims)


def nanmean(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    where: Any = None,
) -> Any:
    """The mean of the elements that are not NaN; see ``mean``.

    Example:
      >>> import ricci_numpy as jnp
      >>> float(jnp.nanmean(jnp.array([1.0, jnp.nan, 3.0])))
      2.0

    Source: numpy.nanmean.
    """
    no_out("nanmean", out)
    if dtype is not None:
        dtype = checked_dtype(explicit_dtype(dtype, "nanmean"), "nanmean")
    (a,) = operands("nanmean", a)
    if where is not None:
        where = checked_mask("nanmean", where)
    axes = reduced_axes("nanmean", axis, np.ndim(a))
    return _nanmean(a, where, axes=axes, dtype=dtype, keepdims=bool(keepdims))


@composite("nanmean")
def _nanmean(a: Any, where: Any, *, axes: Any, dtype: Any, keepdims: bool) -> Any:
    if a.dtype in INEXACT_DTYPES:
        where = _valid(a, where)
    return mean_of("nanmean", a, axes, dtype, keepdims, where)


def nanvar(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    where: Any = None,
    mean: Any = None,
) -> Any:
    """The variance of the elements that are not NaN; see ``var``.

    Example:
      >>> import ricci_numpy as jnp
      >>> float(jnp.nanvar(jnp.array([1.0, jnp.nan, 3.0])))
      1.0

    Source: numpy.nanvar.
    """
    no_out("nanvar", out)
    if dtype is not None:
        dtype = checked_dtype(explicit_dtype(dtype, "nanvar"), "nanvar")
    return _nan_variance("nanvar", a, axis, dtype, ddof, keepdims, where, mean)


def nanstd(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    where: Any = None,
    mean: Any = None,
) -> Any:
    """The standard deviation of the elements that are not NaN; see ``std``.

    Example:
      >>> import ricci_numpy as jnp
      >>> float(jnp.nanstd(jnp.array([1.0, jnp.nan, 3.0])))
      1.0

    Source: numpy.nanstd.
    """
    no_out("nanstd", out)
    if dtype is not None:
        dtype = checked_dtype(explicit_dtype(dtype, "nanstd"), "nanstd")
    return _nan_variance("nanstd", a, axis, dtype, ddof, keepdims, where, mean)


def _nan_variance(name: str, a, axis, dtype, ddof, keepdims, where, mean) -> Any:
    (a,) = operands(name, a)
    if where is not None:
        where = checked_mask(name, where)
    if mean is not None:
        (mean,) = operands(name, mean)
    axes = reduced_axes(name, axis, np.ndim(a))
    step = _nanvar if name == "nanvar" else _nanstd
    return step(a, where, mean, ddof, axes=axes, dtype=dtype, keepdims=bool(keepdims))


@composite("nanstd")
def _nanstd(*arrays: Any, **settings: Any) -> Any:
    return lax.sqrt(_nanvar.fun(*arrays, **settings))


@composite("nanvar")
def _nanvar(a: Any, where: Any, mean: Any, ddof: Any, *, axes, dtype, keepdims) -> Any:
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
    # The distance of a NaN is 0, before it is squared: its derivative is no NaN then.
    distance = select_where(valid, lax.sub(a, center), strong_constant(computed, 0), name)
    real = real_dtype(computed)
    total = sum(squared_modulus(distance), axes, real, None, keepdims)
    count = lax.sub(sum(valid, axes, real, None, keepdims), convert(ddof, real))
    enough = lax.gt(count, strong_constant(real, 0))
    divisor = select_where(enough, count, strong_constant(real, 1), name)
    total = select_where(enough, total, strong_constant(real, np.nan), name)
    return convert(lax.div(total, divisor), result_dtype)
