"""``pad``: an array with its edges extended."""

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_ir import Array, ArrayLike
from ricci_numpy._promotion import canonical_axis, convert, dtype_of, operands
from ricci_numpy.arrays._broadcasting import broadcast
from ricci_numpy.arrays._creation import asarray
from ricci_numpy.reductions._axis_reductions import max as maximum_of
from ricci_numpy.reductions._axis_reductions import min as minimum_of
from ricci_numpy.reductions._moments import mean
from ricci_numpy.shapes._transposing import moveaxis
from ricci_numpy.ufuncs._rounding import round as rounded

from ._moving import flip

__all__ = ["pad"]

WidthsLike = ArrayLike | Sequence[Any] | Mapping[int, Any]
Widths = tuple[tuple[int, int], ...]
type Values = ArrayLike | list[Values] | tuple[Values, ...]


@ir.dispatched("pad_width", "mode", "reflect_type", "stat_length", integers=("constant_values",))
def pad(
    array: ArrayLike,
    pad_width: WidthsLike,
    mode: str | Callable[..., Any] = "constant",
    **kwargs: object,
) -> Array:
    """An array with elements added before and after each dimension.

    Args:
      array: an array.
      pad_width: how many: an int for all; a pair ``(before, after)`` for all; a pair for each
        dimension; or a dict from dimensions to any of these.
      mode: the added elements. ``"constant"``: ``constant_values``, given like ``pad_width``, 0 by
        default. ``"edge"``: the edge. ``"reflect"``, ``"symmetric"``: the mirror image, without
        or with the edge; with ``reflect_type="odd"`` twice the edge minus it. ``"wrap"``: the
        opposite end. ``"linear_ramp"``: a ramp to ``end_values``. ``"maximum"``, ``"minimum"``,
        ``"mean"``, ``"median"``: of ``stat_length`` elements at the edge, by default all.
        ``"empty"``: anything. Or a function, called for each vector as
        ``mode(vector, widths, axis, kwargs)``, that returns the vector.
      **kwargs: what the mode takes: ``constant_values``, ``end_values``, ``stat_length`` or
        ``reflect_type``; for a function, anything.

    Returns:
      An array of the dtype of ``array``.

    Raises:
      ValueError: if ``pad_width`` has a wrong shape or a negative number, or a keyword does not
        go with the mode.
      TypeError: if ``array`` is not an array, or ``pad_width`` holds no integers.
      NotImplementedError: if there is no such mode.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.pad(jnp.array([1, 2]), (1, 2), constant_values=9).tolist()
      [9, 1, 2, 9, 9]
      >>> jnp.pad(jnp.array([1, 2, 3]), 2, mode="reflect").tolist()
      [3, 2, 1, 2, 3, 2, 1]

    Source: numpy.pad.
    """
    (array,) = operands("pad", array)
    widths = _widths(pad_width, np.ndim(array))
    if not widths:
        return asarray(array)
    if callable(mode):
        return _pad_by(array, widths, mode, kwargs)
    aval = ir.get_aval(array)
    return convert(_padded(array, widths, mode, kwargs), aval.dtype, aval.weak_type)


def _padded(array: Array, widths: Widths, mode: str, kwargs: Mapping[str, Any]) -> Array:
    ndim = len(widths)
    if mode not in _allowed:
        raise NotImplementedError(
            f"pad: mode {mode!r} is unknown; the modes are {', '.join(sorted(_allowed))}."
        )
    unknown = set(kwargs) - set(_allowed[mode])
    if unknown:
        raise ValueError(
            f"pad: mode {mode!r} does not take {', '.join(sorted(unknown))}; it takes "
            f"{', '.join(_allowed[mode]) or 'no keywords'}."
        )
    if mode == "constant":
        values, form = _pairs_of_values("constant_values", kwargs.get("constant_values", 0), ndim)
        return _pad_constant(array, *values, widths=widths, form=form)
    if mode == "linear_ramp":
        values, form = _pairs_of_values("end_values", kwargs.get("end_values", 0), ndim)
        numbers = tuple(v if _is_setting(v) else None for v in values)
        arrays = [v for v, number in zip(values, numbers, strict=True) if number is None]
        return _pad_ramp(array, *arrays, numbers=numbers, widths=widths, form=form)
    if mode in _statistics:
        lengths = kwargs.get("stat_length")
        if lengths is not None:
            lengths = _integer_pairs("stat_length", lengths, ndim)
            if any(n < 1 for pair in lengths for n in pair):
                raise ValueError("pad: stat_length must be at least 1.")
        return _pad_statistic(array, widths=widths, mode=mode, lengths=lengths)
    settings = tuple(sorted(kwargs.items()))
    return _pad(array, widths=widths, mode=mode, settings=settings)


