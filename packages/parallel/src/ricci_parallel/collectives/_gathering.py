"""Collectives that gather the values of all members, or scatter their sum.

Gathering and scattering are each other's transposes.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import ricci_ir as ir
from ricci_autodiff import linear
from ricci_batching import Axis, batched_at
from ricci_ir import Array, ArrayLike, PyTree, api_boundary, get_aval
from ricci_lax import dynamic_index_in_dim, dynamic_slice_in_dim, mul, reduce_sum, squeeze
from ricci_lax.authoring import check_dtype, numeric
from ricci_pytree import tree_map
from ricci_stablehlo import Lowering, Value

from . import _named_axes as named_axes
from . import _varying as varying
from ._axis_index import axis_index
from ._casts import varied
from ._lowering import channel, is_alone, on_words, replica_groups
from ._members import arranged, in_groups, shape_of, sizes_around, split_dimension

__all__ = ["all_gather", "all_gather_invariant_p", "all_gather_p", "all_gather_reduced_p"]
__all__ += ["psum_scatter", "reduce_scatter_p", "unreduced_reduce_scatter_p"]


def _gathered_type(
    aval: ir.ShapedArray,
    *,
    all_gather_dimension: int,
    axis_name: named_axes.AxisNames,
    axis_size: int,
    tiled: bool,
    axis_index_groups: named_axes.Groups | None = None,
) -> ir.ShapedArray:
    shape = list(aval.shape)
    if tiled:
        shape[all_gather_dimension] *= axis_size
    else:
        shape.insert(all_gather_dimension, axis_size)
    return aval.resized(tuple(shape))


def _gather_lower(
    ctx: Lowering,
    x: Value,
    *,
    all_gather_dimension: int,
    axis_name: named_axes.AxisNames,
    axis_size: int,
    tiled: bool,
    axis_index_groups: named_axes.Groups | None = None,
) -> Value:
    out = ctx.out
    if not out.size:
        return ctx.constant(0, out)  # StableHLO gathers no empty arrays
    if not tiled:
        shape = list(x.shape)
        shape.insert(all_gather_dimension, 1)
        dims = [i for i in range(len(shape)) if i != all_gather_dimension]
        x = ctx.broadcast(x, tuple(shape), dims)
    if is_alone(ctx, axis_name, axis_index_groups):
        return x
    attributes = (
        f"all_gather_dim = {all_gather_dimension} : i64, {channel}, "
        f"{replica_groups(ctx, axis_name, axis_index_groups)}, use_global_device_ids"
    )
    return ctx.generic("stablehlo.all_gather", [x], [out], attributes)[0]


def _gather_batch(
    primitive: ir.Primitive, axis: Axis, x: ir.Array, dim: int | None, params: dict[str, Any]
) -> tuple[ir.Array, int | None]:
    names, place, tiled = params["axis_name"], params["all_gather_dimension"], params["tiled"]
    if axis.name in names:
        return _gather_examples(primitive, axis, x, dim, params)
    assert dim is not None  # else the axis is named
    # The gathered dimension counts the example's dimensions; that of the batch shifts those at or
    # after it. Untiled, it is a position of the result, so a new dimension at the batch dimension
    # goes before that, which moves the batch dimension by one.
    inner = place + (place >= dim if tiled else place > dim)
    out = primitive.bind(x, **{**params, "all_gather_dimension": inner})
    return out, dim + (not tiled and inner <= dim)


def _gather_examples(
    primitive: ir.Primitive, axis: Axis, x: ir.ArrayLike, dim: int | None, params: dict[str, Any]
) -> tuple[ir.Array, int | None]:
    """Gather over the mapped axis, and maybe others: the result is the same for all examples."""
    names, place, tiled = params["axis_name"], params["all_gather_dimension"], params["tiled"]
    groups = params.get("axis_index_groups")
    if groups is not None:
        whole = {**params, "axis_index_groups": None}
        return in_groups(axis, x, dim, names, groups, lambda row: primitive.bind(row, **whole)), 0
    other_axes, before, behind = sizes_around(names, axis.name)
    x = batched_at(x, dim, axis, 0)
    labels: list[Hashable] = ["own", *range(len(shape_of(x)) - 1)]
    members = ["own"]
    if other_axes:
        over = {**params, "axis_name": other_axes, "axis_size": before * behind}
        x = primitive.bind(x, **{**over, "all_gather_dimension": 0, "tiled": False})
        x = split_dimension(x, 0, (before, behind))
        # Members are numbered with the first axis as the major one. The mapped axis lies among the
        # others, so their dimension is split around it, and all are merged in the order of the
        # names.
        labels, members = ["before", "behind", *labels], ["before", "own", "behind"]
    target: list[Sequence[Hashable]] = [[i] for i in labels if isinstance(i, int)]
    if tiled:
        target[place] = [*members, place]
    else:
        target.insert(place, members)
    return arranged(x, labels, target), None


def _gather_transpose(
    ct: ir.ArrayLike, x: object, *, all_gather_dimension: int, **params: object
) -> list[ir.Array]:
    return [reduce_scatter_p.bind(ct, scatter_dimension=all_gather_dimension, **params)]


def _gather(
    name: str, transpose: Callable[..., list[ir.Array]], sharding: ir.ShardingRule
) -> ir.Primitive:
    """Define a variant of ``all_gather`` by the state of its result."""
    primitive = ir.define(
        name,
        abstract_eval=_gathered_type,
        jvp=linear,
        transpose=transpose,
        batch=lambda axis, args, dims, **params: _gather_batch(
            primitive, axis, args[0], dims[0], params
        ),
        axis_names=named_axes.named,
        host=named_axes.outside,
        lower=_gather_lower,
        extended_lower=on_words(_gather_lower),
        sharding=sharding,
    )
    return primitive


# The values of all members, stacked along a new dimension, or joined along an existing one.
all_gather_p: ir.Primitive = _gather("all_gather", _gather_transpose, varying.gathers)


def _invariant_transpose(
    ct: ir.ArrayLike,
    x: ir.Array,
    *,
    all_gather_dimension: int,
    axis_name: named_axes.AxisNames,
    axis_size: int,
    tiled: bool,
) -> list[ir.Array]:
    """The transpose rule: each member takes its part of the cotangent, which is the same on all."""
    place = axis_index(axis_name)
    if not tiled:
        return [dynamic_index_in_dim(ct, place, all_gather_dimension, keepdims=False)]
    size = x.aval.shape[all_gather_dimension]
    start = mul(place, place.dtype.type(size))
    return [
        dynamic_slice_in_dim(ct, start, size, all_gather_dimension, allow_negative_indices=False)
    ]


def _reduced_transpose(
    ct: ir.ArrayLike, x: object, *, all_gather_dimension: int, **params: object
) -> list[ir.Array]:
    """The transpose rule: the members' cotangents are unreduced; each gets its part of the sum."""
    return [unreduced_reduce_scatter_p.bind(ct, scatter_dimension=all_gather_dimension, **params)]


