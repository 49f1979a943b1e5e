"""Determinants of square matrices, and their signs and logarithms."""

from typing import Any, NamedTuple

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_lax.authoring import geqrf_p
from ricci_lax.linalg import lu, triangular_solve
from ricci_numpy import _promotion as promotion
from ricci_numpy.arrays._broadcasting import broadcast
from ricci_numpy.indexing._take import take_along_axis
from ricci_numpy.indexing._where import where
from ricci_numpy.reductions._axis_reductions import any, count_nonzero, prod, sum
from ricci_numpy.sequences._diagonals import diagonal, trace

from ._decompositions import check_square
from ._solvers import solve

__all__ = ["det", "slogdet"]

_LARGEST_ELIMINATED = 3  # sizes up to this are eliminated without a factorisation


class SlogdetResult(NamedTuple):
    """Result of ``slogdet``."""

    sign: ir.Array
    logabsdet: ir.Array


def _unit(x: ir.Array) -> ir.Array:
    """Normalize complex numbers to absolute value 1."""
    return lax.div(x, lax.convert_element_type(lax.abs(x), promotion.dtype_of(x)))


def slogdet(a: ir.ArrayLike, *, method: str | None = None) -> SlogdetResult:
    """The signs of determinants, and the logarithms of their absolute values.

    Args:
      a: an array of shape ``(..., n, n)``.
      method: ``"lu"``, the default, or ``"qr"``: the factorisation used.

    Returns:
      A pair ``(sign, logabsdet)`` of shape ``(...)``: -1, 0 or 1, or a complex number of size 1;
      and a real number, ``-inf`` for a singular matrix.

    Raises:
      TypeError: if ``a`` is not an array, or has a dtype of 16 bits or less.
      ValueError: if its matrices are not square, or there is no such method.

    Example:
      >>> import ricci.numpy as jnp
      >>> sign, log = jnp.linalg.slogdet(jnp.array([[0.0, 1.0], [1.0, 0.0]]))
      >>> float(sign), float(log)
      (-1.0, 0.0)

    Source: numpy.linalg.slogdet.
    """
    (a,) = promotion.operands("slogdet", a)
    check_square("slogdet", a)
    if method not in (None, "lu", "qr"):
        raise ValueError(f"slogdet: method is 'lu' or 'qr', got {method!r}.")
    return SlogdetResult(*_slogdet(a, method=method))


@ir.composite("slogdet")
def _slogdet(a: ir.Array, *, method: str | None) -> tuple[ir.Array, ir.Array]:
    (a,) = promotion.promote_dtypes_inexact(a)
    if method == "qr":
        if promotion.dtype_of(a) in promotion.COMPLEX_DTYPES:
            raise NotImplementedError(
                "slogdet: method='qr' is for real matrices only; leave it out for complex ones."
            )
        return _slogdet_qr(a)
    return _slogdet_small(a) if np.shape(a)[-1] in (1, 2) else _slogdet_lu(a)


def _elements(a: ir.Array) -> list[ir.Array]:
    """The elements of small matrices, row by row."""
    rank, size = np.ndim(a), np.shape(a)[-1]
    column = lambda row, j: lax.index_in_dim(row, j, rank - 2, keepdims=False)
    rows = [lax.index_in_dim(a, i, rank - 2, keepdims=False) for i in range(size)]
    return [column(row, j) for row in rows for j in range(size)]


def _small_det(elements: list[ir.Array]) -> ir.Array:
    if len(elements) == 1:
        return elements[0]
    a, b, c, d = elements
    return lax.sub(lax.mul(a, d), lax.mul(b, c))


@lax.custom_jvp
def _slogdet_small(a: ir.Array) -> tuple[ir.Array, ir.Array]:
    x = _small_det(_elements(a))
    return lax.sign(x), lax.log(lax.abs(x))


