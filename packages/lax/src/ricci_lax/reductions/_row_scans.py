"""Prefix scans as loops over rows: the lowering of cumulative operations on CPUs.

XLA lowers a window that grows along an axis to a tree of windows of 16 elements, which its CPU
backend computes one element at a time. A step of a loop over rows combines two of them at once, in
vector instructions, and the loop passes over the array once.
"""

import dataclasses
from collections.abc import Callable, Sequence
from math import prod

import numpy as np

import ricci_ir as ir
from ricci_lax.elementwise import add, ne, select_n, sub
from ricci_lax.shapes import concatenate, pad, slice_in_dim
from ricci_lax.shapes._counted_loops import at_index, with_index, write_loop
from ricci_lax.structure import broadcast_in_dim, expand_dims, full_like, reshape, transpose
from ricci_lax.structure._identity import lower_barrier
from ricci_lax.structure._operand_types import shape_of
from ricci_lax.structure._transposing import inverse
from ricci_stablehlo import Lowering, Value, traced

# Rows that one loop combines where the order of combination changes the result: as many as in XLA's
# windows, so that rounding errors are no larger.
BLOCK = 16
# Below this many elements, and for few rows, XLA's tree of windows is as fast and a smaller module.
_LEAST_SIZE = 4096
_LEAST_COUNT = 16
# Rows of fewer elements do not fill vector instructions, with and without transcendental functions.
_LEAST_ROW = {False: 8, True: 64}

Combine = Callable[[ir.Array, ir.Array], ir.Array]


