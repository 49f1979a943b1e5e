"""CSR and CSC matrices: their elements row by row, or column by column."""

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np

import ricci_numpy as jnp
from ricci_ir import Array, ArrayLike, DTypeLike, Primitive
from ricci_pytree import register_pytree_node_class
from ricci_sparse.bcsr._layout import rows_of, starts_of

from ._base import JAXSparse, StoredParts
from ._function_primitives import function_primitive
from .coo import check_factor, count_nonzeros, matmul, matrix, product

__all__ = ["CSC", "CSR", "csr_fromdense", "csr_fromdense_p", "csr_matmat", "csr_matmat_p"]
__all__ += ["csr_matvec", "csr_matvec_p", "csr_todense", "csr_todense_p"]


def _todense(data: Array, indices: Array, indptr: Array, *, shape: tuple[int, ...]) -> Array:
    rows = rows_of(indptr, data.shape[0])
    return jnp.zeros(shape, data.dtype).at[rows, indices].add(data, mode="drop")


def _fromdense(mat: Array, *, nse: int, index_dtype: DTypeLike) -> tuple[Array, Array, Array]:
    row, col = jnp.nonzero(mat, size=nse, fill_value=mat.shape)
    data = mat.at[row, col].get(mode="fill", fill_value=0)
    return data, col.astype(index_dtype), starts_of(row.astype(index_dtype), mat.shape[0])


def _matmul(
    data: Array, indices: Array, indptr: Array, x: Array, *, shape: tuple[int, ...], transpose: bool
) -> Array:
    rows = rows_of(indptr, data.shape[0])
    if transpose:
        return product(data, indices, rows, indptr, x, shape[::-1], "columns")
    return product(data, rows, indices, indptr, x, shape, "rows")


csr_todense_p: Primitive = function_primitive("csr_todense", _todense)
csr_fromdense_p: Primitive = function_primitive("csr_fromdense", _fromdense, multiple_results=True)
csr_matvec_p: Primitive = function_primitive("csr_matvec", _matmul)
csr_matmat_p: Primitive = function_primitive("csr_matmat", _matmul)


class _Compressed(StoredParts):
    """The base class of CSR and CSC matrices, which store lines: rows or columns."""

    _parts: ClassVar[tuple[str, ...]] = ("data", "indices", "indptr")
    _lines: ClassVar[int]  # the dimension whose positions are the lines

    data: Array
    indices: Array
    indptr: Array

    def __init__(self, args: tuple[Array, Array, Array], *, shape: Sequence[int]):
        super().__init__(args, shape=shape)
        self.data, self.indices, self.indptr = map(jnp.asarray, args)

    @property
    def nse(self) -> int:
        """The number of elements that are stored."""
        return self.data.size

    def _transposed_arguments(self, axes: Sequence[int] | None) -> dict[str, Any]:
        """The arguments of the transposed matrix, which has the same parts in the other format."""
        if axes is not None and tuple(axes) != (1, 0):
            raise NotImplementedError(
                f"{type(self).__name__}.transpose: axes must be None or (1, 0)."
            )
        return {"args": (self.data, self.indices, self.indptr), "shape": self.shape[::-1]}

    @classmethod
    def _empty(
        cls,
        shape: Sequence[int],
        *,
        dtype: DTypeLike | None = None,
        index_dtype: DTypeLike = "int32",
    ) -> Self:
        if len(shape) != 2:
            raise ValueError(f"CSR and CSC matrices must have ndim=2, got shape {tuple(shape)}.")
        starts = jnp.zeros(shape[cls._lines] + 1, index_dtype)
        return cls((jnp.zeros(0, dtype), jnp.zeros(0, index_dtype), starts), shape=shape)

    @classmethod
    def _eye(
        cls,
        N: int,
        M: int,
        k: int,
        *,
        dtype: DTypeLike | None = None,
        index_dtype: DTypeLike = "int32",
    ) -> Self:
        # Line i holds one element, in position i + k, unless that is out of bounds.
        lines, width, k = (M, N, -k) if cls._lines else (N, M, k)
        count = max(min(lines + min(k, 0), width - max(k, 0)), 0)
        # Lines before the diagonal's first one have no element, those after its last one none any
        # more: the starts are clipped to the stored elements.
        positions = jnp.arange(lines + 1, dtype=index_dtype) - max(-k, 0)
        indices = jnp.arange(count, dtype=index_dtype) + max(k, 0)
        parts = (jnp.ones(count, dtype), indices, jnp.clip(positions, 0, count))
        return cls(parts, shape=(N, M))


