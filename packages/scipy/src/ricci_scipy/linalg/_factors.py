"""Decompositions of matrices into factors."""

from collections.abc import Callable
from functools import partial
from typing import Literal, overload

import numpy as np

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_batching import vmap
from ricci_ir import Array, ArrayLike, composite, dispatched, inlined
from ricci_lax.linalg import cholesky as cholesky_of
from ricci_lax.linalg import lu as lu_of
from ricci_lax.linalg import qdwh, triangular_solve
from ricci_lax.linalg import qr as qr_of
from ricci_lax.linalg import svd as svd_of
from ricci_numpy.authoring import adjoint, check_choice, matrices

__all__ = ["cholesky", "eigh", "lu", "polar", "qr", "svd"]


def precise_dot(x: ArrayLike, y: ArrayLike) -> Array:
    """The matrix product without rounded operands, as accelerators otherwise compute it."""
    return jnp.matmul(x, y, precision=lax.Precision.HIGHEST)


def unlisted(*args: ArrayLike) -> list[ArrayLike]:
    """Convert nested lists among the operands to arrays, as SciPy does."""
    return [jnp.asarray(x) if isinstance(x, list | tuple) else x for x in args]


def from_lists(name: str, *args: ArrayLike) -> list[Array]:
    """Operands as arrays of one inexact dtype; nested lists are operands, too."""
    return matrices(name, *unlisted(*args))