_allowed: dict[str, tuple[str, ...]] = {
    "constant": ("constant_values",),
    "edge": (),
    "empty": (),
    "linear_ramp": ("end_values",),
    "maximum": ("stat_length",),
    "mean": ("stat_length",),
    "median": ("stat_length",),
    "minimum": ("stat_length",),
    "reflect": ("reflect_type",),
    "symmetric": ("reflect_type",),
    "wrap": (),
}


def _widths(pad_width: WidthsLike, ndim: int) -> Widths:
    if isinstance(pad_width, Mapping):
        pairs = [(0, 0)] * ndim
        for axis, width in pad_width.items():
            pairs[canonical_axis(axis, ndim)] = _integer_pairs("pad_width", width, 1)[0]
        widths = tuple(pairs)
    else:
        widths = _integer_pairs("pad_width", pad_width, ndim)
    if any(n < 0 for pair in widths for n in pair):
        raise ValueError(f"pad: pad_width cannot hold negative numbers, got {pad_width}.")
    return widths


def _integer_pairs(name: str, value: Any, ndim: int) -> Widths:
    pairs = np.array(value, dtype=object) if np.ndim(value) else value
    flat = pairs.ravel() if isinstance(pairs, np.ndarray) else [pairs]
    try:
        flat = [ir.as_size(n) for n in flat]
    except TypeError:
        raise TypeError(
            f"pad: {name}={value} counts elements, so it must be of integers."
        ) from None
    shape = np.shape(pairs)
    _check_pairs(name, shape, ndim)
    full = np.broadcast_to(np.array(flat, object).reshape(shape), (ndim, 2))
    return tuple((a, b) for a, b in full)


def _check_pairs(name: str, shape: tuple[int, ...], ndim: int, *also: tuple[int, ...]) -> None:
    if shape not in ((), (1,), (2,), (1, 2), (ndim, 2), *also):
        raise ValueError(
            f"pad: {name} has shape {shape}, but for {ndim} dimensions it must have shape "
            f"({ndim}, 2), (1, 2), (2,), (1,) or ()."
        )


def _pairs_of_values(name: str, value: Values, ndim: int) -> tuple[list[Array], tuple]:
    """The different values of a keyword, and for each dimension the numbers of its two values."""
    shape = _shape_of_values(name, value)
    _check_pairs(name, shape, ndim, (1, 1), (ndim, 1))
    # The positions of the values are broadcast like the values, which may be traced.
    numbers = np.broadcast_to(np.arange(prod(shape)).reshape(shape), (ndim, 2))
    return operands("pad", *_elements(value)), tuple((int(a), int(b)) for a, b in numbers)


def _is_setting(value: ArrayLike) -> bool:
    """Whether a value is a setting, which is not copied to the device, not an operand.

    NaN and float zeros are not: they differ from what they equal, or equal nothing.
    """
    return type(value) is int or (type(value) is float and value * value > 0)


def _shape_of_values(name: str, value: Values) -> tuple[int, ...]:
    """The shape of an array, or of nested sequences of numbers, which may be traced."""
    if not isinstance(value, list | tuple):
        return np.shape(value)
    shapes = {_shape_of_values(name, row) for row in value} or {()}
    if len(shapes) > 1:
        raise ValueError(f"pad: {name}={value} holds neither values alone nor pairs alone.")
    return len(value), *shapes.pop()


def _elements(value: Values) -> list[ArrayLike]:
    if isinstance(value, list | tuple):
        return [x for row in value for x in _elements(row)]
    if np.ndim(value):
        return list(lax.unstack(lax.reshape(value, (np.size(value),)), 0))
    return [value]


