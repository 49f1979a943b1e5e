"""Matrices that a size determines: Fourier, Hadamard, Helmert, Hilbert and Pascal matrices.

NumPy computes the elements. Each matrix is a constant of a step, so that an eager call copies
nothing from the host, which a transfer guard would refuse.
"""

from math import comb
from operator import index

import numpy as np

import ricci_ir as ir
import ricci_numpy as jnp
from ricci_numpy.authoring import check_choice

__all__ = ["dft", "hadamard", "helmert", "hilbert", "invhilbert", "invpascal", "pascal"]


def dft(n: int, scale: str | None = None, *, dtype: ir.DTypeLike | None = None) -> ir.Array:
    """The matrix of the discrete Fourier transform.

    Args:
      n: its size.
      scale: ``None``, ``"sqrtn"`` to divide by the root of n, or ``"n"`` to divide by n.
      dtype: a complex dtype; by default the default one.

    Returns:
      A complex matrix of shape ``(n, n)``.

    Raises:
      ValueError: if the scale is unknown, or the dtype is not complex.

    Example:
      >>> from ricci.scipy import linalg
      >>> linalg.dft(2).real.tolist()
      [[1.0, 1.0], [1.0, -1.0]]

    Source: scipy.linalg.dft.
    """
    n = index(n)
    check_choice("dft", "scale", scale, (None, "sqrtn", "n"))
    result_dtype = jnp.result_type(complex) if dtype is None else ir.explicit_dtype(dtype, "dft")
    if not ir.issubdtype(result_dtype, np.complexfloating):
        raise ValueError(f"dft: dtype must be complex, got {result_dtype}.")
    return _dft(n=n, scale=scale, dtype=result_dtype)


@ir.inlined("dft")
def _dft(*, n: int, scale: str | None, dtype: np.dtype) -> ir.Array:
    # The exponents are reduced modulo n as integers, which is exact.
    places = np.outer(np.arange(n), np.arange(n)) % max(n, 1)
    powers = np.exp(-2j * np.pi * np.arange(n) / max(n, 1))[places] if n else np.zeros((0, 0))
    divisor = {None: 1.0, "sqrtn": np.sqrt(n), "n": float(n)}[scale]
    return jnp.asarray(powers / (divisor or 1.0), dtype)


def hadamard(n: int, dtype: ir.DTypeLike = int) -> ir.Array:
    """A matrix of 1 and -1 whose rows are orthogonal to each other.

    Args:
      n: its size, a power of 2.
      dtype: its dtype.

    Returns:
      A matrix of shape ``(n, n)``.

    Raises:
      ValueError: if ``n`` is not a power of 2.

    Example:
      >>> from ricci.scipy import linalg
      >>> linalg.hadamard(2).tolist()
      [[1, 1], [1, -1]]

    Source: Sylvester's construction; scipy.linalg.hadamard.
    """
    n = index(n)
    if n < 1 or n & (n - 1):
        raise ValueError(f"hadamard: n must be a power of 2, got {n}.")
    return _hadamard(n=n, dtype=ir.explicit_dtype(dtype, "hadamard"))


@ir.inlined("hadamard")
def _hadamard(*, n: int, dtype: np.dtype) -> ir.Array:
    signs = np.array([[1]], np.int8)
    while signs.shape[0] < n:
        signs = np.block([[signs, signs], [signs, -signs]])
    return jnp.asarray(signs, dtype)


def helmert(n: int, full: bool = False) -> ir.Array:
    """A matrix with orthonormal rows, each orthogonal to the vector of ones.

    Args:
      n: how many columns it has.
      full: whether to prepend a first row of equal elements.

    Returns:
      An array of shape ``(n - 1, n)``, or ``(n, n)``.

    Raises:
      ValueError: if ``n`` is not positive.

    Example:
      >>> from ricci.scipy import linalg
      >>> linalg.helmert(2, full=True).round(3).tolist()
      [[0.7070000171661377, 0.7070000171661377], [0.7070000171661377, -0.7070000171661377]]

    Source: scipy.linalg.helmert.
    """
    n = index(n)
    if n <= 0:
        raise ValueError(f"helmert: n must be positive, got {n}.")
    return _helmert(n=n, full=bool(full))


