"""Products of consecutive groups of rows with a matrix for each group, and their gradients.

A step takes one tile of rows for one group: a tile with the ends of groups inside is taken once for
each. The list of these pairs is computed before the kernel, which reads it (Gale et al.,
"MegaBlocks: efficient sparse training with mixture-of-experts", 2022).
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
import ricci_numpy as jnp
from ricci_kernels.blocks._integers import cdiv
from ricci_kernels.primitives._accesses import Reference

from ._folds import Blocks, Carry, Fold, Number, Place, fold
from ._matmul import Tiles, accumulator, adding_product
from ._targets import Target, on_device, varying_alike

__all__ = ["grouped_matmul"]


class _Grouped(ir.TupleRecord):
    """The parameters of a grouped product.

    Attributes:
      axis: the contracted dimension of each group's matrix, 0 or 1.
      dtype: of the result.
      tiles, precision, interpret: see ``grouped_matmul``.
    """

    axis: int
    dtype: Any
    tiles: tuple[int, int, int] | None
    precision: Any
    interpret: bool | None


type _Residuals = tuple[ir.Array, ir.Array, ir.Array]


def grouped_matmul(
    x: ir.ArrayLike,
    y: ir.ArrayLike,
    group_sizes: ir.ArrayLike,
    *,
    block_sizes: tuple[int, int, int] | None = None,
    preferred_element_type: ir.DTypeLike | None = None,
    precision: lax.PrecisionLike = None,
    interpret: bool | None = None,
) -> ir.Array:
    """Multiply consecutive groups of rows by a matrix for each group, by a kernel.

    The result is that of ``lax.ragged_dot``: row ``i`` of ``x`` times ``y[g]`` for the group ``g``
    that it is in, and 0 for rows after the last group.

    Args:
      x: an array of shape (m, k).
      y: an array of shape (g, k, n), of the same dtype.
      group_sizes: integers of shape (g,), the number of rows of each group.
      block_sizes: the rows and columns of a tile of the result, and how much of ``k`` one step
        adds; by default they suit the device.
      preferred_element_type: the dtype of the result, by default that of the operands.
      precision: of the products, see ``lax.dot_general``.
      interpret: ``True`` interprets the kernel, ``False`` compiles it. By default it is compiled
        for TPUs and NVIDIA GPUs, and interpreted elsewhere.

    Returns:
      An array of shape (m, n). Its gradients are computed by kernels, too.

    Raises:
      ValueError: if shapes or dtypes do not fit.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental.pallas import ops
      >>> x = jnp.ones((4, 2))
      >>> y = jnp.array([[[1.0], [1.0]], [[10.0], [10.0]]])
      >>> ops.grouped_matmul(x, y, jnp.array([1, 2]))[:, 0]
      Array([ 2., 20., 20.,  0.], dtype=float32)

    Source: Gale et al., "MegaBlocks", 2022.
    """
    x, y, sizes = jnp.asarray(x), jnp.asarray(y), jnp.asarray(group_sizes)
    shapes = f"{x.aval.str_short()}, {y.aval.str_short()} and {sizes.aval.str_short()}"
    if x.ndim != 2 or y.ndim != 3 or x.shape[1] != y.shape[1] or sizes.shape != y.shape[:1]:
        raise ValueError(
            f"grouped_matmul takes arrays of shapes (m, k), (g, k, n) and (g,), got {shapes}."
        )
    if x.dtype != y.dtype or not ir.issubdtype(sizes.dtype, np.integer):
        raise ValueError(
            f"grouped_matmul multiplies arrays of one dtype, with integer sizes, got {shapes}."
        )
    dtype = np.dtype(preferred_element_type or x.dtype)
    tiles: Any = None if block_sizes is None else tuple(block_sizes)
    grouped = _Grouped(0, dtype, tiles, precision, interpret)
    return _grouped(grouped, *varying_alike(x, y, sizes.astype(np.int32)))


@partial(lax.custom_vjp, nondiff_argnums=(0,))
def _grouped(grouped: _Grouped, x: ir.Array, y: ir.Array, sizes: ir.Array) -> ir.Array:
    if not x.size or not y.size:
        return jnp.zeros((x.shape[0], y.shape[2 - grouped.axis]), grouped.dtype)
    return on_device(partial(_rows, grouped), grouped.interpret, x, y, sizes)


def _forward(
    grouped: _Grouped, x: ir.Array, y: ir.Array, sizes: ir.Array
) -> tuple[ir.Array, _Residuals]:
    return _grouped(grouped, x, y, sizes), (x, y, sizes)


def _backward(
    grouped: _Grouped, residuals: _Residuals, ct: ir.Array
) -> tuple[ir.Array, ir.Array, None]:
    x, y, sizes = residuals
    ct = ct.astype(x.dtype)
    tiles = grouped.tiles
    # The product with the transposed matrices: n and k swap their roles, rows remain rows.
    turned: Any = None if tiles is None else (tiles[0], tiles[2], tiles[1])
    change = {"axis": 1 - grouped.axis, "dtype": x.dtype, "tiles": turned}
    d_x = _grouped(grouped._replace(**change), ct, y, sizes)
    if not x.size or not y.size:
        return d_x, jnp.zeros_like(y), None
    # The gradient has the dimensions of ``y`` in their order: the columns of x first where these
    # are contracted with the first.
    sides = (x, ct) if grouped.axis == 0 else (ct, x)
    call = partial(_outer, grouped._replace(dtype=y.dtype))
    return d_x, on_device(call, grouped.interpret, *sides, sizes), None


_grouped.defvjp(_forward, _backward)


def _ends(sizes: ir.Array, rows: int) -> ir.Array:
    """The end of each group, within the rows."""
    return lax.min(jnp.cumsum(sizes, dtype=np.int32), jnp.full_like(sizes, rows))


def _pairs(ends: ir.Array, tile: int, tiles: int) -> tuple[ir.Array, ir.Array, ir.Array]:
    """The pairs of a group and a tile of rows in which it has rows, in order.

    Each group has one pair or more; pairs at the end are repeated up to a static number.

    Returns:
      The groups and the tiles, of length ``tiles + number of groups``; the number of pairs that
      are not repeated, of shape (1,).
    """
    starts = jnp.concatenate([jnp.zeros_like(ends[:1]), ends[:-1]])
    # An empty group at the end may start past the last tile. At least one pair a group: the
    # gradient of an empty group's matrix is a block of zeros, which some step must write.
    first = jnp.minimum(starts // tile, tiles - 1)
    counts = jnp.maximum((ends + (tile - 1)) // tile - first, 1)
    after = jnp.cumsum(counts, dtype=np.int32)
    before = after - counts
    # The number of pairs depends on the data, the grid does not: n groups cut the tiles at n places
    # at most, so that tiles + n pairs are enough. Pairs past the last one repeat it.
    numbers = jnp.minimum(jnp.arange(tiles + ends.shape[0], dtype=np.int32), after[-1:] - 1)
    groups = jnp.searchsorted(before, numbers, side="right").astype(np.int32) - 1
    return groups, first[groups] + numbers - before[groups], after[-1:]


def _start(ends: Reference, group: Number) -> ir.Array:
    """The first row of a group."""
    return jnp.where(group > 0, ends[lax.max(group - 1, np.int32(0))], np.int32(0))


def _is_inside(ends: Reference, group: Number, tile: Number, rows: int, columns: int) -> ir.Array:
    """The mask of the rows of a tile that are in a group."""
    number = lax.broadcasted_iota(np.int32, (rows, columns), 0) + tile * rows
    return (number >= _start(ends, group)) & (number < ends[group])


def _rows(grouped: _Grouped, target: Target, x: ir.Array, y: ir.Array, sizes: ir.Array) -> ir.Array:
    """The product for each row; rows after the last group are a group whose product is 0."""
    (m, k), count = x.shape, y.shape[0]
    n = y.shape[2 - grouped.axis]
    preferred = grouped.tiles or Tiles.default(target, x.dtype)
    rows, columns, depth = (target.block(*pair) for pair in zip((m, n, k), preferred, strict=True))
    tiles, wide = cdiv(m, rows), accumulator(x.dtype)
    # Rows after the last group are one group more, so that each row of the output is written once.
    ends = jnp.concatenate([_ends(sizes, m), jnp.full((1,), m, np.int32)])
    groups, places, _ = _pairs(ends, rows, tiles)

    def finish(at: Place, carry: Sequence[ir.Array]) -> list[tuple[ir.Array, ir.Array]]:
        groups, places, ends = at.scalars
        group, tile = groups[at.position[1]], places[at.position[1]]
        # Tiles in which several groups meet are written once for each, and each time its rows only.
        mask = _is_inside(ends, group, tile, rows, columns)
        return [(jnp.where(group < count, carry[0], jnp.zeros_like(carry[0])), mask)]

    def matrix(at: Place) -> tuple[Number, ...]:
        # The added group has no matrix: it computes with the last one, and its product is
        # discarded.
        group = lax.min(at.scalars[0][at.position[1]], np.int32(count - 1))
        inner = (at.step, at.position[0])
        return (group, *(inner if grouped.axis == 0 else inner[::-1]))

    block = (depth, columns) if grouped.axis == 0 else (columns, depth)
    spec = Fold(
        name="grouped_matmul",
        grid=(cdiv(n, columns), groups.shape[0]),
        length=cdiv(k, depth),
        blocks=[
            Blocks((rows, depth), lambda at: (at.scalars[1][at.position[1]], at.step), True),
            Blocks((None, *block), matrix, True),
        ],
        outputs=[
            (
                ir.ShapeDtypeStruct((m, n), grouped.dtype),
                Blocks((rows, columns), lambda at: (at.scalars[1][at.position[1]], at.position[0])),
            )
        ],
        carry=[Carry((rows, columns), wide)],
        step=adding_product((1, grouped.axis), grouped.precision, wide),
        finish=finish,
        # Consecutive pairs may write the same tile, which is in the buffer of the output as long as
        # its number does not change. That holds in order only, so that the axis of pairs is not
        # parallel.
        semantics=("parallel", "arbitrary", "arbitrary"),
    )
    return fold(target, spec, [x, y], [groups, places, ends])[0]


def _outer(
    grouped: _Grouped, target: Target, x: ir.Array, z: ir.Array, sizes: ir.Array
) -> ir.Array:
    """The product of the transposed rows of ``x`` with those of ``z``, for each group.

    On a TPU the steps are the pairs of all groups, in order; elsewhere each group loops over its
    own tiles.
    """
    (m, k), n, count = x.shape, z.shape[1], sizes.shape[0]
    preferred = grouped.tiles or Tiles.default(target, x.dtype)
    rows, height, width = (target.block(*pair) for pair in zip((m, k, n), preferred, strict=True))
    tiles, wide = cdiv(m, rows), accumulator(x.dtype)
    ends = _ends(sizes, m)
    groups, places, count_of_pairs = _pairs(ends, rows, tiles)
    total = groups.shape[0]
    inner = (cdiv(k, height), cdiv(n, width))
    add = adding_product((0, 0), grouped.precision, wide)

    def locate(at: Place) -> tuple[Number, Number]:
        """The group and the tile of rows of a step."""
        if target.is_gpu:
            return at.position[2], at.step
        return at.scalars[0][at.step], at.scalars[1][at.step]

    def step(at: Place, carry: Sequence[ir.Array], *sides: ir.Array) -> list[ir.Array]:
        group, tile = locate(at)
        # Rows of other groups in the tile add nothing: zeros on both sides, as one could hold NaN.
        inside = [_is_inside(at.scalars[2], group, tile, *v.shape) for v in sides]
        sides = tuple(
            [jnp.where(m, v, jnp.zeros_like(v)) for m, v in zip(inside, sides, strict=True)]
        )
        return add(at, carry, *sides)

    def limits(at: Place) -> tuple[Number, Number]:
        group, ends = at.position[2], at.scalars[2]
        first = lax.div(_start(ends, group), np.int32(rows))
        return first, lax.div(ends[group] + (rows - 1), np.int32(rows))

    def of_group(at: Place) -> tuple[ir.Array, ir.Array]:
        """Whether a step is the first of its group, and the last."""
        groups = at.scalars[0]
        group = groups[at.step]
        before = groups[lax.max(at.step - 1, np.int32(0))]
        after = groups[lax.min(at.step + 1, np.int32(total - 1))]
        return (at.step == 0) | (before != group), (at.step == total - 1) | (after != group)

    def real(at: Place) -> tuple[Number, Number]:
        """The steps that are not repeated."""
        return np.int32(0), at.scalars[3][0]

    spec = Fold(
        name="grouped_matmul_backward",
        grid=(*inner, count) if target.is_gpu else inner,
        length=tiles if target.is_gpu else total,
        blocks=[
            Blocks((rows, height), lambda at: (locate(at)[1], at.position[0]), True),
            Blocks((rows, width), lambda at: (locate(at)[1], at.position[1]), True),
        ],
        outputs=[
            (
                ir.ShapeDtypeStruct((count, k, n), grouped.dtype),
                Blocks((None, height, width), lambda at: (locate(at)[0], *at.position[:2])),
            )
        ],
        carry=[Carry((height, width), wide)],
        step=step,
        finish=lambda _, carry: carry,
        bounds=limits if target.is_gpu else real,
        ends=of_group,
    )
    return fold(target, spec, [x, z], [groups, places, ends, count_of_pairs])[0]
