"""The methods ``reduce``, ``accumulate``, ``at`` and ``reduceat`` of ufuncs, as loops over an axis.

A ufunc uses them if it has no faster implementation. A loop is traced once for the types of its
operands, and is one call in jaxprs.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_numpy._promotion import as_elements, convert
from ricci_numpy.arrays._selection import select_where
from ricci_numpy.indexing._take import take
from ricci_numpy.shapes._reshaping import broadcast_to

Combine = Callable[[ir.Array, ir.Array], ir.Array]


class Loops(ir.TupleRecord):
    """The loops of one function; rows are the parts of an array along its first axis."""

    reduce: Callable[..., ir.Array]
    accumulate: Callable[..., ir.Array]
    at: Callable[..., ir.Array]
    reduceat: Callable[..., ir.Array]


def loops(func: Combine) -> Loops:
    """Return the loops of a function of two arrays that broadcast."""
    bodies = {"reduce": _reduce, "accumulate": _accumulate, "at": _at, "reduceat": _reduceat}
    return Loops(**{name: ir.Composite(partial(fun, func), name) for name, fun in bodies.items()})


def _combined_type(
    func: Combine, state: ir.Array | ir.ShapedArray, row: ir.Array | ir.ShapedArray
) -> ir.ShapeDtypeStruct:
    """The type of the results of ``func``, whose dtype the carry of a loop has from the start."""
    avals = [ir.ShapedArray(x.shape, x.dtype, x.weak_type) for x in (state, row)]
    return ir.eval_shape(func, *avals)


def _combined(func: Combine, state: ir.Array, row: ir.Array) -> ir.Array:
    """``func`` of both, with a boolean state converted to the row's dtype, as by promotion.

    The conversion is explicit, so that it works under strict promotion, too.
    """
    if state.dtype == ir.BOOL and row.dtype != ir.BOOL:
        state = convert(state, row.dtype)
    return func(state, row)


def _row(rows: ir.Array, i: ir.ArrayLike) -> ir.Array:
    return lax.dynamic_index_in_dim(rows, i, 0, keepdims=False)


def _reduce(
    func: Combine, rows: ir.Array, initial: ir.Array | None = None, where: ir.Array | None = None
) -> ir.Array:
    if initial is None:
        start, state = 1, lax.index_in_dim(rows, 0, 0, keepdims=False)
    else:
        start, state = 0, broadcast_to(as_elements(initial, rows.dtype), rows.shape[1:])
    part = ir.ShapedArray(rows.shape[1:], rows.dtype)
    dtype = _combined_type(func, state, part).dtype

    def body(i, state):
        combined = convert(_combined(func, state, _row(rows, i)), dtype)
        if where is None:
            return combined
        return select_where(_row(where, i), combined, state, "reduce")

    return lax.fori_loop(start, rows.shape[0], body, convert(state, dtype))


def _accumulate(func: Combine, rows: ir.Array, *, dtype: np.dtype | None = None) -> ir.Array:
    part = ir.ShapedArray(rows.shape[1:], rows.dtype)
    result: np.dtype = dtype or _combined_type(func, part, part).dtype
    if rows.shape[0] == 0:
        return convert(rows, result)

    def step(state, row):
        state = convert(_combined(func, state, row), result)
        return state, state

    first = convert(lax.index_in_dim(rows, 0, 0, keepdims=False), result)
    _, later = lax.scan(step, first, lax.slice_in_dim(rows, 1, None))
    return lax.concatenate([lax.expand_dims(first, (0,)), later], 0)


def _at(func: Combine, a: ir.Array, places: ir.Array, values: ir.Array) -> ir.Array:
    """Update elements of a vector one after the other; places beyond its end are ignored."""
    element = ir.ShapedArray((), a.dtype, a.weak_type)
    value = ir.ShapedArray((), values.dtype, values.weak_type)
    dtype = _combined_type(func, element, value).dtype

    def body(i, a):
        place = _row(places, i)
        updated = _combined(func, _row(a, place), _row(values, i))
        return a.at[place].set(convert(updated, dtype), mode="drop")

    return lax.fori_loop(0, places.shape[0], body, convert(a, dtype))


def _reduceat(func: Combine, rows: ir.Array, starts: ir.Array) -> ir.Array:
    """Combine the rows from ``starts[i]`` to ``starts[i + 1] - 1``, for every ``i`` at once."""
    count = rows.shape[0]
    last = lax.full_like(starts, count, shape=(1,))
    ends = lax.concatenate([lax.slice_in_dim(starts, 1, None), last], 0)
    state = take(rows, starts, axis=0)
    combined = _combined_type(func, state, state)
    dtype, weak = combined.dtype, combined.weak_type
    if dtype == ir.BOOL:
        dtype, weak = rows.dtype, rows.weak_type
    shape = (starts.shape[0],) + (1,) * (rows.ndim - 1)

    def body(i, state):
        i = lax.convert_element_type(i, starts.dtype)
        inside = lax.bitwise_and(lax.gt(i, starts), lax.lt(i, ends))
        combined = _combined(func, state, lax.expand_dims(_row(rows, i), (0,)))
        combined = convert(combined, dtype, weak)
        return select_where(lax.reshape(inside, shape), combined, state, "reduceat")

    return lax.fori_loop(0, count, body, convert(state, dtype, weak))
