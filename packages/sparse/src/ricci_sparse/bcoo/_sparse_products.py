"""Products of two BCOO arrays."""

from collections.abc import Callable
from math import prod

import ricci_numpy as jnp
from ricci_batching import vmap
from ricci_ir import Array, DTypeLike, Primitive
from ricci_sparse._function_primitives import function_primitive
from ricci_sparse.layouts import SparseInfo

from ._array import BCOO
from ._layout import is_inside, properties_of, split_shape, whole_batches
from ._order import bcoo_sum_duplicates_p
from ._products import DimensionNumbers

__all__ = ["bcoo_spdot_general_p"]


def _spdot_general(
    lhs_data: Array,
    lhs_indices: Array,
    rhs_data: Array,
    rhs_indices: Array,
    *,
    lhs_spinfo: SparseInfo,
    rhs_spinfo: SparseInfo,
    dimension_numbers: DimensionNumbers,
    preferred_element_type: DTypeLike,
) -> tuple[Array, Array]:
    """Multiply each stored element of one array with each of the other.

    Pairs whose contracted indices differ count as zero. If there are more pairs than the result
    has elements, duplicates are summed.
    """
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    lhs = properties_of(lhs_indices, lhs_spinfo.shape)
    rhs = properties_of(rhs_indices, rhs_spinfo.shape)
    lhs_data, lhs_indices = whole_batches(lhs_data, lhs_indices, lhs_spinfo.shape)
    rhs_data, rhs_indices = whole_batches(rhs_data, rhs_indices, rhs_spinfo.shape)
    lhs_data, rhs_data = (x.astype(preferred_element_type) for x in (lhs_data, rhs_data))
    lhs_sizes = split_shape(lhs_spinfo.shape, lhs.n_batch, lhs.n_sparse)[1]
    rhs_sizes = split_shape(rhs_spinfo.shape, rhs.n_batch, rhs.n_sparse)[1]
    lhs_at = tuple(d - lhs.n_batch for d in lhs_contract)
    rhs_at = tuple(d - rhs.n_batch for d in rhs_contract)
    lhs_free = tuple(d for d in range(lhs.n_sparse) if d not in lhs_at)
    rhs_free = tuple(d for d in range(rhs.n_sparse) if d not in rhs_at)
    sizes = tuple(lhs_sizes[d] for d in lhs_free) + tuple(rhs_sizes[d] for d in rhs_free)

    def one(x: Array, at_x: Array, y: Array, at_y: Array) -> tuple[Array, Array]:
        inside = is_inside(at_x, lhs_sizes)[:, None] & is_inside(at_y, rhs_sizes)[None]
        same = at_x[:, None, list(lhs_at)] == at_y[None, :, list(rhs_at)] if lhs_at else None
        matched = inside if same is None else inside & jnp.all(same, axis=-1)
        data = jnp.where(matched, x[:, None] * y[None], jnp.zeros((), x.dtype)).ravel()
        shape = matched.shape
        parts = [
            jnp.broadcast_to(at_x[:, None, list(lhs_free)], (*shape, len(lhs_free))),
            jnp.broadcast_to(at_y[None, :, list(rhs_free)], (*shape, len(rhs_free))),
        ]
        at = jnp.concatenate(parts, axis=-1).reshape(-1, len(sizes))
        outside = jnp.array(sizes, at.dtype)
        return data, jnp.where(inside.reshape(-1, 1), at, outside)

    # The result's batches: those that both have, then the others of lhs, then those of rhs.
    maps = [(d, rhs_batch[lhs_batch.index(d)]) for d in lhs_batch]
    lhs_others = [d for d in range(lhs.n_batch) if d not in lhs_batch]
    rhs_others = [d for d in range(rhs.n_batch) if d not in rhs_batch]
    lhs_data, lhs_indices = (
        jnp.moveaxis(x, (*lhs_batch, *lhs_others), range(lhs.n_batch))
        for x in (lhs_data, lhs_indices)
    )
    rhs_data, rhs_indices = (
        jnp.moveaxis(x, (*rhs_batch, *rhs_others), range(rhs.n_batch))
        for x in (rhs_data, rhs_indices)
    )
    axes = [(0, 0, 0, 0)] * len(maps)
    axes += [(0, 0, None, None)] * len(lhs_others) + [(None, None, 0, 0)] * len(rhs_others)
    product: Callable[..., tuple[Array, Array]] = one
    for in_axes in reversed(axes):
        product = vmap(product, in_axes=in_axes)
    data, indices = product(lhs_data, lhs_indices, rhs_data, rhs_indices)
    batch = data.shape[: len(axes)]
    return reduced(data, indices, SparseInfo((*batch, *sizes)))


