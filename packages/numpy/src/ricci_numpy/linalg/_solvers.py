"""Systems of linear equations and inverses, exact and in the sense of least squares."""

from collections.abc import Sequence
from math import prod
from operator import index as as_int
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_batching import vmap
from ricci_ir import Array, ArrayLike, DTypeLike
from ricci_lax.authoring import solve as solve_batch
from ricci_numpy._promotion import (
    convert,
    dtype_of,
    operands,
    promote_dtypes_inexact,
    strong_constant,
)
from ricci_numpy.arrays._broadcasting import broadcast, broadcast_shape
from ricci_numpy.arrays._creation import asarray
from ricci_numpy.indexing._where import where
from ricci_numpy.reductions._axis_reductions import sum
from ricci_numpy.sequences._triangles import eye
from ricci_numpy.shapes._reshaping import expand_dims, ravel, reshaped
from ricci_numpy.shapes._transposing import matrix_transpose, moveaxis
from ricci_numpy.ufuncs._binary import divide, greater, multiply
from ricci_numpy.ufuncs._unary import conj

from ._decompositions import adjoint, check_square, svd
from ._norms import norm
from ._products import matmul

__all__ = ["inv", "lstsq", "pinv", "solve", "tensorinv", "tensorsolve"]

_HIGHEST = lax.Precision.HIGHEST


@ir.dispatched()
def solve(a: ArrayLike, b: ArrayLike) -> Array:
    """The solutions ``x`` of ``a @ x = b``.

    Args:
      a: square matrices, of shape ``(..., n, n)``.
      b: a vector of shape ``(n,)``, or matrices of shape ``(..., n, k)``. Leading dimensions
        broadcast.

    Returns:
      An array of the shape of ``b``, with leading dimensions broadcast.

    Raises:
      TypeError: if an operand is not an array, or has a dtype of 16 bits or less.
      ValueError: if shapes do not fit.

    A singular matrix raises no error: the result has infinities and NaN, or large numbers where
    rounding hides that it is singular.

    Example:
      >>> import ricci.numpy as jnp
      >>> a = jnp.array([[2.0, 0.0], [1.0, 4.0]])
      >>> jnp.linalg.solve(a, jnp.array([2.0, 9.0])).round(3).tolist()
      [1.0, 2.0]
      >>> jnp.linalg.solve(a, jnp.eye(2)).shape  # several right sides
      (2, 2)
      >>> bool(jnp.isfinite(jnp.linalg.solve(jnp.zeros((2, 2)), jnp.ones(2))).all())
      False

    See also:
      ``scipy.linalg.solve``, for triangular or positive definite matrices; ``linalg.lstsq``.

    Source: numpy.linalg.solve.
    """
    a, b = operands("solve", a, b)
    shape_a, shape_b = np.shape(a), np.shape(b)
    if len(shape_a) < 2 or shape_a[-1] != shape_a[-2] or not shape_b:
        raise ValueError(
            f"solve: a of shape {shape_a} and b of shape {shape_b} are not a linear system: a must "
            "be of shape (..., n, n), and b (n,) or (..., n, k)."
        )
    if shape_b[0 if len(shape_b) == 1 else -2] != shape_a[-1]:
        raise ValueError(
            f"solve: a of shape {shape_a} has {shape_a[-1]} rows, but b of shape {shape_b} another "
            "number."
        )
    return _solve(a, b)


@ir.composite("solve")
def _solve(a: Array, b: Array) -> Array:
    a, b = promote_dtypes_inexact(a, b)
    if np.ndim(b) > 1:
        return _solve_broadcast(a, b)
    return lax.squeeze(_solve_broadcast(a, lax.expand_dims(b, (1,))), (np.ndim(a) - 1,))


def _solve_broadcast(a: Array, b: Array) -> Array:
    """Solutions for matrices of right-hand sides; each matrix is factorised once."""
    lead_a, lead_b = np.shape(a)[:-2], np.shape(b)[:-2]
    if lead_a == lead_b:
        return solve_batch(a, b)
    lead = broadcast_shape("solve", (*lead_a, 1), (*lead_b, 1))[:-1]
    (a, dims_a), (b, dims_b) = _without_ones(a, len(lead)), _without_ones(b, len(lead))
    x = _solve_over(a, dims_a, b, dims_b)
    return lax.expand_dims(x, [d for d, size in enumerate(lead) if size == 1])


def _without_ones(x: Array, rank: int) -> tuple[Array, list[int]]:
    """Squeeze leading dimensions of size 1; also return the result's dimensions of the others."""
    lead = np.shape(x)[:-2]
    ones = [d for d, size in enumerate(lead) if size == 1]
    others = [d + rank - len(lead) for d, size in enumerate(lead) if size != 1]
    return lax.squeeze(x, ones), others


