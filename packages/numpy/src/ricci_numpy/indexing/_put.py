"""Copies with elements written at indices, under masks or on diagonals: ``put`` and others."""

import numpy as np

import ricci_lax as lax
from ricci_ir import Array, ArrayLike, composite, dispatched, get_aval, min_dim
from ricci_numpy._promotion import canonical_axis, convert, dtype_of, operands
from ricci_numpy.arrays._broadcasting import broadcast
from ricci_numpy.arrays._creation import asarray
from ricci_numpy.shapes._reshaping import ravel
from ricci_numpy.ufuncs._division import remainder
from ricci_numpy.ufuncs._rounding import clip

from ._at import at
from ._take import check_integers, take
from ._where import where_step

__all__ = ["fill_diagonal", "place", "put", "put_along_axis"]


@dispatched("axis", "inplace", "mode")
def put_along_axis(
    arr: ArrayLike,
    indices: ArrayLike,
    values: ArrayLike,
    axis: int | None,
    inplace: bool = True,
    *,
    mode: str | None = None,
) -> Array:
    """A copy of an array with values written where ``take_along_axis`` reads.

    Args:
      arr, indices, axis: see ``take_along_axis``.
      values: the values to write, broadcast to the shape of ``indices``.
      inplace: must be ``False``, since arrays do not change.
      mode: what happens to positions out of bounds; by default they are left out.

    Returns:
      A new array of the shape and dtype of ``arr``.

    Raises:
      ValueError: if ``inplace`` is true, or the numbers of dimensions differ.
      TypeError: if an operand is not an array, or the indices are not integers.

    Example:
      >>> import ricci.numpy as jnp
      >>> x = jnp.zeros((2, 2))
      >>> jnp.put_along_axis(x, jnp.array([[0], [1]]), 9.0, 1, inplace=False).tolist()
      [[9.0, 0.0], [0.0, 9.0]]

    Source: numpy.put_along_axis.
    """
    _check_not_inplace("put_along_axis", inplace)
    arr, indices, values = operands("put_along_axis", arr, indices, values)
    check_integers("put_along_axis", indices)
    if axis is not None and np.ndim(indices) != np.ndim(arr):
        raise ValueError(
            f"put_along_axis: indices has rank {np.ndim(indices)} and arr rank {np.ndim(arr)}; "
            "give indices an axis for each of arr's."
        )
    return _put_along_axis(arr, indices, values, axis=axis, mode=mode)


def _check_not_inplace(name: str, inplace: bool, error: type[Exception] = ValueError) -> None:
    if inplace:
        raise error(
            f"{name}: arrays do not change, so that inplace=True is impossible. Pass "
            "inplace=False and use the array that is returned."
        )


@composite("put_along_axis")
def _put_along_axis(
    arr: Array, indices: Array, values: Array, *, axis: int | None, mode: str | None
) -> Array:
    shape = np.shape(arr)
    if axis is None:
        flat = at(ravel(arr))[ravel(indices)].set(ravel(values), mode=mode)
        return lax.reshape(flat, shape)
    axis = canonical_axis(axis, len(shape))
    values = broadcast(values, np.shape(indices))
    places: list[Array] = []
    # An index for each dimension: in the others every element has its own position.
    for d, n in enumerate(shape):
        if d == axis:
            places.append(indices)
        else:
            others = [i for i in range(len(shape)) if i != d]
            places.append(lax.expand_dims(lax.iota(np.dtype(np.int32), n), others))
    return at(arr)[tuple(places)].set(values, mode=mode)


