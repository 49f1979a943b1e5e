"""Eigenvalues of tridiagonal matrices."""

from functools import partial
from typing import TYPE_CHECKING, Literal, overload

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
import ricci_numpy as jnp
from ricci_autodiff import jvp
from ricci_ir import Array, ArrayLike, inlined
from ricci_numpy.authoring import operands

from ._factors import unlisted

# Up to this size LAPACK's dense eigenvalues are the faster ones.
_DENSE_SIZE = 32
# Steps of Sturm's sequence in one iteration of its loop.
_UNROLLED = 4

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
    if eigvals_only:
        bisects = d.shape[-1] > _DENSE_SIZE and ir.issubdtype(d.dtype, np.inexact)
        return (_bisected if bisects else _dense_eigenvalues)(d, e, first, last)
    w, v = jnp.linalg.eigh(_dense(d, e))
    return w[..., first : last + 1], v[..., first : last + 1]


def _dense(d: Array, e: Array) -> Array:
    """The matrices with all their elements."""
    n = d.shape[-1]
    i = np.arange(n)
    lead = lax.broadcast_shapes(d.shape[:-1], e.shape[:-1])
    matrix = jnp.zeros((*lead, n, n), d.dtype).at[..., i, i].set(d)
    return matrix.at[..., i[:-1], i[1:]].set(e).at[..., i[1:], i[:-1]].set(jnp.conj(e))


def _dense_eigenvalues(d: Array, e: Array, first: int, last: int) -> Array:
    return jnp.linalg.eigvalsh(_dense(d, e))[..., first : last + 1]


@partial(lax.custom_jvp, nondiff_argnums=(2, 3))
def _bisected(d: Array, e: Array, first: int, last: int) -> Array:
    """The eigenvalues, each by bisection of the interval that holds all of them.

    The number of eigenvalues below ``x`` is the number of negative pivots of the matrix minus ``x``
    (Sturm's sequence; Barth, Martin and Wilkinson, "Calculation of the eigenvalues of a symmetric
    tridiagonal matrix by the method of bisection", 1967).
    """
    lead = lax.broadcast_shapes(d.shape[:-1], e.shape[:-1])
    # A similarity by a diagonal unitary matrix makes the elements beside the diagonal real and
    # nonnegative, so the eigenvalues depend on their absolute values alone.
    d = jnp.broadcast_to(jnp.real(d), (*lead, d.shape[-1]))
    e = jnp.broadcast_to(jnp.abs(e), (*lead, e.shape[-1]))
    # Squares of the scaled elements neither overflow nor vanish beside 1.
    scale = jnp.maximum(jnp.max(jnp.abs(d), -1), jnp.max(e, -1))[..., None]
    scale = jnp.where(scale == 0, lax.full_like(scale, 1), scale)
    d, e = d / scale, e / scale
    zero = lax.full_like(e[..., :1], 0)
    before, after = jnp.concatenate([zero, e], -1), jnp.concatenate([e, zero], -1)
    info = jnp.finfo(d.dtype)
    margin = info.eps * d.shape[-1]
    # Gershgorin's circles contain all eigenvalues; the margin is for rounding.
    low = jnp.min(d - before - after, -1, keepdims=True) - margin
    high = jnp.max(d + before + after, -1, keepdims=True) + margin
    index = jnp.arange(first, last + 1, dtype=np.int32)
    rows = (jnp.moveaxis(d, -1, 0)[..., None], jnp.moveaxis(before * before, -1, 0)[..., None])

    def count_below(x: Array) -> Array:
        def step(
            state: tuple[Array, Array], row: tuple[Array, Array]
        ) -> tuple[tuple[Array, Array], None]:
            pivot, count = state
            pivot = row[0] - x - row[1] / pivot
            # A pivot of about 0 is replaced by a tiny negative one, as if x were greater by less
            # than rounding. The next quotient is finite, since the scaled squares are 1 at most.
            pivot = jnp.where(jnp.abs(pivot) < info.tiny, -lax.full_like(pivot, info.tiny), pivot)
            return (pivot, count + (pivot < 0).astype(np.int32)), None

        start = lax.full_like(x, 1), lax.full_like(x, 0, np.int32)
        return lax.scan(step, start, rows, unroll=_UNROLLED)[0][1]

    def halve(_: Array, bounds: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = bounds
        middle = low + (high - low) / 2
        is_below = count_below(middle) > index
        return jnp.where(is_below, low, middle), jnp.where(is_below, middle, high)

    shape = (*lead, last - first + 1)
    bounds = (jnp.broadcast_to(low, shape), jnp.broadcast_to(high, shape))
    # The interval is at most 6 wide at first, and smaller than the last place of 1 in the end.
    low, high = lax.fori_loop(0, info.nmant + 5, halve, bounds)
    return (low + (high - low) / 2) * scale


@_bisected.defjvp
def _bisected_jvp(
    first: int, last: int, primals: tuple[Array, Array], tangents: tuple[Array, Array]
) -> tuple[Array, Array]:
    # The derivative needs the eigenvectors.
    return jvp(lambda d, e: _dense_eigenvalues(d, e, first, last), primals, tangents)
