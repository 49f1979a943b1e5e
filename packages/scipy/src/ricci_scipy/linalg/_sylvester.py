"""Sylvester's matrix equation, and products with the unitary factor of a matrix."""

import numpy as np

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import Array, ArrayLike, inlined
from ricci_lax.linalg import schur as schur_of
from ricci_lax.linalg import triangular_solve
from ricci_numpy.authoring import adjoint, matrices

from ._factors import from_lists, qr
from ._systems import square_matrices

__all__ = ["qr_multiply", "solve_sylvester"]


def solve_sylvester(
    A: ArrayLike, B: ArrayLike, C: ArrayLike, *, method: str = "schur", tol: float = 1e-8
) -> Array:
    """The solution ``X`` of ``A @ X + X @ B = C``.

    Args:
      A: matrices of shape ``(..., m, m)``.
      B: matrices of shape ``(..., n, n)``.
      C: matrices of shape ``(..., m, n)``; leading dimensions are broadcast.
      method: ``"schur"``, by the Schur forms of ``A`` and ``B``, on CPUs; or ``"eigen"``, by their
        eigenvectors, which is less exact.
      tol: eigenvalues of ``A`` and ``-B`` that differ by no more than this count as equal; then
        no unique solution exists, and the result is NaN.

    Returns:
      An array of shape ``(..., m, n)``.

    Raises:
      TypeError: if an operand is not an array.
      ValueError: if shapes do not fit, or the method is unknown.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy import linalg
      >>> a, b = np.float32([[2.0]]), np.float32([[3.0]])
      >>> linalg.solve_sylvester(a, b, np.float32([[10.0]])).tolist()
      [[2.0]]

    Source: Bartels and Stewart, "Solution of the matrix equation AX + XB = C", 1972.
    """
    a, b, c = from_lists("solve_sylvester", A, B, C)
    a, b = square_matrices("solve_sylvester", a, b)
    needed = (a.shape[-1], b.shape[-1])
    if c.shape[-2:] != needed:
        raise ValueError(
            f"solve_sylvester: A of shape {a.shape} and B of shape {b.shape} need a C of shape "
            f"{needed}, or of several such matrices, got {c.shape}."
        )
    if method not in ("schur", "eigen"):
        raise ValueError(
            f"solve_sylvester: method={method!r} is unknown; it is 'schur' or 'eigen'."
        )
    return _sylvester(a, b, c, method=method, tol=float(tol))


@inlined("solve_sylvester")
def _sylvester(a: Array, b: Array, c: Array, *, method: str, tol: float) -> Array:
    is_real = not jnp.iscomplexobj(c)
    dtype = np.promote_types(c.dtype, "complex64")
    a, b, c = (x.astype(dtype) for x in (a, b, c))
    solver = _by_eigenvectors if method == "eigen" else _by_schur

    def solution(a: Array, b: Array, c: Array) -> Array:
        x, sums = solver(a, b, c)
        return jnp.where(jnp.min(jnp.abs(sums), initial=jnp.inf) <= tol, jnp.nan, x)

    x = jnp.vectorize(solution, signature="(m,m),(n,n),(m,n)->(m,n)")(a, b, c)
    return jnp.real(x) if is_real else x


def _by_eigenvectors(a: Array, b: Array, c: Array) -> tuple[Array, Array]:
    """The solution by eigenvectors, and its divisors, sums of eigenvalues."""
    (la, ua), (lb, ub) = jnp.linalg.eig(a), jnp.linalg.eig(b)
    sums = la[:, None] + lb[None, :]
    y = jnp.linalg.solve(ua, c) @ ub / sums
    return ua @ y @ jnp.linalg.inv(ub), sums


def _by_schur(a: Array, b: Array, c: Array) -> tuple[Array, Array]:
    """The solution by Schur forms, column by column, and its divisors, sums of eigenvalues."""
    (r, u), (s, v) = schur_of(a), schur_of(b)
    f = adjoint(u) @ c @ v
    n, one = s.shape[0], jnp.eye(r.shape[0], dtype=r.dtype)

    def column(k: Array, y: Array) -> Array:
        # The columns of y from k on are still 0, so that the product sums over those before k.
        right = f[:, k] - y @ s[:, k]
        solution = triangular_solve(r + s[k, k] * one, right[:, None], left_side=True)
        return y.at[:, k].set(solution[:, 0])

    y = lax.fori_loop(0, n, column, jnp.zeros_like(f))
    return u @ y @ adjoint(v), jnp.diagonal(r)[:, None] + jnp.diagonal(s)[None, :]


def qr_multiply(
    a: ArrayLike,
    c: ArrayLike,
    mode: str = "right",
    pivoting: bool = False,
    conjugate: bool = False,
    overwrite_a: bool = False,
    overwrite_c: bool = False,
) -> tuple[Array, ...]:
    """Products with the ``q`` of the decomposition ``a = q @ r``.

    Args:
      a: a matrix of shape ``(..., m, n)``; ``q`` has k = min(m, n) columns.
      c: a matrix, of shape ``(..., p, m)`` on the left of ``q``, ``(..., k, p)`` on its right; or
        a vector.
      mode: ``"right"`` for ``c @ q``, ``"left"`` for ``q @ c``.
      pivoting: whether to order the columns of ``a``, as in ``qr``.
      conjugate: whether to use the conjugate of ``q``.
      overwrite_a, overwrite_c: ignored; SciPy has them.

    Returns:
      The product and ``r``; with pivoting also the columns' order.

    Raises:
      TypeError: if an operand is not an array.
      ValueError: if shapes do not fit, or the mode is unknown.

    Example:
      >>> import numpy as np
      >>> import ricci.numpy as jnp
      >>> from ricci.scipy import linalg
      >>> product, r = linalg.qr_multiply(np.float32([[3.0], [4.0]]), np.float32([3.0, 4.0]))
      >>> jnp.abs(product).round(3).tolist()
      [5.0]

    Source: scipy.linalg.qr_multiply.
    """
    if mode not in ("right", "left"):
        raise ValueError(f"qr_multiply: mode={mode!r} is unknown; it is 'right' or 'left'.")
    a, c = (jnp.asarray(x) for x in matrices("qr_multiply", a, c))
    q, *factors = qr(a, mode="economic", pivoting=pivoting)
    is_vector = c.ndim == 1
    if is_vector:
        c = c[None, :] if mode == "right" else c[:, None]
    have, need = (c.shape[-1], q.shape[-2]) if mode == "right" else (c.shape[-2], q.shape[-1])
    if have != need:
        side = "columns" if mode == "right" else "rows"
        raise ValueError(
            f"qr_multiply: with mode={mode!r} and a of shape {a.shape}, c must have {need} {side}, "
            f"got shape {c.shape}."
        )
    q = jnp.conj(q) if conjugate else q
    left, right = (c, q) if mode == "right" else (q, c)
    product = jnp.matmul(left, right, precision=lax.Precision.HIGHEST)
    if is_vector:
        product = product[..., 0, :] if mode == "right" else product[..., 0]
    return (product, *factors)
