"""Sorting, and the greatest elements."""

from collections.abc import Sequence
from itertools import batched
from operator import index as as_int

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_numpy import _promotion as promotion
from ricci_numpy.indexing._at import at
from ricci_numpy.indexing._take import take_along_axis
from ricci_numpy.shapes._reshaping import ravel
from ricci_numpy.shapes._transposing import moveaxis

__all__ = ["argpartition", "argsort", "lexsort", "partition", "sort", "sort_complex", "top_k"]

_UINT8 = np.dtype(np.uint8)


def _check_kind(name: str, kind: object, order: object) -> None:
    if kind is not None:
        raise TypeError(
            f"{name}: kind= is not supported; leave it out, or give stable=True or stable=False."
        )
    if order is not None:
        raise TypeError(
            f"{name}: order= is for arrays with named fields, which are not supported; leave it "
            "out."
        )


@ir.dispatched("axis", "kind", "order", "stable", "descending")
def sort(
    a: ir.ArrayLike,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
) -> ir.Array:
    """An array with its elements sorted along a dimension, NaNs last.

    Args:
      a: an array.
      axis: the dimension; ``None`` sorts the flattened array.
      kind, order: must be ``None``.
      stable: whether equal elements keep their order.
      descending: whether the largest comes first.

    Returns:
      An array of the shape and dtype of ``a``, or a vector for ``axis=None``.

    Raises:
      ValueError: if ``axis`` does not exist.
      TypeError: if ``a`` is not an array.

    Example:
      >>> import ricci.numpy as jnp
      >>> x = jnp.array([[3.0, jnp.nan, 1.0], [2.0, -1.0, 0.0]])
      >>> jnp.sort(x)
      Array([[ 1.,  3., nan],
             [-1.,  0.,  2.]], dtype=float32)
      >>> jnp.sort(x[1], descending=True).tolist()
      [2.0, 0.0, -1.0]

    See also:
      ``argsort``, the positions; ``lax.sort``, of several arrays together; ``top_k``.

    Source: numpy.sort.
    """
    _check_kind("sort", kind, order)
    (a,) = promotion.operands("sort", a)
    if axis is not None:
        axis = promotion.canonical_axis(axis, np.ndim(a))
    return _sort(a, axis=axis, stable=stable, descending=descending)


@ir.composite("sort")
def _sort(a: ir.Array, *, axis: int | None, stable: bool, descending: bool) -> ir.Array:
    if axis is None:
        a, axis = ravel(a), 0
    ordered = lax.sort(a, axis, is_stable=stable)
    return lax.rev(ordered, (axis,)) if descending else ordered


@ir.dispatched("axis", "kind", "order", "stable", "descending", "dtype")
def argsort(
    a: ir.ArrayLike,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
    dtype: ir.DTypeLike | None = None,
) -> ir.Array:
    """The positions of an array's elements in sorted order.

    Args:
      a, axis, kind, order, stable, descending: see ``sort``.
      dtype: the result's dtype, an integer one.

    Returns:
      An integer array of the shape of ``a``, or a vector for ``axis=None``.

    Raises:
      ValueError: if ``axis`` does not exist.
      TypeError: if ``a`` is not an array.

    Example:
      >>> import ricci.numpy as jnp
      >>> x = jnp.array([3, 1, 2])
      >>> order = jnp.argsort(x)
      >>> order.tolist(), x[order].tolist(), jnp.argsort(order).tolist()  # the last: ranks
      ([1, 2, 0], [1, 2, 3], [2, 0, 1])
      >>> table = jnp.array([[2, 20], [1, 10]])
      >>> table[jnp.argsort(table[:, 0])].tolist()  # rows by their first column
      [[1, 10], [2, 20]]

    See also:
      ``take_along_axis``, to apply it along a dimension; ``lexsort``; ``top_k``.

    Source: numpy.argsort.
    """
    _check_kind("argsort", kind, order)
    (a,) = promotion.operands("argsort", a)
    if axis is not None:
        axis = promotion.canonical_axis(axis, np.ndim(a))
    dtype = ir.python_scalar_dtype(int) if dtype is None else ir.explicit_dtype(dtype, "argsort")
    return _argsort(a, axis=axis, stable=stable, descending=descending, dtype=dtype)


@ir.composite("argsort")
def _argsort(
    a: ir.Array, *, axis: int | None, stable: bool, descending: bool, dtype: ir.DTypeLike
) -> ir.Array:
    if axis is None:
        a, axis = ravel(a), 0
    places = lax.broadcasted_iota(dtype, np.shape(a), axis)
    if descending:
        # A stable sort of the reversed array, reversed, keeps the order of equal elements.
        a, places = lax.rev(a, (axis,)), lax.rev(places, (axis,))
    _, positions = lax.sort((a, places), axis, is_stable=stable, num_keys=1)
    return lax.rev(positions, (axis,)) if descending else positions


