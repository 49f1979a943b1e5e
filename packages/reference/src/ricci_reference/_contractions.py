"""Rules of special contractions: ``ragged_dot_general`` and ``scaled_dot``."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ricci_ir import bfloat16
from ricci_lax import RaggedDotDimensionNumbers

from ._elementwise import convert
from ._structural import dot_general
from ._widening import Rule


def _group_of(group_sizes: np.ndarray, length: int, prefix: Sequence[int]) -> np.ndarray:
    """The group number of each position along the ragged dimension; -1 outside of all groups.

    Args:
      prefix: the sizes of the dimensions along which the group sizes vary; they lead the result.
    """
    sizes = np.broadcast_to(group_sizes, (*prefix, group_sizes.shape[-1]))
    # Positions after the last group stay -1, and equal no group's number below.
    groups = np.full((*prefix, length), -1)
    for place in np.ndindex(*prefix):
        end = np.cumsum(sizes[place], dtype=group_sizes.dtype)
        for group, (start, stop) in enumerate(pairwise([0, *end])):
            groups[(*place, slice(max(start, 0), max(stop, 0)))] = group
    return groups


def _ragged_dot_general(
    x: np.ndarray,
    y: np.ndarray,
    group_sizes: np.ndarray,
    *,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    preferred_element_type: np.dtype | None,
    **params: Any,
) -> np.ndarray:
    numbers = ragged_dot_dimension_numbers
    (x_contracting, _), (x_batch, _) = numbers.dot_dimension_numbers
    (ragged,), groups = numbers.lhs_ragged_dimensions, numbers.rhs_group_dimensions
    options = {"preferred_element_type": preferred_element_type}
    # A ragged batch dimension has no effect on the values. Otherwise each group is one product,
    # of the rows of that group and zeros: a ragged contracting dimension gives a result for each
    # group; with a free one, each group has its own right operand and the products are added.
    if ragged in x_batch:
        result = dot_general(x, y, dimension_numbers=numbers.dot_dimension_numbers, **options)
        return convert(result, _result_dtype(x, y, preferred_element_type))
    if ragged in x_contracting:
        before = x_contracting[: x_contracting.index(ragged)]
    else:
        before = [d for d in range(ragged) if d not in (*x_contracting, *x_batch)]
    places = [*x_batch, *before]
    groups_of = _group_of(group_sizes, x.shape[ragged], [x.shape[d] for d in places])
    # Bring the dimensions into the order of ``x``, with ones for those that the groups don't depend
    # on, so that the comparison below broadcasts.
    order = np.argsort([*places, ragged])
    shape = [n if d in (*places, ragged) else 1 for d, n in enumerate(x.shape)]
    groups_of = groups_of.transpose(order).reshape(shape)
    count = group_sizes.shape[-1]
    if not count and groups:  # without groups, a group of zeros
        y = np.zeros([1 if d == groups[0] else n for d, n in enumerate(y.shape)], y.dtype)
    parts = []
    for group in range(max(count, 1)):
        rows = np.where(groups_of == group, x, np.zeros((), x.dtype))
        if ragged in x_contracting:
            columns, dims = y, numbers.dot_dimension_numbers
        else:
            columns, dims = y.take(group, groups[0]), _without(numbers, groups[0])
        parts.append(dot_general(rows, columns, dimension_numbers=dims, **options))
    dtype = _result_dtype(x, y, preferred_element_type)
    if ragged in x_contracting:
        return convert(np.stack(parts)[:count], dtype)
    return convert(np.sum(parts, axis=0, dtype=parts[0].dtype), dtype)


def _without(numbers: RaggedDotDimensionNumbers, group: int) -> tuple[Any, ...]:
    """The dimension numbers of a product without the right operand's group dimension."""
    (x_contracting, y_contracting), (x_batch, y_batch) = numbers.dot_dimension_numbers
    # Dimensions after the removed one move down by one.
    down = lambda dims: tuple(d - (d > group) for d in dims)
    return (x_contracting, down(y_contracting)), (x_batch, down(y_batch))


def _result_dtype(x: np.ndarray, y: np.ndarray, preferred: np.dtype | None) -> np.dtype:
    return (
        x.dtype if preferred is None and x.dtype == y.dtype else preferred or np.result_type(x, y)
    )


def _scaled_dot(
    x: np.ndarray,
    y: np.ndarray,
    x_scale: np.ndarray,
    y_scale: np.ndarray,
    *,
    dimension_numbers: tuple[Any, ...],
    preferred_element_type: np.dtype,
) -> np.ndarray:
    # Each scale belongs to a block of elements along each dimension: repeat it over its block.
    def unscaled(values: np.ndarray, scale: np.ndarray) -> np.ndarray:
        for d, (size, count) in enumerate(zip(values.shape, scale.shape, strict=True)):
            scale = scale.repeat(size // count, d) if count else scale
        return np.multiply(values.astype(bfloat16), scale.astype(bfloat16))

    product = dot_general(
        unscaled(x, x_scale),
        unscaled(y, y_scale),
        dimension_numbers=dimension_numbers,
        preferred_element_type=preferred_element_type,
    )
    return convert(product, preferred_element_type)


contraction_rules: dict[str, Rule] = {
    "ragged_dot_general": _ragged_dot_general,
    "scaled_dot": _scaled_dot,
}
