"""Collectives that send each member's values to another member, or one member's to all."""

from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_autodiff import linear
from ricci_batching import Axis, batched_at
from ricci_pytree import tree_map
from ricci_stablehlo import Lowering, Value

from . import _lowering as lowering
from ._all_reduce import psum_p
from ._axis_index import axis_index
from ._casts import varied
from ._members import rows_of, shape_of, sizes_around
from ._named_axes import AxisNameLike, AxisNames, axis_names, named, outside, shown
from ._varying import keeps_varying

__all__ = ["pbroadcast", "pbroadcast_p", "ppermute", "ppermute_p", "pshuffle"]

# Pairs (source, destination) of positions.
type Pairs = tuple[tuple[int, int], ...]


def as_pairs(what: str, names: AxisNames, perm: Sequence[Any]) -> Pairs:
    """Return the argument ``perm`` as tuples, with positions counted from the front.

    Raises:
      ValueError: if a member is a source twice or a destination twice, or there is no such member.
    """
    size = ir.axis_size(names)
    try:
        pairs = [(int(source), int(target)) for source, target in perm]
    except (TypeError, ValueError):
        raise ValueError(
            f"{what}: perm must be pairs (source, destination) of positions, got {perm!r}."
        ) from None
    outside = [i for pair in pairs for i in pair if not -size <= i < size]
    if outside:
        raise ValueError(
            f"{what}: perm has the position {outside[0]}, but {shown(names)} has {size} members, "
            f"at positions 0 to {size - 1}."
        )
    wrapped = tuple((source % size, target % size) for source, target in pairs)
    for ends in zip(*wrapped, strict=True):
        if len(set(ends)) < len(ends):
            raise ValueError(
                f"{what}: perm={list(pairs)} must have unique sources and unique destinations. "
                "To send one member's value to all, use pbroadcast or all_gather."
            )
    return wrapped


def _same_type(aval: ir.ShapedArray, **_: object) -> ir.ShapedArray:
    return aval


def _permute_lower(ctx: Lowering, x: Value, *, axis_name: AxisNames, perm: Pairs) -> Value:
    if lowering.is_alone(ctx, axis_name):
        # With a single member, the only possible pair is (0, 0). Without it, the member receives
        # zeros.
        return x if perm else ctx.constant(0, x.aval)
    attributes = f"{lowering.channel}, {lowering.device_pairs(ctx, axis_name, perm)}"
    return ctx.generic("stablehlo.collective_permute", [x], [x.aval], attributes)[0]


def _permute_transpose(
    ct: ir.ArrayLike, x: object, *, axis_name: AxisNames, perm: Pairs
) -> list[ir.Array]:
    # Sources and destinations are unique, so the map is a partial permutation, whose transpose is
    # its inverse.
    back = tuple((target, source) for source, target in perm)
    return [ppermute_p.bind(ct, axis_name=axis_name, perm=back)]


def _permute_batch(
    axis: Axis,
    args: Sequence[ir.ArrayLike],
    dims: Sequence[int | None],
    *,
    axis_name: AxisNames,
    perm: Pairs,
) -> tuple[ir.Array, int | None]:
    (x,), (dim,) = args, dims
    if axis.name not in axis_name:
        return ppermute_p.bind(x, axis_name=axis_name, perm=perm), dim
    x = batched_at(x, dim, axis, 0)
    other_axes, _, behind = sizes_around(axis_name, axis.name)
    if other_axes:
        return _permute_rows(axis, x, other_axes, behind, perm), 0
    order = [axis.size] * axis.size  # behind the last row: zeros
    for source, target in perm:
        order[target] = source
    return rows_of(x, order), 0


