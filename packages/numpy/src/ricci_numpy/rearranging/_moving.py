"""Functions that repeat, reverse or shift the elements of an array."""

from collections.abc import Sequence
from math import prod
from operator import index as as_int
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_lax.authoring import resolved_by
from ricci_numpy import _promotion as promotion
from ricci_numpy.arrays._broadcasting import as_shape, broadcast, concrete_values
from ricci_numpy.indexing._take import take
from ricci_numpy.indexing._where import counted
from ricci_numpy.shapes._reshaping import ravel, reshaped
from ricci_numpy.ufuncs._division import remainder

__all__ = ["flip", "fliplr", "flipud", "repeat", "resize", "roll", "rot90", "tile", "trim_zeros"]


@ir.may_return_operand
def tile(A: ir.ArrayLike, reps: ir.ShapeLike) -> ir.Array:
    """An array repeated as a whole.

    Args:
      A: an array.
      reps: how often along each dimension, an int for the last; missing ones are 1, and further
        ones add dimensions in front.

    Returns:
      An array of the dtype of ``A``.

    Raises:
      TypeError: if ``A`` is not an array, or ``reps`` are not ints.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.tile(jnp.arange(2), (2, 2)).tolist()
      [[0, 1, 0, 1], [0, 1, 0, 1]]

    See also:
      ``repeat``, which repeats each element; ``broadcast_to``, which is fused by the compiler.

    Source: numpy.tile.
    """
    (A,) = promotion.operands("tile", A)
    counts = as_shape(reps)
    rank = max(np.ndim(A), len(counts))
    counts = (1,) * (rank - len(counts)) + counts
    A = lax.expand_dims(A, range(rank - np.ndim(A)))
    sharding: Any = getattr(ir.get_aval(A), "type_sharding", None)
    if sharding is not None and not ir.lenient_sharding.value:
        _check_not_sharded(A, sharding.parts, counts)
    return lax.tile(A, counts) if rank else ir.as_array(A)


def _check_not_sharded(x: ir.ArrayLike, parts: ir.Parts, counts: Sequence[int]) -> None:
    for i, (part, count) in enumerate(zip(parts, counts, strict=True)):
        if part and count != 1:
            raise ir.ShardingTypeError(
                f"tile of {ir.get_aval(x).str_short(True)}: dimension {i} is sharded and repeated "
                f"{count} times. Move the array to another sharding with reshard before."
            )


def repeat(
    a: ir.ArrayLike,
    repeats: ir.ArrayLike,
    axis: int | None = None,
    *,
    total_repeat_length: int | None = None,
    out_sharding: object = None,
) -> ir.Array:
    """An array with each of its parts repeated.

    Args:
      a: an array.
      repeats: how often: an int, or an integer array with one for each part.
      axis: the dimension; by default the array is flattened.
      total_repeat_length: the result's size in that dimension, for traced ``repeats``: further
        parts are left out, missing ones are filled with the last one.
      out_sharding: the result's sharding.

    Returns:
      An array of the dtype of ``a``.

    Raises:
      ValueError: if there are not as many repeats as parts.
      TypeError: if an operand is not an array.
      ConcretizationTypeError: if ``repeats`` is traced and there is no total length.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> jnp.repeat(jnp.array([1, 2]), 2).tolist(), jnp.tile(jnp.array([1, 2]), 2).tolist()
      ([1, 1, 2, 2], [1, 2, 1, 2])
      >>> jnp.repeat(jnp.array([1, 2]), jnp.array([2, 1])).tolist()
      [1, 1, 2]
      >>> spread = ricci.jit(lambda n: jnp.repeat(jnp.arange(2), n, total_repeat_length=4))
      >>> spread(jnp.array([1, 3])).tolist()  # a traced number of times
      [0, 1, 1, 1]

    See also:
      ``tile``, which repeats the whole.

    Source: numpy.repeat.
    """
    if out_sharding is not None:
        return resolved_by(
            out_sharding, lambda: repeat(a, repeats, axis, total_repeat_length=total_repeat_length)
        )
    (a,) = promotion.operands("repeat", a)
    if axis is None or not np.ndim(a):
        a, axis = ravel(a), 0
    axis = promotion.canonical_axis(axis, np.ndim(a))
    shape = np.shape(a)
    if isinstance(repeats, int | np.integer | ir.SymbolicDimension) and (
        total_repeat_length is None
    ):
        result = _repeat_each(a, ir.as_size(repeats), axis)
    else:
        (repeats,) = promotion.operands("repeat", repeats)
        counts = ravel(repeats)
        if np.shape(counts)[0] not in (1, shape[axis]):
            raise ValueError(
                f"repeat: repeats has {np.shape(counts)[0]} elements, but the axis has "
                f"{shape[axis]} parts; give one each, or one for all."
            )
        if total_repeat_length is None:
            concrete = concrete_values(
                repeats,
                "The argument 'repeats' of repeat decides the size of the result: give that with "
                "total_repeat_length=...",
            )
            concrete = np.broadcast_to(concrete.ravel(), (shape[axis],))
            # With concrete counts the places are constants, and the result is one gather.
            places = np.repeat(np.arange(shape[axis], dtype=np.int32), concrete)
            result = take(a, places, axis=axis, mode="clip") if shape[axis] else ir.as_array(a)
        else:
            counts = broadcast(counts, (shape[axis],))
            result = _repeat_to(a, counts, axis=axis, total=ir.as_size(total_repeat_length))
    return result


