"""Products along one dimension with a matrix of weights that is mostly zeros, as of resampling."""

from collections.abc import Sequence
from math import prod

import ricci_ir as ir
from ricci_autodiff import bilinear
from ricci_batching import Axis, batched_at
from ricci_ir import Array, ArrayLike, FactorMap, ShapedArray
from ricci_lax.rules._checkify import checks_nan
from ricci_lax.structure._operand_types import shape_of
from ricci_lax.structure._transposing import transpose
from ricci_stablehlo import Lowering, Value, native_kernel, of_function, traced

from ._dot import dot_general
from ._precision import PrecisionLike, canonicalize_precision

__all__ = ["resample", "resample_p"]

# Samples of fewer elements are permuted in vectors, which takes two of these. For a result of fewer
# samples the elements of a vector are too far from each other.
_LEAST_INNER, _LEAST_ROW = 16, 32
# The least ratio of a column's elements to its nonzero ones from which the kernel is faster: for
# results of more samples, and of fewer.
_LEAST_SPARSITY, _LEAST_SPARSITY_OF_FEWER = 4, 32


def _resample_aval(
    x: ShapedArray, weights: ShapedArray, *, axis: int, band: int, precision: object
) -> ShapedArray:
    if weights.ndim != 2 or not 0 <= axis < x.ndim or weights.shape[0] != x.shape[axis]:
        raise TypeError(
            f"resample: weights must have a row for each of the samples along axis {axis} of shape "
            f"{x.shape}, got shape {weights.shape}."
        )
    if x.dtype != weights.dtype:
        raise TypeError(
            f"resample: weights must be of dtype {x.dtype}, as the samples, got {weights.dtype}."
        )
    return x.resized((*x.shape[:axis], weights.shape[1], *x.shape[axis + 1 :]))


def _as_product(
    x: Array, weights: Array, *, axis: int, band: int, precision: PrecisionLike
) -> Array:
    product = dot_general(x, weights, (((axis,), (0,)), ((), ())), precision)
    last = len(shape_of(x)) - 1
    return transpose(product, (*range(axis), last, *range(axis, last)))


def _transpose_x(
    ct: Array, x: ShapedArray, weights: Array, *, axis: int, band: int, precision: PrecisionLike
) -> Array:
    size, count = shape_of(weights)
    # A sample of the operand contributes to neighbours of the result.
    contributions = -(-band * count // max(size, 1)) + 1
    params = {"axis": axis, "band": contributions, "precision": precision}
    return resample_p.bind(ct, transpose(weights, (1, 0)), **params)


def _transpose_weights(
    ct: Array, x: Array, weights: ShapedArray, *, axis: int, band: int, precision: PrecisionLike
) -> Array:
    others = tuple(d for d in range(len(shape_of(x))) if d != axis)
    return dot_general(x, ct, ((others, others), ((), ())), precision)


def _resample_batch(
    mapped: Axis,
    args: Sequence[Array],
    dims: Sequence[int | None],
    *,
    axis: int,
    band: int,
    precision: PrecisionLike,
) -> tuple[Array, int]:
    (x, weights), (x_dim, weights_dim) = args, dims
    params = {"band": band, "precision": precision}
    if weights_dim is None:
        assert x_dim is not None
        return resample_p.bind(x, weights, axis=axis + (x_dim <= axis), **params), x_dim
    x, weights = batched_at(x, x_dim, mapped, 0), batched_at(weights, weights_dim, mapped, 0)
    product = dot_general(x, weights, (((axis + 1,), (1,)), ((0,), (0,))), precision)
    last = len(shape_of(x)) - 1
    return transpose(product, (0, *range(1, axis + 1), last, *range(axis + 1, last))), 0


def _resample_factors(x: ShapedArray, weights: ShapedArray, *, axis: int, **_: object) -> FactorMap:
    """The sharding factors: the dimensions of ``x``, then the samples of the result."""
    left = tuple(range(x.ndim))
    result = (*left[:axis], x.ndim, *left[axis + 1 :])
    return FactorMap((left, (axis, x.ndim)), (result,), summed=frozenset({axis}))


def _is_faster(x: Value, weights: Value, axis: int, band: int) -> bool:
    """Whether the kernel is faster than a product with the whole matrix."""
    if not ir.is_static_shape(x.shape):
        return False
    inner = prod(x.shape[axis + 1 :])
    if inner >= _LEAST_INNER:
        return True
    size, count = weights.shape
    sparsity = _LEAST_SPARSITY if count >= size else _LEAST_SPARSITY_OF_FEWER
    return size * inner >= _LEAST_ROW and size >= sparsity * band


def _resample_lower(
    ctx: Lowering, x: Value, weights: Value, *, axis: int, band: int, precision: PrecisionLike
) -> Value:
    kernel = native_kernel(ctx, "resample", ctx.out, axis) if ctx.out.size else None
    if kernel is None or not _is_faster(x, weights, axis, band):
        params = {"axis": axis, "band": band, "precision": precision}
        return traced(_as_product)(ctx, x, weights, **params)
    orders = [tuple(range(len(v.shape)))[::-1] for v in (x, weights, ctx.out)]
    return ctx.custom_call(
        kernel.target,
        [x, weights],
        [ctx.out],
        backend_config={"axis": f"{axis} : i64"},
        operand_layouts=orders[:2],
        result_layouts=orders[2:],
    )[0]


resample_p: ir.Primitive = ir.define(
    "resample",
    sharding=ir.factors(_resample_factors),
    sums=ir.SumsRule("none", keeps_reduced=False, needs_reduced=False),
    abstract_eval=_resample_aval,
    **bilinear(_transpose_x, _transpose_weights),
    batch=_resample_batch,
    lower=of_function(_as_product, _resample_lower),
    checkify=checks_nan,
)


def resample(
    x: ArrayLike, weights: ArrayLike, axis: int, band: int, precision: PrecisionLike = None
) -> Array:
    """Multiply an array along one dimension by a matrix of weights that is mostly zeros.

    On a CPU the products with zeros are left out where that is faster; elements beside an infinity
    or a NaN are NaN all the same.

    Args:
      x: an array with ``n`` samples along the axis.
      weights: an array of shape ``(n, m)`` of the same dtype: the column of a sample of the result.
      axis: a dimension of ``x``, nonnegative.
      band: about how many neighbours in a column are not zero. The result does not depend on it.
      precision: see ``dot_general``.

    Returns:
      An array with ``m`` samples along the axis.

    Raises:
      TypeError: if the weights are of another dtype, or have another number of rows.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci_lax.authoring import resample
      >>> weights = jnp.array([[1.0, 0.5, 0.0], [0.0, 0.5, 1.0]])
      >>> resample(jnp.array([2.0, 4.0]), weights, 0, 2).tolist()
      [2.0, 3.0, 4.0]
    """
    canonical = canonicalize_precision(precision)
    return resample_p.bind(x, weights, axis=axis, band=band, precision=canonical)
