"""Contractions: ``dot_general``, and the functions based on it."""

from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_autodiff import bilinear
from ricci_ir import Array, ArrayLike, DTypeLike, FactorMap, Primitive, ShapedArray
from ricci_lax.elementwise._conversion import convert_element_type
from ricci_lax.elementwise._small_integers import lower_in_bytes
from ricci_lax.rules._checkify import checks_nan
from ricci_lax.structure._operand_types import array_aval, bind_placed, shape_of
from ricci_lax.structure._transposing import lower_transpose, transpose
from ricci_stablehlo import Lowering, Value, int_list, stored

from . import _form_for_cpu as _form_for_cpu
from ._integer_products import in_dtype, in_int32
from ._matrix_vector import write_matrix_vector
from ._precision import (
    CanonicalPrecision,
    PrecisionLike,
    canonicalize_precision,
    precision_config,
    resolve_algorithm,
)
from ._row_contractions import is_contracted_by_rows, is_swapped, with_unit_dimension
from ._small_products import write_by_kernel

__all__ = ["DotDimensionNumbers", "batch_matmul", "dot", "dot_general", "dot_general_p"]

DotDimensionNumbers = tuple[
    tuple[Sequence[int], Sequence[int]], tuple[Sequence[int], Sequence[int]]
]


def _check_operand(
    side: str, aval: ShapedArray, contracting: Sequence[int], batch: Sequence[int]
) -> None:
    if not all(0 <= d < aval.ndim for d in (*contracting, *batch)):
        raise TypeError(
            f"dot_general: {side} has rank {aval.ndim}, and its dimension numbers "
            f"(contracting {contracting}, batch {batch}) name a dimension that it lacks. "
            "Count dimensions from 0; negative numbers are not taken."
        )
    for kind, dims in (("batch", batch), ("contracting", contracting)):
        if len(set(dims)) != len(dims):
            raise TypeError(
                f"dot_general: the {kind} dimensions {dims} of {side} name one dimension twice."
            )
    if set(contracting) & set(batch):
        raise TypeError(
            f"dot_general: a dimension of {side} is in both its contracting {contracting} "
            f"and its batch {batch} dimensions. List each only once."
        )


def _free(ndim: int, *used: Sequence[int]) -> tuple[int, ...]:
    """The dimensions that are not used."""
    used_dims = {d for dims in used for d in dims}
    return tuple(d for d in range(ndim) if d not in used_dims)


def _dot_general_aval(
    lhs: ShapedArray,
    rhs: ShapedArray,
    *,
    dimension_numbers: DotDimensionNumbers,
    precision: CanonicalPrecision,
    preferred_element_type: np.dtype | None,
    out_sharding,
) -> ShapedArray:
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = dimension_numbers
    _check_operand("lhs", lhs, lhs_contracting, lhs_batch)
    _check_operand("rhs", rhs, rhs_contracting, rhs_batch)
    batch_sizes = tuple(lhs.shape[d] for d in lhs_batch)
    rhs_batch_sizes = tuple(rhs.shape[d] for d in rhs_batch)
    if batch_sizes != rhs_batch_sizes:
        raise TypeError(_mismatch("batch", lhs, lhs_batch, rhs, rhs_batch))
    lhs_sizes = tuple(lhs.shape[d] for d in lhs_contracting)
    rhs_sizes = tuple(rhs.shape[d] for d in rhs_contracting)
    if lhs_sizes != rhs_sizes:
        raise TypeError(_mismatch("contracting", lhs, lhs_contracting, rhs, rhs_contracting))
    lhs_free = tuple(lhs.shape[d] for d in _free(lhs.ndim, lhs_contracting, lhs_batch))
    rhs_free = tuple(rhs.shape[d] for d in _free(rhs.ndim, rhs_contracting, rhs_batch))
    dtype, weak = _result_dtype(lhs, rhs, preferred_element_type)
    return ShapedArray((*batch_sizes, *lhs_free, *rhs_free), dtype, weak)


def _mismatch(
    kind: str, lhs: ShapedArray, lhs_dims: Sequence[int], rhs: ShapedArray, rhs_dims: Sequence[int]
) -> str:
    return (
        f"dot_general: the {kind} dimensions of operands of shapes {lhs.shape} and {rhs.shape} "
        f"differ in size: {tuple(lhs.shape[d] for d in lhs_dims)} along {tuple(lhs_dims)} of the "
        f"first, {tuple(rhs.shape[d] for d in rhs_dims)} along {tuple(rhs_dims)} of the second."
    )


