"""Kernels that compute rows on their own: softmax and normalizations, and their gradients.

A step takes some whole rows. Gradients of what all rows share are sums over each step's rows, which
are added up outside of the kernel.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
import ricci_numpy as jnp
from ricci_kernels.blocks._integers import cdiv, next_power_of_2

from ._folds import Blocks, Fold, Place, fold
from ._matmul import accumulator
from ._targets import Target

# The elements of a step's rows.
_ELEMENTS, _ELEMENTS_OF_GPU = 1 << 17, 1 << 12


class Rows(ir.TupleRecord):
    """A function of rows.

    Attributes:
      name: the kernel's name.
      function: its arguments are the rows of each matrix, then the vectors, as matrices in float32
        (or float64); then the mask of columns that are not padding, or ``None``. It returns the
        rows of the results, then the sums over rows.
      dtypes: of the results that are matrices.
      sums: the number of the sums.
    """

    name: str
    function: Callable[..., Sequence[Any]]
    dtypes: Sequence[Any]
    sums: int = 0


def map_rows(
    rows: Rows,
    block_rows: int | None,
    target: Target,
    matrices: Sequence[ir.Array],
    vectors: Sequence[ir.Array],
) -> list[ir.Array]:
    """Apply a function to the rows of matrices of one shape, and to vectors of their width.

    Args:
      rows: the function.
      block_rows: how many rows one step takes, or ``None``.
      target: the kind of device.
      matrices: arrays of shape (m, n).
      vectors: arrays of shape (n,).

    Returns:
      Matrices of shape (m, n), then sums of shape (n,) in float32 or float64.
    """
    m, n = matrices[0].shape
    width = target.width(n)
    count = block_rows or _preferred_rows(target, m, width)
    count = min(next_power_of_2(count), next_power_of_2(m)) if target.is_gpu else min(count, m)
    wide = accumulator(matrices[0].dtype)
    steps = cdiv(m, count)

    def finish(at: Place, _: object, *values: ir.Array) -> list[ir.Array]:
        shape = (count, width)
        inside = lax.broadcasted_iota(np.int32, shape, 1) < n if width != n else None
        results = list(rows.function(*[x.astype(wide) for x in values], inside))
        # Rows past the end are zeros, but what a function makes of them need not be: with eps = 0
        # they are normalized to NaN. Matrices are cut off there; sums need the mask.
        if rows.sums and m % count:
            is_row = lax.broadcasted_iota(np.int32, shape, 0) + at.position[0] * count < m
            zero = jnp.zeros(shape, wide)
            results[-rows.sums :] = [jnp.where(is_row, x, zero) for x in results[-rows.sums :]]
        first = len(results) - rows.sums
        return [*results[:first], *[x.sum(0, keepdims=True) for x in results[first:]]]

    matrix = Blocks((count, width), lambda at: (at.position[0], 0))
    vector = Blocks((1, width), lambda at: (0, 0))
    part = Blocks((None, 1, width), lambda at: (at.position[0], 0, 0))
    spec = Fold(
        name=rows.name,
        grid=(steps,),
        length=None,
        blocks=[*[matrix] * len(matrices), *[vector] * len(vectors)],
        outputs=[
            *[(ir.ShapeDtypeStruct((m, n), dtype), matrix) for dtype in rows.dtypes],
            *[(ir.ShapeDtypeStruct((steps, 1, n), wide), part)] * rows.sums,
        ],
        finish=finish,
        num_warps=min(16, max(4, width // 512)),
    )
    results = fold(target, spec, [*matrices, *[jnp.reshape(x, (1, n)) for x in vectors]])
    # Steps run in any order, or at the same time: each writes the sums of its rows to another row,
    # and the rows are added here.
    first = len(rows.dtypes)
    return [*results[:first], *[jnp.sum(x, (0, 1)) for x in results[first:]]]


def _preferred_rows(target: Target, m: int, width: int) -> int:
    if target.is_gpu:
        return max(1, _ELEMENTS_OF_GPU // width)
    rows = max(1, _ELEMENTS // width)
    # Several blocks have a multiple of 8 rows, the sublanes of a TPU's registers.
    return m if m <= rows else max(8, rows // 8 * 8)
