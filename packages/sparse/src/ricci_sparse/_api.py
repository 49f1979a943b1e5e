"""Functions for sparse arrays of any format, and random sparse arrays."""

from collections.abc import Callable, Sequence
from math import ceil, prod
from typing import Any

import numpy as np

import ricci_numpy as jnp
import ricci_random as random
from ricci_batching import vmap
from ricci_ir import Array, ArrayLike, DTypeLike, Primitive
from ricci_pytree import PyTreeDef, tree_flatten, tree_unflatten

from ._base import JAXSparse, is_sparse
from ._function_primitives import function_primitive
from .bcoo import BCOO
from .bcsr import BCSR
from .coo import COO
from .csr import CSC, CSR

__all__ = ["empty", "eye", "random_bcoo", "todense", "todense_p"]

_FORMATS: dict[str, Any] = {"bcsr": BCSR, "bcoo": BCOO, "coo": COO, "csr": CSR, "csc": CSC}
_WITH_EYE = ("bcoo", "coo", "csr", "csc")


def _todense(*parts: Array, tree: PyTreeDef) -> Array:
    arr = tree_unflatten(tree, parts)
    return arr.todense() if is_sparse(arr) else jnp.asarray(arr)


todense_p: Primitive = function_primitive("todense", _todense)


def todense(arr: JAXSparse | ArrayLike) -> Array:
    """The dense array that a sparse array represents; dense arrays are returned unchanged.

    Inside ``sparsify``, operations on the result are those of dense arrays.

    Args:
      arr: a sparse array of any format, or an array.

    Returns:
      A dense array of the same shape and dtype.

    Example:
      >>> from ricci.experimental import sparse
      >>> import numpy as np
      >>> sparse.todense(sparse.BCOO.fromdense(np.float32([0, 2])))
      Array([0., 2.], dtype=float32)
    """
    parts, tree = tree_flatten(arr)
    return todense_p.bind(*parts, tree=tree)


def empty(
    shape: Sequence[int],
    dtype: DTypeLike | None = None,
    index_dtype: DTypeLike = "int32",
    sparse_format: str = "bcoo",
    **kwds: Any,
) -> JAXSparse:
    """A sparse array of zeros.

    Args:
      shape: its shape.
      dtype: the dtype of its elements; the default float type by default.
      index_dtype: the dtype of its indices.
      sparse_format: ``"bcoo"``, ``"bcsr"``, ``"coo"``, ``"csr"`` or ``"csc"``.
      kwds: for BCOO and BCSR arrays ``n_batch``, ``n_dense`` and ``nse``.

    Returns:
      A sparse array of the format.

    Raises:
      ValueError: for another format, or a shape that the format cannot have.

    Example:
      >>> from ricci.experimental import sparse
      >>> sparse.empty((2, 3))
      BCOO(float32[2, 3], nse=0)
    """
    if sparse_format not in _FORMATS:
        raise ValueError(
            f"sparse_format={sparse_format!r} not recognized; must be one of {list(_FORMATS)}"
        )
    cls = _FORMATS[sparse_format]
    return cls._empty(tuple(shape), dtype=dtype, index_dtype=index_dtype, **kwds)


def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: DTypeLike | None = None,
    index_dtype: DTypeLike = "int32",
    sparse_format: str = "bcoo",
    **kwds: Any,
) -> JAXSparse:
    """A sparse matrix with ones on a diagonal.

    Args:
      N, M: the numbers of rows and columns; as many of both if ``M`` is not given.
      k: which diagonal: positive ones lie above the main one.
      dtype: the dtype of its elements; the default float type by default.
      index_dtype: the dtype of its indices.
      sparse_format: ``"bcoo"``, ``"coo"``, ``"csr"`` or ``"csc"``.
      kwds: for BCOO arrays ``n_batch`` and ``n_dense``.

    Returns:
      A sparse matrix of the format.

    Raises:
      KeyError: for another format.

    Example:
      >>> from ricci.experimental import sparse
      >>> sparse.eye(2).todense()
      Array([[1., 0.],
             [0., 1.]], dtype=float32)
    """
    if sparse_format not in _WITH_EYE:
        raise KeyError(
            f"eye has no sparse_format={sparse_format!r}; it is one of {', '.join(_WITH_EYE)}"
        )
    columns = N if M is None else M
    params = {"dtype": dtype, "index_dtype": index_dtype, **kwds}
    return _FORMATS[sparse_format]._eye(int(N), int(columns), int(k), **params)


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
    # A fraction of all places, or their number.
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
            # The beginning of a permutation is a sample without repetition.
            return random.permutation(key, places)[:count]
        return random.randint(key, (count,), 0, places)

    flat = jnp.reshape(vmap(places_of)(keys[1:]), (*batch, count))
    columns = jnp.unravel_index(flat, sparse) if sparse else ()
    indices = jnp.stack(columns, axis=-1) if sparse else jnp.zeros((*batch, count, 0), int)
    indices = indices.astype(int if indices_dtype is None else index)
    data = generator(keys[0], shape=(*batch, count, *dense), dtype=dtype, **kwds)
    result = BCOO((data, indices), shape=sizes)
    return result.sort_indices() if sorted_indices else result
