"""Functions that read elements at indices, or where a condition holds: ``take`` and others."""

from collections.abc import Sequence

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_ir import Array, ArrayLike, Tracer
from ricci_numpy import _promotion as promotion
from ricci_numpy.arrays._broadcasting import broadcast, broadcast_shape
from ricci_numpy.shapes._reshaping import ravel
from ricci_numpy.ufuncs._division import remainder
from ricci_numpy.ufuncs._rounding import clip

from ._brackets import ModeLike, as_mode, getitem
from ._gather_form import strong_int32, widened, wrapped
from ._where import nonzero, where_step

__all__ = ["choose", "compress", "extract", "take", "take_along_axis"]

# Arrays to choose from.
type Choices = ArrayLike | Sequence[ArrayLike]

_MODES = lax.GatherScatterMode


def check_integers(name: str, indices: ArrayLike, error: type[Exception] = TypeError) -> None:
    """Raise unless indices have an integer dtype."""
    aval = ir.get_aval(indices)
    if not ir.issubdtype(aval.dtype, np.integer):
        raise error(
            f"{name}: indices pick elements by number, and these are {aval.str_short()}. Convert "
            "them with astype(int)."
        )


@ir.dispatched("axis", "out", "mode", "unique_indices", "indices_are_sorted")
def take(
    a: ArrayLike,
    indices: ArrayLike,
    axis: int | None = None,
    out: None = None,
    mode: str | None = None,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    fill_value: ArrayLike | None = None,
) -> Array:
    """The elements of an array at given positions along a dimension.

    Args:
      a: an array.
      indices: positions, an integer array of any shape, which replaces the dimension.
      axis: the dimension; by default the array is flattened first.
      out: must be ``None``.
      mode: what happens to positions out of bounds: ``"fill"`` (the default) gives
        ``fill_value``, ``"clip"`` the nearest element, ``"wrap"`` counts around. Negative
        positions count from the end except with ``"clip"``.
      unique_indices, indices_are_sorted: promises that allow faster code.
      fill_value: a scalar; by default NaN, or the extreme value of an integer dtype.

    Returns:
      An array of the dtype of ``a``, whose dimension ``axis`` is replaced by those of ``indices``.

    Raises:
      ValueError: if the indices are not integers, or ``axis`` does not exist.
      TypeError: if an operand is not an array.
      NotImplementedError: if ``out`` is given.

    A position out of bounds raises no error, since compiled code cannot: the default gives NaN
    where NumPy raises, and ``x[indices]`` gives the nearest element.

    Example:
      >>> import ricci.numpy as jnp
      >>> x = jnp.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
      >>> jnp.take(x, jnp.array([2, 0]), axis=1).tolist()
      [[3.0, 1.0], [6.0, 4.0]]
      >>> jnp.take(x, jnp.array([0, -1, 9]), axis=1)[0]
      Array([ 1.,  3., nan], dtype=float32)
      >>> jnp.take(x, jnp.array([0, -1, 9]), axis=1, mode="clip")[0].tolist()
      [1.0, 1.0, 3.0]

    See also:
      ``take_along_axis``, where positions differ from row to row; ``Array.at``, ``x.at[i].get()``.

    Source: numpy.take.
    """
    promotion.no_out("take", out)
    # A list raises TypeError in any mode, so that numpy.take converts the operands itself.
    a, indices = promotion.operands("take", a, indices)
    if mode == "raise":
        raise NotImplementedError(
            "take: compiled code cannot raise; use mode 'fill', 'clip' or 'wrap'."
        )
    if promotion.dtype_of(indices) == np.dtype(bool) and as_mode(mode) is not _MODES.CLIP:
        indices = promotion.convert(
            indices, np.dtype(np.int32)
        )  # 0 and 1, as NumPy's scalars of that type
    check_integers("take", indices, ValueError)
    if axis is not None:
        axis = promotion.canonical_axis(axis, np.ndim(a))
    return _take(
        a,
        indices,
        axis=axis,
        mode=mode if mode == "wrap" else as_mode(mode) or _MODES.FILL_OR_DROP,
        unique_indices=unique_indices,
        indices_are_sorted=indices_are_sorted,
        fill_value=ir.static_number(fill_value),
    )