def put(
    a: ArrayLike, ind: ArrayLike, v: ArrayLike, mode: str | None = None, *, inplace: bool = True
) -> Array:
    """A copy of an array with values written at positions of the flattened array.

    Args:
      a: an array.
      ind: positions.
      v: values, repeated as often as needed.
      mode: ``"clip"`` (the default) or ``"wrap"`` for positions out of bounds.
      inplace: must be ``False``, since arrays do not change.

    Returns:
      A new array of the shape and dtype of ``a``.

    Raises:
      ValueError: if ``inplace`` is true, or there is no such mode.
      TypeError: if an operand is not an array.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.put(jnp.zeros(3), jnp.array([0, 2]), jnp.array([1.0, 2.0]), inplace=False).tolist()
      [1.0, 0.0, 2.0]

    See also:
      ``Array.at``, which does the same along any axes.

    Source: numpy.put.
    """
    _check_not_inplace("put", inplace)
    a, ind, v = operands("put", a, ind, v)
    flat, positions, values = ravel(a), ravel(ind), ravel(v)
    count = np.shape(positions)[0]
    if not count or not np.shape(values)[0]:
        return asarray(a)
    size = np.shape(flat)[0]
    if mode is None or mode == "clip":
        positions = clip(positions, 0, size - 1)
    elif mode == "wrap":
        positions = remainder(positions, size)
    else:
        refusal = NotImplementedError if mode == "raise" else ValueError
        raise refusal(f"put: mode must be None, 'clip' or 'wrap', got {mode!r}.")
    # Fewer values than positions are repeated, and the last repetition is cut.
    times = -(-count // np.shape(values)[0])
    values = lax.slice(lax.tile(values, (times,)), (0,), (count,))
    return lax.reshape(at(flat)[positions].set(values, mode="drop"), np.shape(a))


def place(arr: ArrayLike, mask: ArrayLike, vals: ArrayLike, *, inplace: bool = True) -> Array:
    """A copy of an array with values written where a mask holds, one after another.

    Args:
      arr: an array.
      mask: a boolean array of its size.
      vals: values, repeated as often as needed.
      inplace: must be ``False``, since arrays do not change.

    Returns:
      A new array of the shape and dtype of ``arr``.

    Raises:
      ValueError: if ``inplace`` is true, the sizes differ, or there are no values.
      TypeError: if an operand is not an array.

    Example:
      >>> import ricci.numpy as jnp
      >>> x = jnp.arange(4)
      >>> jnp.place(x, x > 1, jnp.array([7, 8]), inplace=False).tolist()
      [0, 1, 7, 8]

    Source: numpy.place.
    """
    _check_not_inplace("place", inplace)
    arr, mask, vals = operands("place", arr, mask, vals)
    if np.size(mask) != np.size(arr):
        raise ValueError(
            f"place: arr has {np.size(arr)} elements and mask {np.size(mask)}; give as many."
        )
    values = ravel(vals)
    if not np.shape(values)[0]:
        if np.size(arr):
            raise ValueError("place: vals is empty.")
        return asarray(arr)
    flat_mask = lax.ne(ravel(mask), np.zeros((), dtype_of(mask))[()])
    # The number of selected elements up to each one, less 1, counts through the values in turn.
    order = lax.cumsum(lax.convert_element_type(flat_mask, np.int32), 0)
    turn = remainder(lax.sub(order, np.int32(1)), np.shape(values)[0])
    aval = get_aval(arr)
    written = convert(take(values, turn, mode="clip"), aval.dtype, aval.weak_type)
    return lax.reshape(where_step(flat_mask, written, ravel(arr)), np.shape(arr))


def fill_diagonal(
    a: ArrayLike, val: ArrayLike, wrap: bool = False, *, inplace: bool = True
) -> Array:
    """A copy of an array with values written on its main diagonal.

    Args:
      a: an array of at least two dimensions, all of one size if more than two.
      val: a scalar, or values that are repeated.
      wrap: not supported.
      inplace: must be ``False``, since arrays do not change.

    Returns:
      A new array of the shape and dtype of ``a``.

    Raises:
      NotImplementedError: if ``inplace`` or ``wrap`` is true.
      ValueError: if ``a`` has no diagonal.
      TypeError: if an operand is not an array.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.fill_diagonal(jnp.zeros((2, 2)), 3.0, inplace=False).tolist()
      [[3.0, 0.0], [0.0, 3.0]]

    Source: numpy.fill_diagonal.
    """
    _check_not_inplace("fill_diagonal", inplace, NotImplementedError)  # JAX raises this one
    if wrap:
        raise NotImplementedError("fill_diagonal: wrap=True is not supported.")
    a, val = operands("fill_diagonal", a, val)
    shape = np.shape(a)
    if len(shape) < 2:
        raise ValueError(f"fill_diagonal: the array must have at least 2 dimensions, got {shape}.")
    if len(shape) > 2 and len(set(shape)) > 1:
        raise ValueError(f"fill_diagonal: all dimensions must have one size, got shape {shape}.")
    size = min_dim(*shape[:2]) if len(shape) == 2 else min(shape)
    places = lax.iota(np.dtype(np.int32), size)
    if np.ndim(val):
        values = ravel(val)
        val = lax.slice(lax.tile(values, (-(-size // np.shape(values)[0]),)), (0,), (size,))
    return at(a)[(places,) * len(shape)].set(val)