@register_pytree_node_class
class CSR(_Compressed):
    """A matrix as lists of elements row by row. ``BCSR`` supports more operations.

    Args:
      args: the elements and their columns, vectors of one length, and the position of each row's
        first element, followed by the end of the last row.
      shape: the shape of the matrix.

    Example:
      >>> import numpy as np
      >>> from ricci.experimental import sparse
      >>> M = sparse.CSR.fromdense(np.float32([[0, 2, 0], [1, 0, 4]]))
      >>> M @ np.float32([1, 2, 3])
      Array([ 4., 13.], dtype=float32)
    """

    _lines = 0

    @classmethod
    def fromdense(
        cls, mat: ArrayLike, *, nse: int | None = None, index_dtype: DTypeLike = np.int32
    ) -> Self:
        """The elements of a matrix that are not zero: see ``BCOO.fromdense``."""
        mat = matrix("CSR.fromdense", mat)
        count = count_nonzeros("CSR.fromdense", mat) if nse is None else int(nse)
        parts = csr_fromdense_p.bind(mat, nse=count, index_dtype=jnp.dtype(index_dtype))
        return cls(tuple(parts), shape=mat.shape)

    def todense(self) -> Array:
        """The dense matrix that it represents."""
        return csr_todense_p.bind(self.data, self.indices, self.indptr, shape=self.shape)

    def transpose(self, axes: Sequence[int] | None = None) -> "CSC":
        """The transposed matrix, stored column by column.

        Raises:
          NotImplementedError: if ``axes`` is given, unless it exchanges the dimensions.
        """
        return CSC(**self._transposed_arguments(axes))

    def __matmul__(self, other: Any) -> Any:
        return matmul(self, other, csr_matvec, csr_matmat)


@register_pytree_node_class
class CSC(_Compressed):
    """A matrix as lists of elements column by column: a transposed ``CSR``.

    Args:
      args: the elements and their rows, vectors of one length, and the position of each column's
        first element, followed by the end of the last column.
      shape: the shape of the matrix.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental import sparse
      >>> M = sparse.CSC.fromdense(jnp.array([[0, 2], [1, 0]]))
      >>> M.indices.tolist(), M.indptr.tolist()
      ([1, 0], [0, 1, 2])
    """

    _lines = 1

    @classmethod
    def fromdense(
        cls, mat: ArrayLike, *, nse: int | None = None, index_dtype: DTypeLike = np.int32
    ) -> Self:
        """The elements of a matrix that are not zero: see ``BCOO.fromdense``."""
        mat = matrix("CSC.fromdense", mat)
        # The parts of a CSC matrix are those of the transposed CSR matrix.
        other = CSR.fromdense(mat.T, nse=nse, index_dtype=index_dtype)
        return cls((other.data, other.indices, other.indptr), shape=mat.shape)

    def todense(self) -> Array:
        """The dense matrix that it represents."""
        return self.transpose().todense().T

    def transpose(self, axes: Sequence[int] | None = None) -> CSR:
        """The transposed matrix, stored row by row.

        Raises:
          NotImplementedError: if ``axes`` is given, unless it exchanges the dimensions.
        """
        return CSR(**self._transposed_arguments(axes))

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, JAXSparse):
            return matmul(self, other, csr_matvec, csr_matmat)
        # The transposed matrix has the same parts, row by row.
        return matmul(self.transpose(), other, csr_matvec, csr_matmat, transpose=True)


def csr_todense(mat: CSR) -> Array:
    """The dense matrix that a CSR matrix represents.

    Args:
      mat: the matrix.

    Returns:
      A dense matrix.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental import sparse
      >>> M = sparse.CSR.fromdense(jnp.array([[0, 2], [1, 0]]))
      >>> sparse.csr_todense(M).tolist()
      [[0, 2], [1, 0]]
    """
    return mat.todense()


def csr_fromdense(mat: Array, *, nse: int | None = None, index_dtype: DTypeLike = np.int32) -> CSR:
    """The elements of a matrix that are not zero: see ``CSR.fromdense``.

    Args:
      mat: the matrix.
      nse, index_dtype: as for ``CSR.fromdense``.

    Returns:
      A CSR matrix.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental import sparse
      >>> sparse.csr_fromdense(jnp.array([[0, 2], [1, 0]])).indptr.tolist()
      [0, 1, 2]
    """
    return CSR.fromdense(mat, nse=nse, index_dtype=index_dtype)


def csr_matvec(mat: CSR, v: Array, transpose: bool = False) -> Array:
    """The product of a CSR matrix and a vector.

    Args:
      mat: the matrix.
      v: the vector.
      transpose: whether the matrix is transposed.

    Returns:
      A vector.

    Raises:
      ValueError: if the shapes are incompatible.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental import sparse
      >>> M = sparse.CSR.fromdense(jnp.array([[0, 2], [1, 0]]))
      >>> sparse.csr_matvec(M, jnp.array([3, 4])).tolist()
      [8, 3]
    """
    v = check_factor("csr_matvec", mat.shape, v, transpose, 1)
    params = {"shape": mat.shape, "transpose": bool(transpose)}
    return csr_matvec_p.bind(mat.data, mat.indices, mat.indptr, v, **params)


def csr_matmat(mat: CSR, B: Array, *, transpose: bool = False) -> Array:
    """The product of a CSR matrix and a dense one: see ``csr_matvec``.

    Args:
      mat: the sparse matrix.
      B: the dense matrix.
      transpose: whether the sparse matrix is transposed.

    Returns:
      A dense matrix.

    Raises:
      ValueError: if the shapes are incompatible.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental import sparse
      >>> M = sparse.CSR.fromdense(jnp.array([[0, 2], [1, 0]]))
      >>> sparse.csr_matmat(M, jnp.eye(2)).tolist()
      [[0.0, 2.0], [1.0, 0.0]]
    """
    B = check_factor("csr_matmat", mat.shape, B, transpose, 2)
    params = {"shape": mat.shape, "transpose": bool(transpose)}
    return csr_matmat_p.bind(mat.data, mat.indices, mat.indptr, B, **params)
