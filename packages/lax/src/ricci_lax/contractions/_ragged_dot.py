"""Products of groups of rows: ``ragged_dot`` and ``ragged_dot_general``.

One dimension of the left operand is ragged: it is cut into groups of given sizes. If it is free,
each group has its own right operand; if it is contracted, each group has its own sum; if it is a
batch dimension, the groups do not change the result.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import index
from typing import Any, NamedTuple

import numpy as np

from ricci_autodiff import Zero, is_undefined_primal
from ricci_batching import batched_at
from ricci_ir import (
    Array,
    ArrayLike,
    DTypeLike,
    Shape,
    ShapedArray,
    define,
    explicit_dtype,
    issubdtype,
)
from ricci_lax.elementwise._arithmetic import add
from ricci_lax.elementwise._comparison import and_p, le, lt, select_n
from ricci_lax.elementwise._conversion import convert_element_type
from ricci_lax.reductions._cumulative import cumsum
from ricci_lax.rules._law_examples import of_matrices
from ricci_lax.shapes._joining import concatenate
from ricci_lax.shapes._slicing import slice_in_dim
from ricci_lax.structure._filling import broadcasted_iota, full
from ricci_lax.structure._shapes import array_aval, broadcast_in_dim, placement, shape_of, transpose
from ricci_stablehlo import Lowering, Value, int_list, traced

from ._dot import DotDimensionNumbers, dot_general, dot_general_p
from ._precision import CanonicalPrecision, PrecisionLike, canonicalize_precision, precision_config

__all__ = [
    "ragged_dot",
    "ragged_dot_general",
    "RaggedDotDimensionNumbers",
]


@dataclass(frozen=True, init=False)
class RaggedDotDimensionNumbers:
    """The dimensions of a ragged product.

    Args:
      dot_dimension_numbers: ``((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch))``.
      lhs_ragged_dimensions: the one dimension of the left operand that is cut into groups.
      rhs_group_dimensions: the dimension of the right operand that counts the groups, if the
        ragged dimension is neither contracted nor a batch; else none.

    Example:
      >>> RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), [0], [0]).lhs_ragged_dimensions
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
        object.__setattr__(self, "dot_dimension_numbers", numbers)
        object.__setattr__(self, "lhs_ragged_dimensions", ragged)
        object.__setattr__(self, "rhs_group_dimensions", tuple(map(index, rhs_group_dimensions)))


class _Dims(NamedTuple):
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
        own = self.lhs_contracting if self.mode == "contracting" else self.lhs_free(ndim)
        return (*self.lhs_batch, *own[: own.index(self.ragged)])

    def numbers(self) -> RaggedDotDimensionNumbers:
        """The same in the form that the primitive takes."""
        contracting = (self.lhs_contracting, self.rhs_contracting)
        batch = (self.lhs_batch, self.rhs_batch)
        group = () if self.group is None else (self.group,)
        return RaggedDotDimensionNumbers((contracting, batch), (self.ragged,), group)


def _dims(numbers: RaggedDotDimensionNumbers) -> _Dims:
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = numbers.dot_dimension_numbers
    group = numbers.rhs_group_dimensions
    (ragged,) = numbers.lhs_ragged_dimensions
    return _Dims(
        lhs_contracting,
        rhs_contracting,
        lhs_batch,
        rhs_batch,
        ragged,
        group[0] if group else None,
    )


_name = "ragged_dot_general"


