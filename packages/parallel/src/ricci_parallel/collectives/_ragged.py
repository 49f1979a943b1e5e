"""``ragged_all_to_all``: an exchange of parts whose sizes are known only at run time."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_autodiff import Zero, instantiate, is_undefined_primal
from ricci_batching import Axis, batched_at, vmap
from ricci_stablehlo import Lowering, Value, traced

from . import _named_axes as named_axes
from ._axis_index import axis_index
from ._casts import varied
from ._exchange import all_to_all_p
from ._gathering import all_gather_p
from ._lowering import CHANNEL, device_groups, id_table
from ._members import shape_of
from ._varying import exchanges_rows

__all__ = ["ragged_all_to_all", "ragged_all_to_all_p"]

_OFFSETS = ("input_offsets", "send_sizes", "output_offsets", "recv_sizes")


def _type(
    operand: ir.ShapedArray,
    output: ir.ShapedArray,
    *offsets: ir.ShapedArray,
    axis_index_groups: named_axes.Groups | None,
    axis_name: named_axes.AxisNames,
) -> ir.ShapedArray:
    if operand.dtype != output.dtype or operand.shape[1:] != output.shape[1:]:
        raise ValueError(
            "ragged_all_to_all: operand and output must have rows of one shape and dtype, but are "
            f"{operand.str_short()} and {output.str_short()}."
        )
    if not operand.shape or not output.shape:
        raise ValueError("ragged_all_to_all: operand and output must have rows, but are scalars.")
    for argument, aval in zip(_OFFSETS, offsets, strict=True):
        if not ir.issubdtype(aval.dtype, np.integer):
            raise ValueError(
                f"ragged_all_to_all: {argument} must be integers, got {aval.str_short()}."
            )
        if aval.ndim != 1 or aval.shape != offsets[0].shape:
            raise ValueError(
                "ragged_all_to_all: offsets and sizes must be vectors of one length, but "
                f"{argument} is {aval.str_short()} and input_offsets {offsets[0].str_short()}."
            )
    return output


def _received(
    member: ir.ArrayLike,
    output: ir.Array,
    operands: ir.Array,
    input_offsets: ir.Array,
    send_sizes: ir.Array,
    output_offsets: ir.Array,
) -> ir.Array:
    """Return the rows that one member receives, computed from the arrays of all members.

    Args:
      member: its position.
      output: its ``output``.
      operands, input_offsets, send_sizes, output_offsets: those of all members, along a new leading
        axis.
    """
    members, sent = shape_of(input_offsets)
    each = sent // members
    count, available = shape_of(output)[0], shape_of(operands)[1]
    if not available or not count:
        return output

    def mine(table: ir.Array) -> ir.Array:
        """Select the entries of all members for this one, part by part."""
        column = lax.dynamic_slice_in_dim(table, lax.mul(member, np.int32(each)), each, 1)
        return lax.convert_element_type(lax.reshape(column, (sent,)), np.int32)

    starts, sizes, first = map(mine, (output_offsets, send_sizes, input_offsets))
    # For each row, the last part that covers it, or -1.
    shape = (count, sent)
    rows = lax.broadcasted_iota(np.int32, shape, 0)
    after, before = (lax.broadcast_in_dim(x, shape, (1,)) for x in (starts, lax.add(starts, sizes)))
    covered = lax.bitwise_and(lax.ge(rows, after), lax.lt(rows, before))
    # The loop over parts is a table of rows times parts: a row takes its values from the last part
    # that covers it, as if the parts were written one after the other.
    parts = lax.broadcasted_iota(np.int32, shape, 1)
    part = lax.reduce_max(lax.select(covered, parts, lax.full_like(parts, -1)), (1,))
    received = lax.ge(part, np.int32(0))
    part = lax.max(part, np.int32(0))
    # Row r of the result is row r - start + first of the sender's operand.
    shift = lax.index_take(lax.sub(first, starts), (part,), (0,))
    sender = lax.div(part, np.int32(each))
    source = lax.add(
        lax.add(lax.iota(np.int32, count), shift), lax.mul(sender, np.int32(available))
    )
    source = lax.select(received, source, lax.full_like(source, 0))
    values = lax.reshape(operands, (members * available, *shape_of(operands)[2:]))
    moved = lax.index_take(values, (source,), (0,))
    return lax.select(lax.broadcast_in_dim(received, shape_of(output), (0,)), moved, output)


def _by_gathering(
    operand: ir.Array,
    output: ir.Array,
    *offsets: ir.Array,
    axis_index_groups: named_axes.Groups | None,
    axis_name: named_axes.AxisNames,
) -> ir.Array:
    """Evaluate it by gathering all values, for platforms whose compilers lack the operation."""
    size = named_axes.group_size(axis_name, axis_index_groups)
    gathered = [
        all_gather_p.bind(
            x,
            all_gather_dimension=0,
            axis_index_groups=axis_index_groups,
            axis_name=axis_name,
            axis_size=size,
            tiled=False,
        )
        for x in (operand, *offsets[:3])
    ]
    member = axis_index(axis_name)
    if axis_index_groups is not None:
        # The position of each member within its group.
        places = np.zeros(ir.axis_size(axis_name), np.int32)
        for group in axis_index_groups:
            places[list(group)] = np.arange(size)
        member = lax.dynamic_index_in_dim(places, member, 0, keepdims=False)
    return _received(member, output, *gathered)


_lower_by_gathering = traced(_by_gathering)


def _lower(
    ctx: Lowering,
    *operands: Value,
    axis_index_groups: named_axes.Groups | None,
    axis_name: named_axes.AxisNames,
) -> Value:
    module = ctx.module
    if module.platform == "cpu":
        with ir.extend_axes(module.axis_sizes.items()):
            return _lower_by_gathering(
                ctx, *operands, axis_index_groups=axis_index_groups, axis_name=axis_name
            )
    groups = device_groups(module.axis_sizes, axis_name, axis_index_groups)
    config = {"channel_id": f"{CHANNEL} : i64", "replica_groups": id_table(groups)}
    return ctx.custom_call("ragged_all_to_all", operands, [ctx.out], backend_config=config)[0]


def _jvp(
    primals: Sequence[ir.ArrayLike], tangents: Sequence[Any], **params: object
) -> tuple[ir.Array, Any]:
    result = ragged_all_to_all_p.bind(*primals, **params)
    moved = tangents[:2]
    if all(type(t) is Zero for t in moved):
        return result, Zero.from_primal(result)
    tangent = ragged_all_to_all_p.bind(*map(instantiate, moved), *primals[2:], **params)
    return result, tangent


def _transpose(
    ct: ir.ArrayLike,
    operand: ir.ArrayLike,
    output: Any,
    input_offsets: ir.ArrayLike,
    send_sizes: ir.ArrayLike,
    output_offsets: ir.ArrayLike,
    recv_sizes: ir.ArrayLike,
    **params: Any,
) -> list[ir.Array | None]:
    """The transpose rule: received rows return to their sender; overwritten rows get zeros."""
    names, groups = params["axis_name"], params["axis_index_groups"]

    def received_from_all(x: ir.ArrayLike) -> ir.Array:
        """Return the entries of the other members for the parts exchanged with this one."""
        return all_to_all_p.bind(
            x,
            axis_index_groups=groups,
            axis_name=names,
            axis_size=named_axes.group_size(names, groups),
            concat_axis=0,
            split_axis=0,
            tiled=True,
        )

    # The exchange in reverse: the sender of a part is its receiver. Each member knows where its
    # parts go at the others, and needs from them where their parts have gone here.
    places = received_from_all(output_offsets)
    operand_ct = output_ct = None
    if is_undefined_primal(operand):
        zeros = lax.full(operand.aval.shape, 0, operand.aval.dtype)
        operand_ct = ragged_all_to_all_p.bind(
            ct, zeros, places, recv_sizes, received_from_all(input_offsets), send_sizes, **params
        )
    if is_undefined_primal(output):
        output_ct = lax.select(
            lax.broadcast_in_dim(_written(shape_of(ct)[0], places, recv_sizes), shape_of(ct), (0,)),
            lax.full_like(ct, 0),
            ct,
        )
    return [operand_ct, output_ct, None, None, None, None]


def _written(count: int, starts: ir.ArrayLike, sizes: ir.ArrayLike) -> ir.Array:
    """Return a mask of the rows, of ``count``, that lie in one of some ranges."""
    dtype = ir.get_aval(starts).dtype
    shape = (count, *shape_of(starts))
    rows = lax.broadcasted_iota(dtype, shape, 0)
    sizes = lax.convert_element_type(sizes, dtype)
    first, end = (lax.broadcast_in_dim(x, shape, (1,)) for x in (starts, lax.add(starts, sizes)))
    return lax.reduce_or(lax.bitwise_and(lax.ge(rows, first), lax.lt(rows, end)), (1,))


def _batch(
    axis: Axis, args: Sequence[ir.ArrayLike], dims: Sequence[int | None], **params: Any
) -> tuple[ir.Array, int]:
    xs = [batched_at(x, d, axis, 0) for x, d in zip(args, dims, strict=True)]
    operand, output, *offsets = xs
    if axis.name in params["axis_name"]:
        if params["axis_name"] != (axis.name,) or params["axis_index_groups"] is not None:
            raise NotImplementedError(
                "ragged_all_to_all over groups or several axes, of which vmap maps over one, is "
                "not supported. Map over none of them, or name one axis alone."
            )
        receive = lambda member, output_row: _received(member, output_row, operand, *offsets[:3])
        return vmap(receive)(lax.iota(np.int32, axis.size), output), 0
    # Every member sends a part for each example. The examples' rows come one after another.
    members = named_axes.group_size(params["axis_name"], params["axis_index_groups"])

    def joined(x: ir.Array) -> ir.Array:
        return lax.reshape(x, (shape_of(x)[0] * shape_of(x)[1], *shape_of(x)[2:]))

    def by_member(x: ir.Array, rows: int) -> ir.Array:
        dtype = ir.get_aval(x).dtype
        # Offsets count rows of one example; in the joined array, example i begins at row i * rows.
        shift = np.arange(axis.size, dtype=dtype) * dtype.type(rows)
        x = lax.add(x, lax.broadcast_in_dim(shift, shape_of(x), (0,)))
        each = shape_of(x)[1] // members
        x = lax.transpose(lax.reshape(x, (axis.size, members, each)), (1, 0, 2))
        return lax.reshape(x, (members * axis.size * each,))

    sizes = (shape_of(operand)[1], 0, shape_of(output)[1], 0)
    moved = [by_member(x, rows) for x, rows in zip(offsets, sizes, strict=True)]
    out = ragged_all_to_all_p.bind(joined(operand), joined(output), *moved, **params)
    return lax.reshape(out, shape_of(output)), 0


# Each member sends a range of rows to every member, which stores it where the sender specifies.
ragged_all_to_all_p: ir.Primitive = ir.define(
    "ragged_all_to_all",
    abstract_eval=_type,
    jvp=_jvp,
    transpose=_transpose,
    batch=_batch,
    axis_names=named_axes.named,
    host=named_axes.outside,
    lower=_lower,
    sharding=exchanges_rows,
)


@ir.api_boundary
def ragged_all_to_all(
    operand: ir.ArrayLike,
    output: ir.ArrayLike,
    input_offsets: ir.ArrayLike,
    send_sizes: ir.ArrayLike,
    output_offsets: ir.ArrayLike,
    recv_sizes: ir.ArrayLike,
    *,
    axis_name: named_axes.AxisNameLike,
    axis_index_groups: named_axes.GroupsLike = None,
) -> ir.Array:
    """Exchange ranges of rows whose sizes are arrays.

    This member sends the rows ``operand[input_offsets[i] : input_offsets[i] + send_sizes[i]]`` to
    member ``i``, which gets them in its result from row ``output_offsets[i]`` on. Where nothing is
    received, the result is ``output``. For derivatives, ranges that are sent must not overlap.

    Args:
      operand: the rows to send.
      output: where rows are received, with rows of the same shape and dtype.
      input_offsets: for each member, the first row that is sent to it.
      send_sizes: for each member, the number of rows that are sent to it.
      output_offsets: for each member, the row of its result where they go.
      recv_sizes: for each member, the number of rows that are received from it.
      axis_name: the name of the axis, or a tuple of names.
      axis_index_groups: exchanges in each of these groups of members on its own.

    Returns:
      An array like ``output``, with the rows that were received.

    Raises:
      NameError: if no axis of that name is in scope.
      ValueError: if offsets and sizes are not integers with one or more entries for each member, or
        the rows differ in shape or dtype.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci import lax
      >>> both, ones = np.array([[0, 1], [0, 1]]), np.ones((2, 2), np.int32)
      >>> swap = lambda x, sent, sizes, to: lax.ragged_all_to_all(
      ...     x, np.zeros(2, np.float32), sent, sizes, to, sizes, axis_name="i"
      ... )
      >>> ricci.vmap(swap, axis_name="i")(np.arange(4.0).reshape(2, 2), both, ones, both.T)
      Array([[0., 2.],
             [1., 3.]], dtype=float32)

    Source: XLA's ``ragged-all-to-all``.
    """
    names = named_axes.axis_names("ragged_all_to_all", axis_name)
    groups = named_axes.as_groups("ragged_all_to_all", names, axis_index_groups)
    count, size = prod(shape_of(input_offsets)), named_axes.group_size(names, groups)
    if not count or count % size:
        raise ValueError(
            f"ragged_all_to_all: input_offsets has {count} entries, but there must be one, or "
            f"several, for each of the {size} members of {named_axes.shown(names)}."
        )
    operands = (operand, output, input_offsets, send_sizes, output_offsets, recv_sizes)
    params: dict[str, Any] = {"axis_index_groups": groups, "axis_name": names}
    _type(*map(ir.get_aval, operands), **params)  # pyright: ignore[reportArgumentType]
    return ragged_all_to_all_p.bind(*(varied(x, names) for x in operands), **params)
