"""The dimensions of ragged products: their roles, checks, and the type of a result."""

from collections.abc import Sequence
from operator import index

import numpy as np

from ricci_ir import Record, Shape, ShapedArray, TupleRecord, exported, issubdtype

from ._dot import DotDimensionNumbers, dot_general_p
from ._precision import CanonicalPrecision

__all__ = ["RaggedDotDimensionNumbers"]


@exported
class RaggedDotDimensionNumbers(Record):
    """The dimensions of a ragged product.

    Args:
      dot_dimension_numbers: ``((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch))``.
      lhs_ragged_dimensions: the one dimension of the left operand that is cut into groups.
      rhs_group_dimensions: the dimension of the right operand that counts the groups, if the
        ragged dimension is neither contracted nor a batch; else none.

    Example:
      >>> from ricci import lax
      >>> lax.RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), [0], [0]).lhs_ragged_dimensions
      (0,)
    """

    dot_dimension_numbers: tuple[tuple[Shape, Shape], tuple[Shape, Shape]]
    lhs_ragged_dimensions: Shape
    rhs_group_dimensions: Shape

    def __init__(
        self,
        dot_dimension_numbers: DotDimensionNumbers,
        lhs_ragged_dimensions: Sequence[int],
        rhs_group_dimensions: Sequence[int],
    ) -> None:
        numbers = tuple(tuple(tuple(map(index, d)) for d in p) for p in dot_dimension_numbers)
        ragged = tuple(map(index, lhs_ragged_dimensions))
        super().__init__(numbers, ragged, tuple(map(index, rhs_group_dimensions)))


class RaggedDims(TupleRecord):
    """The dimensions of both operands by role; ``group`` is ``None`` unless rhs has one."""

    lhs_contracting: tuple[int, ...]
    rhs_contracting: tuple[int, ...]
    lhs_batch: tuple[int, ...]
    rhs_batch: tuple[int, ...]
    ragged: int
    group: int | None

    def lhs_free(self, ndim: int) -> tuple[int, ...]:
        """The dimensions of lhs that are neither contracted nor batches."""
        used = (*self.lhs_contracting, *self.lhs_batch)
        return tuple(d for d in range(ndim) if d not in used)

    def rhs_free(self, ndim: int) -> tuple[int, ...]:
        """The dimensions of rhs that are neither contracted, nor batches, nor the groups."""
        # ``group`` may be None, which no dimension equals.
        used = (*self.rhs_contracting, *self.rhs_batch, self.group)
        return tuple(d for d in range(ndim) if d not in used)

    @property
    def mode(self) -> str:
        """The role of the ragged dimension: ``batch``, ``contracting`` or ``free``."""
        if self.ragged in self.lhs_batch:
            return "batch"
        return "contracting" if self.ragged in self.lhs_contracting else "free"

    def prefix(self, ndim: int) -> tuple[int, ...]:
        """The dimensions of lhs along which group sizes may differ."""
        if self.mode == "batch":
            return self.lhs_batch[: self.lhs_batch.index(self.ragged)]
        dims = self.lhs_contracting if self.mode == "contracting" else self.lhs_free(ndim)
        return (*self.lhs_batch, *dims[: dims.index(self.ragged)])

    def numbers(self) -> RaggedDotDimensionNumbers:
        """The dimensions in the form of the primitive's parameter."""
        contracting = (self.lhs_contracting, self.rhs_contracting)
        batch = (self.lhs_batch, self.rhs_batch)
        group = () if self.group is None else (self.group,)
        return RaggedDotDimensionNumbers((contracting, batch), (self.ragged,), group)


def ragged_dims(numbers: RaggedDotDimensionNumbers) -> RaggedDims:
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = numbers.dot_dimension_numbers
    group = numbers.rhs_group_dimensions
    (ragged,) = numbers.lhs_ragged_dimensions
    return RaggedDims(
        lhs_contracting, rhs_contracting, lhs_batch, rhs_batch, ragged, group[0] if group else None
    )


NAME = "ragged_dot_general"


