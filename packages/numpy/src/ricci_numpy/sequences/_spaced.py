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

_TO_NEAREST_EVEN = lax.RoundingMethod.TO_NEAREST_EVEN


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


@ir.dispatched(
    *("num", "endpoint", "retstep", "dtype", "axis", "device"), integers=("start", "stop")
)
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
    axis = _canonical_axis(name, axis, len(shape) + 1)
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


def _canonical_axis(name: str, axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise ValueError(f"{name}: axis {axis} is out of bounds for a result of {rank} dimensions.")
    return axis % rank


def _nan(dtype: ir.DTypeLike) -> ir.Array:
    return creation.asarray(np.asarray(np.nan).astype(dtype))


def _of_dtype(x: ir.ArrayLike, dtype: np.dtype) -> ir.ArrayLike:
    return convert(x, dtype) if hasattr(type(x), "aval") else ir.exact_scalar(x, dtype)


def _wide(dtype: np.dtype) -> np.dtype:
    """The dtype to compute floats in: for small ones float32, whose integers are exact."""
    return np.dtype(np.float32) if dtype.itemsize < 4 else dtype


def _between(
    start: ir.ArrayLike, stop: ir.ArrayLike, count: int, endpoint: bool, dtype: np.dtype, axis: int
) -> ir.Array:
    shape = np.shape(start)
    real = np.dtype(f"float{dtype.itemsize * 4}") if dtype in COMPLEX_DTYPES else dtype
    real = _wide(real)
    wide = dtype if dtype in COMPLEX_DTYPES else real
    # A number is (start · (count - i) + stop · i) / count, all scaled by a power of two so that it
    # does not overflow: the weights are exact, and between integers so is the sum.
    total = strong_constant(real, count)
    exact = isinstance(count, int)
    scale = strong_constant(real, 2.0 ** -count.bit_length()) if exact else lax.reciprocal(total)
    of_stop = lax.mul(lax.iota(real, count), scale)
    of_start = lax.sub(lax.mul(total, scale), of_stop)
    # The weights of the first number are 1 and 0: a product that is divided by its own factor may
    # be another number than it was.
    is_first = lax.eq(of_stop, strong_constant(real, 0))
    of_start = lax.select(is_first, lax.full_like(of_start, 1), of_start)
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


@ir.dispatched("num", "endpoint", "dtype", "axis")
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
    settings = {"num": num, "endpoint": endpoint, "axis": axis}
    if computed in COMPLEX_DTYPES:
        exponents, _ = _spaced("logspace", start, stop, dtype=computed, **settings)
        bases, exponents = promote_args("logspace", _of_dtype(base, computed), exponents)
        return convert(lax.pow(bases, exponents), result_dtype)
    start, stop = (_of_dtype(x, computed) for x in (start, stop))
    start, stop = (convert(creation.asarray(x), _wide(computed)) for x in (start, stop))
    whole = [_truncated(x) for x in (start, stop)]
    fractions = [lax.sub(x, n) for x, n in zip((start, stop), whole, strict=True)]
    powers = _powers("logspace", _of_dtype(base, computed), whole, fractions, **settings)
    return convert(powers, result_dtype)


def _truncated(x: ir.Array) -> ir.Array:
    """The whole part of each element, rounded towards 0."""
    return lax.mul(lax.sign(x), lax.floor(lax.abs(x)))


def _powers(
    name: str,
    base: ir.ArrayLike,
    whole: list[ir.Array],
    fractions: list[ir.Array],
    *,
    num: int,
    endpoint: bool,
    axis: int,
) -> ir.Array:
    """Powers of ``base``, for two ends whose exponents are whole numbers plus fractions.

    Rounding a large exponent to its dtype changes the power by many units in the last place. Each
    exponent is therefore rounded with its error, which gives a factor next to 1.
    """
    computed = whole[0].dtype
    ends = lax.broadcast_shapes(*map(np.shape, whole))
    axis = _canonical_axis(name, axis, len(ends) + 1)
    count = 1 if ir.surely_at_most(num, 1) else num - 1 if endpoint else num
    position, total = _positions((*ends[:axis], num, *ends[axis:]), count, axis, computed)
    left = lax.sub(total, position)

    def between(first: ir.Array, last: ir.Array) -> ir.Array:
        first, last = (_along(broadcast(x, ends), position, axis) for x in (first, last))
        return lax.add(lax.mul(first, left), lax.mul(last, position))

    # The whole ends times numbers of intervals are exact.
    multiples = between(*whole)
    quotients = lax.round(lax.div(multiples, total), _TO_NEAREST_EVEN)
    remainders = lax.sub(multiples, lax.mul(quotients, total))
    part = lax.div(lax.add(remainders, between(*fractions)), total)
    exponents = lax.add(quotients, part)
    errors = lax.sub(part, lax.sub(exponents, quotients))
    # An infinite end leaves no remainder.
    exponents = lax.select(lax.is_finite(errors), exponents, multiples)
    bases = creation.asarray(convert(base, computed))
    logs = lax.log(bases)
    shape = lax.broadcast_shapes(exponents.shape, bases.shape)
    return _compensated_power(*(broadcast(x, shape) for x in (bases, logs, exponents, errors)))


def _positions(
    shape: ir.Shape, count: int, axis: int, dtype: np.dtype
) -> tuple[ir.Array, ir.Array]:
    """The position of each element along an axis, and the number of intervals."""
    total = creation.asarray(strong_constant(dtype, count))
    return lax.broadcasted_iota(dtype, shape, axis), lax.broadcast(total, shape)


@ir.dispatched("num", "endpoint", "dtype", "axis")
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
    settings = {"num": num, "endpoint": endpoint, "axis": axis}
    if ir.surely_at_most(num, 1):
        return convert(
            _spaced("geomspace", start, stop, dtype=computed, **settings)[0], result_dtype
        )
    # Both ends have one sign, which is divided out: powers need positive numbers.
    direction = lax.sign(start)
    ends = [lax.div(x, direction) for x in (start, stop)]
    if computed in COMPLEX_DTYPES:
        exponents, _ = _spaced("geomspace", *map(log10, ends), dtype=computed, **settings)
        powers = lax.pow(strong_constant(computed, 10.0), exponents)
        return convert(lax.mul(_along(direction, powers, axis), powers), result_dtype)
    start, stop, *ends = (convert(x, _wide(computed)) for x in (start, stop, *ends))
    axis = _canonical_axis("geomspace", axis, len(shape) + 1)
    result = _geometric(start, *ends, num - 1 if endpoint else num, num, axis)
    # The ends are exact whatever the powers round to.
    position = lax.broadcasted_iota(np.int32, result.shape, axis)
    for end, place in [(stop, num - 1), (start, 0)][not endpoint :]:
        at_end = lax.eq(position, broadcast(strong_constant(position.dtype, place), result.shape))
        result = lax.select(at_end, _along(end, result, axis), result)
    return convert(result, result_dtype)


def _along(x: ir.Array, of: ir.Array, axis: int) -> ir.Array:
    """An array that is repeated along an axis, to the shape of another array."""
    return creation.asarray(broadcast(lax.expand_dims(x, (axis % of.ndim,)), of.shape))


def _geometric(
    start: ir.Array, first: ir.Array, last: ir.Array, count: int, num: int, axis: int
) -> ir.Array:
    """``start`` times powers of the quotient of two positive ends.

    Args:
      start: the first number, with its sign.
      first, last: the absolute values of the ends.
      count: the number of intervals between the ends.
      num: the number of results.
      axis: the axis of the result along which they lie.
    """
    dtype = first.dtype
    # Where the quotient would overflow or vanish, that of the square roots is taken twice.
    quotient = lax.div(last, first)
    least, most = (
        broadcast(strong_constant(dtype, x), quotient.shape)
        for x in (float(ir.finfo(dtype).tiny), float(ir.finfo(dtype).max))
    )
    once = lax.bitwise_and(lax.ge(quotient, least), lax.le(quotient, most))
    last, first = (lax.select(once, x, lax.sqrt(x)) for x in (last, first))
    shape = (*quotient.shape[:axis], num, *quotient.shape[axis:])
    position, total = _positions(shape, count, axis, dtype)
    weights = lax.div(position, total)
    # The rounding error of a weight: products of upper and lower bits are exact.
    half = 2.0 ** (ir.finfo(dtype).nmant // 2 + 1)
    upper, lower = _halves(weights, half)
    errors = position
    for total_bits in _halves(total, 1 / half):
        for bits in (upper, lower):
            errors = lax.sub(errors, lax.mul(bits, total_bits))
    base = lax.div(last, first)
    bases, logs = (_along(x, position, axis) for x in (base, lax.log(base)))
    powers = _compensated_power(bases, logs, weights, lax.div(errors, total))
    more = lax.select(_along(once, position, axis), lax.full_like(powers, 1), powers)
    return lax.mul(lax.mul(_along(start, position, axis), powers), more)


def _halves(x: ir.Array, scale: float) -> list[ir.Array]:
    """The upper bits of each element, which are multiples of ``1 / scale``, and the lower ones."""
    factor = lax.full_like(x, scale)
    upper = lax.div(lax.round(lax.mul(x, factor), _TO_NEAREST_EVEN), factor)
    return [upper, lax.sub(x, upper)]


def _compensated_power(
    bases: ir.Array, logs: ir.Array, exponents: ir.Array, errors: ir.Array
) -> ir.Array:
    """Powers with exponents that are sums of two numbers, the second one a rounding error."""
    relative = lax.stop_gradient(lax.mul(errors, logs))
    relative = lax.select(lax.is_finite(relative), relative, lax.full_like(relative, 0))
    powers = lax.pow(bases, exponents)
    more = lax.mul(powers, relative)
    # A sum is rounded once, but a subnormal term may be taken as 0.
    normal = lax.ge(lax.abs(more), lax.full_like(more, float(ir.finfo(more.dtype).tiny)))
    factors = lax.add(lax.full_like(relative, 1), relative)
    is_sum = lax.bitwise_and(normal, lax.is_finite(more))
    return lax.select(is_sum, lax.add(powers, more), lax.mul(powers, factors))
