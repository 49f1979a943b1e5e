"""Random sparse arrays."""

from collections.abc import Callable, Sequence
from math import ceil, prod
from typing import Any

import numpy as np

import ricci_numpy as jnp
import ricci_random as random
from ricci_batching import vmap
from ricci_ir import Array, DTypeLike

from .bcoo import BCOO

__all__ = ["random_bcoo"]


def random_bcoo(
    key: Array,
    shape: Sequence[int],
    *,
    dtype: DTypeLike = np.float64,
    indices_dtype: DTypeLike | None = None,
    nse: int | float = 0.2,
    n_batch: int = 0,
    n_dense: int = 0,
    unique_indices: bool = True,
    sorted_indices: bool = False,
    generator: Callable[..., Array] = random.uniform,
    **kwds: Any,
) -> BCOO:
    """A random BCOO array.

    Args:
      key: a random key.
      shape: its shape.
      dtype: the dtype of its elements.
      indices_dtype: the dtype of its indices; int32 by default, int64 with 64-bit types.
      nse: the number of elements stored for each batch; below 1, the fraction of all positions.
      n_batch, n_dense: the numbers of batch and of dense dimensions.
      unique_indices: whether each index occurs once.
      sorted_indices: whether the indices are in order.
      generator: the sampler of the elements, which takes ``shape``, ``dtype`` and ``kwds``.
      kwds: further arguments of the sampler.

    Returns:
      A BCOO array.

    Raises:
      ValueError: if ``nse`` is negative, larger than the number of positions, or a float from 1 on;
        if ``indices_dtype`` is not an integer type, or cannot hold the positions.

    Example:
      >>> import ricci
      >>> import numpy as np
      >>> from ricci.experimental import sparse
      >>> sparse.random_bcoo(ricci.random.key(0), (10, 10), dtype=np.float32, nse=5)
      BCOO(float32[10, 10], nse=5)
    """
    sizes = tuple(map(int, shape))
    n_sparse = len(sizes) - n_batch - n_dense
    if n_sparse < 0 or n_batch < 0 or n_dense < 0:
        raise ValueError(
            f"random_bcoo: {sizes} cannot have {n_batch} batch and {n_dense} dense dimensions."
        )
    batch, sparse, dense = (
        sizes[:n_batch],
        sizes[n_batch : n_batch + n_sparse],
        sizes[n_batch + n_sparse :],
    )
    places = prod(sparse)
    count = ceil(nse * places) if 0 < nse < 1 else nse
    if not 0 <= count <= places:
        raise ValueError(f"random_bcoo: got nse={nse}, expected to be between 0 and {places}.")
    if count != int(count) or isinstance(nse, float) and nse >= 1:
        raise ValueError(f"random_bcoo: got nse={nse}; give an integer, or a fraction below 1.")
    count = int(count)
    index = jnp.dtype(int if indices_dtype is None else indices_dtype)
    if not jnp.issubdtype(index, jnp.integer) or places > jnp.iinfo(index).max:
        raise ValueError(
            f"random_bcoo: indices of dtype {index} cannot number {places} places; give a larger "
            "integer type."
        )
    # One key for the elements, and one for the positions of each batch.
    keys = random.split(key, 1 + prod(batch))

    def places_of(key: Array) -> Array:
        if unique_indices:
            return random.permutation(key, places)[:count]
        return random.randint(key, (count,), 0, places)

    flat = jnp.reshape(vmap(places_of)(keys[1:]), (*batch, count))
    columns = jnp.unravel_index(flat, sparse) if sparse else ()
    indices = jnp.stack(columns, axis=-1) if sparse else jnp.zeros((*batch, count, 0), int)
    indices = indices.astype(int if indices_dtype is None else index)
    data = generator(keys[0], shape=(*batch, count, *dense), dtype=dtype, **kwds)
    result = BCOO((data, indices), shape=sizes)
    return result.sort_indices() if sorted_indices else result
