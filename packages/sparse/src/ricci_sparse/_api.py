"""Functions for sparse arrays of any format."""

from collections.abc import Sequence
from typing import Any

import ricci_numpy as jnp
from ricci_ir import Array, ArrayLike, DTypeLike, Primitive
from ricci_pytree import PyTreeDef, tree_flatten, tree_unflatten

from ._base import JAXSparse, is_sparse
from ._function_primitives import function_primitive
from .bcoo import BCOO
from .bcsr import BCSR
from .coo import COO
from .csr import CSC, CSR

__all__ = ["empty", "eye", "todense", "todense_p"]

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
