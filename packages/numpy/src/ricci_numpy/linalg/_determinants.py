"""Determinants of square matrices, and their signs and logarithms."""

import functools
from typing import Any, NamedTuple

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_lax.authoring import geqrf_p
from ricci_lax.custom import custom_vmap
from ricci_lax.linalg import lu, triangular_solve
from ricci_numpy import _promotion as promotion
from ricci_numpy.arrays._broadcasting import broadcast
from ricci_numpy.indexing._take import take_along_axis
from ricci_numpy.indexing._where import where
from ricci_numpy.reductions._axis_reductions import any, count_nonzero, max, prod, sum
from ricci_numpy.sequences._diagonals import diagonal, trace
from ricci_numpy.sequences._triangles import tril, triu

from ._decompositions import check_square
from ._products import matmul
from ._solvers import solve

__all__ = ["SlogdetResult", "det", "slogdet"]

_LARGEST_ELIMINATED = 3  # sizes up to this are eliminated without a factorisation


@ir.exported
class SlogdetResult(NamedTuple):
    """Result of ``slogdet``."""

    sign: ir.Array
    logabsdet: ir.Array


def _unit(x: ir.Array) -> ir.Array:
    """Normalize complex numbers to absolute value 1."""
    return lax.div(x, lax.convert_element_type(lax.abs(x), promotion.dtype_of(x)))


@ir.dispatched("method")
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
    return (sign, log), _slogdet_tangents(sign, lax.div(change, _small_det(elements)))


def _slogdet_jvp(
    primals: tuple[ir.Array, ...], tangents: tuple[ir.Array, ...]
) -> tuple[tuple[ir.Array, ir.Array], tuple[ir.Array, ir.Array]]:
    """The tangent of the logarithm of the determinant is the trace of ``a⁻¹ da``."""
    (a,), (t,) = primals, tangents
    sign, log = slogdet(a)
    return (sign, log), _slogdet_tangents(sign, trace(solve(a, t), axis1=-1, axis2=-2))


def _slogdet_tangents(sign: ir.Array, change: ir.Array) -> tuple[ir.Array, ir.Array]:
    if promotion.dtype_of(change) not in promotion.COMPLEX_DTYPES:
        return lax.full_like(sign, 0), change
    size = lax.real(change)
    # d log(det) is d log|det| plus i times the change of the phase, and d sign = i sign d phase.
    turn = lax.sub(change, lax.convert_element_type(size, promotion.dtype_of(change)))
    return lax.mul(turn, sign), size


_slogdet_small.defjvp(_slogdet_small_jvp)
_slogdet_lu.defjvp(_slogdet_jvp)
_slogdet_qr.defjvp(_slogdet_jvp)


