"""Batching rules of collectives over the mapped axis: its members are the examples of the batch."""

from collections.abc import Callable, Hashable, Sequence
from math import prod

import numpy as np

import ricci_lax as lax
from ricci_batching import Axis, batched_at, vmap
from ricci_ir import Array, ArrayLike, axis_size, get_aval

from ._named_axes import AxisNames, Groups


def shape_of(x: ArrayLike) -> tuple[int, ...]:
    """Return the shape of an array, a tracer or a scalar."""
    return get_aval(x).shape


def sizes_around(names: AxisNames, name: Hashable) -> tuple[AxisNames, int, int]:
    """Return the other axes of a collective, and the sizes of those before and after ``name``.

    A member's position along several axes counts them in row-major order.
    """
    place = names.index(name)
    before, behind = names[:place], names[place + 1 :]
    return (*before, *behind), axis_size(before), axis_size(behind)


def rows_of(x: ArrayLike, order: Sequence[int]) -> Array:
    """Return rows of an array by their positions; zeros for positions past the last row."""
    shape = shape_of(x)
    if list(order) == list(range(shape[0])):
        return x  # pyright: ignore[reportReturnType]
    rank = len(shape)
    dims = lax.GatherDimensionNumbers(
        offset_dims=tuple(range(1, rank)), collapsed_slice_dims=(0,), start_index_map=(0,)
    )
    inside = all(i < shape[0] for i in order)
    return lax.gather(
        x,
        np.array(order, np.int32)[:, None],
        dims,
        (1, *shape[1:]),
        unique_indices=inside and len(set(order)) == len(order),
        mode="promise_in_bounds" if inside else "fill",
        fill_value=None if inside else 0,
    )


def in_groups(
    axis: Axis,
    x: ArrayLike,
    dim: int | None,
    names: AxisNames,
    groups: Groups,
    fun: Callable[[Array], ArrayLike],
) -> Array:
    """Apply a collective to each group of examples on its own; returns a batch.

    Args:
      axis: the mapped axis.
      x: the batch.
      dim: its batch dimension, or ``None``.
      names: the axes of the collective.
      groups: the examples of each group.
      fun: the collective over one axis of the mapped axis' name, which has a group's size.

    Raises:
      NotImplementedError: if the collective goes over other axes, too.
    """
    if len(names) > 1:
        raise NotImplementedError(
            f"axis_index_groups over several axes {names}, of which vmap maps over "
            f"{axis.name!r}, is not supported. Name the axes of the groups instead of numbering "
            "their members."
        )
    # The examples are sorted by group, so that each group is a slice; afterwards the inverse
    # permutation restores their order.
    order = [i for group in groups for i in group]
    x = rows_of(batched_at(x, dim, axis, 0), order)
    along = lambda rows: vmap(fun, axis_name=axis.name, axis_size=shape_of(rows)[0])(rows)
    sizes = {len(group) for group in groups}
    # Groups of one size are mapped over by an outer vmap; others need a vmap each.
    if len(sizes) == 1:
        rows = lax.reshape(x, (len(groups), *sizes, *shape_of(x)[1:]))
        out = vmap(along)(rows)
        out = lax.reshape(out, (axis.size, *shape_of(out)[2:]))
    else:
        ends = np.cumsum([len(group) for group in groups]).tolist()
        parts = [
            along(lax.slice_in_dim(x, end - len(g), end))
            for g, end in zip(groups, ends, strict=True)
        ]
        out = lax.concatenate(parts, 0)
    return rows_of(out, np.argsort(order).tolist())


def arranged(
    x: ArrayLike, labels: Sequence[Hashable], target: Sequence[Sequence[Hashable]]
) -> Array:
    """Transpose an array, and merge dimensions.

    Args:
      x: the array.
      labels: a label for each of its dimensions.
      target: for each dimension of the result, the labels of those that are merged into it.

    Example:
      >>> import numpy as np
      >>> from ricci_parallel.collectives._members import arranged
      >>> arranged(np.ones((2, 3, 4)), "abc", ["c", "ba"]).shape
      (4, 6)
    """
    sizes = dict(zip(labels, shape_of(x), strict=True))
    order = [label for merged in target for label in merged]
    places = [list(labels).index(label) for label in order]
    if places != list(range(len(places))):
        x = lax.transpose(x, places)
    shape = tuple(prod([sizes[i] for i in merged]) for merged in target)
    return lax.reshape(x, shape) if shape != shape_of(x) else x  # pyright: ignore[reportReturnType]


def split_dimension(x: ArrayLike, dim: int, sizes: Sequence[int]) -> Array:
    """Reshape a dimension of an array into several."""
    shape = shape_of(x)
    return lax.reshape(x, (*shape[:dim], *sizes, *shape[dim + 1 :]))