def lexsort(
    keys: ir.ArrayLike | Sequence[ir.ArrayLike], axis: int = -1, *, batch_size: int = 16
) -> ir.Array:
    """The positions that sort by several keys, the last one first.

    Args:
      keys: a sequence of arrays of one shape, or an array of them.
      axis: the dimension.
      batch_size: how many keys one sort compares. The time to compile a sort grows with the
        number of its keys; more than these are sorted in several passes, with equal results.

    Returns:
      An integer array of the shape of a key.

    Raises:
      TypeError: if there are no keys, or one is not an array.
      ValueError: if the shapes differ, ``axis`` does not exist, or ``batch_size`` is not positive.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.lexsort((jnp.array([1, 0, 2]), jnp.array([1, 1, 0]))).tolist()
      [2, 1, 0]

    Source: numpy.lexsort.
    """
    parts = list(keys) if isinstance(keys, Sequence) else list(lax.unstack(keys, 0))
    if not parts:
        raise TypeError("lexsort: give at least one key.")
    batch_size = as_int(batch_size)
    if batch_size < 1:
        raise ValueError(f"lexsort: batch_size must be positive, got {batch_size}.")
    parts = promotion.operands("lexsort", *parts)
    shapes = {np.shape(x) for x in parts}
    if len(shapes) > 1:
        raise ValueError(f"lexsort: all keys must have one shape, got {sorted(shapes)}.")
    if not np.ndim(parts[0]):
        return lax.full((), 0, ir.python_scalar_dtype(int))
    axis = promotion.canonical_axis(axis, np.ndim(parts[0]))
    return _lexsort(*parts, axis=axis, batch_size=min(batch_size, len(parts)))


@ir.composite("lexsort")
def _lexsort(*keys: ir.Array, axis: int, batch_size: int) -> ir.Array:
    places = lax.broadcasted_iota(ir.python_scalar_dtype(int), np.shape(keys[0]), axis)
    # Sorts are stable: the least significant keys come first.
    for batch in batched(keys, batch_size):
        if batch[0] is not keys[0]:
            batch = [take_along_axis(key, places, axis) for key in batch]
        places = lax.sort((*batch[::-1], places), axis, num_keys=len(batch))[-1]
    return places


@ir.dispatched()
def sort_complex(a: ir.ArrayLike) -> ir.Array:
    """A vector sorted, first by real and then by imaginary parts, as complex numbers.

    Args:
      a: a vector.

    Returns:
      A complex vector.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.sort_complex(jnp.array([2.0, 1.0])).tolist()
      [(1+0j), (2+0j)]

    Source: numpy.sort_complex.
    """
    (a,) = promotion.operands("sort_complex", a)
    return _sort_complex(a)


@ir.composite("sort_complex")
def _sort_complex(a: ir.Array) -> ir.Array:
    ordered = lax.sort(a, np.ndim(a) - 1)
    dtype = ordered.dtype
    if dtype in promotion.COMPLEX_DTYPES:
        return promotion.convert(ordered, dtype)
    wide = dtype == np.float64 or (dtype not in promotion.FLOAT_DTYPES and dtype.itemsize == 8)
    return lax.convert_element_type(ordered, np.complex128 if wide else np.complex64)


def _check_kth(name: str, a: ir.Array, kth: int, axis: int) -> tuple[int, int]:
    axis = promotion.canonical_axis(axis, np.ndim(a))
    size = np.shape(a)[axis]
    kth = as_int(kth)
    if not -size <= kth < size:
        raise ValueError(f"{name}: kth={kth}, but the axis has {size} elements, counted from 0.")
    if ir.get_aval(a).dtype in promotion.COMPLEX_DTYPES:
        raise NotImplementedError(f"{name} is not defined for complex numbers; use sort.")
    return kth % size if size else 0, axis


@ir.dispatched("kth", "axis")
def partition(a: ir.ArrayLike, kth: int, axis: int = -1) -> ir.Array:
    """An array with its ``kth`` smallest element in place, no larger one before, no smaller after.

    Args:
      a: an array.
      kth: a position in the sorted order.
      axis: the dimension.

    Returns:
      An array of the shape and dtype of ``a``.

    Raises:
      ValueError: if ``kth`` or ``axis`` does not exist.
      TypeError: if ``a`` is not an array.

    Example:
      >>> import ricci.numpy as jnp
      >>> int(jnp.partition(jnp.array([3, 1, 2]), 1)[1])
      2

    Source: numpy.partition.
    """
    (a,) = promotion.operands("partition", a)
    kth, axis = _check_kth("partition", a, kth, axis)
    if ir.get_aval(a).dtype == np.bool_:
        return promotion.convert(
            _partition(promotion.convert(a, _UINT8), kth=kth, axis=axis), np.bool_
        )
    return _partition(a, kth=kth, axis=axis)


