"""Products of matrices of integers by 32-bit signed ones: for CPUs.

XLA's CPU backend has libraries for products whose results are int32. Others of at most 32 bits it
computes one element at a time, hundreds of times slower. Their results are the lowest bits of the
former.
"""

from collections.abc import Sequence
from math import prod

import numpy as np

import ricci_ir as ir
from ricci_stablehlo import Lowering, Value

_INT8, _INT32 = np.dtype(np.int8), np.dtype(np.int32)
# The fewest rows and columns of the result: products with vectors are vectorised as they are.
_LEAST_ROWS = 8


def in_int32(
    ctx: Lowering, lhs: Value, rhs: Value, shared: Sequence[int]
) -> tuple[Value, Value] | None:
    """Return the operands of a product of int32 result that is faster than the one of integers.

    Args:
      lhs, rhs: the operands.
      shared: the contracted and the batch dimensions of ``lhs``.

    Returns:
      The operands, or None where the product is no product of narrow or unsigned matrices.
    """
    out = ctx.out
    dtypes = lhs.dtype, rhs.dtype, out.dtype
    if ctx.platform != "cpu" or not ir.is_static_shape((*lhs.shape, *rhs.shape)):
        return None
    if any(d.kind not in "iu" or d.itemsize > 4 for d in dtypes):
        return None
    if out.dtype == _INT32 and dtypes[:2] in ((_INT8, _INT8), (_INT32, _INT32)):
        return None
    size = prod(lhs.shape[d] for d in shared)
    if not size or min(lhs.aval.size, rhs.aval.size) < _LEAST_ROWS * size:
        return None
    if dtypes[:2] == (_INT8, _INT8):
        return lhs, rhs
    return in_dtype(ctx, lhs, _INT32), in_dtype(ctx, rhs, _INT32)


def in_dtype(ctx: Lowering, x: Value, dtype: np.dtype) -> Value:
    """Convert integers to another integer dtype by their lowest bits."""
    if x.dtype == dtype:
        return x
    same_width = x.dtype.itemsize == dtype.itemsize
    op = "stablehlo.bitcast_convert" if same_width else "stablehlo.convert"
    return ctx.emit(op, [x], x.aval.update(dtype=dtype), full=True)
