"""Operations on shapes: broadcasting, reshaping, slices, joins, and positions in arrays."""

from collections.abc import Sequence
from math import prod
from typing import Any

import ricci_ir as ir
from ricci_kernels.calls._interpreter import filler

from ._conversions import converted
from ._rules import triton_rules
from ._writer import Value, Writer, element_of


def _shape(eqn: ir.JaxprEqn) -> tuple[int, ...]:
    return eqn.outvars[0].aval.shape  # pyright: ignore[reportAttributeAccessIssue]


def _broadcast_in_dim(writer: Writer, eqn: ir.JaxprEqn, x: Value, *_: Value) -> Value:
    return writer.expanded(x, _shape(eqn), eqn.params["broadcast_dimensions"])


def _reshape(writer: Writer, eqn: ir.JaxprEqn, x: Value, *_: Value) -> Value:
    return writer.reshaped(x, _shape(eqn))


def _transpose(writer: Writer, eqn: ir.JaxprEqn, x: Value) -> Value:
    return writer.transposed(x, eqn.params["permutation"])


def _iota(writer: Writer, eqn: ir.JaxprEqn, *_: Value) -> Value:
    shape, axis = _shape(eqn), eqn.params["dimension"]
    positions = converted(writer, writer.positions(shape[axis]), element_of(eqn.params["dtype"]))
    return writer.expanded(positions, shape, (axis,))


# Elements are moved along one axis at a time, by their positions.


def gathered(writer: Writer, x: Value, positions: Value, axis: int) -> Value:
    """The elements at positions along an axis.

    Args:
      writer: where to append operations.
      x: the value.
      positions: of the shape of the result, or one-dimensional; within bounds.
      axis: the axis.
    """
    shape = positions.shape
    if len(shape) != len(x.shape) or len(shape) == 1:
        shape = (*x.shape[:axis], shape[0], *x.shape[axis + 1 :])
        positions = writer.expanded(positions, shape, (axis,))
    return writer.op("tt.gather", [x, positions], shape, x.element, f"axis = {axis} : i32")


def along(writer: Writer, size: int, scale: int, offset: int | Value) -> Value:
    """The positions ``offset + scale * k``."""
    positions = writer.scaled(writer.positions(size), scale)
    if isinstance(offset, Value):
        return writer.add(positions, writer.spread(offset, positions.shape))
    return writer.add(positions, writer.like(positions, offset)) if offset else positions


def _slice(writer: Writer, eqn: ir.JaxprEqn, x: Value) -> Value:
    steps = eqn.params["strides"] or [1] * len(x.shape)
    for axis, (start, size, step) in enumerate(
        zip(eqn.params["start_indices"], _shape(eqn), steps, strict=True)
    ):
        if size != x.shape[axis]:
            x = gathered(writer, x, along(writer, size, step, start), axis)
    return x


def _clamped(writer: Writer, start: Value, limit: int) -> Value:
    start = writer.resized(start, "i32")
    start = writer.binary("arith.maxsi", start, writer.like(start, 0))
    return writer.binary("arith.minsi", start, writer.like(start, limit))


def _dynamic_slice(writer: Writer, eqn: ir.JaxprEqn, x: Value, *starts: Value) -> Value:
    for axis, (start, size) in enumerate(zip(starts, _shape(eqn), strict=True)):
        if size != x.shape[axis]:
            start = _clamped(writer, start, x.shape[axis] - size)
            x = gathered(writer, x, along(writer, size, 1, start), axis)
    return x


def _dynamic_update_slice(
    writer: Writer, eqn: ir.JaxprEqn, x: Value, update: Value, *starts: Value
) -> Value:
    inside = None
    for axis, (start, size) in enumerate(zip(starts, update.shape, strict=True)):
        length = x.shape[axis]
        if size == length:
            continue
        start = _clamped(writer, start, length - size)
        places = writer.positions(length)
        places = writer.binary("arith.subi", places, writer.spread(start, places.shape))
        # Positions below the start are large when read without a sign.
        is_here = writer.compare(6, places, writer.like(places, size))
        places = writer.select(is_here, places, writer.like(places, 0))
        update = gathered(writer, update, places, axis)
        is_here = writer.expanded(is_here, x.shape, (axis,))
        inside = is_here if inside is None else writer.binary("arith.andi", inside, is_here)
    return update if inside is None else writer.select(inside, update, x)


def _rev(writer: Writer, eqn: ir.JaxprEqn, x: Value) -> Value:
    for axis in eqn.params["dimensions"]:
        size = x.shape[axis]
        x = gathered(writer, x, along(writer, size, -1, size - 1), axis) if size > 1 else x
    return x


def _stack(writer: Writer, eqn: ir.JaxprEqn, *pieces: Value) -> Value:
    axis, shape = eqn.params["axis"], _shape(eqn)
    part = (*shape[:axis], 1, *shape[axis + 1 :])
    return _joined(writer, [writer.reshaped(x, part) for x in pieces], axis, shape)


def _concatenate(writer: Writer, eqn: ir.JaxprEqn, *pieces: Value) -> Value:
    return _joined(writer, pieces, eqn.params["dimension"], _shape(eqn))


