"""Matrices with a structure: Toeplitz, Hankel, companion, Hilbert, Pascal and others."""

from math import comb
from operator import index

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
import ricci_numpy as jnp
from ricci_numpy.authoring import (
    check_choice,
    convert,
    operands,
    promote_dtypes,
    promote_dtypes_inexact,
)

__all__ = [
    "block_diag",
    "circulant",
    "companion",
    "convolution_matrix",
    "dft",
    "fiedler",
    "fiedler_companion",
    "hadamard",
    "hankel",
    "helmert",
    "hilbert",
    "invhilbert",
    "invpascal",
    "leslie",
    "pascal",
    "toeplitz",
]


def _vectors(name: str, *args: ir.ArrayLike) -> list[ir.Array]:
    """Operands of rank 1 or more; scalars become vectors of one element."""
    return [jnp.atleast_1d(x) for x in operands(name, *args)]


def block_diag(*arrs: ir.ArrayLike) -> ir.Array:
    """A matrix with the given matrices along its diagonal, and 0 elsewhere.

    Args:
      *arrs: arrays of rank 2 or less; vectors are rows.

    Returns:
      A matrix of the promoted dtype.

    Raises:
      TypeError: if one is not an array.
      ValueError: if one has a higher rank.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy import linalg
      >>> linalg.block_diag(np.ones((1, 2)), np.float32(3.0)).tolist()
      [[1.0, 1.0, 0.0], [0.0, 0.0, 3.0]]

    Source: scipy.linalg.block_diag.
    """
    if not arrs:
        return jnp.zeros((1, 0))
    for i, x in enumerate(arrs):
        if np.ndim(x) > 2:
            raise ValueError(
                f"block_diag: operands must have rank 2 or less, got shape {np.shape(x)} at "
                f"position {i}."
            )
    blocks = [jnp.atleast_2d(x) for x in operands("block_diag", *arrs)]
    return _block_diag(*promote_dtypes(*blocks))


@ir.inlined("block_diag")
def _block_diag(*blocks: ir.Array) -> ir.Array:
    width = sum(x.shape[1] for x in blocks)
    rows, before = [], 0
    for x in blocks:
        zero = ir.exact_scalar(0, x.dtype)
        after = width - before - x.shape[1]
        rows.append(lax.pad(x, zero, [(0, 0, 0), (before, after, 0)]))
        before += x.shape[1]
    return lax.concatenate(rows, 0)


def toeplitz(c: ir.ArrayLike, r: ir.ArrayLike | None = None) -> ir.Array:
    """Matrices whose diagonals are constant.

    Args:
      c: first columns, of shape ``(..., m)``.
      r: first rows, of shape ``(..., n)``, of which the first element is ignored; by default
        the conjugate of ``c``. Leading dimensions broadcast.

    Returns:
      An array of shape ``(..., m, n)``.

    Raises:
      TypeError: if an operand is not an array.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy import linalg
      >>> linalg.toeplitz(np.array([1, 2, 3]), np.array([1, 4, 5])).tolist()
      [[1, 4, 5], [2, 1, 4], [3, 2, 1]]

    Source: scipy.linalg.toeplitz.
    """
    if r is None:
        (c,) = _vectors("toeplitz", c)
        r = jnp.conj(c)
    c, r = (convert(x, x.dtype) for x in promote_dtypes(*_vectors("toeplitz", c, r)))
    m, n = c.shape[-1], r.shape[-1]
    if not m or not n:
        lead = lax.broadcast_shapes(c.shape[:-1], r.shape[:-1])
        return jnp.zeros((*lead, m, n), c.dtype)
    # Row i is a window of (c[m-1], ..., c[0], r[1], ..., r[n-1]) that starts at m - 1 - i.
    return _band(jnp.flip(c, -1), r[..., 1:], first=m - 1, step=-1, rows=m, columns=n)


@ir.inlined("band")
def _band(x: ir.Array, y: ir.Array, *, first: int, step: int, rows: int, columns: int) -> ir.Array:
    """A matrix of the elements of ``x`` and ``y``, joined: row i starts at ``first + step * i``."""
    lead = lax.broadcast_shapes(x.shape[:-1], y.shape[:-1])
    parts = [jnp.broadcast_to(v, (*lead, v.shape[-1])) for v in (x, y)]
    # NumPy's, if the sizes are static.
    arange = np.arange if ir.is_static_shape((rows, columns)) else jnp.arange
    places = first + step * arange(rows)[:, None] + arange(columns)
    return jnp.concatenate(parts, -1)[..., places]


