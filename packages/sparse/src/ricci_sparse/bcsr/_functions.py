"""The functions that convert, multiply and join BCSR arrays."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import Array, ArrayLike, DTypeLike, Primitive, Shape
from ricci_lax import DotDimensionNumbers
from ricci_sparse._formulas import formula
from ricci_sparse._row_products import row_products
from ricci_sparse.bcoo import bcoo_broadcast_in_dim, bcoo_concatenate, bcoo_dot_general_p
from ricci_sparse.bcoo._functions import as_numbers, check_product_shapes
from ricci_sparse.layouts import SparseInfo

from ._array import BCSR
from ._conversion import bcsr_extract_p, rows_of, with_rows

__all__ = [
    "bcsr_broadcast_in_dim",
    "bcsr_concatenate",
    "bcsr_dot_general",
    "bcsr_dot_general_p",
    "bcsr_eliminate_zeros",
    "bcsr_extract",
    "bcsr_fromdense",
    "bcsr_sum_duplicates",
    "bcsr_todense",
]


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
    plain = dimension_numbers == (((1,), (0,)), ((), ())) and rhs.ndim in (1, 2)
    if plain and len(lhs_spinfo.shape) == 2 and data.size and rhs.size and data.ndim == 1:
        return _matrix_product(
            data.astype(preferred_element_type),
            indices,
            indptr,
            rhs.astype(preferred_element_type),
            lhs_spinfo.shape,
        )
    # The order of rows alone is no lexicographic order of indices.
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
    """The product of a matrix; elements that lie outside of it count as zero."""
    n_rows, n_columns = shape
    nse = data.shape[0]
    dtype = jnp.promote_types(jnp.promote_types(indices.dtype, indptr.dtype), jnp.int32)
    indptr = jnp.clip(indptr.astype(dtype), 0, nse)
    stored = jnp.arange(nse, dtype=dtype) < indptr[-1]
    inside = (indices >= 0) & (indices < n_columns)
    data = jnp.where(inside & stored, data, jnp.zeros((), data.dtype))
    columns = jnp.clip(indices.astype(dtype), 0, n_columns - 1)
    rows = jnp.clip(rows_of(indptr, nse), 0, n_rows - 1)
    return row_products(data, rows, columns, indptr, rhs, in_order=True)


bcsr_dot_general_p: Primitive = formula("bcsr_dot_general", _dot_general)


def bcsr_dot_general(
    lhs: BCSR | Array,
    rhs: Array,
    *,
    dimension_numbers: DotDimensionNumbers,
    precision: None = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: Any = None,
) -> Array:
    """The product of a BCSR array and a dense one: see ``bcoo_dot_general``.

    Raises:
      TypeError: if the shapes do not fit.
      NotImplementedError: if ``rhs`` is sparse, or for dimension numbers that the layout of ``lhs``
        does not allow.
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
    found = jnp.promote_types(lhs.dtype, rhs.dtype)
    if preferred_element_type is not None:
        found = jnp.dtype(preferred_element_type)
    return bcsr_dot_general_p.bind(
        lhs.data,
        lhs.indices,
        lhs.indptr,
        rhs,
        dimension_numbers=numbers,
        preferred_element_type=found,
        lhs_spinfo=lhs.info,
    )


def bcsr_todense(mat: BCSR) -> Array:
    """The array that a BCSR array stands for."""
    return mat.todense()


def bcsr_fromdense(
    mat: ArrayLike,
    *,
    nse: int | None = None,
    n_batch: int = 0,
    n_dense: int = 0,
    index_dtype: DTypeLike = np.int32,
) -> BCSR:
    """The elements of an array that are not zero: see ``BCSR.fromdense``."""
    return BCSR.fromdense(mat, nse=nse, n_batch=n_batch, n_dense=n_dense, index_dtype=index_dtype)


def bcsr_extract(indices: ArrayLike, indptr: ArrayLike, mat: ArrayLike) -> Array:
    """The elements of a dense array at the indices of a BCSR array.

    Args:
      indices: the columns.
      indptr: where each row begins.
      mat: the dense array.

    Returns:
      The elements, the ``data`` of a BCSR array; zero where an index is out of bounds.
    """
    return bcsr_extract_p.bind(*map(jnp.asarray, (indices, indptr, mat)))


def bcsr_sum_duplicates(mat: BCSR, nse: int | None = None) -> BCSR:
    """The same array with each index stored once: see ``BCSR.sum_duplicates``.

    Elements that are zero stay.
    """
    return mat.sum_duplicates(nse, remove_zeros=False)


def bcsr_eliminate_zeros(mat: BCSR, nse: int | None = None) -> BCSR:
    """The same array without elements that are zero, and each index stored once."""
    return mat.sum_duplicates(nse)


def bcsr_broadcast_in_dim(
    mat: BCSR, *, shape: Shape, broadcast_dimensions: Sequence[int], sharding: Any = None
) -> BCSR:
    """The array with further dimensions: see ``bcoo_broadcast_in_dim``."""
    result = bcoo_broadcast_in_dim(
        mat.to_bcoo(), shape=shape, broadcast_dimensions=broadcast_dimensions
    )
    return BCSR.from_bcoo(result)


def bcsr_concatenate(operands: Sequence[BCSR], *, dimension: int) -> BCSR:
    """Arrays joined along a dimension: see ``bcoo_concatenate``."""
    return BCSR.from_bcoo(
        bcoo_concatenate([mat.to_bcoo() for mat in operands], dimension=dimension)
    )
