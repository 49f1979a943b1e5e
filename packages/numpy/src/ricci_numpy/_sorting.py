"""Sorting, and searching in what is sorted."""

from collections.abc import Sequence
from operator import index as as_int
from typing import Any

import numpy as np

import ricci_lax as lax
from ricci_ir import explicit_dtype, get_aval, python_scalar_dtype

from ._at import at
from ._composite import composite
from ._promotion import COMPLEX_DTYPES, FLOAT_DTYPES, convert, operands, promote_dtypes
from ._shapes import canonical_axis, moveaxis, ravel
from ._where import where_step

_INT32 = np.dtype(np.int32)


def _check_kind(name: str, kind: Any, order: Any) -> None:
    if kind is not None:
        raise TypeError(
            f"{name}: kind= chooses no algorithm here; leave it out, or say stable=True or "
            "stable=False."
        )
    if order is not None:
        raise TypeError(
            f"{name}: order= is for arrays with named fields, which do not exist here; leave it "
            "out."
        )


def sort(
    a: Any,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
) -> Any:
    """An array with its elements sorted along a dimension, NaNs last.

    Args:
      a: an array.
      axis: the dimension; ``None`` sorts the flattened array.
      kind, order: must be ``None``.
      stable: whether equal elements keep their order.
      descending: whether the largest comes first.

    Raises:
      ValueError: if ``axis`` does not exist.
      TypeError: if ``a`` is no array.

    Example:
      >>> import ricci_numpy as jnp
      >>> jnp.sort(jnp.array([3, 1, 2])).tolist()
      [1, 2, 3]

    Source: numpy.sort.
    """
    _check_kind("sort", kind, order)
    (a,) = operands("sort", a)
    if axis is not None:
        axis = canonical_axis(axis, np.ndim(a))
    return _sort(a, axis=axis, stable=stable, descending=descending)


@composite("sort")
def _sort(a: Any, *, axis: int | None, stable: bool, descending: bool) -> Any:
    if axis is None:
        a, axis = ravel(a), 0
    found = lax.sort(a, axis, is_stable=stable)
    return lax.rev(found, (axis,)) if descending else found


def argsort(
    a: Any,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
    dtype: Any = None,
) -> Any:
    """The positions of an array's elements in sorted order.

    Args:
      a, axis, kind, order, stable, descending: see ``sort``.
      dtype: the result's dtype, an integer one.

    Raises:
      ValueError: if ``axis`` does not exist.
      TypeError: if ``a`` is no array.

    Example:
      >>> import ricci_numpy as jnp
      >>> jnp.argsort(jnp.array([3, 1, 2])).tolist()
      [1, 2, 0]

    Source: numpy.argsort.
    """
    _check_kind("argsort", kind, order)
    (a,) = operands("argsort", a)
    if axis is not None:
        axis = canonical_axis(axis, np.ndim(a))
    dtype = python_scalar_dtype(int) if dtype is None else explicit_dtype(dtype, "argsort")
    return _argsort(a, axis=axis, stable=stable, descending=descending, dtype=dtype)


@composite("argsort")
def _argsort(a: Any, *, axis: int | None, stable: bool, descending: bool, dtype: Any) -> Any:
    if axis is None:
        a, axis = ravel(a), 0
    places = lax.broadcasted_iota(dtype, np.shape(a), axis)
    if descending:
        # Sorted backwards, so that equal elements keep their order when all is reversed.
        a, places = lax.rev(a, (axis,)), lax.rev(places, (axis,))
    _, found = lax.sort((a, places), axis, is_stable=stable, num_keys=1)
    return lax.rev(found, (axis,)) if descending else found


def lexsort(keys: Any, axis: int = -1) -> Any:
    """The positions that sort by several keys, the last one first.

    Args:
      keys: a sequence of arrays of one shape, or an array of them.
      axis: the dimension.

    Raises:
      TypeError: if there are no keys, or one is no array.
      ValueError: if the shapes differ, or ``axis`` does not exist.

    Example:
      >>> import ricci_numpy as jnp
      >>> jnp.lexsort((jnp.array([1, 0, 2]), jnp.array([1, 1, 0]))).tolist()
      [2, 1, 0]

    Source: numpy.lexsort.
    """
    parts = list(keys) if isinstance(keys, Sequence) else list(lax.unstack(keys, 0))
    if not parts:
        raise TypeError("lexsort: give at least one key.")
    parts = operands("lexsort", *parts)
    shapes = {np.shape(x) for x in parts}
    if len(shapes) > 1:
        raise ValueError(f"lexsort: all keys must have one shape, got {sorted(shapes)}.")
    if not np.ndim(parts[0]):
        return lax.full((), 0, python_scalar_dtype(int))
    return _lexsort(*parts, axis=canonical_axis(axis, np.ndim(parts[0])))


