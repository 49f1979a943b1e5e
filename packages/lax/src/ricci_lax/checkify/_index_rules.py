"""Checks of indices: slices, gathers and scatters that go out of bounds."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ricci_ir import Array, DTypeLike, Primitive, get_aval
from ricci_lax.elementwise._comparison import bitwise_or, gt, lt
from ricci_lax.elementwise._conversion import convert_element_type
from ricci_lax.reductions._axis_reductions import argmax, reduce_or
from ricci_lax.rules._checkify import bound, check_rules
from ricci_lax.shapes._dynamic_slicing import (
    dynamic_index_in_dim,
    dynamic_slice_p,
    dynamic_update_slice_p,
)
from ricci_lax.shapes._gather import gather_p
from ricci_lax.shapes._joining import concatenate
from ricci_lax.shapes._scatter import (
    scatter_add_p,
    scatter_max_p,
    scatter_min_p,
    scatter_mul_p,
    scatter_p,
    scatter_sub_p,
)
from ricci_lax.structure._broadcasting import broadcast_in_dim
from ricci_lax.structure._filling import full
from ricci_lax.structure._operand_types import shape_of
from ricci_lax.structure._reshaping import reshape

from ._exceptions import OOBError
from ._log import Log


def _report(
    log: Log,
    primitive: Primitive,
    shape: tuple[int, ...],
    indices: Array,
    axes: Sequence[int],
    sizes: Sequence[int],
) -> None:
    """Report the first index that is out of bounds.

    Args:
      shape: the shape of the indexed array.
      indices: integers, whose last dimension has an index along each of ``axes``.
      sizes: for each dimension of the array, the size of the slice that starts at an index.
    """
    index_shape = shape_of(indices)
    count = prod(index_shape)
    if not count:
        return
    # A signed type, since indices and the last valid start (of a slice too large) may be negative.
    wide = np.int64 if get_aval(indices).dtype.itemsize == 8 else np.int32
    flat = reshape(convert_element_type(indices, wide), (count,))
    last = _tiled([shape[a] - sizes[a] for a in axes], count, wide)
    outside = bitwise_or(lt(flat, full((count,), 0, wide)), gt(flat, last))
    first = argmax(outside, 0, np.int32)
    table = [
        convert_element_type(flat, np.int32),
        _tiled(axes, count, np.int32),
        _tiled([shape[a] for a in axes], count, np.int32),
    ]
    entry = [reshape(dynamic_index_in_dim(column, first, 0), (1,)) for column in table]
    failed = reduce_or(outside, (0,))
    log.report(OOBError, failed, (primitive.name, tuple(shape)), concatenate(entry, 0))


def _tiled(values: Sequence[int], count: int, dtype: DTypeLike) -> Array:
    """Numbers repeated ``count`` times in all; computed, since inner jaxprs have no constants."""
    rows = count // len(values)
    return reshape(concatenate([full((rows, 1), v, dtype) for v in values], 1), (count,))


def _stacked(starts: Sequence[Any]) -> Array:
    """Scalar start indices as one vector."""
    wide = np.int64 if any(get_aval(s).dtype.itemsize == 8 for s in starts) else np.int32  # pyright: ignore
    rows = [broadcast_in_dim(convert_element_type(s, wide), (1,), ()) for s in starts]
    return concatenate(rows, 0)


def _check_starts(
    log: Log, primitive: Primitive, x: Array, starts: list, sizes: Sequence[int]
) -> None:
    if OOBError in log.enabled and starts:
        shape = shape_of(x)
        _report(log, primitive, shape, _stacked(starts), range(len(shape)), sizes)


def _dynamic_slice(log: Log, primitive: Primitive, operands: list, params: dict) -> list[Any]:
    x, *starts = operands
    _check_starts(log, primitive, x, starts, params["slice_sizes"])
    return bound(primitive, operands, params)


def _dynamic_update_slice(
    log: Log, primitive: Primitive, operands: list, params: dict
) -> list[Any]:
    x, update, *starts = operands
    _check_starts(log, primitive, x, starts, shape_of(update))
    return bound(primitive, operands, params)


def _gather(log: Log, primitive: Primitive, operands: list, params: dict) -> list[Any]:
    # In every mode, as in JAX: one index in a mapped function is a gather that clips.
    if OOBError in log.enabled:
        x, indices = operands
        axes = params["dimension_numbers"].start_index_map
        _report(log, primitive, shape_of(x), indices, axes, params["slice_sizes"])
    return bound(primitive, operands, params)


def _scatter(log: Log, primitive: Primitive, operands: list, params: dict) -> list[Any]:
    results = bound(primitive, operands, params)
    if OOBError in log.enabled:
        x, indices, updates = operands
        numbers = params["dimension_numbers"]
        without = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
        window = iter(numbers.update_window_dims)
        shape, update_shape = shape_of(x), shape_of(updates)
        sizes = [1 if a in without else update_shape[next(window)] for a in range(len(shape))]
        axes = numbers.scatter_dims_to_operand_dims
        _report(log, primitive, shape, indices, axes, sizes)
        # As in JAX, a scatter with checked indices is checked for NaN as well.
        log.report_nans(primitive, results)
    return results


check_rules.define(dynamic_slice_p, _dynamic_slice)
check_rules.define(dynamic_update_slice_p, _dynamic_update_slice)
check_rules.define(gather_p, _gather)
for _p in (scatter_p, scatter_add_p, scatter_sub_p, scatter_mul_p, scatter_min_p, scatter_max_p):
    check_rules.define(_p, _scatter)
