"""Differences, derivatives, integrals and linear interpolation of sampled functions."""

from operator import index
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_ir import Array, ArrayLike, Axis
from ricci_numpy import _promotion as promotion
from ricci_numpy.arrays._broadcasting import broadcast
from ricci_numpy.indexing._brackets import getitem
from ricci_numpy.indexing._where import where_step
from ricci_numpy.reductions._axis_reductions import sum
from ricci_numpy.shapes._joining import concatenate
from ricci_numpy.shapes._reshaping import ravel
from ricci_numpy.shapes._transposing import moveaxis
from ricci_numpy.sorting._searching import searchsorted
from ricci_numpy.ufuncs._binary import add, greater, less, multiply, subtract
from ricci_numpy.ufuncs._division import remainder
from ricci_numpy.ufuncs._rounding import clip
from ricci_numpy.ufuncs._unary import abs

__all__ = ["diff", "ediff1d", "gradient", "interp", "trapezoid"]


def _optional_operands(name: str, *args: ArrayLike | None) -> list[Any]:
    """The operands, of which some may be ``None``."""
    return [x if x is None else promotion.operands(name, x)[0] for x in args]


@ir.dispatched("n", "axis")
def diff(
    a: ArrayLike,
    n: int = 1,
    axis: int = -1,
    prepend: ArrayLike | None = None,
    append: ArrayLike | None = None,
) -> Array:
    """The differences of neighbouring elements along a dimension.

    Args:
      a: an array; of booleans, whether neighbours differ.
      n: how often the difference is taken.
      axis: the dimension.
      prepend, append: what to put before and after ``a`` first: an array, or a scalar that stands
        for one element.

    Returns:
      An array of the shape of ``a``, shorter along the dimension by ``n``.

    Raises:
      ValueError: if ``a`` is a scalar, ``n`` is negative, or ``axis`` does not exist.
      TypeError: if an operand is not an array.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.diff(jnp.array([1, 2, 4, 7]), append=0).tolist()
      [1, 2, 3, -7]

    Source: numpy.diff.
    """
    if prepend is None is append:
        (a,) = promotion.operands("diff", a)
    else:
        a, prepend, append = _optional_operands("diff", a, prepend, append)
    return _diff(a, prepend, append, n=index(n), axis=index(axis))


@ir.composite("diff")
def _diff(
    a: Array, prepend: ArrayLike | None, append: ArrayLike | None, *, n: int, axis: int
) -> Array:
    if n == 0:
        return a
    if n < 0:
        raise ValueError(f"diff: n is how often to take the difference, got {n}.")
    if not a.ndim:
        raise ValueError("diff: a scalar has no neighbours; give an array of rank 1 or more.")
    axis = promotion.canonical_axis(axis, a.ndim)
    # A scalar at an end stands beside every row: it is broadcast to one element along the axis.
    one = tuple(1 if i == axis else size for i, size in enumerate(a.shape))
    ends = [x if x is None or np.ndim(x) else broadcast(x, one) for x in (prepend, append)]
    parts = [x for x in (ends[0], a, ends[1]) if x is not None]
    if len(parts) > 1:
        a = concatenate(parts, axis)
    for _ in range(n):
        a = _step(a, axis)
    return a


def _step(a: Array, axis: int) -> Array:
    """The differences of neighbours."""
    size = a.shape[axis]
    after = lax.slice_in_dim(a, ir.min_dim(1, size), size, axis=axis)
    before = lax.slice_in_dim(a, 0, ir.max_dim(size - 1, 0), axis=axis)
    return lax.ne(after, before) if a.dtype == ir.BOOL else lax.sub(after, before)


@ir.dispatched()
def ediff1d(
    ary: ArrayLike, to_end: ArrayLike | None = None, to_begin: ArrayLike | None = None
) -> Array:
    """The differences of neighbours in the flattened array.

    Args:
      ary: an array.
      to_end, to_begin: what to put behind and before the differences, converted to the dtype of
        ``ary``.

    Returns:
      A vector of the dtype of ``ary``.

    Raises:
      TypeError: if an operand is not an array.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.ediff1d(jnp.array([1, 2, 4]), to_end=0).tolist()
      [1, 2, 0]

    Source: numpy.ediff1d.
    """
    ary, to_end, to_begin = _optional_operands(
        "ediff1d", *promotion.operands("ediff1d", ary), to_end, to_begin
    )
    if ir.get_aval(ary).dtype == ir.BOOL:
        raise TypeError("ediff1d: booleans have no differences; convert them with astype(int).")
    return _ediff1d(ary, to_end, to_begin)


