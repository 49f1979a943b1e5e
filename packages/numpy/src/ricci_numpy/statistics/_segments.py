"""Reductions of the rows of an array by segment, the segments of rows given as integers."""

from collections.abc import Callable
from operator import index
from typing import Any, Protocol

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_lax.authoring import resolved_by
from ricci_numpy._promotion import as_operand, check_arraylike
from ricci_numpy.indexing._at import at
from ricci_numpy.reductions._axis_reductions import max, min, prod, sum
from ricci_numpy.sequences._ranges import arange
from ricci_numpy.ufuncs._division import floor_divide

# For each reduction: the method of ``x.at`` that joins the rows of a segment, and the function
# that joins the results of buckets.
_JOINS: dict[str, tuple[str, Callable[..., ir.Array]]] = {
    "segment_sum": ("add", sum),
    "segment_prod": ("multiply", prod),
    "segment_min": ("min", min),
    "segment_max": ("max", max),
}


def _neutral(name: str, dtype: np.dtype) -> float | np.floating:
    """The value of a segment without rows."""
    if name in ("segment_sum", "segment_prod"):
        return int(name == "segment_prod")
    is_min = name == "segment_min"
    if dtype == ir.BOOL:
        return is_min
    if ir.issubdtype(dtype, np.integer):
        limits = ir.iinfo(dtype)
        return limits.max if is_min else limits.min
    # Some float8 dtypes have no infinity: their largest number takes its place.
    if ir.issubdtype(dtype, np.floating) and not np.isinf(np.array(np.inf).astype(dtype)):
        return ir.finfo(dtype).max if is_min else ir.finfo(dtype).min
    return np.inf if is_min else -np.inf


def _segment_count(name: str, segment_ids: ir.ArrayLike, num_segments: Any) -> int:
    """The number of segments as an int, by default from the largest of the ids."""
    past = 0
    if num_segments is None:
        # The sum is one of Python's integers: the ids' dtype may not hold it.
        num_segments, past = as_operand(max(segment_ids)), 1
    if isinstance(num_segments, ir.Tracer) and num_segments.concrete() is None:
        raise ir.ConcretizationTypeError(
            num_segments,
            f"{name}: the number of segments is part of the result's shape, so it must be "
            "static. Give num_segments as an int.",
        )
    count = ir.as_size(num_segments) + past
    if count < 0:
        raise ValueError(f"{name}: num_segments must not be negative, got {count}.")
    return count


