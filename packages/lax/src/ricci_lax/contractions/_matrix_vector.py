"""Products of a matrix of floats and a vector by a native kernel: for CPUs.

XLA gives a product to another thread, and to a library that reads several rows in turn. The kernel
reads one row after another, which is faster where the matrix is in a cache and the vector in the
nearest one.
"""

from collections.abc import Sequence

from ricci_stablehlo import Lowering, Value, native_kernel

_LEAST_ROWS = 16
# The most bytes of the matrix and of the vector.
_LARGEST_MATRIX, _LARGEST_VECTOR = 1 << 24, 1 << 14


def write_matrix_vector(
    ctx: Lowering,
    lhs: Value,
    rhs: Value,
    contracting: tuple[Sequence[int], Sequence[int]],
    batch: tuple[Sequence[int], Sequence[int]],
) -> Value | None:
    """Write the product of a matrix and a vector, where a module computes nothing else.

    Args:
      lhs, rhs: the operands.
      contracting, batch: the contracted and the batch dimensions of each.

    Returns:
      The result, or None where there is no kernel, or XLA's product is faster.
    """
    out = ctx.out
    if ctx.module.only_operation != ("dot_general", out) or len(rhs.shape) != 1:
        return None
    dimensions = tuple(tuple(dims) for dims in (*contracting, *batch))
    if len(lhs.shape) != 2 or dimensions != ((1,), (0,), (), ()):
        return None
    if not lhs.dtype == rhs.dtype == out.dtype:
        return None
    kernel = native_kernel(ctx, "matrix_vector", lhs.aval, 1)
    if kernel is None or out.size < _LEAST_ROWS:
        return None
    matrix_bytes, vector_bytes = (x.aval.size * x.dtype.itemsize for x in (lhs, rhs))
    if matrix_bytes > _LARGEST_MATRIX or vector_bytes > _LARGEST_VECTOR:
        return None
    return kernel.write_elements(ctx, [lhs, rhs], out)