@ir.composite("_take")
def _take(
    a: Array,
    indices: Array,
    *,
    axis: int | None,
    mode: lax.GatherScatterMode | str,
    unique_indices: bool,
    indices_are_sorted: bool,
    fill_value: ArrayLike | None,
) -> Array:
    if axis is None:
        a, axis = ravel(a), 0
    shape, picked = np.shape(a), np.shape(indices)
    size = shape[axis]
    if not size and all(picked):
        raise IndexError("take: an axis of size 0 has no elements to take.")
    indices = widened(indices, size)
    if mode == "wrap":
        indices, mode = remainder(indices, size), _MODES.PROMISE_IN_BOUNDS
    elif mode is not _MODES.CLIP and promotion.dtype_of(indices).kind == "i":
        negative = lax.lt(indices, promotion.constant(indices, 0))
        indices = where_step(negative, lax.add(indices, promotion.constant(indices, size)), indices)
    # Each index collapses the taken axis; the dimensions of the indices take its place.
    rank = len(picked)
    dims = lax.GatherDimensionNumbers(
        offset_dims=(*range(axis), *range(axis + rank, len(shape) + rank - 1)),
        collapsed_slice_dims=(axis,),
        start_index_map=(axis,),
    )
    return lax.gather(
        a,
        lax.expand_dims(indices, (rank,)),
        dims,
        (*shape[:axis], 1, *shape[axis + 1 :]),
        unique_indices=unique_indices,
        indices_are_sorted=indices_are_sorted,
        mode=mode,
        fill_value=fill_value,
    )


@ir.dispatched("axis", "mode", "wrap_negative_indices")
def take_along_axis(
    arr: ArrayLike,
    indices: ArrayLike,
    axis: int | None = -1,
    mode: ModeLike = None,
    fill_value: ArrayLike | None = None,
    *,
    wrap_negative_indices: bool = True,
) -> Array:
    """The elements at positions that are given for each of the other dimensions separately.

    Args:
      arr: an array.
      indices: integers, of as many dimensions as ``arr``; the others than ``axis`` broadcast.
      axis: the dimension that the positions are along; ``None`` flattens ``arr``.
      mode, fill_value: what happens to positions out of bounds; see ``x.at[...].get``.
      wrap_negative_indices: whether negative positions count from the end.

    Returns:
      An array of the dtype of ``arr`` and the shape of ``indices``, broadcast.

    Raises:
      TypeError: if the indices are not integers, or an operand is not an array.
      ValueError: if the numbers of dimensions differ, or the shapes do not broadcast.

    In mode ``"one_hot"`` elements are read through a mask instead of a gather, and those out of
    bounds are 0.

    Example:
      >>> import ricci.numpy as jnp
      >>> x = jnp.array([[3, 1], [4, 5]])
      >>> jnp.take_along_axis(x, jnp.argsort(x, axis=1), axis=1).tolist()
      [[1, 3], [4, 5]]
      >>> logits, labels = jnp.array([[0.0, 2.0], [3.0, 1.0]]), jnp.array([1, 1])
      >>> jnp.take_along_axis(logits, labels[:, None], axis=1)[:, 0].tolist()  # one of each row
      [2.0, 1.0]

    See also:
      ``take``; ``put_along_axis``.

    Source: numpy.take_along_axis.
    """
    arr, indices = promotion.operands("take_along_axis", arr, indices)
    check_integers("take_along_axis", indices)
    rank = np.ndim(indices)
    if axis is None:
        if rank != 1:
            raise ValueError(
                "take_along_axis: axis=None reads arr as one long vector, so indices of shape "
                f"{np.shape(indices)} must be a vector too."
            )
    elif rank != np.ndim(arr):
        raise ValueError(
            f"take_along_axis: indices has rank {rank} and arr rank {np.ndim(arr)}; give indices "
            "an axis for each of arr's."
        )
    else:
        axis = promotion.canonical_axis(axis, rank)
    mode = _MODES.ONE_HOT if mode == "one_hot" else as_mode(mode) or _MODES.FILL_OR_DROP
    return _take_along_axis(
        arr,
        indices,
        axis=axis,
        mode=mode,
        fill_value=ir.static_number(fill_value),
        wrap=wrap_negative_indices,
    )