@composite("lexsort")
def _lexsort(*keys: Any, axis: int) -> Any:
    places = lax.broadcasted_iota(python_scalar_dtype(int), np.shape(keys[0]), axis)
    return lax.sort((*keys[::-1], places), axis, num_keys=len(keys))[-1]


def sort_complex(a: Any) -> Any:
    """A vector sorted, first by real and then by imaginary parts, as complex numbers.

    Example:
      >>> import ricci_numpy as jnp
      >>> jnp.sort_complex(jnp.array([2.0, 1.0])).tolist()
      [(1+0j), (2+0j)]

    Source: numpy.sort_complex.
    """
    (a,) = operands("sort_complex", a)
    return _sort_complex(a)


@composite("sort_complex")
def _sort_complex(a: Any) -> Any:
    found = lax.sort(a, np.ndim(a) - 1)
    dtype = found.dtype
    if dtype in COMPLEX_DTYPES:
        return found
    wide = dtype == np.float64 or (dtype not in FLOAT_DTYPES and dtype.itemsize == 8)
    return lax.convert_element_type(found, np.complex128 if wide else np.complex64)


def _check_kth(name: str, a: Any, kth: Any, axis: Any) -> tuple[int, int]:
    axis = canonical_axis(axis, np.ndim(a))
    size = np.shape(a)[axis]
    kth = as_int(kth)
    if not -size <= kth < size:
        raise ValueError(f"{name}: kth={kth}, but the axis has {size} elements, counted from 0.")
    if get_aval(a).dtype in COMPLEX_DTYPES:  # pyright: ignore[reportAttributeAccessIssue]
        raise NotImplementedError(f"{name} is not defined for complex numbers; use sort.")
    return kth % size if size else 0, axis


def partition(a: Any, kth: int, axis: int = -1) -> Any:
    """An array with its ``kth`` smallest element in place, no larger one before, no smaller after.

    Args:
      a: an array.
      kth: a position in the sorted order.
      axis: the dimension.

    Raises:
      ValueError: if ``kth`` or ``axis`` does not exist.
      TypeError: if ``a`` is no array.

    Example:
      >>> import ricci_numpy as jnp
      >>> int(jnp.partition(jnp.array([3, 1, 2]), 1)[1])
      2

    Source: numpy.partition.
    """
    (a,) = operands("partition", a)
    kth, axis = _check_kth("partition", a, kth, axis)
    return _partition(a, kth=kth, axis=axis)


def _negated(a: Any) -> Any:
    """An array in the reverse order; unsigned numbers are counted from the largest."""
    dtype = get_aval(a).dtype  # pyright: ignore[reportAttributeAccessIssue]
    return lax.sub(np.array(np.iinfo(dtype).max, dtype)[()], a) if dtype.kind == "u" else lax.neg(a)


@composite("partition")
def _partition(a: Any, *, kth: int, axis: int) -> Any:
    size = np.shape(a)[axis]
    below, _ = lax.top_k(_negated(a), kth + 1, axis=axis)
    above, _ = lax.top_k(a, size - kth - 1, axis=axis)
    return lax.concatenate([_negated(below), above], axis)


def argpartition(a: Any, kth: int, axis: int = -1) -> Any:
    """The positions of an array's elements as ``partition`` arranges them.

    Args:
      a, kth, axis: see ``partition``.

    Raises:
      ValueError: if ``kth`` or ``axis`` does not exist.
      TypeError: if ``a`` is no array.

    Example:
      >>> import ricci_numpy as jnp
      >>> int(jnp.argpartition(jnp.array([3, 1, 2]), 1)[1])
      2

    Source: numpy.argpartition.
    """
    (a,) = operands("argpartition", a)
    kth, axis = _check_kth("argpartition", a, kth, axis)
    return _argpartition(a, kth=kth, axis=axis)


@composite("argpartition")
def _argpartition(a: Any, *, kth: int, axis: int) -> Any:
    a = moveaxis(a, axis, -1)
    shape = np.shape(a)
    last = len(shape) - 1
    _, below = lax.top_k(_negated(a), kth + 1, axis=last)
    # The others, in order: those found are marked by the smallest value of a mask.
    left = lax.full(shape, 1.0, np.float32)
    lead = [lax.broadcasted_iota(_INT32, np.shape(below), d) for d in range(last)]
    left = at(left)[(*lead, below)].set(0.0)
    _, above = lax.top_k(left, shape[last] - kth - 1, axis=last)
    return moveaxis(lax.concatenate([below, above], last), -1, axis)