def _result_dtype(
    lhs: ShapedArray, rhs: ShapedArray, preferred: np.dtype | None
) -> tuple[np.dtype, bool]:
    """The dtype of a product, and whether it is weak."""
    dtype, weak = lhs.dtype, lhs.weak_type and rhs.weak_type
    # Operands of two dtypes promote by kind, then by bits, then by range: a float8 with more range
    # wins.
    if rhs.dtype != dtype:
        dtype = max(dtype, rhs.dtype, key=_reach)
    if preferred is None:
        return dtype, weak
    # Products of floats may be rounded; those of other numbers must fit.
    narrower = preferred == np.bool_ or _bits(preferred) < _bits(dtype)
    if narrower and ir.issubdtype(dtype, np.number) and not ir.issubdtype(dtype, np.floating):
        raise TypeError(
            f"dot_general: preferred_element_type={preferred} is narrower than the operands' "
            f"dtype, {dtype}. Ask for one of as many bits at least."
        )
    return preferred, weak


def _reach(dtype: DTypeLike) -> tuple[int, int, float]:
    """The promotion order of a dtype in products: by kind, bits, then range."""
    kinds = (np.bool_, np.integer, np.floating, np.complexfloating)
    kind = next(i for i, kind in enumerate(kinds) if ir.issubdtype(dtype, kind))
    if kind == 2:
        return kind, ir.itemsize_bits(dtype), float(ir.finfo(dtype).max)
    return kind, ir.itemsize_bits(dtype), float(ir.issubdtype(dtype, np.signedinteger))


def _bits(dtype: DTypeLike) -> int:
    """The bits of a number, or of one of the two parts of a complex number."""
    return ir.itemsize_bits(dtype) // (2 if ir.issubdtype(dtype, np.complexfloating) else 1)


def _transpose_lhs(
    ct: Array,
    x: ShapedArray,
    y: Array,
    *,
    dimension_numbers: DotDimensionNumbers,
    swap: bool = False,
    **params: object,
) -> Array:
    """The cotangent of the left operand ``x``; with ``swap``, ``x`` is the right operand."""
    (x_contracting, y_contracting), (x_batch, y_batch) = dimension_numbers
    y_ndim = len(shape_of(y))
    x_free = _free(x.ndim, x_contracting, x_batch)
    y_free = _free(y_ndim, y_contracting, y_batch)
    # The cotangent has the batch dimensions, the free ones of the left operand, then of the right
    # one. It is contracted with ``y`` over the free dimensions of ``y``.
    first = len(x_batch) if swap else len(x_batch) + len(x_free)
    ct_batch = tuple(range(len(x_batch)))
    ct_y = tuple(range(first, first + len(y_free)))
    partner = dict(zip(y_contracting, x_contracting, strict=True))
    # The product has the dimensions of x in this order: those that were contracted follow the order
    # of y, which they are free dimensions of.
    order = (*x_batch, *x_free, *(partner[d] for d in sorted(y_contracting)))
    # The product is sharded like ``x``, to communicate no more than that needs.
    sharding = x.type_sharding
    params["out_sharding"] = (
        None
        if sharding is None or sharding.mesh is None
        else sharding.cotangent().update(parts=tuple(sharding.parts[d] for d in order))
    )
    product = dot_general_p.bind(
        ct, y, dimension_numbers=((ct_y, y_free), (ct_batch, y_batch)), **params
    )
    result = transpose(product, tuple(np.argsort(order).tolist()))
    aval = array_aval(product)
    return result if aval.dtype == x.dtype else convert_element_type(result, x.dtype)


def _transpose_rhs(
    ct: Array, x: Array, y: ShapedArray, *, dimension_numbers: DotDimensionNumbers, **params: object
) -> Array:
    (x_contracting, y_contracting), (x_batch, y_batch) = dimension_numbers
    swapped = ((y_contracting, x_contracting), (y_batch, x_batch))
    return _transpose_lhs(ct, y, x, dimension_numbers=swapped, swap=True, **params)


def _batch_part(x: ArrayLike, dim: int | None) -> tuple[Any, ...]:
    """The mesh axes that a batch is sharded over."""
    sharding = array_aval(x).type_sharding
    return () if dim is None or sharding is None else sharding.parts[dim]