@ir.composite("_pad")
def _pad_constant(x: Array, *values: ArrayLike, widths: Widths, form: tuple) -> Array:
    dtype = dtype_of(x)
    values = tuple(convert(v, dtype) for v in values)
    if len(values) == 1:
        return lax.pad(x, values[0], [(a, b, 0) for a, b in widths])
    # Dimension by dimension, so that the corners get the values of the last, as NumPy's do.
    for d, ((before, after), (i, j)) in enumerate(zip(widths, form, strict=True)):
        for lead, tail, value in ((before, 0, values[i]), (0, after, values[j])):
            config = [(0, 0, 0)] * np.ndim(x)
            config[d] = (lead, tail, 0)
            x = lax.pad(x, value, config)
    return x


@ir.composite("_pad")
def _pad(x: Array, *, widths: Widths, mode: str, settings: tuple) -> Array:
    # Axis by axis, each from the result so far: the corners are images of images.
    for axis, (before, after) in enumerate(widths):
        if not before and not after:
            continue
        if not np.shape(x)[axis] and mode != "empty":
            raise ValueError(f"pad: axis {axis} has size 0, and mode {mode!r} needs an element.")
        x = _modes[mode](x, axis, before, after, **dict(settings))
    return x


def _part(x: Array, axis: int, start: int, limit: int) -> Array:
    return lax.slice_in_dim(x, start, limit, axis=axis)


def _repeated(edge: Array, axis: int, count: int) -> Array:
    """A part of size 1, repeated."""
    shape = np.shape(edge)
    return lax.broadcast_in_dim(edge, (*shape[:axis], count, *shape[axis + 1 :]), range(len(shape)))


def _edge(x: Array, axis: int, before: int, after: int) -> Array:
    size = np.shape(x)[axis]
    first, last = _part(x, axis, 0, 1), _part(x, axis, size - 1, size)
    parts = [_repeated(first, axis, before), x, _repeated(last, axis, after)]
    return lax.concatenate(parts, axis)


def _mirrored(x: Array, axis: int, before: int, after: int, offset: int, odd: bool) -> Array:
    """``x`` extended by its mirror images, which leave out ``offset`` elements at the edge."""
    period = np.shape(x)[axis] - offset
    if not period:  # a single element has no image but itself
        return _edge(x, axis, before, after)
    # An image holds one period at most; wider padding mirrors the extended array once more.
    while before:
        count = min(before, period)
        image = flip(_part(x, axis, offset, offset + count), axis)
        if odd:
            image = _opposite(_part(x, axis, 0, 1), image)
        x = lax.concatenate([image, x], axis)
        before -= count
    while after:
        count = min(after, period)
        size = np.shape(x)[axis]
        image = flip(_part(x, axis, size - offset - count, size - offset), axis)
        if odd:
            image = _opposite(_part(x, axis, size - 1, size), image)
        x = lax.concatenate([x, image], axis)
        after -= count
    return x


def _opposite(edge: Array, image: Array) -> Array:
    """The reflection of ``image`` in the value of an edge: twice the edge minus it."""
    two = np.asarray(2).astype(dtype_of(edge))[()]
    return lax.sub(lax.mul(two, edge), image)


def _is_odd(reflect_type: str) -> bool:
    if reflect_type not in ("even", "odd"):
        raise ValueError(f"pad: reflect_type must be 'even' or 'odd', got {reflect_type!r}.")
    return reflect_type == "odd"


def _reflect(x: Array, axis: int, before: int, after: int, reflect_type: str = "even") -> Array:
    return _mirrored(x, axis, before, after, 1, _is_odd(reflect_type))


def _symmetric(x: Array, axis: int, before: int, after: int, reflect_type: str = "even") -> Array:
    return _mirrored(x, axis, before, after, 0, _is_odd(reflect_type))


def _wrap(x: Array, axis: int, before: int, after: int) -> Array:
    size = np.shape(x)[axis]
    # Whole copies of the array, and at each end the part of one more.
    (whole_before, lead), (whole_after, tail) = divmod(before, size), divmod(after, size)
    parts = [x] * (whole_before + whole_after + 1)
    if lead:
        parts.insert(0, _part(x, axis, size - lead, size))
    if tail:
        parts.append(_part(x, axis, 0, tail))
    return lax.concatenate(parts, axis)


def _empty(x: Array, axis: int, before: int, after: int) -> Array:
    def anything(count: int) -> Array:
        shape = (*np.shape(x)[:axis], count, *np.shape(x)[axis + 1 :])
        return lax.full(shape, 0, dtype_of(x))

    return lax.concatenate([anything(before), x, anything(after)], axis)