@lax.custom_jvp
def _slogdet_lu(a: ir.Array) -> tuple[ir.Array, ir.Array]:
    dtype = promotion.dtype_of(a)
    factors, pivots, _ = lu(a)
    diagonals = diagonal(factors, axis1=-2, axis2=-1)
    zero = promotion.strong_constant(dtype, 0)
    last = np.ndim(diagonals) - 1
    singular = any(lax.eq(diagonals, zero), axis=-1)
    odd = count_nonzero(_exchanges(pivots), axis=-1)
    if dtype in promotion.COMPLEX_DTYPES:
        sign = lax.reduce_prod_p.bind(_unit(diagonals), axes=(last,))
    else:
        sign = promotion.strong_constant(dtype, 1)
        # Negative pivots are counted: no product that rounds or overflows.
        odd = lax.add(odd, count_nonzero(lax.lt(diagonals, zero), axis=-1))
    sign = where(singular, zero, lax.mul(sign, _parity(odd, dtype)))
    log = lax.convert_element_type(lax.log(lax.abs(diagonals)), dtype)
    log = where(singular, promotion.strong_constant(dtype, -np.inf), sum(log, axis=-1))
    return sign, lax.real(log) if dtype in promotion.COMPLEX_DTYPES else log


@lax.custom_jvp
def _slogdet_qr(a: ir.Array) -> tuple[ir.Array, ir.Array]:
    dtype = promotion.dtype_of(a)
    reflectors, factors = geqrf_p.bind(a)
    diagonals = diagonal(reflectors, axis1=-2, axis2=-1)
    log = sum(lax.log(lax.abs(diagonals)), axis=-1)
    sign = prod(lax.sign(diagonals), axis=-1)
    # A Householder reflection has determinant -1; one with factor 0 is the identity.
    last = np.ndim(factors) - 1
    count = ir.max_dim(np.shape(a)[-1] - 1, 0)
    inner = lax.slice_in_dim(factors, 0, count, axis=last)
    reflects = lax.ne(inner, promotion.strong_constant(dtype, 0))
    return lax.mul(sign, _parity(count_nonzero(reflects, axis=-1), dtype)), log


def _exchanges(pivots: ir.Array) -> ir.Array:
    """Mask of the pivots that exchange a row with another one."""
    shape = np.shape(pivots)
    return lax.ne(pivots, lax.broadcasted_iota(np.int32, shape, len(shape) - 1))


def _parity(count: ir.Array, dtype: ir.DTypeLike) -> ir.Array:
    """-1 to the power of a count."""
    odd = lax.rem(count, promotion.strong_constant(promotion.dtype_of(count), 2))
    sign = lax.add(
        lax.mul(promotion.strong_constant(promotion.dtype_of(odd), -2), odd),
        promotion.strong_constant(promotion.dtype_of(odd), 1),
    )
    return lax.convert_element_type(sign, dtype)


def _slogdet_small_jvp(
    primals: tuple[ir.Array, ...], tangents: tuple[ir.Array, ...]
) -> tuple[tuple[ir.Array, ir.Array], tuple[ir.Array, ir.Array]]:
    (a,), (t,) = primals, tangents
    sign, log = _slogdet_small(a)
    elements, changes = _elements(a), _elements(t)
    if len(elements) == 1:
        (change,) = changes
    else:
        a, b, c, d = elements
        terms = [lax.mul(x, y) for x, y in zip(changes, (d, c, b, a), strict=True)]
        change = lax.add(lax.sub(lax.sub(terms[0], terms[1]), terms[2]), terms[3])
    return (sign, log), _slogdet_tangents(sign, log, lax.div(change, _small_det(elements)))


def _slogdet_jvp(
    primals: tuple[ir.Array, ...], tangents: tuple[ir.Array, ...]
) -> tuple[tuple[ir.Array, ir.Array], tuple[ir.Array, ir.Array]]:
    """The tangent of the logarithm of the determinant is the trace of ``a⁻¹ da``."""
    (a,), (t,) = primals, tangents
    sign, log = slogdet(a)
    return (sign, log), _slogdet_tangents(sign, log, trace(solve(a, t), axis1=-1, axis2=-2))


