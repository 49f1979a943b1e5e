"""The different elements of an array: ``unique`` and its relatives."""

from math import prod
from operator import index
from typing import Literal, NamedTuple, overload

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_numpy import _promotion as promotion
from ricci_numpy.arrays._broadcasting import concrete_values
from ricci_numpy.indexing._at import at
from ricci_numpy.indexing._brackets import getitem
from ricci_numpy.indexing._where import nonzero, where_step
from ricci_numpy.shapes._reshaping import ravel
from ricci_numpy.shapes._transposing import moveaxis

from ._sorting import lexsort

__all__ = ["unique", "unique_all", "unique_counts", "unique_inverse", "unique_values"]
__all__ += ["UniqueAllResult", "UniqueCountsResult", "UniqueInverseResult"]


def size_deciding_values(name: str, x: ir.Array) -> np.ndarray:
    """Return the values of ``x``, which determine the size of the result of ``name``."""
    return concrete_values(
        x,
        f"The size of the result of {name} depends on values: give it with size=... to use it "
        "under jit.",
    )


@overload
def unique(
    ar: ir.ArrayLike,
    return_index: Literal[False] = False,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: ir.ArrayLike | None = None,
    sorted: bool = True,
) -> ir.Array: ...
@overload
def unique(
    ar: ir.ArrayLike,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: ir.ArrayLike | None = None,
    sorted: bool = True,
) -> ir.Array | tuple[ir.Array, ...]: ...
def unique(
    ar: ir.ArrayLike,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: ir.ArrayLike | None = None,
    sorted: bool = True,
) -> ir.Array | tuple[ir.Array, ...]:
    """The different elements of an array, sorted.

    Args:
      ar: an array.
      return_index: also return the position of each one's first occurrence.
      return_inverse: also return, for each element, its position in the result.
      return_counts: also return how often each one occurs.
      axis: compare parts along this dimension; by default elements.
      equal_nan: whether NaNs count as one.
      size: how many to give, for use under ``jit``: larger ones are left out, missing ones filled.
      fill_value: the filler; by default the smallest element.
      sorted: whether they must be in order; here they always are.

    Returns:
      A vector of the dtype of ``ar``, or parts of it along ``axis``; with an option a tuple, of the
      elements and what the options ask for, in their order.

    Raises:
      ValueError: if ``axis`` does not exist, or ``ar`` is empty and ``size`` asks for elements
        without a ``fill_value``.
      TypeError: if ``ar`` is not an array.
      ConcretizationTypeError: if ``ar`` is traced and there is no ``size``.

    How many there are depends on the values: under ``jit`` the call needs ``size``, and
    ``fill_value`` marks the filled elements.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> values, counts = jnp.unique(jnp.array([3, 1, 3]), return_counts=True)
      >>> values.tolist(), counts.tolist()
      ([1, 3], [1, 2])
      >>> labels = ricci.jit(lambda x: jnp.unique(x, size=3, fill_value=-1))
      >>> labels(jnp.array([3, 1, 3])).tolist()
      [1, 3, -1]

    See also:
      ``unique_counts``, ``unique_inverse``, whose results have names; ``bincount``.

    Source: numpy.unique.
    """
    (ar,) = promotion.operands("unique", ar)
    shape = np.shape(ar)
    outputs = (return_index, return_inverse, return_counts)
    if axis is None:
        flat, along = ravel(ar), 0
        inverse_shape = shape
    else:
        along = promotion.canonical_axis(axis, len(shape))
        flat, inverse_shape = moveaxis(ar, along, 0), (shape[along],)
    if size is None:
        traced = isinstance(ar, ir.Tracer)  # reading is_fully_addressable of a tracer raises
        if not traced and np.shape(flat)[0] and not getattr(ar, "is_fully_addressable", True):
            # Shards are in other processes, so that the elements are counted on the devices.
            first = sorted_with_firsts(flat, equal_nan=equal_nan, positions=False)[1]
            size = int(lax.reduce_sum(lax.convert_element_type(first, promotion.INT32), (0,)))
        else:
            concrete = size_deciding_values("unique", ar)
            concrete = concrete.ravel() if axis is None else np.moveaxis(concrete, along, 0)
            size = _count_unique(concrete, equal_nan)
    if size and not np.shape(flat)[0] and fill_value is None:
        raise ValueError(
            f"unique: an empty array has no elements to fill size={size} with. Give fill_value=..."
        )
    settings = {
        "size": index(size),
        "equal_nan": equal_nan,
        "outputs": outputs,
        "has_fill": fill_value is not None,
    }
    fills = () if fill_value is None else promotion.operands("unique", fill_value)
    step = _unique if ir.is_recording() else _unique_step
    values, *extras = step(flat, *fills, **settings)
    if axis is not None:
        values = moveaxis(values, 0, along)
    if return_inverse:
        extras[int(return_index)] = lax.reshape(extras[int(return_index)], inverse_shape)
    return (values, *extras) if extras else values


