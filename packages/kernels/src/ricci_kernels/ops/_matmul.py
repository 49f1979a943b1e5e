"""A matrix product by tiles, and its gradient."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
import ricci_numpy as jnp
from ricci_kernels.blocks._integers import cdiv
from ricci_kernels.blocks._specs import CostEstimate

from ._folds import Blocks, Carry, Fold, Place, fold
from ._targets import Target, on_device, varying_alike

__all__ = ["matmul"]


class Tiles(ir.TupleRecord):
    """The sizes of a product's blocks: rows, columns, and the contracted dimension."""

    rows: int
    columns: int
    depth: int

    @classmethod
    def default(cls, target: Target, dtype: np.dtype) -> "Tiles":
        """The tiles for a device."""
        if not target.is_gpu:
            return cls(512, 512, 512)
        return cls(128, 128, 32) if np.dtype(dtype).itemsize < 4 else cls(64, 64, 32)


class _Product(ir.TupleRecord):
    """The parameters of a product.

    Attributes:
      dims: the contracted dimension of each operand.
      dtype: of the result.
      tiles: the sizes of blocks, or ``None``.
      precision, interpret: see ``matmul``.
    """

    dims: tuple[int, int]
    dtype: Any
    tiles: tuple[int, int, int] | None
    precision: lax.PrecisionLike
    interpret: bool | None


def accumulator(dtype: np.dtype) -> np.dtype:
    """The dtype in which products are summed."""
    # Products of narrow numbers do not fit their dtype, and matrix units add in 32 bits anyway.
    if ir.issubdtype(dtype, np.integer):
        return np.dtype(np.int32)
    return jnp.promote_types(dtype, np.float32)


def adding_product(
    dims: tuple[int, int], precision: lax.PrecisionLike, dtype: np.dtype
) -> Callable[..., list[ir.Array]]:
    """The step of a fold that adds a product of two blocks to its carry.

    Args:
      dims: the contracted dimension of each block.
      precision: of the product.
      dtype: of the sums.
    """
    numbers = (((dims[0],), (dims[1],)), ((), ()))

    def step(_: Place, carry: Sequence[ir.Array], lhs: ir.Array, rhs: ir.Array) -> list[ir.Array]:
        options = {"precision": precision, "preferred_element_type": dtype}
        return [carry[0] + lax.dot_general(lhs, rhs, numbers, **options)]

    return step


def matmul(
    x: ir.ArrayLike,
    y: ir.ArrayLike,
    *,
    block_sizes: tuple[int, int, int] | None = None,
    preferred_element_type: ir.DTypeLike | None = None,
    precision: lax.PrecisionLike = None,
    interpret: bool | None = None,
) -> ir.Array:
    """Multiply two matrices by a kernel, tile by tile, with sums in float32 (or float64, int32).

    Sizes are arbitrary: blocks at the ends of the arrays are filled with zeros.

    Args:
      x: an array of shape (m, k).
      y: an array of shape (k, n), of the same dtype.
      block_sizes: the rows and columns of a tile of the result, and how much of ``k`` one step
        adds. On GPUs they are rounded to powers of 2; on TPUs multiples of 8 and 128 are supported.
        By default they suit the device.
      preferred_element_type: the dtype of the result, by default that of the operands.
      precision: of the products, see ``lax.dot_general``.
      interpret: ``True`` interprets the kernel, ``False`` compiles it. By default it is compiled
        for TPUs and NVIDIA GPUs, and interpreted elsewhere.

    Returns:
      An array of shape (m, n). Its gradient is computed by the same kernel.

    Raises:
      ValueError: if shapes or dtypes do not fit.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental.pallas import ops
      >>> x, y = jnp.arange(6.0).reshape(2, 3), jnp.arange(12.0).reshape(3, 4)
      >>> bool((ops.matmul(x, y) == x @ y).all())
      True
    """
    x, y = jnp.asarray(x), jnp.asarray(y)
    if x.ndim != 2 or y.ndim != 2 or x.shape[1] != y.shape[0] or x.dtype != y.dtype:
        raise ValueError(
            "matmul multiplies matrices of shapes (m, k) and (k, n) and one dtype, got "
            f"{x.aval.str_short()} and {y.aval.str_short()}. Map over further dimensions with vmap."
        )
    dtype = np.dtype(preferred_element_type or x.dtype)
    x, y = varying_alike(x, y)
    tiles = None if block_sizes is None else tuple(block_sizes)
    return _matmul(_Product((1, 0), dtype, tiles, precision, interpret), x, y)  # pyright: ignore