def _repeat_each(a: ir.Array, count: int, axis: int) -> ir.Array:
    shape = np.shape(a)
    # A new dimension behind the repeated one; merging the two puts the copies next to each other.
    dims = [d for d in range(len(shape) + 1) if d != axis + 1]
    wide = (*shape[: axis + 1], count, *shape[axis + 1 :])
    a = lax.broadcast_in_dim(a, wide, dims)
    return lax.reshape(a, (*shape[:axis], shape[axis] * count, *shape[axis + 1 :]))


@ir.composite("repeat")
def _repeat_to(a: ir.Array, counts: ir.Array, *, axis: int, total: int) -> ir.Array:
    size = np.shape(a)[axis]
    counts = lax.convert_element_type(counts, promotion.INT32)
    ends = lax.cumsum(counts, 0)
    starts = lax.sub(ends, counts)
    # Ones where parts start; their cumulative sum minus 1 is the index of the part.
    marks = counted(starts, lax.full((size,), 1, promotion.INT32), total)
    return take(a, lax.sub(lax.cumsum(marks, 0), np.int32(1)), axis=axis)


@ir.dispatched("axis")
def flip(m: ir.ArrayLike, axis: ir.Axis = None) -> ir.Array:
    """An array with its elements in reverse order along some dimensions, by default all.

    Args:
      m: an array.
      axis: an int or a sequence of ints; all without it.

    Returns:
      An array of the shape of ``m``.

    Raises:
      ValueError: if a dimension does not exist.
      TypeError: if ``m`` is not an array.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.flip(jnp.arange(3)).tolist()
      [2, 1, 0]

    Source: numpy.flip.
    """
    (m,) = promotion.operands("flip", m)
    ndim = np.ndim(m)
    axes = tuple(range(ndim)) if axis is None else promotion.canonical_axes(axis, ndim)
    return _flip(m, axes=axes)


@ir.composite("_flip")
def _flip(m: ir.Array, *, axes: tuple[int, ...]) -> ir.Array:
    return lax.rev(m, axes)


@ir.dispatched()
def fliplr(m: ir.ArrayLike) -> ir.Array:
    """An array with its columns, the second dimension, in reverse order.

    Args:
      m: an array of two dimensions or more.

    Returns:
      An array of the shape of ``m``.

    Raises:
      ValueError: if it has fewer than two dimensions.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.fliplr(jnp.array([[1, 2]])).tolist()
      [[2, 1]]

    Source: numpy.fliplr.
    """
    return flip(m, 1)


@ir.dispatched()
def flipud(m: ir.ArrayLike) -> ir.Array:
    """An array with its rows, the first dimension, in reverse order.

    Args:
      m: an array of one dimension or more.

    Returns:
      An array of the shape of ``m``.

    Raises:
      ValueError: if it has no dimension.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.flipud(jnp.array([[1], [2]])).tolist()
      [[2], [1]]

    Source: numpy.flipud.
    """
    return flip(m, 0)


