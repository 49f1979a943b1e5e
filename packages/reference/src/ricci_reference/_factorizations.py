"""Rules of Cholesky and LU factorizations, and of triangular and tridiagonal systems."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ._widening import Rule, widened


def _swapped(x: np.ndarray) -> np.ndarray:
    return np.swapaxes(x, -1, -2)


def _per_example(
    fun: Callable[..., np.ndarray], ranks: tuple[int, ...]
) -> Callable[..., np.ndarray]:
    """A rule for batches from a function of one example whose operands have these ranks.

    The result has the shape and dtype of the last operand.
    """

    def rule(*operands: np.ndarray, **params: Any) -> np.ndarray:
        # The shape before the dimensions of one example.
        batch = operands[0].shape[: operands[0].ndim - ranks[0]]
        result = np.empty_like(operands[-1])
        for place in np.ndindex(*batch):
            result[place] = fun(*(x[place] for x in operands), **params)
        return result

    return rule


def _cholesky(x: np.ndarray) -> np.ndarray:
    try:
        return np.linalg.cholesky(x)
    except np.linalg.LinAlgError:
        # XLA reports a matrix that is not positive definite by NaN, as it cannot raise errors.
        return np.tril(np.full_like(x, np.nan))


def _substituted(a: np.ndarray, b: np.ndarray, lower: bool, unit_diagonal: bool) -> np.ndarray:
    """The solution ``x`` of ``a x = b``, by substitution."""
    n = a.shape[-1]
    x = b.copy()
    for i in range(n) if lower else reversed(range(n)):
        # Unknowns solved before: those above in a lower triangle, below in an upper one.
        solved = np.s_[:i] if lower else np.s_[i + 1 :]
        x[..., i, :] -= (a[..., i, None, solved] @ x[..., solved, :])[..., 0, :]
        if not unit_diagonal:
            x[..., i, :] /= a[..., i, i, None]
    return x


@widened
def _triangular_solve(
    a: np.ndarray,
    b: np.ndarray,
    *,
    left_side: bool,
    lower: bool,
    transpose_a: bool,
    conjugate_a: bool,
    unit_diagonal: bool,
) -> np.ndarray:
    if conjugate_a:
        a = np.conj(a)
    # A solve from the right is a solve from the left of the transpose: x a = b is aᵀ xᵀ = bᵀ.
    if transpose_a is left_side:
        a, lower = _swapped(a), not lower
    if left_side:
        return _substituted(a, b, lower, unit_diagonal)
    return _swapped(_substituted(a, _swapped(b), lower, unit_diagonal))


def _cholesky_update(r: np.ndarray, w: np.ndarray) -> np.ndarray:
    r, w = r.copy(), w.copy()
    for i in range(len(w)):
        if w[i] == 0:
            continue
        # A Givens rotation of w and row i of r, which leaves rᵀ r + w wᵀ unchanged and makes w[i]
        # zero.
        row, norm = r[i].copy(), np.hypot(r[i, i], w[i])
        cosine, sine = row[i] / norm, -w[i] / norm
        r[i], w = cosine * row - sine * w, cosine * w + sine * row
    return r


def _symmetric_product(
    a: np.ndarray, c: np.ndarray, *, alpha: complex, beta: complex
) -> np.ndarray:
    return (c.dtype.type(alpha) * (a @ _swapped(a)) + c.dtype.type(beta) * c).astype(c.dtype)


def _size(x: np.ndarray) -> np.ndarray:
    """The measure by which LAPACK compares pivots: abs(real) + abs(imag)."""
    return np.abs(np.real(x)) + np.abs(np.imag(x))


def _eliminated(x: np.ndarray) -> list[int]:
    """Factor one matrix in place by Gaussian elimination; return the pivots."""
    pivots = []
    for k in range(min(x.shape)):
        # Partial pivoting: the largest element of the rest of the column, so that no factor exceeds
        # 1.
        pivot = k + int(np.argmax(_size(x[k:, k])))
        pivots.append(pivot)
        # Whole rows change places, with the factors found so far.
        x[[k, pivot]] = x[[pivot, k]]
        # A column of zeros has nothing to eliminate; LAPACK goes on as well.
        if x[k, k] != 0:
            x[k + 1 :, k] /= x[k, k]
        x[k + 1 :, k + 1 :] -= np.outer(x[k + 1 :, k], x[k, k + 1 :])
    return pivots


def _lu(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    *batch, m, n = x.shape
    factors, pivots = x.copy(), np.empty((*batch, min(m, n)), np.int32)
    for place in np.ndindex(*batch):
        pivots[place] = _eliminated(factors[place])
    return factors, pivots, _lu_pivots_to_permutation(pivots, permutation_size=m)


def _lu_pivots_to_permutation(pivots: np.ndarray, *, permutation_size: int) -> np.ndarray:
    *batch, count = pivots.shape
    result = np.empty((*batch, permutation_size), np.int32)
    result[...] = np.arange(permutation_size)
    for place in np.ndindex(*batch):
        order = result[place]
        for i in range(count):
            j = pivots[place][i]
            # Pivots are exchanges made one after the other; the permutation is their composition.
            order[[i, j]] = order[[j, i]]
    return result


def _tridiagonal_solve(
    dl: np.ndarray, d: np.ndarray, du: np.ndarray, b: np.ndarray, *, perturb_singular: bool
) -> np.ndarray:
    if perturb_singular:
        return _perturbed_solve(dl, d, du, b)
    # The first element of the lower diagonal and the last of the upper one lie outside of the
    # matrix.
    a = np.diag(d) + np.diag(dl[1:], -1) + np.diag(du[:-1], 1) if len(d) else np.zeros((0, 0))
    try:
        return np.linalg.solve(a, b)
    except np.linalg.LinAlgError:
        return np.full_like(b, np.nan)


def _perturbed_solve(dl: np.ndarray, d: np.ndarray, du: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Elimination with pivoting, then substitution with pivots moved away from zero."""
    if not b.size:
        return b
    info = np.finfo(b.dtype)
    largest = max(np.max(np.abs(x), initial=0) for x in (dl[1:], d, du[:-1]))
    tolerance = max(info.eps * largest, info.tiny)
    diagonal, first, second, x = _pivoted(dl, d.copy(), du.copy(), b.copy())
    for k in reversed(range(len(d))):
        # Pivoting leaves up to two elements to the right of the diagonal.
        for i in range(1, min(3, len(d) - k)):
            x[k] -= (first, second)[i - 1][k] * x[k + i]
        x[k] = [_quotient(z, diagonal[k], tolerance, info) for z in x[k]]
    return x


