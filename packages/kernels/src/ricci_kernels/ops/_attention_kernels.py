"""The forward kernel of attention, and what the kernels of the gradients share with it.

It folds the blocks of keys with a running maximum and a running sum (Milakov and Gimelshein,
"Online normalizer calculation for softmax", 2018; Dao et al., "FlashAttention", 2022).
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
import ricci_numpy as jnp
from ricci_kernels.blocks._integers import cdiv
from ricci_kernels.blocks._specs import CostEstimate

from ._folds import Blocks, Carry, Fold, Number, Place, fold
from ._matmul import accumulator
from ._targets import Target


class Settings(ir.TupleRecord):
    """The static parameters of attention.

    Attributes:
      scale: the factor of the products of queries and keys.
      soft_cap: a bound on the scaled products, or ``None``.
      left, right: the distances up to which queries attend to earlier and later positions, or
        ``None``.
      block_sizes: of queries and keys, or ``None``.
      precision: of products.
      interpret: see ``on_device``.
    """

    scale: float
    soft_cap: float | None = None
    left: int | None = None
    right: int | None = None
    block_sizes: tuple[int, int] | None = None
    precision: Any = None
    interpret: bool | None = None


class Operands(ir.TupleRecord):
    """The arrays of attention, with heads before positions.

    Attributes:
      query: of shape (b, n, t, h).
      key, value: of shape (b, k, s, h).
      bias, mask: of rank 4, each dimension that of (b, n, t, s) or 1, or ``None``.
      query_segments, key_segments: int32 of shape (b, t, 1) and (b, 1, s), or ``None``.
    """

    query: Any
    key: Any
    value: Any
    bias: Any = None
    mask: Any = None
    query_segments: Any = None
    key_segments: Any = None


# From a place to the example, the head, and the numbers of the blocks of queries and keys.
type Locate = Callable[[Place], tuple[Number, Number, Number, Number]]
# The dimension whose blocks a kernel folds into one result.
FOLDED_KEYS, FOLDED_QUERIES, FOLDED_HEADS = range(3)


class OnlineSoftmax:
    """A softmax over blocks of logits: the largest logit, the sum of weights, the weighted total.

    Args:
      dtype: of the carry.

    Attributes:
      lowest: the logit of what is not attended to. Half of it bounds the maximum of a row from
        below, so that the weights of a row without any key are 0.
    """

    def __init__(self, dtype: np.dtype):
        self.dtype = dtype
        self.lowest: float = -0.7 * float(jnp.finfo(dtype).max)

    def carry(self, rows: int, width: int) -> list[Carry]:
        """The carry before the first block."""
        initial = (self.lowest, 0, 0)
        return [
            Carry((rows, n), self.dtype, x) for n, x in zip((1, 1, width), initial, strict=True)
        ]

    def offset(self, sums: ir.Array) -> ir.Array:
        """A finite bound of logits, of rows whose largest logit or sum is specified."""
        return lax.max(sums, jnp.full_like(sums, self.lowest / 2))

    def step(
        self, carry: Sequence[ir.Array], logits: ir.Array, product: Callable[[ir.Array], ir.Array]
    ) -> Sequence[ir.Array]:
        """The carry after a block; ``product`` multiplies weights by the block's values."""
        largest, weight_sum, total = carry
        larger = lax.max(largest, logits.max(1, keepdims=True))
        offset = self.offset(larger)
        # Earlier weights are relative to the earlier maximum; multiplied by exp(earlier - new) they
        # are relative to the new one. As long as a row has had no key they are 0, whatever the
        # factor.
        weights = lax.exp(logits - offset)
        shrink = lax.exp(largest - offset)
        weight_sum = weight_sum * shrink + weights.sum(1, keepdims=True)
        return larger, weight_sum, total * shrink + product(weights)

    def finish(self, carry: Sequence[ir.Array]) -> tuple[ir.Array, ir.Array]:
        """The result, and the logarithm of the sums of exponentials."""
        largest, weight_sum, total = carry
        is_empty = weight_sum == 0
        weight_sum = jnp.where(is_empty, jnp.ones_like(weight_sum), weight_sum)
        sums = largest + lax.log(weight_sum)
        return total / weight_sum, jnp.where(is_empty, jnp.full_like(sums, self.lowest), sums)


