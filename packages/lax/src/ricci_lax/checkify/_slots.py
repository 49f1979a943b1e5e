"""Slots: errors as a flag, a code and a payload; combining two slots."""

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ricci_ir import Array, ArrayLike, ShapedArray, get_aval
from ricci_lax.elementwise._addition import add
from ricci_lax.elementwise._comparison import bitwise_or, select_n
from ricci_lax.reductions._axis_reductions import argmax, reduce_or
from ricci_lax.shapes._dynamic_slicing import dynamic_index_in_dim
from ricci_lax.structure._broadcasting import broadcast_in_dim, zeros_of
from ricci_lax.structure._filling import full, iota
from ricci_lax.structure._operand_types import shape_of
from ricci_lax.structure._reshaping import reshape

from ._exceptions import JaxException


class ErrorEffect(NamedTuple):
    """A kind of error: errors of one kind share a flag, a code and a payload.

    Attributes:
      error_type: the class of the exception.
      shape_dtypes: the types of its payload.
    """

    error_type: type[JaxException]
    shape_dtypes: tuple[Any, ...]


class Slot(NamedTuple):
    """Whether there is an error of some kind, and the first one.

    Attributes:
      pred: a boolean, a scalar or one for each example of a batch.
      code: the number of the site, where ``pred`` is true.
      payload: the values at the site.
    """

    pred: ArrayLike
    code: ArrayLike
    payload: tuple[Any, ...]

    @property
    def leaves(self) -> list[Any]:
        """The arrays of the slot."""
        return [self.pred, self.code, *self.payload]


def no_error(effect: ErrorEffect) -> Slot:
    """The slot of a kind of error that did not occur."""
    return Slot(np.bool_(False), np.int32(0), tuple(map(zeros_of, effect.shape_dtypes)))


def slots_of(effects: Sequence[ErrorEffect], leaves: Sequence[Any]) -> dict[ErrorEffect, Slot]:
    """Read the slots at the start of a flat sequence of arrays."""
    slots, start = {}, 0
    for effect in effects:
        end = start + 2 + len(effect.shape_dtypes)
        slots[effect] = Slot(leaves[start], leaves[start + 1], tuple(leaves[start + 2 : end]))
        start = end
    return slots


def leaf_count(effects: Sequence[ErrorEffect]) -> int:
    """The number of arrays in slots of these kinds."""
    return sum(2 + len(effect.shape_dtypes) for effect in effects)


def shifted(slot: Slot, offset: int) -> Slot:
    """The slot with ``offset`` added to its code."""
    if not offset:
        return slot
    if isinstance(slot.code, np.integer):
        return slot._replace(code=np.int32(slot.code + offset))
    return slot._replace(code=add(slot.code, np.int32(offset)))


def earlier(first: Slot, second: Slot) -> Slot:
    """The error of ``first`` if it has one, else that of ``second``."""
    if _is_never(first.pred):
        return second
    if _is_never(second.pred):
        return first
    if shape_of(first.pred) != shape_of(second.pred):
        first, second = collapsed(first), collapsed(second)
    return Slot(
        bitwise_or(first.pred, second.pred),
        _choose(first.pred, first.code, second.code),
        tuple(
            _choose(first.pred, one, other)
            for one, other in zip(first.payload, second.payload, strict=True)
        ),
    )


def _is_never(pred: ArrayLike) -> bool:
    """Whether an error is ruled out at trace time."""
    return isinstance(pred, np.bool_) and not pred


def _choose(pred: ArrayLike, one: ArrayLike, other: ArrayLike) -> Array:
    """``one`` where ``pred`` is true, else ``other``; ``pred`` may lack trailing dimensions."""
    rank, shape = len(shape_of(pred)), shape_of(one)
    if rank and rank != len(shape):
        pred = broadcast_in_dim(pred, shape, tuple(range(rank)))
    return select_n(pred, other, one)


def collapsed(slot: Slot) -> Slot:
    """Reduce a batch of errors to one: that of the last example that has an error."""
    shape = shape_of(slot.pred)
    if not shape:
        return slot
    size, rank = prod(shape), len(shape)
    if not size:
        empty = [zeros_of(_unbatched(x, rank)) for x in slot.payload]
        return Slot(np.bool_(False), np.int32(0), tuple(empty))
    flat = reshape(slot.pred, (size,))
    # The number of each example that failed, and -1 for the others.
    numbers = select_n(flat, full((size,), -1, np.int32), iota(np.int32, size))
    last = argmax(numbers, 0, np.int32)

    def at(x: ArrayLike) -> Array:
        rows = reshape(x, (size, *shape_of(x)[rank:]))
        return dynamic_index_in_dim(rows, last, 0, keepdims=False)

    return Slot(reduce_or(flat, (0,)), at(slot.code), tuple(map(at, slot.payload)))


def _unbatched(x: ArrayLike, rank: int) -> ShapedArray:
    """The type of one example of a batch."""
    aval = get_aval(x)
    return aval.update(shape=aval.shape[rank:])