all_gather_invariant_p: ir.Primitive = _gather(
    "all_gather_invariant", _invariant_transpose, varying.gathers_to_invarying
)
all_gather_reduced_p: ir.Primitive = _gather(
    "all_gather_reduced", _reduced_transpose, varying.gathers_to_reduced
)


def _scattered_type(
    aval: ir.ShapedArray,
    *,
    axis_name: named_axes.AxisNames,
    axis_size: int,
    scatter_dimension: int,
    tiled: bool,
    axis_index_groups: named_axes.Groups | None = None,
) -> ir.ShapedArray:
    what, argument = "psum_scatter", "scatter_dimension"
    check_dtype(what, aval, numeric)
    named_axes.check_divisible(
        what, argument, scatter_dimension, aval.shape, axis_size, axis_name, tiled
    )
    shape = list(aval.shape)
    if tiled:
        shape[scatter_dimension] //= axis_size
    else:
        del shape[scatter_dimension]
    return aval.resized(tuple(shape))


def _scatter_lower(
    ctx: Lowering,
    x: Value,
    *,
    axis_name: named_axes.AxisNames,
    axis_size: int,
    scatter_dimension: int,
    tiled: bool,
    axis_index_groups: named_axes.Groups | None = None,
) -> Value:
    out = ctx.out
    if not out.size:
        return ctx.constant(0, out)  # StableHLO scatters no empty arrays
    shape = list(x.shape)
    shape[scatter_dimension] //= axis_size
    scalar = ir.ShapedArray((), x.dtype)
    add = lambda c, a, b: [c.emit("stablehlo.add", [a, b], a.aval)]
    attributes = (
        f"{channel}, {replica_groups(ctx, axis_name, axis_index_groups)}, "
        f"scatter_dimension = {scatter_dimension} : i64, use_global_device_ids"
    )
    part = x
    if not is_alone(ctx, axis_name, axis_index_groups):
        region = ctx.region([scalar, scalar], add)
        aval = x.aval.resized(tuple(shape))
        part = ctx.generic("stablehlo.reduce_scatter", [x], [aval], attributes, [region])[0]
    return part if tiled else ctx.emit("stablehlo.reshape", [part], out)


