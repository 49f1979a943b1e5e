"""Tangents of eigenvalues and eigenvectors, or singular ones, where some of the values are equal.

With ``x = Vᴴ dA V``, eigenvalues move by the diagonal of ``x``, and vectors by ``V (x / gaps)``.
Vectors of equal values are determined up to a rotation among them, and so is ``x / gaps`` there,
unless ``x`` is zero. In reverse mode, a function of values and vectors may still determine its
gradient in a block of equal values, a Hermitian matrix ``m`` with the cotangents of the values on
its diagonal:

- a function that depends on the values of the block alike, and not on its vectors (the trace of a
  matrix function, a vector of another value) has a multiple of the identity;
- one of ``V f(w) Vᴴ`` has ``m = r (x̄ + x̄ᴴ) / 2``, with the cotangent ``x̄`` of ``x / gaps`` and the
  factor ``r`` by which the diagonals differ.

For all others the first derivatives of the factors do not determine ``m``, and it is NaN.
"""

from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_autodiff import Zero, add_tangents, instantiate, is_undefined_primal
from ricci_batching import leading_dims
from ricci_lax.elementwise import _comparison as comparison
from ricci_lax.elementwise._arithmetic import abs, div, mul
from ricci_lax.elementwise._conversion import converted
from ricci_lax.elementwise._factories import filled_like, scalar
from ricci_lax.elementwise._linear import add, real, sub
from ricci_lax.elementwise._piecewise_linear import max as larger
from ricci_lax.reductions._axis_reductions import reduce_max
from ricci_lax.structure._broadcasting import broadcast_in_dim
from ricci_lax.structure._operand_types import shape_of
from ricci_stablehlo import traced

from ._matrices import adjoint, diagonal, dtype_of, identity, in_batch, is_complex

# Kernels compute values to within some units in the last place of the largest one. Values that
# differ by less than this many are equal, and components below it, relative to the largest, zero.
_ROUNDING = 32.0


def _extent(x: ir.ArrayLike) -> ir.Array:
    """The largest magnitude in each matrix of a batch, in the shape of the matrices."""
    rank = len(shape_of(x))
    largest = reduce_max(abs(x), (rank - 2, rank - 1))
    return broadcast_in_dim(largest, shape_of(x), tuple(range(rank - 2)))


def _rounding(extent: ir.Array) -> ir.Array:
    dtype = dtype_of(extent)
    return mul(scalar(_ROUNDING * float(ir.finfo(dtype).eps), dtype), extent)


def _in_columns(values: ir.ArrayLike, shape: tuple[int, ...]) -> ir.Array:
    rank = len(shape)
    return broadcast_in_dim(values, shape, (*range(rank - 2), rank - 1))


def _in_rows(values: ir.ArrayLike, shape: tuple[int, ...]) -> ir.Array:
    return broadcast_in_dim(values, shape, tuple(range(len(shape) - 1)))


def _inverse(x: ir.Array, zero: ir.Array) -> ir.Array:
    # The divisor is 1 where the result is 0, so that the derivative of the division is finite.
    one = filled_like(x, 1)
    return comparison.select(zero, filled_like(x, 0), div(one, comparison.select(zero, one, x)))


def inverse_gaps(values: ir.ArrayLike) -> ir.Array:
    """``1 / (values[j] - values[i])``, zero where both are equal up to rounding."""
    shape = (*shape_of(values), shape_of(values)[-1])
    columns = _in_columns(values, shape)
    gaps = sub(columns, _in_rows(values, shape))
    return _inverse(gaps, comparison.le(abs(gaps), _rounding(_extent(columns))))


def inverse_sums(values: ir.Array) -> ir.Array:
    """``1 / (values[j] + values[i])`` of values from 0, zero where both are so up to rounding."""
    shape = (*shape_of(values), shape_of(values)[-1])
    columns = _in_columns(values, shape)
    sums = add(columns, _in_rows(values, shape))
    return _inverse(sums, comparison.le(sums, _rounding(_extent(columns))))


def inverse_columns(values: ir.Array, rows: int) -> ir.Array:
    """Rows of ``1 / values`` of values from 0, zero where one is so up to rounding."""
    columns = _in_columns(values, (*shape_of(values)[:-1], rows, shape_of(values)[-1]))
    return _inverse(columns, comparison.le(columns, _rounding(_extent(columns))))


def _diagonal_mask(shape: tuple[int, ...]) -> ir.Array:
    eye = in_batch(identity(shape[-2], shape[-1], np.dtype(bool)), len(shape))
    return broadcast_in_dim(eye, shape, tuple(range(len(shape))))


def off_diagonal(x: ir.Array) -> ir.Array:
    """Square matrices with zeros on their diagonals."""
    return comparison.select(_diagonal_mask(shape_of(x)), filled_like(x, 0), x)


def on_diagonal(values: ir.ArrayLike) -> ir.Array:
    """Square matrices with these diagonals, zero elsewhere."""
    columns = _in_columns(values, (*shape_of(values), shape_of(values)[-1]))
    return comparison.select(_diagonal_mask(shape_of(columns)), columns, filled_like(columns, 0))


# quotients


def _quotient(x: ir.Array, inverse: ir.Array) -> ir.Array:
    # Vectors of equal values may be rotated among each other. A tangent that does not rotate them,
    # 0 up to rounding, leaves them as they are; any other one has no derivative, and gives NaN.
    nonzero = comparison.gt(abs(x), _rounding(_extent(x)))
    undetermined = comparison.bitwise_and(comparison.eq(inverse, filled_like(inverse, 0)), nonzero)
    return comparison.select(undetermined, filled_like(x, np.nan), mul(x, inverse))


