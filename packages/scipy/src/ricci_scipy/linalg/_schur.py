"""Schur and Hessenberg forms."""

from typing import Literal, overload

import numpy as np

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import Array, ArrayLike, composite, dispatched, inlined
from ricci_lax.linalg import hessenberg as hessenberg_of
from ricci_lax.linalg import householder_product
from ricci_lax.linalg import schur as schur_of
from ricci_numpy.authoring import adjoint, check_choice, matrices

from ._factors import from_lists, precise_dot

__all__ = ["hessenberg", "rsf2csf", "schur"]


@dispatched("output")
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


# A flag decides whether one array is returned or two.
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
@dispatched("calc_q", "overwrite_a", "check_finite")
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


@dispatched("check_finite")
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
        # The eigenvalue farther from the last entry comes first, as LAPACK has them: by the last
        # entry, it is the eigenvalue that does not cancel. A lower triangle has it last.
        half = (rows[0, 0] - rows[1, 1]) / 2
        root = jnp.sqrt(half * half + rows[0, 1] * rows[1, 0])
        root = jnp.where((jnp.conj(half) * root).real < 0, -root, root)
        shift = jnp.where(rows[0, 1] == 0, 0, half + root)
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