def _check_ragged(lhs: ShapedArray, rhs: ShapedArray, numbers: RaggedDotDimensionNumbers) -> None:
    ragged, groups = numbers.lhs_ragged_dimensions, numbers.rhs_group_dimensions
    if len(ragged) != 1:
        raise TypeError(
            f"{NAME}: lhs_ragged_dimensions={ragged} must name one dimension of lhs: exactly one "
            "is cut into groups."
        )
    if not 0 <= ragged[0] < lhs.ndim:
        raise TypeError(
            f"{NAME}: lhs_ragged_dimensions={ragged} names a dimension that lhs of shape "
            f"{lhs.shape} lacks. Count dimensions from 0; negative numbers are not taken."
        )
    if not all(0 <= d < rhs.ndim for d in groups):
        raise TypeError(
            f"{NAME}: rhs_group_dimensions={groups} names a dimension that rhs of shape "
            f"{rhs.shape} lacks. Count dimensions from 0; negative numbers are not taken."
        )
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = numbers.dot_dimension_numbers
    if set(groups) & {*rhs_contracting, *rhs_batch}:
        raise TypeError(
            f"{NAME}: rhs_group_dimensions={groups} are also among the contracting "
            f"{rhs_contracting} or batch {rhs_batch} dimensions of rhs. The dimension that counts "
            "the groups must be another one."
        )
    # Groups of rows of the result are products with different matrices of rhs. Where the ragged
    # dimension is summed over, or a batch, each group has a part of one matrix.
    is_free = ragged[0] not in (*lhs_contracting, *lhs_batch)
    if len(groups) != is_free:
        expected = "one dimension of rhs that counts the groups" if is_free else "none"
        kind = "neither contracted nor a batch" if is_free else "contracted or a batch"
        raise TypeError(
            f"{NAME}: the ragged dimension {ragged[0]} of lhs is {kind}, so that "
            f"rhs_group_dimensions must name {expected}, got {groups}."
        )


def _check_group_sizes(
    lhs: ShapedArray, rhs: ShapedArray, group_sizes: ShapedArray, dims: RaggedDims
) -> None:
    if not issubdtype(group_sizes.dtype, np.integer):
        raise TypeError(
            f"{NAME}: group_sizes are counts and must be integers, got {group_sizes.str_short()}."
        )
    if group_sizes.ndim == 0:
        raise TypeError(f"{NAME}: group_sizes must list the size of each group, got a scalar.")
    count = group_sizes.shape[-1]
    prefix = tuple(lhs.shape[d] for d in dims.prefix(lhs.ndim))
    if group_sizes.ndim > 1 and group_sizes.shape != (*prefix, count):
        shapes = " or ".join(str(s) for s in dict.fromkeys([(count,), (*prefix, count)]))
        raise TypeError(
            f"{NAME}: group_sizes must have shape {shapes} for lhs of shape {lhs.shape}, got "
            f"{group_sizes.shape}."
        )
    if dims.group is not None and rhs.shape[dims.group] != count:
        raise TypeError(
            f"{NAME}: group_sizes list {count} groups, but rhs of shape {rhs.shape} has "
            f"{rhs.shape[dims.group]} along its group dimension {dims.group}."
        )


def ragged_aval(
    lhs: ShapedArray,
    rhs: ShapedArray,
    group_sizes: ShapedArray,
    *,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    precision: CanonicalPrecision,
    preferred_element_type: np.dtype | None,
    group_offset: None,
    out_sharding,
) -> ShapedArray:
    _check_ragged(lhs, rhs, ragged_dot_dimension_numbers)
    dims = ragged_dims(ragged_dot_dimension_numbers)
    product = dot_general_p.result_avals(
        (lhs, rhs),
        {
            "dimension_numbers": ragged_dot_dimension_numbers.dot_dimension_numbers,
            "precision": precision,
            "preferred_element_type": preferred_element_type,
            "out_sharding": None,
        },
    )
    _check_group_sizes(lhs, rhs, group_sizes, dims)
    rhs_free = dims.rhs_free(rhs.ndim)
    sizes = [lhs.shape[d] for d in (*dims.lhs_batch, *dims.lhs_free(lhs.ndim))]
    sizes += [rhs.shape[d] for d in rhs_free]
    # The terms of each group are a separate sum, so that the result begins with the groups.
    if dims.mode == "contracting":
        sizes.insert(0, group_sizes.shape[-1])
    return product.resized(tuple(sizes))