@ir.composite("ediff1d")
def _ediff1d(ary: Array, to_end: ArrayLike | None, to_begin: ArrayLike | None) -> Array:
    differences = _step(ravel(ary), 0) if np.ndim(ary) != 1 else _step(ary, 0)
    begin, end = (
        x if x is None else ravel(promotion.convert(x, differences.dtype))
        for x in (to_begin, to_end)
    )
    parts = [x for x in (begin, differences, end) if x is not None]
    return lax.concatenate(parts, 0) if len(parts) > 1 else differences


@ir.dispatched("axis", "edge_order")
def gradient(
    f: ArrayLike, *varargs: ArrayLike, axis: Axis = None, edge_order: int | None = None
) -> Array | list[Array]:
    """The derivatives of a sampled function, by central differences inside and one-sided at ends.

    Args:
      f: the samples; integers become floats.
      varargs: the distance of samples, 1 by default: a scalar, or for each dimension a scalar or
        the vector of coordinates.
      axis: the dimension or dimensions to take derivatives along; all by default.
      edge_order: only ``None`` and 1.

    Returns:
      An array of the shape of ``f``, or a list of these, one for each of several dimensions.

    Raises:
      ValueError: if a dimension has fewer than 2 samples, or coordinates do not fit it.
      TypeError: if there are not as many ``varargs`` as dimensions, or an operand is not an array.
      NotImplementedError: for another ``edge_order``.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.gradient(jnp.array([1.0, 2.0, 4.0, 7.0])).tolist()
      [1.0, 1.5, 2.5, 3.0]

    Source: numpy.gradient.
    """
    f, *spacings = promotion.operands("gradient", f, *varargs)
    if edge_order is not None and edge_order != 1:
        raise NotImplementedError(
            f"gradient: edge_order={edge_order} is not supported; the ends are of order 1."
        )
    rank = np.ndim(f)
    axes = tuple(range(rank)) if axis is None else promotion.canonical_axes(axis, rank)
    if not axes:
        return []
    if any(np.shape(f)[i] < 2 for i in axes):
        raise ValueError(
            f"gradient: along axes {axes} of shape {np.shape(f)} there must be 2 samples or more."
        )
    if not spacings:  # narrow integers become narrow floats, which a distance of 1.0 would widen
        (f,) = promotion.promote_dtypes_inexact(f)
    distances: list[ArrayLike | None] = [*spacings] or [None]
    if len(distances) == 1:
        distances = distances * len(axes)
    if len(distances) != len(axes):
        raise TypeError(
            f"gradient: {len(distances)} distances are given for {len(axes)} dimensions; give "
            "one, or one for each."
        )
    for i, h in zip(axes, distances, strict=True):
        if h is not None and np.ndim(h) and np.shape(h) != (np.shape(f)[i],):
            raise ValueError(
                f"gradient: along axis {i} there are {np.shape(f)[i]} samples, and coordinates of "
                f"shape {np.shape(h)}; give a scalar or a vector of as many."
            )
    derivatives = _gradient(f, *distances, axes=axes)
    return list(derivatives) if len(axes) > 1 else derivatives


@ir.composite("gradient")
def _gradient(f: Array, *distances: ArrayLike | None, axes: tuple[int, ...]) -> Array | list[Array]:
    f, *steps = promotion.promote_dtypes_inexact(f, *(1.0 if h is None else h for h in distances))
    derivatives = [_derivative(f, h, axis) for h, axis in zip(steps, axes, strict=True)]
    return derivatives if len(derivatives) > 1 else derivatives[0]


def _derivative(f: Array, h: Array, axis: int) -> Array:
    size = f.shape[axis]

    def part(x: Array, start: int, stop: int) -> Array:
        return lax.slice_in_dim(x, start, stop, axis=axis)

    # The ends have one neighbour, so that their slopes are those of the outermost segments.
    first = lax.sub(part(f, 1, 2), part(f, 0, 1))
    last = lax.sub(part(f, size - 1, size), part(f, size - 2, size - 1))
    if not np.ndim(h):
        half = promotion.constant_like(f, 0.5)
        inner = lax.mul(lax.sub(part(f, 2, size), part(f, 0, size - 2)), half)
        parts = [
            lax.div(x, promotion.convert(h, f.dtype, f.weak_type)) for x in (first, inner, last)
        ]
        return lax.concatenate(parts, axis)
    h = lax.reshape(h, tuple(size if i == axis else 1 for i in range(f.ndim)))
    steps = lax.sub(part(h, 1, size), part(h, 0, size - 1))
    before, after = part(steps, 0, size - 2), part(steps, 1, size - 1)
    both = lax.add(before, after)
    # The derivative of the parabola through three neighbours.
    weights = (
        lax.neg(lax.div(after, lax.mul(before, both))),
        lax.div(lax.sub(after, before), lax.mul(before, after)),
        lax.div(before, lax.mul(after, both)),
    )
    terms = [lax.mul(w, part(f, i, size - 2 + i)) for i, w in enumerate(weights)]
    inner = lax.add(lax.add(terms[0], terms[1]), terms[2])
    first, last = lax.div(first, part(steps, 0, 1)), lax.div(last, part(steps, size - 2, size - 1))
    return lax.concatenate([first, inner, last], axis)


