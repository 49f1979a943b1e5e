"""The polar decomposition by the QDWH iteration, and singular values by it."""

from collections.abc import Iterator, Sequence
from functools import partial
from math import cbrt, fabs, sqrt
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_batching import vmap
from ricci_lax.contractions._precision import Precision
from ricci_lax.control_flow._while_loop import while_loop
from ricci_lax.elementwise._arithmetic import abs as magnitude
from ricci_lax.elementwise._arithmetic import div, mul
from ricci_lax.elementwise._comparison import bitwise_and, bitwise_not, eq, gt, lt, select_n
from ricci_lax.elementwise._conversion import converted
from ricci_lax.elementwise._factories import real_part, scalar
from ricci_lax.elementwise._linear import add, sub
from ricci_lax.elementwise._piecewise_linear import max as larger
from ricci_lax.elementwise._transcendental import rsqrt
from ricci_lax.elementwise._transcendental import sqrt as square_root
from ricci_lax.reductions._axis_reductions import reduce_max
from ricci_lax.shapes import concatenate, rev
from ricci_lax.structure import broadcast_in_dim, broadcasted_iota, reduce_sum
from ricci_lax.structure._operand_types import array_aval, shape_of

from ._cholesky import cholesky
from ._eigh import eigh
from ._kernels import matrix_dtype
from ._matrices import adjoint, diagonal, dtype_of, identity, is_complex, part, product
from ._qr import qr
from ._triangular_solve import triangular_solve

__all__ = ["qdwh"]

_matmul = partial(product, precision=Precision.HIGHEST)


def _times(factor: float, x: ir.Array) -> ir.Array:
    return mul(scalar(factor, dtype_of(x)), x)


class _Weights(ir.TupleRecord):
    """The weights of a step, which takes X to ``X (a + b XᴴX) (1 + c XᴴX)⁻¹``."""

    a: float
    b: float
    c: float


# The limit of the weights: Halley's method.
_HALLEY = _Weights(3.0, 1.0, 3.0)
# Beyond this weight ``1 + c XᴴX`` is too near to singular for the step by Cholesky.
_QR_BEYOND = 100.0


def _weights(smallest: float, tolerance: float) -> Iterator[_Weights]:
    """The weights that raise a lower bound of the singular values to 1 in the fewest steps."""
    # The least bound whose fourth power is not zero.
    bound = max(smallest, 1e-75)
    while fabs(1 - bound) > tolerance and bound < 1:
        # The weights of the step that maps [bound, 1] into [next bound, 1] with the greatest next
        # bound. They map 1 to itself, by c = a + b - 1.
        square = bound * bound
        d = cbrt(4 * (1 - square) / (square * square))
        root = sqrt(1 + d)
        a = root + sqrt(8 - 4 * d + 8 * (2 - square) / (square * root)) / 2
        b = (a - 1) ** 2 / 4
        weights = _Weights(a, b, a + b - 1)
        yield weights
        bound *= (a + b * square) / (1 + weights.c * square)


def _step_by_qr(x: ir.Array, weights: _Weights) -> ir.Array:
    a, b, c = weights
    rows, columns = shape_of(x)
    # The step x (a + b xᴴx) (1 + c xᴴx)⁻¹ without an inverse: with the QR factors of [√c x; 1],
    # whose upper and lower parts of q are u and l, it is b/c x + (a - b/c)/√c u lᴴ.
    stacked = concatenate([_times(sqrt(c), x), identity(columns, columns, dtype_of(x))], 0)
    q, _ = qr(stacked, full_matrices=False)
    upper = part(q, (0, rows), (0, columns))
    lower = part(q, (rows, rows + columns), (0, columns))
    moved = _times((a - b / c) / sqrt(c), _matmul(upper, adjoint(lower)))
    return add(_times(b / c, x), moved)


def _step_by_cholesky(x: ir.Array, weights: _Weights) -> ir.Array:
    a, b, c = weights
    columns = shape_of(x)[1]
    # The same step, with 1 + c xᴴx factored by Cholesky. It takes fewer operations; for large c
    # rounding errors of the product would be too great.
    gram = _times(c, _matmul(adjoint(x), x))
    gram = add(gram, identity(columns, columns, dtype_of(x)))
    factor = cholesky(gram, symmetrize_input=False)
    solve = partial(triangular_solve, factor, left_side=True, lower=True)
    solved = solve(solve(adjoint(x)), transpose_a=True, conjugate_a=is_complex(x))
    return add(_times(b / c, x), _times(a - b / c, adjoint(solved)))


def _norm(x: ir.Array) -> ir.Array:
    parts = magnitude(x)
    return square_root(reduce_sum(mul(parts, parts), (0, 1)))


