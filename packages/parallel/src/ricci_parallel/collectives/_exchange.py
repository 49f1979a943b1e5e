"""Collectives in which each member sends another part of its values to every member."""

from collections.abc import Hashable, Sequence
from typing import Any

import ricci_ir as ir
from ricci_autodiff import linear
from ricci_batching import Axis, batched_at
from ricci_lax import expand_dims, squeeze
from ricci_pytree import tree_map
from ricci_stablehlo import Lowering, Value

from . import _named_axes as named_axes
from ._casts import varied
from ._lowering import channel, is_alone, on_words, replica_groups
from ._members import arranged, in_groups, shape_of, sizes_around, split_dimension
from ._varying import exchanges_parts

__all__ = ["all_to_all", "all_to_all_p", "pswapaxes"]


def _type(
    aval: ir.ShapedArray,
    *,
    axis_index_groups: named_axes.Groups | None,
    axis_name: Hashable,
    axis_size: int,
    concat_axis: int,
    split_axis: int,
    tiled: bool,
) -> ir.ShapedArray:
    shape = list(aval.shape)
    shape[split_axis] //= axis_size
    shape[concat_axis] *= axis_size
    return aval.resized(tuple(shape))


def _lower(
    ctx: Lowering,
    x: Value,
    *,
    axis_index_groups: named_axes.Groups | None,
    axis_name: Hashable,
    axis_size: int,
    concat_axis: int,
    split_axis: int,
    tiled: bool,
) -> Value:
    if is_alone(ctx, named_axes.named(axis_name=axis_name), axis_index_groups):
        return x
    if not ctx.out.size:
        return ctx.constant(0, ctx.out)  # StableHLO exchanges no empty arrays
    attributes = (
        f"{channel}, concat_dimension = {concat_axis} : i64, "
        f"{replica_groups(ctx, named_axes.named(axis_name=axis_name), axis_index_groups)}, "
        f"split_count = {axis_size} : i64, split_dimension = {split_axis} : i64"
    )
    return ctx.generic("stablehlo.all_to_all", [x], [ctx.out], attributes)[0]


def _transpose(
    ct: ir.ArrayLike, x: object, *, split_axis: int, concat_axis: int, **params: object
) -> list[ir.Array]:
    return [all_to_all_p.bind(ct, split_axis=concat_axis, concat_axis=split_axis, **params)]


def _batch(
    axis: Axis, args: Sequence[ir.ArrayLike], dims: Sequence[int | None], **params: Any
) -> tuple[ir.Array, int]:
    (x,), (dim,) = args, dims
    if axis.name in named_axes.named(axis_name=params["axis_name"]):
        return _exchange_examples(axis, x, dim, params)
    assert dim is not None  # else the axis is named
    shifted = {k: params[k] + (params[k] >= dim) for k in ("split_axis", "concat_axis")}
    return all_to_all_p.bind(x, **{**params, **shifted}), dim


def _exchange_examples(
    axis: Axis, x: ir.ArrayLike, dim: int | None, params: dict[str, Any]
) -> tuple[ir.Array, int]:
    """Exchange along the mapped axis, and maybe others.

    The split axis holds a part for each member. Along the mapped axis, to send them is to swap the
    batch with the parts; along the others, the collective exchanges them.
    """
    names, groups = named_axes.named(axis_name=params["axis_name"]), params["axis_index_groups"]
    split, concat = params["split_axis"], params["concat_axis"]
    if groups is not None:
        whole = {**params, "axis_index_groups": None}
        return in_groups(
            axis, x, dim, names, groups, lambda row: all_to_all_p.bind(row, **whole)
        ), 0
    other_axes, before, behind = sizes_around(names, axis.name)
    x = batched_at(x, dim, axis, 0)
    rank = len(shape_of(x)) - 1
    part = shape_of(x)[split + 1] // params["axis_size"]
    x = split_dimension(x, split + 1, (before, axis.size, behind, part))
    labels: list[Hashable] = ["sender", *range(rank)]
    labels[split + 1 : split + 1] = ["before", "receiver", "behind"]
    if other_axes:
        # The dimensions for the other axes come first, merged, so that one collective exchanges
        # along all of them.
        order = ["receiver", "sender", *range(rank)]
        x = arranged(x, labels, [["before", "behind"], *([i] for i in order)])
        over = {"axis_name": other_axes, "axis_size": before * behind}
        x = all_to_all_p.bind(x, **{**params, **over, "split_axis": 0, "concat_axis": 0})
        x = split_dimension(x, 0, (before, behind))
        labels = ["before", "behind", *order]
    target: list[list[Hashable]] = [["receiver"], *([i] for i in range(rank))]
    target[concat + 1] = ["before", "sender", "behind", concat]
    return arranged(x, labels, target), 0


