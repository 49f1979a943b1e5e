"""Transposition of BCOO arrays."""

from collections.abc import Sequence

import ricci_numpy as jnp
from ricci_ir import Array, Primitive
from ricci_sparse._function_primitives import function_primitive
from ricci_sparse.layouts import SparseInfo

from ._layout import BCOOProperties, properties_of

__all__ = ["bcoo_transpose_p"]


def split_permutation(
    permutation: Sequence[int], props: BCOOProperties
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Split a permutation into those of the batch, sparse and dense dimensions, each from 0.

    Raises:
      TypeError: if it is not a permutation of the dimensions.
      NotImplementedError: if it mixes the kinds.
    """
    n_batch, n_sparse, n_dense, _ = props
    ndim = n_batch + n_sparse + n_dense
    if sorted(permutation) != list(range(ndim)):
        raise TypeError(
            f"bcoo_transpose: {tuple(permutation)} is not a permutation of {ndim} dimensions."
        )
    cuts = (0, n_batch, n_batch + n_sparse, ndim)
    parts = [tuple(permutation[a:b]) for a, b in zip(cuts, cuts[1:], strict=False)]
    for part, start, stop in zip(parts, cuts, cuts[1:], strict=False):
        if any(not start <= d < stop for d in part):
            raise NotImplementedError(
                f"bcoo_transpose: permutation {tuple(permutation)} mixes the {n_batch} batch, "
                f"{n_sparse} sparse and {n_dense} dense dimensions. Change the layout first, with "
                "update_layout."
            )
    batch, sparse, dense = (
        tuple(d - start for d in part) for part, start in zip(parts, cuts, strict=False)
    )
    return batch, sparse, dense


def _transpose(
    data: Array, indices: Array, *, permutation: tuple[int, ...], spinfo: SparseInfo
) -> tuple[Array, Array]:
    props = properties_of(indices, spinfo.shape)
    n_batch = props.n_batch
    batch, sparse, dense = split_permutation(permutation, props)
    data = jnp.transpose(data, (*batch, n_batch, *(d + n_batch + 1 for d in dense)))
    indices = jnp.transpose(indices, (*batch, n_batch, n_batch + 1))
    return data, indices[..., list(sparse)] if sparse else indices


bcoo_transpose_p: Primitive = function_primitive(
    "bcoo_transpose", _transpose, multiple_results=True
)
