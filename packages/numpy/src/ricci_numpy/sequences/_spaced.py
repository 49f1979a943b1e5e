"""Numbers that are spaced evenly, linearly or geometrically, between two ends."""

from operator import index
from typing import Any, Literal, overload

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_numpy._promotion import (
    COMPLEX_DTYPES,
    INEXACT_DTYPES,
    common_dtype,
    convert,
    inexact_dtype,
    operands,
    promote_args,
    strong_constant,
)
from ricci_numpy.arrays import _creation as creation
from ricci_numpy.arrays._broadcasting import broadcast
from ricci_numpy.arrays._filling import filled
from ricci_numpy.ufuncs._unary import log10

from ._ranges import _whole

__all__ = ["geomspace", "linspace", "logspace"]


@overload
def linspace(
    start: ir.ArrayLike,
    stop: ir.ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    retstep: Literal[False] = False,
    dtype: ir.DTypeLike | None = None,
    axis: int = 0,
    *,
    device: object = None,
) -> ir.Array: ...


@overload
def linspace(
    start: ir.ArrayLike,
    stop: ir.ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    *,
    retstep: Literal[True],
    dtype: ir.DTypeLike | None = None,
    axis: int = 0,
    device: object = None,
) -> tuple[ir.Array, ir.Array]: ...


def linspace(
    start: ir.ArrayLike,
    stop: ir.ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: ir.DTypeLike | None = None,
    axis: int = 0,
    *,
    device: object = None,
) -> ir.Array | tuple[ir.Array, ir.Array]:
    """A number of values from ``start`` to ``stop`` at equal distances.

    Args:
      start, stop: the ends, scalars or arrays that broadcast.
      num: how many.
      endpoint: whether ``stop`` is the last; else it is left out.
      retstep: also return the distance.
      dtype: the dtype; at least a float without it, and integers are rounded down.
      axis: the axis of the result along which the values lie.
      device: where the array goes.

    Returns:
      An array with a new dimension of size ``num``, of a float dtype unless ``dtype`` is
      given; with ``retstep`` a tuple of it and the distance.

    Raises:
      ValueError: if ``num`` is negative.
      TypeError: if ``num`` is not an int, or an end is not an array or scalar.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.linspace(0, 1, 5).tolist(), jnp.linspace(0, 1, 4, endpoint=False).tolist()
      ([0.0, 0.25, 0.5, 0.75, 1.0], [0.0, 0.25, 0.5, 0.75])
      >>> jnp.linspace(0, 5, 3, dtype=int).tolist()  # rounded down
      [0, 2, 5]
      >>> jnp.linspace(jnp.zeros(2), jnp.array([1.0, 2.0]), 3).tolist()
      [[0.0, 0.0], [0.5, 1.0], [1.0, 2.0]]

    See also:
      ``arange``, with a given distance; ``logspace``, ``geomspace``.

    Source: numpy.linspace.
    """
    dtype = creation.chosen_dtype(dtype, "linspace")
    settings = {
        "num": _whole("linspace", num),
        "endpoint": bool(endpoint),
        "dtype": dtype,
        "axis": index(axis),
    }
    start, stop = operands("linspace", start, stop)
    if not retstep:
        return creation.constrained(_linspace(start, stop, **settings), device)
    result, step = _linspace_and_step(start, stop, **settings)
    return creation.constrained(result, device), step


@ir.composite("_linspace")
def _linspace(start: ir.ArrayLike, stop: ir.ArrayLike, **settings: Any) -> ir.Array:
    return _spaced("linspace", start, stop, **settings)[0]


@ir.composite("_linspace")
def _linspace_and_step(
    start: ir.ArrayLike, stop: ir.ArrayLike, **settings: Any
) -> tuple[ir.Array, ir.Array]:
    return _spaced("linspace", start, stop, **settings)


