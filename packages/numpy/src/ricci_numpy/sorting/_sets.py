"""Arrays as sets: membership, unions, intersections and differences."""

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_ir import Array, ArrayLike
from ricci_numpy import _promotion as promotion
from ricci_numpy.indexing._brackets import getitem
from ricci_numpy.indexing._where import nonzero, where_step
from ricci_numpy.shapes._reshaping import ravel

from ._searching import searchsorted
from ._sorting import lexsort
from ._unique import size_deciding_values, sorted_with_firsts, unique

__all__ = ["intersect1d", "isin", "setdiff1d", "setxor1d", "union1d"]

# With up to as many others, comparing an element with each is as fast as a binary search.
_FEW_OTHERS = 64


def isin(
    element: ArrayLike,
    test_elements: ArrayLike,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    method: str = "auto",
) -> Array:
    """Whether each element is among others.

    Args:
      element: an array.
      test_elements: the others.
      assume_unique: has no effect.
      invert: whether to give the opposite.
      method: ``"compare_all"``, ``"binary_search"``, ``"sort"`` or ``"auto"``, which compares few
        elements with all others and sorts many; the result is the same.

    Returns:
      A boolean array of the shape of ``element``.

    Raises:
      ValueError: if there is no such method.
      TypeError: if an operand is not an array.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.isin(jnp.arange(3), jnp.array([0, 2])).tolist()
      [True, False, True]

    Source: numpy.isin.
    """
    element, test_elements = promotion.operands("isin", element, test_elements)
    if method not in ("auto", "compare_all", "binary_search", "sort"):
        raise ValueError(
            "isin: method must be 'auto', 'compare_all', 'binary_search' or 'sort', got "
            f"{method!r}."
        )
    contained = _isin(ravel(element), ravel(test_elements), invert=invert, method=method)
    if method != "binary_search":
        contained = promotion.convert(contained, ir.BOOL)
    return lax.reshape(contained, np.shape(element))


@ir.composite("_in1d")
def _isin(element: Array, others: Array, *, invert: bool, method: str) -> Array:
    element, others = promotion.promote_dtypes(element, others)
    count = np.shape(others)[0]
    if not count or not np.shape(element)[0]:
        return lax.full(np.shape(element), invert, ir.BOOL)
    if method == "auto":
        # A symbolic number of others may be small.
        many = isinstance(count, int) and count > _FEW_OTHERS
        method = "binary_search" if many else "compare_all"
    if method == "compare_all":
        pairs = (lax.expand_dims(element, (1,)), lax.expand_dims(others, (0,)))
        if invert:
            return lax.reduce_and(lax.ne(*pairs), (1,))
        return lax.reduce_or(lax.eq(*pairs), (1,))
    others = lax.sort(others)
    places = searchsorted(others, element)
    # An element is contained if it equals the first one that is not less. Elements greater than all
    # others get position count, which is clamped.
    nearest = getitem(others, lax.min(places, np.int32(count - 1)))
    return lax.ne(nearest, element) if invert else lax.eq(nearest, element)


def _pair(name: str, ar1: ArrayLike, ar2: ArrayLike) -> tuple[Array, Array]:
    x, y = promotion.promote_dtypes(*promotion.operands(name, ar1, ar2))
    return ravel(x), ravel(y)


