"""Decompositions of matrices into factors."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Literal, overload

import numpy as np

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_batching import vmap
from ricci_ir import Array, ArrayLike, composite, inlined
from ricci_lax.linalg import cholesky as cholesky_of
from ricci_lax.linalg import hessenberg as hessenberg_of
from ricci_lax.linalg import householder_product, qdwh, triangular_solve
from ricci_lax.linalg import lu as lu_of
from ricci_lax.linalg import qr as qr_of
from ricci_lax.linalg import schur as schur_of
from ricci_lax.linalg import svd as svd_of
from ricci_numpy.authoring import adjoint, check_choice, matrices

__all__ = ["cholesky", "eigh", "hessenberg", "lu", "polar", "qr", "rsf2csf", "schur", "svd"]

if TYPE_CHECKING:
    # Flags decide whether one array is returned or several.

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
    @overload
    def hessenberg(
        a: ArrayLike,
        *,
        calc_q: Literal[False] = False,
        overwrite_a: bool = False,
        check_finite: bool = True,
    ) -> Array: ...
    @overload
    def hessenberg(
        a: ArrayLike, *, calc_q: Literal[True], overwrite_a: bool = False, check_finite: bool = True
    ) -> tuple[Array, Array]: ...
    @overload
    def hessenberg(
        a: ArrayLike, *, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True
    ) -> Array | tuple[Array, Array]: ...


def precise_dot(x: ArrayLike, y: ArrayLike) -> Array:
    """The matrix product without rounded operands, as accelerators otherwise compute it."""
    return jnp.matmul(x, y, precision=lax.Precision.HIGHEST)


def unlisted(*args: ArrayLike) -> list[ArrayLike]:
    """Convert nested lists among the operands to arrays, as SciPy does."""
    return [jnp.asarray(x) if isinstance(x, list | tuple) else x for x in args]


def from_lists(name: str, *args: ArrayLike) -> list[Array]:
    """Operands as arrays of one inexact dtype; nested lists are operands, too."""
    return matrices(name, *unlisted(*args))


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
    return adjoint(cholesky_of(adjoint(a), symmetrize_input=False))


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


def schur(a: ArrayLike, output: str = "real") -> tuple[Array, Array]:
    """The Schur decomposition ``a = z @ t @ zᴴ`` with a unitary ``z``; on CPUs only.

    Args:
      a: matrices of shape ``(..., n, n)``.
      output: ``"real"``, so that ``t`` of a real matrix has blocks of 2 by 2 on its diagonal for
        pairs of complex eigenvalues, or ``"complex"``, so that it is triangular.

    Returns:
      ``t`` and ``z``, of the shape of ``a``.

    Raises:
      TypeError: if ``a`` is not an array, or has a dtype of 16 bits or less.
      ValueError: if its matrices are not square, or ``output`` is unknown.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy import linalg
      >>> t, z = linalg.schur(np.float32([[1.0, 2.0], [0.0, 3.0]]))
      >>> t.round(2).tolist()
      [[1.0, 2.0], [0.0, 3.0]]

    Source: scipy.linalg.schur.
    """
    check_choice("schur", "output", output, ("real", "complex"))
    t, z = _schur(*matrices("schur", a), is_complex=output == "complex")
    return t, z


@composite("_schur")
def _schur(a: Array, *, is_complex: bool) -> tuple[Array, Array]:
    if is_complex:
        a = a.astype(np.promote_types(a.dtype, "complex64"))
    t, z = schur_of(a)
    return t, z


def hessenberg(
    a: ArrayLike, *, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Array | tuple[Array, Array]:
    """Matrices in Hessenberg form, zero below the first subdiagonal: ``a = q @ h @ qᴴ``; on CPUs.

    Args:
      a: square matrices of shape ``(..., n, n)``.
      calc_q: whether to return the unitary ``q``, too.
      overwrite_a, check_finite: ignored; SciPy has them.

    Returns:
      ``h`` of the shape of ``a``, or ``h`` and ``q``.

    Raises:
      TypeError: if ``a`` is not an array, or has a dtype of 16 bits or less.
      ValueError: if its matrices are not square.

    Example:
      >>> import numpy as np
      >>> import ricci.numpy as jnp
      >>> from ricci.scipy import linalg
      >>> a = np.float32([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])
      >>> h, q = linalg.hessenberg(a, calc_q=True)
      >>> bool(abs(h[2, 0]) < 1e-6), bool(jnp.allclose(q @ h @ q.T, a, atol=1e-4))
      (True, True)

    Source: scipy.linalg.hessenberg.
    """
    return _hessenberg(*matrices("hessenberg", a), calc_q=bool(calc_q))


@inlined("hessenberg")
def _hessenberg(a: Array, *, calc_q: bool) -> Array | tuple[Array, Array]:
    reflectors, taus = hessenberg_of(a)
    h = jnp.triu(reflectors, -1)
    if not calc_q:
        return h
    n = a.shape[-1]
    if not n:
        return h, h
    # The first row and column of q are those of the identity.
    inner = householder_product(reflectors[..., 1:, : n - 1], taus)
    lead = [(0, 0)] * (a.ndim - 2)
    q = jnp.pad(inner, [*lead, (1, 0), (1, 0)])
    return h, q.at[..., 0, 0].set(1)


def rsf2csf(T: ArrayLike, Z: ArrayLike, check_finite: bool = True) -> tuple[Array, Array]:
    """Convert a real Schur decomposition to a complex one, whose ``T`` is triangular.

    Args:
      T, Z: matrices of shape ``(..., n, n)`` as ``schur`` returns them.
      check_finite: ignored; SciPy has it.

    Returns:
      Complex matrices ``t`` and ``z`` with ``Z @ T @ Zᴴ = z @ t @ zᴴ``.

    Raises:
      TypeError: if an operand is not an array.
      ValueError: if they do not hold square matrices of one size.

    Example:
      >>> import numpy as np
      >>> import ricci.numpy as jnp
      >>> from ricci.scipy import linalg
      >>> t, z = linalg.rsf2csf(*linalg.schur(np.float32([[0.0, 1.0], [-1.0, 0.0]])))
      >>> sorted(jnp.diagonal(t).imag.round(4).tolist())
      [-1.0, 1.0]

    Source: scipy.linalg.rsf2csf.
    """
    t, z = (jnp.asarray(x) for x in from_lists("rsf2csf", T, Z))
    for name, x in (("T", t), ("Z", z)):
        if x.ndim < 2 or x.shape[-2] != x.shape[-1]:
            raise ValueError(f"rsf2csf: {name} must hold square matrices, got shape {x.shape}.")
    if t.shape[-1] != z.shape[-1]:
        raise ValueError(f"rsf2csf: T and Z must have one size, got {t.shape} and {z.shape}.")
    return _rsf2csf(t, z)


@inlined("rsf2csf")
def _rsf2csf(T: Array, Z: Array) -> tuple[Array, Array]:
    return jnp.vectorize(_triangular, signature="(n,n),(n,n)->(n,n),(n,n)")(T, Z)


def _triangular(T: Array, Z: Array) -> tuple[Array, Array]:
    """Rotate the 2 by 2 blocks on the diagonal of ``T`` to triangles, from the last one up."""
    dtype = np.promote_types(jnp.promote_types(T.dtype, Z.dtype), "complex64")
    T, Z = T.astype(dtype), Z.astype(dtype)
    n = T.shape[0]
    eps = jnp.finfo(dtype).eps
    columns = lax.iota("int32", n)

    def eliminate(step: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        m = n - 1 - step
        T, Z = carry
        rows = lax.dynamic_slice(T, (m - 1, m - 1), (2, 2))
        is_block = jnp.abs(rows[1, 0]) > eps * (jnp.abs(rows[0, 0]) + jnp.abs(rows[1, 1]))
        trace, determinant = (
            rows[0, 0] + rows[1, 1],
            rows[0, 0] * rows[1, 1] - rows[0, 1] * rows[1, 0],
        )
        root = jnp.sqrt(trace * trace / 4 - determinant)
        shift = trace / 2 + root - rows[1, 1]
        size = jnp.sqrt(jnp.abs(shift) ** 2 + jnp.abs(rows[1, 0]) ** 2)
        size = size.astype(dtype)
        c, s = shift / size, rows[1, 0] / size
        turn = jnp.stack([jnp.stack([jnp.conj(c), s]), jnp.stack([-s, c])])
        turn = jnp.where(is_block, turn, jnp.eye(2, dtype=dtype))
        # The rotation acts on two rows of T from column m - 1 on, on two columns down to row m.
        pair = lax.dynamic_slice(T, (m - 1, 0), (2, n))
        pair = jnp.where(columns >= m - 1, precise_dot(turn, pair), pair)
        T = lax.dynamic_update_slice(T, pair, (m - 1, 0))
        pair = lax.dynamic_slice(T, (0, m - 1), (n, 2))
        pair = jnp.where((columns <= m)[:, None], precise_dot(pair, adjoint(turn)), pair)
        T = lax.dynamic_update_slice(T, pair, (0, m - 1))
        pair = precise_dot(lax.dynamic_slice(Z, (0, m - 1), (n, 2)), adjoint(turn))
        Z = lax.dynamic_update_slice(Z, pair, (0, m - 1))
        return T.at[m, m - 1].set(0), Z

    if n > 1:
        T, Z = lax.fori_loop(0, n - 1, eliminate, (T, Z))
    return T, Z
