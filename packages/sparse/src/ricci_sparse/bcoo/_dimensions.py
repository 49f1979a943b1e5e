"""Layout changes of BCOO arrays: update_layout, broadcast_in_dim, reshape and squeeze."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

import ricci_numpy as jnp
from ricci_ir import Array, Shape, composite, warn_user
from ricci_sparse.layouts import SparseEfficiencyError, SparseEfficiencyWarning

from ._array import BCOO, update_layout
from ._layout import is_inside, linear, properties_of, split_shape, whole_batches

__all__ = ["bcoo_broadcast_in_dim", "bcoo_reshape", "bcoo_squeeze", "bcoo_update_layout"]


def bcoo_update_layout(
    mat: BCOO,
    *,
    n_batch: int | None = None,
    n_dense: int | None = None,
    on_inefficient: str | None = "error",
) -> BCOO:
    """Change which dimensions of an array are batch, sparse and dense.

    Args:
      mat: the array.
      n_batch, n_dense: the numbers of batch and of dense dimensions; unchanged by default.
      on_inefficient: what happens if far more elements would be stored: ``"error"``, ``"warn"``, or
        ``None`` for nothing.

    Returns:
      A BCOO array.

    Raises:
      SparseEfficiencyError: if far more elements would be stored, unless ``on_inefficient`` allows
        it.
      ValueError: if there are not that many dimensions, or ``on_inefficient`` is something else.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental import sparse
      >>> M = sparse.BCOO.fromdense(jnp.array([[0, 2], [1, 0]]))
      >>> sparse.bcoo_update_layout(M, n_batch=1, on_inefficient=None).n_batch
      1
    """
    batch = mat.n_batch if n_batch is None else int(n_batch)
    dense = mat.n_dense if n_dense is None else int(n_dense)
    if batch < 0 or dense < 0:
        name, count = ("n_batch", batch) if batch < 0 else ("n_dense", dense)
        raise ValueError(f"bcoo_update_layout: {name} must be non-negative; got {count}.")
    if batch + dense > mat.ndim:
        raise ValueError(
            f"bcoo_update_layout: the sum of n_batch={batch} and n_dense={dense} cannot be larger "
            f"than the number of dimensions, {mat.ndim}."
        )
    if on_inefficient not in ("error", "warn", None):
        raise ValueError(
            f"bcoo_update_layout: on_inefficient is {on_inefficient!r}; expected one of 'error', "
            "'warn' and None."
        )
    if (batch, dense) == (mat.n_batch, mat.n_dense):
        return mat
    added = {
        "n_batch": (mat.n_batch, batch, mat.shape[mat.n_batch : batch]),
        "n_dense": (mat.n_dense, dense, mat.shape[mat.ndim - dense : mat.ndim - mat.n_dense]),
    }
    for name, (old, new, sizes) in added.items():
        if new > old and prod(sizes) > 1:
            _warn_inefficient(mat.shape, name, old, new, on_inefficient)
    data, indices = _update_layout(
        mat.data, mat.indices, shape=mat.shape, n_batch=batch, n_dense=dense
    )
    return BCOO((data, indices), shape=mat.shape)


update_layout.provide(
    lambda mat, n_batch, n_dense, on_inefficient: bcoo_update_layout(
        mat, n_batch=n_batch, n_dense=n_dense, on_inefficient=on_inefficient
    )
)


def _warn_inefficient(
    shape: Shape, name: str, old: int, new: int, on_inefficient: str | None
) -> None:
    message = (
        f"For matrix of shape {shape}, increasing {name} from {old} to {new} results in "
        "inefficient storage: each element is stored for all of these dimensions. Set "
        "on_inefficient of bcoo_update_layout to 'warn' or None if that is intended."
    )
    if on_inefficient == "error":
        raise SparseEfficiencyError(message)
    if on_inefficient == "warn":
        warn_user(message, SparseEfficiencyWarning)


@composite("bcoo_update_layout")
def _update_layout(
    data: Array, indices: Array, *, shape: tuple[int, ...], n_batch: int, n_dense: int
) -> tuple[Array, Array]:
    # First make batch and dense dimensions sparse, then sparse ones batch and dense.
    old = properties_of(indices, shape)
    if n_batch < old.n_batch:
        data, indices = _merged_batches(data, indices, shape, n_batch)
    if n_dense < old.n_dense:
        data, indices = _spread_dense(data, indices, old.n_dense - n_dense)
    if n_batch > old.n_batch:
        for size in shape[old.n_batch : n_batch]:
            data, indices = _split_batch(data, indices, size)
    if n_dense > old.n_dense:
        stop = len(shape) - old.n_dense
        for size in shape[len(shape) - n_dense : stop][::-1]:
            data, indices = _split_dense(data, indices, size)
    return data, indices


def _merged_batches(data: Array, indices: Array, shape: Shape, n_batch: int) -> tuple[Array, Array]:
    """Merge trailing batch dimensions into the elements, whose index gets their batch position."""
    old, n_sparse, _, nse = properties_of(indices, shape)
    data, indices = whole_batches(data, indices, shape)
    batch, merged = shape[:n_batch], shape[n_batch:old]
    # The positions along the merged dimensions become the first columns of the indices.
    columns = [
        jnp.broadcast_to(
            jnp.arange(size, dtype=indices.dtype).reshape(-1, *(1,) * (old - n_batch - d)),
            (*batch, *merged, nse),
        )
        for d, size in enumerate(merged)
    ]
    indices = jnp.concatenate([jnp.stack(columns, axis=-1), indices], axis=-1)
    count = prod(merged) * nse
    data = data.reshape(*batch, count, *data.shape[old + 1 :])
    return data, indices.reshape(*batch, count, n_sparse + len(merged))


def _spread_dense(data: Array, indices: Array, count: int) -> tuple[Array, Array]:
    """Make the first ``count`` dense dimensions sparse: store each position as an element."""
    n_batch = indices.ndim - 2
    sizes = data.shape[n_batch + 1 : n_batch + 1 + count]
    total = prod(sizes)
    batch, nse = data.shape[:n_batch], data.shape[n_batch]
    # Every element of a block of ``total`` numbers becomes one with the block's indices and its own
    # position in the block.
    places = np.indices(sizes).reshape(count, total).T
    outer = (*indices.shape[:n_batch], nse, total)
    at = [
        jnp.broadcast_to(indices[..., None, :], (*outer, indices.shape[-1])),
        jnp.broadcast_to(jnp.asarray(places, indices.dtype), (*outer, count)),
    ]
    indices = jnp.concatenate(at, axis=-1).reshape(*outer[:-2], nse * total, -1)
    return data.reshape(*batch, nse * total, *data.shape[n_batch + 1 + count :]), indices


def _split_batch(data: Array, indices: Array, size: int) -> tuple[Array, Array]:
    """Make the first sparse dimension a batch: elements of other batches become zeros."""
    n_batch = indices.ndim - 2
    # Each batch stores all elements, those of other batches as zeros: the number of elements of the
    # fullest batch is unknown under tracing.
    columns = indices[..., None, :, 0]
    numbers = jnp.arange(size, dtype=indices.dtype).reshape(size, 1)
    matches = jnp.broadcast_to(numbers, (*columns.shape[:-2], size, 1)) == columns
    mask = matches.reshape(*matches.shape, *(1,) * (data.ndim - 1 - n_batch))
    data = jnp.expand_dims(data, n_batch)
    data = jnp.where(mask, data, jnp.zeros((), data.dtype))
    others = indices[..., None, :, 1:]
    sizes = (*indices.shape[:n_batch], size, *others.shape[n_batch + 1 :])
    return data, jnp.broadcast_to(others, sizes)


def _split_dense(data: Array, indices: Array, size: int) -> tuple[Array, Array]:
    """Make the last sparse dimension dense: each element becomes an array with one nonzero."""
    n_batch = indices.ndim - 2
    numbers = jnp.arange(size, dtype=indices.dtype)
    matches = indices[..., -1:] == jnp.broadcast_to(numbers, (*indices.shape[:-1], size))
    mask = matches.reshape(*matches.shape, *(1,) * (data.ndim - 1 - n_batch))
    data = jnp.expand_dims(data, n_batch + 1)
    return jnp.where(mask, data, jnp.zeros((), data.dtype)), indices[..., :-1]


def bcoo_broadcast_in_dim(
    mat: BCOO, *, shape: Shape, broadcast_dimensions: Sequence[int], sharding: Any = None
) -> BCOO:
    """Broadcast an array along new dimensions.

    New dimensions in front of the first sparse one are batches; those behind the last sparse one
    are dense if the array has dense dimensions. Others are sparse, and must be of size 1.

    Args:
      mat: the array.
      shape: the shape of the result.
      broadcast_dimensions: for each dimension of the array, which one of the result it is.
      sharding: not used.

    Returns:
      A BCOO array of that shape.

    Raises:
      ValueError: if the shapes are incompatible.
      NotImplementedError: if it would be broadcast along a sparse dimension.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental import sparse
      >>> M = sparse.BCOO.fromdense(jnp.array([[0, 2], [1, 0]]))
      >>> sparse.bcoo_broadcast_in_dim(M, shape=(3, 2, 2), broadcast_dimensions=(1, 2)).shape
      (3, 2, 2)
    """
    shape, dims = tuple(shape), tuple(broadcast_dimensions)
    ascending = all(a < b for a, b in zip(dims, dims[1:], strict=False))
    fits = len(dims) == mat.ndim and ascending and all(0 <= d < len(shape) for d in dims)
    if not fits:
        raise ValueError(
            f"bcoo_broadcast_in_dim: broadcast_dimensions {dims} must be one dimension of the "
            f"result, in order, for each of the {mat.ndim} dimensions."
        )
    for size, d in zip(mat.shape, dims, strict=True):
        if d < dims[-1] and size not in (1, shape[d]):
            raise ValueError(
                f"bcoo_broadcast_in_dim: shape {mat.shape} cannot be broadcast to {shape}."
            )
    sparse = dims[mat.n_batch : mat.n_batch + mat.n_sparse]
    first, stop = (sparse[0], sparse[-1] + 1) if sparse else (_batch_end(mat, dims, shape),) * 2
    if mat.n_dense:
        stop = dims[mat.n_batch + mat.n_sparse]
    elif sparse:
        stop = len(shape)
    old = dict(zip(dims, mat.shape, strict=True))
    for d in range(first, stop):
        if shape[d] != old.get(d, 1):
            raise NotImplementedError(
                "bcoo_broadcast_in_dim: adding sparse dimensions with lengths != 1, here dimension "
                f"{d} of {shape}. Make room for it among the batches or the dense dimensions, with "
                "update_layout."
            )
    data, indices = _broadcast(
        mat.data, mat.indices, shape=shape, dims=dims, first=first, stop=stop, old=mat.shape
    )
    return BCOO((data, indices), shape=shape)


def _batch_end(mat: BCOO, dims: tuple[int, ...], shape: Shape) -> int:
    return dims[mat.n_batch] if mat.n_batch < len(dims) else len(shape)


@composite("bcoo_broadcast_in_dim")
def _broadcast(
    data: Array,
    indices: Array,
    *,
    shape: tuple[int, ...],
    dims: tuple[int, ...],
    first: int,
    stop: int,
    old: tuple[int, ...],
) -> tuple[Array, Array]:
    n_batch, n_sparse, n_dense, nse = properties_of(indices, old)
    batch_dims, dense_dims = dims[:n_batch], dims[n_batch + n_sparse :]
    # New dimensions before the first sparse one become batch dimensions, those after the last one
    # dense ones; in between, their only index is 0, which is valid because their size is 1.
    leading_sizes = lambda x: [
        x.shape[batch_dims.index(d)] if d in batch_dims else shape[d] for d in range(first)
    ]
    dense = shape[stop:]
    to_dense = [d - stop + first + 1 for d in dense_dims]
    data = jnp.asarray(data)
    sizes = (*leading_sizes(data), nse, *dense)
    data = _broadcast_to(data, sizes, (*batch_dims, first, *to_dense))
    columns = []
    for d in range(first, stop):
        if d in dims:
            columns.append(indices[..., dims.index(d) - n_batch])
        else:
            columns.append(jnp.zeros(indices.shape[:-1], indices.dtype))
    at = jnp.stack(columns, axis=-1) if columns else indices[..., :0]
    sizes = (*leading_sizes(indices), nse, stop - first)
    return data, _broadcast_to(at, sizes, (*batch_dims, first, first + 1))


def _broadcast_to(x: Array, shape: Shape, dims: Sequence[int]) -> Array:
    """Broadcast ``x`` to a shape, in which its dimensions are ``dims``."""
    wide = [1] * len(shape)
    for size, d in zip(x.shape, dims, strict=True):
        wide[d] = size
    return jnp.broadcast_to(x.reshape(wide), shape)


def bcoo_reshape(
    mat: BCOO,
    *,
    new_sizes: Sequence[int],
    dimensions: Sequence[int] | None = None,
    sharding: Any = None,
) -> BCOO:
    """Reshape an array, without merging batch, sparse and dense dimensions.

    Args:
      mat: the array.
      new_sizes: the new shape.
      dimensions: a permutation applied before the reshape; none by default.
      sharding: not used.

    Returns:
      A BCOO array of shape ``new_sizes``.

    Raises:
      ValueError: if dimensions of different kinds would be merged.
      NotImplementedError: if ``dimensions`` mixes them.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental import sparse
      >>> M = sparse.BCOO.fromdense(jnp.array([[0, 2], [1, 0]]))
      >>> sparse.bcoo_reshape(M, new_sizes=(1, 4)).todense().tolist()
      [[0, 2, 1, 0]]
    """
    if dimensions is not None:
        mat = mat.transpose(dimensions)
    new = tuple(map(int, new_sizes))
    props = properties_of(mat.indices, mat.shape)
    parts = split_shape(mat.shape, props.n_batch, props.n_sparse)
    # The new shape must have a cut between its batch and sparse dimensions, and one between sparse
    # and dense ones: positions up to which its sizes have the same product as the old ones.
    totals = np.cumprod((1, *new))
    cuts = []
    for name, total in (
        ("batch and sparse", prod(parts[0])),
        ("sparse and dense", prod(parts[0]) * prod(parts[1])),
    ):
        positions = np.flatnonzero(totals == total)
        if not len(positions) or prod(new) != prod(mat.shape):
            raise ValueError(
                f"bcoo_reshape: new shape cannot mix {name} dimensions; got shape={mat.shape} "
                f"new_shape={new} with n_batch={props.n_batch} and n_dense={props.n_dense}."
            )
        cuts.append(positions)
    # Dimensions of size 1 at a cut: batches if the array has batches, else sparse.
    first = int(cuts[0][0 if not props.n_batch else -1])
    stop = len(new) if not props.n_dense else int(cuts[1][0])
    if props.n_batch and first > stop:
        first = int(cuts[0][0])
    data, indices = _reshape(mat.data, mat.indices, old=mat.shape, new=new, first=first, stop=stop)
    return BCOO((data, indices), shape=new)


@composite("bcoo_reshape")
def _reshape(
    data: Array,
    indices: Array,
    *,
    old: tuple[int, ...],
    new: tuple[int, ...],
    first: int,
    stop: int,
) -> tuple[Array, Array]:
    n_batch, n_sparse, _, nse = properties_of(indices, old)
    data, indices = whole_batches(data, indices, old)
    _, sizes, _ = split_shape(old, n_batch, n_sparse)
    inside = is_inside(indices, sizes)[..., None]
    columns = jnp.unravel_index(linear(indices, sizes), new[first:stop]) if stop > first else ()
    at = jnp.stack(columns, axis=-1) if columns else jnp.zeros((*indices.shape[:-1], 0), int)
    # Positions of padding were clipped into bounds.
    at = jnp.where(inside, at.astype(indices.dtype), jnp.array(new[first:stop], indices.dtype))
    return data.reshape(*new[:first], nse, *new[stop:]), at.reshape(*new[:first], nse, stop - first)


def bcoo_squeeze(arr: BCOO, *, dimensions: Sequence[int]) -> BCOO:
    """Remove dimensions of size 1.

    Args:
      arr: the array.
      dimensions: the dimensions to remove.

    Returns:
      A BCOO array.

    Raises:
      ValueError: if one is not a dimension of size 1.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental import sparse
      >>> M = sparse.BCOO.fromdense(jnp.array([[0, 2]]))
      >>> sparse.bcoo_squeeze(M, dimensions=(0,)).todense().tolist()
      [0, 2]
    """
    dims = {d + arr.ndim if d < 0 else d for d in map(int, dimensions)}
    if any(not 0 <= d < arr.ndim or arr.shape[d] != 1 for d in dims):
        raise ValueError(
            "bcoo_squeeze: cannot select an axis to squeeze out which has size not equal to one, "
            f"got shape={arr.shape} and dimensions={tuple(dimensions)}."
        )
    n_batch, n_sparse = arr.n_batch, arr.n_sparse
    batch = tuple(d for d in dims if d < n_batch)
    sparse = [d for d in range(n_sparse) if d + n_batch not in dims]
    dense = tuple(d - n_sparse + 1 for d in dims if d >= n_batch + n_sparse)
    data = jnp.squeeze(arr.data, (*batch, *dense))
    indices = arr.indices if len(sparse) == n_sparse else arr.indices[..., sparse]
    shape = tuple(size for d, size in enumerate(arr.shape) if d not in dims)
    promises = {"indices_sorted": arr.indices_sorted, "unique_indices": arr.unique_indices}
    return BCOO((data, jnp.squeeze(indices, batch)), shape=shape, **promises)
