"""The class of BCSR arrays."""

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np

import ricci_numpy as jnp
from ricci_ir import Array, ArrayLike, ConcretizationTypeError, DTypeLike, Tracer
from ricci_pytree import register_pytree_node_class
from ricci_sparse._base import StoredParts
from ricci_sparse.bcoo import BCOO
from ricci_sparse.bcoo._layout import count_stored_elements
from ricci_sparse.layouts import SparseInfo

from ._layout import bcsr_fromdense_p, bcsr_properties, bcsr_todense_p, rows_of, starts_of, validate

__all__ = ["BCSR"]


@register_pytree_node_class
class BCSR(StoredParts):
    """A sparse array as lists of elements row by row: *batched compressed sparse rows*.

    Its dimensions are batches, two sparse ones (rows and columns), and dense ones. For each batch,
    ``nse`` elements are stored in the order of their rows, each with its column.

    Args:
      args: the elements, of shape ``(*batch, nse, *dense)``; the columns, integers of shape
        ``(*batch, nse)``; and the position of each row's first element and the end of the last row,
        integers of shape ``(*batch, rows + 1)``.
      shape: the shape of the array that it represents.
      indices_sorted: a promise that the columns of each row are in order.
      unique_indices: a promise that no column of a row occurs twice.

    Raises:
      ValueError: if the shapes do not fit together.

    Example:
      >>> import numpy as np
      >>> from ricci.experimental import sparse
      >>> M = sparse.BCSR.fromdense(np.float32([[0, 2, 0], [1, 0, 4]]))
      >>> M.indices, M.indptr
      (Array([1, 0, 2], dtype=int32), Array([0, 1, 3], dtype=int32))
    """

    _parts: ClassVar[tuple[str, ...]] = ("data", "indices", "indptr")

    data: Array
    indices: Array
    indptr: Array
    indices_sorted: bool
    unique_indices: bool

    def __init__(
        self,
        args: tuple[Array, Array, Array],
        *,
        shape: Sequence[int],
        indices_sorted: bool = False,
        unique_indices: bool = False,
    ):
        super().__init__(args, shape=shape)
        self.data, self.indices, self.indptr = map(jnp.asarray, args)
        self.indices_sorted = indices_sorted
        self.unique_indices = unique_indices
        validate(self.data, self.indices, self.indptr, self.shape)

    @property
    def nse(self) -> int:
        """The number of elements that are stored for each batch."""
        return self.indices.shape[-1]

    @property
    def n_batch(self) -> int:
        """The number of leading batch dimensions."""
        return self.indices.ndim - 1

    @property
    def n_sparse(self) -> int:
        """The number of sparse dimensions: two, rows and columns."""
        return 2

    @property
    def n_dense(self) -> int:
        """The number of trailing dense dimensions."""
        return self.data.ndim - self.indices.ndim

    @property
    def info(self) -> SparseInfo:
        """The static properties: shape and promises about the indices."""
        return SparseInfo(self.shape, self.indices_sorted, self.unique_indices)

    def _described(self) -> str:
        batch, dense = self.n_batch, self.n_dense
        extra = (f", n_batch={batch}" if batch else "") + (f", n_dense={dense}" if dense else "")
        return super()._described() + extra

    @classmethod
    def fromdense(
        cls,
        mat: ArrayLike,
        *,
        nse: int | None = None,
        index_dtype: DTypeLike = np.int32,
        n_dense: int = 0,
        n_batch: int = 0,
    ) -> Self:
        """The elements of an array that are not zero: see ``BCOO.fromdense``.

        Raises:
          ConcretizationTypeError: if ``nse`` is not given and the array is traced.
          ValueError: if the array has not exactly two further dimensions.
        """
        mat = jnp.asarray(mat)
        bcsr_properties(mat.ndim, n_batch, n_dense)
        if nse is None:
            count = count_stored_elements(mat, n_batch, n_dense)
            if isinstance(count, Tracer):
                raise ConcretizationTypeError(
                    count,
                    "BCSR.fromdense counts the elements to store, whose number is unknown during "
                    "tracing. Pass nse, the number of them.",
                )
            nse = int(count)
        params = {"n_batch": int(n_batch), "n_dense": int(n_dense)}
        dtype = jnp.dtype(index_dtype)
        parts = bcsr_fromdense_p.bind(mat, nse=int(nse), index_dtype=dtype, **params)
        return cls(tuple(parts), shape=mat.shape, indices_sorted=True, unique_indices=True)

    @classmethod
    def from_scipy_sparse(
        cls, mat: Any, *, index_dtype: DTypeLike | None = None, n_dense: int = 0, n_batch: int = 0
    ) -> Self:
        """A matrix of SciPy: see ``BCOO.from_scipy_sparse``.

        Raises:
          NotImplementedError: for dense or batch dimensions.
        """
        if n_dense or n_batch:
            raise NotImplementedError("BCSR.from_scipy_sparse: n_dense and n_batch must be 0.")
        csr = mat.tocsr()
        dtype = index_dtype or jnp.int32
        indices, indptr = (jnp.asarray(x).astype(dtype) for x in (csr.indices, csr.indptr))
        return cls((jnp.asarray(csr.data), indices, indptr), shape=mat.shape)

    @classmethod
    def from_bcoo(cls, arr: BCOO) -> Self:
        """Convert a BCOO array with two sparse dimensions, after sorting its indices.

        Raises:
          NotImplementedError: if it has another number of sparse dimensions.
        """
        if arr.n_sparse != 2:
            raise NotImplementedError(
                f"BCSR.from_bcoo: the array must have 2 sparse dimensions, but has {arr.n_sparse}."
            )
        if not arr.indices_sorted:
            arr = arr.sort_indices()
        n_rows = arr.shape[arr.n_batch]
        # Rows are implied by positions here, so the elements must be in the order of their rows.
        indptr = starts_of(arr.indices[..., 0], n_rows)
        info = arr.info._asdict()
        return cls((arr.data, arr.indices[..., 1], indptr), **info)

    def to_bcoo(self) -> BCOO:
        """The same array as a BCOO array."""
        rows = rows_of(self.indptr, self.nse)
        indices = jnp.stack(jnp.broadcast_arrays(rows, self.indices), axis=-1)
        return BCOO((self.data, indices), **self.info._asdict())

    @classmethod
    def _empty(
        cls,
        shape: Sequence[int],
        *,
        dtype: DTypeLike | None = None,
        index_dtype: DTypeLike = "int32",
        n_dense: int = 0,
        n_batch: int = 0,
        nse: int = 0,
    ) -> Self:
        shape = tuple(shape)
        bcsr_properties(len(shape), n_batch, n_dense)
        batch, columns = shape[:n_batch], shape[n_batch + 1]
        data = jnp.zeros((*batch, nse, *shape[n_batch + 2 :]), dtype)
        # A column past the end marks padding: such elements count as zero.
        indices = jnp.full((*batch, nse), columns, index_dtype)
        indptr = jnp.zeros((*batch, shape[n_batch] + 1), index_dtype)
        return cls((data, indices, indptr), shape=shape)

    def todense(self) -> Array:
        """The dense array that it represents."""
        return bcsr_todense_p.bind(self.data, self.indices, self.indptr, spinfo=self.info)

    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> Self:
        """Sum elements with the same index: see ``BCOO.sum_duplicates``."""
        return type(self).from_bcoo(self.to_bcoo().sum_duplicates(nse, remove_zeros))

    def transpose(self, axes: Sequence[int] | None = None) -> "BCSR":
        """Not supported: the elements would be stored column by column.

        Raises:
          NotImplementedError: always.
        """
        raise NotImplementedError(
            "BCSR.transpose: the elements would be stored column by column. Use "
            "BCSR.from_bcoo(mat.to_bcoo().T)."
        )

    def _static(self) -> dict[str, Any]:
        return self.info._asdict()