def _solve_over(a: Array, dims_a: list[int], b: Array, dims_b: list[int]) -> Array:
    """Solve, mapped over each leading dimension that only one of the operands has."""
    union = sorted({*dims_a, *dims_b})
    alone = [d for d in union if d not in dims_a or d not in dims_b]
    if not alone:
        return solve_batch(a, b)
    dim = alone[0]
    # Mapped over a dimension of the right-hand sides alone, the factorization is not batched, so
    # that each matrix is factored once, however many systems share it.
    axes = [dims.index(dim) if dim in dims else None for dims in (dims_a, dims_b)]
    others_a, others_b = ([d for d in dims if d != dim] for dims in (dims_a, dims_b))
    inner = lambda x, y: _solve_over(x, others_a, y, others_b)
    return vmap(inner, tuple(axes), union.index(dim))(a, b)


@ir.dispatched()
def inv(a: ArrayLike) -> Array:
    """The inverses of square matrices.

    Args:
      a: an array of shape ``(..., n, n)``.

    Returns:
      An array of the shape of ``a``; a singular matrix gives infinities or NaN.

    Raises:
      TypeError: if ``a`` is not an array, or has a dtype of 16 bits or less.
      ValueError: if its matrices are not square.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.linalg.inv(jnp.array([[2.0, 0.0], [0.0, 4.0]])).tolist()
      [[0.5, 0.0], [0.0, 0.25]]

    Source: numpy.linalg.inv.
    """
    (a,) = operands("inv", a)
    check_square("inv", a)
    return _inv(a)


@ir.composite("inv")
def _inv(a: Array) -> Array:
    (a,) = promote_dtypes_inexact(a)
    shape = np.shape(a)
    return solve(a, broadcast(eye(shape[-1], dtype=dtype_of(a)), shape))


def real_eps(dtype: DTypeLike) -> Any:
    """The gap between 1 and the next number, as a scalar of the dtype's real part."""
    real = ir.finfo(dtype).dtype
    return strong_constant(real, ir.finfo(dtype).eps)


def lstsq(
    a: ArrayLike, b: ArrayLike, rcond: ArrayLike | None = None, *, numpy_resid: bool = False
) -> tuple[Array, Array, Array, Array]:
    """The solutions ``x`` of least norm that make the norm of ``a @ x - b`` least.

    Args:
      a: a matrix of shape ``(m, n)``.
      b: a vector of shape ``(m,)`` or a matrix of shape ``(m, k)``.
      rcond: singular values below ``rcond`` times the largest count as zero; by default the
        machine's precision times the larger of ``m`` and ``n``.
      numpy_resid: whether to return no residuals where NumPy gives none: for matrices of deficient
        rank or with no more rows than columns. The result's shape then depends on values, so this
        cannot be traced.

    Returns:
      A tuple of ``x``, of shape ``(n,)`` or ``(n, k)``; the squared norms of ``b - a @ x``, of
      shape ``(k,)``; the rank of ``a``; its singular values.

    Raises:
      TypeError: if an operand is not an array, or ``a`` is not a matrix.
      ValueError: if the numbers of rows differ.

    Example:
      >>> import ricci.numpy as jnp
      >>> x = jnp.linalg.lstsq(jnp.array([[1.0], [1.0]]), jnp.array([1.0, 3.0]))[0]
      >>> [round(value, 5) for value in x.tolist()]
      [2.0]

    Source: numpy.linalg.lstsq.
    """
    a, b = operands("lstsq", a, b)
    shape_a, shape_b = np.shape(a), np.shape(b)
    if len(shape_b) not in (1, 2):
        raise TypeError(f"lstsq: b must have one or two dimensions, got shape {shape_b}.")
    if len(shape_a) != 2:
        raise TypeError(f"lstsq: a must have two dimensions, got shape {shape_a}.")
    if shape_a[0] != shape_b[0]:
        raise ValueError(f"lstsq: the numbers of rows differ: a is {shape_a}, b is {shape_b}.")
    if rcond is not None:
        (rcond,) = operands("lstsq", rcond)
    x, residuals, rank, s = _lstsq(a, b, rcond)
    if numpy_resid and (int(rank) < shape_a[1] or shape_a[0] <= shape_a[1]):
        residuals = lax.full((0,), 0, dtype_of(residuals))
    return x, residuals, rank, s


@ir.composite("_lstsq")
def _lstsq(a: Array, b: Array, rcond: ArrayLike | None) -> tuple[Array, Array, Array, Array]:
    a, b = promote_dtypes_inexact(a, b)
    dtype = dtype_of(a)
    rows, columns = np.shape(a)
    is_vector = np.ndim(b) == 1
    if is_vector:
        b = lax.expand_dims(b, (1,))
    if rows and columns:
        x, rank, s = _least_squares(a, b, rcond)
    else:
        x = lax.full((columns, np.shape(b)[1]), 0, dtype)
        rank, s = lax.full((), 0, np.int32), lax.full((0,), 0, dtype)
    distance = norm(lax.sub(b, matmul(a, x, precision=_HIGHEST)), axis=0)
    residuals = lax.integer_pow(distance, 2)
    return reshaped("lstsq", x, (columns,)) if is_vector else x, residuals, rank, s


