"""Fast sorting on a CPU: keys and positions are packed into integers of 64 bits.

XLA's CPU runtime calls a compiled function for each comparison, except for plain integers. A key of
32 bits or less is therefore mapped to an unsigned integer in the same order, in the upper half of
64 bits; the lower half holds the element's position. No two are equal, so any sort is stable.
"""

from collections.abc import Sequence

import numpy as np

import ricci_ir as ir
from ricci_lax.elementwise._comparison import (
    bitwise_or,
    bitwise_xor,
    compare,
    eq,
    ne,
    select_n,
    shift_left,
    shift_right_arithmetic,
)
from ricci_lax.elementwise._conversion import bitcast_convert_type, convert_element_type
from ricci_lax.shapes._dimension_numbers import GatherDimensionNumbers, GatherScatterMode
from ricci_lax.shapes._gather import gather
from ricci_lax.structure._broadcasting import expand_dims
from ricci_lax.structure._filling import broadcasted_iota, full_like
from ricci_lax.structure._operand_types import shape_of
from ricci_stablehlo import Lowering, Value, traced

# For shorter arrays the gain does not make up for the larger module.
_LEAST_LENGTH = 512
_KEY_BITS = 32
_SIGN = np.uint32(1 << 31)


def can_pack(platform: str, operands: Sequence[Value], dimension: int, num_keys: int) -> bool:
    """Whether ``sort_packed`` supports a sort, and is faster."""
    key = operands[0]
    if platform != "cpu" or num_keys != 1 or key.dtype.itemsize > 4:
        return False
    if ir.issubdtype(key.dtype, np.complexfloating):
        return False
    # Integers alone need no packing.
    is_plain = len(operands) == 1 and not ir.issubdtype(key.dtype, np.floating)
    length = key.shape[dimension]
    if not (ir.surely_at_least(length, _LEAST_LENGTH) and ir.surely_at_most(length, (1 << 32) - 1)):
        return False
    return not is_plain


def sort_packed(ctx: Lowering, *operands: Value, dimension: int) -> list[Value]:
    """Write a stable sort by the first operand."""
    with ir.enable_x64(True):
        keys = traced(_packed)(ctx, operands[0], dimension=dimension)
        positions = traced(_positions)(ctx, _sorted(ctx, keys, dimension))
        return [traced(take_along)(ctx, x, positions, dimension=dimension) for x in operands]


def _sorted(ctx: Lowering, keys: Value, dimension: int) -> Value:
    scalar = ir.ShapedArray((), keys.dtype)

    def build(inner: Lowering, x: Value, y: Value) -> list[Value]:
        return [compare(inner, "LT", x, y, "UNSIGNED")]

    region = ctx.region([scalar, scalar], build)
    attributes = f"dimension = {dimension} : i64, is_stable = true"
    return ctx.generic("stablehlo.sort", [keys], [keys.aval], attributes, [region])[0]


def _packed(key: ir.Array, *, dimension: int) -> ir.Array:
    """The ordered key of each element in the upper bits, its position in the lower ones."""
    high = convert_element_type(_ordered(key), np.uint64)
    position = broadcasted_iota(np.dtype(np.uint64), shape_of(key), dimension)
    return bitwise_or(shift_left(high, np.uint64(_KEY_BITS)), position)


def _ordered(key: ir.Array) -> ir.Array:
    """Unsigned integers in the order of the keys; all zeros are equal, all NaNs equal and last."""
    dtype = key.aval.dtype
    if ir.issubdtype(dtype, np.floating):
        key = convert_element_type(key, np.float32)
        key = select_n(eq(key, np.float32(0)), key, full_like(key, 0))
        key = select_n(ne(key, key), key, full_like(key, np.nan))
        bits = bitcast_convert_type(key, np.int32)
        # Negative numbers get all bits flipped, because greater ones have smaller magnitudes.
        flipped = bitcast_convert_type(shift_right_arithmetic(bits, np.int32(31)), np.uint32)
        return bitwise_xor(bitcast_convert_type(bits, np.uint32), bitwise_or(flipped, _SIGN))
    if not ir.issubdtype(dtype, np.signedinteger):
        return convert_element_type(key, np.uint32)
    return bitwise_xor(bitcast_convert_type(convert_element_type(key, np.int32), np.uint32), _SIGN)


def _positions(keys: ir.Array) -> ir.Array:
    """The positions in packed keys, as indices for ``take_along``."""
    positions = convert_element_type(keys, np.uint32)
    return expand_dims(positions, (len(shape_of(positions)),))


def take_along(x: ir.ArrayLike, indices: ir.ArrayLike, dimension: int) -> ir.Array:
    """The elements of ``x`` at indices along a dimension; indices end in a dimension of 1."""
    shape = shape_of(x)
    others = tuple(d for d in range(len(shape)) if d != dimension)
    numbers = GatherDimensionNumbers(
        offset_dims=(),
        collapsed_slice_dims=(dimension,),
        start_index_map=(dimension,),
        operand_batching_dims=others,
        start_indices_batching_dims=others,
    )
    return gather(x, indices, numbers, (1,) * len(shape), mode=GatherScatterMode.PROMISE_IN_BOUNDS)
