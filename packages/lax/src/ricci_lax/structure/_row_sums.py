"""Sums of rows and of columns of floats by native kernels: for CPUs."""

from collections.abc import Sequence

from ricci_stablehlo import Lowering, Value, native_kernel

# The kernel sums a row by one thread, XLA a long one by several.
_LONGEST_ROW, _LEAST_ROWS = 1 << 16, 16
_LEAST_COLUMNS = 64


def write_row_sums(ctx: Lowering, x: Value, axes: Sequence[int]) -> Value | None:
    """Write the sums of contiguous rows or columns, where a module computes nothing else.

    XLA fuses the sum with the operations around it, as no kernel is.

    Returns:
      The result, or None where there is no kernel, or XLA's operation is faster.
    """
    last = len(x.shape) - 1
    if ctx.module.only_operation != ("reduce_sum", ctx.out):
        return None
    if tuple(axes) != (last,):
        return _write_column_sums(ctx, x, axes)
    kernel = native_kernel(ctx, "reduce_sum", x.aval, last)
    if kernel is None or x.shape[last] > _LONGEST_ROW or ctx.out.size < _LEAST_ROWS:
        return None
    return kernel.write_rows(ctx, [x], [ctx.out], last)[0]


def _write_column_sums(ctx: Lowering, x: Value, axes: Sequence[int]) -> Value | None:
    """Write the sums along the leading dimensions."""
    if tuple(axes) != tuple(range(len(axes))) or not 0 < len(axes) < len(x.shape):
        return None
    kernel = native_kernel(ctx, "column_sums", x.aval, 0)
    columns = ctx.out.size
    if kernel is None or columns < _LEAST_COLUMNS or x.aval.size < _LEAST_ROWS * columns:
        return None
    return kernel.write_elements(ctx, [x], ctx.out)