_modes: dict[str, Callable[..., Array]] = {
    "edge": _edge,
    "empty": _empty,
    "reflect": _reflect,
    "symmetric": _symmetric,
    "wrap": _wrap,
}


@ir.composite("_pad")
def _pad_ramp(
    x: Array, *arrays: ArrayLike, numbers: tuple[float | None, ...], widths: Widths, form: tuple
) -> Array:
    others = iter(arrays)
    values = [next(others) if number is None else number for number in numbers]
    for axis, ((before, after), (i, j)) in enumerate(zip(widths, form, strict=True)):
        size = np.shape(x)[axis]
        first, last = _part(x, axis, 0, 1), _part(x, axis, size - 1, size)
        parts = [
            _ramp(values[i], first, axis, before),
            x,
            flip(_ramp(values[j], last, axis, after), axis),
        ]
        x = lax.concatenate(parts, axis)
    return x


def _ramp(start: ArrayLike, edge: Array, axis: int, count: int) -> Array:
    """Evenly spaced steps from a value towards an edge, which is not reached."""
    dtype = dtype_of(edge)
    inner = dtype if ir.issubdtype(dtype, np.inexact) else np.dtype(np.float32)
    shape = np.shape(edge)
    full = (*shape[:axis], count, *shape[axis + 1 :])
    start, edge = lax.convert_element_type(start, inner), lax.convert_element_type(edge, inner)
    # Fractions 0, 1/n, …, (n − 1)/n: the value itself comes first, the edge is left to the array.
    steps = lax.div(lax.broadcasted_iota(inner, full, axis), np.asarray(count).astype(inner)[()])
    one = np.ones((), inner)[()]
    spread = lax.mul(broadcast(start, full), lax.sub(one, steps))
    ramp = lax.add(spread, lax.mul(broadcast(edge, full), steps))
    if dtype != inner:
        # Integers are rounded down, as NumPy does.
        ramp = lax.floor(ramp)
    return lax.convert_element_type(ramp, dtype)


_statistics: dict[str, Callable[..., Array]] = {
    "maximum": maximum_of,
    "mean": mean,
    "median": lambda x, axis, keepdims: _median(x, axis),
    "minimum": minimum_of,
}


def _median(x: Array, axis: int) -> Array:
    ordered = lax.sort(x, axis)
    size = np.shape(x)[axis]
    # The two middle elements; of an odd number they are the same one.
    low = _part(ordered, axis, (size - 1) // 2, (size - 1) // 2 + 1)
    high = _part(ordered, axis, size // 2, size // 2 + 1)
    return mean(lax.concatenate([low, high], axis), axis=axis, keepdims=True)


@ir.composite("_pad")
def _pad_statistic(x: Array, *, widths: Widths, mode: str, lengths: Widths | None) -> Array:
    statistic = _statistics[mode]
    dtype = dtype_of(x)
    for axis, (before, after) in enumerate(widths):
        size = np.shape(x)[axis]
        lead, tail = (size, size) if lengths is None else lengths[axis]
        ends = [_part(x, axis, 0, min(lead, size)), _part(x, axis, size - min(tail, size), size)]
        fills = []
        for end in ends:
            value = statistic(end, axis=axis, keepdims=True)
            if not ir.issubdtype(dtype, np.inexact) and ir.issubdtype(dtype_of(value), np.inexact):
                value = rounded(value)
            fills.append(lax.convert_element_type(value, dtype))
        parts = [_repeated(fills[0], axis, before), x, _repeated(fills[1], axis, after)]
        x = lax.concatenate(parts, axis)
    return x


def _pad_by(array: Array, widths: Widths, function: Callable, kwargs: dict[str, Any]) -> Array:
    zero = np.zeros((), dtype_of(array))[()]
    x = lax.pad(array, zero, [(a, b, 0) for a, b in widths])
    for axis, pair in enumerate(widths):
        lead = moveaxis(x, axis, -1)
        shape = np.shape(lead)
        rows = lax.reshape(lead, (prod(shape[:-1]), shape[-1]))
        # NumPy's protocol: the function gets a row, its widths and its axis, and fills the ends.
        done = [function(row, pair, axis, kwargs) for row in lax.unstack(rows, 0)]
        x = moveaxis(lax.reshape(lax.stack(done, 0), shape), -1, axis)
    return x
