"""Rules of QR, of eigenvalue problems and of singular values."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ._widening import Rule


def _each(
    rule: Callable[..., tuple[np.ndarray, ...]], count: int, *operands: np.ndarray, **params: Any
) -> list[np.ndarray]:
    """Apply a rule for single matrices to each matrix of a batch.

    Args:
      rule: ``rule(matrix, *vectors, **params)``, which gives a tuple of ``count`` arrays.
      operands: the matrices, followed by the vectors that belong to each.
    """
    matrices, *others = operands
    batch = matrices.shape[:-2]
    matrix_results = [
        rule(matrices[i], *(x[i] for x in others), **params) for i in np.ndindex(batch)
    ] or [rule(np.zeros(matrices.shape[-2:], matrices.dtype), *_zeros(others), **params)]
    stacked = [np.stack([results[k] for results in matrix_results]) for k in range(count)]
    if 0 in batch:
        stacked = [x[:0] for x in stacked]
    return [x.reshape(*batch, *x.shape[1:]) for x in stacked]


def _zeros(vectors: list[np.ndarray]) -> list[np.ndarray]:
    return [np.zeros(x.shape[-1:], x.dtype) for x in vectors]


# Householder reflectors, I - tau v vᴴ, as LAPACK defines and stores them.


def _reflector(x: np.ndarray) -> tuple[np.ndarray, np.generic, np.generic]:
    """The reflector whose adjoint maps ``x`` to ``beta`` times the first unit vector.

    Returns:
      ``v`` (its first element is 1), ``tau``, and ``beta``, which is real.
    """
    v = x.copy()
    if not x.size:
        return v, x.dtype.type(0), x.dtype.type(0)
    head, norm = x[0], np.linalg.norm(x[1:])
    v[0] = 1
    if norm == 0 and np.imag(head) == 0:
        v[1:] = 0
        return v, x.dtype.type(0), np.real(head)
    # The sign is opposite to that of head, so that head - beta does not cancel.
    beta = -np.copysign(np.hypot(np.abs(head), norm), np.real(head))
    v[1:] = x[1:] / (head - beta)
    return v, (beta - head) / beta, beta


def _apply(v: np.ndarray, tau: np.generic, c: np.ndarray) -> np.ndarray:
    """The product of a reflector and a matrix."""
    return c - tau * np.outer(v, v.conj() @ c)


def _vector(a: np.ndarray, i: int) -> np.ndarray:
    """The vector ``v`` of reflector ``i``, stored below the diagonal of column ``i``."""
    v = a[:, i].copy()
    v[:i] = 0
    v[i] = 1
    return v


def _times_unitary(a: np.ndarray, taus: np.ndarray, c: np.ndarray, transpose: bool) -> np.ndarray:
    """The product ``Q c`` of all reflectors and a matrix, or ``Qᴴ c``."""
    order = range(len(taus)) if transpose else reversed(range(len(taus)))
    for i in order:
        c = _apply(_vector(a, i), taus[i].conj() if transpose else taus[i], c)
    return c


def _factored(a: np.ndarray, pivots: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """QR with column pivoting: each step takes the column of greatest remaining norm.

    Columns with a non-zero entry in ``pivots`` come first, in order, as LAPACK's ``geqp3`` has it.
    """
    a, order = a.copy(), np.arange(a.shape[1])
    taus = np.zeros(min(a.shape), a.dtype)
    first = np.flatnonzero(pivots)
    for place, column in enumerate(first):
        a[:, [place, column]] = a[:, [column, place]]
        order[[place, column]] = order[[column, place]]
    for i in range(len(taus)):
        if i >= len(first):
            best = i + int(np.argmax(np.linalg.norm(a[i:, i:], axis=0)))
            a[:, [i, best]] = a[:, [best, i]]
            order[[i, best]] = order[[best, i]]
        v, taus[i], beta = _reflector(a[i:, i])
        a[i:, i + 1 :] = _apply(v, taus[i].conj(), a[i:, i + 1 :])
        a[i, i], a[i + 1 :, i] = beta, v[1:]
    return a, (order + 1).astype(np.int32), taus


def _geqrf(x: np.ndarray) -> Sequence[np.ndarray]:
    packed, taus = np.linalg.qr(x, mode="raw")
    return np.swapaxes(packed, -1, -2), taus


def _householder_product(a: np.ndarray, taus: np.ndarray) -> np.ndarray:
    def one(a: np.ndarray, taus: np.ndarray) -> tuple[Any, ...]:
        return (_times_unitary(a, taus, np.eye(*a.shape, dtype=a.dtype), False),)

    return _each(one, 1, a, taus)[0]


def _ormqr(
    a: np.ndarray, taus: np.ndarray, c: np.ndarray, *, left: bool, transpose: bool
) -> np.ndarray:
    result = np.empty_like(c)
    for i in np.ndindex(a.shape[:-2]):
        if left:
            result[i] = _times_unitary(a[i], taus[i], c[i], transpose)
        else:
            adjoint = _times_unitary(a[i], taus[i], c[i].conj().T, not transpose)
            result[i] = adjoint.conj().T
    return result


def _qr(
    x: np.ndarray, *, pivoting: bool, full_matrices: bool, use_magma: bool | None
) -> Sequence[np.ndarray]:
    rows, columns = x.shape[-2:]
    if not (rows and columns):
        inner = rows if full_matrices else 0
        q = np.broadcast_to(np.eye(rows, inner, dtype=x.dtype), (*x.shape[:-2], rows, inner))
        r = np.zeros((*x.shape[:-2], inner, columns), x.dtype)
        return [q, r, np.zeros((*x.shape[:-2], columns), np.int32)][: 2 + pivoting]
    if not pivoting:
        return list(np.linalg.qr(x, mode="complete" if full_matrices else "reduced"))

    def one(x: np.ndarray) -> tuple[Any, ...]:
        packed, order, taus = _factored(x, np.zeros(columns, np.int32))
        inner = rows if full_matrices else min(rows, columns)
        q = _times_unitary(packed, taus, np.eye(rows, inner, dtype=x.dtype), False)
        return q, np.triu(packed)[:inner], order - np.int32(1)

    return _each(one, 3, x)


# Eigenvalues and singular values


def _finite(x: np.ndarray) -> np.ndarray:
    """Whether each matrix of a batch is finite, with two trailing dimensions of size 1."""
    return np.all(np.isfinite(x), axis=(-1, -2), keepdims=True)


def _eigh(
    x: np.ndarray, *, lower: bool, subset_by_index: tuple[int, int] | None, **params: Any
) -> Sequence[np.ndarray]:
    used = np.tril(x) if lower else np.triu(x)
    finite = _finite(used)
    w, v = np.linalg.eigh(np.where(finite, x, 0), "L" if lower else "U")
    start, stop = subset_by_index or (0, x.shape[-1])
    w, v = np.where(finite[..., 0], w, np.nan), np.where(finite, v, _nan(x.dtype))
    return v[..., start:stop], w[..., start:stop]


def _nan(dtype: np.dtype) -> np.generic:
    return dtype.type(complex(np.nan, np.nan) if dtype.kind == "c" else np.nan)


def _svd(
    x: np.ndarray,
    *,
    full_matrices: bool,
    compute_uv: bool,
    subset_by_index: tuple[int, int] | None,
    algorithm: object,
) -> Sequence[np.ndarray]:
    finite = _finite(x)
    u, s, vh = np.linalg.svd(np.where(finite, x, 0), full_matrices)
    s = np.where(finite[..., 0], s, np.nan)
    u, vh = (np.where(finite, v, _nan(x.dtype)) for v in (u, vh))
    if subset_by_index is not None and not full_matrices:
        start, stop = subset_by_index
        u, s, vh = u[..., start:stop], s[..., start:stop], vh[..., start:stop, :]
    return [s, u, vh] if compute_uv else [s]


def _tridiagonal(a: np.ndarray, *, lower: bool) -> Sequence[np.ndarray]:
    return _each(_tridiagonalized, 4, a, lower=lower)


def _tridiagonalized(a: np.ndarray, *, lower: bool) -> tuple[Any, ...]:
    """Tridiagonalize a Hermitian matrix by reflectors from both sides, as LAPACK's ``sytrd``.

    The lower triangle is reduced from the first column on, the upper one from the last column
    back. The other triangle is unchanged.
    """
    size = len(a)
    used = np.tril(a, -1) if lower else np.triu(a, 1)
    whole = used + used.conj().T + np.diag(np.real(np.diag(a)))
    packed, taus = a.copy(), np.zeros(size - 1, a.dtype)
    beside = np.zeros(size - 1, np.real(a).dtype)
    for i in range(size - 1) if lower else reversed(range(size - 1)):
        # The part of the column that is not reduced yet, from the diagonal outwards.
        places = np.arange(i + 1, size) if lower else np.arange(i, -1, -1)
        column = i if lower else i + 1
        v, taus[i], beside[i] = _reflector(whole[places, column])
        inner = np.ix_(places, places)
        # The similarity transform Hᴴ A H by the reflector H: as A is Hermitian, the second product
        # is taken from the left of the adjoint.
        half = _apply(v, taus[i].conj(), whole[inner])
        whole[inner] = _apply(v, taus[i].conj(), half.conj().T).conj().T
        packed[places[0], column], packed[places[1:], column] = beside[i], v[1:]
    diagonal = np.real(np.diag(whole)).copy()
    np.fill_diagonal(packed, diagonal)
    return packed, diagonal, beside, taus


spectral_rules: dict[str, Rule] = {
    "eigh": _eigh,
    "geqp3": lambda x, pivots, *, use_magma: _each(_factored, 3, x, pivots),
    "geqrf": _geqrf,
    "householder_product": _householder_product,
    "ormqr": _ormqr,
    "qr": _qr,
    "svd": _svd,
    "tridiagonal": _tridiagonal,
}


def _in_double(x: np.ndarray) -> np.ndarray:
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def _per_matrix(x: np.ndarray, fun: Callable[[np.ndarray], tuple], outs: list) -> list:
    """Apply a function to each matrix of a batch; the results of a non-finite matrix are NaN.

    Args:
      outs: the shape and dtype of each result for one matrix.
    """
    batch = x.shape[:-2]
    results = [np.full((*batch, *shape), np.nan, dtype) for shape, dtype in outs]
    for place in np.ndindex(batch):
        if x.shape[-1] and np.all(np.isfinite(x[place])):
            for result, value in zip(results, fun(_in_double(x[place])), strict=True):
                result[place] = value
    return results


# eig


def _left_vectors(right: np.ndarray) -> np.ndarray:
    """The left eigenvectors, of norm 1; the largest element of a complex one is real."""
    # With A V = V Λ, V⁻¹ A = Λ V⁻¹: the rows of V⁻¹ are the left eigenvectors' adjoints.
    left = np.linalg.inv(right).conj().T
    left = left / np.linalg.norm(left, axis=0)
    if left.dtype.kind == "c":
        largest = np.take_along_axis(left, np.abs(left).argmax(0)[np.newaxis], 0)
        real = np.all(left.imag == 0, 0)
        left = left * np.where(real, 1, largest.conj() / np.abs(largest))
    return left


def _eig(
    x: np.ndarray,
    *,
    compute_left_eigenvectors: bool,
    compute_right_eigenvectors: bool,
    **params: Any,
) -> list[np.ndarray]:
    def one(matrix: np.ndarray) -> tuple[Any, ...]:
        values, right = np.linalg.eig(matrix)
        left = [_left_vectors(right)] if compute_left_eigenvectors else []
        return values, *left, *([right] if compute_right_eigenvectors else [])

    dtype = (x.ravel()[:0] + np.complex64(0)).dtype
    vectors = compute_left_eigenvectors + compute_right_eigenvectors
    size = x.shape[-1]
    return _per_matrix(x, one, [((size,), dtype), *[((size, size), dtype)] * vectors])


# schur


def _basis(columns: np.ndarray) -> np.ndarray:
    """A unitary matrix whose leading columns span the given ones; the first is parallel to it."""
    size = len(columns)
    q, r = np.linalg.qr(np.concatenate([columns, np.eye(size)], 1))
    phase = np.diagonal(r)[:size].copy()
    phase[phase == 0] = 1
    return q * (phase / np.abs(phase))


def _equal_diagonal(block: np.ndarray) -> np.ndarray:
    """The rotation that makes the diagonal of a 2x2 block with complex eigenvalues constant."""
    (a, b), (c, d) = block
    angle = np.arctan2(d - a, b + c) / 2 if (d - a, b + c) != (0, 0) else 0.0
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


def _deflate(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The Schur form and Schur vectors, by deflation.

    One eigenvector (a real matrix: a conjugate pair) is made the first basis vector, which leaves
    a smaller matrix of the other eigenvalues; that is deflated in turn.
    """
    size = len(matrix)
    if size == 0:
        return matrix, matrix
    values, vectors = np.linalg.eig(matrix)
    first = vectors[:, :1]
    if matrix.dtype.kind == "c" or np.imag(values[0]) == 0:
        count, q = 1, _basis(first if matrix.dtype.kind == "c" else np.real(first))
    else:
        count, q = 2, _basis(np.concatenate([np.real(first), np.imag(first)], 1))
        turn = _equal_diagonal((q.T @ matrix @ q)[:2, :2])
        q[:, :2] = q[:, :2] @ turn
    t = q.conj().T @ matrix @ q
    t[count:, :count] = 0
    remaining, q_remaining = _deflate(t[count:, count:])
    t[:count, count:] = t[:count, count:] @ q_remaining
    t[count:, count:] = remaining
    q[:, count:] = q[:, count:] @ q_remaining
    return t, q