def _scatter_batch(primitive: ir.Primitive) -> Callable[..., tuple[ir.Array, int | None]]:
    def batch(
        axis: Axis, args: Sequence[ir.ArrayLike], dims: Sequence[int | None], **params: Any
    ) -> tuple[ir.Array, int | None]:
        (x,), (dim,) = args, dims
        names, place, tiled = params["axis_name"], params["scatter_dimension"], params["tiled"]
        if axis.name in names:
            return _scatter_examples(primitive, axis, x, dim, params)
        assert dim is not None  # else the axis is named
        inner = place + (place >= dim)
        out = primitive.bind(x, **{**params, "scatter_dimension": inner})
        return out, dim - (not tiled and inner < dim)

    return batch


def _scatter_examples(
    primitive: ir.Primitive, axis: Axis, x: ir.ArrayLike, dim: int | None, params: dict[str, Any]
) -> tuple[ir.Array, int]:
    """Scatter the sum over the mapped axis, and maybe others: the parts become the batch."""
    names, place, tiled = params["axis_name"], params["scatter_dimension"], params["tiled"]
    groups = params.get("axis_index_groups")
    if groups is not None:
        whole = {**params, "axis_index_groups": None}
        each = lambda row: primitive.bind(row, **whole)
        return in_groups(axis, x, dim, names, groups, each), 0
    other_axes, before, behind = sizes_around(names, axis.name)
    # The sum over the mapped axis is local. Only the sum over the other axes communicates.
    total = reduce_sum(batched_at(x, dim, axis, 0), (0,))
    part = shape_of(total)[place] // params["axis_size"]
    total = split_dimension(total, place, (before, axis.size, behind, part))
    rank = len(shape_of(total)) - 3
    labels: list[Hashable] = list(range(rank))
    labels[place:place] = ["before", "own", "behind"]
    target: list[Sequence[Hashable]] = [["own"], *([i] for i in range(rank))]
    if other_axes:
        target.insert(place + 1, ["before", "behind"])
        over = {**params, "axis_name": other_axes, "axis_size": before * behind, "tiled": False}
        parts = arranged(total, labels, target)
        parts = primitive.bind(parts, **{**over, "scatter_dimension": place + 1})
    else:
        target[place + 1] = ["before", "behind", place]
        parts = arranged(total, labels, target)
    return parts if tiled else squeeze(parts, (place + 1,)), 0