def _spaced(
    name: str,
    start: ir.ArrayLike,
    stop: ir.ArrayLike,
    *,
    num: int,
    endpoint: bool,
    dtype: ir.DTypeLike | None,
    axis: int,
) -> tuple[ir.Array, ir.Array]:
    computed = inexact_dtype(common_dtype(start, stop)[0])[0] if dtype is None else dtype
    result_dtype = computed
    computed = inexact_dtype(computed)[0]
    shape = lax.broadcast_shapes(np.shape(start), np.shape(stop))
    start, stop = (broadcast(_of_dtype(x, computed), shape) for x in (start, stop))
    axis = index(axis)
    rank = len(shape) + 1
    if not -rank <= axis < rank:
        raise ValueError(f"{name}: axis {axis} is out of bounds for a result of {rank} dimensions.")
    axis %= rank
    # The number of intervals between start and stop.
    count = num - 1 if endpoint else num
    if not ir.surely_at_most(num, 1):
        step = lax.div(lax.sub(stop, start), strong_constant(computed, count))
        result = _between(start, stop, count, endpoint, computed, axis)
    else:
        step = lax.sub(stop, start) if num and not endpoint else _nan(computed)
        result = lax.reshape(broadcast(start, shape), (*shape[:axis], 1, *shape[axis:]))
        if num == 0:
            result = filled((*shape[:axis], 0, *shape[axis:]), 0, computed, False, name)
    if result_dtype not in INEXACT_DTYPES:
        # A boolean result is not rounded down first: only 0 is false.
        result = convert(result if result_dtype == ir.BOOL else lax.floor(result), result_dtype)
    return result, step


def _nan(dtype: ir.DTypeLike) -> ir.Array:
    return creation.asarray(np.asarray(np.nan).astype(dtype))


def _of_dtype(x: ir.ArrayLike, dtype: np.dtype) -> ir.ArrayLike:
    return convert(x, dtype) if hasattr(type(x), "aval") else ir.exact_scalar(x, dtype)


def _between(
    start: ir.ArrayLike, stop: ir.ArrayLike, count: int, endpoint: bool, dtype: np.dtype, axis: int
) -> ir.Array:
    shape = np.shape(start)
    real = np.dtype(f"float{dtype.itemsize * 4}") if dtype in COMPLEX_DTYPES else dtype
    # Small floats are computed as float32, whose integers are exact.
    real = np.dtype(np.float32) if real.itemsize < 4 else real
    wide = dtype if dtype in COMPLEX_DTYPES else real
    # A number is (start · (count - i) + stop · i) / count, all scaled by a power of two so that it
    # does not overflow: the weights are exact, and between integers so is the sum.
    total = strong_constant(real, count)
    exact = isinstance(count, int)
    scale = strong_constant(real, 2.0 ** -count.bit_length()) if exact else lax.reciprocal(total)
    of_stop = lax.mul(lax.iota(real, count), scale)
    of_start = lax.sub(lax.mul(total, scale), of_stop)
    # A sum of arrays, since XLA multiplies by the rounded reciprocal of a constant.
    divisor = lax.add(of_start, of_stop)
    thin = (*shape[:axis], 1, *shape[axis:])
    along = tuple(count if i == axis else 1 for i in range(len(thin)))
    weights = [of_start, of_stop, divisor]
    if len(along) > 1:
        weights = [lax.reshape(x, along) for x in weights]
    of_start, of_stop, divisor = (convert(x, wide) for x in weights)
    first, last = (lax.reshape(convert(x, wide), thin) for x in (start, stop))
    result = lax.add(lax.mul(first, of_start), lax.mul(last, of_stop))
    result = convert(lax.div(result, divisor), dtype)
    # The end is appended as it is, so that it is exact whatever rounding does.
    if endpoint:
        other_dims = tuple(i for i in range(len(thin)) if i != axis)
        if not ir.surely_at_least(count, 1):  # a single point is the first one
            several = lax.gt(strong_constant(real, count), strong_constant(real, 0))
            stop = lax.select(broadcast(several, shape), stop, start)
        result = lax.concatenate([result, lax.broadcast_in_dim(stop, thin, other_dims)], axis)
    return result