def union1d(
    ar1: ArrayLike, ar2: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> Array:
    """The elements of either array, sorted, each once.

    Args:
      ar1, ar2: arrays.
      size, fill_value: see ``unique``.

    Returns:
      A vector of the promoted dtype.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.union1d(jnp.array([1, 3]), jnp.array([2, 3])).tolist()
      [1, 2, 3]

    Source: numpy.union1d.
    """
    both = lax.concatenate(_pair("union1d", ar1, ar2), 0)
    return unique(both, size=size, fill_value=fill_value)


def setdiff1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array:
    """The elements of the first array that are not in the second, sorted, each once.

    Args:
      ar1, ar2: arrays.
      assume_unique: whether the first has each element once; then its order is kept.
      size, fill_value: see ``unique``; the default fill is 0.

    Returns:
      A vector.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.setdiff1d(jnp.array([1, 2, 3]), jnp.array([2])).tolist()
      [1, 3]

    Source: numpy.setdiff1d.
    """
    x, y = promotion.operands("setdiff1d", ar1, ar2)
    x = ravel(x)
    if not assume_unique:
        if size is None:
            x = unique(x)
        else:
            size = ir.as_size(size)
            fill_value = ir.static_number(fill_value)
            step = _difference if _is_one_step(size, fill_value) else _difference.fun
            return step(x, y, size=size, fill_value=fill_value)
    outside = isin(x, y, invert=True)
    if size is None:
        return getitem(x, size_deciding_values("setdiff1d", outside))
    return _gathered(x, outside, size, fill_value, _is_weak(x))


@ir.inlined("setdiff1d")
def _difference(x: Array, y: Array, *, size: int, fill_value: ArrayLike | None) -> Array:
    rows, first, *_ = sorted_with_firsts(x, equal_nan=True, positions=False)
    selected = lax.bitwise_and(first, isin(rows, y, invert=True))
    return _gathered(rows, selected, size, fill_value, _is_weak(x))


def _is_weak(x: Array) -> bool:
    return ir.get_aval(x).weak_type


def _gathered(
    x: Array, mask: Array, size: int, fill_value: ArrayLike | None, weak_type: bool = False
) -> Array:
    """The elements that a mask picks, as many as ``size``."""
    dtype = ir.get_aval(x).dtype
    fill = 0 if fill_value is None else fill_value
    if not hasattr(type(fill), "aval"):
        fill = lax.full((), fill, dtype)  # refuses complex numbers for real elements
    fill = promotion.convert(fill, dtype, weak_type)
    if not np.shape(x)[0]:
        return lax.broadcast_in_dim(fill, (size,), ())
    # There may be fewer than ``size``: the other positions are 0, and are replaced.
    places = nonzero(mask, size=size)[0]
    count = lax.reduce_sum(lax.convert_element_type(mask, promotion.INT32), (0,))
    inside = lax.lt(lax.iota(promotion.INT32, size), count)
    return where_step(inside, getitem(x, places), fill)


def intersect1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    return_indices: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array | tuple[Array, Array, Array]:
    """The elements of both arrays, sorted, each once.

    Args:
      ar1, ar2: arrays.
      assume_unique: whether each has its elements once.
      return_indices: also return where they are, in either.
      size, fill_value: see ``unique``; the default fill is the smallest.

    Returns:
      A vector; with ``return_indices`` a tuple of it and two integer vectors.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.intersect1d(jnp.array([1, 3]), jnp.array([2, 3])).tolist()
      [3]

    Source: numpy.intersect1d.
    """
    x, y = _pair("intersect1d", ar1, ar2)
    size = None if size is None else ir.as_size(size)
    fill_value = ir.static_number(fill_value)
    step = _intersection if _is_one_step(size, fill_value) else _intersection.fun
    return step(x, y, size=size, fill_value=fill_value, return_indices=bool(return_indices))


def _is_one_step(size: int | None, fill_value: ArrayLike | None) -> bool:
    """Whether a call is one dispatch: no size is counted, and the fill is a constant."""
    return size is not None and isinstance(fill_value, int | float | complex | None)


@ir.inlined("intersect1d")
def _intersection(
    x: Array, y: Array, *, size: int | None, fill_value: ArrayLike | None, return_indices: bool
) -> Array | tuple[Array, Array, Array]:
    weak = size is None and _is_weak(x) and _is_weak(y)
    if not (np.shape(x)[0] and np.shape(y)[0]):
        values = _gathered(getitem(x, slice(0)), x, size or 0, fill_value, weak)
        absent = [
            lax.full((size or 0,), np.shape(z)[0], ir.python_scalar_dtype(int)) for z in (x, y)
        ]
        return (values, absent[0], absent[1]) if return_indices else values
    rows, first, order = sorted_with_firsts(x, equal_nan=True)
    common = lax.bitwise_and(first, isin(rows, y))
    if size is None:
        size = int(size_deciding_values("intersect1d", common).sum())
    count = lax.reduce_sum(lax.convert_element_type(common, promotion.INT32), (0,))
    places = nonzero(common, size=size)[0]
    smallest = promotion.convert(getitem(rows, places), rows.dtype, weak)
    if size and fill_value is None:
        fill = lax.squeeze(lax.slice_in_dim(smallest, 0, 1), (0,))
        zero = ir.exact_scalar(0, smallest.dtype)
        fill = lax.select(lax.gt(count, np.int32(0)), fill, zero)
        fill = promotion.convert(fill, smallest.dtype, weak)
    else:
        fill = promotion.constant_like(smallest, 0) if fill_value is None else fill_value
    inside = lax.lt(lax.iota(promotion.INT32, size), count)
    values = where_step(inside, smallest, fill)
    if not return_indices:
        return values
    in_x = getitem(order, places)
    y_order = lexsort((y,))
    # y is sorted by positions: the first that is not less than a common element is where it is
    # first.
    at_y = searchsorted(getitem(y, y_order), smallest)
    last = np.int32(max(np.shape(y)[0] - 1, 0))
    in_y = getitem(y_order, lax.min(at_y, last))
    in_x, in_y = (
        where_step(inside, each, ir.exact_scalar(np.shape(z)[0], each.dtype))
        for each, z in ((in_x, x), (in_y, y))
    )
    return values, in_x, in_y


def setxor1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array:
    """The elements of exactly one of the arrays, sorted, each once.

    Args:
      ar1, ar2: arrays.
      assume_unique: has no effect.
      size, fill_value: see ``unique``; the default fill is the smallest.

    Returns:
      A vector.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.setxor1d(jnp.array([1, 3]), jnp.array([2, 3])).tolist()
      [1, 2]

    Source: numpy.setxor1d.
    """
    x, y = _pair("setxor1d", ar1, ar2)
    size = None if size is None else ir.as_size(size)
    fill_value = ir.static_number(fill_value)
    step = _symmetric_difference if _is_one_step(size, fill_value) else _symmetric_difference.fun
    return step(x, y, size=size, fill_value=fill_value)


@ir.inlined("setxor1d")
def _symmetric_difference(
    x: Array, y: Array, *, size: int | None, fill_value: ArrayLike | None
) -> Array:
    rows, selected = _in_one_alone(x, y)
    if size is None:
        size = int(size_deciding_values("setxor1d", selected).sum())
        return _gathered(rows, selected, size, None, _is_weak(rows))
    rows = promotion.convert(rows, rows.dtype)
    if fill_value is None and size and np.shape(rows)[0]:
        smallest = lax.squeeze(getitem(rows, nonzero(selected, size=1)[0]), (0,))
        some = lax.reduce_or(selected, (0,))
        fill_value = lax.select(some, smallest, lax.full_like(smallest, 0))
    elif fill_value is not None:
        rows, fill_value = promotion.promote_dtypes(rows, fill_value)
        return _gathered(rows, selected, size, fill_value, _is_weak(rows))
    return _gathered(rows, selected, size, fill_value)


def _in_one_alone(x: Array, y: Array) -> tuple[Array, Array]:
    """The elements of both vectors, sorted, and a mask of those that one has and the other lacks.

    The sort is stable, so in a run of equal elements those of x come first: a value is in y alone
    if the first of its run is of y, in x alone if the last is of x. The NaNs of x and of y are two
    runs, since no NaN equals another.
    """
    size = np.shape(x)[0] + np.shape(y)[0]
    if not size:
        return x, lax.full((0,), False, ir.BOOL)
    rows, order = lax.sort(
        [lax.concatenate([x, y], 0), lax.iota(promotion.INT32, size)], num_keys=1
    )
    in_y = lax.ge(order, promotion.constant(order, np.shape(x)[0]))
    previous, following = lax.slice_in_dim(rows, 0, -1), lax.slice_in_dim(rows, 1, None)
    boundary = lax.ne(previous, following)
    if ir.get_aval(rows).dtype in promotion.INEXACT_DTYPES:
        of_one = lax.eq(lax.slice_in_dim(in_y, 0, -1), lax.slice_in_dim(in_y, 1, None))
        nans = lax.bitwise_and(lax.ne(previous, previous), lax.ne(following, following))
        boundary = lax.bitwise_and(boundary, lax.bitwise_not(lax.bitwise_and(nans, of_one)))
    first, last = (lax.pad(boundary, np.bool_(True), [(*end, 0)]) for end in ((1, 0), (0, 1)))
    return rows, lax.select(in_y, first, last)
