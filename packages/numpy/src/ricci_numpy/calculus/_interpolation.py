"""Linear interpolation between points."""

import numpy as np

import ricci_lax as lax
from ricci_ir import Array, ArrayLike, composite, finfo, get_aval
from ricci_numpy._promotion import (
    COMPLEX_DTYPES,
    constant_like,
    operands,
    promote_dtypes_inexact,
    strong_constant,
)
from ricci_numpy.indexing._brackets import getitem
from ricci_numpy.indexing._where import where_step
from ricci_numpy.sorting._searching import searchsorted
from ricci_numpy.ufuncs._binary import add, greater, less, multiply, subtract
from ricci_numpy.ufuncs._division import remainder
from ricci_numpy.ufuncs._rounding import clip
from ricci_numpy.ufuncs._unary import abs

__all__ = ["interp"]

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
    x, xp, fp = operands("interp", x, xp, fp)
    if np.ndim(xp) != 1 or np.shape(xp) != np.shape(fp):
        raise ValueError(
            f"interp: xp and fp must be vectors of one size, got shapes {np.shape(xp)} and "
            f"{np.shape(fp)}."
        )
    if not np.shape(xp)[0]:
        raise TypeError("interp: xp and fp are empty; give at least one point.")
    if any(_dtype(each) in COMPLEX_DTYPES for each in (x, xp)):
        raise ValueError("interp: x and xp must be real numbers, which have an order.")
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
            settings += operands("interp", value)
            modes[name] = "given"
    if period is not None and np.ndim(settings[-1]):
        raise ValueError(f"interp: period must be a scalar, got shape {np.shape(settings[-1])}.")
    return _interp(x, xp, fp, *settings, modes=tuple(modes.items()))


def _dtype(x: Array) -> np.dtype:
    return get_aval(x).dtype


@composite("_interp")
def _interp(
    x: Array, xp: Array, fp: Array, *settings: ArrayLike, modes: tuple[tuple[str, str], ...]
) -> Array:
    remaining = iter(settings)
    values = {name: next(remaining) for name, mode in modes if mode != _EXTRAPOLATE}
    extrapolated = {name for name, mode in modes if mode == _EXTRAPOLATE}
    x, xp = promote_dtypes_inexact(x, xp)
    (fp,) = promote_dtypes_inexact(fp)
    if "period" in values:
        x, xp, fp = _periodic(x, xp, fp, abs(values["period"]))
    size = xp.shape[0]
    after = clip(searchsorted(xp, x, side="right"), 1, size - 1)
    before = lax.sub(after, np.int32(1))
    x0, f0 = getitem(xp, before), getitem(fp, before)
    width, rise = lax.sub(getitem(xp, after), x0), lax.sub(getitem(fp, after), f0)
    # Between points in one place there is no line: the value there is that of the first.
    least = strong_constant(width.dtype, float(finfo(width.dtype).eps) ** 2)
    coincide = lax.le(lax.abs(width), least)
    fraction = lax.div(lax.sub(x, x0), where_step(coincide, constant_like(width, 1), width))
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
    xp = lax.concatenate([subtract(last[0], period), xp, add(first[0], period)], 0)
    return x, xp, lax.concatenate([last[1], fp, first[1]], 0)
