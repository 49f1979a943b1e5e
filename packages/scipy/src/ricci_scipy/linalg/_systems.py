"""Systems of linear equations, solved by factoring their matrices."""

from typing import Any

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import Array, ArrayLike, composite, dispatched, public
from ricci_lax.linalg import lu as lu_of
from ricci_lax.linalg import lu_pivots_to_permutation, triangular_solve
from ricci_numpy.authoring import check_choice, matrices

from ._factors import cholesky, from_lists, precise_dot

__all__ = ["cho_factor", "cho_solve", "det", "inv", "lu_factor", "lu_solve", "solve"]
__all__ += ["solve_triangular"]

_TRANSPOSITIONS = {0: 0, "N": 0, 1: 1, "T": 1, 2: 2, "C": 2}


def square_matrices(name: str, *args: ArrayLike) -> list[Array]:
    """Operands as matrices of one inexact dtype, each square.

    Raises:
      TypeError: if one is not an array.
      ValueError: if one does not hold square matrices.
    """
    checked = [x if hasattr(type(x), "aval") else jnp.asarray(x) for x in matrices(name, *args)]
    for x in checked:
        if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
            raise ValueError(f"{name}: square matrices are needed, got shape {x.shape}.")
    return checked


def _system(name: str, a: ArrayLike, b: ArrayLike) -> tuple[Array, Array, bool]:
    """Matrices and right-hand sides with their leading dimensions broadcast.

    The last result is whether ``b`` holds vectors, which are returned as matrices of one column.
    """
    a, b = (jnp.asarray(x) for x in matrices(name, a, b))
    if a.ndim < 2 or a.shape[-1] != a.shape[-2] or not b.ndim:
        raise ValueError(
            f"{name}: a matrix of shape {a.shape} and a right-hand side of shape {b.shape} are not "
            "a linear system: they must be of shapes (..., n, n) and (n,) or (..., n, k)."
        )
    # As in NumPy before version 2: with one dimension less than a, and its leading shape, b is a
    # batch of vectors.
    is_vector = b.ndim == 1 or (b.ndim == a.ndim - 1 and b.ndim > 1 and a.shape[:-1] == b.shape)
    rows = b.shape[-1] if is_vector else b.shape[-2]
    if rows != a.shape[-1]:
        raise ValueError(
            f"{name}: the matrix of shape {a.shape} has {a.shape[-1]} rows, but the right-hand "
            f"side of shape {b.shape} has {rows}."
        )
    b = b[..., None] if is_vector else b
    lead = lax.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a = jnp.broadcast_to(a, (*lead, *a.shape[-2:]))
    return a, jnp.broadcast_to(b, (*lead, *b.shape[-2:])), is_vector


@dispatched("trans", "lower", "unit_diagonal", "overwrite_b", "debug", "check_finite")
def solve_triangular(
    a: ArrayLike,
    b: ArrayLike,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    debug: bool | None = None,
    check_finite: bool = True,
) -> Array:
    """The solutions ``x`` of ``a @ x = b`` for triangular matrices ``a``.

    Args:
      a: matrices of shape ``(..., n, n)``, of which only one triangle is used.
      b: a vector of shape ``(n,)``, or matrices of shape ``(..., n, k)``; leading dimensions
        broadcast.
      trans: which system to solve: 0 or ``"N"`` for ``a``, 1 or ``"T"`` for its transpose, 2 or
        ``"C"`` for its adjoint.
      lower: whether to use the lower triangle, or the upper one.
      unit_diagonal: whether the diagonal is assumed to be ones; its elements are then not used.
      overwrite_b, debug, check_finite: ignored; SciPy has them.

    Returns:
      An array of the shape of ``b``.

    Raises:
      TypeError: if an operand is not an array.
      ValueError: if shapes do not fit, or ``trans`` is unknown.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy import linalg
      >>> a = np.array([[2.0, 0.0], [1.0, 4.0]], np.float32)
      >>> linalg.solve_triangular(a, np.float32([2.0, 9.0]), lower=True).round(2).tolist()
      [1.0, 2.0]

    Source: scipy.linalg.solve_triangular.
    """
    kind = _TRANSPOSITIONS.get(trans)
    if kind is None:
        raise ValueError(
            f"solve_triangular: trans={trans!r} is unknown; it is 0, 1 or 2, or 'N', 'T' or 'C'."
        )
    a, b, is_vector = _system("solve_triangular", *from_lists("solve_triangular", a, b))
    x = _solve_triangular(a, b, kind=kind, lower=bool(lower), unit_diagonal=bool(unit_diagonal))
    return lax.squeeze(x, (-1,)) if is_vector else x


@composite("solve_triangular")
def _solve_triangular(a: Array, b: Array, *, kind: int, lower: bool, unit_diagonal: bool) -> Array:
    return triangular_solve(
        a,
        b,
        left_side=True,
        lower=lower,
        transpose_a=kind > 0,
        conjugate_a=kind == 2,
        unit_diagonal=unit_diagonal,
    )


