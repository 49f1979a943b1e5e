"""Products of groups of rows: ``ragged_dot`` and ``ragged_dot_general``.

One dimension of the left operand is ragged: it is split into groups of varying sizes. If it is
free, each group is multiplied by another right operand; if it is contracted, each group is summed
separately; if it is a batch dimension, the groups do not change the result.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_autodiff import Zero, is_undefined_primal
from ricci_batching import batched_at
from ricci_lax.elementwise import add, and_p, convert_element_type, le, lt, select_n
from ricci_lax.reductions._cumulative import cumsum
from ricci_lax.shapes import concatenate, slice_in_dim
from ricci_lax.structure import broadcast_in_dim, broadcasted_iota, full, transpose
from ricci_lax.structure._operand_types import array_aval, shape_of
from ricci_lax.structure._resharding import resolved_by
from ricci_stablehlo import Lowering, Value, int_list, traced

from ._dot import dot_general
from ._precision import CanonicalPrecision, PrecisionLike, canonicalize_precision, precision_config
from ._ragged_dot_shape import NAME, RaggedDims, RaggedDotDimensionNumbers, ragged_aval, ragged_dims

__all__ = ["ragged_dot", "ragged_dot_general"]


# The transposes are ragged products, too. Each gives the cotangent with its dimensions ordered by
# role, and ``_laid_out`` moves them to the operand's order.


def _laid_out(product: ir.Array, order: Sequence[int], aval: ir.ShapedArray) -> ir.Array:
    """The cotangent of an operand, from one with the operand's dimensions in ``order``."""
    result = transpose(product, tuple(np.argsort(order).tolist()))
    actual = array_aval(product)
    return result if actual.dtype == aval.dtype else convert_element_type(result, aval.dtype)


def _ordered(x: ir.Array, *groups: Sequence[int]) -> ir.Array:
    return transpose(x, tuple(d for dims in groups for d in dims))


def _span(start: int, count: int) -> tuple[int, ...]:
    return tuple(range(start, start + count))


def _cotangent_of_lhs(
    ct: ir.Array,
    x: ir.ShapedArray,
    y: ir.Array,
    group_sizes: ir.Array,
    dims: RaggedDims,
    params: dict[str, Any],
) -> ir.Array:
    y_ndim = len(shape_of(y))
    batch = len(dims.lhs_batch)
    x_free, y_free = dims.lhs_free(x.ndim), dims.rhs_free(y_ndim)
    if dims.mode == "contracting":
        # ct has the dimensions groups, batch, x_free, y_free: a matrix for each group of y.
        y = _ordered(y, dims.rhs_batch, dims.rhs_contracting, y_free)
        summed = len(dims.rhs_contracting)
        new = RaggedDims(
            lhs_contracting=_span(batch + summed, len(y_free)),
            rhs_contracting=_span(1 + batch + len(x_free), len(y_free)),
            lhs_batch=_span(0, batch),
            rhs_batch=_span(1, batch),
            ragged=batch + dims.lhs_contracting.index(dims.ragged),
            group=0,
        )
        product = _bind(y, ct, group_sizes, new, params)
        return _laid_out(product, (*dims.lhs_batch, *dims.lhs_contracting, *x_free), x)
    # The ragged dimension is free or a batch dimension, and stays so in the cotangent.
    free = (*dims.lhs_batch, *x_free)
    new = RaggedDims(
        lhs_contracting=_span(len(free), len(y_free)),
        rhs_contracting=y_free,
        lhs_batch=_span(0, batch),
        rhs_batch=dims.rhs_batch,
        ragged=free.index(dims.ragged),
        group=dims.group,
    )
    product = _bind(ct, y, group_sizes, new, params)
    partner = dict(zip(dims.rhs_contracting, dims.lhs_contracting, strict=True))
    summed = tuple(partner[d] for d in sorted(dims.rhs_contracting))
    return _laid_out(product, (*free, *summed), x)


