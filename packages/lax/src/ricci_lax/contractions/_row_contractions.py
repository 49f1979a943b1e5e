"""Products whose left matrix is contracted along its rows: for CPUs.

The gradient of a layer's weights is such a product: of the layer's inputs, transposed, and a
cotangent. XLA's CPU backend has two libraries for products of matrices. The faster one, which also
takes narrow floats, wants the contracted dimension of the left matrix last. Other products go to
the second one, which is up to ten times slower where the right matrix has few columns. Products
over several dimensions XLA brings to the first form, by a copy of the left operand that it fuses
with what computes the operand. So a second contracted dimension, of size one, gets the faster
library.

If the right matrix has few columns, or is a transpose as well, the product is the transpose of the
swapped operands' one, for which XLA copies the right matrix instead of the left one, or none.
"""

from collections.abc import Sequence

import numpy as np

import ricci_ir as ir
from ricci_stablehlo import Lowering, Value

# The copy of a smaller matrix takes as long as it saves.
_LEAST_SIZE = 4096


def is_contracted_by_rows(
    ctx: Lowering, lhs: Value, rhs: Value, contracting: Sequence[int], batch: Sequence[int]
) -> bool:
    """Whether a CPU multiplies matrices, or batches of them, of which the left one is transposed.

    Args:
      lhs, rhs: the operands.
      contracting, batch: the contracted and the batch dimensions of ``lhs``.
    """
    module, matrices = ctx.module, len(lhs.shape) - 2
    if module.platform != "cpu" or (module.num_partitions > 1 and not module.manual):
        return False
    if tuple(contracting) != (matrices,) or len(batch) != matrices:
        return False
    if not ir.is_static_shape((*lhs.shape, *rhs.shape)) or lhs.aval.size < _LEAST_SIZE:
        return False
    # Of complex numbers both libraries' products take the same time, and so the copy more.
    if not ir.issubdtype(lhs.dtype, np.number) or ir.issubdtype(lhs.dtype, np.complexfloating):
        return False
    # A product with a vector reads each element once, which is as much work as the copy.
    columns = rhs.aval.size // (lhs.aval.size // lhs.shape[-1])
    return columns > 1


def is_swapped(
    lhs: ir.Shape, rhs: ir.Shape, lhs_contracting: Sequence[int], rhs_contracting: Sequence[int]
) -> bool:
    """Whether a product is computed as the transpose of that of the swapped operands.

    Args:
      lhs, rhs: the shapes of matrices, of which the left one is contracted by rows.
      lhs_contracting, rhs_contracting: the contracted dimensions.
    """
    if len(lhs) != 2 or len(rhs) != 2 or tuple(lhs_contracting) != (0,):
        return False
    terms, rows = lhs
    columns = rhs[1 - rhs_contracting[0]]
    # The elements that are copied: of operands, so that their contracted dimension is last on the
    # left and first on the right, and of the result.
    is_first = rhs_contracting[0] == 0
    as_written = terms * (rows if is_first else rows + columns)
    swapped = columns * (terms + rows if is_first else rows)
    return 2 * swapped <= as_written


def with_unit_dimension(ctx: Lowering, x: Value, dimension: int) -> Value:
    """Insert a dimension of size one in front of another."""
    return ctx.reshape(x, (*x.shape[:dimension], 1, *x.shape[dimension:]))
