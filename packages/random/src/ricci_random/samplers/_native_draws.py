"""Samplers lowered to compiled kernels for CPUs, which draw the same bits.

A kernel computes the random bits of a Threefry key and what they become in one pass over memory.
XLA counts a custom call as no work, so that it runs a small one on the thread that calls it.
"""

from math import prod

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_stablehlo import Lowering, NativeKernel, Value, native_kernel, traced

__all__: list[str] = []

_MOST = 1 << 32  # elements, whose positions have 32 bits
# XLA takes no longer for more float32 numbers, and fuses them with the operations on them.
_MOST_FUSED = 1 << 15
# Of more there are more buckets than the first cache has lines.
_MOST_SHUFFLED = 1 << 22


def draw_kernel(ctx: Lowering, operation: str, key: Value, size: int) -> NativeKernel | None:
    """Return the kernel that draws numbers of the result's dtype, or ``None``.

    Args:
      ctx: the context of the call.
      operation: its name in the table of kernels.
      key: the lowered key.
      size: the number of elements.
    """
    impl = key.aval.dtype._impl
    if key.aval.ndim or impl.name != "threefry2x32" or not impl.is_positional:
        return None
    if not ir.is_static_shape((size,)) or not 0 < size < _MOST:
        return None
    return native_kernel(ctx, operation, ir.ShapedArray((size,), ctx.out.dtype), 0)


def words_of(key: Value) -> Value:
    """Return the words of a lowered key."""
    return Value(key.name, key.aval.dtype.physical_aval(key.aval))


def lower_uniform(
    ctx: Lowering, key: Value, *bounds: Value, shape: ir.Shape, dtype: np.dtype
) -> list[Value] | None:
    """Lower uniform numbers between scalar bounds."""
    size = prod(shape)
    kernel = draw_kernel(ctx, "uniform", key, size)
    if kernel is None or size >= _MOST_FUSED or any(x.shape for x in bounds):
        return None
    out = ctx.out
    convert = traced(lambda *xs: [lax.convert_element_type(x, dtype) for x in xs])
    return [kernel.write_elements(ctx, [words_of(key), *convert(ctx, *bounds)], out)]


def lower_normal(
    ctx: Lowering, key: Value, *, shape: ir.Shape, dtype: np.dtype
) -> list[Value] | None:
    """Lower normal numbers."""
    size = prod(shape)
    kernel = draw_kernel(ctx, "normal", key, size)
    if kernel is None or (dtype == np.float32 and size >= _MOST_FUSED):
        return None
    return [kernel.write_elements(ctx, [words_of(key)], ctx.out)]


def lower_gumbel(
    ctx: Lowering, key: Value, *, shape: ir.Shape, dtype: np.dtype, mode: str
) -> list[Value] | None:
    """Lower Gumbel numbers of one uniform number each."""
    kernel = draw_kernel(ctx, "gumbel", key, prod(shape)) if mode == "low" else None
    return None if kernel is None else [kernel.write_elements(ctx, [words_of(key)], ctx.out)]


def lower_shuffle(ctx: Lowering, key: Value, x: Value, *, axis: int) -> list[Value] | None:
    """Lower a vector's elements in random order."""
    if len(x.shape) != 1 or not ir.is_static_shape(x.shape) or x.shape[0] > _MOST_SHUFFLED:
        return None
    kernel = draw_kernel(ctx, "shuffle", key, x.shape[0])
    if kernel is None:
        return None
    rounds = shuffle_rounds(x.shape[0])
    return ctx.custom_call(
        kernel.target,
        [words_of(key), x],
        list(ctx.outs),
        backend_config={"rounds": f"{rounds} : i64"},
        operand_layouts=[(0,), (0,)],
        result_layouts=[(0,)],
    )


def shuffle_rounds(size: int) -> int:
    """Return how often as many elements are sorted by 32 random bits each.

    Each order has the same probability as long as no two numbers are equal. With three times as
    many random bits as positions need, that is improbable.
    """
    return int(np.ceil(3 * np.log(max(1, size)) / np.log(2**32 - 1)))


def lower_gamma_proposals(ctx: Lowering, keys: Value, c: Value, d: Value) -> list[Value] | None:
    """Lower the first proposals of gamma numbers, of a key each."""
    impl = keys.aval.dtype._impl
    if impl.name != "threefry2x32" or not impl.is_positional:
        return None
    kernel = native_kernel(ctx, "gamma", c.aval, 0)
    if kernel is None:
        return None
    return ctx.custom_call(
        kernel.target,
        [words_of(keys), c, d],
        list(ctx.outs),
        operand_layouts=[(1, 0), (0,), (0,)],
        result_layouts=[(0,), (0,)],
    )