def hankel(c: ir.ArrayLike, r: ir.ArrayLike | None = None) -> ir.Array:
    """Matrices whose antidiagonals are constant.

    Args:
      c: first columns, of shape ``(..., m)``.
      r: last rows, of shape ``(..., n)``, of which the first element is ignored; by default
        zeros, as many as ``c`` has elements.

    Returns:
      An array of shape ``(..., m, n)``.

    Raises:
      TypeError: if an operand is not an array.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy import linalg
      >>> linalg.hankel(np.array([1, 2]), np.array([0, 3, 4])).tolist()
      [[1, 2, 3], [2, 3, 4]]

    Source: scipy.linalg.hankel.
    """
    (c,) = _vectors("hankel", c)
    r = jnp.zeros_like(c) if r is None else r
    c, r = (convert(x, x.dtype) for x in promote_dtypes(*_vectors("hankel", c, r)))
    m, n = c.shape[-1], r.shape[-1]
    if not m or not n:
        lead = lax.broadcast_shapes(c.shape[:-1], r.shape[:-1])
        return jnp.zeros((*lead, m, n), c.dtype)
    # Row i is a window of (c[0], ..., c[m-1], r[1], ..., r[n-1]) that starts at i.
    return _band(c, r[..., 1:], first=0, step=1, rows=m, columns=n)


def circulant(c: ir.ArrayLike) -> ir.Array:
    """Matrices whose columns are one vector, rotated by one place more in each column.

    Args:
      c: first columns, of shape ``(..., n)``.

    Returns:
      An array of shape ``(..., n, n)``.

    Raises:
      TypeError: if ``c`` is not an array.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy import linalg
      >>> linalg.circulant(np.array([1, 2, 3])).tolist()
      [[1, 3, 2], [2, 1, 3], [3, 2, 1]]

    Source: scipy.linalg.circulant.
    """
    (c,) = _vectors("circulant", c)
    n = c.shape[-1]
    places = (np.arange(n)[:, None] - np.arange(n)) % max(n, 1)
    return c[..., places]


def companion(a: ir.ArrayLike) -> ir.Array:
    """Matrices whose eigenvalues are the roots of polynomials.

    Args:
      a: coefficients of shape ``(..., n)``, highest power first; n is 2 at least.

    Returns:
      An array of shape ``(..., n - 1, n - 1)``.

    Raises:
      TypeError: if ``a`` is not an array.
      ValueError: if there are fewer than two coefficients.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy import linalg
      >>> linalg.companion(np.float32([1.0, -3.0, 2.0])).tolist()
      [[3.0, -2.0], [1.0, 0.0]]

    Source: scipy.linalg.companion.
    """
    (a,) = promote_dtypes_inexact(*_vectors("companion", a))
    n = a.shape[-1]
    if n < 2:
        raise ValueError(f"companion: two coefficients at least are needed, got shape {a.shape}.")
    row = -a[..., 1:] / a[..., :1]
    below = jnp.eye(n - 1, k=-1, dtype=a.dtype)[1:]
    below = jnp.broadcast_to(below, (*a.shape[:-1], n - 2, n - 1))
    return jnp.concatenate([row[..., None, :], below], -2)


def fiedler(a: ir.ArrayLike) -> ir.Array:
    """Matrices of the distances between a vector's elements.

    Args:
      a: vectors of shape ``(..., n)``.

    Returns:
      An array of shape ``(..., n, n)``.

    Raises:
      TypeError: if ``a`` is not an array.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy import linalg
      >>> linalg.fiedler(np.array([1, 4])).tolist()
      [[0, 3], [3, 0]]

    Source: scipy.linalg.fiedler.
    """
    (a,) = _vectors("fiedler", a)
    return jnp.abs(a[..., :, None] - a[..., None, :])


def fiedler_companion(a: ir.ArrayLike) -> ir.Array:
    """Matrices with five diagonals whose eigenvalues are the roots of polynomials.

    Args:
      a: coefficients of shape ``(..., n)``, highest power first.

    Returns:
      An array of shape ``(..., n - 1, n - 1)``.

    Raises:
      TypeError: if ``a`` is not an array.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy import linalg
      >>> linalg.fiedler_companion(np.float32([1.0, -3.0, 2.0])).tolist()
      [[3.0, -2.0], [1.0, 0.0]]

    Source: Fiedler, "A note on companion matrices", 2003.
    """
    (a,) = promote_dtypes_inexact(*_vectors("fiedler_companion", a))
    n = max(a.shape[-1] - 1, 0)
    if not n:
        return jnp.zeros((*a.shape[:-1], 0, 0), a.dtype)
    c = -a / a[..., :1]
    result = jnp.zeros((*a.shape[:-1], n, n), a.dtype).at[..., 0, 0].set(c[..., 1])
    ones = [(1, 0), *((i, i + 2 if i % 2 == 0 else i - 2) for i in range(n) if i != 1)]
    k = np.arange(2, n + 1)
    rows, columns = np.where(k % 2, k - 1, k - 2), np.where(k % 2, k - 2, k - 1)
    result = result.at[..., rows, columns].set(c[..., 2:])
    inside = [(i, j) for i, j in ones if i < n and j < n]
    if not inside:
        return result
    rows, columns = np.transpose(inside)
    return result.at[..., rows, columns].set(1)