def top_k(
    a: Any, k: int, /, *, axis: int = -1, mode: str = "largest", sorted: bool = True
) -> tuple[Any, Any]:
    """The largest or smallest elements along a dimension, and their positions.

    Args:
      a: an array.
      k: how many.
      axis: the dimension.
      mode: ``"largest"`` or ``"smallest"``.
      sorted: whether they must be in order; here they always are.

    Raises:
      ValueError: if there are fewer, or there is no such mode.
      TypeError: if ``a`` is no array.

    Example:
      >>> import ricci_numpy as jnp
      >>> values, positions = jnp.top_k(jnp.array([3, 1, 2]), 2)
      >>> values.tolist(), positions.tolist()
      ([3, 2], [0, 2])
    """
    (a,) = operands("top_k", a)
    if mode not in ("largest", "smallest"):
        raise ValueError(f"top_k: mode must be 'largest' or 'smallest', got {mode!r}.")
    axis = canonical_axis(axis, np.ndim(a))
    return _top_k(a, k=as_int(k), axis=axis, smallest=mode == "smallest")


@composite("top_k")
def _top_k(a: Any, *, k: int, axis: int, smallest: bool) -> Any:
    if not smallest:
        return lax.top_k(a, k, axis=axis)
    values, places = lax.top_k(_negated(a), k, axis=axis)
    return _negated(values), places


def searchsorted(
    a: Any, v: Any, side: str = "left", sorter: Any = None, *, method: str = "scan"
) -> Any:
    """Where values would be inserted in a sorted vector to keep it sorted.

    Args:
      a: a sorted vector.
      v: the values, of any shape.
      side: ``"left"`` for the first such position, ``"right"`` for the last.
      sorter: positions that sort ``a``, if it is not.
      method: ``"scan"`` or ``"scan_unrolled"`` for a binary search, ``"compare_all"`` to compare
        all pairs at once, ``"sort"`` to sort both together; the result is the same.

    Raises:
      ValueError: if ``a`` is no vector, or there is no such side or method.
      TypeError: if an operand is no array.

    Example:
      >>> import ricci_numpy as jnp
      >>> jnp.searchsorted(jnp.array([1, 2, 2, 3]), 2).tolist()
      1

    Source: numpy.searchsorted.
    """
    a, v = operands("searchsorted", a, v)
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: side must be 'left' or 'right', got {side!r}.")
    if method not in ("scan", "scan_unrolled", "compare_all", "sort"):
        raise ValueError(
            "searchsorted: method must be 'scan', 'scan_unrolled', 'sort' or 'compare_all', got "
            f"{method!r}."
        )
    if np.ndim(a) != 1:
        raise ValueError(f"searchsorted: a must be a vector, got shape {np.shape(a)}.")
    a, v = promote_dtypes(a, v)
    if sorter is not None:
        (sorter,) = operands("searchsorted", sorter)
        return _searchsorted_by(a, v, sorter, side=side, method=method)
    return _searchsorted(a, v, side=side, method=method)


@composite("searchsorted")
def _searchsorted_by(a: Any, v: Any, sorter: Any, *, side: str, method: str) -> Any:
    return _search(_looked_up(a, sorter), v, side, method)


@composite("searchsorted")
def _searchsorted(a: Any, v: Any, *, side: str, method: str) -> Any:
    return _search(a, v, side, method)


def _search(a: Any, v: Any, side: str, method: str) -> Any:
    size = np.shape(a)[0]
    if not size:
        return lax.full(np.shape(v), 0, _INT32)
    if method == "compare_all":
        before = _comes_before(side)
        wide = lax.expand_dims(a, range(1, np.ndim(v) + 1))
        found = before(wide, lax.expand_dims(v, (0,)))
        return lax.reduce_sum(lax.convert_element_type(found, _INT32), (0,))
    if method == "sort":
        return _search_by_sorting(a, v, side)
    return _search_by_halving(a, v, side)


def _total(x: Any) -> Any:
    """An array with one zero and one NaN, so that comparison in the total order is NumPy's."""
    dtype = get_aval(x).dtype  # pyright: ignore[reportAttributeAccessIssue]
    if dtype not in FLOAT_DTYPES:
        return x
    zero, nan = (np.asarray(value).astype(dtype)[()] for value in (0, np.nan))
    shape = np.shape(x)
    x = lax.select_n(lax.eq(x, zero), x, lax.full(shape, zero, dtype))
    return lax.select_n(lax.ne(x, x), x, lax.full(shape, nan, dtype))