def _dot_general_batch(axis, args, dims, *, dimension_numbers, **params):
    (lhs, rhs), (lhs_dim, rhs_dim) = args, dims
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = dimension_numbers
    if lhs_dim is not None:
        lhs_contracting = _shifted(lhs_contracting, lhs_dim)
        lhs_batch = _shifted(lhs_batch, lhs_dim)
    if rhs_dim is not None:
        rhs_contracting = _shifted(rhs_contracting, rhs_dim)
        rhs_batch = _shifted(rhs_batch, rhs_dim)
    lhs_free = _free(len(shape_of(lhs)), lhs_contracting, lhs_batch)
    # A batch of one operand is a free dimension of it; a batch of both is a batch dimension.
    if rhs_dim is None:
        out_dim = len(lhs_batch) + lhs_free.index(lhs_dim)
    elif lhs_dim is None:
        rhs_free = _free(len(shape_of(rhs)), rhs_contracting, rhs_batch)
        out_dim = len(lhs_batch) + len(lhs_free) + rhs_free.index(rhs_dim)
    else:
        lhs_batch, rhs_batch, out_dim = (lhs_dim, *lhs_batch), (rhs_dim, *rhs_batch), 0
    numbers = ((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch))
    if params["out_sharding"] is not None:
        parts = _batch_part(lhs, lhs_dim) or _batch_part(rhs, rhs_dim)
        params["out_sharding"] = params["out_sharding"].insert_dimension(out_dim, parts)
    return dot_general_p.bind(lhs, rhs, dimension_numbers=numbers, **params), out_dim


def _shifted(dims: Sequence[int], inserted: int) -> tuple[int, ...]:
    return tuple(d + (d >= inserted) for d in dims)


def _dot_general_lower(
    ctx: Lowering,
    lhs: Value,
    rhs: Value,
    *,
    dimension_numbers: DotDimensionNumbers,
    precision: CanonicalPrecision,
    preferred_element_type: np.dtype | None,
    out_sharding,
) -> Value:
    params = {
        "dimension_numbers": dimension_numbers,
        "precision": precision,
        # The results are converted anyway.
        "preferred_element_type": None if ctx.out.dtype == lhs.dtype else preferred_element_type,
        "out_sharding": out_sharding,
    }
    in_bytes = lower_in_bytes(ctx, dot_general_p, [lhs, rhs], params)
    if in_bytes is not None:
        return in_bytes[0]
    out = result = ctx.out
    algorithm = resolve_algorithm(precision, ctx.platform, lhs.dtype, rhs.dtype, out.dtype)
    if algorithm is not None:
        lhs, rhs = _converted(ctx, lhs, algorithm.lhs), _converted(ctx, rhs, algorithm.rhs)
        result = out.update(dtype=algorithm.out)
    elif lhs.dtype != rhs.dtype and not (_is_float8(lhs) and _is_float8(rhs)):
        lhs, rhs = _converted(ctx, lhs, out.dtype), _converted(ctx, rhs, out.dtype)
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = dimension_numbers
    integers = in_int32(ctx, lhs, rhs, (*lhs_contracting, *lhs_batch))
    if integers is not None:
        (lhs, rhs), result = integers, out.update(dtype=np.dtype(np.int32))
    if algorithm is None:
        product = write_by_kernel(ctx, lhs, rhs, *dimension_numbers)
        if product is None:
            product = write_matrix_vector(ctx, lhs, rhs, *dimension_numbers)
        if product is not None:
            return product
    is_transposed = False
    if is_contracted_by_rows(ctx, lhs, rhs, lhs_contracting, lhs_batch):
        # Two precisions, and an algorithm's dtypes, are those of the operands in order.
        names = precision_config(precision)[1:-1].split(", ")
        is_transposed = algorithm is None and names[0] == names[1]
        is_transposed &= is_swapped(lhs.shape, rhs.shape, lhs_contracting, rhs_contracting)
        if is_transposed:
            lhs, rhs, lhs_contracting, rhs_contracting = rhs, lhs, rhs_contracting, lhs_contracting
            result = result.resized(result.shape[::-1])
        lhs = with_unit_dimension(ctx, lhs, *lhs_contracting)
        rhs = with_unit_dimension(ctx, rhs, *rhs_contracting)
        lhs_contracting, rhs_contracting = (
            (d, d + 1) for (d,) in (lhs_contracting, rhs_contracting)
        )
        rhs_batch = _shifted(rhs_batch, *rhs_contracting[:1])
    text = ", "
    if lhs_batch:
        text += f"batching_dims = {int_list(lhs_batch)} x {int_list(rhs_batch)}, "
    text += f"contracting_dims = {int_list(lhs_contracting)} x {int_list(rhs_contracting)}, "
    text += f"precision = {precision_config(precision)}"
    if algorithm is not None:
        text += f", algorithm = {algorithm.text}"
    product = ctx.emit("stablehlo.dot_general", [lhs, rhs], result, text, full=True)
    if is_transposed:
        # Without the barrier, XLA would swap the operands again.
        product = lower_transpose(ctx, stored(ctx, product), (1, 0))
    if integers is not None:
        return in_dtype(ctx, product, out.dtype)
    return _converted(ctx, product, out.dtype)


