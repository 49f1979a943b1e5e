"""The rules of operations that move elements."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_kernels.tpu._operations import bitcast_p, roll_p

from ._elementwise import converted
from ._writer import BOOL, INT32, Value, Writer, bits_of, composed, mosaic_rules


def _broadcast_in_dim(
    ctx: Writer, x: Value, *_: Value, broadcast_dimensions: Sequence[int], **params: object
) -> Value:
    shape = ctx.out.shape
    if not x.shape:
        return ctx.broadcast(x, shape)
    # A broadcast takes an array of the rank of its result: the other dimensions become 1 first.
    ones = [1] * len(shape)
    for dim, size in zip(broadcast_dimensions, x.shape, strict=True):
        ones[dim] = size
    return ctx.broadcast(ctx.reshape(x, tuple(ones)), shape)


def _reshape(ctx: Writer, x: Value, **_: object) -> Value:
    return ctx.reshape(x, ctx.out.shape)


def _transpose(ctx: Writer, x: Value, *, permutation: Sequence[int], **_: object) -> Value:
    order = ", ".join(map(str, permutation))
    attributes = f"permutation = array<i64: {order}>"
    # Vectors of booleans are masks of registers, not elements that can be moved.
    if x.dtype == BOOL:
        x = ctx.as_int(x)
        moved = ctx.emit("tpu.transpose", [x], ctx.out.update(dtype=INT32), attributes)
        return ctx.as_bool(moved)
    return ctx.emit("tpu.transpose", [x], ctx.out, attributes)


def concatenated(ctx: Writer, parts: Sequence[Value], axis: int) -> Value:
    """Write the concatenation of arrays."""
    parts = [x for x in parts if x.shape[axis]]
    if len(parts) == 1:
        return parts[0]
    if parts[0].dtype == BOOL:
        return ctx.as_bool(concatenated(ctx, [ctx.as_int(x) for x in parts], axis))
    shape = list(parts[0].shape)
    shape[axis] = sum(x.shape[axis] for x in parts)
    aval = parts[0].aval.resized(tuple(shape))
    return ctx.emit("tpu.concatenate", parts, aval, f"dimension = {axis} : i32")


def sliced(ctx: Writer, x: Value, starts: Sequence[int], sizes: Sequence[int]) -> Value:
    """Write a slice without strides."""
    if tuple(sizes) == x.shape:
        return x
    if x.dtype == BOOL:
        return ctx.as_bool(sliced(ctx, ctx.as_int(x), starts, sizes))
    texts = [", ".join(map(str, part)) for part in (starts, sizes, [1] * len(sizes))]
    attributes = f"offsets = [{texts[0]}], sizes = [{texts[1]}], strides = [{texts[2]}]"
    aval = x.aval.resized(tuple(sizes))
    return ctx.emit("vector.extract_strided_slice", [x], aval, attributes)


def _slice(
    ctx: Writer,
    x: Value,
    *,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None,
    **_: object,
) -> Value:
    sizes = [end - start for start, end in zip(start_indices, limit_indices, strict=True)]
    x = sliced(ctx, x, start_indices, sizes)
    for axis, stride in enumerate(strides or ()):
        if stride != 1:
            # Vectors have no strided slices: the selected rows are joined.
            parts = [_row(ctx, x, axis, i) for i in range(0, x.shape[axis], stride)]
            x = concatenated(ctx, parts, axis)
    return x


def _row(ctx: Writer, x: Value, axis: int, i: int) -> Value:
    starts = [i if d == axis else 0 for d in range(len(x.shape))]
    return sliced(ctx, x, starts, [1 if d == axis else n for d, n in enumerate(x.shape)])


def _concatenate(ctx: Writer, *parts: Value, dimension: int, **_: object) -> Value:
    return concatenated(ctx, parts, dimension)


def _split(ctx: Writer, x: Value, *, sizes: Sequence[int], axis: int, **_: object) -> list[Value]:
    parts, start = [], 0
    for size in sizes:
        starts = [start if d == axis else 0 for d in range(len(x.shape))]
        shape = [int(size) if d == axis else n for d, n in enumerate(x.shape)]
        parts.append(sliced(ctx, x, starts, shape))
        start += int(size)
    return parts


def _stack(ctx: Writer, *parts: Value, axis: int, **_: object) -> Value:
    shape = list(ctx.out.shape)
    shape[axis] = 1
    return concatenated(ctx, [ctx.reshape(x, tuple(shape)) for x in parts], axis)


def _unstack(ctx: Writer, x: Value, *, axis: int, **_: object) -> list[Value]:
    shape = ctx.outs[0].shape
    return [ctx.reshape(_row(ctx, x, axis, i), shape) for i in range(x.shape[axis])]


def _tile(ctx: Writer, x: Value, *, reps: Sequence[int], **_: object) -> Value:
    if len(reps) > len(x.shape):
        x = ctx.reshape(x, (1,) * (len(reps) - len(x.shape)) + x.shape)
    for axis, count in enumerate(reps):
        x = concatenated(ctx, [x] * count, axis)
    return x


def _pad(
    ctx: Writer,
    x: Value,
    fill: Value,
    *,
    padding_config: Sequence[tuple[int, int, int]],
    **_: object,
) -> Value:
    for axis, (low, high, interior) in enumerate(padding_config):
        size = x.shape[axis]
        piece = lambda n, axis=axis: ctx.broadcast(
            fill,
            tuple([n if d == axis else m for d, m in enumerate(x.shape)]),  # noqa: B023
        )
        if interior and size > 1:
            parts: list[Value] = []
            for i in range(size):
                parts += [piece(interior)] if i else []
                parts.append(_row(ctx, x, axis, i))
            x = concatenated(ctx, parts, axis)
            size = x.shape[axis]
        # Negative padding cuts elements off.
        start, end = max(-low, 0), size - max(-high, 0)
        starts = [start if d == axis else 0 for d in range(len(x.shape))]
        x = sliced(ctx, x, starts, [end - start if d == axis else n for d, n in enumerate(x.shape)])
        x = concatenated(ctx, [piece(max(low, 0)), x, piece(max(high, 0))], axis)
    return x


def _iota(ctx: Writer, *, dimension: int, **_: object) -> Value:
    out = ctx.out
    return converted(ctx, positions(ctx, out.shape, dimension), out.dtype)


def positions(ctx: Writer, shape: tuple[int, ...], axis: int) -> Value:
    """Write the int32 positions along a dimension."""
    # The operation makes arrays of two dimensions or more.
    if len(shape) == 1:
        return ctx.reshape(positions(ctx, (1, *shape), 1), shape)
    attributes = f"dimensions = array<i32: {axis}>"
    return ctx.emit("tpu.iota", [], ir.ShapedArray(shape, INT32), attributes)


def rotated(ctx: Writer, x: Value, shift: Value, axis: int, attributes: str = "") -> Value:
    """Write the rotation of an array along a dimension."""
    if bits_of(x.dtype) < 32:
        raise ctx.refuse(f"an array of {x.dtype} is not rotated. Convert it to 32 bits.")
    return ctx.emit(
        "tpu.dynamic_rotate", [x, shift], x.aval, f"dimension = {axis} : si32{attributes}"
    )


def _roll(
    ctx: Writer, x: Value, shift: Value, *, jaxpr: ir.Jaxpr, axis: int, **params: object
) -> list[Value]:
    if bits_of(x.dtype) < 32 or len(x.shape) < 2:
        return ctx.apply(jaxpr, [x, shift])
    # An amount is not negative.
    size, scalar = x.shape[axis], ir.ShapedArray((), INT32)
    wrapped = ctx.emit("arith.remsi", [shift, ctx.int32(size)], scalar)
    is_negative = ctx.compare(wrapped, ctx.int32(0), "lt")
    positive = ctx.emit("arith.addi", [wrapped, ctx.int32(size)], scalar)
    amount = ctx.emit("arith.select", [is_negative, positive, wrapped], scalar)
    attributes = ""
    if params["stride"] is not None:
        attributes = f", stride = {params['stride']} : si32"
        attributes += f", stride_dimension = {params['stride_axis']} : si32"
    return [rotated(ctx, x, amount, axis, attributes)]


def _row_bitcast(ctx: Writer, x: Value, *, dim: int, **_: object) -> list[Value]:
    out = ctx.outs[0]
    if dim == len(x.shape) - 1 and bits_of(x.dtype) != bits_of(out.dtype):
        raise ctx.refuse(
            f"it changes the width from {x.dtype} to {out.dtype} along the last dimension. A "
            "register joins and splits rows: leave out dim, or transpose."
        )
    return [ctx.emit("tpu.bitcast", [x], out)]


def _dynamic_starts(ctx: Writer, starts: Sequence[Value], limits: Sequence[int]) -> list[Value]:
    """The starts as int32, clamped so that a window is inside."""
    clamped = []
    for start, limit in zip(starts, limits, strict=True):
        scalar = ir.ShapedArray((), INT32)
        start = converted(ctx, start, INT32)
        low = ctx.emit("arith.maxsi", [start, ctx.int32(0)], scalar)
        clamped.append(ctx.emit("arith.minsi", [low, ctx.int32(limit)], scalar))
    return clamped


def _dynamic_slice(
    ctx: Writer, x: Value, *starts: Value, slice_sizes: Sequence[int], **_: object
) -> Value:
    sizes = tuple(slice_sizes)
    limits = [n - size for n, size in zip(x.shape, sizes, strict=True)]
    # A vector is not indexed with traced positions: each dimension is rotated, then sliced.
    for axis, start in enumerate(_dynamic_starts(ctx, starts, limits)):
        if sizes[axis] == x.shape[axis]:
            continue
        # A rotation by size − start brings the window to the front.
        shift = ctx.emit("arith.subi", [ctx.int32(x.shape[axis]), start], start.aval)
        x = _narrow_rotation(ctx, x, shift, axis)
    return sliced(ctx, x, [0] * len(sizes), sizes)


def _narrow_rotation(ctx: Writer, x: Value, shift: Value, axis: int) -> Value:
    if bits_of(x.dtype) == 32:
        return rotated(ctx, x, shift, axis)
    wide = np.dtype("float32") if ir.issubdtype(x.dtype, np.floating) else INT32
    return converted(ctx, rotated(ctx, converted(ctx, x, wide), shift, axis), x.dtype)


def _dynamic_update_slice(
    ctx: Writer, x: Value, update: Value, *starts: Value, **_: object
) -> Value:
    limits = [n - size for n, size in zip(x.shape, update.shape, strict=True)]
    clamped = _dynamic_starts(ctx, starts, limits)
    sizes = update.shape
    zero = ctx.full((), 0, x.dtype)
    mask = None
    flags = ir.ShapedArray(x.shape, BOOL)
    for axis, size in enumerate(sizes):
        if size == x.shape[axis]:
            continue
        # The update gets the array's size, is rotated to its place, and selected by a mask of
        # positions.
        room = [*update.shape]
        room[axis] = x.shape[axis] - size
        update = concatenated(ctx, [update, ctx.broadcast(zero, tuple(room))], axis)
    for axis, (start, size) in enumerate(zip(clamped, sizes, strict=True)):
        if size == x.shape[axis]:
            continue
        update = _narrow_rotation(ctx, update, start, axis)
        place = positions(ctx, x.shape, axis)
        first = ctx.broadcast(start, x.shape)
        end = ctx.emit("arith.addi", [start, ctx.int32(size)], start.aval)
        inside = ctx.emit(
            "arith.andi",
            [
                ctx.compare(place, first, "ge"),
                ctx.compare(place, ctx.broadcast(end, x.shape), "lt"),
            ],
            flags,
        )
        mask = inside if mask is None else ctx.emit("arith.andi", [mask, inside], flags)
    return update if mask is None else ctx.emit("arith.select", [mask, update, x], x.aval)


# No instruction reverses a vector: its rows are joined in reverse order.
def _rev(ctx: Writer, x: Value, *, dimensions: Sequence[int], **_: object) -> Value:
    for axis in dimensions:
        rows = [_row(ctx, x, axis, i) for i in reversed(range(x.shape[axis]))]
        x = concatenated(ctx, rows, axis)
    return x


def _gather(
    ctx: Writer,
    x: Value,
    indices: Value,
    *,
    dimension_numbers: lax.GatherDimensionNumbers,
    **_: object,
) -> Value:
    """``take_along_axis`` of two dimensions: one index for each element of the result."""
    numbers = dimension_numbers
    batched = tuple(numbers.operand_batching_dims)
    axes = tuple(numbers.start_index_map)
    shape = ctx.out.shape
    if (
        numbers.offset_dims
        or len(axes) != 1
        or len(x.shape) != 2
        or sorted((*batched, *axes)) != [0, 1]
        or shape != x.shape
        or indices.shape != (*shape, 1)
    ):
        raise ctx.refuse(
            "only jnp.take_along_axis of an array of rank 2 along an axis, with as many indices as "
            "elements, is a gather there. Read rows of a reference instead: ref[pl.ds(i, 1)]."
        )
    places = ctx.reshape(indices, shape)
    return ctx.emit(
        "tpu.dynamic_gather", [x, places], ctx.out, f"dimensions = array<i32: {axes[0]}>"
    )


def _scatter(combine: Callable[[ir.Array, ir.Array], ir.Array] | None) -> Callable[..., Value]:
    """A scatter of one window, which is an update of a slice; out of bounds it is dropped."""

    def update(
        x: ir.Array,
        indices: ir.Array,
        updates: ir.Array,
        *,
        dimension_numbers: lax.ScatterDimensionNumbers,
        **_: object,
    ) -> ir.Array:
        numbers = dimension_numbers
        windows = iter(numbers.update_window_dims)
        inserted = numbers.inserted_window_dims
        shape = [1 if d in inserted else updates.shape[next(windows)] for d in range(x.ndim)]
        flat = lax.reshape(indices, (indices.size,))
        starts: list[Any] = [np.int32(0)] * x.ndim
        inside: Any = np.bool_(True)
        for place, d in enumerate(numbers.scatter_dims_to_operand_dims):
            start = lax.reshape(lax.slice_in_dim(flat, place, place + 1), ())
            starts[d] = lax.convert_element_type(start, np.int32)
            # dynamic_update_slice would move a window that leaves the array; a scatter drops it.
            fits = lax.bitwise_and(starts[d] >= 0, starts[d] <= x.shape[d] - shape[d])
            inside = lax.bitwise_and(inside, fits)
        value = lax.reshape(updates, shape)
        if combine is not None:
            value = combine(lax.dynamic_slice(x, starts, shape), value)
        written = lax.dynamic_update_slice(x, value, starts)
        return lax.select(lax.broadcast_in_dim(inside, x.shape, ()), written, x)

    compose = composed(update)

    def rule(ctx: Writer, x: Value, indices: Value, updates: Value, **params: object) -> Value:
        if np.prod(indices.shape[:-1], initial=1) != 1:
            raise ctx.refuse(
                f"it writes {indices.shape[0]} windows. Write each with a loop over a reference: "
                "ref[pl.ds(i, 1)] = row."
            )
        return compose(ctx, x, indices, updates, **params)

    return rule


def _empty(ctx: Writer, *_: Value, **params: object) -> Value:
    return ctx.full(ctx.out.shape, 0, ctx.out.dtype)


mosaic_rules.update(
    {
        lax.broadcast_in_dim_p: _broadcast_in_dim,
        lax.concatenate_p: _concatenate,
        lax.scatter_add_p: _scatter(lax.add),
        lax.scatter_max_p: _scatter(lax.max),
        lax.scatter_min_p: _scatter(lax.min),
        lax.scatter_mul_p: _scatter(lax.mul),
        lax.scatter_p: _scatter(None),
        lax.dynamic_slice_p: _dynamic_slice,
        lax.dynamic_update_slice_p: _dynamic_update_slice,
        lax.gather_p: _gather,
        lax.iota_p: _iota,
        lax.pad_p: _pad,
        lax.reshape_p: _reshape,
        lax.rev_p: _rev,
        lax.slice_p: _slice,
        lax.split_p: _split,
        lax.squeeze_p: _reshape,
        lax.tile_p: _tile,
        lax.transpose_p: _transpose,
        bitcast_p: _row_bitcast,
        roll_p: _roll,
        ir.primitives["empty"]: _empty,
        ir.primitives["stack"]: _stack,
        ir.primitives["unstack"]: _unstack,
    }
)