def _slogdet_tangents(sign: ir.Array, log: ir.Array, change: ir.Array) -> tuple[ir.Array, ir.Array]:
    if promotion.dtype_of(change) not in promotion.COMPLEX_DTYPES:
        return lax.full_like(sign, 0), change
    size = lax.real(change)
    # d log(det) is d log|det| plus i times the change of the phase, and d sign = i sign d phase.
    turn = lax.sub(change, lax.convert_element_type(size, promotion.dtype_of(change)))
    return lax.mul(turn, sign), size


_slogdet_small.defjvp(_slogdet_small_jvp)
_slogdet_lu.defjvp(_slogdet_jvp)
_slogdet_qr.defjvp(_slogdet_jvp)


def det(a: ir.ArrayLike) -> ir.Array:
    """The determinants of square matrices.

    Args:
      a: an array of shape ``(..., n, n)``.

    Returns:
      An array of shape ``(...)``. Derivatives are right for singular matrices as well.

    Raises:
      TypeError: if ``a`` is not an array, or has a dtype of 16 bits or less.
      ValueError: if its matrices are not square.

    Example:
      >>> import ricci.numpy as jnp
      >>> float(jnp.linalg.det(jnp.array([[2.0, 1.0], [0.0, 3.0]])))
      6.0

    Source: numpy.linalg.det.
    """
    (a,) = promotion.operands("det", a)
    check_square("det", a)
    return _det_of(a)


@ir.composite("det")
def _det_of(a: ir.Array) -> ir.Array:
    (a,) = promotion.promote_dtypes_inexact(a)
    size = np.shape(a)[-1]
    small = ir.surely_at_least(size, 2) and ir.surely_at_most(size, _LARGEST_ELIMINATED)
    return _det_by_elimination(a) if small and not ir.is_symbolic_dim(size) else _det(a)


@lax.custom_jvp
def _det(a: ir.Array) -> ir.Array:
    sign, log = slogdet(a)
    return lax.mul(sign, lax.convert_element_type(lax.exp(log), promotion.dtype_of(sign)))


@lax.custom_jvp
def _det_by_elimination(a: ir.Array) -> Any:
    """The product of pivots, each the largest of its column and moved up by an exchange of rows.

    It is written out, since kernels for factorisations cost more than matrices of this size.
    """
    size = np.shape(a)[-1]
    rank = np.ndim(a)
    zero, one, minus_one = (promotion.constant_like(a, value) for value in (0, 1, -1))
    rows = [lax.index_in_dim(a, i, rank - 2, keepdims=False) for i in range(size)]
    at = lambda row, j: lax.index_in_dim(row, j, rank - 2, keepdims=False)
    exchanges: list[ir.Array] = []
    for k in range(size - 1):
        # Comparing each row with the pivot's brings the largest to the top. Where the whole column
        # is zero nothing is eliminated: the pivot is 0, and so is the product.
        for i in range(k + 1, size):
            larger = lax.gt(lax.abs(at(rows[i], k)), lax.abs(at(rows[k], k)))
            column = lax.expand_dims(larger, (rank - 2,))
            rows[k], rows[i] = where(column, rows[i], rows[k]), where(column, rows[k], rows[i])
            exchanges.append(larger)
        pivot = at(rows[k], k)
        vanishes = lax.eq(pivot, zero)
        divisor = where(vanishes, one, pivot)
        for i in range(k + 1, size):
            factor = where(vanishes, zero, lax.div(at(rows[i], k), divisor))
            factor = lax.expand_dims(factor, (rank - 2,))
            rows[i] = lax.sub(rows[i], lax.mul(factor, rows[k]))
    sign = one
    for exchanged in exchanges:
        sign = where(exchanged, lax.neg(sign) if sign is not one else minus_one, sign)
    determinant = sign
    for k in range(size):
        determinant = lax.mul(determinant, at(rows[k], k))
    return determinant