def _count_unique(x: np.ndarray, equal_nan: bool) -> int:
    rows = x.reshape(len(x), -1) if len(x) else x
    if not len(x):
        return 0
    if not rows.shape[1]:
        return 1
    if rows.shape[1] == 1:
        # NumPy does not sort NaNs of extension dtypes such as bfloat16 last, so it gets float32.
        column = rows[:, 0]
        if column.dtype.kind not in "biufc":
            column = column.astype(np.float32)
        return len(np.unique(column, equal_nan=equal_nan))
    return len(np.unique(rows, axis=0))


@ir.composite("_unique_sorted_mask")
def sorted_with_firsts(
    x: ir.Array, *, equal_nan: bool, positions: bool = True
) -> tuple[ir.Array, ...]:
    """The rows in order, whether each differs from the one before, and its position in ``x``.

    Without ``positions`` the last of these is left out for a vector, which takes less time.
    """
    shape = np.shape(x)
    is_real = not ir.issubdtype(ir.get_aval(x).dtype, np.complexfloating)
    if len(shape) == 1 and shape[0] and is_real and not positions:
        rows = lax.sort(x)
        return rows, _firsts(rows, equal_nan)
    if not shape[0]:
        return x, lax.full((0,), True, ir.BOOL), lax.iota(promotion.INT32, 0)
    if 0 in shape:  # all rows are equal
        places = lax.iota(ir.python_scalar_dtype(int), shape[0])
        return x, lax.eq(places, promotion.constant(places, 0)), places
    # In lexicographic order equal rows are neighbours: a row is the first of its value where it
    # differs in any column from the row before.
    columns = lax.transpose(lax.reshape(x, (shape[0], prod(shape[1:]))), (1, 0))
    # The last key of lexsort is its primary one, which must be the first column.
    order = lexsort(lax.rev(columns, (0,)))
    rows = getitem(x, order)
    return rows, _firsts(rows, equal_nan), order


def _firsts(rows: ir.Array, equal_nan: bool) -> ir.Array:
    """Whether each of some sorted rows differs from the one before."""
    shape, dtype = np.shape(rows), ir.get_aval(rows).dtype
    this, other = lax.slice_in_dim(rows, 1, None), lax.slice_in_dim(rows, 0, -1)
    differs = lax.ne(this, other)
    if equal_nan and dtype in promotion.INEXACT_DTYPES:
        both_nan = lax.bitwise_and(lax.ne(this, this), lax.ne(other, other))
        differs = lax.bitwise_and(differs, lax.bitwise_not(both_nan))
    differs = lax.reduce_or(differs, tuple(range(1, len(shape))))
    return at(lax.full((shape[0],), True, ir.BOOL))[1:].set(differs)


def _unique(
    x: ir.Array, *fills: ir.ArrayLike, size: int, equal_nan: bool, outputs: tuple, has_fill: bool
) -> list[ir.Array]:
    return_index, return_inverse, return_counts = outputs
    count = np.shape(x)[0]
    dtype = ir.get_aval(x).dtype
    if not count:
        return _unique_of_empty(x, fills, size, outputs)
    positions = return_index or return_inverse
    rows, first, *order = sorted_with_firsts(x, equal_nan=equal_nan, positions=positions)
    places = nonzero(first, size=size)[0]
    values = getitem(rows, places)
    # Places past the last distinct row are padding: row 0, unless there is a value to fill with.
    distinct = lax.reduce_sum(lax.convert_element_type(first, promotion.INT32), (0,))
    inside = lax.lt(lax.iota(promotion.INT32, size), distinct)
    if has_fill:
        fill = lax.convert_element_type(fills[0], dtype)
        mask = lax.expand_dims(inside, range(1, np.ndim(values)))
        values = where_step(mask, values, fill)
    results = [values]
    if return_index:
        results.append(getitem(order[0], places))
    if return_inverse:
        # The number of first elements up to an element, less 1, is the position of its value among
        # the distinct ones.
        rank = lax.sub(lax.cumsum(lax.convert_element_type(first, promotion.INT32), 0), np.int32(1))
        inverse = lax.full((count,), 0, promotion.INT32)
        results.append(at(inverse)[order[0]].set(rank))
    if return_counts:
        # Equal elements are adjacent: counts are the distances between first elements. The fill
        # value ends the last run, and makes the counts of padding 0.
        ends = nonzero(first, size=size + 1, fill_value=count)[0]
        after, before = lax.slice_in_dim(ends, 1, None), lax.slice_in_dim(ends, 0, -1)
        results.append(lax.sub(after, before))
    integer = ir.python_scalar_dtype(int)
    return [values, *(lax.convert_element_type(x, integer) for x in results[1:])]