def roll(
    a: ir.ArrayLike, shift: ir.ArrayLike | Sequence[ir.ArrayLike], axis: ir.Axis = None
) -> ir.Array:
    """An array with its elements shifted; those that leave at the end come in at the start.

    Args:
      a: an array.
      shift: by how much: an int or an integer array of rank 0, or a sequence with one for each
        axis.
      axis: the dimensions; by default the array is rolled flattened.

    Returns:
      An array of the shape of ``a``.

    Raises:
      ValueError: if a dimension does not exist, or the numbers of shifts and axes differ.
      TypeError: if an operand is not an array.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.roll(jnp.arange(4), 1).tolist()
      [3, 0, 1, 2]

    Source: numpy.roll.
    """
    (a,) = promotion.operands("roll", a)
    if axis is None:
        return reshaped("roll", roll(ravel(a), shift, 0), np.shape(a))
    ndim = np.ndim(a)
    axes = promotion.axis_tuple(axis)
    axes = tuple(promotion.canonical_axis(d, ndim) for d in axes)
    if isinstance(shift, int | np.integer) or ir.is_symbolic_dim(shift):
        return _roll_static(a, shifts=(ir.as_size(shift),) * len(axes), axes=axes)
    if isinstance(shift, Sequence):
        # Shifts that are all static need slices and a concatenation only; a traced one needs a
        # window.
        static_shifts = tuple(
            [
                ir.as_size(s)
                for s in shift
                if isinstance(s, int | np.integer) or ir.is_symbolic_dim(s)
            ]
        )
        if len(static_shifts) == len(shift):
            shifts = _matched(static_shifts, axes)
            repeats = len(shifts) // len(axes) if axes else 0
            return _roll_static(a, shifts=shifts, axes=axes * repeats)
        shift = lax.stack([lax.convert_element_type(s, promotion.INT32) for s in shift], 0)
    elif isinstance(shift, np.ndarray):
        return roll(a, shift.tolist(), axis)
    (moved,) = promotion.operands("roll", shift)
    if ir.get_aval(moved).dtype in promotion.INEXACT_DTYPES:
        moved = promotion.as_elements(moved, ir.python_scalar_dtype(int))
    if np.ndim(moved) > 1:
        raise ValueError(f"roll: shift must be a scalar or a vector, got shape {np.shape(moved)}.")
    return _roll_dynamic(a, moved, axes=axes)