@ir.inlined("helmert")
def _helmert(*, n: int, full: bool) -> ir.Array:
    rows = np.tril(np.ones((n, n)), -1) - np.diag(np.arange(n))
    rows[0] = 1
    d = np.arange(n)
    lengths = np.sqrt(np.where(d == 0, n, d * (d + 1)))
    orthonormal = rows / lengths[:, None]
    return jnp.asarray(orthonormal if full else orthonormal[1:], jnp.result_type(float))


def hilbert(n: int) -> ir.Array:
    """The matrix of the elements 1 / (i + j + 1).

    Args:
      n: its size.

    Returns:
      A matrix of floats, of shape ``(n, n)``.

    Example:
      >>> from ricci.scipy import linalg
      >>> linalg.hilbert(2).tolist()[0]
      [1.0, 0.5]

    Source: scipy.linalg.hilbert.
    """
    return _hilbert(n=ir.as_size(n))


@ir.inlined("hilbert")
def _hilbert(*, n: int) -> ir.Array:
    i = jnp.arange(n, dtype=jnp.result_type(float))
    return 1 / (i[:, None] + i + 1)


def invhilbert(n: int) -> ir.Array:
    """The inverse of ``hilbert(n)``.

    Args:
      n: its size.

    Returns:
      A matrix of floats, of shape ``(n, n)``.

    Example:
      >>> from ricci.scipy import linalg
      >>> linalg.invhilbert(2).tolist()
      [[4.0, -6.0], [-6.0, 12.0]]

    Source: scipy.linalg.invhilbert.
    """
    return _invhilbert(n=index(n))


@ir.inlined("invhilbert")
def _invhilbert(*, n: int) -> ir.Array:
    inverse = np.array(
        [
            [
                (-1) ** (i + j)
                * (i + j + 1)
                * comb(n + i, n - j - 1)
                * comb(n + j, n - i - 1)
                * comb(i + j, i) ** 2
                for j in range(n)
            ]
            for i in range(n)
        ],
        np.float64,
    )
    return jnp.asarray(inverse.reshape(n, n), jnp.result_type(float))


def _binomials(name: str, n: int, kind: str | None, sign: int) -> ir.Array:
    """Pascal's matrix for ``sign`` 1, and its inverse for -1."""
    check_choice(name, "kind", kind, (None, "symmetric", "lower", "upper"))
    return _binomial_step(n=index(n), kind=kind, sign=sign)


@ir.inlined("pascal")
def _binomial_step(*, n: int, kind: str | None, sign: int) -> ir.Array:
    # The inverse of the lower triangular matrix has the same elements with alternating signs.
    signs = [[sign ** ((i + j) % 2) if j <= i else 0 for j in range(n)] for i in range(n)]
    lower = [[comb(i, j) for j in range(n)] for i in range(n)]
    low = np.array(lower, np.float64).reshape(n, n) * np.array(signs).reshape(n, n)
    if kind == "lower":
        matrix = low
    elif kind == "upper":
        matrix = low.T
    else:
        matrix = low @ low.T if sign > 0 else low.T @ low
    return jnp.asarray(matrix, np.float32)


def pascal(n: int, kind: str | None = None) -> ir.Array:
    """Pascal's triangle as a matrix of binomial coefficients.

    Args:
      n: its size.
      kind: ``"lower"`` or ``"upper"`` for a triangular matrix, ``None`` or ``"symmetric"`` for the
        product of the first with the second.

    Returns:
      A matrix of shape ``(n, n)``.

    Raises:
      ValueError: if the kind is unknown.

    Example:
      >>> from ricci.scipy import linalg
      >>> linalg.pascal(3).tolist()
      [[1.0, 1.0, 1.0], [1.0, 2.0, 3.0], [1.0, 3.0, 6.0]]

    Source: scipy.linalg.pascal.
    """
    return _binomials("pascal", n, kind, 1)


def invpascal(n: int, kind: str | None = None) -> ir.Array:
    """The inverse of ``pascal(n, kind)``.

    Args:
      n, kind: as for ``pascal``.

    Returns:
      A matrix of shape ``(n, n)``.

    Raises:
      ValueError: if the kind is unknown.

    Example:
      >>> from ricci.scipy import linalg
      >>> linalg.invpascal(2, "lower").tolist()
      [[1.0, 0.0], [-1.0, 1.0]]

    Source: scipy.linalg.invpascal.
    """
    return _binomials("invpascal", n, kind, -1)