def _least_squares(a: Array, b: Array, rcond: ArrayLike | None) -> tuple[Array, Array, Array]:
    """The solutions for matrices of right-hand sides, the rank and the singular values."""
    dtype = dtype_of(a)
    u, s, vh = svd(a, full_matrices=False)
    eps = real_eps(dtype)
    if rcond is None:
        most = ir.max_dim(*np.shape(a))
        least = (
            lax.mul(eps, strong_constant(eps.dtype, most))
            if ir.is_symbolic_dim(most)
            else strong_constant(eps.dtype, ir.finfo(dtype).eps * most)
        )
    else:
        cutoff = convert(rcond, eps.dtype)
        least = where(lax.lt(cutoff, strong_constant(eps.dtype, 0)), eps, cutoff)
    zero, one = strong_constant(eps.dtype, 0), strong_constant(eps.dtype, 1)
    # The solution of least norm inverts the singular values that count, and drops the others. The
    # divisor is 1 where they are dropped, so that derivatives are finite.
    largest = lax.index_in_dim(s, 0, keepdims=False)
    counts = lax.bitwise_and(lax.gt(s, zero), lax.ge(s, lax.mul(least, largest)))
    rank = sum(lax.convert_element_type(counts, np.int32))
    inverse = where(counts, lax.div(one, where(counts, s, one)), zero)
    inverse = lax.convert_element_type(lax.expand_dims(inverse, (1,)), dtype)
    projected = matmul(adjoint(u), b, precision=_HIGHEST)
    return matmul(adjoint(vh), lax.mul(inverse, projected), precision=_HIGHEST), rank, s


def pinv(
    a: ArrayLike,
    rtol: ArrayLike | None = None,
    hermitian: bool = False,
    *,
    rcond: ArrayLike | None = None,
) -> Array:
    """The pseudo-inverses of matrices, of Moore and Penrose.

    Args:
      a: an array of shape ``(..., m, n)``.
      rtol: singular values up to ``rtol`` times the largest count as zero; an array broadcasts
        with the leading dimensions. By default ten times the machine's precision times the larger
        of ``m`` and ``n``.
      hermitian: whether to take the matrices for Hermitian ones, which is faster.
      rcond: the same as ``rtol``.

    Returns:
      An array of shape ``(..., n, m)``. Its derivative is right where the rank does not change.

    Raises:
      TypeError: if ``a`` is not an array, or has a dtype of 16 bits or less.
      ValueError: if both ``rtol`` and ``rcond`` are given.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.linalg.pinv(jnp.array([[2.0, 0.0], [0.0, 0.0]])).round(2).tolist()
      [[0.5, 0.0], [0.0, 0.0]]

    Source: numpy.linalg.pinv.
    """
    if rcond is not None:
        if rtol is not None:
            raise ValueError("pinv: rtol and rcond are the same; give only one of them.")
        rtol = rcond
    return _pinv_with_rule(a, rtol, bool(hermitian))


def _pinv_of(a: ArrayLike, rtol: ArrayLike | None, hermitian: bool) -> Array:
    (a,) = operands("pinv", a)
    return _pinv(a, None if rtol is None else asarray(rtol), hermitian=hermitian)


_pinv_of.__name__ = "_pinv"
_pinv_with_rule = lax.custom_jvp(_pinv_of, nondiff_argnums=(1, 2))


@ir.composite("_pinv")
def _pinv(a: Array, rtol: ArrayLike | None, *, hermitian: bool) -> Array:
    (a,) = promote_dtypes_inexact(a)
    *lead, rows, columns = np.shape(a)
    dtype = dtype_of(a)
    if not (rows and columns):
        return lax.full((*lead, columns, rows), 0, dtype)
    eps = real_eps(dtype)
    if rtol is None:
        most = ir.max_dim(rows, columns)
        rtol = (
            lax.mul(eps, strong_constant(eps.dtype, 10 * most))
            if ir.is_symbolic_dim(most)
            else strong_constant(eps.dtype, ir.finfo(dtype).eps * np.asarray(10 * most, eps.dtype))
        )
    # The pseudo-inverse of u s vᴴ is v s⁻¹ uᴴ, with 0 for the reciprocals of singular values below
    # the threshold: they are infinite here, so that the quotient is 0 and has no NaN derivative.
    # The decomposed matrix is the conjugate, so that transposes are the adjoints.
    u, s, vh = svd(conj(a), full_matrices=False, hermitian=hermitian)
    last = np.ndim(s) - 1
    threshold = convert(rtol, eps.dtype)
    threshold = expand_dims(threshold, -1) if np.ndim(threshold) else threshold
    largest = lax.slice_in_dim(s, 0, 1, axis=last)
    s = where(greater(s, multiply(threshold, largest)), s, strong_constant(eps.dtype, np.inf))
    s = lax.convert_element_type(s, dtype)
    scaled = divide(matrix_transpose(u), expand_dims(s, -1))
    return matmul(matrix_transpose(vh), scaled, precision=_HIGHEST)