@dataclasses.dataclass(frozen=True, slots=True)
class RowScan:
    """A scan along an axis, as a loop over rows.

    Attributes:
      combine: the operation of two arrays of one type, commutative and associative up to rounding.
      identity: its identity, a scalar of the dtype of the array.
      axis: the axis of the array.
      reverse: whether to combine from the end.
      exact: whether the operation is associative to the last bit.
      costly: whether an application of the operation costs more than moving its operands.
      compensated: whether the operation is a sum, whose rounding errors are summed as well.
    """

    combine: Combine
    identity: ir.ArrayLike
    axis: int
    reverse: bool
    exact: bool
    costly: bool
    compensated: bool

    def serves(self, ctx: Lowering, x: Value) -> bool:
        """Whether the loop is the faster lowering."""
        if ctx.platform != "cpu" or not ir.is_static_shape(x.shape) or x.aval.size < _LEAST_SIZE:
            return False
        return self.costly or (x.shape[self.axis] > _LEAST_COUNT and self._has_long_rows(x.shape))

    def _has_long_rows(self, shape: ir.Shape) -> bool:
        return prod(shape[self.axis + 1 :]) >= _LEAST_ROW[self.costly]

    def write(self, ctx: Lowering, x: Value) -> Value:
        """Write the scan of an array of static shape."""
        count = x.shape[self.axis]
        if count <= BLOCK:
            return self._write_rows(ctx, x, self.axis)
        if not self._has_long_rows(x.shape):
            return self._write_transposed(ctx, x)
        if self.exact or self.compensated:
            return self._write_rows(ctx, x, self.axis)
        parts = traced(self._split)(ctx, x)
        within = self._write_rows(ctx, parts, self.axis + 1)
        totals = traced(lambda x: at_index(x, self._last, self.axis + 1))(ctx, within)

        def join(within: ir.Array, totals: ir.Array) -> ir.Array:
            before = expand_dims(self._shift(totals), (self.axis + 1,))
            before = broadcast_in_dim(before, shape_of(within), range(len(parts.shape)))
            return self._merge(self.combine(before, within), count)

        return traced(join)(ctx, within, self.write(ctx, totals))

    def _write_transposed(self, ctx: Lowering, x: Value) -> Value:
        """Write the scan of an array with short rows, whose blocks side by side are long ones.

        In one fusion with a transpose, the operation would go through memory in strides.
        """
        axis, rank, count = self.axis, len(x.shape), x.shape[self.axis]
        # The axis of the blocks becomes the last one, the axis within blocks the first one.
        order = [axis + 1, *range(axis + 2, rank + 1), *range(axis + 1)]
        totals_order = [d - (d > axis) for d in order[1:]]
        rows = traced(lambda x: transpose(self._split(x), order))(ctx, x)
        within = self._write_rows(ctx, lower_barrier(ctx, rows)[0], 0)
        totals = traced(lambda x: transpose(at_index(x, self._last, 0), inverse(totals_order)))(
            ctx, within
        )

        def join(within: ir.Array, totals: ir.Array) -> ir.Array:
            before = transpose(self._shift(totals), totals_order)
            return self.combine(
                broadcast_in_dim(before, shape_of(within), range(1, rank + 1)), within
            )

        joined = traced(join)(ctx, within, self.write(ctx, totals))
        merge = traced(lambda x: self._merge(transpose(x, inverse(order)), count))
        return merge(ctx, lower_barrier(ctx, joined)[0])

    @property
    def _last(self) -> np.int32:
        """The index of a block's row that combines the whole block."""
        return np.int32(0 if self.reverse else BLOCK - 1)

    def _split(self, x: ir.Array) -> ir.Array:
        """Split the axis into blocks, the last of which is padded."""
        shape = shape_of(x)
        blocks = -(-shape[self.axis] // BLOCK)
        missing = blocks * BLOCK - shape[self.axis]
        config = [(0, 0, 0)] * len(shape)
        config[self.axis] = (missing, 0, 0) if self.reverse else (0, missing, 0)
        x = pad(x, self.identity, config)
        return reshape(x, (*shape[: self.axis], blocks, BLOCK, *shape[self.axis + 1 :]))

    def _merge(self, x: ir.Array, count: int) -> ir.Array:
        """Undo ``_split`` of an array of ``count`` rows."""
        shape = shape_of(x)
        size = shape[self.axis] * BLOCK
        x = reshape(x, (*shape[: self.axis], size, *shape[self.axis + 2 :]))
        start = size - count if self.reverse else 0
        return slice_in_dim(x, start, start + count, 1, self.axis)

    def _shift(self, x: ir.Array) -> ir.Array:
        """Move the rows on by one place, and begin with the identity."""
        count = shape_of(x)[self.axis]
        start = int(self.reverse)
        moved = slice_in_dim(x, start, start + count - 1, 1, self.axis)
        first = full_like(slice_in_dim(x, 0, 1, 1, self.axis), self.identity)
        return concatenate([moved, first] if self.reverse else [first, moved], self.axis)

    def _write_rows(self, ctx: Lowering, x: Value, axis: int) -> Value:
        """Write a loop whose steps combine what came before with the next row, in place."""
        count = x.shape[axis]
        start = traced(lambda x: full_like(at_index(x, np.int32(0), axis), self.identity))(ctx, x)

        def step(i: ir.Array, x: ir.Array, *before: ir.Array) -> Sequence[ir.Array]:
            index = sub(np.int32(count - 1), i) if self.reverse else i
            row = at_index(x, index, axis)
            if not self.compensated:
                combined = self.combine(before[0], row)
                return with_index(x, combined, index, axis), combined
            total, error = _add_with_error(before[0], before[1], row)
            return with_index(x, add(total, error), index, axis), total, error

        return write_loop(ctx, count, step, [x, start, *[start] * self.compensated])[0]


def _add_with_error(total: ir.Array, error: ir.Array, x: ir.Array) -> tuple[ir.Array, ir.Array]:
    """Add to a sum, and what rounding loses to its error (Knuth's two-sum)."""
    rounded = add(total, x)
    part = sub(rounded, total)
    lost = add(sub(total, sub(rounded, part)), sub(x, part))
    # An infinite or undefined sum loses nothing.
    lost = select_n(ne(lost, lost), lost, full_like(lost, 0))
    return rounded, add(error, lost)
