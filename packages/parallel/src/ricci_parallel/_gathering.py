"""Collectives that move values between the members of a named axis, written with ``psum``.

Each member writes its value at its own position into an array of zeros, and the sum over the axis
holds the values of all. XLA's own collectives move fewer bytes, with the same results and
derivatives.
"""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from ricci_batching import move_dim
from ricci_ir import Array, PyTree, api_boundary, axis_size, get_aval
from ricci_lax import (
    broadcast,
    convert_element_type,
    dynamic_index_in_dim,
    dynamic_update_index_in_dim,
    eq,
    full_like,
    reshape,
    select,
)
from ricci_pytree import tree_map

from ._collectives import axis_index, psum, refuse_groups


def _move(x: Array, source: int, target: int) -> Array:
    return move_dim(x, source % x.ndim, target)


def _gathered(x: Array, axis_name: Hashable) -> Array:
    """The values of ``x`` of all members, along a new leading axis."""
    aval: Any = get_aval(x)
    is_bool = aval.dtype == bool
    x = convert_element_type(x, "int8") if is_bool else x
    places = broadcast(full_like(x, 0), (axis_size(axis_name),))
    found = psum(dynamic_update_index_in_dim(places, x, axis_index(axis_name), 0), axis_name)
    return convert_element_type(found, bool) if is_bool else found


@api_boundary
def all_gather(
    x: PyTree,
    axis_name: Hashable,
    *,
    axis_index_groups: Sequence[Sequence[int]] | None = None,
    axis: int = 0,
    tiled: bool = False,
    to: str = "varying",
) -> PyTree:
    """Gather the values of all members of a named axis, in each member.

    Args:
      x: a pytree of arrays.
      axis_name: the name of the axis, bound by an enclosing ``vmap`` or ``pmap``.
      axis_index_groups: not supported; must be ``None``.
      axis: the axis of the result along which the members are.
      tiled: whether the values are concatenated along that axis instead of stacked along a new one.
      to: accepted for compatibility, and ignored.

    Raises:
      NameError: if no axis of that name is in scope.

    Example:
      >>> from ricci_batching import vmap
      >>> import numpy as np
      >>> vmap(lambda x: all_gather(x, "i"), axis_name="i")(np.arange(2.0)).shape
      (2, 2)
    """
    refuse_groups("all_gather", axis_index_groups)

    def one(leaf: Array) -> Array:
        found = _gathered(leaf, axis_name)
        # Tiled, the axis is one of the value's own, counted before the members' axis is there.
        place = _axis("all_gather", axis, found.ndim - tiled, found.shape[1:])
        found = _move(found, 0, place)
        return _merged(found, place) if tiled else found

    return tree_map(one, x)


def _axis(what: str, axis: int, rank: int, shape: Sequence[int]) -> int:
    """A position among ``rank`` axes; negative ones count from the end."""
    if not -rank <= axis < rank:
        raise ValueError(
            f"{what}: axis {axis} is out of range for {rank} axes; the value has shape "
            f"{tuple(shape)}."
        )
    return axis % rank


def _merged(x: Array, axis: int) -> Array:
    """``x`` with an axis and the one after it merged into one."""
    shape = x.shape
    return reshape(x, (*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :]))


@api_boundary
def all_to_all(
    x: PyTree,
    axis_name: Hashable,
    split_axis: int,
    concat_axis: int,
    *,
    axis_index_groups: Sequence[Sequence[int]] | None = None,
    tiled: bool = False,
) -> PyTree:
    """Exchange parts: each member divides its values among all members, and joins what it gets.

    Args:
      x: a pytree of arrays.
      axis_name: the name of the axis, bound by an enclosing ``vmap`` or ``pmap``.
      split_axis: the axis that is divided among the members. Its size is their number, or a
        multiple of it if ``tiled``.
      concat_axis: the axis of the result along which the parts are joined.
      axis_index_groups: not supported; must be ``None``.
      tiled: whether the parts are concatenated along an axis that is there. By default,
        ``split_axis`` is removed, and ``concat_axis`` is new.

    Raises:
      ValueError: if the axis cannot be divided among the members.
    """
    refuse_groups("all_to_all", axis_index_groups)
    count = axis_size(axis_name)

    def one(leaf: Array) -> Array:
        shape = leaf.shape
        split = _axis("all_to_all", split_axis, len(shape), shape)
        concat = _axis("all_to_all", concat_axis, len(shape), shape)
        size = shape[split]
        if size % count or (size != count and not tiled):
            raise ValueError(
                f"all_to_all: axis {split_axis} of an array of shape {shape} cannot be divided "
                f"among the {count} members of {axis_name!r}: it must have {count} elements"
                + (", or a multiple." if tiled else ", or pass tiled=True.")
            )
        parts = _move(leaf, split, 0)
        parts = reshape(parts, (count, size // count, *parts.shape[1:]))
        mine = dynamic_index_in_dim(
            _gathered(parts, axis_name), axis_index(axis_name), 1, keepdims=False
        )
        if not tiled:
            return _move(reshape(mine, (count, *mine.shape[2:])), 0, concat)
        return _merged(_move(_move(mine, 1, split + 1), 0, concat), concat)

    return tree_map(one, x)


@api_boundary
def pswapaxes(
    x: PyTree,
    axis_name: Hashable,
    axis: int,
    *,
    axis_index_groups: Sequence[Sequence[int]] | None = None,
) -> PyTree:
    """Swap a named axis with an axis of the array, which has the same size.

    Args:
      x: a pytree of arrays.
      axis_name: the name of the axis, bound by an enclosing ``vmap`` or ``pmap``.
      axis: the axis of the array.
      axis_index_groups: not supported; must be ``None``.
    """
    return all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)


@api_boundary
def ppermute(x: PyTree, axis_name: Hashable, perm: Sequence[tuple[int, int]]) -> PyTree:
    """Send the values of each member to another member.

    Args:
      x: a pytree of arrays.
      axis_name: the name of the axis, bound by an enclosing ``vmap`` or ``pmap``.
      perm: pairs (source, destination) of positions along the axis. A member that is no
        destination gets zeros.

    Raises:
      ValueError: if a member is a source twice, or a destination twice.
    """
    senders, receivers = [pair[0] for pair in perm], [pair[1] for pair in perm]
    if len(set(senders)) < len(perm) or len(set(receivers)) < len(perm):
        raise ValueError(
            f"ppermute: perm={list(perm)} must have unique sources and unique destinations."
        )

    def one(leaf: Array) -> Array:
        found = _gathered(leaf, axis_name)
        index = axis_index(axis_name)
        result = full_like(leaf, 0)
        for sender, receiver in perm:
            here = broadcast(eq(index, np.int32(receiver)), leaf.shape)
            result = select(here, dynamic_index_in_dim(found, sender, 0, keepdims=False), result)
        return result

    return tree_map(one, x)