@ir.dispatched("axis")
def trapezoid(
    y: ArrayLike, x: ArrayLike | None = None, dx: ArrayLike = 1.0, axis: int = -1
) -> Array:
    """The integral of a sampled function along a dimension, by the trapezoidal rule.

    Args:
      y: the samples; integers become floats.
      x: where they were taken: a vector, or an array of the shape of ``y``.
      dx: the distance of samples, if there is no ``x``; or the distances, along the last dimension.
      axis: the dimension.

    Returns:
      An array of the shape of ``y`` without the dimension, of a float or complex dtype.

    Raises:
      ValueError: if ``y`` is a scalar, ``axis`` does not exist, or the shapes do not fit.
      TypeError: if an operand is not an array.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.trapezoid(jnp.array([1.0, 2.0, 4.0]), dx=0.5).tolist()
      2.25

    Source: numpy.trapezoid.
    """
    y, x, dx = _optional_operands(
        "trapezoid", *promotion.operands("trapezoid", y), x, *promotion.operands("trapezoid", dx)
    )
    axis = promotion.canonical_axis(axis, np.ndim(y))
    if x is None:
        # The step holds the default distance.
        return _trapezoid(y, None if type(dx) is float and dx == 1 else dx, axis=axis)
    if not np.ndim(x):
        raise ValueError("trapezoid: x is a scalar; give the points in an array, or dx.")
    if np.ndim(x) != 1:
        x = moveaxis(x, axis, -1)
    return _trapezoid_at(y, x, axis=axis)


@ir.composite("trapezoid")
def _trapezoid(y: Array, dx: Array | None, *, axis: int) -> Array:
    distance = 1.0 if dx is None else dx
    y, dx = promotion.promote_dtypes(*promotion.promote_dtypes_inexact(y), distance)
    y = moveaxis(y, axis, -1)
    half = promotion.strong_constant(y.dtype, 0.5)
    if np.ndim(dx) > 1:  # as in NumPy, it broadcasts against the neighbours along the axis
        first, last = lax.slice_in_dim(y, 0, -1, axis=-1), lax.slice_in_dim(y, 1, None, axis=-1)
        pairs = moveaxis(lax.add(first, last), -1, axis)
        return lax.mul(half, sum(multiply(dx, pairs), axis))
    if np.ndim(dx):
        return lax.mul(half, _weighted_sum(dx, y))
    # At equal distances every sample counts once, and the two ends count half.
    ends = lax.add(*(lax.index_in_dim(y, i, y.ndim - 1, keepdims=False) for i in (0, -1)))
    return multiply(dx, lax.sub(sum(y, -1), lax.mul(half, ends)))


@ir.composite("trapezoid")
def _trapezoid_at(y: Array, x: Array, *, axis: int) -> Array:
    y, x = promotion.promote_dtypes_inexact(y, x)
    total = _weighted_sum(_step(x, x.ndim - 1), moveaxis(y, axis, -1))
    return lax.mul(promotion.strong_constant(total.dtype, 0.5), total)


def _weighted_sum(weights: Array, y: Array) -> Array:
    """The sums of neighbours along the last dimension, multiplied by weights and summed."""
    last = y.ndim - 1
    after, before = lax.slice_in_dim(y, 1, None, axis=last), lax.slice_in_dim(y, 0, -1, axis=last)
    pairs = lax.add(after, before)
    if weights.ndim < pairs.ndim:  # positions of one dimension serve all rows
        promotion.check_broadcast("trapezoid", [weights.shape, pairs.shape])
        weights = lax.expand_dims(weights, range(pairs.ndim - weights.ndim))
    return sum(multiply(weights, pairs), -1)


_EXTRAPOLATE = "extrapolate"