class Problem:
    """The sizes of attention on a device, and what its kernels share."""

    def __init__(self, settings: Settings, target: Target, operands: Operands, backward: bool):
        self.settings = settings
        self.target = target
        self.operands = operands
        self.batch, self.heads, self.t, self.h = operands.query.shape
        self.key_heads, self.s, self.value_size = operands.value.shape[1:]
        self.group = self.heads // self.key_heads
        dtype = operands.query.dtype
        self.wide = accumulator(dtype)
        self.softmax = OnlineSoftmax(self.wide)
        rows, columns = settings.block_sizes or self.preferred(dtype, backward)
        self.rows, self.columns = target.block(self.t, rows), target.block(self.s, columns)
        self.width, self.value_width = target.width(self.h), target.width(self.value_size)
        self.row_count, self.column_count = cdiv(self.t, self.rows), cdiv(self.s, self.columns)

    def preferred(self, dtype: np.dtype, backward: bool) -> tuple[int, int]:
        """The sizes of blocks of queries and keys that suit the device."""
        if not self.target.is_gpu:
            # Backward kernels have more blocks in memory at a time: the cotangents, and two carries
            # for keys.
            return (256, 512) if backward else (512, 512)
        if dtype.itemsize * self.h > 256:
            return (32, 32)
        return (64, 32) if backward else (128, 64)

    def warps(self) -> int:
        return 8 if self.rows * max(self.columns, self.width) > 8192 else 4

    def cost(self, products: int) -> CostEstimate:
        pairs = self.batch * self.heads * self.t * self.s
        arrays = [x for x in self.operands if x is not None]
        size = sum(x.size * np.dtype(x.dtype).itemsize for x in arrays)
        return CostEstimate(2 * products * pairs * self.h, pairs, size)

    # Steps that are taken

    def key_bounds(self, row: Number) -> tuple[Number, Number]:
        """The blocks of keys to which a block of queries attends."""
        return _bounds(
            row, self.rows, self.columns, self.column_count, self.settings.left, self.settings.right
        )

    def query_bounds(self, column: Number) -> tuple[Number, Number]:
        """The blocks of queries that attend to a block of keys."""
        return _bounds(
            column, self.columns, self.rows, self.row_count, self.settings.right, self.settings.left
        )

    @property
    def is_local(self) -> bool:
        return self.settings.left is not None or self.settings.right is not None

    # Blocks

    def inputs(self, locate: Locate, folded: int) -> tuple[list[Any], list[Blocks]]:
        """The operands that are there, and their blocks."""
        ops = self.operands
        by_row, by_column = folded != FOLDED_KEYS, folded != FOLDED_QUERIES

        def full(array: ir.Array) -> Blocks:
            ones = [size == 1 for size in array.shape]
            sizes = [
                1 if one else n for one, n in zip(ones[2:], (self.rows, self.columns), strict=True)
            ]
            pick = lambda at: [0 if one else i for one, i in zip(ones, locate(at), strict=True)]
            # The steps change the block of keys; or that of queries, and the head in its group.
            changed = {FOLDED_KEYS: (3,), FOLDED_QUERIES: (1, 2), FOLDED_HEADS: (0, 1, 2, 3)}
            # A bias with one row for all is a block that does not change with the steps.
            is_folded = any(not ones[d] for d in changed[folded])
            return Blocks((None, None, *sizes), pick, is_folded)

        blocks = [
            self.query_blocks(locate, self.width, by_row),
            self.key_blocks(locate, self.width, by_column),
            self.key_blocks(locate, self.value_width, by_column),
            ops.bias is not None and full(ops.bias),
            ops.mask is not None and full(ops.mask),
            Blocks((None, self.rows, 1), lambda at: (locate(at)[0], locate(at)[2], 0), by_row),
            Blocks(
                (None, 1, self.columns), lambda at: (locate(at)[0], 0, locate(at)[3]), by_column
            ),
        ]
        present = [(x, b) for x, b in zip(ops, blocks, strict=True) if x is not None]
        return [x for x, _ in present], [b for _, b in present]  # pyright: ignore

    def query_blocks(self, locate: Locate, width: int, is_folded: bool) -> Blocks:
        """The blocks of an array with a row for each query."""

        def index(at: Place) -> tuple[Number, ...]:
            example, head, row, _ = locate(at)
            return example, head, row, 0

        return Blocks((None, None, self.rows, width), index, is_folded)

    def key_blocks(self, locate: Locate, width: int, is_folded: bool) -> Blocks:
        """The blocks of an array with a row for each key."""

        def index(at: Place) -> tuple[Number, ...]:
            example, head, _, column = locate(at)
            return example, divided(head, self.group), column, 0

        # Consecutive heads of queries share a head of keys and values (grouped-query attention).
        return Blocks((None, None, self.columns, width), index, is_folded)

    # Values

    def dot(self, x: ir.Array, y: ir.Array, x_dim: int, y_dim: int) -> ir.Array:
        return lax.dot_general(
            x,
            y,
            (((x_dim,), (y_dim,)), ((), ())),
            precision=self.settings.precision,
            preferred_element_type=self.wide,
        )

    def logits(self, locate: Locate, at: Place, values: Sequence[ir.Array]) -> tuple[Any, Any]:
        """The masked logits of a block, and the derivative of the soft cap (or ``None``)."""
        ops = self.operands
        remaining = list(values[3:])
        # The blocks come in the order of ``Operands``, without those that are absent.
        optional = [None if x is None else remaining.pop(0) for x in ops[3:]]
        bias, mask, query_segments, key_segments = optional
        logits = self.dot(values[0], values[1], 1, 1) * self.settings.scale
        slope, cap = None, self.settings.soft_cap
        if cap is not None:
            bounded = lax.tanh(logits / cap)
            # The derivative of cap tanh(z / cap) by z is 1 - tanh²(z / cap).
            logits, slope = bounded * cap, 1 - bounded * bounded
        if bias is not None:
            logits = logits + bias.astype(self.wide)
        allowed = self.allowed(locate, at, logits.shape)
        if mask is not None:
            allowed.append(mask.astype(np.int32) != 0)
        if query_segments is not None:
            allowed.append(query_segments == key_segments)
        for part in allowed:
            logits = jnp.where(part, logits, self.softmax.lowest)
        return logits, slope

    def allowed(self, locate: Locate, at: Place, shape: tuple[int, ...]) -> list[ir.Array]:
        """Masks by position: of keys past the end, and of those that are too far away."""
        # Rows past the last query need no mask: the forward pass does not write them, and in the
        # gradients their cotangents are zeros, so that they add nothing to those of keys and
        # values.
        _, _, row, column = locate(at)
        parts = []
        columns = lax.broadcasted_iota(np.int32, shape, 1) + column * self.columns
        if self.s % self.columns:
            parts.append(columns < self.s)
        if self.is_local:
            rows = lax.broadcasted_iota(np.int32, shape, 0) + row * self.rows
            if self.settings.left is not None:
                parts.append(columns >= rows - self.settings.left)
            if self.settings.right is not None:
                parts.append(columns <= rows + self.settings.right)
        return parts

    def weights(
        self, locate: Locate, at: Place, values: Sequence[ir.Array], sums: ir.Array
    ) -> tuple[ir.Array, ir.Array | None]:
        """The weights of a block, and the derivative of the soft cap."""
        logits, slope = self.logits(locate, at, values)
        # exp(logit − logsumexp) is the normalized weight: no second pass for the maximum and the
        # sum.
        return lax.exp(logits - self.softmax.offset(sums)), slope