def _cotangent_of_rhs(
    ct: ir.Array,
    x: ir.Array,
    y: ir.ShapedArray,
    group_sizes: ir.Array,
    dims: RaggedDims,
    params: dict[str, Any],
) -> ir.Array:
    x_ndim = len(shape_of(x))
    batch, summed = len(dims.lhs_batch), len(dims.lhs_contracting)
    x_free, y_free = dims.lhs_free(x_ndim), dims.rhs_free(y.ndim)
    # The rows of a group in ``x`` and ``ct`` are contracted, which gives a matrix for each group:
    # the ragged dimension is now a contracted one.
    if dims.mode == "free":
        new = RaggedDims(
            lhs_contracting=x_free,
            rhs_contracting=_span(batch, len(x_free)),
            lhs_batch=dims.lhs_batch,
            rhs_batch=_span(0, batch),
            ragged=dims.ragged,
            group=None,
        )
        product = _bind(x, ct, group_sizes, new, params)
        partner = dict(zip(dims.lhs_contracting, dims.rhs_contracting, strict=True))
        contracted = tuple(partner[d] for d in sorted(dims.lhs_contracting))
        order: Any = (dims.group, *dims.rhs_batch, *contracted, *y_free)
        return _laid_out(product, order, y)
    x = _ordered(x, dims.lhs_batch, dims.lhs_contracting, x_free)
    x_dims = (*dims.lhs_batch, *dims.lhs_contracting)
    # If it was contracted, ``ct`` has a matrix for each group, which is multiplied by the group's
    # part of ``x``: the ragged dimension is now a free one.
    grouped = dims.mode == "contracting"
    new = RaggedDims(
        lhs_contracting=_span(batch + summed, len(x_free)),
        rhs_contracting=_span(grouped + batch, len(x_free)),
        lhs_batch=_span(0, batch),
        rhs_batch=_span(int(grouped), batch),
        ragged=x_dims.index(dims.ragged),
        group=0 if grouped else None,
    )
    product = _bind(x, ct, group_sizes, new, params)
    return _laid_out(product, (*dims.rhs_batch, *dims.rhs_contracting, *y_free), y)


def _bind(
    lhs: ir.Array, rhs: ir.Array, group_sizes: ir.Array, dims: RaggedDims, params: dict[str, Any]
) -> ir.Array:
    numbers = dims.numbers()
    return ragged_dot_general_p.bind(
        lhs, rhs, group_sizes, ragged_dot_dimension_numbers=numbers, **params
    )


def _ragged_transpose(ct, x, y, group_sizes, *, ragged_dot_dimension_numbers, **params):
    dims = ragged_dims(ragged_dot_dimension_numbers)
    if is_undefined_primal(x):
        return _cotangent_of_lhs(ct, x.aval, y, group_sizes, dims, params), None, None
    return None, _cotangent_of_rhs(ct, x, y.aval, group_sizes, dims, params), None


def _ragged_batch(axis, args, dims, *, ragged_dot_dimension_numbers, **params):
    numbers = ragged_dims(ragged_dot_dimension_numbers)
    lhs, rhs, group_sizes = args
    if dims[2] is not None or len(shape_of(group_sizes)) > 1:
        group_sizes = batched_at(group_sizes, dims[2], axis, 0)
        group_sizes = _batched_group_sizes(group_sizes, lhs, dims[0], numbers)
    lhs, rhs = (batched_at(x, d, axis, 0) for x, d in zip(args[:2], dims[:2], strict=True))
    up = lambda dims: tuple(d + 1 for d in dims)
    new = RaggedDims(
        up(numbers.lhs_contracting),
        up(numbers.rhs_contracting),
        (0, *up(numbers.lhs_batch)),
        (0, *up(numbers.rhs_batch)),
        numbers.ragged + 1,
        None if numbers.group is None else numbers.group + 1,
    )
    result = _bind(lhs, rhs, group_sizes, new, params)
    return result, 1 if numbers.mode == "contracting" else 0


def _batched_group_sizes(
    group_sizes: ir.Array, lhs: ir.Array, lhs_dim: int | None, dims: RaggedDims
) -> ir.Array:
    """Repeat a batch of group sizes along all dimensions along which sizes may differ."""
    shape = list(shape_of(lhs))
    if lhs_dim is not None:
        del shape[lhs_dim]
    prefix = tuple(shape[d] for d in dims.prefix(len(shape)))
    old_shape = shape_of(group_sizes)
    if len(old_shape) == len(prefix) + 2:
        return group_sizes
    new_shape = (old_shape[0], *prefix, old_shape[-1])
    return broadcast_in_dim(group_sizes, new_shape, (0, len(new_shape) - 1))


