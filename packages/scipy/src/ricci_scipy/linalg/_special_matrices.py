"""Matrices made of vectors: Toeplitz, Hankel, companion, Leslie matrices and others."""

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

__all__ = ["block_diag", "circulant", "companion", "convolution_matrix", "fiedler"]
__all__ += ["fiedler_companion", "hankel", "leslie", "toeplitz"]


def _vectors(name: str, *args: ir.ArrayLike) -> list[ir.Array]:
    """Operands of rank 1 or more; scalars become vectors of one element."""
    return [jnp.atleast_1d(x) for x in operands(name, *args)]


@ir.dispatched()
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
    i = jnp.arange(n)
    return c[..., (i[:, None] - i) % (n if ir.is_symbolic_dim(n) else max(n, 1))]


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
    # The eigenvector of a root x is (x^(n - 2), ..., x, 1): by the rows below, each power is x
    # times the next one, and the first row says that the polynomial is 0.
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
    return _convolution_matrix(a, n=n, left_out=left_out)


@ir.inlined("convolution_matrix")
def _convolution_matrix(a: ir.Array, *, n: int, left_out: int) -> ir.Array:
    m, before = a.shape[-1], left_out // 2
    zero = jnp.zeros((*a.shape[:-1], n - 1), a.dtype)
    # Element (i, j) of the full matrix is a[i - j]. The other modes leave out rows at both ends, of
    # an odd number the additional one at the end.
    full = toeplitz(jnp.concatenate([a, zero], -1), jnp.concatenate([a[..., :1], zero], -1))
    return full[..., before : m + n - 1 - (left_out - before), :]


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
    i = jnp.arange(n - 1)
    result = jnp.zeros((*lead, n, n), f.dtype).at[..., 0, :].set(f)
    return result.at[..., i + 1, i].set(s)
