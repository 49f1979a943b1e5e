"""Reductions that leave NaNs out."""

from typing import Any

import numpy as np

import ricci_lax as lax
from ricci_ir import explicit_dtype

from ._creation import asarray, checked_dtype
from ._promotion import INEXACT_DTYPES, convert, operands, strong_constant
from ._reductions import (
    all,
    argmax,
    argmin,
    checked_mask,
    keep_axes,
    max,
    mean_of,
    min,
    no_out,
    prod,
    real_dtype,
    reduced_axes,
    squared_modulus,
    sum,
    variance_dtypes,
)
from ._selection import select_where


def _array(name: str, a: Any) -> Any:
    (a,) = operands(name, a)
    return asarray(a)


def _filled(name: str, a: Any, value: float) -> Any:
    """The array with ``value`` in place of NaNs."""
    if a.dtype not in INEXACT_DTYPES:
        return a
    return select_where(lax.ne(a, a), strong_constant(a.dtype, value), a, name)


def _valid(a: Any, where: Any = None, name: str = "") -> Any:
    """Which elements are no NaNs, among those that a mask selects."""
    valid = lax.eq(a, a)
    return valid if where is None else lax.bitwise_and(
        valid, select_where(checked_mask(name, where), valid, strong_constant(valid.dtype, False))
    )


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
    a = _filled("nansum", _array("nansum", a), 0)
    return sum(a, axis, dtype, out, keepdims, initial, where)


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
    a = _filled("nanprod", _array("nanprod", a), 1)
    return prod(a, axis, dtype, out, keepdims, initial, where)


def _extreme(name: str, reduce: Any, fill: float, a, axis, out, keepdims, initial, where) -> Any:
    a = _array(name, a)
    result = reduce(_filled(name, a, fill), axis, out, keepdims, initial, where)
    if a.dtype not in INEXACT_DTYPES or initial is not None:
        return result
    nothing = all(lax.ne(a, a), axis, None, keepdims)
    return select_where(nothing, strong_constant(a.dtype, np.nan), result, name)


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
    return _extreme("nanmax", max, -np.inf, a, axis, out, keepdims, initial, where)


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
    return _extreme("nanmin", min, np.inf, a, axis, out, keepdims, initial, where)


def _where_extreme(name: str, find: Any, fill: float, a, axis, out, keepdims) -> Any:
    no_out(name, out)
    a = _array(name, a)
    found = find(_filled(name, a, fill), axis, None, keepdims)
    if a.dtype not in INEXACT_DTYPES:
        return found
    nothing = all(lax.ne(a, a), axis, None, bool(keepdims))
    return select_where(nothing, strong_constant(found.dtype, -1), found, name)


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
    return _where_extreme("nanargmax", argmax, -np.inf, a, axis, out, keepdims)


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
    return _where_extreme("nanargmin", argmin, np.inf, a, axis, out, keepdims)


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
    a = _array("nanmean", a)
    if a.dtype not in INEXACT_DTYPES:
        return mean_of("nanmean", a, axis, dtype, keepdims, where)
    return mean_of("nanmean", a, axis, dtype, keepdims, _valid(a, where, "nanmean"))


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
    return lax.sqrt(_nan_variance("nanstd", a, axis, dtype, ddof, keepdims, where, mean))


def _nan_variance(name: str, a, axis, dtype, ddof, keepdims, where, mean) -> Any:
    a = _array(name, a)
    computed, result_dtype = variance_dtypes(name, a.dtype, dtype)
    a = convert(a, computed)
    axes = reduced_axes(name, axis, a.ndim)
    valid = _valid(a, where, name)
    if mean is None:
        center = mean_of(name, a, axes, computed, True, valid)
    else:
        center = convert(_array(name, mean), computed)
        if center.ndim != a.ndim:
            center = keep_axes(center, axes if center.ndim else tuple(range(a.ndim)))
    # The distance of a NaN is 0, before it is squared: its derivative is no NaN then.
    distance = select_where(valid, lax.sub(a, center), strong_constant(computed, 0), name)
    real = real_dtype(computed)
    total = sum(squared_modulus(distance), axes, real, None, keepdims)
    count = lax.sub(sum(valid, axes, real, None, keepdims), strong_constant(real, ddof))
    enough = lax.gt(count, strong_constant(real, 0))
    divisor = select_where(enough, count, strong_constant(real, 1), name)
    total = select_where(enough, total, strong_constant(real, np.nan), name)
    return convert(lax.div(total, divisor), result_dtype)