def _quotient_jvp(primals, tangents):
    (x, inverse), (dx, d_inverse) = primals, tangents
    tangent = Zero.from_primal(x)
    if type(dx) is not Zero:
        tangent = quotient(dx, inverse)
    if type(d_inverse) is not Zero:
        tangent = add_tangents(tangent, mul(x, d_inverse))
    return quotient(x, inverse), tangent


def _quotient_transpose(ct, x, inverse):
    if is_undefined_primal(inverse):
        raise NotImplementedError("degenerate_quotient is linear in x alone, not in inverse")
    return quotient(ct, inverse), None


degenerate_quotient_p: ir.Primitive = ir.define(
    "degenerate_quotient",
    sharding=ir.unsharded_matrices,
    abstract_eval=lambda x, inverse: x,
    jvp=_quotient_jvp,
    transpose=_quotient_transpose,
    batch=leading_dims,
    lower=traced(_quotient),
)


def quotient(x: ir.Array, inverse: ir.Array) -> ir.Array:
    """``x`` times ``inverse``; NaN where ``inverse`` is zero and ``x`` is not, up to rounding."""
    return degenerate_quotient_p.bind(x, converted(inverse, dtype_of(x)))


# rotations


def _rotation(x: ir.Array, inverse: ir.Array) -> list[ir.Array]:
    return [diagonal(x), _quotient(off_diagonal(x), inverse)]


def _rotation_jvp(primals, tangents):
    (x, inverse), (dx, d_inverse) = primals, tangents
    results = rotation_p.bind(x, inverse)
    changes: list[Any] = [Zero.from_primal(result) for result in results]
    if type(dx) is not Zero:
        changes = rotation_p.bind(dx, inverse)
    if type(d_inverse) is not Zero:
        changes[1] = add_tangents(changes[1], mul(x, d_inverse))
    return results, changes


def _rotation_transpose(cts, x, inverse):
    if is_undefined_primal(inverse):
        raise NotImplementedError("rotation is linear in x alone, not in inverse")
    by_values, by_vectors = cts
    change = Zero(x.aval)
    if type(by_vectors) is not Zero:
        change = _gradient(instantiate(by_values), by_vectors, inverse)
    if type(by_values) is not Zero:
        change = add_tangents(change, on_diagonal(by_values))
    return change, None


def _real(x: ir.Array) -> ir.Array:
    return real(x) if is_complex(x) else x


def _gradient(by_values: ir.Array, x: ir.Array, inverse: ir.Array) -> ir.Array:
    """The gradient off the diagonal, by the cases above where values are equal."""
    shape, extent = shape_of(x), _extent(x)
    by_values, by_vectors = _real(by_values), _real(diagonal(x))
    wi, wj = _in_rows(by_values, shape), _in_columns(by_values, shape)
    xi, xj = _in_rows(by_vectors, shape), _in_columns(by_vectors, shape)
    hermitian = add(x, adjoint(x))
    small = lambda t, extent: comparison.le(abs(t), _rounding(extent))
    invariant = small(sub(x, adjoint(x)), extent)
    alike = comparison.bitwise_and(small(hermitian, extent), small(sub(wi, wj), _extent(wi)))
    # The pair of diagonals (wi, wj) is the multiple r of (xi, xj), if that is not zero.
    unknown = small(larger(abs(xi), abs(xj)), extent)
    same_ratio = small(sub(mul(wi, xj), mul(wj, xi)), mul(_extent(wi), extent))
    proportional = comparison.bitwise_and(comparison.bitwise_not(unknown), same_ratio)
    square = add(mul(xi, xi), mul(xj, xj))
    ratio = div(
        add(mul(wi, xi), mul(wj, xj)), comparison.select(unknown, filled_like(square, 2), square)
    )
    ratio = mul(ratio, filled_like(ratio, 0.5))
    scaled = mul(hermitian, converted(ratio, dtype_of(x)))
    in_block = comparison.select(proportional, scaled, filled_like(x, 0))
    determined = comparison.bitwise_and(invariant, comparison.bitwise_or(alike, proportional))
    in_block = comparison.select(determined, in_block, filled_like(x, np.nan))
    equal = comparison.eq(inverse, filled_like(inverse, 0))
    result = comparison.select(equal, in_block, mul(x, inverse))
    return off_diagonal(result)


rotation_p: ir.Primitive = ir.define(
    "rotation",
    sharding=ir.unsharded_matrices,
    abstract_eval=lambda x, inverse: [x.resized(x.shape[:-1]), x],
    multiple_results=True,
    jvp=_rotation_jvp,
    transpose=_rotation_transpose,
    batch=leading_dims,
    lower=traced(_rotation),
)


def rotation(x: ir.Array, inverse: ir.Array) -> tuple[ir.Array, ir.Array]:
    """The tangents of values and vectors, both in the basis of the vectors.

    Args:
      x: the tangent of the matrix in that basis, of shape ``(..., n, n)``.
      inverse: the inverse gaps of the values, zero where they are equal.

    Returns:
      The real diagonal of ``x``, and ``x`` times ``inverse``, NaN where it is undetermined.
    """
    values, vectors = rotation_p.bind(x, converted(inverse, dtype_of(x)))
    return _real(values), vectors
