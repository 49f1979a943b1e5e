"""The positions at which primitives read and write arrays, and the elements that they move."""

from collections.abc import Callable, Sequence
from typing import Any

import ricci_lax as lax
from ricci_batching import elementwise_primitives
from ricci_ir import AbstractValue, Primitive, TupleRecord
from ricci_lax.authoring import default_fill

__all__ = ["ALL_OPERANDS", "Positions", "follow_rules", "position_rules"]

ALL_OPERANDS = -1

# The number of leading operands whose elements an operation only moves; the others are positions.
# With 0, the default of elementwise operations, the results are known if all operands are.
follow_rules: dict[Primitive, int] = {
    lax.broadcast_in_dim_p: 1,
    lax.clamp_p: 0,
    lax.concatenate_p: ALL_OPERANDS,
    lax.copy_p: 1,
    lax.dynamic_slice_p: 1,
    lax.gather_p: 1,
    lax.iota_p: 0,
    lax.reshape_p: 1,
    lax.rev_p: 1,
    lax.select_n_p: 0,
    lax.slice_p: 1,
    lax.split_p: 1,
    lax.squeeze_p: 1,
    lax.transpose_p: 1,
    lax.unstack_p: 1,
}


def is_followed(primitive: Primitive) -> bool:
    """Whether the results of an operation are computed where its operands are known.

    Positions computed by sorting or summing may be out of bounds on purpose.
    """
    return primitive in elementwise_primitives or primitive in follow_rules


class Positions(TupleRecord):
    """The positions at which an operation reads or writes its first operand.

    Attributes:
      operands: the numbers of the operands that are positions: one scalar for each axis, or
        a single array whose last dimension has one number for each.
      axes: the axes that the positions are along.
      sizes: for each dimension of the first operand, the size of the part that is read or written.
      outside: what happens at a position out of bounds; with ``"is read"`` or ``"is written"`` the
        nearest one inside is taken. None if positions out of bounds are intended.
    """

    operands: tuple[int, ...]
    axes: Sequence[int]
    sizes: Sequence[int]
    outside: str | None


def _dynamic_slice(avals: Sequence[Any], params: dict[str, Any]) -> Positions:
    axes = range(len(avals) - 1)
    return Positions(tuple(i + 1 for i in axes), axes, params["slice_sizes"], "is read")


def _dynamic_update_slice(avals: Sequence[Any], params: dict[str, Any]) -> Positions:
    axes = range(len(avals) - 2)
    return Positions(tuple(i + 2 for i in axes), axes, avals[1].shape, "is written")


def _gather(avals: Sequence[Any], params: dict[str, Any]) -> Positions:
    outside: str | None = "is read"
    if params["mode"] is lax.GatherScatterMode.FILL_OR_DROP:
        # A fill value other than the default is named where positions are out of bounds on purpose.
        value, default = params["fill_value"], default_fill(avals[0].dtype)
        is_default = value == default or (value != value and default != default)
        outside = "the fill value is read" if is_default else None
    axes = params["dimension_numbers"].start_index_map
    return Positions((1,), axes, params["slice_sizes"], outside)


def _scatter(avals: Sequence[Any], params: dict[str, Any]) -> Positions:
    numbers = params["dimension_numbers"]
    window_sizes = iter(avals[2].shape[d] for d in numbers.update_window_dims)
    left_out = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
    sizes = [1 if d in left_out else next(window_sizes) for d in range(len(avals[0].shape))]
    clips = params["mode"] is lax.GatherScatterMode.CLIP
    outside = "is written" if clips else "the update is dropped"
    return Positions((1,), numbers.scatter_dims_to_operand_dims, sizes, outside)


# ``rule(avals, params)`` returns the ``Positions`` of an operation.
position_rules: dict[Primitive, Callable[[Sequence[AbstractValue], dict[str, Any]], Positions]] = {
    lax.dynamic_slice_p: _dynamic_slice,
    lax.dynamic_update_slice_p: _dynamic_update_slice,
    lax.gather_p: _gather,
    lax.scatter_add_p: _scatter,
    lax.scatter_max_p: _scatter,
    lax.scatter_min_p: _scatter,
    lax.scatter_mul_p: _scatter,
    lax.scatter_p: _scatter,
    lax.scatter_sub_p: _scatter,
}
