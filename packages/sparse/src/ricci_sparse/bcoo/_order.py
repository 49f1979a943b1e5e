"""Sort the stored elements of BCOO arrays, and sum duplicates."""

from math import prod

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import Array, Primitive
from ricci_sparse._function_primitives import function_primitive
from ricci_sparse.layouts import SparseInfo, over_batches

from ._layout import common_batches, is_inside, linear, properties_of, split_shape

__all__ = ["bcoo_sort_indices_p", "bcoo_sum_duplicates_p"]


def _permutation(indices: Array, sizes: tuple[int, ...]) -> Array:
    """The permutation that sorts rows of indices lexicographically."""
    nse, n_sparse = indices.shape
    numbers = jnp.arange(nse, dtype=jnp.int32)
    if not n_sparse:
        return numbers
    # One number for each index, if it fits in 32 bits: sorting by one key is faster. Each
    # dimension has one more position, the index of padding.
    keys = [indices[:, d] for d in range(n_sparse)]
    if sizes and prod(size + 1 for size in sizes) < 2**31:
        keys = [linear(indices, tuple(size + 1 for size in sizes))]
    return lax.sort([*keys, numbers], dimension=0, num_keys=len(keys))[-1]


def _sort_indices(data: Array, indices: Array, *, spinfo: SparseInfo) -> tuple[Array, Array]:
    props = properties_of(indices, spinfo.shape)
    data, indices = common_batches(data, indices)
    _, sizes, _ = split_shape(spinfo.shape, props.n_batch, props.n_sparse)

    def one(data: Array, indices: Array) -> tuple[Array, Array]:
        order = _permutation(indices, sizes)
        return data[order], indices[order]

    return over_batches(one, props.n_batch, data, indices)


def _sum_duplicates(
    data: Array, indices: Array, *, spinfo: SparseInfo, nse: int
) -> tuple[Array, Array]:
    props = properties_of(indices, spinfo.shape)
    data, indices = common_batches(data, indices)
    _, sizes, _ = split_shape(spinfo.shape, props.n_batch, props.n_sparse)

    def one(data: Array, indices: Array) -> tuple[Array, Array]:
        data, indices, number = _grouped(data, indices, sizes)
        outside = jnp.broadcast_to(jnp.array(sizes, indices.dtype), (nse, len(sizes)))
        zeros = jnp.zeros((nse, *data.shape[1:]), data.dtype)
        added = zeros.at[number].add(data, mode="drop", indices_are_sorted=True)
        return added, outside.at[number].set(indices, mode="drop", indices_are_sorted=True)

    return over_batches(one, props.n_batch, data, indices)


def _grouped(data: Array, indices: Array, sizes: tuple[int, ...]) -> tuple[Array, Array, Array]:
    """Sort elements by their index, and number their distinct indices.

    Padding comes last; it gets one distinct index, outside of the array.
    """
    indices = jnp.where(
        is_inside(indices, sizes)[:, None], indices, jnp.array(sizes, indices.dtype)
    )
    order = _permutation(indices, sizes)
    data, indices = data[order], indices[order]
    new = jnp.any(indices[1:] != indices[:-1], axis=-1)
    first = jnp.zeros(min(1, len(order)), jnp.int32)
    return data, indices, jnp.concatenate([first, jnp.cumsum(new, dtype=jnp.int32)])


def count_unique_indices(indices: Array, shape: tuple[int, ...]) -> Array:
    """The largest number of distinct indices in bounds of any batch."""
    props = properties_of(indices, shape)
    _, sizes, _ = split_shape(shape, props.n_batch, props.n_sparse)

    def one(indices: Array) -> Array:
        if not indices.shape[0]:
            return jnp.zeros((), jnp.int32)
        _, indices, number = _grouped(jnp.zeros(indices.shape[0], bool), indices, sizes)
        return number[-1] + is_inside(indices[-1], sizes)

    return jnp.max(over_batches(one, props.n_batch, indices), initial=0)


def first_of_duplicates(indices: Array, shape: tuple[int, ...]) -> Array:
    """Mask of the stored elements that are the first with their index."""
    props = properties_of(indices, shape)
    _, sizes, _ = split_shape(shape, props.n_batch, props.n_sparse)

    def one(indices: Array) -> Array:
        numbers = jnp.arange(indices.shape[0], dtype=jnp.int32)
        order, _, group = _grouped(numbers, indices, sizes)
        new = jnp.concatenate([jnp.ones(min(1, len(order)), bool), group[1:] != group[:-1]])
        return jnp.zeros(indices.shape[0], bool).at[order].set(new, unique_indices=True)

    return over_batches(one, props.n_batch, indices)


bcoo_sort_indices_p: Primitive = function_primitive(
    "bcoo_sort_indices", _sort_indices, multiple_results=True
)
bcoo_sum_duplicates_p: Primitive = function_primitive(
    "bcoo_sum_duplicates", _sum_duplicates, multiple_results=True
)
