"""Matrices with ones on a diagonal, triangular matrices, and the indices of triangles."""

import builtins
from collections.abc import Callable
from operator import index
from typing import SupportsIndex

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_ir import Array, ArrayLike, DTypeLike, Shape
from ricci_numpy import _promotion as promotion
from ricci_numpy.arrays._broadcasting import broadcast, select_where
from ricci_numpy.arrays._creation import asarray, checked_dtype, from_host, placed
from ricci_numpy.arrays._filling import ones
from ricci_numpy.indexing._where import nonzero

from ._diagonals import near_offset

__all__ = ["diag_indices", "diag_indices_from", "eye", "identity", "mask_indices", "tri", "tril"]
__all__ += ["tril_indices", "tril_indices_from", "triu", "triu_indices", "triu_indices_from"]

# A function like ``triu`` and ``tril``.
type MaskFunction = Callable[[Array, int], ArrayLike]

_INT = np.dtype("int32")


def _sides(name: str, n: SupportsIndex, m: SupportsIndex | None) -> tuple[int, int]:
    n = ir.as_size(n)
    m = n if m is None else ir.as_size(m)
    if n < 0 or m < 0:
        refusal = TypeError if name == "tri" else ValueError  # as in JAX
        raise refusal(f"{name}: sizes must not be negative, got {n} and {m}.")
    return n, m


def _int32(k: ArrayLike, shape: Shape) -> ArrayLike:
    """The offset of a diagonal of a matrix."""
    return (
        promotion.strong_constant(_INT, near_offset(k, shape))
        if isinstance(k, int)
        else promotion.convert(k, _INT)
    )


def _row_and_column(shape: Shape, k: ArrayLike) -> tuple[Array, Array]:
    """The numbers of rows, moved by the diagonal's offset, and of columns."""
    offset = _int32(k, shape)
    rows = lax.add(lax.broadcasted_iota(_INT, shape, 0), offset)
    return rows, lax.broadcasted_iota(_INT, shape, 1)


def eye(
    N: int,
    M: int | None = None,
    k: int | Array = 0,
    dtype: DTypeLike | None = None,
    *,
    device: object = None,
) -> Array:
    """A matrix with ones on a diagonal and zeros elsewhere.

    Args:
      N, M: the numbers of rows and of columns; square without ``M``.
      k: which diagonal: 0 is the main one, positive ones lie above.
      dtype: the dtype, the default float without it.
      device: where the array goes.

    Returns:
      A matrix of shape ``(N, M)``.

    Raises:
      TypeError: if a size is not an int.
      ValueError: if a size is negative, or ``k`` is not an integer.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.eye(2, 3, k=1, dtype=int).tolist()
      [[0, 1, 0], [0, 0, 1]]

    Source: numpy.eye.
    """
    dtype = checked_dtype(ir.explicit_dtype(dtype, "eye"), "eye")
    shape = _sides("eye", N, M)
    return placed(_eye(*_offset("eye", k), shape=shape, k=_static_offset(k), dtype=dtype), device)


def _static_offset(k: int | Array) -> int | None:
    return None if hasattr(type(k), "aval") else index(k)


def _offset(name: str, k: int | Array) -> tuple[int | Array, ...]:
    """The offset of a diagonal, if it is an array."""
    (k,) = promotion.operands(name, k)
    refusal = ValueError if name == "eye" else TypeError  # as in JAX
    if not hasattr(type(k), "aval"):
        try:
            index(k)
        except TypeError:
            raise refusal(f"{name}: k must be an integer, got {k!r}.") from None
        return ()
    if np.ndim(k) or not ir.issubdtype(promotion.dtype_of(k), np.integer):
        raise refusal(f"{name}: k must be an integer, got {ir.get_aval(k).str_short()}.")
    return (k,)


@ir.inlined("eye")
def _eye(offset: ArrayLike = 0, *, shape: Shape, k: int | None, dtype: DTypeLike) -> Array:
    offset = _int32(offset if k is None else k, shape)
    rows, columns = (lax.broadcasted_iota(_INT, shape, i) for i in (0, 1))
    return promotion.convert(lax.eq(lax.add(rows, offset), columns), dtype)


def identity(n: int, dtype: DTypeLike | None = None) -> Array:
    """A square matrix with ones on the main diagonal; see ``eye``.

    Args:
      n: the number of rows and columns.
      dtype: the dtype, the default float without it.

    Returns:
      A matrix of shape ``(n, n)``.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.identity(2, int).tolist()
      [[1, 0], [0, 1]]

    Source: numpy.identity.
    """
    return eye(n, dtype=dtype)