def _check_ragged(lhs: ShapedArray, rhs: ShapedArray, numbers: RaggedDotDimensionNumbers) -> None:
    ragged, groups = numbers.lhs_ragged_dimensions, numbers.rhs_group_dimensions
    if len(ragged) != 1:
        raise TypeError(
            f"{_name}: lhs_ragged_dimensions={ragged} must name one dimension of lhs: exactly one "
            "is cut into groups."
        )
    if not 0 <= ragged[0] < lhs.ndim:
        raise TypeError(
            f"{_name}: lhs_ragged_dimensions={ragged} names a dimension that lhs of shape "
            f"{lhs.shape} lacks. Count dimensions from 0; negative numbers are not taken."
        )
    if not all(0 <= d < rhs.ndim for d in groups):
        raise TypeError(
            f"{_name}: rhs_group_dimensions={groups} names a dimension that rhs of shape "
            f"{rhs.shape} lacks. Count dimensions from 0; negative numbers are not taken."
        )
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = numbers.dot_dimension_numbers
    if set(groups) & {*rhs_contracting, *rhs_batch}:
        raise TypeError(
            f"{_name}: rhs_group_dimensions={groups} are also among the contracting "
            f"{rhs_contracting} or batch {rhs_batch} dimensions of rhs. The dimension that counts "
            "the groups must be one of its own."
        )
    own = ragged[0] not in (*lhs_contracting, *lhs_batch)
    if len(groups) != own:
        expected = "one dimension of rhs that counts the groups" if own else "none"
        kind = "neither contracted nor a batch" if own else "contracted or a batch"
        raise TypeError(
            f"{_name}: the ragged dimension {ragged[0]} of lhs is {kind}, so that "
            f"rhs_group_dimensions must name {expected}, got {groups}."
        )


def _check_group_sizes(
    lhs: ShapedArray, rhs: ShapedArray, group_sizes: ShapedArray, dims: _Dims
) -> None:
    if not issubdtype(group_sizes.dtype, np.integer):
        raise TypeError(
            f"{_name}: group_sizes are counts and must be integers, got {group_sizes.str_short()}."
        )
    if group_sizes.ndim == 0:
        raise TypeError(f"{_name}: group_sizes must list the size of each group, got a scalar.")
    count = group_sizes.shape[-1]
    prefix = tuple(lhs.shape[d] for d in dims.prefix(lhs.ndim))
    if group_sizes.ndim > 1 and group_sizes.shape != (*prefix, count):
        shapes = " or ".join(str(s) for s in dict.fromkeys([(count,), (*prefix, count)]))
        raise TypeError(
            f"{_name}: group_sizes must have shape {shapes} for lhs of shape {lhs.shape}, got "
            f"{group_sizes.shape}."
        )
    if dims.group is not None and rhs.shape[dims.group] != count:
        raise TypeError(
            f"{_name}: group_sizes list {count} groups, but rhs of shape {rhs.shape} has "
            f"{rhs.shape[dims.group]} along its group dimension {dims.group}."
        )


