"""Products of small matrices of floats by a native kernel: for CPUs.

XLA gives a product to another thread, and to a library that takes some microseconds to begin. The
kernel multiplies at once, and many matrices one after another.
"""

from collections.abc import Sequence
from math import prod

import ricci_ir as ir
from ricci_stablehlo import Lowering, Value, native_kernel

# The most terms of one product, which takes as long as it does with XLA; and the fewest of all: a
# smaller one is compiled into the loops around it.
_MOST_TERMS, _LEAST_TERMS = 96**3, 8**3
# The fewest rows, columns and terms of a sum: a product with a narrow matrix reads more than it
# computes.
_LEAST_SIZE = 4
# The most terms of a sum, whose factors are copied to the caches.
_LONGEST_SUM = 256


def write_by_kernel(
    ctx: Lowering,
    lhs: Value,
    rhs: Value,
    contracting: tuple[Sequence[int], Sequence[int]],
    batch: tuple[Sequence[int], Sequence[int]],
) -> Value | None:
    """Write a product of two batches of matrices as a call of the native kernel.

    Args:
      lhs, rhs: the operands.
      contracting, batch: the contracted and the batch dimensions of each.

    Returns:
      The result, or None where there is no kernel, or XLA's product is faster.
    """
    out = ctx.out
    if not (lhs.dtype == rhs.dtype == out.dtype) or len(lhs.shape) != len(rhs.shape):
        return None
    if not all(map(ir.is_static_shape, (lhs.shape, rhs.shape))):
        return None
    matrices = len(lhs.shape) - 2
    shared = tuple(range(matrices))
    if matrices < 0 or tuple(batch[0]) != shared or tuple(batch[1]) != shared:
        return None
    if any(len(dims) != 1 for dims in contracting) or not out.size:
        return None
    (lhs_dim,), (rhs_dim,) = contracting
    rows, columns, depth = *out.shape[-2:], lhs.shape[lhs_dim]
    terms = rows * columns * depth
    if min(rows, columns, depth) < _LEAST_SIZE or depth > _LONGEST_SUM or terms > _MOST_TERMS:
        return None
    if terms * prod(out.shape[:-2]) < _LEAST_TERMS:
        return None
    kernel = native_kernel(ctx, "dot_general", lhs.aval, lhs_dim)
    if kernel is None:
        return None
    # An operand whose contracted dimension is the first of a matrix (of ``lhs``), or the last (of
    # ``rhs``), is transposed by the kernel as it is read, not by a copy before.
    orders = [range(len(x.shape))[::-1] for x in (lhs, rhs, out)]
    transposed = {"lhs": lhs_dim == matrices, "rhs": rhs_dim == matrices + 1}
    return ctx.custom_call(
        kernel.target,
        [lhs, rhs],
        [out],
        backend_config={
            "depth": f"{depth} : i64",
            **{f"{side}_transposed": str(is_so).lower() for side, is_so in transposed.items()},
        },
        operand_layouts=orders[:2],
        result_layouts=orders[2:],
    )[0]