def _permute_rows(
    axis: Axis, x: ir.ArrayLike, other_axes: AxisNames, behind: int, perm: Pairs
) -> ir.Array:
    """Permute over the mapped axis and others, ``other_axes``.

    The elements that one row sends to another row are permuted over the other axes.
    """

    def row_and_place(position: int) -> tuple[int, int]:
        """Return the row of a member, and its position along the other axes."""
        before, minor = divmod(position, axis.size * behind)
        row, minor = divmod(minor, behind)
        return row, before * behind + minor

    # For each pair of rows there is one permutation over the other axes, in which only the members
    # that send from the one to the other row take part.
    moves: dict[int, dict[int, list[tuple[int, int]]]] = defaultdict(lambda: defaultdict(list))
    for source, target in perm:
        (row, place), (new_row, new_place) = row_and_place(source), row_and_place(target)
        moves[new_row][row].append((place, new_place))
    place_index = axis_index(other_axes)
    rows = []
    for new_row in range(axis.size):
        result = lax.full_like(lax.index_in_dim(x, 0, 0, keepdims=False), 0)
        for row, pairs in moves[new_row].items():
            # Each element of the new row comes from at most one row. A member that a permutation
            # does not send to gets zeros, which must not overwrite the value from another row.
            sent = ppermute_p.bind(
                lax.index_in_dim(x, row, 0, keepdims=False), axis_name=other_axes, perm=tuple(pairs)
            )
            gets = np.isin(np.arange(ir.axis_size(other_axes)), [target for _, target in pairs])
            mine = lax.dynamic_index_in_dim(gets, place_index, keepdims=False)
            result = lax.select(lax.broadcast(mine, shape_of(result)), sent, result)
        rows.append(result)
    return lax.stack(rows)


# The values of other members, by pairs of positions; zeros in members that are not a destination.
ppermute_p: ir.Primitive = ir.define(
    "ppermute",
    abstract_eval=_same_type,
    jvp=linear,
    transpose=_permute_transpose,
    batch=_permute_batch,
    axis_names=named,
    host=outside,
    lower=_permute_lower,
    extended_lower=lowering.on_words(_permute_lower),
    sharding=keeps_varying,
)


@ir.api_boundary
def ppermute(x: ir.PyTree, axis_name: AxisNameLike, perm: Sequence[tuple[int, int]]) -> ir.PyTree:
    """Send the values of each member to another member.

    Args:
      x: a pytree of arrays.
      axis_name: the name of the axis, bound by an enclosing ``vmap``, ``pmap`` or ``shard_map``;
        or a tuple of names.
      perm: pairs (source, destination) of positions along the axis. A member that is not a
        destination gets zeros.

    Returns:
      A pytree like ``x``, with the values that were sent to this member.

    Raises:
      NameError: if no axis of that name is in scope.
      ValueError: if a member is a source twice, or a destination twice, or does not exist.

    Example:
      Differences to the left neighbour in a ring, as in a stencil that is sharded over devices:

      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> turn = [(0, 1), (1, 2), (2, 0)]
      >>> difference = lambda x: x - lax.ppermute(x, "i", turn)
      >>> ricci.vmap(difference, axis_name="i")(jnp.array([1.0, 3.0, 7.0])).tolist()
      [-6.0, 2.0, 4.0]
    """
    return _permuted("ppermute", x, axis_name, perm)


def _permuted(what: str, x: ir.PyTree, axis_name: AxisNameLike, perm: Sequence[Any]) -> ir.PyTree:
    names = axis_names(what, axis_name)
    pairs = as_pairs(what, names, perm)
    return tree_map(
        lambda leaf: ppermute_p.bind(varied(leaf, names), axis_name=names, perm=pairs), x
    )


@ir.api_boundary
def pshuffle(x: ir.PyTree, axis_name: AxisNameLike, perm: Sequence[int]) -> ir.PyTree:
    """Give each member the values of another member: member ``i`` gets those of ``perm[i]``.

    Args:
      x: a pytree of arrays.
      axis_name: the name of the axis, or a tuple of names.
      perm: a permutation of the positions along the axis.

    Returns:
      A pytree like ``x``.

    Raises:
      NameError: if no axis of that name is in scope.
      ValueError: if ``perm`` is not a permutation.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci import lax
      >>> ricci.vmap(lambda x: lax.pshuffle(x, "i", [2, 0, 1]), axis_name="i")(np.arange(3.0))
      Array([2., 0., 1.], dtype=float32)
    """
    size = ir.axis_size(axis_names("pshuffle", axis_name))
    if sorted(perm) != list(range(size)):
        raise ValueError(
            f"pshuffle: perm must be a permutation of the positions 0 to {size - 1} along "
            f"{axis_name!r}, got {list(perm)}."
        )
    return _permuted("pshuffle", x, axis_name, [(s, t) for t, s in enumerate(perm)])