@ir.composite("take_along_axis")
def _take_along_axis(
    arr: Array,
    indices: Array,
    *,
    axis: int | None,
    mode: lax.GatherScatterMode,
    fill_value: ArrayLike | None,
    wrap: bool,
) -> Array:
    if axis is None:
        arr, axis = ravel(arr), 0
    shape, picked = np.shape(arr), np.shape(indices)
    indices = widened(indices, shape[axis])
    if wrap and promotion.dtype_of(indices).kind == "i":
        indices = wrapped(indices, shape[axis])
    if mode is _MODES.ONE_HOT:
        return _take_by_mask(arr, indices, axis)
    # Besides the axis, dimensions of equal sizes are batch dimensions of the gather. Dimensions of
    # size 1 in the indices are taken whole, those of size 1 in the array are squeezed.
    offset: list[int] = []
    batching: list[int] = []
    squeezed: list[int] = []
    indexed: list[int] = []
    start = 0
    for d, (n, m) in enumerate(zip(shape, picked, strict=True)):
        if d == axis:
            indexed.append(d)
            start = d - len(squeezed)
        elif m == 1:
            offset.append(d)
        elif n == 1:
            squeezed.append(d)
            indexed.append(d)
        elif n == m:
            batching.append(d)
            indexed.append(d)
        else:
            raise ValueError(
                f"take_along_axis: shapes {shape} and {picked} do not broadcast in dimension {d}."
            )
    indices = lax.reshape(indices, (*(picked[d] for d in indexed), 1))
    arr = lax.squeeze(arr, squeezed)
    moved = [d - sum(s < d for s in squeezed) for d in batching]
    sizes = [1 if d in indexed else n for d, n in enumerate(shape) if d not in squeezed]
    dims = lax.GatherDimensionNumbers(
        offset_dims=tuple(offset),
        collapsed_slice_dims=(start,),
        start_index_map=(start,),
        operand_batching_dims=tuple(moved),
        start_indices_batching_dims=tuple(indexed.index(d) for d in batching),
    )
    return lax.gather(arr, indices, dims, sizes, mode=mode, fill_value=fill_value)


def _take_by_mask(arr: Array, indices: Array, axis: int) -> Array:
    """The elements as sums over one-hot masks: 0 for those out of bounds."""
    rank = np.ndim(arr)
    others = lambda x: tuple(n for d, n in enumerate(np.shape(x)) if d != axis)
    full = list(broadcast_shape("take_along_axis", others(arr), others(indices)))
    full[axis:axis] = [np.shape(indices)[axis], np.shape(arr)[axis]]
    spread = lambda x, last: lax.broadcast_in_dim(x, full, [d + (d > last) for d in range(rank)])
    positions = lax.broadcasted_iota(promotion.dtype_of(indices), full, axis + 1)
    values = spread(arr, axis - 1)
    # ``full`` has the axis of the indices followed by that of the array; along the latter the mask
    # selects one element for each index.
    matches = lax.eq(spread(indices, axis), positions)
    if promotion.dtype_of(arr) == np.dtype(bool):
        return lax.reduce_or(lax.bitwise_and(matches, values), (axis + 1,))
    return lax.reduce_sum(lax.select(matches, values, lax.full_like(values, 0)), (axis + 1,))


