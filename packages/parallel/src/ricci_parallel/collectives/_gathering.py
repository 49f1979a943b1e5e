"""Collectives that gather the values of all members, or scatter their sum."""

from collections.abc import Hashable, Sequence
from typing import Any

from ricci_ir import Array, ArrayLike, PyTree, api_boundary, get_aval
from ricci_pytree import tree_map

from ._casts import varied
from ._gather_scatter import (
    all_gather_invariant_p,
    all_gather_p,
    all_gather_reduced_p,
    reduce_scatter_p,
    unreduced_reduce_scatter_p,
)
from ._members import shape_of
from ._named_axes import array_axis, as_groups, axis_names, check_divisible, group_size
from ._varying import state_of, typed_axes

__all__ = ["all_gather", "psum_scatter"]


@api_boundary
def all_gather(
    x: PyTree,
    axis_name: Hashable | Sequence[Hashable],
    *,
    axis_index_groups: Sequence[Sequence[int]] | None = None,
    axis: int = 0,
    tiled: bool = False,
    to: str = "varying",
) -> PyTree:
    """Gather the values of all members of a named axis, in each member.

    Args:
      x: a pytree of arrays.
      axis_name: the name of the axis, bound by an enclosing ``vmap``, ``pmap`` or ``shard_map``;
        or a tuple of names.
      axis_index_groups: gathers in each of these groups of members on its own, given by their
        positions along the axis; they have one size, and every position is in one of them.
      axis: the axis of the result along which the members are.
      tiled: whether the values are concatenated along that axis instead of stacked along a new one.
      to: the state of the result's type along the axis under ``shard_map``. ``"varying"``: each
        member's own copy; ``"invarying"``: one replicated value; ``"reduced"``: one value whose
        cotangents are summed later (see ``pcast``).

    Returns:
      A pytree like ``x``, whose arrays have a new axis with the values of all members, in their
      order; if ``tiled``, an axis that is as many times longer.

    Raises:
      NameError: if no axis of that name is in scope.
      ValueError: if ``axis`` or ``to`` is invalid.
      NotImplementedError: for ``axis_index_groups`` where the result is to be one value.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> x = jnp.array([[1, 2], [3, 4]])
      >>> ricci.vmap(lambda x: lax.all_gather(x, "i"), axis_name="i")(x)[0].tolist()
      [[1, 2], [3, 4]]
      >>> ricci.vmap(lambda x: lax.all_gather(x, "i", tiled=True), axis_name="i")(x)[0].tolist()
      [1, 2, 3, 4]
    """
    names = axis_names("all_gather", axis_name)
    groups = as_groups("all_gather", names, axis_index_groups)
    if to not in ("varying", "invarying", "reduced"):
        raise ValueError(
            f"all_gather: to={to!r} is not one of 'varying', 'invarying' and 'reduced'."
        )
    if to != "varying" and groups is not None:
        raise NotImplementedError(
            f"all_gather with to={to!r} and axis_index_groups: values that the members of a group "
            "share are not shared along the whole axis. Leave out `to`, or the groups."
        )
    typed = typed_axes(names)
    if to == "reduced" and not typed:
        raise ValueError(
            "all_gather: to='reduced' is for values whose types say along which axes they vary, "
            "as under shard_map with check_vma. Leave it out."
        )
    size = group_size(names, groups)

    def one(leaf: ArrayLike) -> Array:
        shape = shape_of(leaf)
        params: dict[str, Any] = {
            "all_gather_dimension": array_axis("all_gather", axis, len(shape) + (not tiled), shape),
            "axis_name": names,
            "axis_size": size,
            "tiled": bool(tiled),
        }
        leaf = varied(leaf, names)
        if to == "varying" or not typed:
            return all_gather_p.bind(leaf, axis_index_groups=groups, **params)
        shared = all_gather_invariant_p if to == "invarying" else all_gather_reduced_p
        return shared.bind(leaf, **params)

    return tree_map(one, x)


@api_boundary
def psum_scatter(
    x: PyTree,
    axis_name: Hashable | Sequence[Hashable],
    *,
    scatter_dimension: int = 0,
    axis_index_groups: Sequence[Sequence[int]] | None = None,
    tiled: bool = False,
) -> PyTree:
    """Sum over a named axis, and give each member one part of the sum.

    It costs half of ``psum``, which gives each member the whole sum.

    Args:
      x: a pytree of arrays.
      axis_name: the name of the axis, or a tuple of names.
      scatter_dimension: the axis of the arrays that is split among the members.
      axis_index_groups: sums in each of these groups of members on its own, given by their
        positions along the axis; they have one size, and every position is in one of them.
      tiled: whether that axis stays, with as many elements as each member gets. By default its size
        must be the number of members, and it is removed.

    Returns:
      A pytree like ``x``, with this member's part of the sums.

    Raises:
      NameError: if no enclosing ``pmap``, ``shard_map`` or ``vmap`` binds the axis name.
      ValueError: if the axis cannot be split evenly among the members.
      TypeError: if the elements are not numbers.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci import lax
      >>> parts = np.arange(4.0).reshape(2, 2)
      >>> ricci.vmap(lambda x: lax.psum_scatter(x, "i"), axis_name="i")(parts)
      Array([2., 4.], dtype=float32)
    """
    names = axis_names("psum_scatter", axis_name)
    groups = as_groups("psum_scatter", names, axis_index_groups)
    size = group_size(names, groups)

    def one(leaf: ArrayLike) -> Array:
        aval = get_aval(leaf)
        place = array_axis("psum_scatter", scatter_dimension, aval.ndim, aval.shape)
        check_divisible("psum_scatter", "scatter_dimension", place, aval.shape, size, names, tiled)
        params: dict[str, Any] = {
            "axis_name": names,
            "axis_size": size,
            "scatter_dimension": place,
            "tiled": bool(tiled),
        }
        if any(state_of(aval, name) == "unreduced" for name in typed_axes(names)):
            if groups is not None:
                raise NotImplementedError(
                    "psum_scatter of terms of a sum over the whole axis cannot be in groups; leave "
                    "out axis_index_groups."
                )
            return unreduced_reduce_scatter_p.bind(leaf, **params)
        return reduce_scatter_p.bind(varied(leaf, names), axis_index_groups=groups, **params)

    return tree_map(one, x)