def _pivoted(
    dl: np.ndarray, d: np.ndarray, du: np.ndarray, x: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Eliminate the lower diagonal with partial pivoting, as LAPACK's ``gttrf`` does.

    Returns:
      The three diagonals of the upper triangular factor, and the right-hand sides.
    """
    # A row exchange puts a third element right of the diagonal: ``second``. Rows are compared
    # relative to their largest sums, which makes the pivots independent of their scaling.
    second = np.zeros_like(d)
    du[-1] = 0
    scale = np.abs(d[0]) + np.abs(du[0])
    for k in range(len(d) - 1):
        below = dl[k + 1]
        scale_below = np.abs(below) + np.abs(d[k + 1]) + np.abs(du[k + 1])
        # Nothing to eliminate in the next row.
        if below == 0:
            scale = scale_below
            continue
        if np.abs(below) * scale <= np.abs(d[k]) * scale_below:
            scale = scale_below
        else:
            row = below, d[k + 1], du[k + 1]
            below, d[k + 1], du[k + 1] = d[k], du[k], 0
            d[k], du[k], second[k] = row
            x[[k, k + 1]] = x[[k + 1, k]]
        factor = below / d[k]
        d[k + 1] -= factor * du[k]
        du[k + 1] -= factor * second[k]
        x[k + 1] -= factor * x[k]
    return d, du, second, x


def _quotient(
    x: np.inexact, pivot: np.inexact, tolerance: np.inexact, info: np.finfo
) -> np.inexact:
    """``x / pivot``, with the pivot moved away from zero until the quotient does not overflow."""
    step = tolerance if pivot == 0 else tolerance * pivot / np.abs(pivot)
    # abs(x / pivot) could itself overflow, so abs(x) * tiny is compared with abs(pivot).
    while np.abs(pivot) < info.tiny or np.abs(x) * info.tiny > np.abs(pivot):
        pivot, step = pivot + step, 2 * step
    return x / pivot


factorization_rules: dict[str, Rule] = {
    "cholesky": _per_example(_cholesky, (2,)),
    "cholesky_update": _cholesky_update,
    "lu": _lu,
    "lu_pivots_to_permutation": _lu_pivots_to_permutation,
    "symmetric_product": _symmetric_product,
    "triangular_solve": _triangular_solve,
    "tridiagonal_solve": _per_example(_tridiagonal_solve, (1, 1, 1, 2)),
}