# Splits one dimension among the members, and joins their parts along another, or the same one.
# ``tiled`` records how the caller sees it, and changes nothing.
all_to_all_p: ir.Primitive = ir.define(
    "all_to_all",
    abstract_eval=_type,
    jvp=linear,
    transpose=_transpose,
    batch=_batch,
    axis_names=named_axes.named,
    host=named_axes.outside,
    lower=_lower,
    extended_lower=on_words(_lower),
    sharding=exchanges_parts,
    shown=lambda *, axis_size, **params: params,
)


def _exchanged(
    what: str,
    x: ir.PyTree,
    axis_name: named_axes.AxisNameLike,
    split_axis: int,
    concat_axis: int,
    axis_index_groups: named_axes.GroupsLike,
    tiled: bool,
) -> ir.PyTree:
    names = named_axes.axis_names(what, axis_name)
    groups = named_axes.as_groups(what, names, axis_index_groups)
    count = named_axes.group_size(names, groups)
    shared = {
        "axis_index_groups": groups,
        "axis_name": tuple(axis_name) if isinstance(axis_name, list) else axis_name,
        "axis_size": count,
        "tiled": bool(tiled),
    }

    def one(leaf: ir.ArrayLike) -> ir.Array:
        shape = shape_of(leaf)
        split = named_axes.array_axis(what, split_axis, len(shape), shape)
        concat = named_axes.array_axis(what, concat_axis, len(shape), shape)
        named_axes.check_divisible(what, "split_axis", split, shape, count, names, tiled)
        leaf = varied(leaf, names)
        if tiled or split == concat:
            return all_to_all_p.bind(leaf, split_axis=split, concat_axis=concat, **shared)
        # The parts are joined along a new axis, and the split one is removed.
        # ``expand_dims`` shifts the split axis if the new axis is at or before it. The position of
        # the new axis counts the result's dimensions, which lack the split axis; here that still is
        # there.
        concat += concat > split
        split += concat <= split
        leaf = expand_dims(leaf, (concat,))
        joined = all_to_all_p.bind(leaf, split_axis=split, concat_axis=concat, **shared)
        return squeeze(joined, (split,))

    return tree_map(one, x)


@ir.api_boundary
def all_to_all(
    x: ir.PyTree,
    axis_name: named_axes.AxisNameLike,
    split_axis: int,
    concat_axis: int,
    *,
    axis_index_groups: named_axes.GroupsLike = None,
    tiled: bool = False,
) -> ir.PyTree:
    """Exchange parts: each member splits its values among all, and joins the received parts.

    Args:
      x: a pytree of arrays.
      axis_name: the name of the axis, bound by an enclosing ``vmap``, ``pmap`` or ``shard_map``;
        or a tuple of names.
      split_axis: the axis that is split among the members. Its size is their number, or a
        multiple of it if ``tiled``.
      concat_axis: the axis of the result along which the parts are joined.
      axis_index_groups: exchanges in each of these groups of members on its own, given by their
        positions along the axis; they have one size, and every position is in one of them.
      tiled: whether the parts are concatenated along an existing axis. By default,
        ``split_axis`` is removed, and ``concat_axis`` is new.

    Returns:
      A pytree like ``x``, with the parts that this member gets.

    Raises:
      NameError: if no axis of that name is in scope.
      ValueError: if the axis cannot be split evenly among the members.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci import lax
      >>> parts = np.arange(4.0).reshape(2, 2)
      >>> ricci.vmap(lambda x: lax.all_to_all(x, "i", 0, 0), axis_name="i")(parts)
      Array([[0., 2.],
             [1., 3.]], dtype=float32)
    """
    return _exchanged("all_to_all", x, axis_name, split_axis, concat_axis, axis_index_groups, tiled)


@ir.api_boundary
def pswapaxes(
    x: ir.PyTree,
    axis_name: named_axes.AxisNameLike,
    axis: int,
    *,
    axis_index_groups: named_axes.GroupsLike = None,
) -> ir.PyTree:
    """Swap a named axis with an axis of the array, which has the same size.

    Args:
      x: a pytree of arrays.
      axis_name: the name of the axis, bound by an enclosing ``vmap``, ``pmap`` or ``shard_map``.
      axis: the axis of the array.
      axis_index_groups: see ``all_to_all``.

    Returns:
      A pytree like ``x``.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci import lax
      >>> parts = np.arange(4.0).reshape(2, 2)
      >>> ricci.vmap(lambda x: lax.pswapaxes(x, "i", 0), axis_name="i")(parts)
      Array([[0., 2.],
             [1., 3.]], dtype=float32)
    """
    return _exchanged("pswapaxes", x, axis_name, axis, axis, axis_index_groups, False)