def _negated(a: ir.Array) -> ir.Array:
    """Return elements in the reverse order: integers' bits inverted, other numbers negated.

    An integer has no negative if it is the least one of its dtype, or unsigned.
    """
    dtype = ir.get_aval(a).dtype
    if dtype == ir.BOOL or ir.issubdtype(dtype, np.integer):
        return lax.bitwise_not(a)
    return lax.neg(a)


@ir.composite("partition")
def _partition(a: ir.Array, *, kth: int, axis: int) -> ir.Array:
    size = np.shape(a)[axis]
    # The smallest elements, ascending: the last of them is the one at ``kth``.
    below, _ = lax.top_k(_negated(a), kth + 1, axis=axis)
    above, _ = lax.top_k(a, size - kth - 1, axis=axis)
    return lax.concatenate([_negated(below), above], axis)


@ir.dispatched("kth", "axis")
def argpartition(a: ir.ArrayLike, kth: int, axis: int = -1) -> ir.Array:
    """The positions of an array's elements as ``partition`` arranges them.

    Args:
      a, kth, axis: see ``partition``.

    Returns:
      An integer array of the shape of ``a``.

    Raises:
      ValueError: if ``kth`` or ``axis`` does not exist.
      TypeError: if ``a`` is not an array.

    Example:
      >>> import ricci.numpy as jnp
      >>> int(jnp.argpartition(jnp.array([3, 1, 2]), 1)[1])
      2

    Source: numpy.argpartition.
    """
    (a,) = promotion.operands("argpartition", a)
    kth, axis = _check_kth("argpartition", a, kth, axis)
    if ir.get_aval(a).dtype == np.bool_:
        a = promotion.convert(a, _UINT8)
    return _argpartition(a, kth=kth, axis=axis)


@ir.composite("argpartition")
def _argpartition(a: ir.Array, *, kth: int, axis: int) -> ir.Array:
    a = moveaxis(a, axis, -1)
    shape = np.shape(a)
    last = len(shape) - 1
    _, below = lax.top_k(_negated(a), kth + 1, axis=last)
    # The other positions: a mask of ones is 0 at the positions in ``below``; ``top_k`` of it gives
    # the rest in order.
    unused = lax.full(shape, 1.0, np.float32)
    lead = [lax.broadcasted_iota(promotion.INT32, np.shape(below), d) for d in range(last)]
    unused = at(unused)[(*lead, below)].set(0.0)
    _, above = lax.top_k(unused, shape[last] - kth - 1, axis=last)
    positions = lax.concatenate([below, above], last)
    return moveaxis(promotion.convert(positions, promotion.INT32, below.weak_type), -1, axis)


@ir.dispatched("k", "axis", "mode", "sorted")
def top_k(
    a: ir.ArrayLike, k: int, /, *, axis: int = -1, mode: str = "largest", sorted: bool = True
) -> list[ir.Array] | tuple[ir.Array, ir.Array]:
    """The largest or smallest elements along a dimension, and their positions.

    Args:
      a: an array.
      k: how many.
      axis: the dimension.
      mode: ``"largest"`` or ``"smallest"``.
      sorted: whether they must be in order; here they always are.

    Returns:
      Two arrays, of size ``k`` along the dimension: the elements, best first, and their positions;
      in a list, or in a tuple where the smallest are asked for.

    Raises:
      ValueError: if there are fewer, or there is no such mode.
      TypeError: if ``a`` is not an array.

    Example:
      >>> import ricci.numpy as jnp
      >>> values, positions = jnp.top_k(jnp.array([3, 1, 2]), 2)
      >>> values.tolist(), positions.tolist()
      ([3, 2], [0, 2])
    """
    (a,) = promotion.operands("top_k", a)
    if mode not in ("largest", "smallest"):
        raise ValueError(f"top_k: mode must be 'largest' or 'smallest', got {mode!r}.")
    axis = promotion.canonical_axis(axis, np.ndim(a))
    result = _top_k(a, k=as_int(k), axis=axis, smallest=mode == "smallest")
    return result if mode == "smallest" else list(result)


@ir.composite("top_k")
def _top_k(a: ir.Array, *, k: int, axis: int, smallest: bool) -> tuple[ir.Array, ir.Array]:
    values, places = lax.top_k(_negated(a) if smallest else a, k, axis=axis)
    return _negated(values) if smallest else values, places
