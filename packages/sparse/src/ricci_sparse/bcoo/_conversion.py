"""Conversion between BCOO and dense arrays."""

from typing import Any

import ricci_numpy as jnp
from ricci_ir import Array, ArrayLike, DTypeLike, Primitive
from ricci_sparse._function_primitives import function_primitive
from ricci_sparse.layouts import SparseInfo, over_batches

from ._layout import properties_of, whole_batches

__all__ = ["bcoo_extract_p", "bcoo_fromdense_p", "bcoo_todense_p"]


def _todense(data: Array, indices: Array, *, spinfo: SparseInfo) -> Array:
    shape = spinfo.shape
    n_batch, n_sparse, _, _ = properties_of(indices, shape)
    data, indices = whole_batches(data, indices, shape)
    if not n_sparse:
        return jnp.sum(data, axis=n_batch, dtype=data.dtype)

    def one(data: Array, indices: Array) -> Array:
        at = tuple(indices[:, d] for d in range(n_sparse))
        zeros = jnp.zeros(shape[n_batch:], data.dtype)
        if data.dtype == bool:
            return zeros.at[at].max(data, mode="drop")
        return zeros.at[at].add(
            data,
            mode="drop",
            indices_are_sorted=spinfo.indices_sorted,
            unique_indices=spinfo.unique_indices,
        )

    return over_batches(one, n_batch, data, indices)


def _fromdense(
    mat: Array, *, nse: int, n_batch: int, n_dense: int, index_dtype: DTypeLike
) -> tuple[Array, Array]:
    n_sparse = mat.ndim - n_batch - n_dense
    sizes = mat.shape[n_batch : n_batch + n_sparse]
    mask = _nonzero_mask(mat, n_dense)

    def positions(mask: Array) -> Array:
        if not n_sparse:
            return jnp.zeros((nse, 0), index_dtype)
        columns = jnp.nonzero(mask, size=nse, fill_value=sizes)
        return jnp.stack(columns, axis=-1).astype(index_dtype)

    indices = over_batches(positions, n_batch, mask)
    return bcoo_extract_p.bind(indices, mat), indices


def _extract(indices: Array, mat: Array) -> Array:
    n_batch, n_sparse = indices.ndim - 2, indices.shape[-1]

    def one(indices: Array, mat: Array) -> Array:
        if not n_sparse:
            return jnp.broadcast_to(mat[None], (indices.shape[0], *mat.shape))
        at = tuple(indices[:, d] for d in range(n_sparse))
        return mat.at[at].get(mode="fill", fill_value=0)

    return over_batches(one, n_batch, indices, mat)


bcoo_todense_p: Primitive = function_primitive("bcoo_todense", _todense)
bcoo_extract_p: Primitive = function_primitive("bcoo_extract", _extract)
bcoo_fromdense_p: Primitive = function_primitive(
    "bcoo_fromdense", _fromdense, multiple_results=True
)


def _nonzero_mask(mat: ArrayLike, n_dense: int) -> Any:
    """Mask of the batch and sparse positions whose dense element has a nonzero entry."""
    mask = jnp.asarray(mat) != 0
    return jnp.any(mask, axis=tuple(range(-n_dense, 0))) if n_dense else mask


def count_stored_elements(mat: ArrayLike, n_batch: int = 0, n_dense: int = 0) -> Any:
    """The number of elements to store for each batch: the largest count of nonzeros."""
    mask = _nonzero_mask(mat, n_dense)
    if not n_batch:
        return jnp.sum(mask)
    counts = jnp.sum(mask, axis=tuple(range(n_batch, mask.ndim)))
    return jnp.max(counts, initial=0)