def divided(x: Number, by: int) -> Number:
    """The quotient of a nonnegative integer and a static one, rounded down."""
    if by == 1:
        return x
    return x // by if isinstance(x, int) else lax.div(x, np.int32(by))


def remainder(x: Number, by: int) -> Number:
    """The remainder of that quotient."""
    if by == 1:
        return np.int32(0)
    return x % by if isinstance(x, int) else lax.rem(x, np.int32(by))


def _bounds(
    block: Number, size: int, other_size: int, count: int, before: int | None, after: int | None
) -> tuple[Number, Number]:
    """The first of the other blocks within the distances of a block, and the end."""
    # The positions of the block are block size, ..., block size + size - 1. The first one sees
    # positions from ``before`` less on, the last one positions up to ``after`` more: the block with
    # the first of these, and the number of blocks up to the last one, rounded up.
    low, high = np.int32(0), np.int32(count)
    if before is not None:
        first = lax.max(block * size - before, np.int32(0))
        low = lax.min(divided(first, other_size), high)
    if after is not None:
        end = lax.max(block * size + (size + after + other_size - 1), np.int32(0))
        high = lax.max(lax.min(divided(end, other_size), high), low)
    return low, high


def forward(settings: Settings, target: Target, operands: Operands) -> tuple[ir.Array, ir.Array]:
    """Return the attended values, and the logarithms of the sums of the exponentials of logits."""
    p = Problem(settings, target, operands, False)
    locate = lambda at: (*at.position, at.step)
    inputs, blocks = p.inputs(locate, FOLDED_KEYS)

    def step(at: Place, carry: Sequence[ir.Array], *values: ir.Array) -> Sequence[ir.Array]:
        logits, _ = p.logits(locate, at, values)
        product = lambda weights: p.dot(weights.astype(values[2].dtype), values[2], 1, 0)
        return p.softmax.step(carry, logits, product)

    rows = (p.batch, p.heads, p.t)
    spec = Fold(
        name="flash_attention",
        grid=(p.batch, p.heads, p.row_count),
        length=p.column_count,
        blocks=blocks,
        outputs=[
            (
                ir.ShapeDtypeStruct((*rows, p.value_size), operands.query.dtype),
                p.query_blocks(locate, p.value_width, False),
            ),
            (ir.ShapeDtypeStruct((*rows, 1), p.wide), p.query_blocks(locate, 1, False)),
        ],
        carry=p.softmax.carry(p.rows, p.value_width),
        step=step,
        finish=lambda _, carry: p.softmax.finish(carry),
        bounds=(lambda at: p.key_bounds(at.position[2])) if p.is_local else None,
        num_warps=p.warps(),
        num_stages=2,
        cost=p.cost(2),
    )
    out, sums = fold(target, spec, inputs)
    return out, sums