def _joined(writer: Writer, pieces: Sequence[Value], axis: int, shape: tuple[int, ...]) -> Value:
    """Values one after the other along an axis."""
    positions, offset, result = writer.positions(shape[axis]), 0, None
    for piece in pieces:
        size = piece.shape[axis]
        # Each piece is gathered at all positions of the result; outside of the piece it is read at
        # 0, and another piece is selected there. Positions before a piece are negative, and large
        # without a sign.
        places = writer.binary("arith.subi", positions, writer.like(positions, offset))
        is_here = writer.compare(6, places, writer.like(places, size))
        places = writer.select(is_here, places, writer.like(places, 0))
        part = gathered(writer, piece, places, axis)
        is_here = writer.expanded(is_here, shape, (axis,))
        result = part if result is None else writer.select(is_here, part, result)
        offset += size
    return result  # pyright: ignore[reportReturnType]


def _pad(writer: Writer, eqn: ir.JaxprEqn, x: Value, fill: Value) -> Value:
    shape = _shape(eqn)
    inside: Value | None = None
    for axis, (low, _, interior) in enumerate(eqn.params["padding_config"]):
        size, step = x.shape[axis], interior + 1
        if shape[axis] == size:
            continue
        # From a position of the result to one of the array; with a step, elements are at its
        # multiples.
        places = along(writer, shape[axis], 1, -low)
        is_here = writer.compare(6, places, writer.like(places, (size - 1) * step + 1))
        if step > 1:
            width = writer.like(places, step)
            gap = writer.binary("arith.remsi", places, width)
            on_element = writer.compare(0, gap, writer.like(gap, 0))
            is_here = writer.binary("arith.andi", is_here, on_element)
            places = writer.binary("arith.divsi", places, width)
        places = writer.select(is_here, places, writer.like(places, 0))
        x = gathered(writer, x, places, axis)
        is_here = writer.expanded(is_here, shape, (axis,)) if len(shape) > 1 else is_here
        inside = is_here if inside is None else writer.binary("arith.andi", inside, is_here)
    return x if inside is None else writer.select(inside, x, writer.spread(fill, shape))


def _split(writer: Writer, eqn: ir.JaxprEqn, x: Value) -> list[Value]:
    axis, offset, parts = eqn.params["axis"], 0, []
    for size in eqn.params["sizes"]:
        parts.append(gathered(writer, x, along(writer, size, 1, offset), axis))
        offset += size
    return parts


def _tile(writer: Writer, eqn: ir.JaxprEqn, x: Value) -> Value:
    reps: Sequence[int] = eqn.params["reps"]
    # A repetition is a broadcast along a new axis before each one, merged with it.
    spaced: list[int] = []
    for size in x.shape:
        spaced += [1, size]
    wide = [n for pair in zip(reps, x.shape, strict=True) for n in pair]
    return writer.reshaped(
        writer.spread(writer.reshaped(x, tuple(spaced)), tuple(wide)), _shape(eqn)
    )


def _gather(writer: Writer, eqn: ir.JaxprEqn, x: Value, places: Value) -> Value:
    """The elements at positions along one axis: whole slices, or one for each of the others."""
    numbers = eqn.params["dimension_numbers"]
    if len(numbers.start_index_map) != 1:
        raise NotImplementedError("takes positions along several axes; index the reference")
    (axis,) = numbers.start_index_map
    batching = tuple(numbers.operand_batching_dims)
    others = [size for i, size in enumerate(x.shape) if i != axis]
    sizes = [n for i, n in enumerate(eqn.params["slice_sizes"]) if i != axis]
    is_sliced = not batching and sizes == others and tuple(numbers.collapsed_slice_dims) == (axis,)
    is_along = (
        len(batching) == len(others) and tuple(numbers.start_indices_batching_dims) == batching
    )
    if not is_sliced and not is_along:
        raise NotImplementedError("takes parts of slices; index the reference")
    places = writer.resized(writer.reshaped(places, places.shape[:-1]), "i32")
    inside = writer.compare(6, places, writer.like(places, x.shape[axis]))
    places = _clamped(writer, places, x.shape[axis] - 1)
    fills = eqn.params["mode"].name == "FILL_OR_DROP"
    if is_along:
        result = gathered(writer, x, places, axis)
        mask = inside
    else:
        flat = writer.reshaped(places, (prod(places.shape),))
        # The dimensions of the positions are where the axis was; ``offset_dims`` are the places of
        # the others in the result.
        wide = gathered(writer, x, flat, axis)
        slices = numbers.offset_dims
        target = [i for i in range(len(_shape(eqn))) if i not in slices]
        split = (*x.shape[:axis], *places.shape, *x.shape[axis + 1 :])
        result = writer.reshaped(wide, split)
        sources = [*slices[:axis], *target, *slices[axis:]]
        order = [sources.index(i) for i in range(len(sources))]
        result = writer.transposed(result, order)
        mask = writer.expanded(inside, result.shape, target)
    if not fills:
        return result
    fill = eqn.params["fill_value"]
    fill = filler(eqn.outvars[0].aval.dtype) if fill is None else fill  # pyright: ignore
    return writer.select(mask, result, writer.like(result, fill))


def _squeeze(writer: Writer, eqn: ir.JaxprEqn, x: Value) -> Value:
    return writer.reshaped(x, _shape(eqn))


_rules: dict[str, Any] = {
    "broadcast_in_dim": _broadcast_in_dim,
    "reshape": _reshape,
    "squeeze": _squeeze,
    "transpose": _transpose,
    "iota": _iota,
    "slice": _slice,
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update_slice,
    "rev": _rev,
    "concatenate": _concatenate,
    "pad": _pad,
    "split": _split,
    "tile": _tile,
    "stack": _stack,
    "gather": _gather,
}
triton_rules.update({ir.primitives[name]: rule for name, rule in _rules.items()})
