"""Slices, updates, gathers and reshapes of padded arrays at computed positions."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import ricci_lax as lax
from ricci_ir import Array, ArrayLike, is_symbolic_dim

from ._extents import Extents, Unprovable

__all__ = ["index", "reshape_padded", "slice_at", "take", "write_at"]


def index(x: ArrayLike) -> ArrayLike:
    """A size or a length as an operand of index arithmetic."""
    return np.int32(x) if isinstance(x, int | np.integer) else x


def slice_at(x: Array, axis: int, start: ArrayLike, size: int) -> Array:
    """Slice ``size`` elements from a position along an axis; undefined behind the array's end.

    Args:
      start: a traced scalar, from 0 to the array's size.
    """
    starts = [index(start) if i == axis else np.int32(0) for i in range(len(x.shape))]
    sizes = [size if i == axis else n for i, n in enumerate(x.shape)]
    return lax.dynamic_slice(_extend(x, axis, size), starts, sizes)


def write_at(x: Array, into: Array, axis: int, start: ArrayLike) -> Array:
    """Write an array into another one from a position along an axis.

    Elements beyond the end are dropped.

    Args:
      start: a traced scalar, from 0 to the size of ``into``.
    """
    ndim = len(into.shape)
    starts = [index(start) if i == axis else np.int32(0) for i in range(ndim)]
    written = lax.dynamic_update_slice(_extend(into, axis, x.shape[axis]), x, starts)
    return lax.slice(written, [0] * ndim, into.shape)


def _extend(x: Array, axis: int, more: int) -> Array:
    config = [(0, more if i == axis else 0, 0) for i in range(len(x.shape))]
    return lax.pad(x, np.zeros((), x.dtype)[()], config)


def take(x: Array, positions: Array | np.ndarray, axis: int) -> Array:
    """Take the elements of an array at positions along an axis, which are clipped."""
    ndim = len(x.shape)
    numbers = lax.GatherDimensionNumbers(
        offset_dims=tuple(i for i in range(ndim) if i != axis),
        collapsed_slice_dims=(axis,),
        start_index_map=(axis,),
    )
    sizes = [1 if i == axis else n for i, n in enumerate(x.shape)]
    indices = lax.reshape(positions, (*positions.shape, 1))
    return lax.gather(x, indices, numbers, sizes, mode=lax.GatherScatterMode.CLIP)


def reshape_padded(extents: Extents, x: Array, old: Sequence[Any], new: Sequence[Any]) -> Array:
    """Reshape a padded array, whose old and new dimensions may be symbolic.

    The dimensions are split into groups with the same number of elements before and after. Where
    only the first dimension of a group is padded, its padding is the end of it, before and after.
    The elements of other groups are gathered from their old positions.
    """
    groups = list(_groups(old, new))
    x = lax.reshape(x, [math.prod(extents.shape(before)) for before, _ in groups])
    for axis, (before, after) in enumerate(groups):
        if not (_padding_is_last(before) and _padding_is_last(after)):
            x = take(x, _positions(extents, before, after), axis)
    return lax.reshape(x, extents.shape(new))


def _groups(
    old: Sequence[Any], new: Sequence[Any]
) -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...]]]:
    """The smallest parts of two shapes, in order, that have the same number of elements."""
    i = j = 0
    while i < len(old) or j < len(new):
        a, b = i, j
        left = old[i] if i < len(old) else 1
        right = new[j] if j < len(new) else 1
        i, j = min(i + 1, len(old)), min(j + 1, len(new))
        while left != right:
            # The side with fewer elements gets another dimension, by a heuristic comparison:
            # a group that is larger than needed is correct as well.
            if i < len(old) and (j == len(new) or _is_factor(left, right)):
                left, i = left * old[i], i + 1
            elif j < len(new):
                right, j = right * new[j], j + 1
            else:
                raise Unprovable(
                    f"an array of shape {_text(old)} does not fill the shape {_text(new)} at all "
                    "lengths",
                    "reshape to sizes that follow from the array's own: x.shape[0], or -1",
                )
        yield tuple(old[a:i]), tuple(new[b:j])


def _text(shape: Sequence[Any]) -> str:
    return f"({', '.join(map(str, shape))})"


def _is_factor(x: Any, y: Any) -> bool:
    if is_symbolic_dim(x) or is_symbolic_dim(y):
        degree = _degree(x), _degree(y)
        return degree[0] < degree[1] or (
            degree[0] == degree[1] and _leading_coefficient(x) <= _leading_coefficient(y)
        )
    return x <= y


def _degree(x: Any) -> int:
    if not is_symbolic_dim(x):
        return 0
    return max(sum(power for _, power in monomial) for monomial, _ in x.terms)


def _leading_coefficient(x: Any) -> int:
    return abs(x.terms[0][1]) if is_symbolic_dim(x) else x


def _padding_is_last(sizes: Sequence[Any]) -> bool:
    """Whether the padding of a group, in row-major order, comes after all of its elements."""
    nontrivial = [n for n in sizes if is_symbolic_dim(n) or n != 1]
    return not any(map(is_symbolic_dim, nontrivial[1:]))


def _positions(extents: Extents, old: Sequence[Any], new: Sequence[Any]) -> Array:
    """The old position of each element of a group's new form."""
    shape = extents.shape(new)
    position: Any = lax.iota(np.int32, math.prod(shape))
    # The row-major index of each element among the valid ones, from its new position ...
    number: Any = np.int32(0)
    for axis, n in enumerate(new):
        inner = math.prod(shape[axis + 1 :])
        at = lax.rem(lax.div(position, np.int32(max(inner, 1))), np.int32(max(shape[axis], 1)))
        number = lax.add(lax.mul(number, _like(extents.length(n), position)), at)
    # ... and from that its old position.
    old_shape = extents.shape(old)
    old_position: Any = np.int32(0)
    for axis in reversed(range(len(old))):
        length = _like(extents.length(old[axis]), position)
        stride = np.int32(math.prod(old_shape[axis + 1 :]))
        old_position = lax.add(old_position, lax.mul(lax.rem(number, length), stride))
        number = lax.div(number, length)
    return old_position


def _like(n: Any, x: Array) -> Array:
    return lax.broadcast_in_dim(index(n), x.shape, ())
