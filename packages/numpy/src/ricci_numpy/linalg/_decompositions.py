"""Decompositions of matrices: Cholesky, QR, singular values, eigenvalues."""

from typing import Literal, NamedTuple, overload

import numpy as np

import ricci_lax as lax
from ricci_ir import Array, ArrayLike, composite, dispatched, exported, inlined
from ricci_lax.authoring import geqrf_p
from ricci_lax.linalg import cholesky as lax_cholesky
from ricci_lax.linalg import eig as lax_eig
from ricci_lax.linalg import eigh as lax_eigh
from ricci_lax.linalg import qr as lax_qr
from ricci_lax.linalg import svd as lax_svd
from ricci_numpy._promotion import dtype_of, operands, promote_dtypes_inexact
from ricci_numpy.indexing._take import take_along_axis
from ricci_numpy.shapes._transposing import matrix_transpose
from ricci_numpy.ufuncs._unary import conj

__all__ = ["cholesky", "eig", "eigh", "eigvals", "eigvalsh", "qr", "svd", "svdvals"]
__all__ += ["EigResult", "EighResult", "QRResult", "SVDResult"]


@exported
class EigResult(NamedTuple):
    """Result of ``eig``."""

    eigenvalues: Array
    eigenvectors: Array


@exported
class EighResult(NamedTuple):
    """Result of ``eigh``."""

    eigenvalues: Array
    eigenvectors: Array


@exported
class QRResult(NamedTuple):
    """Result of ``qr``."""

    Q: Array
    R: Array


@exported
class SVDResult(NamedTuple):
    """Result of ``svd``."""

    U: Array
    S: Array
    Vh: Array


def matrices(name: str, *args: ArrayLike) -> list[Array]:
    """Checked operands as arrays of one dtype of floats or complex numbers."""
    return promote_dtypes_inexact(*operands(name, *args))


def adjoint(x: ArrayLike) -> Array:
    """Matrices transposed, their elements conjugated."""
    return conj(matrix_transpose(x))


def check_square(name: str, a: Array) -> None:
    """Raise unless an array holds square matrices."""
    shape = np.shape(a)
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise ValueError(f"{name}: the operand must hold square matrices, got shape {shape}.")


@dispatched("upper", "symmetrize_input")
def cholesky(a: ArrayLike, *, upper: bool = False, symmetrize_input: bool = True) -> Array:
    """The Cholesky factors of positive definite matrices: ``l`` with ``l @ l^H = a``.

    Args:
      a: an array of shape ``(..., n, n)``.
      upper: whether to return the adjoint of ``l``, which is upper triangular.
      symmetrize_input: whether to factorise ``(a + a^H) / 2``, so that derivatives are symmetric;
        else the lower triangle of ``a`` is looked at.

    Returns:
      An array of the shape of ``a``; a matrix that is not positive definite gives NaN.

    Raises:
      TypeError: if ``a`` is not an array, or has a dtype of 16 bits or less.
      ValueError: if its matrices are not square.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.linalg.cholesky(jnp.array([[4.0, 2.0], [2.0, 5.0]])).round(2).tolist()
      [[2.0, 0.0], [1.0, 2.0]]

    Source: numpy.linalg.cholesky.
    """
    (a,) = operands("cholesky", a)
    return _cholesky(a, upper=bool(upper), symmetrize_input=bool(symmetrize_input))


@composite("cholesky")
def _cholesky(a: Array, *, upper: bool, symmetrize_input: bool) -> Array:
    (a,) = promote_dtypes_inexact(a)
    lower = lax_cholesky(a, symmetrize_input=symmetrize_input)
    return adjoint(lower) if upper else lower


@dispatched("UPLO", "symmetrize_input")
def eigh(a: ArrayLike, UPLO: str | None = None, symmetrize_input: bool = True) -> EighResult:
    """The eigenvalues and eigenvectors of Hermitian matrices.

    Args:
      a: an array of shape ``(..., n, n)``.
      UPLO: ``"L"``, the default, or ``"U"``: which triangle of ``a`` is read.
      symmetrize_input: whether ``a`` is first replaced by ``(a + a^H) / 2``.

    Returns:
      A pair ``(eigenvalues, eigenvectors)``: the first real, ascending, of shape ``(..., n)``;
      the second the columns of arrays of shape ``(..., n, n)``.

    Raises:
      TypeError: if ``a`` is not an array, or has a dtype of 16 bits or less.
      ValueError: if its matrices are not square, or ``UPLO`` is something else.

    Example:
      >>> import ricci.numpy as jnp
      >>> w, v = jnp.linalg.eigh(jnp.array([[3.0, 0.0], [0.0, 2.0]]))
      >>> w.round(2).tolist()
      [2.0, 3.0]

    Source: numpy.linalg.eigh.
    """
    (a,) = operands("eigh", a)
    if UPLO not in (None, "L", "U"):
        raise ValueError(f"eigh: UPLO is 'L' for the lower or 'U' for the upper, got {UPLO!r}.")
    return EighResult(*_eigh(a, lower=UPLO != "U", symmetrize_input=bool(symmetrize_input)))