def _pinv_jvp(
    rtol: ArrayLike | None, hermitian: bool, primals: tuple[Array, ...], tangents: tuple[Array, ...]
) -> tuple[Array, Array]:
    """``dP = -P da P + P Pᴴ daᴴ (1 - a P) + (1 - P a) daᴴ Pᴴ P``, for a constant rank."""
    (a,), (t,) = primals, tangents
    p = _pinv_with_rule(a, rtol, hermitian)
    if hermitian:
        a, t = _symmetrized(a), _symmetrized(t)
    mul = lambda x, y: matmul(x, y, precision=_HIGHEST)
    # From the left, so that products have the size of ``p`` where they can, and common factors are
    # computed once.
    t_adjoint, p_adjoint = adjoint(t), adjoint(p)
    left = mul(mul(p, p_adjoint), t_adjoint)
    right = mul(mul(t_adjoint, p_adjoint), p)
    change = lax.add(mul(lax.neg(mul(p, t)), p), left)
    change = lax.add(lax.sub(change, mul(mul(left, a), p)), right)
    return p, lax.sub(change, mul(mul(p, a), right))


def _symmetrized(x: Array) -> Array:
    return lax.div(lax.add(x, adjoint(x)), strong_constant(dtype_of(x), 2))


_pinv_with_rule.defjvp(_pinv_jvp)


def tensorinv(a: ArrayLike, ind: int = 2) -> Array:
    """The inverse of an array for ``tensordot``: that of a matrix of its first and last dimensions.

    Args:
      a: an array; the product of its first ``ind`` sizes equals that of the others.
      ind: how many dimensions are those of rows.

    Returns:
      An array with the dimensions of ``a``: the last ones, then the first ``ind``.

    Raises:
      TypeError: if ``a`` is not an array.
      ValueError: if ``ind`` is not positive, or the products of sizes differ.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.linalg.tensorinv(jnp.eye(4).reshape(4, 2, 2), ind=1).shape
      (2, 2, 4)

    Source: numpy.linalg.tensorinv.
    """
    (a,) = operands("tensorinv", a)
    ind = as_int(ind)
    if ind <= 0:
        raise ValueError(f"tensorinv: ind must be positive, got {ind}.")
    shape = np.shape(a)
    rows, columns = shape[:ind], shape[ind:]
    if prod(rows) != prod(columns):
        raise ValueError(
            f"tensorinv: the first ind={ind} sizes of shape {shape} have the product "
            f"{prod(rows)}, the others {prod(columns)}; these must be equal."
        )
    matrix = reshaped("tensorinv", a, (prod(rows), -1))
    return reshaped("tensorinv", inv(matrix), (*columns, *rows))


def tensorsolve(a: ArrayLike, b: ArrayLike, axes: Sequence[int] | None = None) -> Array:
    """The solution ``x`` of ``tensordot(a, x, axes=x.ndim) = b``.

    Args:
      a: an array of shape ``(*b.shape, *x.shape)``, the products of both equal.
      b: an array.
      axes: dimensions of ``a`` to move to the end first.

    Returns:
      An array of the shape of ``x``.

    Raises:
      TypeError: if an operand is not an array.
      ValueError: if shapes do not fit.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.linalg.tensorsolve(jnp.eye(4).reshape(4, 2, 2), jnp.arange(4.0)).round(2).tolist()
      [[0.0, 1.0], [2.0, 3.0]]

    Source: numpy.linalg.tensorsolve.
    """
    a, b = operands("tensorsolve", a, b)
    if axes is not None:
        a = moveaxis(a, axes, tuple(range(np.ndim(a) - len(axes), np.ndim(a))))
    x_shape = np.shape(a)[np.ndim(b) :]
    if np.shape(a)[: np.ndim(b)] != np.shape(b) or prod(x_shape) != prod(np.shape(b)):
        raise ValueError(
            f"tensorsolve: a of shape {np.shape(a)} and b of shape {np.shape(b)} are not a linear "
            "system: a's first sizes must be b's, and the product of its others that of b's."
        )
    matrix = reshaped("tensorsolve", a, (-1, prod(x_shape)))
    return reshaped("tensorsolve", solve(matrix, ravel(b)), x_shape)