def _det_jvp(
    primals: tuple[ir.Array, ...], tangents: tuple[ir.Array, ...]
) -> tuple[ir.Array, ir.Array]:
    """By Jacobi's formula: the trace of the adjugate of ``a`` times ``da``."""
    (a,), (t,) = primals, tangents
    if np.shape(a)[-1] == 0:
        determinant = _det(a)
        return determinant, lax.full_like(determinant, 0)
    if np.shape(a)[-1] == 1:
        rank = np.ndim(a)
        return lax.squeeze(a, (rank - 2, rank - 1)), lax.squeeze(t, (rank - 2, rank - 1))
    determinant, change = _adjugate_product(a, t)
    return determinant, trace(change, axis1=-1, axis2=-2)


_det.defjvp(_det_jvp)
_det_by_elimination.defjvp(_det_jvp)


def _adjugate_product(a: ir.Array, b: ir.Array) -> tuple[ir.Array, ir.Array]:
    """The determinants of ``a``, and ``adjugate(a) @ b``, for ranks down to one less than full.

    With ``a = P L U``, the adjugate is ``det(a) U⁻¹ L⁻¹ P⁻¹``. The last pivot may be zero, but its
    inverse times the determinant is the product of the other pivots: so it is replaced by the
    inverse of that product, and the last row is not scaled by the determinant. Below that rank the
    adjugate is zero.
    """
    shape = np.shape(a)
    rank, size = len(shape), shape[-1]
    a, b = broadcast(a, shape), broadcast(b, shape)
    dtype = promotion.dtype_of(a)
    factors, pivots, permutation = lu(a)
    parity = _parity(count_nonzero(_exchanges(pivots), axis=-1), dtype)
    # Products of the leading pivots: the last one is the determinant, and the one before it is the
    # determinant divided by the last pivot.
    minors = lax.cumprod(diagonal(factors, axis1=-2, axis2=-1), rank - 2)
    minors = lax.mul(minors, lax.expand_dims(parity, (rank - 2,)))
    at = lambda i: lax.index_in_dim(minors, i, rank - 2, keepdims=False)
    determinant = at(size - 1)
    last_pivot = lax.expand_dims(
        lax.div(promotion.strong_constant(dtype, 1), at(size - 2)), (rank - 2,)
    )
    corner = _is_corner(size)
    replaced = lax.expand_dims(last_pivot, (rank - 2,))
    factors = where(corner, replaced, factors)
    invertible = _solves(factors)
    deficient = lax.expand_dims(lax.bitwise_not(invertible), (rank - 2, rank - 1))
    zero = promotion.strong_constant(dtype, 0)
    x = where(deficient, zero, b)
    x = take_along_axis(x, lax.expand_dims(permutation, (rank - 1,)), rank - 2)
    x = triangular_solve(factors, x, left_side=True, lower=True, unit_diagonal=True)
    scaled = lax.mul(
        lax.slice_in_dim(x, 0, size - 1, axis=rank - 2),
        lax.expand_dims(determinant, (rank - 2, rank - 1)),
    )
    # The last row gets its factor from the pivot that was replaced.
    x = lax.concatenate([scaled, lax.slice_in_dim(x, size - 1, size, axis=rank - 2)], rank - 2)
    x = triangular_solve(factors, x, left_side=True)
    return determinant, where(deficient, zero, x)


def _is_corner(size: int) -> ir.Array:
    """Mask of the last element of a square matrix."""
    at_last = lambda axis: lax.eq(
        lax.broadcasted_iota(np.int32, (size, size), axis),
        promotion.strong_constant(promotion.INT32, size - 1),
    )
    return lax.bitwise_and(at_last(0), at_last(1))


def _solves(upper: ir.Array) -> ir.Array:
    """Whether systems with upper triangular matrices have finite solutions."""
    shape = np.shape(upper)
    dtype = promotion.dtype_of(upper)
    ones = lax.full((*shape[:-1], 1), 1, dtype)
    x = triangular_solve(upper, ones, left_side=True)
    finite = lax.is_finite(lax.abs(x) if dtype in promotion.COMPLEX_DTYPES else x)
    return lax.reduce_and_p.bind(finite, axes=(len(shape) - 2, len(shape) - 1))
