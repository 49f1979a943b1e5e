"""Arrays with parts deleted or inserted."""

import numpy as np

import ricci_lax as lax
from ricci_ir import BOOL, Array, ArrayLike
from ricci_numpy import _promotion as promotion
from ricci_numpy.arrays._broadcasting import broadcast, concrete_values
from ricci_numpy.arrays._creation import asarray
from ricci_numpy.indexing._at import at
from ricci_numpy.indexing._brackets import getitem
from ricci_numpy.indexing._gather_form import widened, wrapped
from ricci_numpy.indexing._take import check_integers, take
from ricci_numpy.indexing._where import nonzero
from ricci_numpy.shapes._reshaping import ravel
from ricci_numpy.shapes._transposing import moveaxis
from ricci_numpy.ufuncs._rounding import clip

__all__ = ["delete", "insert"]


def delete(
    arr: ArrayLike,
    obj: ArrayLike | slice,
    axis: int | None = None,
    *,
    assume_unique_indices: bool = False,
) -> Array:
    """An array without some of its parts along a dimension.

    Args:
      arr: an array.
      obj: what to leave out: an int, a slice, an integer array, or a boolean mask.
      axis: the dimension; by default the array is flattened.
      assume_unique_indices: promises that ``obj`` names no part twice, which lets it be traced.

    Returns:
      An array of the dtype of ``arr``, smaller along ``axis``.

    Raises:
      IndexError: if a part does not exist.
      ValueError: if ``obj`` holds anything but integers and booleans.
      TypeError: if an operand is not an array.
      ConcretizationTypeError: if ``obj`` is traced, without ``assume_unique_indices``.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.delete(jnp.arange(4), jnp.array([0, 2])).tolist()
      [1, 3]

    Source: numpy.delete.
    """
    (arr,) = promotion.operands("delete", arr)
    if axis is None:
        arr, axis = ravel(arr), 0
    axis = promotion.canonical_axis(axis, np.ndim(arr))
    size = np.shape(arr)[axis]
    if isinstance(obj, slice):
        remaining = np.delete(np.arange(size), obj)
    elif isinstance(obj, int | np.integer):
        i = promotion.canonical_axis(obj, size)
        before, arr = (slice(None),) * axis, asarray(arr)
        parts = [getitem(arr, (*before, slice(0, i))), getitem(arr, (*before, slice(i + 1, size)))]
        return lax.concatenate(parts, axis)
    elif assume_unique_indices:
        return _delete_unique(arr, ravel(promotion.operands("delete", obj)[0]), axis, size)
    else:
        (obj,) = promotion.operands("delete", obj)
        if promotion.dtype_of(obj) != BOOL:
            check_integers("delete", obj, ValueError)
        advice = "The size of the result depends on it, unless assume_unique_indices is true."
        remaining = np.delete(np.arange(size), concrete_values(obj, advice))
    return take(arr, remaining.astype(np.int32), axis=axis, mode="clip") if size else arr


def _delete_unique(arr: Array, obj: Array, axis: int, size: int) -> Array:
    if promotion.dtype_of(obj) == BOOL:
        raise NotImplementedError("delete: a mask cannot come with assume_unique_indices.")
    obj = lax.convert_element_type(obj, np.int32)
    obj = wrapped(obj, size)
    gone = lax.sort(clip(obj, 0, size))
    count = np.shape(gone)[0]
    # The result's element ``r`` comes after the k-th deleted one (from 0), which stands at
    # ``gone[k]`` after ``k`` others, if ``r >= gone[k] - k``; so many positions it has moved.
    starts = lax.sub(gone, lax.iota(np.dtype(np.int32), count))
    left = lax.iota(np.dtype(np.int32), size - count)
    passed = lax.ge(lax.expand_dims(left, (0,)), lax.expand_dims(starts, (1,)))
    jumps = lax.reduce_sum(lax.convert_element_type(passed, np.int32), (0,))
    return take(arr, lax.add(left, jumps), axis=axis, mode="clip")


def insert(
    arr: ArrayLike, obj: ArrayLike | slice, values: ArrayLike, axis: int | None = None
) -> Array:
    """An array with values inserted before given positions.

    Args:
      arr: an array.
      obj: positions: an int, a slice or an integer array.
      values: the values to insert, broadcast to the shape of the parts.
      axis: the dimension; by default the array is flattened.

    Returns:
      An array of the dtype of ``arr``, larger along ``axis``.

    Raises:
      ValueError: if the shapes do not broadcast, or ``obj`` does not hold integers.
      TypeError: if an operand is not an array.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.insert(jnp.arange(3), 1, 9).tolist()
      [0, 9, 1, 2]

    Source: numpy.insert.
    """
    arr, values = promotion.operands("insert", arr, values)
    if axis is None:
        arr, axis = ravel(arr), 0
    axis = promotion.canonical_axis(axis, np.ndim(arr))
    arr = moveaxis(arr, axis, 0)
    dtype, weak = promotion.common_dtype(arr)
    values = promotion.as_elements(values, dtype)
    size = np.shape(arr)[0]
    if isinstance(obj, slice):
        obj = np.arange(*obj.indices(size), dtype=np.int32)
    is_scalar = not np.ndim(obj)
    (obj,) = promotion.operands("insert", obj)
    check_integers("insert", obj, ValueError)
    positions = ravel(obj)
    if np.ndim(values):
        # A single position takes all the values; several positions take one part of them each.
        lead = (1,) * (np.ndim(arr) - np.ndim(values))
        values = lax.reshape(values, (*lead, *np.shape(values)))
        values = moveaxis(values, 0 if is_scalar and axis else axis, 0)
    positions = clip(wrapped(widened(positions, size), size), 0, size)
    positions = lax.convert_element_type(positions, np.int32)
    count = np.shape(positions)[0]
    if count == 1:
        count = np.shape(values)[0] if np.ndim(values) else 1
        positions = lax.broadcast_in_dim(positions, (count,), (0,))
    values = broadcast(values, (count, *np.shape(arr)[1:]))
    turn = lax.iota(np.dtype(np.int32), count)
    # Sorted, the i-th inserted part has ``i`` others before it, which move its place in the result.
    # The old parts take the places that are left.
    positions, order = lax.sort_key_val(positions, turn)
    places = lax.add(positions, turn)
    values = take(values, order, axis=0, mode="clip")
    total = size + count
    is_old = at(lax.full((total,), True, BOOL))[places].set(False)
    old_places = nonzero(is_old, size=size)[0]
    result = lax.full((total, *np.shape(arr)[1:]), 0, dtype)
    result = at(at(result)[places].set(values))[old_places].set(arr)
    return moveaxis(promotion.convert(result, dtype, weak), 0, axis)
