"""``smap``: ``shard_map`` along one axis of the mesh in force."""

from collections.abc import Callable, Hashable
from typing import Any, overload

import ricci_ir as ir
import ricci_pytree as pytree
from ricci_parallel._reshard import Decorator
from ricci_xla import PartitionSpec

from ._shard_map import Infer, shard_map


@overload
def smap[**P, R](
    f: Callable[P, R], /, *, in_axes: ir.PyTree = ..., out_axes: ir.PyTree, axis_name: Hashable
) -> Callable[P, R]: ...


@overload
def smap(
    f: None = None, /, *, in_axes: ir.PyTree = ..., out_axes: ir.PyTree, axis_name: Hashable
) -> Decorator: ...


@ir.api_boundary
def smap(
    f: Callable[..., Any] | None = None,
    /,
    *,
    in_axes: ir.PyTree = Infer,
    out_axes: ir.PyTree,
    axis_name: Hashable,
) -> Any:
    """Return a function that runs ``f`` on shards along one axis of the mesh in force.

    ``shard_map`` with an axis of an array in place of each spec, as in ``vmap``; unlike under
    ``vmap``, a shard keeps the axis.

    Args:
      f: a function of pytrees of shards. Without it, a decorator is returned.
      in_axes: the axis along which each argument is sharded, or ``None``: an int for all, or a
        tuple with an entry (or a pytree of entries) for each. By default, the sharding of the
        arguments' types.
      out_axes: likewise, the axis along which the results are joined.
      axis_name: the axis of the mesh.

    Returns:
      A function of the whole arrays.

    Raises:
      ValueError: if no mesh is set.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> devices = ricci.devices()[:2]
      >>> share = ricci.smap(
      ...     lambda x: x / lax.psum(jnp.sum(x), "i"), in_axes=0, out_axes=0, axis_name="i"
      ... )
      >>> with ricci.set_mesh(ricci.make_mesh((len(devices),), ("i",), devices=devices)):
      ...     share(ricci.reshard(jnp.array([1.0, 1.0, 2.0, 4.0]), ricci.P("i"))).tolist()
      [0.125, 0.125, 0.25, 0.5]

    See also:
      ``shard_map``, for several axes.
    """
    if f is None:
        return lambda g: smap(g, in_axes=in_axes, out_axes=out_axes, axis_name=axis_name)
    return shard_map(
        f,
        in_specs=in_axes if in_axes is Infer else _specs_of_axes("in_axes", in_axes, axis_name),
        out_specs=_specs_of_axes("out_axes", out_axes, axis_name),
        axis_names={axis_name},
    )


def _specs_of_axes(which: str, axes: ir.PyTree, name: Hashable) -> ir.PyTree:
    """Return the specs for a tree of axes."""
    entries, tree = pytree.tree_flatten(axes, is_leaf=lambda x: x is None)
    return pytree.tree_unflatten(tree, [_spec_of_axis(which, axis, name) for axis in entries])


def _spec_of_axis(which: str, axis: object, name: Hashable) -> PartitionSpec:
    if axis is None:
        return PartitionSpec()
    if not isinstance(axis, int) or isinstance(axis, bool) or axis < 0:
        raise TypeError(
            f"smap: {which} must hold axes of arrays, counted from the front, or None: got "
            f"{axis!r}."
        )
    return PartitionSpec(*[None] * axis, name)