def interp(
    x: ArrayLike,
    xp: ArrayLike,
    fp: ArrayLike,
    left: ArrayLike | str | None = None,
    right: ArrayLike | str | None = None,
    period: ArrayLike | None = None,
) -> Array:
    """The values between given points of a function, by straight lines.

    Args:
      x: where to evaluate, an array of real numbers.
      xp: the sample points, an increasing vector; any order with ``period``.
      fp: its values there, a vector of the same size.
      left, right: the values before the first and behind the last point, those of these points by
        default; ``"extrapolate"`` continues the line.
      period: the period of the function; then ``left`` and ``right`` have no effect.

    Returns:
      An array of floats of the shape of ``x``.

    Raises:
      TypeError: if an operand is not an array.
      ValueError: if ``xp`` and ``fp`` are not vectors of one size, ``x`` or ``xp`` is complex,
        ``left`` or ``right`` is another string, or ``period`` is not a scalar.

    Example:
      >>> import ricci.numpy as jnp
      >>> xp, fp = jnp.array([0.0, 1.0, 2.0]), jnp.array([0.0, 10.0, 40.0])
      >>> jnp.interp(jnp.array([0.5, 1.5, 9.0]), xp, fp).tolist()
      [5.0, 25.0, 40.0]

    Source: numpy.interp.
    """
    x, xp, fp = promotion.operands("interp", x, xp, fp)
    if np.ndim(xp) != 1 or np.shape(xp) != np.shape(fp):
        raise ValueError(
            f"interp: xp and fp must be vectors of one size, got shapes {np.shape(xp)} and "
            f"{np.shape(fp)}."
        )
    if not np.shape(xp)[0]:
        raise TypeError("interp: xp and fp are empty; give at least one point.")
    if any(promotion.dtype_of(each) in promotion.COMPLEX_DTYPES for each in (x, xp)):
        raise ValueError("interp: x and xp must be real numbers, which have an order.")
    # Values are operands and modes static: the number of distinct executables is that of the modes.
    modes, settings = {}, []
    for name, value in (("left", left), ("right", right), ("period", period)):
        if isinstance(value, str) and name != "period":
            if value != _EXTRAPOLATE:
                raise ValueError(
                    f"interp: {name}={value!r} is unknown; the one string it can be is "
                    f"{_EXTRAPOLATE!r}."
                )
            modes[name] = value
        elif value is not None:
            settings += promotion.operands("interp", value)
            modes[name] = "given"
    if period is not None and np.ndim(settings[-1]):
        raise ValueError(f"interp: period must be a scalar, got shape {np.shape(settings[-1])}.")
    return _interp(x, xp, fp, *settings, modes=tuple(modes.items()))


@ir.composite("_interp")
def _interp(
    x: Array, xp: Array, fp: Array, *settings: ArrayLike, modes: tuple[tuple[str, str], ...]
) -> Array:
    remaining = iter(settings)
    values = {name: next(remaining) for name, mode in modes if mode != _EXTRAPOLATE}
    extrapolated = {name for name, mode in modes if mode == _EXTRAPOLATE}
    x, xp = promotion.promote_dtypes_inexact(x, xp)
    (fp,) = promotion.promote_dtypes_inexact(fp)
    if "period" in values:
        # A negative period means the same function.
        x, xp, fp = _periodic(x, xp, fp, abs(values["period"]))
    size = xp.shape[0]
    # The right end of the segment, clipped so that points outside use the first or last segment.
    # With side="right", a point on a sample uses the segment that begins there.
    after = clip(searchsorted(xp, x, side="right"), 1, size - 1)
    before = lax.sub(after, np.int32(1))
    x0, f0 = getitem(xp, before), getitem(fp, before)
    width, rise = lax.sub(getitem(xp, after), x0), lax.sub(getitem(fp, after), f0)
    # Coinciding points define no slope: the result is the value of the first of them.
    least = promotion.strong_constant(width.dtype, float(ir.finfo(width.dtype).eps) ** 2)
    coincide = lax.le(lax.abs(width), least)
    fraction = lax.div(
        lax.sub(x, x0), where_step(coincide, promotion.constant_like(width, 1), width)
    )
    result = where_step(coincide, f0, add(f0, multiply(fraction, rise)))
    if "period" in values:
        return result
    for name, outside, place in (("left", less, 0), ("right", greater, -1)):
        value = values.get(name, lax.index_in_dim(fp, place, keepdims=False))
        if name not in extrapolated:
            end = lax.index_in_dim(xp, place, keepdims=False)
            result = where_step(outside(x, end), value, result)
    return result


def _periodic(x: Array, xp: Array, fp: Array, period: Array) -> tuple[Array, Array, Array]:
    """The points within one period in order, with one more from the period on either side."""
    x, xp = remainder(x, period), remainder(xp, period)
    xp, fp = lax.sort((xp, fp), num_keys=1)
    first = [lax.slice_in_dim(each, 0, 1) for each in (xp, fp)]
    last = [lax.slice_in_dim(each, -1, None) for each in (xp, fp)]
    # Points before the first sample lie on the segment from the previous period's last one.
    xp = lax.concatenate([subtract(last[0], period), xp, add(first[0], period)], 0)
    return x, xp, lax.concatenate([last[1], fp, first[1]], 0)
