"""Products of sparse matrices by cuSPARSE, on NVIDIA GPUs.

cuSPARSE works in a buffer, a second result of the call. Its size depends on the library and the
GPU, so that the plugin is asked for it when a program is lowered, along with the description of the
call. Without a GPU there is no answer, and the product is computed by gathers and a scatter.
"""

import numpy as np

from ricci_ir import ShapedArray
from ricci_stablehlo import Lowering, Value, attribute, kernel_descriptors

__all__ = ["cusparse_product"]

_DTYPES = frozenset(map(np.dtype, ("float32", "float64", "complex64", "complex128")))
_INDEX_DTYPES = frozenset(map(np.dtype, ("int32", "int64")))


def cusparse_product(
    ctx: Lowering,
    form: str,
    data: Value,
    rows: Value,
    columns: Value,
    indptr: Value,
    x: Value,
    *,
    transpose: bool,
) -> Value | None:
    """Return the product, or None if cuSPARSE does not compute it or cannot be asked.

    Args:
      ctx: the body that the call is written to.
      form: ``"coo"`` or ``"csr"``, the format of the matrix.
      data, rows, columns, indptr, x: as for ``row_products``.
      transpose: whether the elements are stored by columns, as those of the transposed matrix are
        by rows. cuSPARSE gets that matrix, and transposes it.
    """
    sizes = (data.shape[0], *x.shape, *ctx.out.shape)
    is_static = all(isinstance(size, int) for size in sizes)
    if not is_static or data.dtype not in _DTYPES or columns.dtype not in _INDEX_DTYPES:
        return None
    descriptors = kernel_descriptors.call(ctx.platform, "sparse")
    if descriptors is None:
        return None
    shape = (ctx.out.shape[0], x.shape[0])
    lines, positions = rows, columns
    if transpose:
        shape, lines, positions = shape[::-1], columns, rows
    operation = "matvec" if len(x.shape) == 1 else "matmat"
    nse = data.shape[0]
    arguments = [data.dtype, x.dtype, ctx.out.dtype, columns.dtype, *shape, *x.shape[1:], nse]
    arguments.append(transpose)
    if (form, operation) == ("coo", "matmat"):
        # A single matrix: the number of matrices, and their distances.
        arguments += [1, nse, x.aval.size]
    describe = getattr(descriptors, f"build_{form}_{operation}_descriptor")
    buffer_size, opaque = describe(*arguments)
    indices = (lines, positions) if form == "coo" else (positions, indptr)
    outs = [ctx.out, ShapedArray((buffer_size,), np.dtype(np.int8))]
    operands = [data, *indices, x]
    return ctx.custom_call(
        f"cusparse_{form}_{operation}_ffi",
        operands,
        outs,
        backend_config={"opaque": attribute(opaque)},
        operand_layouts=[_row_major(operand.aval) for operand in operands],
        result_layouts=[_row_major(out) for out in outs],
    )[0]


def _row_major(aval: ShapedArray) -> tuple[int, ...]:
    return tuple(reversed(range(aval.ndim)))