def _inverse_of_norm_bound(x: ir.Array) -> ir.Array:
    """One over the root of the 1-norm times the ∞-norm, which the 2-norm does not exceed."""
    parts = magnitude(x)
    zero = scalar(0, dtype_of(parts))
    by_columns, by_rows = (larger(zero, reduce_max(reduce_sum(parts, (i,)), (0,))) for i in (0, 1))
    inverse = mul(rsqrt(by_columns), rsqrt(by_rows))
    # A matrix of zeros stays as it is: its inverse norm is infinite, and 0 · ∞ is NaN.
    return select_n(eq(by_columns, zero), inverse, scalar(1, dtype_of(parts)))


def _within(x: ir.Array, shape: Sequence[ir.ArrayLike]) -> ir.Array:
    """A matrix with zeros outside of its first rows and columns."""
    bounded = (
        lt(broadcasted_iota(np.int32, shape_of(x), axis), converted(size, np.dtype(np.int32)))
        for axis, size in enumerate(shape)
    )
    zeros = broadcast_in_dim(scalar(0, dtype_of(x)), shape_of(x), ())
    return select_n(bitwise_and(*bounded), zeros, x)


# The count of steps, the matrix, and whether the iteration continues.
_Carry = tuple[ir.ArrayLike, ir.Array, ir.ArrayLike]


def _iterated(
    x: ir.Array, eps: float, max_iterations: int
) -> tuple[ir.Array, ir.ArrayLike, ir.ArrayLike]:
    """The unitary factor of a matrix of norm 1 at most, the steps, and whether to continue."""
    # The bounds of the paper: of the singular values, and of a step, which is of third order.
    tolerance = 5 * eps
    enough = scalar(cbrt(tolerance), real_part(dtype_of(x)))
    count, goes_on = 0, np.bool_(True)
    # The weights depend on eps alone, hence are known while tracing: each of the first steps is
    # written out, in the form that its weights need.
    for weights in _weights(eps, tolerance):
        if count >= max_iterations:
            break
        count += 1
        if weights.c > _QR_BEYOND:
            x = _step_by_qr(x, weights)
        else:
            before, x = x, _step_by_cholesky(x, weights)
            goes_on = gt(_norm(sub(x, before)), enough)

    def unfinished(carry: _Carry) -> ir.Array:
        count, _, goes_on = carry
        return bitwise_and(goes_on, lt(count, max_iterations))

    def step(carry: _Carry) -> _Carry:
        count, x, _ = carry
        new = _step_by_cholesky(x, _HALLEY)
        return add(count, 1), new, gt(_norm(sub(new, x)), enough)

    # The bound of the singular values has reached 1, where the weights are Halley's. The steps end
    # when they no longer change the matrix.
    count, x, goes_on = while_loop(unfinished, step, (count, x, goes_on))
    return x, count, goes_on


def qdwh(
    x: ir.ArrayLike,
    *,
    is_hermitian: bool = False,
    max_iterations: int | None = None,
    eps: float | None = None,
    dynamic_shape: tuple[int, int] | None = None,
) -> tuple[ir.Array, ir.Array, ir.Array, ir.Array]:
    """The polar decomposition ``x = u h``: u has orthonormal columns, h is Hermitian.

    Args:
      x: a matrix of shape ``(m, n)`` with ``m >= n``, float32, float64, complex64 or complex128.
      is_hermitian: whether ``x`` is Hermitian; the same steps serve.
      max_iterations: how many steps to take at most, by default 10.
      eps: the relative precision, by default the dtype's.
      dynamic_shape: the valid rows and columns, which may be traced; the others are taken to
        be zeros, as they are in the results.

    Returns:
      u of shape ``(m, n)``; h, positive semidefinite, of shape ``(n, n)``; the number of steps;
      and whether they converged.

    Raises:
      TypeError: if the dtype is a floating one that has no kernels.
      ValueError: if ``x`` is not such a matrix or its dtype not a floating one, or if ``eps`` is
        not positive.

    Example:
      >>> import numpy as np
      >>> from ricci.lax import linalg
      >>> u, h, steps, converged = linalg.qdwh(np.float32([[0, 2], [-3, 0]]))
      >>> np.allclose(u, [[0, 1], [-1, 0]], atol=1e-6), np.allclose(h, [[3, 0], [0, 2]], atol=1e-5)
      (True, True)

    Source: Nakatsukasa, Bai and Gygi, "Optimizing Halley's iteration for computing the matrix
    polar decomposition" (2010); Nakatsukasa and Higham, "Stable and efficient spectral divide and
    conquer algorithms for the symmetric eigenvalue decomposition and the SVD" (2013).
    """
    aval = array_aval(x)
    if aval.ndim != 2 or aval.shape[0] < aval.shape[1]:
        raise ValueError(
            "qdwh: the operand must be one matrix with at least as many rows as columns, but it "
            f"is {aval.str_short()}. Transpose a wide one; use vmap for several."
        )
    if not ir.issubdtype(aval.dtype, np.inexact):
        raise ValueError(
            f"qdwh: the matrix must be of floating dtype, but it is {aval.str_short()}. Convert "
            "it first."
        )
    matrix_dtype("qdwh", aval)
    eps = float(ir.finfo(aval.dtype).eps if eps is None else eps)
    if not eps > 0:
        raise ValueError(f"qdwh: eps={eps} must be positive; leave it out for the dtype's own.")
    max_iterations = 10 if max_iterations is None else int(max_iterations)
    shape = ()
    if dynamic_shape is not None:
        rows, columns = dynamic_shape
        shape = rows, columns
    return _qdwh(x, *shape, eps=eps, max_iterations=max_iterations)