def _scatter_transpose(
    ct: ir.ArrayLike, x: object, *, scatter_dimension: int, **params: object
) -> list[ir.Array]:
    return [all_gather_p.bind(ct, all_gather_dimension=scatter_dimension, **params)]


def _unreduced_transpose(
    ct: ir.ArrayLike, x: object, *, scatter_dimension: int, **params: object
) -> list[ir.Array]:
    return [all_gather_reduced_p.bind(ct, all_gather_dimension=scatter_dimension, **params)]


def _scatter(
    name: str, transpose: Callable[..., list[ir.Array]], sharding: ir.ShardingRule
) -> ir.Primitive:
    """Define a sum over the members, of which each gets its part along a dimension."""
    return ir.define(
        name,
        abstract_eval=_scattered_type,
        jvp=linear,
        transpose=transpose,
        batch=ir.derived(_scatter_batch),
        axis_names=named_axes.named,
        host=named_axes.outside,
        lower=_scatter_lower,
        sharding=sharding,
    )


reduce_scatter_p: ir.Primitive = _scatter("reduce_scatter", _scatter_transpose, varying.scatters)
unreduced_reduce_scatter_p: ir.Primitive = _scatter(
    "unreduced_reduce_scatter", _unreduced_transpose, varying.scatters_unreduced
)


@api_boundary
def all_gather(
    x: PyTree,
    axis_name: named_axes.AxisNameLike,
    *,
    axis_index_groups: named_axes.GroupsLike = None,
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
    names = named_axes.axis_names("all_gather", axis_name)
    groups = named_axes.as_groups("all_gather", names, axis_index_groups)
    if to not in ("varying", "invarying", "reduced"):
        raise ValueError(
            f"all_gather: to={to!r} is not one of 'varying', 'invarying' and 'reduced'."
        )
    if to != "varying" and groups is not None:
        raise NotImplementedError(
            f"all_gather with to={to!r} and axis_index_groups: values that the members of a group "
            "share are not shared along the whole axis. Leave out `to`, or the groups."
        )
    typed = varying.typed_axes(names)
    if to == "reduced" and not typed:
        raise ValueError(
            "all_gather: to='reduced' is for values whose types say along which axes they vary, "
            "as under shard_map with check_vma. Leave it out."
        )
    size = named_axes.group_size(names, groups)

    def one(leaf: ArrayLike) -> Array:
        shape = shape_of(leaf)
        params: dict[str, Any] = {
            "all_gather_dimension": named_axes.array_axis(
                "all_gather", axis, len(shape) + (not tiled), shape
            ),
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
    axis_name: named_axes.AxisNameLike,
    *,
    scatter_dimension: int = 0,
    axis_index_groups: named_axes.GroupsLike = None,
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
    names = named_axes.axis_names("psum_scatter", axis_name)
    groups = named_axes.as_groups("psum_scatter", names, axis_index_groups)
    size = named_axes.group_size(names, groups)

    def one(leaf: ArrayLike) -> Array:
        aval = get_aval(leaf)
        place = named_axes.array_axis("psum_scatter", scatter_dimension, aval.ndim, aval.shape)
        named_axes.check_divisible(
            "psum_scatter", "scatter_dimension", place, aval.shape, size, names, tiled
        )
        params: dict[str, Any] = {
            "axis_name": names,
            "axis_size": size,
            "scatter_dimension": place,
            "tiled": bool(tiled),
        }
        if any(varying.state_of(aval, name) == "unreduced" for name in varying.typed_axes(names)):
            if groups is not None:
                raise NotImplementedError(
                    "psum_scatter of terms of a sum over the whole axis cannot be in groups; leave "
                    "out axis_index_groups."
                )
            return unreduced_reduce_scatter_p.bind(leaf, **params)
        return reduce_scatter_p.bind(varied(leaf, names), axis_index_groups=groups, **params)

    return tree_map(one, x)


ir.axis_members.provide(all_gather)