def cho_factor(
    a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, bool]:
    """The Cholesky factors of positive definite matrices, for ``cho_solve``.

    Args:
      a: Hermitian matrices of shape ``(..., n, n)``.
      lower: whether to use the lower triangle and return a lower triangular factor.
      overwrite_a, check_finite: ignored; SciPy has them.

    Returns:
      The factors, as ``cholesky`` returns them, and ``lower``.

    Raises:
      TypeError, ValueError: as ``cholesky``.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy import linalg
      >>> factor = linalg.cho_factor(np.float32([[4.0, 0.0], [0.0, 9.0]]))
      >>> linalg.cho_solve(factor, np.float32([4.0, 18.0])).round(2).tolist()
      [1.0, 2.0]

    Source: scipy.linalg.cho_factor.
    """
    return _cholesky_factor(a, lower=bool(lower)), lower


# A function of its own, since a dispatched call returns arrays alone.
@public
@dispatched("lower")
def _cholesky_factor(a: ArrayLike, *, lower: bool) -> Array:
    return cholesky(a, lower=lower)


def cho_solve(
    c_and_lower: tuple[ArrayLike, bool],
    b: ArrayLike,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array:
    """The solutions ``x`` of ``a @ x = b``, by the Cholesky factors of ``a``.

    Args:
      c_and_lower: the result of ``cho_factor(a)``.
      b: a vector of shape ``(n,)``, or matrices of shape ``(..., n, k)``; leading dimensions
        broadcast.
      overwrite_b, check_finite: ignored; SciPy has them.

    Returns:
      An array of the shape of ``b``.

    Raises:
      TypeError: if an operand is not an array.
      ValueError: if shapes do not fit.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy import linalg
      >>> factor = linalg.cho_factor(np.float32([[4.0, 0.0], [0.0, 9.0]]))
      >>> linalg.cho_solve(factor, np.float32([4.0, 18.0])).round(2).tolist()
      [1.0, 2.0]

    Source: scipy.linalg.cho_solve.
    """
    factor, lower = c_and_lower
    return _solve_by_factor(factor, b, lower=bool(lower))


# A function of its own, since the dispatcher takes no settings in tuples with operands.
@public
@dispatched("lower")
def _solve_by_factor(factor: ArrayLike, b: ArrayLike, *, lower: bool) -> Array:
    c, b, is_vector = _system("cho_solve", *from_lists("cho_solve", factor, b))
    x = _cho_solve(c, b, lower=lower)
    return lax.squeeze(x, (-1,)) if is_vector else x


@composite("cho_solve")
def _cho_solve(c: Array, b: Array, *, lower: bool) -> Array:
    # a is L Lᴴ or Uᴴ U: the left factor is solved for first, which is the adjoint if it is upper.
    for transposed in (not lower, lower):
        b = triangular_solve(
            c, b, left_side=True, lower=lower, transpose_a=transposed, conjugate_a=transposed
        )
    return b


@dispatched("lower", "overwrite_a", "overwrite_b", "debug", "check_finite", "assume_a")
def solve(
    a: ArrayLike,
    b: ArrayLike,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    debug: bool = False,
    check_finite: bool = True,
    assume_a: str = "gen",
) -> Array:
    """The solutions ``x`` of ``a @ x = b``.

    Args:
      a: square matrices of shape ``(..., n, n)``.
      b: a vector of shape ``(n,)``, or matrices of shape ``(..., n, k)``.
      lower: whether to use the lower triangle of positive definite matrices, or the upper one.
      assume_a: the structure of the matrices: ``"gen"`` for general ones, ``"sym"`` and ``"her"``
        for symmetric and Hermitian ones (solved like general ones), ``"pos"`` for positive
        definite ones.
      overwrite_a, overwrite_b, debug, check_finite: ignored; SciPy has them.

    Returns:
      An array of the shape of ``b``.

    Raises:
      TypeError: if an operand is not an array.
      ValueError: if shapes do not fit, or ``assume_a`` is unknown.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy import linalg
      >>> a = np.float32([[2.0, 1.0], [1.0, 3.0]])
      >>> linalg.solve(a, np.float32([3.0, 4.0]), assume_a="pos").round(4).tolist()
      [1.0, 1.0]

    See also:
      ``cho_factor``, ``lu_factor``, to solve with one matrix many times.

    Source: scipy.linalg.solve.
    """
    check_choice("solve", "assume_a", assume_a, ("gen", "sym", "her", "pos"))
    if assume_a != "pos":
        return jnp.linalg.solve(a, b)
    a, b, is_vector = _system("solve", a, b)
    x = _solve_positive(a, b, lower=bool(lower))
    return lax.squeeze(x, (-1,)) if is_vector else x


@composite("solve")
def _solve_positive(a: Array, b: Array, *, lower: bool) -> Array:
    # custom_linear_solve takes derivatives from the product with a, so that the factor needs none.
    factor = lax.stop_gradient(cholesky(a, lower=lower))
    return lax.custom_linear_solve(
        lambda x: precise_dot(a, x),
        b,
        lambda _, y: _cho_solve(factor, y, lower=lower),
        symmetric=True,
    )


@dispatched("overwrite_a", "check_finite")
def lu_factor(
    a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, Array]:
    """The LU factors of matrices and the pivots, for ``lu_solve``.

    Args:
      a: matrices of shape ``(..., m, n)``.
      overwrite_a, check_finite: ignored; SciPy has them.

    Returns:
      ``u`` in the upper triangles and ``l``, without its diagonal of ones, below, in an array of
      the shape of ``a``; and int32 pivots of shape ``(..., min(m, n))``: row i was exchanged with
      row ``pivots[i]``.

    Raises:
      TypeError: if ``a`` is not an array, or has a dtype of 16 bits or less.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy import linalg
      >>> factors, pivots = linalg.lu_factor(np.float32([[1.0, 2.0], [2.0, 2.0]]))
      >>> factors.round(2).tolist(), pivots.tolist()
      ([[2.0, 2.0], [0.5, 1.0]], [1, 1])

    Source: scipy.linalg.lu_factor.
    """
    factors, pivots, _ = lu_of(*from_lists("lu_factor", a))
    return factors, pivots


@dispatched("trans", "overwrite_b", "check_finite")
def lu_solve(
    lu_and_piv: tuple[ArrayLike, ArrayLike],
    b: ArrayLike,
    trans: int = 0,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array:
    """The solutions ``x`` of ``a @ x = b``, by the LU factors of ``a``.

    Args:
      lu_and_piv: the result of ``lu_factor(a)``, for square matrices.
      b: a vector of shape ``(n,)``, or matrices of shape ``(..., n, k)``; leading dimensions
        broadcast.
      trans: which system to solve: 0 for ``a``, 1 for its transpose, 2 for its adjoint.
      overwrite_b, check_finite: ignored; SciPy has them.

    Returns:
      An array of the shape of ``b``.

    Raises:
      TypeError: if an operand is not an array.
      ValueError: if shapes do not fit, or ``trans`` is unknown.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy import linalg
      >>> factors = linalg.lu_factor(np.float32([[0.0, 2.0], [4.0, 0.0]]))
      >>> linalg.lu_solve(factors, np.float32([2.0, 8.0])).round(2).tolist()
      [2.0, 1.0]

    Source: scipy.linalg.lu_solve.
    """
    check_choice("lu_solve", "trans", trans, (0, 1, 2))
    factors, b, is_vector = _system("lu_solve", lu_and_piv[0], b)
    pivots = jnp.asarray(lu_and_piv[1])
    pivots = jnp.broadcast_to(pivots, (*factors.shape[:-2], pivots.shape[-1]))
    x = _lu_solve(factors, pivots, b, kind=int(trans))
    return lax.squeeze(x, (-1,)) if is_vector else x


@composite("lu_solve")
def _lu_solve(factors: Array, pivots: Array, b: Array, *, kind: int) -> Array:
    order = lu_pivots_to_permutation(pivots, factors.shape[-1])
    lower: dict[str, Any] = {"left_side": True, "lower": True, "unit_diagonal": True}
    upper: dict[str, Any] = {"left_side": True, "lower": False}
    if kind == 0:
        x = jnp.take_along_axis(b, order[..., None], axis=-2)
        return triangular_solve(factors, triangular_solve(factors, x, **lower), **upper)
    # With a[order] = L U, aᵀ x = b is Uᵀ Lᵀ x[order] = b, and the solution is permuted back.
    turned = {"transpose_a": True, "conjugate_a": kind == 2}
    x = triangular_solve(factors, b, **upper, **turned)
    x = triangular_solve(factors, x, **lower, **turned)
    return jnp.take_along_axis(x, jnp.argsort(order, axis=-1)[..., None], axis=-2)


@dispatched("overwrite_a", "check_finite")
def det(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """The determinants of square matrices.

    Args:
      a: matrices of shape ``(..., n, n)``.
      overwrite_a, check_finite: ignored; SciPy has them.

    Returns:
      An array of shape ``(...)``.

    Raises:
      TypeError: if ``a`` is not an array.
      ValueError: if its matrices are not square.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy import linalg
      >>> round(float(linalg.det(np.float32([[1.0, 2.0], [3.0, 4.0]]))), 3)
      -2.0

    Source: scipy.linalg.det.
    """
    return jnp.linalg.det(*matrices("det", a))


@dispatched("overwrite_a", "check_finite")
def inv(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """The inverses of square matrices.

    Args:
      a: matrices of shape ``(..., n, n)``.
      overwrite_a, check_finite: ignored; SciPy has them.

    Returns:
      An array of the shape of ``a``.

    Raises:
      TypeError: if ``a`` is not an array.
      ValueError: if its matrices are not square.

    To solve a system, ``solve`` is more precise and costs less. A singular matrix raises no error:
    its inverse holds infinities or NaN.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy import linalg
      >>> linalg.inv(np.float32([[2.0, 0.0], [0.0, 4.0]])).tolist()
      [[0.5, 0.0], [0.0, 0.25]]

    Source: scipy.linalg.inv.
    """
    return jnp.linalg.inv(*matrices("inv", a))