def _comes_before(side: str) -> Any:
    """Whether an element of the sorted vector stands before where a value is inserted."""

    def before(x: Any, value: Any) -> Any:
        x, value = _total(x), _total(value)
        dtype = get_aval(x).dtype  # pyright: ignore[reportAttributeAccessIssue]
        if dtype in FLOAT_DTYPES:
            return lax.lt_to_p.bind(x, value) if side == "left" else lax.le_to_p.bind(x, value)
        if dtype in COMPLEX_DTYPES:
            return _complex_before(x, value, side)
        return lax.lt(x, value) if side == "left" else lax.le(x, value)

    return before


def _complex_before(x: Any, value: Any, side: str) -> Any:
    real, other = lax.real(x), lax.real(value)
    last = lax.lt if side == "left" else lax.le
    tie = lax.bitwise_and(lax.eq(real, other), last(lax.imag(x), lax.imag(value)))
    return lax.bitwise_or(lax.lt(real, other), tie)


def _search_by_halving(a: Any, v: Any, side: str) -> Any:
    size = np.shape(a)[0]
    before = _comes_before(side)
    low = lax.full(np.shape(v), 0, _INT32)
    high = lax.full(np.shape(v), size, _INT32)

    def halve(_: Any, bounds: tuple[Any, Any]) -> tuple[Any, Any]:
        low, high = bounds
        middle = lax.div(lax.add(low, high), np.int32(2))
        goes_up = before(_looked_up(a, middle), v)
        # An empty interval stays as it is.
        goes_up = lax.bitwise_and(goes_up, lax.lt(low, high))
        low = lax.select_n(goes_up, low, lax.add(middle, np.int32(1)))
        return low, lax.select_n(goes_up, middle, high)

    bounds = (low, high)
    for step in range(size.bit_length()):
        bounds = halve(step, bounds)
    return bounds[0]


def _looked_up(a: Any, positions: Any) -> Any:
    rank = np.ndim(positions)
    dims = lax.GatherDimensionNumbers(
        offset_dims=(), collapsed_slice_dims=(0,), start_index_map=(0,)
    )
    return lax.gather(
        a,
        lax.expand_dims(positions, (rank,)),
        dims,
        (1,),
        mode=lax.GatherScatterMode.CLIP,
    )


def _search_by_sorting(a: Any, v: Any, side: str) -> Any:
    flat = ravel(v)
    count, size = np.shape(flat)[0], np.shape(a)[0]
    both = [flat, a] if side == "left" else [a, flat]
    places = _ranks(lax.concatenate(both, 0))
    start = 0 if side == "left" else size
    among_both = lax.slice(places, (start,), (start + count,))
    return lax.reshape(lax.sub(among_both, _ranks(flat)), np.shape(v))


def _ranks(x: Any) -> Any:
    """The position of each element in the sorted order."""
    size = np.shape(x)[0]
    turn = lax.iota(_INT32, size)
    _, order = lax.sort((x, turn), 0, num_keys=1)
    return at(lax.full((size,), 0, _INT32))[order].set(turn)


def digitize(x: Any, bins: Any, right: bool = False, *, method: str | None = None) -> Any:
    """The number of the bin that each element falls into.

    Args:
      x: an array.
      bins: the edges, a vector that increases or decreases.
      right: whether a bin includes its right edge instead of the left one.
      method: see ``searchsorted``.

    Raises:
      ValueError: if ``bins`` is no vector.
      TypeError: if an operand is no array.

    Example:
      >>> import ricci_numpy as jnp
      >>> jnp.digitize(jnp.array([0.5, 2.5]), jnp.array([0.0, 1.0, 2.0])).tolist()
      [1, 3]

    Source: numpy.digitize.
    """
    x, bins = operands("digitize", x, bins)
    if np.ndim(bins) != 1:
        raise ValueError(f"digitize: bins has shape {np.shape(bins)}; give the edges in a vector.")
    return _digitize(x, bins, right=right, method=method or "scan")


@composite("digitize")
def _digitize(x: Any, bins: Any, *, right: bool, method: str) -> Any:
    size = np.shape(bins)[0]
    if not size:
        return lax.full(np.shape(x), 0, _INT32)
    side = "left" if right else "right"
    rising = searchsorted(bins, x, side=side, method=method)
    last = lax.squeeze(lax.slice(bins, (size - 1,), (size,)), (0,))
    first = lax.squeeze(lax.slice(bins, (0,), (1,)), (0,))
    falling = searchsorted(lax.rev(bins, (0,)), x, side=side, method=method)
    falling = lax.sub(convert(np.int32(size), _INT32), falling)
    return where_step(lax.ge(last, first), rising, falling)