@dispatched("lower", "overwrite_a", "check_finite")
def cholesky(
    a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Array:
    """The Cholesky factors of positive definite matrices.

    Args:
      a: Hermitian matrices of shape ``(..., n, n)``, of which only one triangle is used.
      lower: whether to use the lower triangle and return a lower triangular ``l`` with
        ``a = l @ lᴴ``, or an upper triangular ``u`` with ``a = uᴴ @ u``.
      overwrite_a, check_finite: ignored; SciPy has them.

    Returns:
      Factors of the shape of ``a``; NaN for a matrix that is not positive definite.

    Raises:
      TypeError: if ``a`` is not an array, or has a dtype of 16 bits or less.
      ValueError: if its matrices are not square.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy import linalg
      >>> linalg.cholesky(np.float32([[4.0, 2.0], [2.0, 5.0]])).round(2).tolist()
      [[2.0, 1.0], [0.0, 2.0]]

    Source: scipy.linalg.cholesky.
    """
    return _cholesky(*from_lists("cholesky", a), lower=bool(lower))


@composite("_cholesky")
def _cholesky(a: Array, *, lower: bool) -> Array:
    if lower:
        return cholesky_of(a, symmetrize_input=False)
    # The factorization reads the lower triangle. The adjoint has the upper one of ``a`` there, and
    # of its factor l the adjoint is u, since a = l lᴴ = uᴴ u.
    return adjoint(cholesky_of(adjoint(a), symmetrize_input=False))


@overload
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: Literal[True] = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> tuple[Array, Array, Array]: ...
@overload
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    *,
    compute_uv: Literal[False],
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Array: ...
@overload
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Array | tuple[Array, Array, Array]: ...
@dispatched("full_matrices", "compute_uv", "overwrite_a", "check_finite", "lapack_driver")
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Array | tuple[Array, Array, Array]:
    """The singular value decomposition ``a = u @ diag(s) @ vh``.

    Args:
      a: matrices of shape ``(..., m, n)``.
      full_matrices: whether ``u`` and ``vh`` are square, or have min(m, n) columns and rows.
      compute_uv: whether to compute them, or ``s`` alone.
      overwrite_a, check_finite, lapack_driver: ignored; SciPy has them.

    Returns:
      ``u``, ``s`` in descending order, ``vh``; without ``compute_uv`` only ``s``.

    Raises:
      TypeError: if ``a`` is not an array, or has a dtype of 16 bits or less.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy import linalg
      >>> linalg.svd(np.float32([[3.0, 0.0], [0.0, 4.0]]), compute_uv=False).round(2).tolist()
      [4.0, 3.0]

    Source: scipy.linalg.svd.
    """
    factors = _svd(*from_lists("svd", a), full_matrices=full_matrices, compute_uv=compute_uv)
    return factors


@composite("_svd")
def _svd(a: Array, *, full_matrices: bool, compute_uv: bool) -> Array | tuple[Array, Array, Array]:
    return svd_of(a, full_matrices=full_matrices, compute_uv=compute_uv)


@dispatched("overwrite_a", "lwork", "mode", "pivoting", "check_finite")
def qr(
    a: ArrayLike,
    overwrite_a: bool = False,
    lwork: int | None = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> tuple[Array, ...]:
    """The decomposition ``a = q @ r`` with a unitary ``q`` and an upper triangular ``r``.

    Args:
      a: matrices of shape ``(..., m, n)``.
      mode: ``"full"`` for a square ``q``, ``"economic"`` for one of min(m, n) columns, ``"r"`` for
        ``r`` alone.
      pivoting: whether to order the columns of ``a`` so that ``r`` has a decreasing diagonal.
      overwrite_a, lwork, check_finite: ignored; SciPy has them.

    Returns:
      ``(q, r)``, or ``(r,)`` in mode ``"r"``; with pivoting also the int32 order ``p`` of the
      columns: ``a[:, p] = q @ r``.

    Raises:
      TypeError: if ``a`` is not an array, or has a dtype of 16 bits or less.
      ValueError: if the mode is unknown.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy import linalg
      >>> q, r = linalg.qr(np.float32([[3.0, 1.0], [4.0, 2.0]]))
      >>> (q @ r).round(4).tolist()
      [[3.0, 1.0], [4.0, 2.0]]

    Source: scipy.linalg.qr.
    """
    check_choice("qr", "mode", mode, ("full", "economic", "r"))
    factors = _qr(*from_lists("qr", a), is_full=mode in ("full", "r"), pivoting=bool(pivoting))
    return tuple(factors[1:]) if mode == "r" else tuple(factors)


@composite("_qr")
def _qr(a: Array, *, is_full: bool, pivoting: bool) -> tuple[Array, ...]:
    return tuple(qr_of(a, pivoting=pivoting, full_matrices=is_full))


@dispatched("permute_l", "overwrite_a", "check_finite")
def lu(
    a: ArrayLike, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, ...]:
    """The decomposition ``a = p @ l @ u`` into a permutation and triangular matrices.

    Args:
      a: matrices of shape ``(..., m, n)``.
      permute_l: whether to return ``p @ l`` in place of ``p`` and ``l``.
      overwrite_a, check_finite: ignored; SciPy has them.

    Returns:
      ``p`` of shape ``(..., m, m)``, ``l`` of shape ``(..., m, k)``, lower triangular with ones on
      its diagonal, and ``u`` of shape ``(..., k, n)``, upper triangular, where k is min(m, n).

    Raises:
      TypeError: if ``a`` is not an array, or has a dtype of 16 bits or less.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy import linalg
      >>> p, l, u = linalg.lu(np.float32([[1.0, 2.0], [2.0, 2.0]]))
      >>> l.tolist(), u.round(2).tolist()
      ([[1.0, 0.0], [0.5, 1.0]], [[2.0, 2.0], [0.0, 1.0]])

    Source: scipy.linalg.lu.
    """
    return tuple(_lu(*from_lists("lu", a), permute_l=bool(permute_l)))


@composite("_lu")
def _lu(a: Array, *, permute_l: bool) -> tuple[Array, ...]:
    factors, _, order = lu_of(a)
    m, n = a.shape[-2:]
    k = min(m, n)
    real = jnp.real(jnp.zeros((), a.dtype)).dtype
    # Row i of the product is row order[i] of a.
    p = jnp.equal(order[..., None, :], lax.iota(order.dtype, m)[:, None]).astype(real)
    low = jnp.tril(factors[..., :k], -1) + jnp.eye(m, k, dtype=a.dtype)
    up = jnp.triu(factors)[..., :k, :]
    if permute_l:
        return precise_dot(p.astype(a.dtype), low), up
    return p, low, up


@overload
def eigh(
    a: ArrayLike,
    b: ArrayLike | None = None,
    lower: bool = True,
    eigvals_only: Literal[False] = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    turbo: bool = True,
    eigvals: None = None,
    type: int = 1,
    check_finite: bool = True,
) -> tuple[Array, Array]: ...
@overload
def eigh(
    a: ArrayLike,
    b: ArrayLike | None = None,
    lower: bool = True,
    *,
    eigvals_only: Literal[True],
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    turbo: bool = True,
    eigvals: None = None,
    type: int = 1,
    check_finite: bool = True,
) -> Array: ...
@overload
def eigh(
    a: ArrayLike,
    b: ArrayLike | None = None,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    turbo: bool = True,
    eigvals: None = None,
    type: int = 1,
    check_finite: bool = True,
) -> Array | tuple[Array, Array]: ...
@dispatched(
    "lower",
    "eigvals_only",
    "overwrite_a",
    "overwrite_b",
    "turbo",
    "eigvals",
    "type",
    "check_finite",
)
def eigh(
    a: ArrayLike,
    b: ArrayLike | None = None,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    turbo: bool = True,
    eigvals: None = None,
    type: int = 1,
    check_finite: bool = True,
) -> Array | tuple[Array, Array]:
    """The eigenvalues of Hermitian matrices in ascending order, and their eigenvectors.

    Args:
      a: matrices of shape ``(..., n, n)``.
      b: positive definite matrices of that shape, for the generalised problem; leading dimensions
        broadcast.
      lower: without effect, since the mean of a matrix and its adjoint is used.
      eigvals_only: whether to return the eigenvalues alone.
      eigvals: not available; ``None``.
      type: the generalised problem for eigenvalues ``w`` and vectors ``v``: 1 for
        ``a @ v = w * b @ v``, 2 for ``a @ b @ v = w * v``, 3 for ``b @ a @ v = w * v``.
      overwrite_a, overwrite_b, turbo, check_finite: ignored; SciPy has them.

    Returns:
      Eigenvalues of shape ``(..., n)``, real, and eigenvectors as columns, ``(..., n, n)``: with
      ``vᴴ v = 1``, or ``vᴴ b v = 1`` for types 1 and 2, ``vᴴ b⁻¹ v = 1`` for 3. NaN where a ``b``
      is not positive definite.

    Raises:
      NotImplementedError: if ``eigvals`` is given.
      TypeError: if an operand is not an array, or has a dtype of 16 bits or less.
      ValueError: if the matrices are not square or their shapes do not fit, or for another
        ``type``.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy import linalg
      >>> a, b = np.float32([[2.0, 0.0], [0.0, 1.0]]), np.float32([[4.0, 0.0], [0.0, 1.0]])
      >>> linalg.eigh(a, eigvals_only=True).round(2).tolist()
      [1.0, 2.0]
      >>> linalg.eigh(a, b, eigvals_only=True).round(2).tolist()
      [0.5, 1.0]

    Source: scipy.linalg.eigh; LAPACK's sygst.
    """
    if eigvals is not None:
        raise NotImplementedError(
            "eigh: eigvals is not available: all eigenvalues are computed. Slice the result."
        )
    if type not in (1, 2, 3):
        raise ValueError(f"eigh: type must be 1, 2 or 3, got {type!r}.")
    triangle = "L" if lower else "U"
    if b is None:
        (a,) = from_lists("eigh", a)
        if eigvals_only:
            return jnp.linalg.eigvalsh(a, UPLO=triangle)
        eigenvalues, eigenvectors = jnp.linalg.eigh(a, UPLO=triangle)
        return eigenvalues, eigenvectors
    a, b = (jnp.asarray(x) for x in from_lists("eigh", a, b))
    for x in (a, b):
        if x.ndim < 2 or x.shape[-2:] != (a.shape[-1],) * 2:
            raise ValueError(
                f"eigh: a and b must be square matrices of one size, got shapes {a.shape} and "
                f"{b.shape}."
            )
    eigenvalues, eigenvectors = _generalised_eigh(a, b, type=type)
    return eigenvalues if eigvals_only else (eigenvalues, eigenvectors)


@inlined("eigh")
def _generalised_eigh(a: Array, b: Array, *, type: int) -> tuple[Array, Array]:
    shape = np.broadcast_shapes(a.shape, b.shape)
    factor = cholesky_of(jnp.broadcast_to(b, shape))
    a = jnp.broadcast_to(0.5 * (a + adjoint(a)), shape)
    solve = partial(triangular_solve, factor, lower=True)
    back = partial(solve, left_side=True, transpose_a=True, conjugate_a=True)  # by its adjoint
    if type == 1:
        reduced = solve(solve(a, left_side=True), transpose_a=True, conjugate_a=True)
    else:
        reduced = _product(adjoint(factor), _product(a, factor))
    eigenvalues, eigenvectors = jnp.linalg.eigh(reduced)
    return eigenvalues, _product(factor, eigenvectors) if type == 3 else back(eigenvectors)


_product = partial(jnp.matmul, precision=lax.Precision.HIGHEST)


@dispatched("side", "method", "eps", "max_iterations")
def polar(
    a: ArrayLike,
    side: str = "right",
    *,
    method: str = "qdwh",
    eps: float | None = None,
    max_iterations: int | None = None,
) -> tuple[Array, Array]:
    """The polar decomposition ``a = u @ p``, or ``a = p @ u``.

    Args:
      a: matrices of shape ``(..., m, n)``.
      side: ``"right"`` for ``u @ p``, ``"left"`` for ``p @ u``.
      method: ``"qdwh"``, an iteration that needs ``m >= n`` (``m < n`` for the left side), or
        ``"svd"``.
      eps: the iteration's relative precision, by default the dtype's.
      max_iterations: the limit of the number of steps.

    Returns:
      ``u``, of the shape of ``a``, with orthonormal columns or rows, and ``p``, Hermitian and
      positive semidefinite.

    Raises:
      TypeError: if ``a`` is not an array.
      ValueError: if ``side`` or ``method`` is unknown, or ``a`` has less than 2 dimensions.
      NotImplementedError: if the method is ``"qdwh"`` and the shape is not one that it takes.

    Example:
      >>> import numpy as np
      >>> import ricci.numpy as jnp
      >>> from ricci.scipy import linalg
      >>> u, p = linalg.polar(np.float32([[0.0, 2.0], [3.0, 0.0]]))
      >>> jnp.abs(u).round(4).tolist()
      [[0.0, 1.0], [1.0, 0.0]]

    Source: scipy.linalg.polar; Nakatsukasa, Bai and Gygi, "Optimizing Halley's iteration for
    computing the matrix polar decomposition", 2010.
    """
    (a,) = (jnp.asarray(x) for x in from_lists("polar", a))
    if a.ndim < 2:
        raise ValueError(f"polar: matrices are needed, got shape {a.shape}.")
    check_choice("polar", "side", side, ("right", "left"))
    check_choice("polar", "method", method, ("qdwh", "svd"))
    m, n = a.shape[-2:]
    if method == "qdwh" and (m < n if side == "right" else m >= n and m != n):
        raise NotImplementedError(
            f"polar: method 'qdwh' with side={side!r} does not take a matrix of shape {a.shape}; "
            "use method='svd', or the other side."
        )
    return _polar(a, side=side, method=method, eps=eps, max_iterations=max_iterations)


@inlined("polar")
def _polar(
    a: Array, *, side: str, method: str, eps: float | None, max_iterations: int | None
) -> tuple[Array, Array]:
    if method == "qdwh":
        tall = a if side == "right" else adjoint(a)
        steps: Callable[[Array], tuple[Array, Array]] = lambda x: qdwh(
            x, eps=eps, max_iterations=max_iterations
        )[:2]
        for _ in range(a.ndim - 2):
            steps = vmap(steps)
        unitary, posdef = steps(tall)
        return (unitary, posdef) if side == "right" else (adjoint(unitary), posdef)
    u, s, vh = svd_of(a, full_matrices=False)
    s = s.astype(u.dtype)
    unitary = precise_dot(u, vh)
    if side == "right":
        return unitary, precise_dot(adjoint(vh) * s[..., None, :], vh)
    return unitary, precise_dot(u * s[..., None, :], adjoint(u))
