"""Moving padded arrays along a dimension by amounts that are known when a program runs."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ricci_ir import Array, ArrayLike, is_symbolic_dim
from ricci_lax import (
    GatherDimensionNumbers,
    GatherScatterMode,
    add,
    broadcast_in_dim,
    div,
    dynamic_slice,
    dynamic_update_slice,
    gather,
    iota,
    mul,
    pad,
    rem,
    reshape,
)
from ricci_lax import slice as lax_slice

from ._errors import Unprovable
from ._extents import Extents

__all__ = ["index", "placed", "regrouped", "shifted", "taken"]


def index(x: ArrayLike) -> ArrayLike:
    """A size or a length as an operand of index arithmetic."""
    return np.int32(x) if isinstance(x, int | np.integer) else x


def shifted(x: Array, axis: int, start: ArrayLike, size: int) -> Array:
    """``size`` elements from a position along an axis on; behind the array's end anything.

    Args:
      start: a scalar of the program, from 0 to the array's size.
    """
    starts = [index(start) if i == axis else np.int32(0) for i in range(len(x.shape))]
    sizes = [size if i == axis else n for i, n in enumerate(x.shape)]
    return dynamic_slice(_longer(x, axis, size), starts, sizes)


def placed(x: Array, into: Array, axis: int, start: ArrayLike) -> Array:
    """``into`` with an array written over it from a position along an axis on.

    What does not fit is dropped.

    Args:
      start: a scalar of the program, from 0 to the size of ``into``.
    """
    ndim = len(into.shape)
    starts = [index(start) if i == axis else np.int32(0) for i in range(ndim)]
    written = dynamic_update_slice(_longer(into, axis, x.shape[axis]), x, starts)
    return lax_slice(written, [0] * ndim, into.shape)


def _longer(x: Array, axis: int, more: int) -> Array:
    config = [(0, more if i == axis else 0, 0) for i in range(len(x.shape))]
    return pad(x, np.zeros((), x.dtype)[()], config)


def taken(x: Array, positions: Array | np.ndarray, axis: int) -> Array:
    """The elements of an array at positions along an axis; the nearest one if there is none."""
    ndim = len(x.shape)
    numbers = GatherDimensionNumbers(
        offset_dims=tuple(i for i in range(ndim) if i != axis),
        collapsed_slice_dims=(axis,),
        start_index_map=(axis,),
    )
    sizes = [1 if i == axis else n for i, n in enumerate(x.shape)]
    indices = reshape(positions, (*positions.shape, 1))
    return gather(x, indices, numbers, sizes, mode=GatherScatterMode.CLIP)


def regrouped(extents: Extents, x: Array, old: Sequence[Any], new: Sequence[Any]) -> Array:
    """A reshape of a padded array from dimensions to others; some of them are symbolic.

    The dimensions are divided into groups with the same number of elements before and after. Where
    only the first dimension of a group is padded, its padding is the end of it, before and after.
    The elements of other groups are fetched from where they are.
    """
    groups = list(_groups(old, new))
    x = reshape(x, [math.prod(extents.shape(before)) for before, _ in groups])
    for axis, (before, after) in enumerate(groups):
        if not (_padding_is_last(before) and _padding_is_last(after)):
            x = taken(x, _positions(extents, before, after), axis)
    return reshape(x, extents.shape(new))


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
            # The one with fewer elements gets another dimension. Which one that is need not be
            # known: a group that is larger than needed is right, too.
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
        return degree[0] < degree[1] or (degree[0] == degree[1] and _last(x) <= _last(y))
    return x <= y


def _degree(x: Any) -> int:
    if not is_symbolic_dim(x):
        return 0
    return max(sum(power for _, power in monomial) for monomial, _ in x.terms)


def _last(x: Any) -> int:
    return abs(x.terms[0][1]) if is_symbolic_dim(x) else x


def _padding_is_last(sizes: Sequence[Any]) -> bool:
    """Whether the padding of a group, in row-major order, comes after all of its elements."""
    kept = [n for n in sizes if is_symbolic_dim(n) or n != 1]
    return not any(map(is_symbolic_dim, kept[1:]))


def _positions(extents: Extents, old: Sequence[Any], new: Sequence[Any]) -> Array:
    """Where the elements of a group's new form are in the array of its old form."""
    shape = extents.shape(new)
    place: Any = iota(np.int32, math.prod(shape))
    # The number of each element among the valid ones, from its position in the new form ...
    number: Any = np.int32(0)
    for axis, n in enumerate(new):
        inner = math.prod(shape[axis + 1 :])
        at = rem(div(place, np.int32(max(inner, 1))), np.int32(max(shape[axis], 1)))
        number = add(mul(number, _like(extents.length(n), place)), at)
    # ... and from that its position in the old form.
    own = extents.shape(old)
    found: Any = np.int32(0)
    for axis in reversed(range(len(old))):
        length = _like(extents.length(old[axis]), place)
        stride = np.int32(math.prod(own[axis + 1 :]))
        found = add(found, mul(rem(number, length), stride))
        number = div(number, length)
    return found


def _like(n: Any, x: Array) -> Array:
    return broadcast_in_dim(index(n), x.shape, ())