def _broadcast_lower(ctx: Lowering, x: Value, *, axis_name: Hashable, source: int) -> Value:
    names = named(axis_name=axis_name)
    if lowering.is_alone(ctx, names):
        return x
    # The first member of a replica group is the source of ``collective_broadcast``.
    if ctx.platform in ("cuda", "rocm"):
        rows = lowering.device_groups(ctx.module.axis_sizes, names, None)
        rows = [[row[source], *row[:source], *row[source + 1 :]] for row in rows]
        attributes = f"{lowering.channel}, replica_groups = {lowering.id_table(rows)}"
        return ctx.generic("stablehlo.collective_broadcast", [x], [x.aval], attributes)[0]
    if not x.aval.size:
        return x
    # The compilers of other platforms lack the operation: gather the values, and take one.
    size = int(np.prod([ctx.module.axis_sizes[name] for name in names], dtype=np.int64))
    one, all_ = (x.aval.resized((n, *x.shape)) for n in (1, size))
    row = ctx.emit("stablehlo.reshape", [x], one)
    attributes = (
        f"all_gather_dim = 0 : i64, {lowering.channel}, "
        f"{lowering.replica_groups(ctx, names, None)}, use_global_device_ids"
    )
    rows = ctx.generic("stablehlo.all_gather", [row], [all_], attributes)[0]
    limits = ", ".join([f"{source}:{source + 1}", *(f"0:{n}" for n in x.shape)])
    part = ctx.emit("stablehlo.slice", [rows], one, f"[{limits}]")
    return ctx.emit("stablehlo.reshape", [part], x.aval)


def _broadcast_transpose(
    ct: ir.ArrayLike, x: object, *, axis_name: Hashable, source: int
) -> list[ir.Array]:
    """The transpose rule: the source gets the sum of all cotangents, the other members zeros."""
    names = named(axis_name=axis_name)
    total = psum_p.bind(ct, axes=names, axis_index_groups=None)
    is_source = lax.eq(axis_index(names), np.int32(source))
    return [lax.select(lax.broadcast(is_source, shape_of(total)), total, lax.full_like(total, 0))]


def _broadcast_batch(
    axis: Axis,
    args: Sequence[ir.ArrayLike],
    dims: Sequence[int | None],
    *,
    axis_name: Hashable,
    source: int,
) -> tuple[Any, int | None]:
    (x,), (dim,) = args, dims
    names = named(axis_name=axis_name)
    if axis.name not in names:
        return pbroadcast_p.bind(x, axis_name=axis_name, source=source), dim
    other_axes, _, behind = sizes_around(names, axis.name)
    # The source's position, as digits: along the axes before the mapped one, along that, and along
    # those behind it.
    before, minor = divmod(source, axis.size * behind)
    row, minor = divmod(minor, behind)
    if dim is not None:
        x = lax.index_in_dim(x, row, dim, keepdims=False)
    if other_axes:
        x = pbroadcast_p.bind(x, axis_name=other_axes, source=before * behind + minor)
    return x, None


# The value of one member, in all members.
pbroadcast_p: ir.Primitive = ir.define(
    "pbroadcast",
    abstract_eval=_same_type,
    jvp=linear,
    transpose=_broadcast_transpose,
    batch=_broadcast_batch,
    axis_names=named,
    host=outside,
    lower=_broadcast_lower,
    extended_lower=lowering.on_words(_broadcast_lower),
    sharding=keeps_varying,
)


@ir.api_boundary
def pbroadcast(x: ir.PyTree, axis_name: AxisNameLike, source: int) -> ir.PyTree:
    """Give all members the values of one member.

    Args:
      x: a pytree of arrays.
      axis_name: the name of the axis, or a tuple of names.
      source: the position of that member along the axis.

    Returns:
      A pytree like ``x``, the same in all members.

    Raises:
      NameError: if no axis of that name is in scope.
      ValueError: if there is no such member.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci import lax
      >>> ricci.vmap(lambda x: lax.pbroadcast(x, "i", 1), axis_name="i")(np.arange(3.0))
      Array([1., 1., 1.], dtype=float32)
    """
    names = axis_names("pbroadcast", axis_name)
    size = ir.axis_size(names)
    if not -size <= source < size:
        raise ValueError(
            f"pbroadcast: source={source} is not a member of {axis_name!r}, whose members are at "
            f"the positions 0 to {size - 1}."
        )
    name = tuple(axis_name) if isinstance(axis_name, list) else axis_name
    return tree_map(
        lambda leaf: pbroadcast_p.bind(
            varied(leaf, names), axis_name=name, source=int(source) % size
        ),
        x,
    )