def _bucket_count(name: str, segment_ids: ir.ArrayLike, bucket_size: int | None) -> int | None:
    """The number of buckets of rows, or ``None`` if rows are not reduced in buckets."""
    if bucket_size is None:
        return None
    if bucket_size == 0:
        raise ZeroDivisionError(f"{name}: bucket_size must be positive, got 0.")
    return -(-np.shape(segment_ids)[0] // index(bucket_size))


@ir.inlined("segments")
def _joined(
    data: ir.Array,
    segment_ids: ir.Array,
    *,
    name: str,
    count: int,
    buckets: int | None,
    bucket_size: int | None,
    **options: object,
) -> ir.Array:
    aval = ir.get_aval(data)
    method, reduction = _JOINS[name]
    start = ir.exact_scalar(_neutral(name, aval.dtype), aval.dtype)
    # A single id has all of the data as its row.
    shape = (count, *aval.shape[np.ndim(segment_ids) and 1 :])
    if np.ndim(segment_ids) > 1:
        shape = (count, *aval.shape[1:])
    # Negative ids are of segments that do not exist, not counted from the end.
    options["wrap_negative_indices"] = False
    if buckets is None or bucket_size is None:
        return getattr(at(lax.full(shape, start))[segment_ids], method)(data, **options)
    # Rows are joined within buckets first, so that rounding errors of sums grow more slowly.
    partial = lax.full((buckets, *shape), start)
    bucket_numbers = floor_divide(arange(np.shape(segment_ids)[0]), bucket_size)
    partial = at(partial)[bucket_numbers[None], segment_ids[None]]
    return reduction(getattr(partial, method)(data[None], **options), axis=0)


_DOCUMENT = """{summary}

Args:
  data: an array of shape (n, ...).
  segment_ids: integers of shape (n,): which segment each row belongs to. Rows of segments that
    do not exist (negative, or beyond the last) are left out.
  num_segments: how many segments the result has; by default up to the largest of
    ``segment_ids``, which must then be concrete.
  indices_are_sorted, unique_indices: promises about ``segment_ids`` that allow faster code.
  bucket_size: if given, rows are reduced in buckets of this size first, then the results of
    the buckets; sums of many rows become more exact.
  mode: what to do with rows of segments that do not exist; see ``x.at``.
  out_sharding: the result's sharding.

Returns:
  An array of shape ``(num_segments, ...)`` and the dtype of ``data``.

Raises:
  TypeError: if ``data`` or ``segment_ids`` is not an array, or the ids are not integers.
  ValueError: if ``num_segments`` is negative, or the ids do not fit the data.
  ConcretizationTypeError: if the number of segments is traced.

Example:
  >>> import ricci.numpy as jnp
  >>> from ricci import ops
  >>> ops.{name}(jnp.array([2.0, 3.0, 4.0]), jnp.array([0, 0, 2]), num_segments=3).tolist()
  {example}

Source: StableHLO scatter.
"""


class SegmentReduction(Protocol):
    """A reduction of this module, as type checkers see it."""

    def __call__(
        self,
        data: ir.ArrayLike,
        segment_ids: ir.ArrayLike,
        num_segments: int | None = None,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        bucket_size: int | None = None,
        mode: object = None,
        out_sharding: object = None,
    ) -> ir.Array: ...


def _segment_reduction(name: str, summary: str, example: list[float]) -> SegmentReduction:
    """One of the reductions in ``_JOINS``, with its documentation."""

    def reduction(
        data: ir.ArrayLike,
        segment_ids: ir.ArrayLike,
        num_segments: int | None = None,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        bucket_size: int | None = None,
        mode: object = None,
        out_sharding: object = None,
    ) -> ir.Array:
        check_arraylike(name, data, segment_ids)
        data, segment_ids = as_operand(data), as_operand(segment_ids)
        aval = ir.get_aval(data)
        if name in ("segment_sum", "segment_prod") and aval.dtype == ir.BOOL:
            raise TypeError(f"{name} takes numbers, got an array of bool. Convert it with astype.")
        settings = {
            "name": name,
            "count": _segment_count(name, segment_ids, num_segments),
            "buckets": _bucket_count(name, segment_ids, bucket_size),
            "bucket_size": bucket_size,
            "indices_are_sorted": bool(indices_are_sorted),
            "unique_indices": bool(unique_indices),
            "mode": mode,
        }
        return resolved_by(out_sharding, lambda: _joined(data, segment_ids, **settings))

    reduction.__name__ = reduction.__qualname__ = name
    reduction.__doc__ = _DOCUMENT.format(name=name, summary=summary, example=example)
    return reduction


segment_sum: SegmentReduction = _segment_reduction(
    "segment_sum",
    "The sum of the rows of each segment; 0 for segments without rows.",
    [5.0, 0.0, 4.0],
)
segment_prod: SegmentReduction = _segment_reduction(
    "segment_prod",
    "The product of the rows of each segment; 1 for segments without rows.",
    [6.0, 1.0, 4.0],
)
segment_min: SegmentReduction = _segment_reduction(
    "segment_min",
    "The least elements of each segment; the dtype's greatest value for segments without rows.",
    [2.0, np.inf, 4.0],
)
segment_max: SegmentReduction = _segment_reduction(
    "segment_max",
    "The greatest elements of each segment; the dtype's least value for segments without rows.",
    [3.0, -np.inf, 4.0],
)