def convolution_matrix(a: ir.ArrayLike, n: int, mode: str = "full") -> ir.Array:
    """Matrices whose product with a vector is its convolution with another.

    Args:
      a: vectors of shape ``(..., m)`` with which to convolve.
      n: how many elements the other vector has.
      mode: ``"full"``, ``"same"`` or ``"valid"``, as in ``ricci_numpy.convolve``.

    Returns:
      An array of shape ``(..., k, n)``, where k is the convolution's size.

    Raises:
      TypeError: if ``a`` is not an array.
      ValueError: if ``a`` is empty, ``n`` is not positive or the mode is unknown.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy import linalg
      >>> linalg.convolution_matrix(np.array([1, 2]), 2).tolist()
      [[1, 0], [2, 1], [0, 2]]

    Source: scipy.linalg.convolution_matrix.
    """
    (a,) = _vectors("convolution_matrix", a)
    m, n = a.shape[-1], index(n)
    if n <= 0 or not m:
        raise ValueError(
            f"convolution_matrix: both vectors must have elements, got shape {a.shape} and n={n}."
        )
    check_choice("convolution_matrix", "mode", mode, ("full", "same", "valid"))
    left_out = {"full": 0, "same": min(n, m) - 1, "valid": 2 * (min(n, m) - 1)}[mode]
    before = left_out // 2
    zero = jnp.zeros((*a.shape[:-1], n - 1), a.dtype)
    full = toeplitz(jnp.concatenate([a, zero], -1), jnp.concatenate([a[..., :1], zero], -1))
    return full[..., before : m + n - 1 - (left_out - before), :]


def dft(n: int, scale: str | None = None, *, dtype: ir.DTypeLike | None = None) -> ir.Array:
    """The matrix of the discrete Fourier transform.

    Args:
      n: its size.
      scale: ``None``, ``"sqrtn"`` to divide by the root of n, or ``"n"`` to divide by n.
      dtype: a complex dtype; by default the default one.

    Returns:
      A complex matrix of shape ``(n, n)``.

    Raises:
      ValueError: if the scale is unknown.

    Example:
      >>> from ricci.scipy import linalg
      >>> linalg.dft(2).real.tolist()
      [[1.0, 1.0], [1.0, -1.0]]

    Source: scipy.linalg.dft.
    """
    n = index(n)
    check_choice("dft", "scale", scale, (None, "sqrtn", "n"))
    result_dtype = jnp.result_type(complex) if dtype is None else ir.explicit_dtype(dtype, "dft")
    # The exponents are reduced modulo n as integers, which is exact.
    places = np.outer(np.arange(n), np.arange(n)) % max(n, 1)
    powers = np.exp(-2j * np.pi * np.arange(n) / max(n, 1))[places] if n else np.zeros((0, 0))
    divisor = {None: 1.0, "sqrtn": np.sqrt(n), "n": float(n)}[scale]
    return jnp.asarray(powers / (divisor or 1.0), result_dtype)


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
    signs = np.array([[1]], np.int8)
    while signs.shape[0] < n:
        signs = np.block([[signs, signs], [signs, -signs]])
    return jnp.asarray(signs, ir.explicit_dtype(dtype, "hadamard"))


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
    i = np.arange(index(n))
    return jnp.asarray(1 / (i[:, None] + i + 1), jnp.result_type(float))


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
    n = index(n)
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


def leslie(f: ir.ArrayLike, s: ir.ArrayLike) -> ir.Array:
    """Leslie matrices, which take a population by age to that of the next time step.

    Args:
      f: fecundities of shape ``(..., n)``: the first row.
      s: survival rates of shape ``(..., n - 1)``: below the diagonal.

    Returns:
      An array of shape ``(..., n, n)``.

    Raises:
      TypeError: if an operand is not an array.
      ValueError: if there are not two fecundities at least, and one survival rate less.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy import linalg
      >>> linalg.leslie(np.float32([0.1, 2.0]), np.float32([0.5])).round(1).tolist()
      [[0.10000000149011612, 2.0], [0.5, 0.0]]

    Source: scipy.linalg.leslie.
    """
    f, s = promote_dtypes(*_vectors("leslie", f, s))
    n = f.shape[-1]
    if n < 2 or s.shape[-1] != n - 1:
        raise ValueError(
            "leslie: two fecundities at least are needed, and one survival rate less, got shapes "
            f"{f.shape} and {s.shape}."
        )
    lead = lax.broadcast_shapes(f.shape[:-1], s.shape[:-1])
    i = np.arange(n - 1)
    result = jnp.zeros((*lead, n, n), f.dtype).at[..., 0, :].set(f)
    return result.at[..., i + 1, i].set(s)


def _binomials(name: str, n: int, kind: str | None, sign: int) -> ir.Array:
    """Pascal's matrix for ``sign`` 1, and its inverse for -1."""
    check_choice(name, "kind", kind, (None, "symmetric", "lower", "upper"))
    n = index(n)
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