def choose(a: ArrayLike, choices: Choices, out: None = None, mode: str = "raise") -> Array:
    """The elements of several arrays, chosen by number.

    Args:
      a: an integer array: which of the choices to take each element from.
      choices: a sequence of arrays, or an array of them; all shapes broadcast.
      out: must be ``None``.
      mode: ``"clip"`` or ``"wrap"`` for numbers out of bounds; with ``"raise"`` they must be
        concrete.

    Returns:
      An array of the broadcast shape and of the promoted dtype of the choices.

    Raises:
      ValueError: if a number is out of bounds, or there is no such mode.
      ConcretizationTypeError: if ``a`` is traced and the mode is ``"raise"``.
      TypeError: if an operand is not an array.
      NotImplementedError: if ``out`` is given.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.choose(jnp.array([1, 0]), [jnp.array([1, 2]), jnp.array([3, 4])]).tolist()
      [3, 2]

    Source: numpy.choose.
    """
    promotion.no_out("choose", out)
    cases = list(choices) if isinstance(choices, Sequence) else list(lax.unstack(choices, 0))
    a, *cases = promotion.operands("choose", a, *cases)
    check_integers("choose", a, ValueError)
    count = len(cases)
    if mode == "raise":
        if isinstance(a, Tracer):
            raise ir.ConcretizationTypeError(
                a,
                "choose: mode='raise' compares the values of a with the number of choices. "
                "Use mode='clip' or mode='wrap'.",
            )
        numbers = np.asarray(a)
        if numbers.size and not (0 <= numbers.min() and numbers.max() < count):
            raise ValueError(
                f"choose: a number in a is out of bounds for {count} choices. Use mode='clip' or "
                "mode='wrap' to allow that."
            )
    elif mode == "clip":
        a = clip(a, 0, count - 1)
    elif mode == "wrap":
        a = remainder(a, count)
    else:
        raise ValueError(f"choose: mode={mode!r} is unknown; it is 'raise', 'wrap' or 'clip'.")
    cases = promotion.promote_dtypes(*cases)
    shape = broadcast_shape("choose", np.shape(a), *map(np.shape, cases))
    stacked = lax.concatenate([lax.expand_dims(broadcast(x, shape), (0,)) for x in cases], 0)
    places = [lax.broadcasted_iota(np.dtype(np.int32), shape, d) for d in range(len(shape))]
    chosen = getitem(stacked, (broadcast(strong_int32(a), shape), *places))
    return promotion.convert(chosen, chosen.dtype)


def compress(
    condition: ArrayLike,
    a: ArrayLike,
    axis: int | None = None,
    *,
    size: int | None = None,
    fill_value: ArrayLike = 0,
    out: None = None,
) -> Array:
    """The parts of an array along a dimension for which a condition holds.

    Args:
      condition: a boolean vector; parts beyond its end are left out.
      a: an array.
      axis: the dimension; by default the array is flattened.
      size: the result's size in that dimension, for use under ``jit``: others are left out,
        missing ones filled.
      fill_value: the filler.
      out: must be ``None``.

    Returns:
      An array of the shape of ``a``, smaller along ``axis``; without it a vector.

    Raises:
      ValueError: if ``condition`` is not a vector.
      TypeError: if an operand is not an array.
      NotImplementedError: if ``out`` is given.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.compress(jnp.array([True, False, True]), jnp.arange(3)).tolist()
      [0, 2]

    Source: numpy.compress.
    """
    promotion.no_out("compress", out)
    condition, a, fill_value = promotion.operands("compress", condition, a, fill_value)
    if np.ndim(condition) != 1:
        raise ValueError(
            f"compress: condition has shape {np.shape(condition)}; give one boolean for each "
            "slice, in a vector."
        )
    if axis is None:
        a, axis = ravel(a), 0
    axis = promotion.canonical_axis(axis, np.ndim(a))
    length = np.shape(a)[axis]
    if size is not None and not 0 <= size <= length:
        raise ValueError(
            f"compress, extract: size={size} must not be negative, and at most {length}, the size "
            f"of axis {axis} of the array."
        )
    positions = nonzero(condition, size=size, fill_value=None if size is None else length)[0]
    if size is None:
        if np.any(np.asarray(positions) >= length):
            raise ValueError(
                f"compress: the condition holds beyond the {length} slices of axis {axis}."
            )
        return take(a, positions, axis=axis)
    selected = take(a, positions, axis=axis, mode="clip")
    inside = lax.lt(positions, promotion.constant(positions, length))
    shape = (*np.shape(a)[:axis], size, *np.shape(a)[axis + 1 :])
    inside = lax.broadcast_in_dim(inside, shape, (axis,))
    dtype = promotion.dtype_of(a)
    fill = promotion.as_elements(fill_value, dtype)
    return where_step(inside, selected, fill)


def extract(
    condition: ArrayLike, arr: ArrayLike, *, size: int | None = None, fill_value: ArrayLike = 0
) -> Array:
    """The elements for which a condition holds, in one dimension.

    Args:
      condition: a boolean array.
      arr: an array.
      size, fill_value: see ``compress``.

    Returns:
      A vector of the dtype of ``arr``.

    Raises:
      TypeError: if an operand is not an array.

    Example:
      >>> import ricci.numpy as jnp
      >>> x = jnp.arange(4)
      >>> jnp.extract(x > 1, x).tolist()
      [2, 3]

    Source: numpy.extract.
    """
    return compress(ravel(condition), ravel(arr), size=size, fill_value=fill_value)