def _is_float8(x: Value) -> bool:
    return x.dtype.name.startswith("float8")


def _converted(ctx: Lowering, x: Value, dtype: DTypeLike) -> Value:
    if x.dtype == dtype:
        return x
    return ctx.emit("stablehlo.convert", [x], x.aval.update(dtype=dtype), full=True)


_dot_general_usual = ir.hides(out_sharding=None, precision=None, preferred_element_type=None)


def _dot_general_shown(
    *, dimension_numbers: DotDimensionNumbers, **params: object
) -> dict[str, Any]:
    lists = tuple(tuple(map(list, pair)) for pair in dimension_numbers)
    return {"dimension_numbers": lists, **_dot_general_usual(**params)}


def _dot_general_factors(
    lhs: ShapedArray, rhs: ShapedArray, *, dimension_numbers: DotDimensionNumbers, **params: object
) -> FactorMap:
    """The sharding factors: the dimensions of ``lhs``, then those only of ``rhs``."""
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = dimension_numbers
    left = tuple(range(lhs.ndim))
    shared = dict(zip((*rhs_contracting, *rhs_batch), (*lhs_contracting, *lhs_batch), strict=True))
    right = tuple(shared.get(i, lhs.ndim + i) for i in range(rhs.ndim))
    result = (
        *lhs_batch,
        *(f for f in left if f not in lhs_batch and f not in lhs_contracting),
        *(f for i, f in enumerate(right) if i not in rhs_batch and i not in rhs_contracting),
    )
    advice = "Specify the sharding of the result: pass out_sharding=P(...)."
    summed = frozenset(lhs_contracting)
    return FactorMap((left, right), (result,), summed=summed, advice=advice)


dot_general_p: Primitive = ir.define(
    "dot_general",
    sharding=ir.makes_sharding(ir.factors(_dot_general_factors)),
    sums=ir.SumsRule("none", keeps_reduced=False, needs_reduced=False),
    abstract_eval=_dot_general_aval,
    **bilinear(_transpose_lhs, _transpose_rhs),
    batch=_dot_general_batch,
    lower=_dot_general_lower,
    shown=_dot_general_shown,
    checkify=checks_nan,
)


@ir.public
def dot_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    dimension_numbers: DotDimensionNumbers,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    *,
    out_sharding: object = None,
) -> Array:
    """Multiply two arrays and sum over pairs of dimensions.

    Args:
      lhs, rhs: arrays.
      dimension_numbers: ``((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch))``: the
        dimensions to sum over, and the batch dimensions, which are paired.
      precision: ``None``, a ``Precision`` or its name, a pair of them, a ``DotAlgorithm``, or a
        ``DotAlgorithmPreset`` or its name.
      preferred_element_type: the dtype of the result, by default the operands' promoted one.
      out_sharding: the sharding of the result.

    Returns:
      An array whose dimensions are the batch, the remaining ones of ``lhs``, then of ``rhs``.

    Raises:
      TypeError: if dimension numbers are out of bounds or repeated, or sizes differ.
      ValueError: if the precision is unknown.

    Example:
      A batch of products of matrices: dimension 0 is paired, dimension 2 of the left is summed with
      dimension 1 of the right.

      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> x, y = jnp.ones((5, 2, 3)), jnp.ones((5, 3, 4))
      >>> numbers = (((2,), (1,)), ((0,), (0,)))
      >>> lax.dot_general(x, y, numbers).shape
      (5, 2, 4)

      Products of bytes, added up in 32 bits:

      >>> a = jnp.full(1000, 100, jnp.int8)
      >>> int(lax.dot_general(a, a, (((0,), (0,)), ((), ())), preferred_element_type=jnp.int32))
      10000000

    Notes:
      The batch dimensions come first in the result, wherever they are in the operands. Without
      ``preferred_element_type`` sums of small dtypes are returned in that dtype.

    See also:
      ``jnp.einsum``, which finds the dimension numbers from letters; ``jnp.matmul``; ``dot``.

    Source: StableHLO ``dot_general``.
    """
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = dimension_numbers
    numbers = (
        (tuple(map(index, lhs_contracting)), tuple(map(index, rhs_contracting))),
        (tuple(map(index, lhs_batch)), tuple(map(index, rhs_batch))),
    )
    if preferred_element_type is not None:
        # A dtype that an operand has is not narrowed: the transpose asks for it.
        if preferred_element_type in (array_aval(lhs).dtype, array_aval(rhs).dtype):
            preferred_element_type = np.dtype(preferred_element_type)
        else:
            preferred_element_type = ir.explicit_dtype(preferred_element_type, "dot_general")
    precision = canonicalize_precision(precision)
    if out_sharding is None:
        return dot_general_p.bind(
            lhs,
            rhs,
            dimension_numbers=numbers,
            precision=precision,
            preferred_element_type=preferred_element_type,
            out_sharding=None,
        )
    params: dict[str, Any] = {
        "dimension_numbers": numbers,
        "precision": precision,
        "preferred_element_type": preferred_element_type,
    }
    rank = len(shape_of(lhs)) + len(shape_of(rhs)) - 2 * len(lhs_contracting) - len(lhs_batch)
    return bind_placed(dot_general_p, (lhs, rhs), rank, out_sharding, params, "out_sharding")


