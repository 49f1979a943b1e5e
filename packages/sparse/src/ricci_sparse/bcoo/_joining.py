"""Concatenation of BCOO arrays."""

from collections.abc import Sequence

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import Array

from ._array import BCOO
from ._layout import whole_batches

__all__ = ["bcoo_concatenate"]


def bcoo_concatenate(operands: Sequence[BCOO], *, dimension: int) -> BCOO:
    """Concatenate arrays along a dimension: see ``lax.concatenate``.

    Args:
      operands: the arrays, of one layout.
      dimension: the dimension, which must not be a dense one.

    Returns:
      A BCOO array.

    Raises:
      ValueError: if there are none, one is not a BCOO array, or their layouts differ.
      TypeError: if the shapes or dtypes are incompatible.
      NotImplementedError: for a dense dimension.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental import sparse
      >>> M = sparse.BCOO.fromdense(jnp.array([[0, 2], [1, 0]]))
      >>> sparse.bcoo_concatenate([M, M], dimension=1).todense().tolist()
      [[0, 2, 0, 2], [1, 0, 1, 0]]
    """
    mats = list(operands)
    if not mats:
        raise ValueError("bcoo_concatenate requires a non-empty sequence of arrays.")
    if any(not isinstance(mat, BCOO) for mat in mats):
        kinds = ", ".join(type(mat).__name__ for mat in mats)
        raise ValueError(f"bcoo_concatenate takes a sequence of BCOO arrays, got {kinds}.")
    first = mats[0]
    axis = int(dimension)
    if not 0 <= axis < first.ndim:
        raise TypeError(
            f"bcoo_concatenate: dimension {axis} is out of bounds for shape {first.shape}."
        )
    others = [mat.shape[:axis] + mat.shape[axis + 1 :] for mat in mats]
    if any(mat.ndim != first.ndim for mat in mats) or len(set(others)) > 1:
        shapes = ", ".join(str(mat.shape) for mat in mats)
        raise TypeError(
            "Cannot concatenate arrays with shapes that differ in dimensions other than the one "
            f"being concatenated: dimension {axis} of {shapes}."
        )
    if len({mat.dtype for mat in mats}) > 1:
        names = ", ".join(mat.dtype.name for mat in mats)
        raise TypeError(f"bcoo_concatenate: the arrays must have the same dtype, got {names}.")
    for name in ("n_batch", "n_dense"):
        if len({getattr(mat, name) for mat in mats}) > 1:
            raise ValueError(
                f"bcoo_concatenate requires inputs to have matching {name[2:]} dimensions."
            )
    if axis >= first.n_batch + first.n_sparse:
        raise NotImplementedError("bcoo_concatenate: concatenation along dense dimensions.")
    data, indices = (_along_batch if axis < first.n_batch else _along_sparse)(mats, axis)
    total = sum(mat.shape[axis] for mat in mats)
    shape = (*first.shape[:axis], total, *first.shape[axis + 1 :])
    return BCOO((data, indices), shape=shape)


def _along_batch(mats: Sequence[BCOO], axis: int) -> tuple[Array, Array]:
    parts = [_padded(mat, max(m.nse for m in mats)) for mat in mats]
    dtype = jnp.result_type(*(mat.indices.dtype for mat in mats))
    return (
        lax.concatenate([data for data, _ in parts], axis),
        lax.concatenate([indices.astype(dtype) for _, indices in parts], axis),
    )


def _padded(mat: BCOO, nse: int) -> tuple[Array, Array]:
    """The parts of an array, with whole batches and padding up to ``nse`` elements."""
    data, indices = whole_batches(mat.data, mat.indices, mat.shape)
    missing = nse - mat.nse
    if not missing:
        return data, indices
    n_batch = mat.n_batch
    sizes = mat.shape[n_batch : n_batch + mat.n_sparse]
    batch = mat.shape[:n_batch]
    zeros = jnp.zeros((*batch, missing, *data.shape[n_batch + 1 :]), data.dtype)
    outside = jnp.broadcast_to(jnp.array(sizes, indices.dtype), (*batch, missing, mat.n_sparse))
    return (lax.concatenate([data, zeros], n_batch), lax.concatenate([indices, outside], n_batch))


def _along_sparse(mats: Sequence[BCOO], axis: int) -> tuple[Array, Array]:
    n_batch = mats[0].n_batch
    total = sum(mat.shape[axis] for mat in mats)
    dtype = jnp.result_type(*(mat.indices.dtype for mat in mats))
    datas, places, offset = [], [], 0
    for mat in mats:
        data, indices = whole_batches(mat.data, mat.indices, mat.shape)
        column = axis - n_batch
        place = indices[..., column]
        # Padding of one array must not get an index inside the next one.
        inside = (place >= 0) & (place < mat.shape[axis])
        moved = jnp.where(inside, place.astype(dtype) + offset, total).astype(dtype)
        datas.append(data)
        places.append(indices.astype(dtype).at[..., column].set(moved))
        offset += mat.shape[axis]
    return lax.concatenate(datas, n_batch), lax.concatenate(places, n_batch)