def logspace(
    start: ir.ArrayLike,
    stop: ir.ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    base: ir.ArrayLike = 10.0,
    dtype: ir.DTypeLike | None = None,
    axis: int = 0,
) -> ir.Array:
    """Powers of ``base`` with exponents at equal distances; the rest is as for ``linspace``.

    Args:
      start, stop: the exponents of the first and the last power.
      base: a scalar or an array.
      num, endpoint, dtype, axis: as for ``linspace``.

    Returns:
      An array with a new dimension of size ``num``.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.logspace(0, 2, 3, base=2).tolist()
      [1.0, 2.0, 4.0]

    Source: numpy.logspace.
    """
    dtype = creation.chosen_dtype(dtype, "logspace")
    return _logspace(
        *operands("logspace", start, stop, base),
        num=_whole("logspace", num),
        endpoint=bool(endpoint),
        dtype=dtype,
        axis=index(axis),
    )


@ir.composite("_logspace")
def _logspace(
    start: ir.ArrayLike,
    stop: ir.ArrayLike,
    base: ir.ArrayLike,
    *,
    num: int,
    endpoint: bool,
    dtype: ir.DTypeLike | None,
    axis: int,
) -> ir.Array:
    result_dtype = inexact_dtype(common_dtype(start, stop)[0])[0] if dtype is None else dtype
    computed = inexact_dtype(result_dtype)[0]
    exponents, _ = _spaced(
        "logspace", start, stop, num=num, endpoint=endpoint, dtype=computed, axis=axis
    )
    bases, exponents = promote_args("logspace", _of_dtype(base, computed), exponents)
    return convert(lax.pow(bases, exponents), result_dtype)


def geomspace(
    start: ir.ArrayLike,
    stop: ir.ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    dtype: ir.DTypeLike | None = None,
    axis: int = 0,
) -> ir.Array:
    """Numbers from ``start`` to ``stop`` with equal quotients; the rest is as for ``linspace``.

    Args:
      start, stop: the ends, of one sign; scalars or arrays that broadcast.
      num, endpoint, dtype, axis: as for ``linspace``.

    Returns:
      An array with a new dimension of size ``num``.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.geomspace(1, 1000, 4).round().tolist()
      [1.0, 10.0, 100.0, 1000.0]

    Source: numpy.geomspace.
    """
    dtype = creation.chosen_dtype(dtype, "geomspace")
    return _geomspace(
        *operands("geomspace", start, stop),
        num=_whole("geomspace", num),
        endpoint=bool(endpoint),
        dtype=dtype,
        axis=index(axis),
    )


@ir.composite("_geomspace")
def _geomspace(
    start: ir.ArrayLike,
    stop: ir.ArrayLike,
    *,
    num: int,
    endpoint: bool,
    dtype: ir.DTypeLike | None,
    axis: int,
) -> ir.Array:
    result_dtype = inexact_dtype(common_dtype(start, stop)[0])[0] if dtype is None else dtype
    computed = inexact_dtype(result_dtype)[0]
    shape = lax.broadcast_shapes(np.shape(start), np.shape(stop))
    start, stop = (broadcast(_of_dtype(x, computed), shape) for x in (start, stop))
    # Both ends have one sign, which is divided out: logarithms need positive numbers.
    direction = lax.sign(start)
    logs = [log10(lax.div(x, direction)) for x in (start, stop)]
    exponents, _ = _spaced(
        "geomspace", *logs, num=num, endpoint=endpoint, dtype=computed, axis=axis
    )
    powers = lax.pow(strong_constant(computed, 10.0), exponents)
    if shape:
        axis %= len(shape) + 1
        direction = lax.expand_dims(direction, (axis,))
    return convert(lax.mul(direction, powers), result_dtype)
