"""Choosing by a mask: ``where``, ``select``, and the positions where a mask holds."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, overload

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_batching import vmap
from ricci_ir import Array, ArrayLike, Tracer
from ricci_lax.authoring import create_at_place
from ricci_numpy import _promotion as promotion
from ricci_numpy.arrays._broadcasting import broadcast, broadcast_shape, common_sharding
from ricci_numpy.arrays._creation import asarray, astype, from_host
from ricci_numpy.shapes._reshaping import atleast_1d, ravel

__all__ = ["argwhere", "flatnonzero", "nonzero", "piecewise", "select", "where"]

# Values that pad the indices of each dimension: one for all of them, or one each.
type FillValues = ArrayLike | tuple[ArrayLike, ...] | None


def _as_mask(x: ArrayLike) -> ArrayLike:
    aval = ir.get_aval(x)
    return x if aval.dtype == ir.BOOL else lax.ne(x, ir.exact_scalar(0, aval.dtype))


@ir.composite("_where")
def where_step(condition: ArrayLike, x: ArrayLike, y: ArrayLike) -> Array:
    """``where`` with three operands, as one step."""
    if ir.get_aval(condition).dtype != ir.BOOL:
        condition = lax.ne(condition, promotion.constant(condition, 0))
    x, y = promotion.promote_dtypes(x, y)
    shape = broadcast_shape("where", *map(np.shape, (condition, x, y)))
    sharding = common_sharding(len(shape), condition, x, y)
    # select_n takes a scalar predicate for whole arrays, which need not be broadcast.
    if np.ndim(condition):
        condition = broadcast(condition, shape, sharding)
    x, y = broadcast(x, shape, sharding), broadcast(y, shape, sharding)
    return lax.select_n(condition, y, x)


@overload
def where(
    condition: ArrayLike,
    x: None = None,
    y: None = None,
    /,
    *,
    size: int | None = None,
    fill_value: FillValues = None,
) -> tuple[Array, ...]: ...
@overload
def where(condition: ArrayLike, x: ArrayLike, y: ArrayLike, /) -> Array: ...
def where(
    condition: ArrayLike,
    x: ArrayLike | None = None,
    y: ArrayLike | None = None,
    /,
    *,
    size: int | None = None,
    fill_value: FillValues = None,
) -> Array | tuple[Array, ...]:
    """The elements of ``x`` where a condition holds, those of ``y`` elsewhere.

    Args:
      condition: an array; of other dtypes than ``bool``, elements that are not zero hold.
      x, y: arrays or scalars; dtypes are promoted, all shapes broadcast. Without both, the
        positions where the condition holds, as ``nonzero`` gives them.
      size, fill_value: for positions; see ``nonzero``.

    Returns:
      An array of the broadcast shape and of the promoted dtype; with a condition alone, a tuple of
      index vectors.

    Raises:
      TypeError: if an operand is not an array, or only one of ``x`` and ``y`` is given.
      ValueError: if the shapes do not broadcast, or ``size`` comes with ``x`` and ``y``.

    Both sides are computed for all elements. The derivative of the side that was not chosen is
    multiplied by 0, and 0 times infinity or NaN is NaN. So what could fail gets a harmless argument
    first, by a ``where`` inside.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> x = jnp.array([-1.0, 4.0])
      >>> jnp.where(x > 0, x, 0.0).tolist()
      [0.0, 4.0]
      >>> def root(x):
      ...     return jnp.where(x > 0, jnp.sqrt(x), 0.0)
      >>> float(root(0.0)), float(ricci.grad(root)(0.0))
      (0.0, nan)
      >>> def safe_root(x):
      ...     positive = jnp.where(x > 0, x, 1.0)
      ...     return jnp.where(x > 0, jnp.sqrt(positive), 0.0)
      >>> float(ricci.grad(safe_root)(0.0)), float(ricci.grad(safe_root)(4.0))
      (0.0, 0.25)
      >>> [i.tolist() for i in jnp.where(x > 0)]
      [[1]]

    See also:
      ``select``, of several conditions; ``lax.cond``, which runs one side only; ``nonzero``.

    Source: numpy.where.
    """
    if x is None and y is None:
        promotion.check_arraylike("where", condition)
        return nonzero(condition, size=size, fill_value=fill_value)
    condition, x, y = promotion.operands("where", condition, x, y)
    if size is not None or fill_value is not None:
        raise ValueError(
            "where: size and fill_value are for where(condition) alone. Leave them out when "
            "choosing between x and y."
        )
    return where_step(condition, x, y)


def select(
    condlist: Sequence[ArrayLike], choicelist: Sequence[ArrayLike], default: ArrayLike = 0
) -> Array:
    """The elements of the first choice whose condition holds.

    Args:
      condlist: boolean arrays.
      choicelist: an array for each; dtypes are promoted, all shapes broadcast.
      default: the elements where no condition holds.

    Returns:
      An array of the broadcast shape and of the promoted dtype of the choices.

    Raises:
      ValueError: if there are no conditions, or not as many choices.
      TypeError: if an operand is not an array.

    Example:
      >>> import ricci.numpy as jnp
      >>> x = jnp.arange(4)
      >>> jnp.select([x < 1, x > 2], [x - 10, x + 10], 5).tolist()
      [-10, 5, 5, 13]

    Source: numpy.select.
    """
    if len(condlist) != len(choicelist):
        raise ValueError(
            f"select: there are {len(condlist)} conditions and {len(choicelist)} choices; give as "
            "many."
        )
    if not len(condlist):
        raise ValueError("select: give at least one condition.")
    arguments = promotion.operands("select", *condlist, *choicelist, default)
    count = len(condlist)
    if ir.is_recording():
        return _select(*arguments, count=count)
    return _select_step(*arguments, count=count)


def _select(*arguments: ArrayLike, count: int) -> Array:
    conditions = [_as_mask(x) for x in arguments[:count]]
    *choices, default = promotion.promote_dtypes(*arguments[count:])
    shape = broadcast_shape("select", *map(np.shape, (*conditions, *choices, default)))
    sharding = common_sharding(len(shape), *conditions, *choices, default)
    # argmax gives the first true one, and 0 if none is: number 0 is the default's, and false, so
    # that any condition that holds wins.
    masks = [broadcast(mask, shape, sharding) for mask in (np.False_, *conditions)]
    which = lax.argmax(lax.stack(masks, 0), 0, np.dtype(np.int32))
    cases = [broadcast(x, shape, sharding) for x in (default, *choices)]
    return lax.select_n(which, *cases)


_select_step = ir.composite("select")(_select)


def nonzero(
    a: ArrayLike, *, size: int | None = None, fill_value: FillValues = None
) -> tuple[Array, ...]:
    """The positions of the elements that are not zero: an index array for each dimension.

    Args:
      a: an array of rank 1 or more.
      size: how many positions to give, for use under ``jit``, where their number is not static:
        others are left out, missing ones filled.
      fill_value: the filler; a scalar, or one for each dimension. By default 0.

    Returns:
      A tuple of integer vectors, one for each dimension.

    Raises:
      ValueError: if ``a`` has rank 0.
      TypeError: if ``a`` is not an array.
      ConcretizationTypeError: if ``a`` is traced and there is no ``size``.

    How many there are depends on the values, so that under ``jit`` the call needs ``size``. Often
    ``where(condition, x, y)``, or a sum with ``where=``, does the work with a fixed shape.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> x = jnp.array([[0, 3], [4, 0]])
      >>> rows, columns = jnp.nonzero(x)
      >>> rows.tolist(), columns.tolist(), x[rows, columns].tolist()
      ([0, 1], [1, 0], [3, 4])
      >>> places = ricci.jit(lambda x: jnp.nonzero(x, size=3, fill_value=-1))
      >>> [i.tolist() for i in places(x)]
      [[0, 1, -1], [1, 0, -1]]

    See also:
      ``argwhere``: the same as rows; ``where``; ``flatnonzero``.

    Source: numpy.nonzero.
    """
    (a,) = promotion.operands("nonzero", a)
    if not np.ndim(a):
        raise ValueError(
            "nonzero: a scalar has no positions to list. Make it a vector first, with atleast_1d."
        )
    if size is None:
        value = a.concrete() if isinstance(a, Tracer) else a
        if value is None:
            raise ir.ConcretizationTypeError(
                a,
                "The number of positions that nonzero or where finds must be static: give it with "
                "size=..., or use where with three arguments.",
            )
        if getattr(value, "is_fully_addressable", True):
            integer = ir.python_scalar_dtype(int)
            positions = np.nonzero(np.asarray(value))
            if not positions[0].size:  # made on the device
                return tuple(_positions_step(a, size=0))
            positions = [i.astype(integer) for i in positions]
            place: Any = _own_device(value)
            if place is None:
                return tuple(map(from_host, positions))
            (device,) = place.device_set
            with ir.default_device(device):  # copied there at once, not by way of another device
                arrays = list(map(from_host, positions))
            return tuple(create_at_place.call(i, place) for i in arrays)
        # Shards are in other processes, so that the elements are counted on the devices.
        mask = lax.convert_element_type(_as_mask(a), np.dtype(np.int32))
        size = int(lax.reduce_sum(mask, tuple(range(np.ndim(a)))))
    size = ir.as_size(size)
    if type(size) is int and size < 0:
        raise ValueError(f"size must not be negative, got {size}.")
    fills = () if fill_value is None else _fills(fill_value, np.ndim(a))
    step = _positions if ir.is_recording() else _positions_step
    return tuple(step(a, *fills, size=size))


def _own_device(x: object) -> object:
    """The place of an array that is committed to one device, else ``None``."""
    sharding: Any = getattr(x, "sharding", None)
    alone = getattr(x, "committed", False) and sharding.num_devices == 1
    return sharding if alone else None


def _fills(fill_value: ArrayLike | tuple[ArrayLike, ...], ndim: int) -> tuple[Array, ...]:
    if not isinstance(fill_value, tuple) and not np.ndim(fill_value):
        fill_value = (fill_value,) * ndim
    if not isinstance(fill_value, tuple) or len(fill_value) != ndim:
        raise ValueError(
            f"nonzero: fill_value must be a scalar or a tuple of {ndim}, got {fill_value}."
        )
    return tuple(promotion.operands("nonzero", *fill_value))


def _positions(a: Array, *fills: ArrayLike, size: int) -> list[Array]:
    shape = np.shape(a)
    mask = _as_mask(a)
    integer = ir.python_scalar_dtype(int)
    if size == 0 or 0 in shape:
        empty = [lax.full((size,), 0, integer) for _ in shape]
        if not fills:
            return empty
        return [_filled(i, f, np.int32(0)) for i, f in zip(empty, fills, strict=True)]
    # Before the r-th true element (from 0) stand the elements whose count is at most r, so the
    # cumulative histogram of the counts is the array of positions.
    counts = lax.cumsum(lax.convert_element_type(ravel(mask), np.int32), 0)
    per_rank = counted(counts, lax.full(np.shape(counts), 1, np.int32), size)
    flat = lax.cumsum(per_rank, 0)
    coordinates = []
    below = 1
    # The flat position in mixed radix: the last dimension varies fastest.
    for n in reversed(shape):
        place = lax.rem(lax.div(flat, promotion.constant(flat, below)), promotion.constant(flat, n))
        coordinates.insert(0, promotion.convert(place, integer))
        below *= n
    if not fills:
        return coordinates
    # Entries from the number of true elements on are fillers.
    total = lax.reduce_sum(lax.convert_element_type(mask, np.int32), tuple(range(len(shape))))
    return [_filled(i, f, total) for i, f in zip(coordinates, fills, strict=True)]


def _filled(positions: Array, fill: ArrayLike, count: ArrayLike) -> Array:
    places = lax.iota(np.dtype(np.int32), np.shape(positions)[0])
    if ir.get_aval(fill).dtype not in promotion.INEXACT_DTYPES:
        fill = lax.convert_element_type(fill, positions.dtype)
    filled = where_step(lax.lt(places, count), positions, fill)
    return promotion.convert(filled, filled.dtype)


def counted(places: Array, weights: Array, length: int) -> Array:
    """The sum of the weights at each place below ``length``; places must not be negative."""
    dims = lax.ScatterDimensionNumbers(
        update_window_dims=(), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,)
    )
    return lax.scatter_add(
        lax.full((length,), promotion.strong_constant(weights.dtype, 0)),
        lax.expand_dims(places, (1,)),
        weights,
        dims,
        mode=lax.GatherScatterMode.FILL_OR_DROP,
    )


_positions_step = ir.composite("nonzero")(_positions)


def flatnonzero(a: ArrayLike, *, size: int | None = None, fill_value: FillValues = None) -> Array:
    """The positions of the elements that are not zero, in the flattened array.

    Args:
      a: an array.
      size, fill_value: see ``nonzero``.

    Returns:
      A vector of integers.

    Raises:
      TypeError: if ``a`` is not an array.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.flatnonzero(jnp.eye(2)).tolist()
      [0, 3]

    Source: numpy.flatnonzero.
    """
    return nonzero(ravel(a), size=size, fill_value=fill_value)[0]


def argwhere(a: ArrayLike, *, size: int | None = None, fill_value: FillValues = None) -> Array:
    """The positions of the elements that are not zero, one a row.

    Args:
      a: an array.
      size, fill_value: see ``nonzero``.

    Returns:
      An integer array of shape ``(number, a.ndim)``.

    Raises:
      TypeError: if ``a`` is not an array.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.argwhere(jnp.eye(2)).tolist()
      [[0, 0], [1, 1]]

    Source: numpy.argwhere.
    """
    (a,) = promotion.operands("argwhere", a)
    coordinates = nonzero(atleast_1d(a), size=size, fill_value=fill_value)
    columns = lax.concatenate(
        [lax.expand_dims(i, (1,)) for i in promotion.promote_dtypes(*coordinates)], 1
    )
    return columns if np.ndim(a) else lax.slice(columns, (0, 0), (np.shape(columns)[0], 0))


def _element(
    case: Callable[..., ArrayLike], args: Sequence[object], kw: Mapping[str, object], x: Array
) -> ArrayLike:
    """The value that a function of ``piecewise`` has for an element."""
    value = case(x, *args, **kw)
    if np.ndim(value):
        raise TypeError(
            f"piecewise: functions of an element must return scalars, got shape {np.shape(value)}."
        )
    return value


def _conditions(condlist: Sequence[ArrayLike] | Array | np.ndarray, ndim: int) -> list[ArrayLike]:
    """The conditions of ``piecewise`` as a list; a single one need not be in a list."""
    if isinstance(condlist, list | tuple):
        return [promotion.as_operand(condition) for condition in condlist]
    alone: Any = promotion.as_operand(condlist)
    return list(alone) if np.ndim(alone) > 1 or not ndim else [alone]


def piecewise(
    x: ArrayLike,
    condlist: Sequence[ArrayLike] | Array | np.ndarray,
    funclist: Sequence[ArrayLike | Callable[..., ArrayLike]],
    *args: object,
    **kw: object,
) -> Array:
    """A function defined by cases.

    Args:
      x: an array.
      condlist: boolean arrays of its shape; of several that hold, the last counts.
      funclist: a function of an element, or a scalar, for each condition, and one more for where
        none holds, 0 without it.
      args, kw: passed to the functions.

    Returns:
      An array of the shape and dtype of ``x``.

    Raises:
      ValueError: if the numbers of conditions and functions do not fit.
      TypeError: if ``x`` is not an array.

    Every function is computed for all elements; see ``where`` for what that does to derivatives.

    Example:
      >>> import ricci.numpy as jnp
      >>> x = jnp.arange(-1.0, 2.0)
      >>> jnp.piecewise(x, [x < 0, x > 0], [lambda v: -v, 5.0]).tolist()
      [1.0, 0.0, 5.0]

    Source: numpy.piecewise.
    """
    (x,) = promotion.operands("piecewise", x)
    x = asarray(x)
    conditions = _conditions(condlist, x.ndim)
    cases = list(funclist)
    if not conditions:
        raise ValueError("piecewise: condlist is empty.")
    if len(cases) == len(conditions):
        cases.append(0)
    if len(cases) != len(conditions) + 1:
        raise ValueError(
            f"piecewise: {len(conditions)} conditions need {len(conditions)} functions, or one "
            f"more for the default; got {len(cases)}."
        )
    dtype = ir.get_aval(x).dtype

    def filling(case: ArrayLike | Callable[..., ArrayLike]) -> Array:
        if callable(case):
            each = partial(_element, case, args, kw)
            for _ in range(x.ndim):
                each = vmap(each)
            return astype(each(x), dtype)
        return promotion.as_elements(case, dtype)

    values = [filling(case) for case in cases]
    result = broadcast(values[-1], np.shape(x))
    # In order, so that the last condition that holds overwrites the earlier ones.
    for condition, value in zip(conditions, values[:-1], strict=True):
        result = where_step(condition, value, result)
    return result