def _unique_of_empty(
    x: ir.Array, fills: tuple[ir.ArrayLike, ...], size: int, outputs: tuple[bool, ...]
) -> list[ir.Array]:
    dtype = ir.get_aval(x).dtype
    shape = (size, *np.shape(x)[1:])
    fill = (
        promotion.convert(fills[0], dtype, ir.get_aval(x).weak_type)
        if fills
        else promotion.constant_like(x, 0)
    )
    results = [lax.broadcast_in_dim(fill, shape, ())]
    integer = ir.python_scalar_dtype(int)
    results += [lax.full((0,), 0, integer) for w in outputs if w]
    return results


_unique_step = ir.composite("unique")(_unique)


@ir.exported
class UniqueAllResult(NamedTuple):
    """Result of ``unique_all``."""

    values: ir.Array
    indices: ir.Array
    inverse_indices: ir.Array
    counts: ir.Array


@ir.exported
class UniqueCountsResult(NamedTuple):
    """Result of ``unique_counts``."""

    values: ir.Array
    counts: ir.Array


@ir.exported
class UniqueInverseResult(NamedTuple):
    """Result of ``unique_inverse``."""

    values: ir.Array
    inverse_indices: ir.Array


def unique_all(
    x: ir.ArrayLike, /, *, size: int | None = None, fill_value: ir.ArrayLike | None = None
) -> UniqueAllResult:
    """The different elements, their first positions, the inverse and the counts; see ``unique``.

    Args:
      x: as ``ar`` of ``unique``.
      size, fill_value: as for ``unique``.

    Returns:
      A named tuple: ``values``, ``indices``, ``inverse_indices`` and ``counts``.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.unique_all(jnp.array([3, 1, 3])).counts.tolist()
      [1, 2]

    Source: numpy.unique_all.
    """
    results = unique(x, True, True, True, equal_nan=False, size=size, fill_value=fill_value)
    return UniqueAllResult(*results)


def unique_counts(
    x: ir.ArrayLike, /, *, size: int | None = None, fill_value: ir.ArrayLike | None = None
) -> UniqueCountsResult:
    """The different elements, and how often each occurs; see ``unique``.

    Args:
      x: as ``ar`` of ``unique``.
      size, fill_value: as for ``unique``.

    Returns:
      A named tuple: ``values`` and ``counts``.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.unique_counts(jnp.array([3, 1, 3])).values.tolist()
      [1, 3]

    Source: numpy.unique_counts.
    """
    results = unique(x, return_counts=True, equal_nan=False, size=size, fill_value=fill_value)
    return UniqueCountsResult(*results)


def unique_inverse(
    x: ir.ArrayLike, /, *, size: int | None = None, fill_value: ir.ArrayLike | None = None
) -> UniqueInverseResult:
    """The different elements, and the position of each element among them; see ``unique``.

    Args:
      x: as ``ar`` of ``unique``.
      size, fill_value: as for ``unique``.

    Returns:
      A named tuple: ``values`` and ``inverse_indices``, of the shape of ``x``.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.unique_inverse(jnp.array([3, 1, 3])).inverse_indices.tolist()
      [1, 0, 1]

    Source: numpy.unique_inverse.
    """
    results = unique(x, return_inverse=True, equal_nan=False, size=size, fill_value=fill_value)
    return UniqueInverseResult(*results)


def unique_values(
    x: ir.ArrayLike, /, *, size: int | None = None, fill_value: ir.ArrayLike | None = None
) -> ir.Array:
    """The different elements; see ``unique``.

    Args:
      x: as ``ar`` of ``unique``.
      size, fill_value: as for ``unique``.

    Returns:
      A vector.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.unique_values(jnp.array([3, 1, 3])).tolist()
      [1, 3]

    Source: numpy.unique_values.
    """
    return unique(x, equal_nan=False, size=size, fill_value=fill_value)