def _matched(shifts: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    if len(shifts) == 1:
        return shifts * len(axes)
    if len(axes) not in (1, len(shifts)):
        raise ValueError(f"roll: {len(shifts)} shifts for {len(axes)} axes; give one each.")
    return shifts


@ir.composite("_roll_static")
def _roll_static(a: ir.Array, *, shifts: tuple[int, ...], axes: tuple[int, ...]) -> ir.Array:
    for shift, axis in zip(shifts, axes, strict=True):
        size = np.shape(a)[axis]
        if size == 0:
            continue
        # The element that comes first afterwards; Python's remainder is never negative.
        at = -shift % size
        parts = [lax.slice_in_dim(a, at, size, axis=axis), lax.slice_in_dim(a, 0, at, axis=axis)]
        a = lax.concatenate(parts, axis)
    return a


@ir.composite("_roll_dynamic")
def _roll_dynamic(a: ir.Array, shift: ir.ArrayLike, *, axes: tuple[int, ...]) -> ir.Array:
    count = max(len(axes), np.shape(shift)[0] if np.ndim(shift) else 1)
    shifts = lax.unstack(broadcast(shift, (count,)), 0)
    for by, axis in zip(shifts, axes * (count // len(axes)), strict=True):
        size = np.shape(a)[axis]
        # Between 0 and size − 1; the size may be 0, by which nothing can be divided.
        by = remainder(by, promotion.constant(by, ir.max_dim(size, 1)))
        # The rolled array is a window of two copies in a row.
        double = lax.concatenate([a, a], axis)
        start = lax.sub(
            promotion.strong_constant(promotion.INT32, size),
            lax.convert_element_type(by, promotion.INT32),
        )
        a = lax.dynamic_slice_in_dim(double, start, size, axis)
    return a


@ir.dispatched("k", "axes")
def rot90(m: ir.ArrayLike, k: int = 1, axes: tuple[int, int] = (0, 1)) -> ir.Array:
    """An array rotated by 90 degrees, ``k`` times, from the first of two axes to the second.

    Args:
      m: an array of two dimensions or more.
      k: how often; clockwise if negative.
      axes: the two dimensions.

    Returns:
      An array of the same elements.

    Raises:
      ValueError: if the array has fewer than two dimensions, or the axes are equal.
      TypeError: if ``m`` is not an array.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.rot90(jnp.array([[1, 2], [3, 4]])).tolist()
      [[2, 4], [1, 3]]

    Source: numpy.rot90.
    """
    (m,) = promotion.operands("rot90", m)
    ndim = np.ndim(m)
    if ndim < 2:
        raise ValueError(f"rot90 needs an array of two dimensions at least, got {np.shape(m)}.")
    first, second = (promotion.canonical_axis(d, ndim) for d in axes)
    if first == second:
        raise ValueError(f"rot90: axes={axes} must be two different axes.")
    return _rot90(m, k=as_int(k) % 4, axes=(first, second))


@ir.composite("rot90")
def _rot90(m: ir.Array, *, k: int, axes: tuple[int, int]) -> ir.Array:
    first, second = axes
    if k == 0:
        return m
    if k == 2:
        return flip(flip(m, first), second)
    order = list(range(np.ndim(m)))
    order[first], order[second] = second, first
    # A quarter turn is a mirror image and a transposition; the other order turns the other way.
    if k == 1:
        return lax.transpose(flip(m, second), order)
    return flip(lax.transpose(m, order), second)


@ir.dispatched("new_shape")
def resize(a: ir.ArrayLike, new_shape: ir.ShapeLike) -> ir.Array:
    """An array of another shape and size, filled with the elements in order, repeated.

    Args:
      a: an array.
      new_shape: an int or a sequence of ints.

    Returns:
      An array of that shape.

    Raises:
      ValueError: if a size is negative.
      TypeError: if ``a`` is not an array.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.resize(jnp.arange(3), (2, 2)).tolist()
      [[0, 1], [2, 0]]

    Source: numpy.resize.
    """
    (a,) = promotion.operands("resize", a)
    shape = as_shape(new_shape)
    if any(n < 0 for n in shape):
        raise ValueError(f"resize: sizes must not be negative, got {shape}.")
    return _resize(a, shape=shape)


@ir.composite("resize")
def _resize(a: ir.Array, *, shape: tuple[int, ...]) -> ir.Array:
    flat = ravel(a)
    size, new_size = np.shape(flat)[0], prod(shape)
    if size == 0 or new_size == 0:
        return lax.full_like(flat, 0, shape=shape)
    times = -(-new_size // size)
    flat = flat if ir.surely_at_most(times, 1) else lax.tile(flat, (times,))
    flat = flat if times * size == new_size else lax.slice(flat, (0,), (new_size,))
    return lax.reshape(flat, shape)


def trim_zeros(filt: ir.ArrayLike, trim: str = "fb", axis: ir.Axis = None) -> ir.Array:
    """An array without the zeros at its ends; its values must be concrete.

    Args:
      filt: an array.
      trim: ``"f"`` for the front, ``"b"`` for the back, ``"fb"`` for both.
      axis: the dimensions; by default all.

    Returns:
      An array of the dtype of ``filt``.

    Raises:
      ConcretizationTypeError: if it is traced.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.trim_zeros(jnp.array([0, 1, 0])).tolist()
      [1]

    Source: numpy.trim_zeros.
    """
    (filt,) = promotion.operands("trim_zeros", filt)
    value = concrete_values(
        filt, "The values of the argument 'filt' of trim_zeros decide the size of the result."
    )
    ndim = np.ndim(filt)
    axes = tuple(range(ndim)) if axis is None else promotion.canonical_axes(axis, ndim)
    places = np.nonzero(value)
    starts, limits = [0] * ndim, list(np.shape(filt))
    for d in axes:
        if not places[d].size:
            limits[d] = 0
            continue
        if "f" in trim.lower():
            starts[d] = int(places[d].min())
        if "b" in trim.lower():
            limits[d] = int(places[d].max()) + 1
    return lax.slice(filt, starts, limits)