def tri(N: int, M: int | None = None, k: int | Array = 0, dtype: DTypeLike | None = None) -> Array:
    """A matrix with ones on and below a diagonal and zeros above.

    Args:
      N, M: the numbers of rows and of columns; square without ``M``.
      k: which diagonal: 0 is the main one, positive ones lie above.
      dtype: the dtype, the default float without it.

    Returns:
      A matrix of shape ``(N, M)``.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.tri(2, dtype=int).tolist()
      [[1, 0], [1, 1]]

    Source: numpy.tri.
    """
    dtype = checked_dtype(ir.explicit_dtype(dtype, "tri"), "tri")
    return _tri(*_offset("tri", k), shape=_sides("tri", N, M), k=_static_offset(k), dtype=dtype)


@ir.inlined("tri")
def _tri(offset: ArrayLike = 0, *, shape: Shape, k: int | None, dtype: DTypeLike) -> Array:
    rows, columns = _row_and_column(shape, offset if k is None else k)
    return promotion.convert(lax.ge(rows, columns), dtype)


def _triangle(name: str, m: ArrayLike, k: int, lower: bool) -> Array:
    (m,) = promotion.operands(name, m)
    m = asarray(m)
    if m.ndim < 2:
        raise ValueError(f"{name} takes an array of at least 2 dimensions, got shape {m.shape}.")
    return (_tril if lower else _triu)(m, k=index(k))


@ir.composite("tril")
def _tril(m: Array, *, k: int) -> Array:
    return _cut("tril", m, k, True)


@ir.composite("triu")
def _triu(m: Array, *, k: int) -> Array:
    return _cut("triu", m, k - 1, False)


def _cut(name: str, m: Array, offset: int, lower: bool) -> Array:
    # On and below diagonal k, row + k ≥ column. What is above it is the upper triangle of k + 1.
    rows, columns = _row_and_column(m.shape[-2:], offset)
    mask = broadcast(lax.ge(rows, columns), m.shape)
    zero = lax.full((), 0, m.dtype) if ir.is_extended(m.dtype) else promotion.constant_like(m, 0)
    return select_where(mask, m, zero, name) if lower else select_where(mask, zero, m, name)


@ir.dispatched("k")
def tril(m: ArrayLike, k: int = 0) -> Array:
    """The matrices with zeros above a diagonal.

    Args:
      m: an array of shape (..., rows, columns).
      k: which diagonal: 0 is the main one, positive ones lie above.

    Returns:
      An array of the shape and dtype of ``m``.

    Raises:
      ValueError: if ``m`` has less than two dimensions.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.tril(jnp.ones((3, 3), int)).tolist()
      [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
      >>> mask = jnp.tril(jnp.ones((3, 3), bool))  # a position sees itself and what came before
      >>> jnp.where(mask, 0.0, -jnp.inf)[1].tolist()
      [0.0, 0.0, -inf]

    Source: numpy.tril.
    """
    return _triangle("tril", m, k, True)


@ir.dispatched("k")
def triu(m: ArrayLike, k: int = 0) -> Array:
    """The matrices with zeros below a diagonal; see ``tril``.

    Args:
      m, k: as for ``tril``.

    Returns:
      An array of the shape and dtype of ``m``.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.triu(jnp.ones((2, 2), int)).tolist()
      [[1, 1], [0, 1]]

    Source: numpy.triu.
    """
    return _triangle("triu", m, k, False)


def _triangle_indices(name: str, n: int, k: int, m: int | None) -> tuple[Array, Array]:
    n, m, k = ir.as_size(n), ir.as_size(n if m is None else m), index(k)
    lower = name == "tril_indices"
    if not (ir.is_symbolic_dim(n) or ir.is_symbolic_dim(m)):
        indices = (np.tril_indices if lower else np.triu_indices)(n, k, m)
        return from_host(indices[0]), from_host(indices[1])
    if n != m or not ir.surely_at_least(n, builtins.abs(k)):
        raise ir.InconclusiveDimensionOperation(
            f"{name}: how many elements a triangle of shape {(n, m)} has on diagonal {k} and its "
            "side of it has no formula for all values of the symbolic sizes."
        )
    # Transposed, an upper triangle from diagonal k on is the lower one up to diagonal -k.
    offset = k if lower else -k
    side = n - builtins.abs(offset)
    count = side * (side + 1) // 2 if offset <= 0 else n * n - side * (side - 1) // 2
    mask = tri(n, k=k, dtype=bool) if lower else lax.bitwise_not(tri(n, k=k - 1, dtype=bool))
    rows, columns = nonzero(mask, size=count)
    return rows, columns


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, Array]:
    """The indices of the elements on and below a diagonal of a matrix.

    Args:
      n, m: the numbers of rows and of columns; square without ``m``.
      k: which diagonal.

    Returns:
      A tuple of two integer vectors.

    Example:
      >>> import ricci.numpy as jnp
      >>> [i.tolist() for i in jnp.tril_indices(2)]
      [[0, 1, 1], [0, 0, 1]]

    Source: numpy.tril_indices.
    """
    return _triangle_indices("tril_indices", n, k, m)


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, Array]:
    """The indices of the elements on and above a diagonal of a matrix; see ``tril_indices``.

    Args:
      n, k, m: as for ``tril_indices``.

    Returns:
      A tuple of two integer vectors.

    Example:
      >>> import ricci.numpy as jnp
      >>> [i.tolist() for i in jnp.triu_indices(2)]
      [[0, 0, 1], [0, 1, 1]]

    Source: numpy.triu_indices.
    """
    return _triangle_indices("triu_indices", n, k, m)