@ir.composite("qdwh")
def _qdwh(
    x: ir.Array, *shape: ir.ArrayLike, eps: float, max_iterations: int
) -> tuple[ir.Array, ir.Array, Any, ir.Array]:
    dtype = dtype_of(x)
    if shape:
        x = _within(x, shape)
    scale = converted(_inverse_of_norm_bound(x), dtype)
    u, count, goes_on = _iterated(mul(x, scale), eps, max_iterations)
    # A step of Newton and Schulz, for the last digits.
    u = sub(_times(1.5, u), _matmul(_times(0.5, u), _matmul(adjoint(u), u)))
    # Hermitian but for rounding; the mean with its adjoint is the nearest Hermitian matrix.
    h = _matmul(adjoint(u), x)
    h = div(add(h, adjoint(h)), scalar(2, dtype))
    return u, h, count, bitwise_not(goes_on)


# Singular values


def svd_by_polar(x: ir.Array, *, full_matrices: bool, compute_uv: bool) -> list[ir.Array]:
    """The singular values of a batch of matrices and, on request, their vectors.

    From ``x = u h`` and ``h = v diag(s) vᴴ``: with one step of QR before, for tall matrices, and
    one after, which completes ``u v`` where singular values are zero.
    """
    fun = partial(_svd_of_one, full_matrices=full_matrices, compute_uv=compute_uv)
    for _ in shape_of(x)[:-2]:
        fun = vmap(fun)
    return fun(x)


def _svd_of_one(x: ir.Array, *, full_matrices: bool, compute_uv: bool) -> list[ir.Array]:
    rows, columns = shape_of(x)
    if rows < columns:
        factors = _svd_of_one(adjoint(x), full_matrices=full_matrices, compute_uv=compute_uv)
        s, *vectors = factors
        return [s, *(adjoint(v) for v in reversed(vectors))]
    if rows == columns:
        return _svd_of_square(x, compute_uv)
    # A tall matrix Q R has the singular values and right vectors of R, a small square matrix, and
    # left vectors Q times those of R.
    q, r = qr(x, full_matrices=full_matrices and compute_uv)
    s, *vectors = _svd_of_square(part(r, (0, columns), (0, columns)), compute_uv)
    if not compute_uv:
        return [s]
    u, vh = vectors
    width = shape_of(q)[1]
    left = _matmul(part(q, (0, rows), (0, columns)), u)
    if width > columns:
        left = concatenate([left, part(q, (0, rows), (columns, width))], 1)
    return [s, left, vh]


def _svd_of_square(x: ir.ArrayLike, compute_uv: bool) -> list[ir.Array]:
    polar, h, _, _ = qdwh(x)
    v, w = eigh(h, symmetrize_input=False)
    # ``eigh`` sorts in ascending order, and rounding can turn an eigenvalue of zero negative.
    s = rev(larger(w, scalar(0, dtype_of(w))), (0,))
    if not compute_uv:
        return [s]
    v = rev(v, (1,))
    q, r = qr(_matmul(polar, v), full_matrices=False)
    # All but the columns of zero singular values were orthonormal: R is diagonal there, and q is
    # the same up to signs, or phases.
    return [s, mul(q, _signs(diagonal(r), shape_of(q))), adjoint(v)]


def _signs(x: ir.Array, shape: tuple[int, ...]) -> ir.Array:
    """The signs of complex numbers, one for each column of a matrix; 1 for zeros."""
    sizes = magnitude(x)
    zeros = eq(sizes, scalar(0, dtype_of(sizes)))
    one = broadcast_in_dim(scalar(1, dtype_of(x)), shape_of(x), ())
    signs = select_n(zeros, div(x, converted(sizes, dtype_of(x))), one)
    return broadcast_in_dim(signs, shape, (1,))