@composite("eigh")
def _eigh(a: Array, *, lower: bool, symmetrize_input: bool) -> tuple[Array, Array]:
    (a,) = promote_dtypes_inexact(a)
    vectors, values = lax_eigh(a, lower=lower, symmetrize_input=symmetrize_input)
    return values, vectors


@dispatched("UPLO", "symmetrize_input")
def eigvalsh(a: ArrayLike, UPLO: str | None = "L", *, symmetrize_input: bool = True) -> Array:
    """The eigenvalues of Hermitian matrices, ascending.

    Args:
      a: an array of shape ``(..., n, n)``.
      UPLO, symmetrize_input: see ``eigh``.

    Returns:
      An array of shape ``(..., n)``, real also for complex matrices.

    Raises:
      TypeError: if ``a`` is not an array, or has a dtype of 16 bits or less.
      ValueError: if its matrices are not square, or ``UPLO`` is something else.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.linalg.eigvalsh(jnp.array([[3.0, 0.0], [0.0, 2.0]])).round(2).tolist()
      [2.0, 3.0]

    Source: numpy.linalg.eigvalsh.
    """
    (a,) = operands("eigvalsh", a)
    return _eigvalsh(a, UPLO=UPLO, symmetrize_input=bool(symmetrize_input))


@composite("eigvalsh")
def _eigvalsh(a: Array, *, UPLO: str | None, symmetrize_input: bool) -> Array:
    (a,) = promote_dtypes_inexact(a)
    return eigh(a, UPLO, symmetrize_input)[0]


def eig(a: ArrayLike) -> EigResult:
    """The eigenvalues and eigenvectors of square matrices, on CPUs and CUDA GPUs.

    Args:
      a: an array of shape ``(..., n, n)``.

    Returns:
      A pair ``(eigenvalues, eigenvectors)``, both complex: of shape ``(..., n)``, in no order,
      and the columns of arrays of shape ``(..., n, n)``. Eigenvectors have no derivative.

    Raises:
      TypeError: if ``a`` is not an array, or has a dtype of 16 bits or less.
      ValueError: if its matrices are not square.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.linalg.eig(jnp.array([[3.0, 1.0], [0.0, 2.0]])).eigenvalues.round(2).tolist()
      [(3+0j), (2+0j)]

    Source: numpy.linalg.eig.
    """
    (a,) = operands("eig", a)
    return EigResult(*_eig(a))


@inlined("eig")
def _eig(a: Array) -> tuple[Array, Array]:
    (a,) = promote_dtypes_inexact(a)
    values, vectors = lax_eig(a, compute_left_eigenvectors=False)
    return values, vectors


@dispatched()
def eigvals(a: ArrayLike) -> Array:
    """The eigenvalues of square matrices, on CPUs and CUDA GPUs.

    Args:
      a: an array of shape ``(..., n, n)``.

    Returns:
      A complex array of shape ``(..., n)``, in no order.

    Raises:
      TypeError: if ``a`` is not an array, or has a dtype of 16 bits or less.
      ValueError: if its matrices are not square.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.linalg.eigvals(jnp.array([[3.0, 1.0], [0.0, 2.0]])).round(2).tolist()
      [(3+0j), (2+0j)]

    Source: numpy.linalg.eigvals.
    """
    (a,) = operands("eigvals", a)
    return _eigvals(a)


@composite("eigvals")
def _eigvals(a: Array) -> Array:
    (a,) = promote_dtypes_inexact(a)
    return lax_eig(a, compute_left_eigenvectors=False, compute_right_eigenvectors=False)[0]


_QR_MODES = ("reduced", "complete", "full", "r", "raw")


@overload
def qr(a: ArrayLike, mode: Literal["r"]) -> Array: ...
@overload
def qr(
    a: ArrayLike, mode: Literal["reduced", "complete", "full", "raw"] = "reduced"
) -> QRResult: ...
@overload
def qr(a: ArrayLike, mode: str) -> Array | QRResult: ...
@dispatched("mode")
def qr(a: ArrayLike, mode: str = "reduced") -> Array | QRResult:
    """Decompose matrices into unitary ones times upper triangular ones, ``a = Q @ R``.

    Args:
      a: an array of shape ``(..., m, n)``; ``k`` is the smaller size.
      mode: ``"reduced"`` for Q of shape ``(..., m, k)`` and R of shape ``(..., k, n)``;
        ``"complete"`` or ``"full"`` for ``(..., m, m)`` and ``(..., m, n)``; ``"r"`` for R alone,
        reduced; ``"raw"`` for the reflectors and their factors as LAPACK has them, of shapes
        ``(..., n, m)`` and ``(..., k)``.

    Returns:
      A pair ``(Q, R)``, or R alone.

    Raises:
      TypeError: if ``a`` is not an array, or has a dtype of 16 bits or less.
      ValueError: if there is no such mode.

    Example:
      >>> import ricci.numpy as jnp
      >>> q, r = jnp.linalg.qr(jnp.array([[3.0], [4.0]]))
      >>> q.shape, r.shape
      ((2, 1), (1, 1))

    Source: numpy.linalg.qr.
    """
    (a,) = operands("qr", a)
    if mode not in _QR_MODES:
        raise ValueError(f"qr: mode must be one of {', '.join(_QR_MODES)}, got {mode!r}.")
    factors = _qr(a, mode=mode)
    return QRResult(*factors) if isinstance(factors, tuple) else factors