def _matrix_shape(name: str, arr: ArrayLike) -> tuple[int, int]:
    shape = np.shape(promotion.as_operand(arr))
    if len(shape) != 2:
        raise ValueError(f"{name} takes a matrix, got an array of shape {shape}.")
    return shape


def tril_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Array, Array]:
    """The indices of the elements on and below a diagonal of a given matrix.

    Args:
      arr: a matrix.
      k: which diagonal.

    Returns:
      A tuple of two integer vectors.

    Raises:
      ValueError: if ``arr`` is not a matrix.

    Example:
      >>> import ricci.numpy as jnp
      >>> [i.tolist() for i in jnp.tril_indices_from(jnp.ones((2, 2)))]
      [[0, 1, 1], [0, 0, 1]]

    Source: numpy.tril_indices_from.
    """
    rows, columns = _matrix_shape("tril_indices_from", arr)
    return tril_indices(rows, k, columns)


def triu_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Array, Array]:
    """The indices of the elements on and above a diagonal of a given matrix.

    Args:
      arr, k: as for ``tril_indices_from``.

    Returns:
      A tuple of two integer vectors.

    Raises:
      ValueError: if ``arr`` is not a matrix.

    Example:
      >>> import ricci.numpy as jnp
      >>> [i.tolist() for i in jnp.triu_indices_from(jnp.ones((2, 2)))]
      [[0, 0, 1], [0, 1, 1]]

    Source: numpy.triu_indices_from.
    """
    rows, columns = _matrix_shape("triu_indices_from", arr)
    return triu_indices(rows, k, columns)


def mask_indices(
    n: int, mask_func: MaskFunction, k: int = 0, *, size: int | None = None
) -> tuple[Array, Array]:
    """The rows and columns of the elements that a function such as ``triu`` keeps.

    Args:
      n: the number of rows and columns.
      mask_func: a function of a matrix and an offset, which sets elements to zero.
      k: the offset.
      size: how many indices to give, for use under ``jit``; see ``nonzero``.

    Returns:
      A tuple of two integer vectors.

    Raises:
      TypeError: if ``n`` is not an int.

    Example:
      >>> import ricci.numpy as jnp
      >>> [x.tolist() for x in jnp.mask_indices(2, jnp.triu)]
      [[0, 0, 1], [0, 1, 1]]

    Source: numpy.mask_indices.
    """
    rows, columns = nonzero(mask_func(ones((n, n)), k), size=size)
    return rows, columns


def diag_indices(n: int, ndim: int = 2) -> tuple[Array, ...]:
    """The indices of the main diagonal of an array with equal sizes.

    Args:
      n: the size of each dimension.
      ndim: how many dimensions.

    Returns:
      A tuple of ``ndim`` integer vectors.

    Raises:
      ValueError: if ``n`` or ``ndim`` is negative.

    Example:
      >>> import ricci.numpy as jnp
      >>> [i.tolist() for i in jnp.diag_indices(2)]
      [[0, 1], [0, 1]]

    Source: numpy.diag_indices.
    """
    n, ndim = index(n), index(ndim)
    if n < 0 or ndim < 0:
        raise ValueError(f"diag_indices: n={n} and ndim={ndim}, but neither can be below 0.")
    return (lax.iota(int, n),) * ndim


def diag_indices_from(arr: ArrayLike) -> tuple[Array, ...]:
    """The indices of the main diagonal of a given array with equal sizes.

    Args:
      arr: an array with equal sizes, of two dimensions or more.

    Returns:
      A tuple of integer vectors, one for each dimension.

    Raises:
      ValueError: if the sizes differ, or there are less than two dimensions.

    Example:
      >>> import ricci.numpy as jnp
      >>> [i.tolist() for i in jnp.diag_indices_from(jnp.ones((2, 2)))]
      [[0, 1], [0, 1]]

    Source: numpy.diag_indices_from.
    """
    shape = np.shape(promotion.as_operand(arr))
    if len(shape) < 2 or len(set(shape)) != 1:
        raise ValueError(
            f"diag_indices_from takes an array with 2 or more equal sizes, got shape {shape}."
        )
    return diag_indices(shape[0], len(shape))
