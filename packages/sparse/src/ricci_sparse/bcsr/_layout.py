"""The layout of BCSR arrays: checks of their parts, conversion, rows and row pointers."""

from typing import NamedTuple

import ricci_numpy as jnp
from ricci_ir import Array, DTypeLike, Primitive, composite
from ricci_sparse._function_primitives import function_primitive
from ricci_sparse.bcoo import bcoo_extract_p, bcoo_fromdense_p, bcoo_todense_p
from ricci_sparse.bcoo._layout import Shaped
from ricci_sparse.layouts import SparseInfo, over_batches

__all__ = ["BCSRProperties", "bcsr_extract_p", "bcsr_fromdense_p", "bcsr_todense_p"]


class BCSRProperties(NamedTuple):
    """The numbers of batch and dense dimensions and of stored elements.

    Attributes:
      n_batch: the number of leading batch dimensions.
      n_dense: the number of trailing dense dimensions.
      nse: the number of elements that are stored for each batch.
    """

    n_batch: int
    n_dense: int
    nse: int


def bcsr_properties(ndim: int, n_batch: int, n_dense: int) -> None:
    """Raise ``ValueError`` unless exactly two dimensions are neither batches nor dense."""
    if n_batch < 0 or n_dense < 0 or ndim - n_batch - n_dense != 2:
        raise ValueError(
            f"BCSR arrays have two sparse dimensions, but of {ndim} dimensions {n_batch} are "
            f"batches and {n_dense} dense."
        )


def validate(
    data: Shaped, indices: Shaped, indptr: Shaped, shape: tuple[int, ...]
) -> BCSRProperties:
    """The properties of a BCSR array, after checking its parts against its shape.

    Raises:
      ValueError: if they do not.
    """
    n_batch = len(indices.shape) - 1
    n_dense = len(shape) - n_batch - 2
    problem = (
        f"data of shape {tuple(data.shape)}, indices of shape {tuple(indices.shape)} and indptr of "
        f"shape {tuple(indptr.shape)} do not fit to an array of shape {shape}"
    )
    if n_batch < 0 or n_dense < 0:
        raise ValueError(f"BCSR: {problem}: it must have two sparse dimensions behind its batches.")
    if len(data.shape) != n_batch + 1 + n_dense or len(indptr.shape) != n_batch + 1:
        raise ValueError(f"BCSR: {problem}: with {n_batch} batch dimensions their ranks are wrong.")
    if data.shape[n_batch] != indices.shape[-1]:
        raise ValueError(f"BCSR: {problem}: data and indices must have as many elements.")
    if indptr.shape[-1] != shape[n_batch] + 1:
        raise ValueError(f"BCSR: {problem}: indptr must have {shape[n_batch]} + 1 elements.")
    if tuple(data.shape[n_batch + 1 :]) != tuple(shape[n_batch + 2 :]):
        raise ValueError(
            f"BCSR: {problem}: the last dimensions of data must be those of the shape."
        )
    for part in (data, indices, indptr):
        if any(n not in (1, whole) for n, whole in zip(part.shape[:n_batch], shape, strict=False)):
            raise ValueError(f"BCSR: {problem}: batches must be those of the shape, or 1.")
    return BCSRProperties(n_batch, n_dense, indices.shape[-1])


def rows_of(indptr: Array, nse: int) -> Array:
    """The row of each stored element; elements behind the last row get the number of rows."""
    return _rows_of(indptr, nse=nse)


@composite("rows_of_elements")
def _rows_of(indptr: Array, *, nse: int) -> Array:
    def one(indptr: Array) -> Array:
        # An element's row is the number of rows that end at or before its position.
        ends = jnp.zeros(nse, indptr.dtype).at[indptr[1:]].add(1, mode="drop")
        return jnp.cumsum(ends, dtype=indptr.dtype)

    return over_batches(one, indptr.ndim - 1, indptr)


def starts_of(rows: Array, n_rows: int) -> Array:
    """The row pointers (``indptr``) of sorted row indices."""
    return _starts_of(rows, n_rows=n_rows)


@composite("starts_of_rows")
def _starts_of(rows: Array, *, n_rows: int) -> Array:
    numbers = jnp.arange(n_rows + 1, dtype=rows.dtype)

    def one(rows: Array) -> Array:
        # The position of the first element whose row is at least i; padding has the number of rows.
        return jnp.searchsorted(rows, numbers).astype(rows.dtype)

    return over_batches(one, rows.ndim - 1, rows)


def with_rows(indices: Array, indptr: Array) -> Array:
    """The BCOO indices of the elements of a BCSR array."""
    rows = rows_of(indptr, indices.shape[-1]).astype(indices.dtype)
    return jnp.stack(jnp.broadcast_arrays(rows, indices), axis=-1)


def _todense(data: Array, indices: Array, indptr: Array, *, spinfo: SparseInfo) -> Array:
    # The promise is about the columns within a row; it is not passed on for (row, column) pairs.
    unsorted = spinfo._replace(indices_sorted=False)
    return bcoo_todense_p.bind(data, with_rows(indices, indptr), spinfo=unsorted)


def _fromdense(
    mat: Array, *, nse: int, n_batch: int, n_dense: int, index_dtype: DTypeLike
) -> tuple[Array, Array, Array]:
    data, indices = bcoo_fromdense_p.bind(
        mat, nse=nse, n_batch=n_batch, n_dense=n_dense, index_dtype=index_dtype
    )
    return data, indices[..., 1], starts_of(indices[..., 0], mat.shape[n_batch])


def _extract(indices: Array, indptr: Array, mat: Array) -> Array:
    return bcoo_extract_p.bind(with_rows(indices, indptr), mat)


bcsr_todense_p: Primitive = function_primitive("bcsr_todense", _todense)
bcsr_fromdense_p: Primitive = function_primitive(
    "bcsr_fromdense", _fromdense, multiple_results=True
)
bcsr_extract_p: Primitive = function_primitive("bcsr_extract", _extract)