@partial(lax.custom_vjp, nondiff_argnums=(0,))
def _matmul(product: _Product, x: ir.Array, y: ir.Array) -> ir.Array:
    m, n = x.shape[1 - product.dims[0]], y.shape[1 - product.dims[1]]
    if not m or not n or not x.shape[product.dims[0]]:
        return jnp.zeros((m, n), product.dtype)
    return on_device(partial(_product, product), product.interpret, x, y)


def _forward(
    product: _Product, x: ir.Array, y: ir.Array
) -> tuple[ir.Array, tuple[ir.Array, ir.Array]]:
    return _matmul(product, x, y), (x, y)


def _backward(
    product: _Product, operands: tuple[ir.Array, ir.Array], ct: ir.Array
) -> tuple[ir.Array, ir.Array]:
    x, y = operands
    ct = ct.astype(x.dtype)
    tiles = product.tiles
    by = lambda dims, dtype, order: product._replace(
        dims=dims, dtype=dtype, tiles=None if tiles is None else tuple([tiles[i] for i in order])
    )
    # With the result of shape (m, n), dx contracts n and dy contracts m. The operands are passed as
    # they are, by the dimensions to contract, so that no transposed copy is written; ``order``
    # takes the block sizes of (m, n, k) to the roles that these dimensions have in the product.
    (a, b), free = product.dims, [1 - d for d in product.dims]
    # The cotangent has the rows of x and the columns of y.
    dx = _matmul(by((1, free[1]), x.dtype, (0, 2, 1)), ct, y)
    dy = _matmul(by((free[0], 0), y.dtype, (2, 1, 0)), x, ct)
    return dx if a == 1 else dx.T, dy if b == 0 else dy.T


_matmul.defvjp(_forward, _backward)


def _product(product: _Product, target: Target, x: ir.Array, y: ir.Array) -> ir.Array:
    a, b = product.dims
    m, k, n = x.shape[1 - a], x.shape[a], y.shape[1 - b]
    sizes = product.tiles or Tiles.default(target, x.dtype)
    rows, columns, depth = (target.block(*pair) for pair in zip((m, n, k), sizes, strict=True))
    wide = accumulator(x.dtype)

    def blocks(free: int, size: int, axis: int) -> Blocks:
        """Those of an operand whose dimension ``free`` is along an axis of the grid."""
        # A pair of the free and the contracted dimension, in the order of the array.
        order = (lambda i, j: (i, j)) if free == 0 else (lambda i, j: (j, i))
        return Blocks(order(size, depth), lambda at: order(at.position[axis], at.step), True)

    itemsize = np.dtype(x.dtype).itemsize
    spec = Fold(
        name="matmul",
        grid=(cdiv(m, rows), cdiv(n, columns)),
        length=cdiv(k, depth),
        blocks=[blocks(1 - a, rows, 0), blocks(1 - b, columns, 1)],
        outputs=[
            (
                ir.ShapeDtypeStruct((m, n), product.dtype),
                Blocks((rows, columns), lambda at: at.position),
            )
        ],
        carry=[Carry((rows, columns), wide)],
        step=adding_product((a, b), product.precision, wide),
        finish=lambda _, carry: carry,
        num_warps=8 if rows * columns > 8192 else 4,
        cost=CostEstimate(2 * m * n * k, 0, itemsize * (m * k + k * n + m * n)),
    )
    return fold(target, spec, [x, y])[0]
