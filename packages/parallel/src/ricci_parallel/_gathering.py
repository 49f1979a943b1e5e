"""Collectives that move values between the members of a named axis, written with ``psum``.

Each member puts what it has into its own place among zeros, and the sum is what all have. XLA's
own operations for it move less; results and derivatives are the same.
"""

from collections.abc import Sequence
from typing import Any

from ricci_batching import move_dim
from ricci_ir import api_boundary, axis_size, get_aval
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

from ._collectives import axis_index, psum


def _no_groups(name: str, groups: Any) -> None:
    if groups is not None:
        raise NotImplementedError(
            f"{name}: axis_index_groups is not supported. Give the axis as several, with a name "
            "for the one inside the groups."
        )


def _move(x: Any, source: int, target: int) -> Any:
    return move_dim(x, source % x.ndim, target)


def _gathered(x: Any, axis_name: Any) -> Any:
    """Every member's ``x``, along a new leading axis."""
    aval: Any = get_aval(x)
    is_bool = aval.dtype == bool
    x = convert_element_type(x, "int8") if is_bool else x
    places = broadcast(full_like(x, 0), (axis_size(axis_name),))
    found = psum(dynamic_update_index_in_dim(places, x, axis_index(axis_name), 0), axis_name)
    return convert_element_type(found, bool) if is_bool else found


@api_boundary
def all_gather(
    x: Any,
    axis_name: Any,
    *,
    axis_index_groups: Any = None,
    axis: int = 0,
    tiled: bool = False,
    to: str = "varying",
) -> Any:
    """Return every member's values, in each of them.

    Args:
      x: a pytree of arrays.
      axis_name: the name of the axis, given by an enclosing ``vmap`` or ``pmap``.
      axis_index_groups: not supported.
      axis: where the members come in the result.
      tiled: whether they are put together along an axis that is there, else along a new one.
      to: not needed.

    Raises:
      NameError: if no axis of that name is in scope.

    Example:
      >>> from ricci_batching import vmap
      >>> import numpy as np
      >>> vmap(lambda x: all_gather(x, "i"), axis_name="i")(np.arange(2.0)).shape
      (2, 2)
    """
    _no_groups("all_gather", axis_index_groups)

    def one(leaf: Any) -> Any:
        found = _move(_gathered(leaf, axis_name), 0, axis)
        return _merged(found, axis) if tiled else found

    return tree_map(one, x)


def _merged(x: Any, axis: int) -> Any:
    shape = x.shape
    axis %= len(shape) - 1
    return reshape(x, (*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :]))


@api_boundary
def all_to_all(
    x: Any,
    axis_name: Any,
    split_axis: int,
    concat_axis: int,
    *,
    axis_index_groups: Any = None,
    tiled: bool = False,
) -> Any:
    """Give each member its part of what every member has.

    Args:
      x: a pytree of arrays.
      axis_name: the name of the axis, given by an enclosing ``vmap`` or ``pmap``.
      split_axis: the axis that is divided among the members; of their number, or if ``tiled`` of
        a multiple of it.
      concat_axis: where what they give comes in the result.
      axis_index_groups: not supported.
      tiled: whether the axes stay, else the one is removed and the other is new.

    Raises:
      ValueError: if the axis cannot be divided so.
    """
    _no_groups("all_to_all", axis_index_groups)
    count = axis_size(axis_name)

    def one(leaf: Any) -> Any:
        shape = leaf.shape
        size = shape[split_axis]
        if size % count or (size != count and not tiled):
            raise ValueError(
                f"all_to_all: axis {split_axis} of an array of shape {shape} cannot be divided "
                f"among the {count} members of {axis_name!r}: it must have {count} elements"
                + (", or a multiple." if tiled else ", or pass tiled=True.")
            )
        parts = _move(leaf, split_axis, 0)
        parts = reshape(parts, (count, size // count, *parts.shape[1:]))
        mine = dynamic_index_in_dim(
            _gathered(parts, axis_name), axis_index(axis_name), 1, keepdims=False
        )
        if not tiled:
            return _move(reshape(mine, (count, *mine.shape[2:])), 0, concat_axis)
        back = _move(mine, 1, split_axis + 1 if split_axis >= 0 else split_axis)
        return _merged(_move(back, 0, concat_axis % (len(shape))), concat_axis % len(shape))

    return tree_map(one, x)


@api_boundary
def pswapaxes(x: Any, axis_name: Any, axis: int, *, axis_index_groups: Any = None) -> Any:
    """Exchange a named axis with one of the array's, of the same size.

    Args:
      x: a pytree of arrays.
      axis_name: the name of the axis, given by an enclosing ``vmap`` or ``pmap``.
      axis: the array's axis.
      axis_index_groups: not supported.
    """
    return all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)


@api_boundary
def ppermute(x: Any, axis_name: Any, perm: Sequence[tuple[int, int]]) -> Any:
    """Send each member's values to another one.

    Args:
      x: a pytree of arrays.
      axis_name: the name of the axis, given by an enclosing ``vmap`` or ``pmap``.
      perm: pairs of a member that sends and the one that receives. Who receives from none gets
        zeros.

    Raises:
      ValueError: if a member sends twice, or receives twice.
    """
    senders, receivers = [pair[0] for pair in perm], [pair[1] for pair in perm]
    if len(set(senders)) < len(perm) or len(set(receivers)) < len(perm):
        raise ValueError(f"ppermute: perm={list(perm)} names a member twice on one side.")

    def one(leaf: Any) -> Any:
        found = _gathered(leaf, axis_name)
        index = axis_index(axis_name)
        result = full_like(leaf, 0)
        for sender, receiver in perm:
            here = broadcast(eq(index, receiver), leaf.shape)
            result = select(here, dynamic_index_in_dim(found, sender, 0, keepdims=False), result)
        return result

    return tree_map(one, x)