def reduced(data: Array, indices: Array, spinfo: SparseInfo) -> tuple[Array, Array]:
    """Sum duplicates if more elements are stored than the sparse dimensions have positions."""
    n_batch, n_sparse, _, nse = properties_of(indices, spinfo.shape)
    places = prod(split_shape(spinfo.shape, n_batch, n_sparse)[1])
    if nse <= places:
        return data, indices
    return bcoo_sum_duplicates_p.bind(data, indices, spinfo=spinfo, nse=places)


bcoo_spdot_general_p: Primitive = function_primitive(
    "bcoo_spdot_general", _spdot_general, multiple_results=True
)


def spdot_general(
    lhs: BCOO,
    rhs: BCOO,
    *,
    dimension_numbers: DimensionNumbers,
    preferred_element_type: DTypeLike | None,
) -> BCOO:
    """The product of two BCOO arrays: see ``bcoo_dot_general``."""
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    check_layouts(lhs, rhs, dimension_numbers)
    lhs_free = [d for d in range(lhs.ndim) if d not in (*lhs_contract, *lhs_batch)]
    rhs_free = [d for d in range(rhs.ndim) if d not in (*rhs_contract, *rhs_batch)]
    shape = (
        *(lhs.shape[d] for d in lhs_batch),
        *(lhs.shape[d] for d in lhs_free),
        *(rhs.shape[d] for d in rhs_free),
    )
    dtype = preferred_element_type
    if dtype is None:
        dtype = jnp.promote_types(lhs.dtype, rhs.dtype)
    data, indices = bcoo_spdot_general_p.bind(
        lhs.data,
        lhs.indices,
        rhs.data,
        rhs.indices,
        lhs_spinfo=lhs.info,
        rhs_spinfo=rhs.info,
        dimension_numbers=dimension_numbers,
        preferred_element_type=jnp.dtype(dtype),
    )
    return BCOO((data, indices), shape=shape)


def check_layouts(lhs: BCOO, rhs: BCOO, dimension_numbers: DimensionNumbers) -> None:
    """Check that the layouts of two BCOO arrays allow their product.

    Raises:
      NotImplementedError: if one has dense dimensions, or contracts over batches.
      ValueError: if batches of the second array would follow sparse dimensions in the result.
    """
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    for mat, contract, batch in ((lhs, lhs_contract, lhs_batch), (rhs, rhs_contract, rhs_batch)):
        if mat.n_dense:
            raise NotImplementedError(
                "bcoo_dot_general: the product of two sparse arrays of which one has dense "
                "dimensions. Use update_layout(n_dense=0) first."
            )
        if any(d >= mat.n_batch for d in batch):
            raise NotImplementedError(
                f"bcoo_dot_general: batch dimensions {batch} must be among the first "
                f"{mat.n_batch} dimensions of a sparse array, which are its batches."
            )
        if any(d < mat.n_batch for d in contract):
            raise NotImplementedError(
                f"bcoo_dot_general: contracting over dimensions {contract} of a sparse array whose "
                f"first {mat.n_batch} are batches. Use update_layout first."
            )
    unused = rhs.n_batch > len(rhs_batch)
    if unused and lhs.n_sparse > len(lhs_contract):
        raise ValueError(
            "bcoo_spdot_general: cannot have unused batch dims on rhs with unused sparse dims on "
            "lhs. Use update_layout first."
        )
