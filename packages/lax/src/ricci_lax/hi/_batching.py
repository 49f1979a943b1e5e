"""Functions for the rules ``batch`` of ``HiPrim``: of batches, their types, mapped functions."""

from collections.abc import Callable
from typing import Any

import ricci_ir as ir
import ricci_pytree as pytree
from ricci_batching import Axis, batched_at, vmap

__all__ = ["bdims_at_front", "unmap_avals", "vmap_rule"]


def bdims_at_front(axis_data: Axis, args: ir.PyTree, dims: ir.PyTree) -> ir.PyTree:
    """Return arrays with their batch dimensions moved to the front.

    Args:
      axis_data: the mapped axis.
      args: a pytree of arrays.
      dims: the batch dimension of each, or ``None`` for one that is repeated for each example.

    Returns:
      A pytree like ``args``.
    """
    leaves, tree = pytree.tree_flatten(args)
    moved = [
        batched_at(x, dim, axis_data, 0)
        for x, dim in zip(leaves, tree.flatten_up_to(dims), strict=True)
    ]
    return tree.unflatten(moved)


def unmap_avals(axis_data: Axis, avals: ir.PyTree, dims: ir.PyTree) -> ir.PyTree:
    """Return the types of batches from those of their examples.

    Args:
      axis_data: the mapped axis.
      avals: a pytree of the types of examples.
      dims: the batch dimension or the mapping spec of each, or ``None`` where it is not mapped.

    Returns:
      A pytree like ``avals``.
    """
    leaves, tree = pytree.tree_flatten(avals)
    types = [
        aval if dim is None else _batched_type(aval, axis_data, dim)
        for aval, dim in zip(leaves, tree.flatten_up_to(dims), strict=True)
    ]
    return tree.unflatten(types)


def _batched_type(aval: ir.PyTree, axis: Axis, dim: ir.PyTree) -> ir.PyTree:
    return aval.inc_rank(axis.size, dim) if aval.is_high else axis.batched_aval(aval, dim)


def vmap_rule(
    axis_data: Axis,
    f: Callable[..., Any],
    in_axes: ir.PyTree,
    out_axes: ir.PyTree,
    *,
    sum_match: bool = False,
) -> Callable[..., Any]:
    """Return a function of one example mapped over the axis of a batching rule.

    Args:
      axis_data: the mapped axis.
      f: the function.
      in_axes: the batch dimensions of the arguments.
      out_axes: the batch dimensions of the results.
      sum_match: sum results over the batch where they are batched and ``out_axes`` is ``None``.

    Returns:
      A function of batches.
    """
    return vmap(
        f,
        in_axes,
        out_axes,
        axis_name=axis_data.name,
        axis_size=axis_data.size,
        spmd_axis_name=axis_data.spmd_name,
        sum_match=sum_match,
    )
