"""The layout of BCOO arrays: checks of their parts, conversion, sorting and transposition."""

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple, Protocol

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import Array, ArrayLike, DTypeLike, Primitive
from ricci_sparse._function_primitives import function_primitive
from ricci_sparse.layouts import SparseInfo, over_batches

__all__ = ["BCOOProperties", "bcoo_extract_p", "bcoo_fromdense_p", "bcoo_sort_indices_p"]
__all__ += ["bcoo_sum_duplicates_p", "bcoo_todense_p", "bcoo_transpose_p"]

# The batch, sparse and dense sizes of an array.
type ShapeParts = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]


class BCOOProperties(NamedTuple):
    """The numbers of batch, sparse and dense dimensions and of stored elements.

    Attributes:
      n_batch: the number of leading batch dimensions.
      n_sparse: the number of sparse dimensions.
      n_dense: the number of trailing dense dimensions.
      nse: the number of elements that are stored for each batch.
    """

    n_batch: int
    n_sparse: int
    n_dense: int
    nse: int


class Shaped(Protocol):
    """An object with a shape."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes."""
        ...


def properties_of(indices: Shaped, shape: tuple[int, ...]) -> BCOOProperties:
    """The properties of an array with these indices and this shape."""
    *batch, nse, n_sparse = indices.shape
    return BCOOProperties(len(batch), n_sparse, len(shape) - len(batch) - n_sparse, nse)


def validate(data: Shaped, indices: Shaped, shape: tuple[int, ...]) -> BCOOProperties:
    """The properties of a BCOO array, after checking its parts against its shape.

    Raises:
      ValueError: if they do not.
    """
    if len(indices.shape) < 2:
        raise ValueError(
            f"BCOO: indices must have shape (*batch, nse, n_sparse), got {tuple(indices.shape)}."
        )
    props = properties_of(indices, shape)
    n_batch, n_sparse, n_dense, nse = props
    parts = f"data of shape {tuple(data.shape)} and indices of shape {tuple(indices.shape)}"
    if n_dense < 0 or len(data.shape) != n_batch + 1 + n_dense:
        raise ValueError(
            f"BCOO: {parts} do not fit to an array of shape {shape}: with {n_batch} batch and "
            f"{n_sparse} sparse dimensions, data must have {max(n_batch + 1 + n_dense, 0)}."
        )
    if data.shape[n_batch] != nse:
        raise ValueError(
            f"BCOO: {parts} disagree: data has {data.shape[n_batch]} elements for each batch, "
            f"indices has {nse}."
        )
    if tuple(data.shape[n_batch + 1 :]) != tuple(shape[n_batch + n_sparse :]):
        raise ValueError(
            f"BCOO: the last {n_dense} dimensions of data must be those of the shape {shape}, but "
            f"its shape is {tuple(data.shape)}."
        )
    for name, part in (("data", data), ("indices", indices)):
        sizes = zip(part.shape[:n_batch], shape, strict=False)
        if any(size not in (1, whole) for size, whole in sizes):
            raise ValueError(
                f"BCOO: the first {n_batch} dimensions of {name} must be those of the shape "
                f"{shape}, or 1, but its shape is {tuple(part.shape)}."
            )
    return props


def split_shape(shape: tuple[int, ...], n_batch: int, n_sparse: int) -> ShapeParts:
    """The batch, sparse and dense parts of a shape."""
    cut = n_batch + n_sparse
    return tuple(shape[:n_batch]), tuple(shape[n_batch:cut]), tuple(shape[cut:])


def whole_batches(data: Array, indices: Array, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """The parts, each broadcast along the batch dimensions in which it has size 1."""
    n_batch = indices.ndim - 2
    batch = tuple(shape[:n_batch])
    return tuple(
        x if x.shape[:n_batch] == batch else jnp.broadcast_to(x, batch + x.shape[n_batch:])
        for x in (data, indices)
    )  # pyright: ignore[reportReturnType]


def common_batches(data: Array, indices: Array) -> tuple[Array, Array]:
    """The parts, broadcast to their common batch dimensions."""
    n_batch = indices.ndim - 2
    batch = tuple(map(max, data.shape[:n_batch], indices.shape[:n_batch]))
    return whole_batches(data, indices, batch)


def is_inside(indices: Array, sizes: tuple[int, ...]) -> Array:
    """Mask of the rows of indices that are in bounds of these sizes; others are padding."""
    bounds = jnp.array(sizes, indices.dtype) if _fits(sizes, indices) else jnp.array(sizes)
    inside = (indices >= 0) & (indices < jnp.broadcast_to(bounds, indices.shape))
    return jnp.all(inside, axis=-1)


def _fits(sizes: tuple[int, ...], indices: Array) -> bool:
    return max(sizes, default=0) <= jnp.iinfo(indices.dtype).max


def linear(indices: Array, sizes: tuple[int, ...]) -> Array:
    """The position of each row of indices in a flat array; indices out of bounds are clipped.

    Clipping keeps the lexicographic order.
    """
    wide = jnp.int64 if prod(sizes) > 2**31 - 1 else jnp.int32
    position = jnp.zeros(indices.shape[:-1], wide)
    for d, size in enumerate(sizes):
        index = jnp.clip(indices[..., d], 0, max(size - 1, 0)).astype(wide)
        position = position * size + index
    return position


def _todense(data: Array, indices: Array, *, spinfo: SparseInfo) -> Array:
    shape = spinfo.shape
    n_batch, n_sparse, _, _ = properties_of(indices, shape)
    data, indices = whole_batches(data, indices, shape)
    if not n_sparse:
        return jnp.sum(data, axis=n_batch, dtype=data.dtype)

    def one(data: Array, indices: Array) -> Array:
        at = tuple(indices[:, d] for d in range(n_sparse))
        # The indices of padding are out of bounds, so that mode='drop' ignores it.
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
        # Places beyond the number of nonzeros get the sizes as indices: padding.
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
        # ``number`` is the place of an element's group of equal indices. Places without a group
        # keep the indices out of bounds, which mark padding.
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
        # Padding sorts last as one group. The last group's number is the number of groups before
        # it, and it counts itself if it is not padding.
        return number[-1] + is_inside(indices[-1], sizes).astype(number.dtype)

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


def split_permutation(permutation: Sequence[int], props: BCOOProperties) -> ShapeParts:
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