def _ragged_aval(
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
    dims = _dims(ragged_dot_dimension_numbers)
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
    if dims.mode == "contracting":
        sizes.insert(0, group_sizes.shape[-1])
    return product.update(shape=tuple(sizes))


# The transposes are ragged products, too. Each gives the cotangent with its dimensions ordered by
# role, and ``_laid_out`` moves them to the operand's order.


def _laid_out(product: Array, order: Sequence[int], aval: ShapedArray) -> Array:
    """The cotangent of an operand, from one with the operand's dimensions in ``order``."""
    result = transpose(product, tuple(np.argsort(order).tolist()))
    found = array_aval(product)
    return result if found.dtype == aval.dtype else convert_element_type(result, aval.dtype)


def _ordered(x: Array, *groups: Sequence[int]) -> Array:
    return transpose(x, tuple(d for dims in groups for d in dims))


def _span(start: int, count: int) -> tuple[int, ...]:
    return tuple(range(start, start + count))


def _cotangent_of_lhs(
    ct: Array,
    x: ShapedArray,
    y: Array,
    group_sizes: Array,
    dims: _Dims,
    params: dict[str, Any],
) -> Array:
    y_ndim = len(shape_of(y))
    batch = len(dims.lhs_batch)
    x_free, y_free = dims.lhs_free(x.ndim), dims.rhs_free(y_ndim)
    if dims.mode == "contracting":
        # ct has the dimensions groups, batch, x_free, y_free: a matrix for each group of y.
        y = _ordered(y, dims.rhs_batch, dims.rhs_contracting, y_free)
        summed = len(dims.rhs_contracting)
        new = _Dims(
            lhs_contracting=_span(batch + summed, len(y_free)),
            rhs_contracting=_span(1 + batch + len(x_free), len(y_free)),
            lhs_batch=_span(0, batch),
            rhs_batch=_span(1, batch),
            ragged=batch + dims.lhs_contracting.index(dims.ragged),
            group=0,
        )
        product = _bind(y, ct, group_sizes, new, params)
        return _laid_out(product, (*dims.lhs_batch, *dims.lhs_contracting, *x_free), x)
    kept = (*dims.lhs_batch, *x_free)
    new = _Dims(
        lhs_contracting=_span(len(kept), len(y_free)),
        rhs_contracting=y_free,
        lhs_batch=_span(0, batch),
        rhs_batch=dims.rhs_batch,
        ragged=kept.index(dims.ragged),
        group=dims.group,
    )
    product = _bind(ct, y, group_sizes, new, params)
    partner = dict(zip(dims.rhs_contracting, dims.lhs_contracting, strict=True))
    summed = tuple(partner[d] for d in sorted(dims.rhs_contracting))
    return _laid_out(product, (*kept, *summed), x)


def _cotangent_of_rhs(
    ct: Array,
    x: Array,
    y: ShapedArray,
    group_sizes: Array,
    dims: _Dims,
    params: dict[str, Any],
) -> Array:
    x_ndim = len(shape_of(x))
    batch, summed = len(dims.lhs_batch), len(dims.lhs_contracting)
    x_free, y_free = dims.lhs_free(x_ndim), dims.rhs_free(y.ndim)
    if dims.mode == "free":
        new = _Dims(
            lhs_contracting=x_free,
            rhs_contracting=_span(batch, len(x_free)),
            lhs_batch=dims.lhs_batch,
            rhs_batch=_span(0, batch),
            ragged=dims.ragged,
            group=None,
        )
        product = _bind(x, ct, group_sizes, new, params)
        partner = dict(zip(dims.lhs_contracting, dims.rhs_contracting, strict=True))
        found = tuple(partner[d] for d in sorted(dims.lhs_contracting))
        order: Any = (dims.group, *dims.rhs_batch, *found, *y_free)
        return _laid_out(product, order, y)
    x = _ordered(x, dims.lhs_batch, dims.lhs_contracting, x_free)
    x_dims = (*dims.lhs_batch, *dims.lhs_contracting)
    grouped = dims.mode == "contracting"
    new = _Dims(
        lhs_contracting=_span(batch + summed, len(x_free)),
        rhs_contracting=_span(grouped + batch, len(x_free)),
        lhs_batch=_span(0, batch),
        rhs_batch=_span(int(grouped), batch),
        ragged=x_dims.index(dims.ragged),
        group=0 if grouped else None,
    )
    product = _bind(x, ct, group_sizes, new, params)
    return _laid_out(product, (*dims.rhs_batch, *dims.rhs_contracting, *y_free), y)


def _bind(lhs: Array, rhs: Array, group_sizes: Array, dims: _Dims, params: dict[str, Any]) -> Array:
    numbers = dims.numbers()
    return ragged_dot_general_p.bind(
        lhs, rhs, group_sizes, ragged_dot_dimension_numbers=numbers, **params
    )


def _ragged_transpose(ct, x, y, group_sizes, *, ragged_dot_dimension_numbers, **params):
    dims = _dims(ragged_dot_dimension_numbers)
    if is_undefined_primal(x):
        return _cotangent_of_lhs(ct, x.aval, y, group_sizes, dims, params), None, None
    return None, _cotangent_of_rhs(ct, x, y.aval, group_sizes, dims, params), None


def _ragged_batch(axis, args, dims, *, ragged_dot_dimension_numbers, **params):
    numbers = _dims(ragged_dot_dimension_numbers)
    lhs, rhs, group_sizes = args
    if dims[2] is not None or len(shape_of(group_sizes)) > 1:
        group_sizes = batched_at(group_sizes, dims[2], axis.size, 0)
        group_sizes = _batched_group_sizes(group_sizes, lhs, dims[0], numbers)
    lhs, rhs = (batched_at(x, d, axis.size, 0) for x, d in zip(args[:2], dims[:2], strict=True))
    up = lambda found: tuple(d + 1 for d in found)
    new = _Dims(
        up(numbers.lhs_contracting),
        up(numbers.rhs_contracting),
        (0, *up(numbers.lhs_batch)),
        (0, *up(numbers.rhs_batch)),
        numbers.ragged + 1,
        None if numbers.group is None else numbers.group + 1,
    )
    result = _bind(lhs, rhs, group_sizes, new, params)
    return result, 1 if numbers.mode == "contracting" else 0


def _batched_group_sizes(group_sizes: Array, lhs: Array, lhs_dim: int | None, dims: _Dims) -> Array:
    """A batch of group sizes, repeated along all dimensions along which sizes may differ."""
    shape = list(shape_of(lhs))
    if lhs_dim is not None:
        del shape[lhs_dim]
    prefix = tuple(shape[d] for d in dims.prefix(len(shape)))
    found = shape_of(group_sizes)
    if len(found) == len(prefix) + 2:
        return group_sizes
    new_shape = (found[0], *prefix, found[-1])
    return broadcast_in_dim(group_sizes, new_shape, (0, len(new_shape) - 1))


def _masked(x: Array, group_sizes: Array, prefix: Sequence[int], ragged: int) -> Array:
    """Copies of an array along a new first dimension, one for each group and zero outside of it.

    Args:
      prefix: the dimensions of ``x`` that the leading ones of ``group_sizes`` stand for.
      ragged: the dimension of ``x`` that is cut into groups.
    """
    shape, count = shape_of(x), shape_of(group_sizes)[-1]
    new_shape = (count, *shape)
    copies = broadcast_in_dim(x, new_shape, _span(1, len(shape)))
    sizes = array_aval(group_sizes)
    axis = sizes.ndim - 1
    positions = broadcasted_iota(sizes.dtype, new_shape, ragged + 1)
    ends = cumsum(group_sizes, axis)
    zero = full((*sizes.shape[:-1], 1), 0, sizes.dtype)
    starts = concatenate([zero, slice_in_dim(ends, 0, -1, axis=axis)], axis)
    # The dimensions of the group sizes, put in the order of the result's.
    places = [*(d + 1 for d in prefix), 0]
    order = tuple(np.argsort(places).tolist())

    def spread(values: ArrayLike) -> Array:
        return broadcast_in_dim(transpose(values, order), new_shape, sorted(places))

    inside = and_p.bind(le(spread(starts), positions), lt(positions, spread(ends)))
    dtype = array_aval(x).dtype
    return select_n(inside, full(new_shape, 0, dtype), copies)


def _as_dense(
    lhs: Array,
    rhs: Array,
    group_sizes: Array,
    *,
    dims: _Dims,
    precision: CanonicalPrecision,
    preferred_element_type: DTypeLike | None,
) -> Array:
    """The product as a dense one of masked copies, which sums over groups or batches them."""
    contracting: Any = (dims.lhs_contracting, dims.rhs_contracting)
    batch = (dims.lhs_batch, dims.rhs_batch)
    options = {"precision": precision, "preferred_element_type": preferred_element_type}
    if dims.mode == "batch":
        return dot_general(lhs, rhs, (contracting, batch), **options)
    ndim = len(shape_of(lhs))
    prefix = dims.prefix(ndim)
    sizes = shape_of(group_sizes)
    if len(sizes) == 1 and prefix:
        full_shape = (*(shape_of(lhs)[d] for d in prefix), *sizes)
        group_sizes = broadcast_in_dim(group_sizes, full_shape, (len(prefix),))
    lhs_parts = _masked(lhs, group_sizes, prefix, dims.ragged)
    up = lambda found: tuple(d + 1 for d in found)
    if dims.mode == "free":
        contracting = ((*up(dims.lhs_contracting), 0), (*dims.rhs_contracting, dims.group))
        return dot_general(
            lhs_parts, rhs, (contracting, (up(dims.lhs_batch), dims.rhs_batch)), **options
        )
    partner = dict(zip(dims.lhs_contracting, dims.rhs_contracting, strict=True))
    partner.update(zip(dims.lhs_batch, dims.rhs_batch, strict=True))
    rhs_parts = _masked(rhs, group_sizes, [partner[d] for d in prefix], partner[dims.ragged])
    contracting = (up(dims.lhs_contracting), up(dims.rhs_contracting))
    batch = ((0, *up(dims.lhs_batch)), (0, *up(dims.rhs_batch)))
    return dot_general(lhs_parts, rhs_parts, (contracting, batch), **options)


def _ragged_lower(
    ctx: Lowering,
    lhs: Value,
    rhs: Value,
    group_sizes: Value,
    *,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    precision: CanonicalPrecision,
    preferred_element_type: np.dtype | None,
    group_offset: None,
    out_sharding,
) -> Value:
    dims, out = _dims(ragged_dot_dimension_numbers), ctx.out
    if ctx.platform == "cpu":
        options = {"precision": precision, "preferred_element_type": preferred_element_type}
        dense = traced(lambda x, y, sizes: _as_dense(x, y, sizes, dims=dims, **options))
        return dense(ctx, lhs, rhs, group_sizes)
    if lhs.dtype != rhs.dtype:
        as_out = traced(lambda x: convert_element_type(x, out.dtype))
        lhs, rhs = (x if x.dtype == out.dtype else as_out(ctx, x) for x in (lhs, rhs))
    lists = {
        "lhs_batching_dimensions": dims.lhs_batch,
        "rhs_batching_dimensions": dims.rhs_batch,
        "lhs_contracting_dimensions": dims.lhs_contracting,
        "rhs_contracting_dimensions": dims.rhs_contracting,
        "lhs_ragged_dimensions": (dims.ragged,),
        "rhs_group_dimensions": () if dims.group is None else (dims.group,),
    }
    fields = ", ".join(f"{name} = {int_list(found)}" for name, found in lists.items() if found)
    names = precision_config(precision).strip("[]").split(", ")
    precisions = ", ".join(f"#chlo<precision {name}>" for name in names)
    attributes = (
        f"precision_config = [{precisions}], "
        f"ragged_dot_dimension_numbers = #chlo.ragged_dot<{fields}>"
    )
    return ctx.generic("chlo.ragged_dot", [lhs, rhs, group_sizes], [out], attributes)[0]


def _ragged_jvp(primals, tangents, **params):
    x, y, sizes = primals
    result = ragged_dot_general_p.bind(x, y, sizes, **params)
    terms = []
    if type(tangents[0]) is not Zero:
        terms.append(ragged_dot_general_p.bind(tangents[0], y, sizes, **params))
    if type(tangents[1]) is not Zero:
        terms.append(ragged_dot_general_p.bind(x, tangents[1], sizes, **params))
    if not terms:
        return result, Zero.from_primal(result)
    return result, terms[0] if len(terms) == 1 else add(*terms)


def _ragged_shown(*, preferred_element_type: np.dtype | None, **params: Any) -> dict[str, Any]:
    if preferred_element_type is not None:
        return {"preferred_element_type": preferred_element_type.type, **params}
    return {"preferred_element_type": None, **params}


ragged_dot_general_p = define(
    _name,
    abstract_eval=_ragged_aval,
    jvp=_ragged_jvp,
    transpose=_ragged_transpose,
    batch=_ragged_batch,
    lower=_ragged_lower,
    shown=_ragged_shown,
    exempt=of_matrices,
)


def ragged_dot_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    group_sizes: ArrayLike,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    group_offset: None = None,
    out_sharding: object = None,
) -> Array:
    """Multiply arrays, one dimension of which is cut into groups.

    Args:
      lhs, rhs: arrays.
      group_sizes: integers of shape ``(g,)``, the number of positions of the ragged dimension in
        each group; or of shape ``(..., g)``, with separate sizes for each position of the batch
        dimensions and of the dimensions of the same role before the ragged one. Positions after
        the last group belong to none.
      ragged_dot_dimension_numbers: which dimensions are contracted, batches, ragged, and groups.
      precision: as for ``dot_general``.
      preferred_element_type: the dtype of the result, by default the operands' promoted one.
      group_offset: must be ``None``.
      out_sharding: the sharding of the result.

    Returns:
      An array whose dimensions are the batch, the remaining ones of ``lhs``, then of ``rhs``;
      the groups come first if the ragged dimension is contracted. Rows of no group are zero.

    Raises:
      TypeError: if dimensions or shapes do not fit, ``group_sizes`` are no integers, or a
        ``group_offset`` is given.
      ValueError: if the precision is not a known one.

    Example:
      >>> numbers = RaggedDotDimensionNumbers((((0,), (0,)), ((), ())), [0], [])
      >>> x, y = np.ones((5, 3), np.float32), np.ones((5, 4), np.float32)
      >>> ragged_dot_general(x, y, np.array([2, 3]), numbers).shape
      (2, 3, 4)

    Source: CHLO ``ragged_dot``.
    """
    if group_offset is not None:
        raise TypeError(
            f"{_name}: group_offset is not taken: rhs must hold all groups of group_sizes. Slice "
            "group_sizes, and lhs with them, instead."
        )
    if preferred_element_type is not None:
        preferred_element_type = np.dtype(explicit_dtype(preferred_element_type, _name))
    result = ragged_dot_general_p.bind(
        lhs,
        rhs,
        group_sizes,
        ragged_dot_dimension_numbers=ragged_dot_dimension_numbers,
        precision=canonicalize_precision(precision),
        preferred_element_type=preferred_element_type,
        group_offset=None,
        out_sharding=None,
    )
    return result if out_sharding is None else placement.constrain(result, out_sharding)


_matrices = RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), (0,), (0,))


def ragged_dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    group_sizes: ArrayLike,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    group_offset: None = None,
    out_sharding: object = None,
) -> Array:
    """Multiply each group of rows of a matrix by a matrix of its own.

    Args:
      lhs: an array of shape ``(m, k)``.
      rhs: an array of shape ``(g, k, n)``, a matrix for each group.
      group_sizes: integers of shape ``(g,)``: how many rows of ``lhs`` each group has, in order.
      precision, preferred_element_type, group_offset, out_sharding: as for
        ``ragged_dot_general``.

    Returns:
      An array of shape ``(m, n)``, with zeros in rows after the last group.

    Raises:
      TypeError: if shapes do not fit, ``group_sizes`` are no integers, or a ``group_offset`` is
        given.
      ValueError: if the precision is not a known one.

    Example:
      >>> x, y = np.ones((5, 3), np.float32), np.ones((2, 3, 4), np.float32)
      >>> ragged_dot(x, y, np.array([2, 3])).shape
      (5, 4)

    Source: CHLO ``ragged_dot``.
    """
    return ragged_dot_general(
        lhs,
        rhs,
        group_sizes,
        _matrices,
        precision,
        preferred_element_type,
        group_offset,
        out_sharding,
    )
