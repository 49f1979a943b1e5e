"""Rules of nonsymmetric eigenvalue problems, in double precision."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ._rule_type import Rule


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


def _reflector(x: np.ndarray) -> tuple[np.ndarray, complex]:
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
        v, tau = _reflector(h[i + 1 :, i])
        h[:, i + 1 :] -= tau * np.outer(h[:, i + 1 :] @ v, v.conj())
        h[i + 1 :, i:] -= np.conj(tau) * np.outer(v, v.conj() @ h[i + 1 :, i:])
        h[i + 2 :, i], taus[i] = v[1:], tau
    return h, taus


def _hessenberg(x: np.ndarray) -> list[np.ndarray]:
    outs = [(x.shape[-2:], x.dtype), ((max(x.shape[-1] - 1, 0),), x.dtype)]
    return _per_matrix(x, _reduce, outs)


nonsymmetric_rules: dict[str, Rule] = {"eig": _eig, "hessenberg": _hessenberg, "schur": _schur}