@ir.dispatched()
def det(a: ir.ArrayLike) -> ir.Array:
    """The determinants of square matrices.

    Args:
      a: an array of shape ``(..., n, n)``.

    Returns:
      An array of shape ``(...)``. First and second derivatives are right for singular matrices of
      any rank as well. Second ones lose digits where a pivot other than the last is tiny though
      nothing cancels, as for ``diag([1e-9, 1, 2, 3])``.

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


def _det_by_elimination_jvp(
    primals: tuple[ir.Array, ...], tangents: tuple[ir.Array, ...]
) -> tuple[ir.Array, ir.Array]:
    """By cofactors, which are polynomials of the elements, and so are right at any rank."""
    (a,), (t,) = primals, tangents
    terms = [lax.mul(x, y) for x, y in zip(_cofactors(a), _elements(t), strict=True)]
    return _det_by_elimination(a), functools.reduce(lax.add, terms)


def _cofactors(a: ir.Array) -> list[ir.Array]:
    """The cofactors of matrices of size 2 or 3, row by row."""
    elements = _elements(a)
    if len(elements) == 4:
        upper_left, upper_right, lower_left, lower_right = elements
        return [lower_right, lax.neg(lower_left), lax.neg(upper_right), upper_left]
    # The minors of cyclic rows and columns have the signs of the cofactors.
    at = lambda i, j: elements[3 * (i % 3) + j % 3]
    return [
        _small_det([at(i + 1, j + 1), at(i + 1, j + 2), at(i + 2, j + 1), at(i + 2, j + 2)])
        for i in range(3)
        for j in range(3)
    ]


_det.defjvp(_det_jvp)
_det_by_elimination.defjvp(_det_by_elimination_jvp)


def _adjugate_product(a: ir.Array, b: ir.Array) -> tuple[ir.Array, ir.Array]:
    """The determinants of ``a``, and ``adjugate(a) @ b``.

    With ``a = P L U``, the adjugate is ``det(a) U⁻¹ L⁻¹ P⁻¹``. The last pivot may be zero, but its
    inverse times the determinant is the product of the other pivots: so it is replaced by the
    inverse of that product, and the last row is not scaled by the determinant. Where ``a`` is
    singular, the factors are those of ``a Q``, and the adjugate is ``Q adjugate(a Q)``.
    """
    shape = np.shape(a)
    rank, size = len(shape), shape[-1]
    a, b = broadcast(a, shape), broadcast(b, shape)
    dtype = promotion.dtype_of(a)
    factors, pivots, permutation, singular, value = _regular_lu(a)
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
    factors = where(_is_corner(size), lax.expand_dims(last_pivot, (rank - 2,)), factors)
    x = take_along_axis(b, lax.expand_dims(permutation, (rank - 1,)), rank - 2)
    x = triangular_solve(factors, x, left_side=True, lower=True, unit_diagonal=True)
    scaled = lax.mul(
        lax.slice_in_dim(x, 0, size - 1, axis=rank - 2),
        lax.expand_dims(determinant, (rank - 2, rank - 1)),
    )
    # The last row gets its factor from the pivot that was replaced.
    x = lax.concatenate([scaled, lax.slice_in_dim(x, size - 1, size, axis=rank - 2)], rank - 2)
    x = _mixed(triangular_solve(factors, x, left_side=True), singular, rank - 2)
    # The perturbation changes the value, which is that of a, but not its derivative.
    error = lax.sub(lax.stop_gradient(determinant), value)
    error = where(singular, error, promotion.strong_constant(dtype, 0))
    return lax.sub(determinant, error), x


@lax.custom_jvp
def _regular_lu(a: ir.Array) -> tuple[ir.Array, ...]:
    """Factors, pivots and permutation of ``a``, whether it is singular, and then its determinant.

    If it is, but for rounding, they are those of ``a Q``, whose last pivots only are zero, and
    perturbed by about as much as rounding may. The adjugate and its derivatives, which are
    polynomials of the elements, change by as little.
    """
    return _factors_of_batches(a)


@custom_vmap
def _factors_of_batches(a: ir.Array) -> tuple[ir.Array, ...]:
    last = np.ndim(a) - 1
    results = lu(a)
    singular = lax.bitwise_or(lax.bitwise_not(_solves(results[0])), _cancels(a, results[0]))
    minus = _parity(count_nonzero(_exchanges(results[1]), axis=-1), promotion.dtype_of(a))
    value = lax.mul(minus, prod(diagonal(results[0], axis1=-2, axis2=-1), axis=-1))

    def factors_of_others() -> list[ir.Array]:
        mask = lax.expand_dims(singular, (last - 1, last))
        perturbed = where(mask, lax.add(a, _rounding_noise(a)), a)
        return lu(_mixed(perturbed, singular, last))

    factors, pivots, permutation = lax.cond(any(singular), factors_of_others, lambda: results)
    return factors, pivots, permutation, singular, value


@_factors_of_batches.def_vmap
def _factors_of_mapped(
    size: int, mapped: list[bool], a: ir.Array
) -> tuple[tuple[ir.Array, ...], tuple[bool, ...]]:
    """Factorisation of the whole batch, under one condition for all its matrices."""
    return _factors_of_batches(a), (True,) * 5


@_regular_lu.defjvp
def _regular_lu_jvp(
    primals: tuple[ir.Array, ...], tangents: tuple[ir.Array, ...]
) -> tuple[tuple[ir.Array, ...], tuple[Any, ...]]:
    """``P⁻¹ da`` is ``dL U + L dU``, so that ``L⁻¹ P⁻¹ da U⁻¹`` is ``L⁻¹ dL + dU U⁻¹``."""
    (a,), (t,) = primals, tangents
    results = factors, _, permutation, singular, value = _regular_lu(a)
    column = np.ndim(a) - 1
    t = _mixed(t, singular, column)
    t = take_along_axis(t, lax.expand_dims(permutation, (column,)), column - 1)
    t = triangular_solve(factors, t, left_side=True, lower=True, unit_diagonal=True)
    t = triangular_solve(factors, t)
    dot = functools.partial(matmul, precision=lax.Precision.HIGHEST)
    strict = tril(t, -1)
    lower = lax.add(dot(tril(factors, -1), strict), strict)
    upper = dot(triu(t), triu(factors))
    zeros = [np.zeros(np.shape(x), ir.float0) for x in results[1:4]]
    return results, (lax.add(lower, upper), *zeros, lax.full_like(value, 0))


def _mixed(x: ir.Array, singular: ir.Array, axis: int) -> ir.Array:
    """``x Q`` for the last axis, ``Q x`` for the one before it, and ``x`` for regular matrices.

    ``Q`` is the product of two reflections ``1 - 2 w wᵀ``, with vectors that have no zeros: it has
    the determinant 1, and mixes up to two zero columns with all others.
    """
    dtype, shape = promotion.dtype_of(x), np.shape(x)
    last = len(shape) - 1
    matrices = lax.expand_dims(singular, (last - 1, last))

    def product(x: ir.Array) -> ir.Array:
        for phase in (1, 2) if axis == last else (2, 1):
            index = lax.iota(ir.finfo(dtype).dtype, shape[axis])
            w = lax.cos(lax.mul(promotion.constant_like(index, phase), lax.square(index)))
            w = lax.add(w, promotion.constant_like(index, 2))
            w = lax.convert_element_type(lax.div(w, lax.sqrt(sum(lax.square(w)))), dtype)
            # The barrier keeps the compiler from computing it for each element.
            w = lax.broadcast_in_dim(lax.optimization_barrier(w), shape, (axis,))
            part = where(matrices, _sum(lax.mul(w, x), axis), promotion.strong_constant(dtype, 0))
            x = lax.sub(x, lax.mul(lax.mul(promotion.strong_constant(dtype, 2), w), part))
        return x

    return lax.cond(any(singular), product, lambda x: x, x)


def _sum(x: ir.Array, axis: int) -> ir.Array:
    """The sums along an axis, in the shape of ``x``."""
    return broadcast(sum(x, axis=axis, keepdims=True), np.shape(x))


def _rounding_noise(a: ir.Array) -> ir.Array:
    """Arbitrary numbers of about the rounding of the largest element of each matrix."""
    real = ir.finfo(promotion.dtype_of(a)).dtype
    shape = np.shape(a)
    last = len(shape) - 1
    i, j = (lax.broadcasted_iota(real, shape, axis) for axis in (last - 1, last))
    size = max(lax.abs(a), axis=(-2, -1), keepdims=True)
    zero = promotion.strong_constant(real, 0)
    size = where(lax.eq(size, zero), promotion.strong_constant(real, 1), size)
    i_phase = lax.mul(lax.square(i), promotion.strong_constant(real, 0.7))
    j_phase = lax.mul(lax.square(j), promotion.strong_constant(real, 1.3))
    both = lax.mul(lax.mul(i, j), promotion.strong_constant(real, 2.1))
    noise = lax.cos(lax.add(lax.add(i_phase, j_phase), both))
    noise = lax.mul(noise, promotion.strong_constant(real, 4 * float(ir.finfo(real).eps)))
    return lax.convert_element_type(lax.mul(noise, broadcast(size, shape)), promotion.dtype_of(a))


def _is_corner(size: int) -> ir.Array:
    """Mask of the last element of a square matrix."""
    at_last = lambda axis: lax.eq(
        lax.broadcasted_iota(np.int32, (size, size), axis),
        promotion.strong_constant(promotion.INT32, size - 1),
    )
    return lax.bitwise_and(at_last(0), at_last(1))


def _cancels(a: ir.Array, factors: ir.Array) -> ir.Array:
    """Whether a pivot other than the last one is what rounding leaves of its column.

    Elements of the inverse are then as large as the inverse of rounding, and their products, in
    second derivatives, are larger than what they should cancel to.
    """
    axis = np.ndim(a) - 2
    size = np.shape(a)[-1]
    pivots = lax.abs(diagonal(factors, axis1=-2, axis2=-1))
    columns = max(lax.abs(a), axis=-2)
    rounding = promotion.constant_like(columns, 4 * size * float(ir.finfo(columns.dtype).eps))
    small = lax.le(pivots, lax.mul(columns, rounding))
    return any(lax.slice_in_dim(small, 0, size - 1, axis=axis), axis=-1)


def _solves(upper: ir.Array) -> ir.Array:
    """Whether systems with upper triangular matrices have finite solutions."""
    shape = np.shape(upper)
    dtype = promotion.dtype_of(upper)
    ones = lax.full((*shape[:-1], 1), 1, dtype)
    x = triangular_solve(upper, ones, left_side=True)
    finite = lax.is_finite(lax.abs(x) if dtype in promotion.COMPLEX_DTYPES else x)
    return lax.reduce_and_p.bind(finite, axes=(len(shape) - 2, len(shape) - 1))
