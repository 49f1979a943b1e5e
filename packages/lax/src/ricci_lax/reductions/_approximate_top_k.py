"""Approximate search for the greatest or smallest elements: ``approx_max_k``, ``approx_min_k``."""

import math
from operator import index
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_autodiff import Zero, not_linear
from ricci_lax.elementwise import add, gt, lt, neg, select_n
from ricci_lax.shapes import GatherDimensionNumbers, GatherScatterMode, gather
from ricci_lax.structure import broadcasted_iota, reshape
from ricci_lax.structure._operand_types import array_aval, shape_of
from ricci_stablehlo import Lowering, Value, string, tensor_type, traced

from ._sorting import top_k

__all__ = ["approx_max_k", "approx_min_k", "approx_top_k_p"]

# The numbers of elements that a TPU compares at once: of a vector, and along a dimension.
_vector_tile, _lane_tile = 1024, 128


def reduced_size(
    size: int, rank: int, k: int, recall_target: float, size_override: int = -1
) -> int:
    """The number of candidates for the final exact search.

    Args:
      size: how many elements there are.
      rank: the rank of their array.
      k: the number of requested elements.
      recall_target: the expected fraction of them among the candidates.
      size_override: the size to reckon with if the elements are part of more; negative for none.

    Raises:
      RuntimeError: if ``size_override`` is less than ``size``.

    Example:
      >>> from ricci_lax.reductions._approximate_top_k import reduced_size
      >>> reduced_size(5000, 1, 10, 0.95)
      2048

    Source: Chern and others (2022), TPU-KNN: K Nearest Neighbor Search at Peak FLOP/s.
    """
    if 0 <= size_override < size:
        raise RuntimeError(
            f"approx_top_k: reduction_input_size_override={size_override} is less than the "
            f"{size} elements there are. It must be the size of the whole that they are part of."
        )
    tile = _vector_tile if rank == 1 else _lane_tile
    if size <= tile:
        return size
    tiles = -(-size // tile)
    if k == 1:
        return tile
    whole = size_override if size_override >= 0 else size
    # Expected recall of the best of L random bins each: (1 - 1/L)^(k - 1).
    bins = max(_bins(k, recall_target), tile)
    # The elements are reduced by the greatest power of two that leaves as many bins.
    halvings = int(whole // min(bins, whole)).bit_length() - 1
    if halvings == 0:
        return size
    halvings = min(halvings, (size // tile - 1).bit_length())
    return -(-tiles // 2**halvings) * tile


def _bins(k: int, recall_target: float) -> float:
    if recall_target <= 0:
        return 0
    # Solved for L: (1 - 1/L)^(k - 1) is about exp(-(k - 1) / L), which equals the target at
    # L = (1 - k) / log(target).
    return math.inf if recall_target >= 1 else int((1 - k) / math.log(recall_target))


def _approx_top_k_aval(
    x: ir.ShapedArray,
    *,
    k: int,
    reduction_dimension: int,
    recall_target: float,
    is_max_k: bool,
    reduction_input_size_override: int,
    aggregate_to_topk: bool,
) -> list[ir.ShapedArray]:
    name = "approx_max_k" if is_max_k else "approx_min_k"
    if k <= 0:
        raise ValueError(f"{name}: k={k} must be positive.")
    if x.ndim == 0:
        raise TypeError(f"{name}: a scalar has no dimension to search along.")
    if not -x.ndim <= reduction_dimension < x.ndim:
        raise IndexError(
            f"{name}: reduction_dimension={reduction_dimension} is out of bounds for an "
            f"operand of shape {x.shape}."
        )
    size = x.shape[reduction_dimension]
    if size < k:
        raise ValueError(
            f"{name}: there are no {k} elements along dimension {reduction_dimension} of "
            f"shape {x.shape}. Ask for a smaller k."
        )
    if not ir.issubdtype(x.dtype, np.floating):
        raise ValueError(
            f"{name}: operands must be floating-point numbers, got {x.str_short()}. Convert "
            "them, or use top_k."
        )
    if not 0 <= recall_target <= 1:
        raise ValueError(f"{name}: recall_target={recall_target} is not between 0 and 1.")
    shape = list(x.shape)
    override = reduction_input_size_override
    shape[reduction_dimension] = (
        k if aggregate_to_topk else reduced_size(size, x.ndim, k, recall_target, override)
    )
    indices = ir.ShapedArray(shape, np.dtype(np.int32), x.weak_type)
    return [x.resized(tuple(shape)), indices]


_programs: ir.Cache[Any, ir.Jaxpr] = ir.Cache("approximate top k", 256)


def _take_along(dtype: ir.DTypeLike, shape: ir.Shape, count: int, axis: int) -> ir.Jaxpr:
    """The jaxpr that reads elements at indices along an axis; NaN for those out of bounds."""

    def take_along_axis(x: ir.Array, indices: ir.Array) -> list[ir.Array]:
        # Negative indices count from the end.
        fixed = select_n(lt(indices, np.int32(0)), indices, add(indices, np.int32(shape[axis])))
        others = tuple(d for d in range(len(shape)) if d != axis)
        numbers = GatherDimensionNumbers(
            offset_dims=(),
            collapsed_slice_dims=(axis,),
            start_index_map=(axis,),
            operand_batching_dims=others,
            start_indices_batching_dims=others,
        )
        places = reshape(fixed, (*shape_of(fixed), 1))
        mode = GatherScatterMode.FILL_OR_DROP
        return [gather(x, places, numbers, (1,) * len(shape), mode=mode, fill_value=float("nan"))]

    sizes = (*shape[:axis], count, *shape[axis + 1 :])
    avals = [ir.ShapedArray(shape, dtype), ir.ShapedArray(sizes, np.dtype(np.int32))]
    return ir.trace_to_jaxpr(take_along_axis, avals)


def _approx_top_k_jvp(primals, tangents, *, reduction_dimension, **params):
    (x,), (t,) = primals, tangents
    values, indices = approx_top_k_p.bind(x, reduction_dimension=reduction_dimension, **params)
    aval = array_aval(t)
    axis = reduction_dimension % aval.ndim
    key = (aval.dtype, aval.shape, shape_of(indices)[axis], axis)
    program = _programs.make(key, _take_along, *key)
    (tangent,) = ir.staged_call.bind(program, "take_along_axis", [t, indices])
    return [values, indices], [tangent, Zero.from_primal(indices)]


def _approx_top_k_batch(_axis, args, dims, *, reduction_dimension, **params):
    (x,), (dim,) = args, dims
    axis = reduction_dimension % (len(shape_of(x)) - 1)
    results = approx_top_k_p.bind(x, reduction_dimension=axis + (axis >= dim), **params)
    return results, [dim, dim]


def _comparator(dtype: ir.DTypeLike, is_max_k: bool) -> ir.Jaxpr:
    scalars = [ir.ShapedArray((), dtype)] * 2 + [ir.ShapedArray((), np.dtype(np.int32))] * 2
    better = gt if is_max_k else lt
    return ir.trace_to_jaxpr(lambda x, y, i, j: [better(x, y)], scalars)


def _approx_top_k_lower(
    ctx: Lowering,
    x: Value,
    *,
    k: int,
    reduction_dimension: int,
    recall_target: float,
    is_max_k: bool,
    reduction_input_size_override: int,
    aggregate_to_topk: bool,
) -> list[Value]:
    if not ir.is_static_shape(x.shape):
        return traced(_exact)(ctx, x, k=k, axis=reduction_dimension, is_max_k=is_max_k)
    outs = list(ctx.outs)
    axis = reduction_dimension % len(x.shape)
    order = "gt" if is_max_k else "lt"
    (kind,) = tensor_type(ir.ShapedArray((), x.dtype)).removeprefix("tensor<").split(">")[:1]
    compare = ctx.module.function_for(
        _programs.make((x.dtype, is_max_k), _comparator, x.dtype, is_max_k),
        f"top_k_{order}_{kind}_comparator",
    )
    iota = ir.trace_to_jaxpr(
        lambda: [broadcasted_iota(np.dtype(np.int32), x.shape, axis)], [], origin=ir.no_origin
    )
    (positions,) = ctx.inline(iota, [])
    worst = ctx.constant(-np.inf if is_max_k else np.inf, ir.ShapedArray((), x.dtype))
    nowhere = ctx.constant(-1, ir.ShapedArray((), np.dtype(np.int32)))
    config = {
        "aggregate_to_topk": str(aggregate_to_topk).lower(),
        "recall_target": f"{float(np.float32(recall_target))!r} : f32",
        "reduction_dim": f"{axis} : i64",
        "reduction_input_size_override": f"{reduction_input_size_override} : i64",
        "top_k": f"{k} : i64",
    }
    if ctx.platform != "tpu":
        config["is_fallback"] = "true"
    fields = ", ".join(f"{name} = {value}" for name, value in sorted(config.items()))
    attributes = (
        f'backend_config = "", call_target_name = {string("ApproxTopK")}, '
        f"called_computations = [@{compare}]"
    )
    return ctx.generic(
        "stablehlo.custom_call",
        [x, positions, worst, nowhere],
        outs,
        attributes,
        annotations=f"mhlo.backend_config = {{{fields}}}",
    )


def _exact(x: ir.Array, *, k: int, axis: int, is_max_k: bool) -> list[ir.Array]:
    """The exact search, for symbolic shapes, whose number of candidates is unknown."""
    values, indices = top_k(x if is_max_k else neg(x), k, axis=axis)
    return [values if is_max_k else neg(values), indices]


approx_top_k_p: ir.Primitive = ir.define(
    "approx_top_k",
    sharding=ir.except_dimension("reduction_dimension"),
    abstract_eval=_approx_top_k_aval,
    multiple_results=True,
    jvp=_approx_top_k_jvp,
    transpose=not_linear,
    batch=_approx_top_k_batch,
    lower=_approx_top_k_lower,
)


def approx_max_k(
    operand: ir.ArrayLike,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> list[ir.Array]:
    """The greatest elements along a dimension, in descending order, and their indices.

    On TPU the search is faster and may miss a few of them, with smaller ones in their place;
    elsewhere it is exact.

    Args:
      operand: an array of floating-point numbers.
      k: how many.
      reduction_dimension: the dimension to search along.
      recall_target: the expected fraction of the greatest in the result, between 0 and 1.
      reduction_input_size_override: the size of the whole, if the operand is a part of it that
        the search is distributed over; the operand's own size if negative.
      aggregate_to_topk: whether the result has ``k`` elements, rather than all candidates, for a
        search among those of several parts.

    Returns:
      A list of the elements, and of their int32 indices.

    Raises:
      ValueError: if ``k`` is not positive, or more than there are, ``recall_target`` is not a
        fraction, or the dtype is not a floating one.
      TypeError: if the operand is a scalar.
      IndexError: if it has no such dimension.
      RuntimeError: if ``reduction_input_size_override`` is less than the operand's size, and all
        candidates are requested.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> values, indices = lax.approx_max_k(jnp.array([0.0, 3.0, 1.0, 2.0]), 2)
      >>> values.tolist(), indices.tolist()
      ([3.0, 2.0], [1, 3])

    Source: Chern and others (2022), TPU-KNN: K Nearest Neighbor Search at Peak FLOP/s.
    """
    return _bind(
        True,
        operand,
        k,
        reduction_dimension,
        recall_target,
        reduction_input_size_override,
        aggregate_to_topk,
    )


def approx_min_k(
    operand: ir.ArrayLike,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> list[ir.Array]:
    """The smallest elements along a dimension, in ascending order, and their indices.

    Args:
      operand, k, reduction_dimension, recall_target: as for ``approx_max_k``.
      reduction_input_size_override, aggregate_to_topk: as for ``approx_max_k``, which also lists
        the errors.

    Returns:
      A list of the elements, and of their int32 indices.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> values, indices = lax.approx_min_k(jnp.array([0.0, 3.0, 1.0, 2.0]), 2)
      >>> values.tolist(), indices.tolist()
      ([0.0, 1.0], [0, 2])
    """
    return _bind(
        False,
        operand,
        k,
        reduction_dimension,
        recall_target,
        reduction_input_size_override,
        aggregate_to_topk,
    )


def _bind(
    is_max_k: bool,
    operand: ir.ArrayLike,
    k: int,
    dimension: int,
    recall_target: float,
    override: int,
    aggregate: bool,
) -> list[ir.Array]:
    return approx_top_k_p.bind(
        operand,
        k=index(k),
        reduction_dimension=index(dimension),
        recall_target=float(recall_target),
        is_max_k=is_max_k,
        reduction_input_size_override=index(override),
        aggregate_to_topk=bool(aggregate),
    )