def _masked(x: ir.Array, group_sizes: ir.Array, prefix: Sequence[int], ragged: int) -> ir.Array:
    """Copies of an array along a new first dimension, one for each group and zero outside of it.

    Args:
      prefix: the dimensions of ``x`` that correspond to the leading ones of ``group_sizes``.
      ragged: the dimension of ``x`` that is split into groups.
    """
    shape, count = shape_of(x), shape_of(group_sizes)[-1]
    new_shape = (count, *shape)
    copies = broadcast_in_dim(x, new_shape, _span(1, len(shape)))
    sizes = array_aval(group_sizes)
    axis = sizes.ndim - 1
    positions = broadcasted_iota(sizes.dtype, new_shape, ragged + 1)
    # The groups follow each other: each starts where the previous one ends.
    ends = cumsum(group_sizes, axis)
    zero = full((*sizes.shape[:-1], 1), 0, sizes.dtype)
    starts = concatenate([zero, slice_in_dim(ends, 0, -1, axis=axis)], axis)
    # The dimensions of the group sizes, put in the order of the result's.
    places = [*(d + 1 for d in prefix), 0]
    order = tuple(np.argsort(places).tolist())

    def spread(values: ir.ArrayLike) -> ir.Array:
        return broadcast_in_dim(transpose(values, order), new_shape, sorted(places))

    inside = and_p.bind(le(spread(starts), positions), lt(positions, spread(ends)))
    dtype = array_aval(x).dtype
    return select_n(inside, full(new_shape, 0, dtype), copies)


def _as_dense(
    lhs: ir.Array,
    rhs: ir.Array,
    group_sizes: ir.Array,
    *,
    dims: RaggedDims,
    precision: CanonicalPrecision,
    preferred_element_type: ir.DTypeLike | None,
) -> ir.Array:
    """The product as a dense product of masked copies, with a contracted or batched group axis."""
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
    up = lambda dims: tuple(d + 1 for d in dims)
    if dims.mode == "free":
        # Each row is zero in all copies but that of its group: the sum over the groups selects the
        # product with that group's matrix.
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
    dims, out = ragged_dims(ragged_dot_dimension_numbers), ctx.out
    if 0 in (*lhs.shape, *rhs.shape, *out.shape):  # no rows, terms or groups: empty sums
        return ctx.constant(0, out)
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
    fields = ", ".join(f"{role} = {int_list(dims)}" for role, dims in lists.items() if dims)
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
    return result, terms[0] if len(terms) == 1 else add(*terms)


def _ragged_shown(*, preferred_element_type: np.dtype | None, **params: object) -> dict[str, Any]:
    if preferred_element_type is not None:
        return {"preferred_element_type": preferred_element_type.type, **params}
    return {"preferred_element_type": None, **params}


ragged_dot_general_p = ir.define(
    NAME,
    sharding=ir.unsharded(),
    abstract_eval=ragged_aval,
    jvp=_ragged_jvp,
    transpose=_ragged_transpose,
    batch=_ragged_batch,
    lower=_ragged_lower,
    shown=_ragged_shown,
)


@ir.public
def ragged_dot_general(
    lhs: ir.ArrayLike,
    rhs: ir.ArrayLike,
    group_sizes: ir.ArrayLike,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    precision: PrecisionLike = None,
    preferred_element_type: ir.DTypeLike | None = None,
    group_offset: None = None,
    out_sharding: object = None,
) -> ir.Array:
    """Multiply arrays, one dimension of which is split into groups.

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
      >>> import numpy as np
      >>> from ricci import lax
      >>> numbers = lax.RaggedDotDimensionNumbers((((0,), (0,)), ((), ())), [0], [])
      >>> x, y = np.ones((5, 3), np.float32), np.ones((5, 4), np.float32)
      >>> lax.ragged_dot_general(x, y, np.array([2, 3]), numbers).shape
      (2, 3, 4)

    Source: CHLO ``ragged_dot``.
    """
    if group_offset is not None:
        raise TypeError(
            f"{NAME}: group_offset is not supported; rhs must have every group of them. Slice "
            "group_sizes, and lhs with them, instead."
        )
    if preferred_element_type is not None:
        preferred_element_type = np.dtype(ir.explicit_dtype(preferred_element_type, NAME))
    params = {
        "ragged_dot_dimension_numbers": ragged_dot_dimension_numbers,
        "precision": canonicalize_precision(precision),
        "preferred_element_type": preferred_element_type,
        "group_offset": None,
        "out_sharding": None,
    }
    apply = lambda: ragged_dot_general_p.bind(lhs, rhs, group_sizes, **params)
    return apply() if out_sharding is None else resolved_by(out_sharding, apply)


_matrices = RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), (0,), (0,))


@ir.public
def ragged_dot(
    lhs: ir.ArrayLike,
    rhs: ir.ArrayLike,
    group_sizes: ir.ArrayLike,
    precision: PrecisionLike = None,
    preferred_element_type: ir.DTypeLike | None = None,
    group_offset: None = None,
    out_sharding: object = None,
) -> ir.Array:
    """Multiply each group of rows of a matrix by another matrix.

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
      >>> import numpy as np
      >>> from ricci import lax
      >>> x, y = np.ones((5, 3), np.float32), np.ones((2, 3, 4), np.float32)
      >>> lax.ragged_dot(x, y, np.array([2, 3])).shape
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
