"""Diagonals of arrays, and matrices made from them."""

import builtins
from operator import index

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_numpy._promotion import INT32, canonical_axes, constant_like, convert, no_out, operands
from ricci_numpy.arrays._creation import chosen_dtype
from ricci_numpy.indexing._at import at
from ricci_numpy.indexing._brackets import getitem
from ricci_numpy.indexing._where import where_step
from ricci_numpy.reductions._axis_reductions import sum
from ricci_numpy.shapes._reshaping import ravel
from ricci_numpy.shapes._transposing import moveaxis

__all__ = ["diag", "diagflat", "diagonal", "trace"]

_FAR = 1 << 30


@ir.dispatched("offset", "axis1", "axis2")
def diagonal(a: ir.ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> ir.Array:
    """The diagonals of an array, as its last dimension.

    Args:
      a: an array.
      offset: how far above the main diagonal; below it if negative.
      axis1, axis2: the dimensions of rows and columns.

    Returns:
      An array without the two dimensions, and with one of the diagonal's length at the end.

    Raises:
      ValueError: if ``a`` has fewer than two dimensions, or the axes are equal or do not exist.
      TypeError: if ``a`` is not an array.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.diagonal(jnp.arange(4).reshape(2, 2)).tolist()
      [0, 3]

    Source: numpy.diagonal.
    """
    (a,) = operands("diagonal", a)
    if np.ndim(a) < 2:
        raise ValueError(
            f"diagonal: an array of shape {np.shape(a)} has no pair of axes for a diagonal to run "
            "along."
        )
    axes = canonical_axes((axis1, axis2), np.ndim(a), "axis")
    return _diagonal(a, offset=index(offset), axes=axes)


def near_offset(k: int, shape: ir.Shape) -> int:
    """The offset of a diagonal as a number that an int32 holds, that of a row added.

    Offsets beyond the matrix are equivalent: no element is on such a diagonal.
    """
    return k if builtins.abs(k) < _FAR else shape[1] if k > 0 else -shape[0]


@ir.composite("diagonal")
def _diagonal(a: ir.Array, *, offset: int, axes: tuple[int, ...]) -> ir.Array:
    a = moveaxis(a, axes, (-2, -1))
    rows, columns = np.shape(a)[-2:]
    offset = near_offset(offset, (rows, columns))
    size = ir.max_dim(ir.min_dim(rows + min(offset, 0), columns - max(offset, 0)), 0)
    i, j = lax.iota(INT32, size), lax.iota(INT32, size)
    if offset > 0:
        j = lax.add(np.int32(offset), j)
    elif offset < 0:
        i = lax.add(np.int32(-offset), i)
    elements = getitem(a, (..., i, j))
    # As in JAX, the main diagonal of a square matrix has a strong type.
    strong = size and np.ndim(a) == 2 and rows == columns and not offset
    return convert(elements, elements.dtype) if strong else elements


def _on_diagonal(shape: ir.Shape, offset: int | ir.Array) -> ir.Array:
    """A mask of the elements on a diagonal of a matrix."""
    rows, columns = lax.broadcasted_iota(INT32, shape, 0), lax.broadcasted_iota(INT32, shape, 1)
    if isinstance(offset, int):
        moved = lax.add(rows, np.int32(near_offset(offset, shape)))
    else:
        moved = lax.add(rows, lax.convert_element_type(offset, INT32))
    return lax.eq(moved, columns)


@ir.dispatched("axis1", "axis2", "dtype", "out")
def trace(
    a: ir.ArrayLike,
    offset: int | ir.Array = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: ir.DTypeLike | None = None,
    out: None = None,
) -> ir.Array:
    """The sum of a diagonal.

    Args:
      a: an array.
      offset: how far above the main diagonal; below it if negative.
      axis1, axis2: the dimensions of rows and columns.
      dtype: the result's dtype.
      out: must be ``None``.

    Returns:
      An array without the two dimensions.

    Raises:
      ValueError: if the axes are equal or do not exist.
      TypeError: if ``a`` is not an array.

    Example:
      >>> import ricci.numpy as jnp
      >>> int(jnp.trace(jnp.arange(4).reshape(2, 2)))
      3

    Source: numpy.trace.
    """
    no_out("trace", out)
    a, offset = operands("trace", a, offset)
    axes = canonical_axes((axis1, axis2), np.ndim(a), "axis")
    dtype = chosen_dtype(dtype, "trace")
    if isinstance(offset, int):
        return _trace(a, offset=offset, axes=axes, dtype=dtype)
    return _trace_at(a, offset, axes=axes, dtype=dtype)


@ir.composite("trace")
def _trace(
    a: ir.Array, *, offset: int, axes: tuple[int, ...], dtype: ir.DTypeLike | None
) -> ir.Array:
    return _masked_sum(a, offset, axes, dtype)


@ir.composite("trace")
def _trace_at(
    a: ir.Array, offset: int | ir.Array, *, axes: tuple[int, ...], dtype: ir.DTypeLike | None
) -> ir.Array:
    return _masked_sum(a, offset, axes, dtype)


def _masked_sum(
    a: ir.Array, offset: int | ir.Array, axes: tuple[int, ...], dtype: ir.DTypeLike | None
) -> ir.Array:
    # A diagonal at a traced offset has no static size: the others are set to zero instead, which
    # does not change the sum.
    a = moveaxis(a, axes, (-2, -1))
    shape = np.shape(a)
    mask = _on_diagonal(shape[-2:], offset)
    mask = lax.broadcast_in_dim(mask, shape, (len(shape) - 2, len(shape) - 1))
    a_dtype = ir.get_aval(a).dtype
    zeros = lax.full(shape, np.zeros((), a_dtype)[()], a_dtype)
    return sum(where_step(mask, a, zeros), axis=(-2, -1), dtype=dtype)


def diag(v: ir.ArrayLike, k: int = 0) -> ir.Array:
    """The diagonal of a matrix, or a matrix with a vector on its diagonal.

    Args:
      v: a matrix or a vector.
      k: how far above the main diagonal; below it if negative.

    Returns:
      A vector of the diagonal, or a square matrix.

    Raises:
      ValueError: if ``v`` is neither.
      TypeError: if ``v`` is not an array.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.diag(jnp.array([1, 2])).tolist()
      [[1, 0], [0, 2]]
      >>> jnp.diag(jnp.array([[1, 2], [3, 4]]), k=1).tolist()
      [2]

    See also:
      ``diagonal``, of many matrices. Multiply rows by ``v[:, None] * x`` rather than ``diag(v) @
      x``.

    Source: numpy.diag.
    """
    (v,) = operands("diag", v)
    if np.ndim(v) not in (1, 2):
        raise ValueError(f"diag needs a vector or a matrix, got shape {np.shape(v)}.")
    return _diag(v, k=index(k))


@ir.composite("_diag")
def _diag(v: ir.Array, *, k: int) -> ir.Array:
    if np.ndim(v) == 2:
        return diagonal(v, k)
    zero = constant_like(v, 0)
    # Row ``i`` of the result holds element ``i`` of ``rows``.
    rows = lax.pad(v, zero, ((max(0, -k), max(0, k), 0),))
    size = np.shape(v)[0] + builtins.abs(k)
    mask = _on_diagonal((size, size), k)
    return where_step(mask, lax.expand_dims(rows, (1,)), zero)


def diagflat(v: ir.ArrayLike, k: int = 0) -> ir.Array:
    """A matrix with the elements of an array on its diagonal.

    Args:
      v: an array or scalar.
      k: how far above the main diagonal; below it if negative.

    Returns:
      A square matrix of the dtype of ``v``.

    Raises:
      TypeError: if ``v`` is not an array.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.diagflat(jnp.array([[1], [2]])).tolist()
      [[1, 0], [0, 2]]

    Source: numpy.diagflat.
    """
    (v,) = operands("diagflat", v)
    values = ravel(v)
    count = np.shape(values)[0]
    size = count + builtins.abs(k)
    aval = ir.get_aval(v)
    matrix = lax.full((size * size,), ir.exact_scalar(0, aval.dtype), aval.dtype)
    i = lax.iota(INT32, count)
    rows = lax.add(i, np.int32(-k)) if k < 0 else i
    columns = lax.add(i, np.int32(max(0, k)))
    # Positions in the flattened matrix: a scatter along one dimension.
    places = lax.add(columns, lax.mul(rows, np.int32(size)))
    return lax.reshape(at(matrix)[places].set(values), (size, size))