def _schur(x: np.ndarray, *, compute_schur_vectors: bool, **params: Any) -> list[np.ndarray]:
    count = 1 + compute_schur_vectors
    outs = [(x.shape[-2:], x.dtype)] * count
    return _per_matrix(x, lambda matrix: _deflate(matrix)[:count], outs)


# hessenberg


def _column_reflector(x: np.ndarray) -> tuple[np.ndarray, complex]:
    """``v`` (its first element is 1) and ``τ`` of the reflector that zeroes ``x[1:]``."""
    alpha = x[0]
    if not np.any(x[1:]) and alpha.imag == 0:
        return np.concatenate([[1], x[1:]]), 0.0
    beta = -np.copysign(np.linalg.norm(x), alpha.real)
    return np.concatenate([[1], x[1:] / (alpha - beta)]), (beta - alpha) / beta


def _reduce(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    h, size = matrix.copy(), len(matrix)
    taus = np.zeros(size - 1, h.dtype)
    for i in range(size - 1):
        v, tau = _column_reflector(h[i + 1 :, i])
        h[:, i + 1 :] -= tau * np.outer(h[:, i + 1 :] @ v, v.conj())
        h[i + 1 :, i:] -= np.conj(tau) * np.outer(v, v.conj() @ h[i + 1 :, i:])
        h[i + 2 :, i], taus[i] = v[1:], tau
    return h, taus


def _hessenberg(x: np.ndarray) -> list[np.ndarray]:
    outs = [(x.shape[-2:], x.dtype), ((max(x.shape[-1] - 1, 0),), x.dtype)]
    return _per_matrix(x, _reduce, outs)


nonsymmetric_rules: dict[str, Rule] = {"eig": _eig, "hessenberg": _hessenberg, "schur": _schur}
