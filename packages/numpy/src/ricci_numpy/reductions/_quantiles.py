"""Quantiles of sorted data."""

from math import prod
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_lax.authoring import resolved_by
from ricci_numpy import _promotion as promotion
from ricci_numpy.arrays._broadcasting import select_where
from ricci_numpy.arrays._creation import asarray

from ._axis_reductions import any as _any
from ._axis_reductions import sum
from ._reduced_axes import axis_count, keep_axes, reduced_axes

__all__ = ["median", "nanmedian", "nanpercentile", "nanquantile", "percentile", "quantile"]


_INDEX = np.dtype("int32")


_METHODS = ("linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf")


@ir.dispatched("axis", "out", "overwrite_input", "keepdims")
def median(
    a: ir.ArrayLike,
    axis: ir.Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> ir.Array:
    """The middle one of the sorted elements along axes, or the mean of the two in the middle.

    Args:
      a: an array of real numbers.
      axis: the axis or axes; all without it.
      out, overwrite_input: not supported.
      keepdims: whether the axes stay, with size 1.

    Returns:
      An array of the shape of ``a`` without the axes, of a float dtype; NaN where there is one.

    Raises:
      ValueError: for complex numbers, if there are no elements, or with ``out`` or
        ``overwrite_input``.

    Example:
      >>> import ricci.numpy as jnp
      >>> float(jnp.median(jnp.array([3, 1, 2])))
      2.0

    Source: numpy.median.
    """
    return _quantile(
        "median", a, 0.5, axis, out, overwrite_input, "midpoint", keepdims, False, fixed=True
    )


@ir.dispatched("axis", "out", "overwrite_input", "method", "keepdims", integers=("q",))
def quantile(
    a: ir.ArrayLike,
    q: ir.ArrayLike,
    axis: ir.Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ir.ArrayLike | None = None,
) -> ir.Array:
    """The values below which given fractions of the elements lie.

    Args:
      a: an array of real numbers.
      q: the fractions, a scalar or an array with values from 0 to 1.
      axis: the axis or axes; all without it.
      out, overwrite_input: not supported.
      method: what to do between two elements: ``"linear"``, ``"lower"``, ``"higher"``,
        ``"midpoint"``, ``"nearest"`` or ``"inverted_cdf"``.
      keepdims: whether the axes stay, with size 1.
      weights: an array of the shape of ``a``, with ``"inverted_cdf"`` only.

    Returns:
      An array of the shape of ``q`` followed by that of the reduced array.

    Raises:
      TypeError: if ``a`` or ``q`` is not an array.
      ValueError: if the method is unknown, for complex numbers, if there are no elements, or with
        ``out`` or ``overwrite_input``.

    Example:
      >>> import ricci.numpy as jnp
      >>> float(jnp.quantile(jnp.array([1, 2, 3, 4, 5]), 0.25))
      2.0

    Source: numpy.quantile.
    """
    return _quantile("quantile", a, q, axis, out, overwrite_input, method, keepdims, False, weights)


@ir.dispatched(
    "axis", "out", "overwrite_input", "method", "keepdims", "out_sharding", integers=("q",)
)
def percentile(
    a: ir.ArrayLike,
    q: ir.ArrayLike,
    axis: ir.Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ir.ArrayLike | None = None,
    out_sharding: object = None,
) -> ir.Array:
    """The values below which given percentages of the elements lie; see ``quantile``.

    Args:
      q: percentages from 0 to 100, a scalar or an array.
      a, axis, out, overwrite_input, method, keepdims, weights, out_sharding: as for ``quantile``.

    Returns:
      An array of the shape of ``q``, followed by that of ``a`` without the axes.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.percentile(jnp.array([1, 2, 3, 4, 5]), jnp.array([0, 25, 50])).tolist()
      [1.0, 2.0, 3.0]

    Source: numpy.percentile.
    """
    q = _percent("percentile", q)
    return resolved_by(
        out_sharding,
        lambda: _quantile(
            "percentile", a, q, axis, out, overwrite_input, method, keepdims, False, weights
        ),
    )


@ir.dispatched("axis", "out", "overwrite_input", "keepdims")
def nanmedian(
    a: ir.ArrayLike,
    axis: ir.Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> ir.Array:
    """The median of the elements that are not NaN; see ``median``.

    Args:
      a, axis, out, overwrite_input, keepdims: as for ``median``.

    Returns:
      An array of the shape of ``a`` without the axes, of a float dtype.

    Example:
      >>> import ricci.numpy as jnp
      >>> float(jnp.nanmedian(jnp.array([3.0, jnp.nan, 1.0])))
      2.0

    Source: numpy.nanmedian.
    """
    return _quantile(
        "nanmedian", a, 0.5, axis, out, overwrite_input, "midpoint", keepdims, True, fixed=True
    )


@ir.dispatched("axis", "out", "overwrite_input", "method", "keepdims", integers=("q",))
def nanquantile(
    a: ir.ArrayLike,
    q: ir.ArrayLike,
    axis: ir.Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ir.ArrayLike | None = None,
) -> ir.Array:
    """The quantiles of the elements that are not NaN; see ``quantile``.

    Args:
      a, q, axis, out, overwrite_input, method, keepdims, weights: as for ``quantile``.

    Returns:
      An array of the shape of ``q``, followed by that of ``a`` without the axes.

    Example:
      >>> import ricci.numpy as jnp
      >>> float(jnp.nanquantile(jnp.array([3.0, jnp.nan, 1.0]), 0.5))
      2.0

    Source: numpy.nanquantile.
    """
    return _quantile(
        "nanquantile", a, q, axis, out, overwrite_input, method, keepdims, True, weights
    )


@ir.dispatched("axis", "out", "overwrite_input", "method", "keepdims", integers=("q",))
def nanpercentile(
    a: ir.ArrayLike,
    q: ir.ArrayLike,
    axis: ir.Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ir.ArrayLike | None = None,
) -> ir.Array:
    """The percentiles of the elements that are not NaN; see ``quantile``.

    Args:
      a, q, axis, out, overwrite_input, method, keepdims, weights: as for ``percentile``.

    Returns:
      An array of the shape of ``q``, followed by that of ``a`` without the axes.

    Example:
      >>> import ricci.numpy as jnp
      >>> float(jnp.nanpercentile(jnp.array([3.0, jnp.nan, 1.0]), 50))
      2.0

    Source: numpy.nanpercentile.
    """
    q = _percent("nanpercentile", q)
    return _quantile(
        "nanpercentile", a, q, axis, out, overwrite_input, method, keepdims, True, weights
    )


@ir.inlined("percent")
def _percent_of(q: ir.Array, *, dtype: np.dtype) -> ir.Array:
    # Instead of dividing by a constant, XLA multiplies by its reciprocal, which is less exact.
    hundred = lax.optimization_barrier(promotion.strong_constant(dtype, 100))
    return lax.div(promotion.convert(q, dtype), hundred)


def _percent(name: str, q: ir.ArrayLike) -> ir.ArrayLike:
    """Percentages as fractions."""
    (q,) = promotion.operands(name, q)
    dtype = promotion.inexact_dtype(promotion.common_dtype(q)[0])[0]
    if hasattr(type(q), "aval"):
        return _percent_of(q, dtype=dtype)
    return np.asarray(q).astype(dtype) / np.asarray(100).astype(dtype)


def _quantile(
    name: str,
    a: ir.ArrayLike,
    q: ir.ArrayLike,
    axis: ir.Axis,
    out: None,
    overwrite_input: bool,
    method: str,
    keepdims: bool,
    skip_nan: bool,
    weights: ir.ArrayLike | None = None,
    fixed: bool = False,
) -> ir.Array:
    """The quantiles of a function of the NumPy API.

    Args:
      fixed: whether all calls have this ``q``, a number.
    """
    a, q = promotion.operands(name, a, q)
    if weights is not None:
        (weights,) = promotion.operands(name, weights)
    if out is not None or overwrite_input:
        raise ValueError(
            f"{name}: out= and overwrite_input= are not supported, since arrays do not change. Use "
            "the result."
        )
    if method not in _METHODS:
        raise ValueError(f"{name}: method={method!r} is unknown; use one of {', '.join(_METHODS)}.")
    if weights is not None and method != "inverted_cdf":
        raise NotImplementedError(f"{name}: weights= needs method='inverted_cdf'.")
    if promotion.common_dtype(a)[0] in promotion.COMPLEX_DTYPES:
        raise ValueError(f"{name} is not defined for complex numbers: they have no order.")
    # In a jaxpr, the elements beside numbers `q` are static; called eagerly, `q` is an operand, so
    # that each value needs no executable of its own.
    is_concrete = not hasattr(type(q), "aval") and (fixed or ir.is_recording())
    return _quantiles(
        a,
        None if is_concrete else q,
        weights,
        name=name,
        axes=reduced_axes(name, axis, np.ndim(a)),
        q_shape=np.shape(q),
        concrete_q=tuple(np.asarray(q, np.float64).reshape(-1).tolist()) if is_concrete else None,
        method=method,
        keepdims=bool(keepdims),
        skip_nan=skip_nan,
    )


@ir.composite("quantile")
def _quantiles(
    a: ir.Array,
    q: ir.Array | None,
    weights: ir.Array | None,
    *,
    name: str,
    axes: tuple[int, ...],
    q_shape: ir.Shape,
    concrete_q: tuple[float, ...] | None,
    method: str,
    keepdims: bool,
    skip_nan: bool,
) -> ir.Array:
    """The quantiles at the fractions ``q``, an array, or ``concrete_q``, numbers."""
    arrays = (a,) if weights is None else (a, weights)
    a = promotion.convert(a, promotion.inexact_dtype(*promotion.common_dtype(*arrays))[0])
    rows, other_shape = _rows(a, axes)
    if rows.shape[1] == 0 and skip_nan:
        # One NaN in place of no elements: all are left out, and the result is NaN.
        rows = lax.full((rows.shape[0], 1), promotion.strong_constant(a.dtype, np.nan))
    if rows.shape[1] == 0:
        raise ValueError(f"{name}: an array of shape {a.shape} has no elements along axes {axes}.")
    fractions = _fractions(q if concrete_q is None else np.asarray(concrete_q), a.dtype)
    if weights is not None:
        quantiles = _weighted(name, rows, fractions, weights, a.shape, axes, skip_nan)
    else:
        quantiles = _of_rows(rows, fractions, method, skip_nan)
    result = lax.reshape(quantiles, (*q_shape, *other_shape))
    if not keepdims:
        return result
    return keep_axes(result, tuple(i + len(q_shape) for i in axes))


def _rows(a: ir.Array, axes: tuple[int, ...]) -> tuple[ir.Array, ir.Shape]:
    """A matrix with the elements along ``axes`` in each row, and the shape of the other axes."""
    others = tuple(i for i in range(a.ndim) if i not in axes)
    other_shape = tuple(a.shape[i] for i in others)
    order = (*others, *sorted(axes))
    if order != tuple(range(a.ndim)):
        a = lax.transpose(a, order)
    count = prod(other_shape)
    length = (
        a.size // count if count else axis_count(a.shape, tuple(range(len(other_shape), a.ndim)))
    )
    return lax.reshape(a, (count, length)), other_shape


def _fractions(q: Any, dtype: np.dtype) -> ir.Array | np.ndarray:
    """The fractions as a vector, a NumPy array if they are concrete."""
    if hasattr(type(q), "aval"):
        q = promotion.convert(q, promotion.inexact_dtype(q.dtype)[0])
        return lax.reshape(q, (q.size,)) if q.ndim != 1 else q
    # In the precision of the result: q·(n − 1) decides which elements are next to it.
    real = np.float64 if dtype.itemsize == 8 else np.float32
    return np.asarray(q).astype(real).reshape(-1)


def _of_rows(rows: ir.Array, q: ir.Array | np.ndarray, method: str, skip_nan: bool) -> ir.Array:
    """The quantiles of each row of a matrix: a matrix with a row for each fraction."""
    invalid = lax.ne(rows, rows)
    nan = promotion.strong_constant(rows.dtype, np.nan)
    if skip_nan:
        # Sorting puts NaNs last, after the elements that count.
        rows = lax.sort(rows, dimension=1)
        valid = sum(lax.bitwise_not(invalid), 1, np.dtype("int32"))
        return _dynamic(rows, q, valid, method)
    # A row with a NaN becomes NaN as a whole, so that each of its quantiles is.
    bad = keep_axes(_any(invalid, 1), (1,))
    rows = lax.sort(select_where(bad, nan, rows), dimension=1)
    if isinstance(q, np.ndarray) and ir.is_static_shape(rows.shape):
        return _static(rows, q, method)
    return _dynamic(rows, q, None, method)


def _static(rows: ir.Array, q: np.ndarray, method: str) -> ir.Array:
    """Quantiles for concrete fractions, for which the columns are static, too."""
    last = rows.shape[1] - 1
    if method == "inverted_cdf":
        # The least i with (i + 1) / n ≥ q: the inverse of the step function of the distribution.
        place = np.maximum(np.ceil(q * q.dtype.type(last + 1)) - 1, 0)
    else:
        place = q * q.dtype.type(last)
    low, high = (np.clip(f(place), 0, last).astype(int) for f in (np.floor, np.ceil))
    weight = place - np.floor(place)
    parts = []
    for i in range(len(q)):
        below, above = (lax.index_in_dim(rows, int(n[i]), 1, keepdims=True) for n in (low, high))
        fraction = promotion.strong_constant(rows.dtype, float(weight[i]))
        parts.append(_interpolate(below, above, fraction, method))
    if not parts:
        return lax.full((0, rows.shape[0]), promotion.strong_constant(rows.dtype, 0))
    quantiles = parts[0] if len(parts) == 1 else lax.concatenate(parts, 1)
    return lax.transpose(quantiles, (1, 0))


def _interpolate(below: ir.Array, above: ir.Array, fraction: ir.ArrayLike, method: str) -> ir.Array:
    """The value at a fraction of the way from one element to the next, by the chosen method."""
    dtype = below.dtype
    if method in ("lower", "inverted_cdf"):
        return below
    if method == "higher":
        return above
    if method == "midpoint":
        return lax.mul(lax.add(below, above), promotion.strong_constant(dtype, 0.5))
    if method == "nearest":
        # One half is rounded down, as in JAX.
        near = lax.le(fraction, promotion.strong_constant(dtype, 0.5))
        return select_where(near, below, above, "quantile")
    complement = lax.sub(promotion.strong_constant(dtype, 1), fraction)
    return lax.add(lax.mul(below, complement), lax.mul(above, fraction))


def _dynamic(
    rows: ir.Array, q: ir.Array | np.ndarray, valid: ir.Array | None, method: str
) -> ir.Array:
    """Quantiles for traced fractions, or of the first ``valid[i]`` elements of each row ``i``."""
    dtype = rows.dtype
    # Positions must be exact: bfloat16 counts to 256 only.
    computed = dtype if dtype.itemsize >= 4 else np.dtype("float32")
    count, length = rows.shape
    q = promotion.convert(asarray(q), computed)
    shape = (q.shape[0], count)
    q = lax.broadcast_in_dim(q, shape, (0,))
    if valid is None:
        sizes: ir.Array = lax.full(shape, promotion.strong_constant(computed, length))
    else:
        sizes = lax.broadcast_in_dim(promotion.convert(valid, computed), shape, (1,))
    one, zero = promotion.strong_constant(computed, 1), promotion.strong_constant(computed, 0)
    last = lax.max(zero, lax.sub(sizes, one))
    if method == "inverted_cdf":
        place = lax.max(zero, lax.sub(lax.ceil(lax.mul(q, sizes)), one))
    else:
        place = lax.mul(q, last)
    # A quantile lies between the columns next to its place; their weights are the distances.
    floor, ceil = lax.floor(place), lax.ceil(place)
    low, high = (lax.max(zero, lax.min(x, last)) for x in (floor, ceil))
    below, above = (_columns(rows, promotion.convert(x, _INDEX)) for x in (low, high))
    return _interpolate(below, above, promotion.convert(lax.sub(place, floor), dtype), method)


def _columns(rows: ir.Array, places: ir.Array) -> ir.Array:
    """The elements ``rows[j, places[i, j]]``, for all ``i`` and ``j``."""
    numbers = lax.GatherDimensionNumbers(
        offset_dims=(),
        collapsed_slice_dims=(1,),
        start_index_map=(1,),
        operand_batching_dims=(0,),
        start_indices_batching_dims=(0,),
    )
    starts = lax.expand_dims(lax.transpose(places, (1, 0)), (2,))
    elements = lax.gather(
        rows, starts, numbers, slice_sizes=(1, 1), mode=lax.GatherScatterMode.PROMISE_IN_BOUNDS
    )
    return lax.transpose(elements, (1, 0))


def _weighted(
    name: str,
    rows: ir.Array,
    q: ir.Array | np.ndarray,
    weights: ir.Array,
    shape: ir.Shape,
    axes: tuple[int, ...],
    skip_nan: bool,
) -> ir.Array:
    """The least elements up to which a row has at least the fraction ``q`` of its weight."""
    if weights.shape != shape:
        along = tuple(shape[i] for i in axes)
        if weights.shape != along:
            raise ValueError(
                f"{name}: the weights have shape {weights.shape}; they need that of the array, "
                f"{shape}, or along the axes {axes}, {along}."
            )
        weights = lax.broadcast_in_dim(weights, shape, tuple(axes))
    weights, _ = _rows(promotion.convert(weights, rows.dtype), axes)
    invalid = lax.ne(rows, rows)
    nan = promotion.strong_constant(rows.dtype, np.nan)
    if skip_nan:
        weights = select_where(invalid, promotion.strong_constant(weights.dtype, 0), weights)
    else:
        rows = select_where(keep_axes(_any(invalid, 1), (1,)), nan, rows)
    # In sorted order the running sum of the weights is the distribution function, times the total:
    # the number of sums below q times the total is the column of the quantile. NaNs sort last; with
    # weight 0 they are never reached.
    rows, weights = lax.sort((rows, weights), dimension=1, num_keys=1)
    sums = lax.cumsum(weights, 1)
    total = lax.slice_in_dim(sums, rows.shape[1] - 1, rows.shape[1], axis=1)
    q = promotion.convert(asarray(q), rows.dtype)
    count = q.shape[0]
    full = (count, *rows.shape)
    thresholds = lax.mul(
        lax.broadcast_in_dim(q, full, (0,)), lax.broadcast_in_dim(total, full, (1, 2))
    )
    short = lax.lt(lax.broadcast_in_dim(sums, full, (1, 2)), thresholds)
    places = sum(short, 2, _INDEX)
    # Rounding may leave the last sum below the threshold of q = 1.
    places = lax.min(places, promotion.strong_constant(_INDEX, rows.shape[1] - 1))
    elements = _columns(rows, places)
    total = lax.broadcast_in_dim(total, (1, rows.shape[0]), (1, 0))
    return select_where(lax.ne(total, total), nan, elements)
