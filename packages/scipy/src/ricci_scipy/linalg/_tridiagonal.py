"""Eigenvalues of tridiagonal matrices."""

from typing import TYPE_CHECKING, Literal, overload

import numpy as np

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import Array, ArrayLike, inlined
from ricci_numpy.authoring import operands

from ._factors import unlisted

__all__ = ["eigh_tridiagonal"]

if TYPE_CHECKING:

    @overload
    def eigh_tridiagonal(
        d: ArrayLike,
        e: ArrayLike,
        *,
        eigvals_only: Literal[False] = False,
        select: str = "a",
        select_range: tuple[float, float] | None = None,
        tol: float | None = None,
        key: Array | None = None,
    ) -> tuple[Array, Array]: ...
    @overload
    def eigh_tridiagonal(
        d: ArrayLike,
        e: ArrayLike,
        *,
        eigvals_only: Literal[True],
        select: str = "a",
        select_range: tuple[float, float] | None = None,
        tol: float | None = None,
        key: Array | None = None,
    ) -> Array: ...
    @overload
    def eigh_tridiagonal(
        d: ArrayLike,
        e: ArrayLike,
        *,
        eigvals_only: bool = False,
        select: str = "a",
        select_range: tuple[float, float] | None = None,
        tol: float | None = None,
        key: Array | None = None,
    ) -> Array | tuple[Array, Array]: ...


def eigh_tridiagonal(
    d: ArrayLike,
    e: ArrayLike,
    *,
    eigvals_only: bool = False,
    select: str = "a",
    select_range: tuple[float, float] | None = None,
    tol: float | None = None,
    key: Array | None = None,
) -> Array | tuple[Array, Array]:
    """Return the eigenvalues of Hermitian tridiagonal matrices, ascending, and eigenvectors.

    Args:
      d: the diagonals, of shape ``(..., n)``.
      e: the diagonals above them, of shape ``(..., n - 1)`` and the same dtype; those below are
        their conjugates.
      eigvals_only: whether to return the eigenvalues alone.
      select: which ones to return: ``"a"`` all of them, ``"i"`` those in ``select_range``.
      select_range: for ``"i"``, the indices of the first and the last.
      tol, key: ignored: the matrices are diagonalised to the precision of their dtype, by an
        algorithm without random numbers.

    Returns:
      Eigenvalues of shape ``(..., k)``, real, and eigenvectors as columns, ``(..., n, k)``.

    Raises:
      TypeError: if an operand is not an array, dtypes differ, or sizes do not fit.
      ValueError: if ``select`` is unknown, or the range is missing or not ascending.
      NotImplementedError: for ``select="v"``, a range of values.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy import linalg
      >>> d, e = np.float32([2.0, 1.0]), np.float32([0.0])
      >>> linalg.eigh_tridiagonal(d, e, eigvals_only=True).round(2).tolist()
      [1.0, 2.0]

    Source: scipy.linalg.eigh_tridiagonal.
    """
    name = "eigh_tridiagonal"
    d, e = (jnp.asarray(x) for x in operands(name, *unlisted(d, e)))
    if d.dtype != e.dtype:
        raise TypeError(f"{name}: d and e must have one dtype, got {d.dtype} and {e.dtype}.")
    if not d.ndim or d.ndim != e.ndim or d.shape[-1] != e.shape[-1] + 1:
        raise TypeError(
            f"{name}: e must be shorter than d by one, got shapes {e.shape} and {d.shape}."
        )
    first, last = _chosen(name, d.shape[-1], select, select_range)
    return _eigh_tridiagonal(d, e, first=first, last=last, eigvals_only=bool(eigvals_only))


def _chosen(
    name: str, size: int, select: str, select_range: tuple[float, float] | None
) -> tuple[int, int]:
    """The indices of the first and the last eigenvalue to return."""
    if select == "a":
        return 0, size - 1
    if select == "v":
        raise NotImplementedError(
            f"{name}: select='v' is not available, since the result's size would depend on values. "
            "Take all eigenvalues, and choose with where."
        )
    if select != "i":
        raise ValueError(f"{name}: select={select!r} is unknown; it is 'a' or 'i'.")
    if select_range is None:
        raise ValueError(f"{name}: select='i' needs select_range, the first and last index.")
    first, last = (int(i) for i in select_range)
    if not 0 <= first <= last < size:
        raise ValueError(
            f"{name}: select_range must be two indices in order, below {size}, got {select_range}."
        )
    return first, last


@inlined("eigh_tridiagonal")
def _eigh_tridiagonal(
    d: Array, e: Array, *, first: int, last: int, eigvals_only: bool
) -> Array | tuple[Array, Array]:
    n = d.shape[-1]
    i = np.arange(n)
    lead = lax.broadcast_shapes(d.shape[:-1], e.shape[:-1])
    matrix = jnp.zeros((*lead, n, n), d.dtype).at[..., i, i].set(d)
    matrix = matrix.at[..., i[:-1], i[1:]].set(e).at[..., i[1:], i[:-1]].set(jnp.conj(e))
    if eigvals_only:
        return jnp.linalg.eigvalsh(matrix)[..., first : last + 1]
    w, v = jnp.linalg.eigh(matrix)
    return w[..., first : last + 1], v[..., first : last + 1]
