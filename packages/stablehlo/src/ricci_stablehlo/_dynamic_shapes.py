"""Write operations with sizes, in their static or dynamic StableHLO form.

If all sizes are static, they are attributes of the operation. If some are symbolic, the dynamic
form takes them as operands. These functions choose the form, so that lowering rules need not.
"""

from collections.abc import Sequence

from ricci_ir import ShapedArray, is_static_shape

from ._dimensions import shape_value
from ._types import int_array, int_list, tensor_type
from ._values import Value
from ._writer import Writer

__all__ = [
    "write_broadcast",
    "write_dynamic_slice",
    "write_gather",
    "write_iota",
    "write_pad",
    "write_reshape",
    "write_slice",
]


def write_broadcast(ctx: Writer, x: Value, dims: Sequence[int], out: ShapedArray) -> Value:
    """Write ``broadcast_in_dim``: dimension ``i`` of ``x`` becomes dimension ``dims[i]``."""
    if not ctx.module.symbolic or is_static_shape(out.shape):
        return ctx.emit(
            "stablehlo.broadcast_in_dim", [x], out, f", dims = {int_list(dims)}", full=True
        )
    operands, dimensions = [x, shape_value(ctx, out.shape)], f", dims = {int_list(dims)}"
    return ctx.emit("stablehlo.dynamic_broadcast_in_dim", operands, out, dimensions, full=True)


def write_reshape(ctx: Writer, x: Value, out: ShapedArray) -> Value:
    """Write ``reshape``."""
    if not ctx.module.symbolic or is_static_shape(out.shape):
        return ctx.emit("stablehlo.reshape", [x], out, full=True)
    return ctx.emit("stablehlo.dynamic_reshape", [x, shape_value(ctx, out.shape)], out, full=True)


def write_iota(ctx: Writer, dimension: int, out: ShapedArray) -> Value:
    """Write ``iota``."""
    if not ctx.module.symbolic or is_static_shape(out.shape):
        return ctx.append("stablehlo.iota", f" dim = {dimension}", [out], tensor_type(out))[0]
    sizes = [shape_value(ctx, out.shape)]
    return ctx.emit("stablehlo.dynamic_iota", sizes, out, f", dim = {dimension}", full=True)


def write_slice(
    ctx: Writer,
    x: Value,
    starts: Sequence[int],
    limits: Sequence[int],
    strides: Sequence[int],
    out: ShapedArray,
) -> Value:
    """Write ``slice``."""
    if not ctx.module.symbolic or is_static_shape((*starts, *limits, *strides)):
        parts = [
            f"{start}:{limit}" + (f":{stride}" if stride != 1 else "")
            for start, limit, stride in zip(starts, limits, strides, strict=True)
        ]
        return ctx.emit("stablehlo.slice", [x], out, f"[{', '.join(parts)}]", full=True)
    ends = [shape_value(ctx, sizes) for sizes in (starts, limits, strides)]
    return ctx.emit("stablehlo.real_dynamic_slice", [x, *ends], out, full=True)


def write_dynamic_slice(
    ctx: Writer, x: Value, indices: Sequence[Value], sizes: Sequence[int], out: ShapedArray
) -> Value:
    """Write ``dynamic_slice``, which clamps the indices so that the slice lies within ``x``."""
    if not ctx.module.symbolic or is_static_shape(sizes):
        text = f", sizes = {int_list(sizes)}"
        return ctx.emit("stablehlo.dynamic_slice", [x, *indices], out, text, full=True)
    one = indices[0].aval.update(shape=(1,))
    parts = [ctx.emit("stablehlo.reshape", [v], one) for v in indices]
    position = parts[0]
    if len(parts) > 1:
        joined = one.update(shape=(len(parts),))
        position = ctx.emit("stablehlo.concatenate", parts, joined, ", dim = 0")
    every = int_list(range(len(parts)))
    return write_gather(
        ctx, x, position, f"offset_dims = {every}, start_index_map = {every}", sizes, out
    )


def write_pad(
    ctx: Writer, x: Value, value: Value, config: Sequence[tuple[int, int, int]], out: ShapedArray
) -> Value:
    """Write ``pad``; ``config`` has the padding of each dimension, as in ``lax.pad``."""
    low, high, interior = zip(*config, strict=True) if config else ((), (), ())
    if not ctx.module.symbolic or is_static_shape((*low, *high, *interior)):
        text = f", low = {int_list(low)}, high = {int_list(high)}, interior = {int_list(interior)}"
        return ctx.emit("stablehlo.pad", [x, value], out, text, full=True)
    ends = [shape_value(ctx, sizes) for sizes in (low, high, interior)]
    return ctx.emit("stablehlo.dynamic_pad", [x, value, *ends], out, full=True)


def write_gather(
    ctx: Writer,
    x: Value,
    indices: Value,
    numbers: str,
    sizes: Sequence[int],
    out: ShapedArray,
    indices_are_sorted: bool = False,
) -> Value:
    """Write ``gather``; ``numbers`` is the text of its dimension numbers."""
    attributes = (
        f"dimension_numbers = #stablehlo.gather<{numbers}>, "
        f"indices_are_sorted = {str(indices_are_sorted).lower()}"
    )
    if not ctx.module.symbolic or is_static_shape(sizes):
        attributes += f", slice_sizes = {int_array(sizes)}"
        return ctx.generic("stablehlo.gather", [x, indices], [out], attributes)[0]
    operands = [x, indices, shape_value(ctx, sizes)]
    return ctx.generic("stablehlo.dynamic_gather", operands, [out], attributes)[0]
