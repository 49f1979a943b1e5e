"""Functions to convert, multiply and concatenate BCSR arrays."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import Array, ArrayLike, DTypeLike, Primitive, Shape, config
from ricci_sparse._function_primitives import function_primitive
from ricci_sparse._row_products import row_products
from ricci_sparse.bcoo import bcoo_broadcast_in_dim, bcoo_concatenate, bcoo_dot_general_p
from ricci_sparse.bcoo._functions import as_numbers, check_product_shapes
from ricci_sparse.layouts import SparseInfo

from ._array import BCSR
from ._layout import bcsr_extract_p, rows_of, with_rows

__all__ = ["bcsr_broadcast_in_dim", "bcsr_concatenate", "bcsr_dot_general", "bcsr_dot_general_p"]
__all__ += ["bcsr_eliminate_zeros", "bcsr_extract", "bcsr_fromdense", "bcsr_sum_duplicates"]
__all__ += ["bcsr_todense"]


def _dot_general(
    data: Array,
    indices: Array,
    indptr: Array,
    rhs: Array,
    *,
    dimension_numbers: Any,
    preferred_element_type: DTypeLike,
    lhs_spinfo: SparseInfo,
) -> Array:
    # The usual product of a matrix keeps the row pointers; others go by pairs of indices.
    plain = dimension_numbers == (((1,), (0,)), ((), ())) and rhs.ndim in (1, 2)
    if plain and len(lhs_spinfo.shape) == 2 and data.size and rhs.size and data.ndim == 1:
        return _matrix_product(
            data.astype(preferred_element_type),
            indices,
            indptr,
            rhs.astype(preferred_element_type),
            lhs_spinfo.shape,
        )
    # Sorted rows alone are not a lexicographic order of indices.
    return bcoo_dot_general_p.bind(
        data,
        with_rows(indices, indptr),
        rhs,
        dimension_numbers=dimension_numbers,
        preferred_element_type=preferred_element_type,
        lhs_spinfo=lhs_spinfo,
    )


def _matrix_product(
    data: Array, indices: Array, indptr: Array, rhs: Array, shape: tuple[int, ...]
) -> Array:
    """The product of a matrix, whose elements out of bounds count as zero."""
    n_rows, n_columns = shape
    nse = data.shape[0]
    dtype = jnp.promote_types(jnp.promote_types(indices.dtype, indptr.dtype), jnp.int32)
    indptr = jnp.clip(indptr.astype(dtype), 0, nse)
    # ``indptr`` may end before the last stored element; what follows is padding.
    stored = jnp.arange(nse, dtype=dtype) < indptr[-1]
    inside = (indices >= 0) & (indices < n_columns)
    data = jnp.where(inside & stored, data, jnp.zeros((), data.dtype))
    columns = jnp.clip(indices.astype(dtype), 0, n_columns - 1)
    rows = jnp.clip(rows_of(indptr, nse), 0, n_rows - 1)
    form = "csr" if config.jax_bcoo_cusparse_lowering else None
    params = {"n_rows": n_rows, "order": "rows", "cusparse": form}
    return row_products(data, rows, columns, rhs, indptr=indptr, **params)


bcsr_dot_general_p: Primitive = function_primitive("bcsr_dot_general", _dot_general)


def bcsr_dot_general(
    lhs: BCSR | Array,
    rhs: Array,
    *,
    dimension_numbers: lax.DotDimensionNumbers,
    precision: None = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: Any = None,
) -> Array:
    """The product of a BCSR array and a dense one: see ``bcoo_dot_general``.

    Args:
      lhs: the BCSR array.
      rhs: the dense array.
      dimension_numbers, precision, preferred_element_type: as for ``bcoo_dot_general``.
      out_sharding: not used.

    Returns:
      A dense array.

    Raises:
      TypeError: if the shapes are incompatible.
      NotImplementedError: if ``rhs`` is sparse, or for dimension numbers that the layout of ``lhs``
        does not allow.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental import sparse
      >>> M = sparse.BCSR.fromdense(jnp.array([[0, 2], [1, 0]]))
      >>> contract = (((1,), (0,)), ((), ()))
      >>> sparse.bcsr_dot_general(M, jnp.array([3, 4]), dimension_numbers=contract).tolist()
      [8, 3]
    """
    numbers = as_numbers(dimension_numbers)
    if isinstance(rhs, BCSR):
        raise NotImplementedError(
            "bcsr_dot_general: the second operand must be dense. Use bcoo_dot_general on "
            "mat.to_bcoo()."
        )
    rhs = jnp.asarray(rhs)
    if not isinstance(lhs, BCSR):
        return lax.dot_general(
            lhs, rhs, numbers, precision=precision, preferred_element_type=preferred_element_type
        )
    check_product_shapes(lhs.shape, rhs.shape, numbers)
    (lhs_contract, _), (lhs_batch, _) = numbers
    if any(d >= lhs.n_batch for d in lhs_batch):
        raise NotImplementedError(
            f"bcsr_dot_general: batch dimensions {lhs_batch} must be among the first "
            f"{lhs.n_batch} dimensions of the sparse array, which are its batches."
        )
    if any(d >= lhs.n_batch + 2 for d in lhs_contract):
        raise NotImplementedError("bcsr_dot_general: contracting over dense dimensions.")
    out_dtype = jnp.promote_types(lhs.dtype, rhs.dtype)
    if preferred_element_type is not None:
        out_dtype = jnp.dtype(preferred_element_type)
    return bcsr_dot_general_p.bind(
        lhs.data,
        lhs.indices,
        lhs.indptr,
        rhs,
        dimension_numbers=numbers,
        preferred_element_type=out_dtype,
        lhs_spinfo=lhs.info,
    )


def bcsr_todense(mat: BCSR) -> Array:
    """The dense array that a BCSR array represents.

    Args:
      mat: the array.

    Returns:
      A dense array of the shape of ``mat``.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental import sparse
      >>> M = sparse.BCSR.fromdense(jnp.array([[0, 2], [1, 0]]))
      >>> sparse.bcsr_todense(M).tolist()
      [[0, 2], [1, 0]]
    """
    return mat.todense()


def bcsr_fromdense(
    mat: ArrayLike,
    *,
    nse: int | None = None,
    n_batch: int = 0,
    n_dense: int = 0,
    index_dtype: DTypeLike = np.int32,
) -> BCSR:
    """The elements of an array that are not zero: see ``BCSR.fromdense``.

    Args:
      mat: the array.
      nse, n_batch, n_dense, index_dtype: as for ``BCSR.fromdense``.

    Returns:
      A BCSR array.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental import sparse
      >>> sparse.bcsr_fromdense(jnp.array([[0, 2], [1, 0]])).indptr.tolist()
      [0, 1, 2]
    """
    return BCSR.fromdense(mat, nse=nse, n_batch=n_batch, n_dense=n_dense, index_dtype=index_dtype)


def bcsr_extract(indices: ArrayLike, indptr: ArrayLike, mat: ArrayLike) -> Array:
    """The elements of a dense array at the indices of a BCSR array.

    Args:
      indices: the columns.
      indptr: the row pointers.
      mat: the dense array.

    Returns:
      The elements, the ``data`` of a BCSR array; zero where an index is out of bounds.

    Raises:
      ValueError: if ``mat`` has another number of rows or of batches.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental import sparse
      >>> M = sparse.BCSR.fromdense(jnp.array([[0, 2], [1, 0]]))
      >>> sparse.bcsr_extract(M.indices, M.indptr, jnp.array([[5, 6], [7, 8]])).tolist()
      [6, 7]
    """
    columns, rows, dense = map(jnp.asarray, (indices, indptr, mat))
    expected = (*columns.shape[:-1], rows.shape[-1] - 1)
    if dense.shape[: columns.ndim] != expected:
        raise ValueError(
            f"bcsr_extract: mat has shape {dense.shape}, but the first dimensions of one with "
            f"these indices are {expected}: the batches, and the number of rows of indptr."
        )
    return bcsr_extract_p.bind(columns, rows, dense)


def bcsr_sum_duplicates(mat: BCSR, nse: int | None = None) -> BCSR:
    """Sum elements with the same index: see ``BCSR.sum_duplicates``.

    Elements that are zero are not removed.

    Args:
      mat: the array.
      nse: the number of stored elements: see ``BCSR.sum_duplicates``.

    Returns:
      A BCSR array.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental import sparse
      >>> M = sparse.BCSR.fromdense(jnp.array([[0, 2], [1, 0]]))
      >>> sparse.bcsr_sum_duplicates(M).nse
      2
    """
    return mat.sum_duplicates(nse, remove_zeros=False)


def bcsr_eliminate_zeros(mat: BCSR, nse: int | None = None) -> BCSR:
    """The same array without elements that are zero, and each index stored once.

    Args:
      mat: the array.
      nse: the number of stored elements: see ``BCSR.sum_duplicates``.

    Returns:
      A BCSR array.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental import sparse
      >>> M = sparse.BCSR.fromdense(jnp.array([[0, 2], [1, 0]]))
      >>> sparse.bcsr_eliminate_zeros(M).nse
      2
    """
    return mat.sum_duplicates(nse)


def bcsr_broadcast_in_dim(
    mat: BCSR, *, shape: Shape, broadcast_dimensions: Sequence[int], sharding: Any = None
) -> BCSR:
    """Broadcast an array along new dimensions: see ``bcoo_broadcast_in_dim``.

    Args:
      mat: the array.
      shape, broadcast_dimensions, sharding: as for ``bcoo_broadcast_in_dim``.

    Returns:
      A BCSR array of that shape.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental import sparse
      >>> M = sparse.BCSR.fromdense(jnp.array([[0, 2], [1, 0]]))
      >>> sparse.bcsr_broadcast_in_dim(M, shape=(3, 2, 2), broadcast_dimensions=(1, 2)).shape
      (3, 2, 2)
    """
    result = bcoo_broadcast_in_dim(
        mat.to_bcoo(), shape=shape, broadcast_dimensions=broadcast_dimensions
    )
    return BCSR.from_bcoo(result)


def bcsr_concatenate(operands: Sequence[BCSR], *, dimension: int) -> BCSR:
    """Concatenate arrays along a dimension: see ``bcoo_concatenate``.

    Args:
      operands: the arrays, of one layout.
      dimension: the dimension, which must not be a dense one.

    Returns:
      A BCSR array.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental import sparse
      >>> M = sparse.BCSR.fromdense(jnp.array([[0, 2], [1, 0]]))
      >>> sparse.bcsr_concatenate([M, M], dimension=0).todense().tolist()
      [[0, 2], [1, 0], [0, 2], [1, 0]]
    """
    return BCSR.from_bcoo(
        bcoo_concatenate([mat.to_bcoo() for mat in operands], dimension=dimension)
    )