@ir.public
def dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    *,
    dimension_numbers: DotDimensionNumbers | None = None,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: object = None,
) -> Array:
    """The product of two vectors or matrices; any contraction with ``dimension_numbers``.

    Args:
      lhs, rhs: arrays: vectors or matrices, unless ``dimension_numbers`` is specified.
      dimension_numbers, precision, preferred_element_type, out_sharding: as for ``dot_general``.

    Returns:
      An array without the last dimension of ``lhs`` and the first of ``rhs``; with
      ``dimension_numbers``, as ``dot_general`` returns it.

    Raises:
      ValueError: if the operands are not such a pair and ``dimension_numbers`` is ``None``.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> lax.dot(jnp.array([[1, 2], [3, 4]]), jnp.array([10, 1])).tolist()
      [12, 34]
    """
    if dimension_numbers is None:
        lhs_shape, rhs_shape = shape_of(lhs), shape_of(rhs)
        fits = 1 <= len(lhs_shape) <= 2 and 1 <= len(rhs_shape) <= 2
        if not (fits and lhs_shape[-1] == rhs_shape[0]):
            raise ValueError(
                f"dot: shapes {lhs_shape} and {rhs_shape} must be of matrices or vectors "
                "whose inner sizes agree. For other products say what is contracted, with "
                "dimension_numbers."
            )
        dimension_numbers = (((len(lhs_shape) - 1,), (0,)), ((), ()))
    return dot_general(
        lhs, rhs, dimension_numbers, precision, preferred_element_type, out_sharding=out_sharding
    )


def batch_matmul(lhs: ArrayLike, rhs: ArrayLike, precision: PrecisionLike = None) -> Array:
    """Matrix products of two batches of matrices: all but the last two dimensions pair up.

    Args:
      lhs, rhs: arrays of one rank, of shapes ``(..., m, k)`` and ``(..., k, n)``.
      precision: as for ``dot_general``.

    Returns:
      An array of shape ``(..., m, n)``.

    Raises:
      ValueError: if the ranks differ or are less than 2.
      TypeError: if sizes do not fit.

    Example:
      >>> import numpy as np
      >>> from ricci import lax
      >>> lax.batch_matmul(np.ones((5, 2, 3), np.float32), np.ones((5, 3, 4), np.float32)).shape
      (5, 2, 4)
    """
    lhs_ndim, rhs_ndim = len(shape_of(lhs)), len(shape_of(rhs))
    if lhs_ndim != rhs_ndim:
        raise ValueError(
            f"batch_matmul: lhs has rank {lhs_ndim} and rhs has rank {rhs_ndim}; give both "
            "the same batch dimensions."
        )
    if lhs_ndim < 2:
        raise ValueError(
            f"batch_matmul: a matrix has rank 2 or more, but lhs has rank {lhs_ndim} and "
            f"rhs {rhs_ndim}."
        )
    batch = tuple(range(lhs_ndim - 2))
    numbers = (((lhs_ndim - 1,), (lhs_ndim - 2,)), (batch, batch))
    return dot_general(lhs, rhs, numbers, precision)
