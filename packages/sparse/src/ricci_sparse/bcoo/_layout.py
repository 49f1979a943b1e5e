"""The dimensions of a BCOO array, and the checks of its parts."""

from math import prod
from typing import NamedTuple, Protocol

import ricci_numpy as jnp
from ricci_ir import Array

__all__ = ["BCOOProperties"]


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


def split_shape(
    shape: tuple[int, ...], n_batch: int, n_sparse: int
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
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