@composite("qr")
def _qr(a: Array, *, mode: str) -> Array | tuple[Array, Array]:
    (a,) = promote_dtypes_inexact(a)
    if mode == "raw":
        # LAPACK stores columns; NumPy returns the transposed matrix, which in row order is the same
        # memory.
        reflectors, factors = geqrf_p.bind(a)
        return matrix_transpose(reflectors), factors
    q, r = lax_qr(a, full_matrices=mode in ("complete", "full"))
    return r if mode == "r" else (q, r)


@overload
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: Literal[True] = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> SVDResult: ...
@overload
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    *,
    compute_uv: Literal[False],
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> Array: ...
@overload
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> Array | SVDResult: ...
@dispatched("full_matrices", "compute_uv", "hermitian", "subset_by_index")
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> Array | SVDResult:
    """The singular value decomposition of matrices, ``a = U @ diag(S) @ Vh``.

    Args:
      a: an array of shape ``(..., m, n)``; ``k`` is the smaller size.
      full_matrices: whether U and Vh are square, or of shapes ``(..., m, k)`` and ``(..., k, n)``.
      compute_uv: whether to compute U and Vh at all.
      hermitian: whether to take the matrices for Hermitian ones, which is faster.
      subset_by_index: the range ``(start, end)`` of the singular values to compute.

    Returns:
      A triple ``(U, S, Vh)``, or S alone, real and descending, of shape ``(..., k)``.

    Raises:
      TypeError: if ``a`` is not an array, or has a dtype of 16 bits or less.
      ValueError: if ``hermitian`` and the matrices are not square.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.linalg.svd(jnp.array([[0.0, 2.0], [3.0, 0.0]])).S.round(2).tolist()
      [3.0, 2.0]

    Source: numpy.linalg.svd.
    """
    (a,) = operands("svd", a)
    subset = None if subset_by_index is None else tuple(subset_by_index)
    factors = _svd(
        a,
        full_matrices=bool(full_matrices),
        compute_uv=bool(compute_uv),
        hermitian=bool(hermitian),
        subset_by_index=subset,
    )
    return SVDResult(*factors) if isinstance(factors, tuple) else factors


@composite("svd")
def _svd(
    a: Array,
    *,
    full_matrices: bool,
    compute_uv: bool,
    hermitian: bool,
    subset_by_index: tuple[int, int] | None,
) -> Array | tuple[Array, Array, Array]:
    (a,) = promote_dtypes_inexact(a)
    if hermitian:
        return _svd_of_hermitian(a, compute_uv, subset_by_index)
    factors = lax_svd(
        a, full_matrices=full_matrices, compute_uv=compute_uv, subset_by_index=subset_by_index
    )
    if not compute_uv:
        return factors[0] if isinstance(factors, tuple | list) else factors
    u, s, vh = factors
    return u, s, vh


def _svd_of_hermitian(
    a: Array, compute_uv: bool, subset: tuple[int, int] | None
) -> Array | tuple[Array, Array, Array]:
    """The decomposition from eigenvalues ``w``: ``U`` are the eigenvectors, ``S`` is ``abs(w)``.

    The vectors of ``Vh`` are those of ``U`` times the signs of ``w``; 0 counts as positive, so that
    those of singular matrices are orthonormal, too.
    """
    # a = V diag(w) Vᴴ = V diag(|w|) (V diag(sign w))ᴴ, sorted by descending |w|.
    vectors, values = lax_eigh(a, subset_by_index=subset)
    last = np.ndim(values) - 1
    size = lax.abs(values)
    if not compute_uv:
        return lax.rev(lax.sort(size, dimension=last), (last,))
    # The signs and the positions travel with the sort by |w|; the vectors are then taken by
    # position.
    places = lax.broadcasted_iota(np.uint32, np.shape(size), last)
    one = lax.full_like(values, 1)
    negative = lax.lt(values, lax.full_like(values, 0))
    signs = lax.select(negative, lax.neg(one), one)
    ascending = lax.sort((size, places, signs), dimension=last)
    s, order, signs = (lax.rev(x, (last,)) for x in ascending)
    u = take_along_axis(vectors, lax.expand_dims(order, (last,)), -1)
    signs = lax.convert_element_type(lax.expand_dims(signs, (last,)), dtype_of(u))
    return u, s, adjoint(lax.mul(u, signs))


def svdvals(x: ArrayLike, /) -> Array:
    """The singular values of matrices, descending.

    Args:
      x: an array of shape ``(..., m, n)``.

    Returns:
      A real array of shape ``(..., min(m, n))``.

    Raises:
      TypeError: if ``x`` is not an array, or has a dtype of 16 bits or less.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.linalg.svdvals(jnp.array([[0.0, 2.0], [3.0, 0.0]])).round(2).tolist()
      [3.0, 2.0]

    Source: numpy.linalg.svdvals.
    """
    return svd(x, compute_uv=False)
