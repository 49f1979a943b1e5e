"""The class of BCOO arrays."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

import ricci_ir as ir
import ricci_numpy as jnp
from ricci_ir import Array, ArrayLike, DTypeLike, Tracer
from ricci_pytree import register_pytree_node_class
from ricci_sparse._base import StoredParts
from ricci_sparse.layouts import SparseInfo

from . import _layout as layout

__all__ = ["BCOO"]


# ``bcoo_update_layout``, whose module imports this one.
update_layout: ir.Hook[Callable[["BCOO", int | None, int | None, str | None], "BCOO"]] = ir.Hook(
    "bcoo_update_layout", provided_by="ricci_sparse"
)


@register_pytree_node_class
class BCOO(StoredParts):
    """A sparse array as a list of elements with their indices: *batched coordinates*.

    Its dimensions are batches first, then sparse ones, then dense ones. For each batch, ``nse``
    elements are stored, each an array of the dense dimensions, with an index of the sparse ones.
    The array that it represents has, at each index, the sum of the elements stored there. Indices
    outside of the shape are padding.

    Args:
      args: the elements, of shape ``(*batch, nse, *dense)``, and the indices, integers of shape
        ``(*batch, nse, n_sparse)``. A batch dimension of size 1 belongs to every batch.
      shape: the shape of the array that it represents.
      indices_sorted: a promise that the indices of each batch are in lexicographic order.
      unique_indices: a promise that no index of a batch occurs twice.

    Raises:
      ValueError: if the shapes do not fit together.

    Example:
      >>> import numpy as np
      >>> from ricci.experimental import sparse
      >>> M = sparse.BCOO.fromdense(np.float32([[0, 2, 0], [1, 0, 4]]))
      >>> M
      BCOO(float32[2, 3], nse=3)
      >>> M @ np.float32([1, 2, 3])
      Array([ 4., 13.], dtype=float32)
    """

    _parts: ClassVar[tuple[str, ...]] = ("data", "indices")

    data: Array
    indices: Array
    indices_sorted: bool
    unique_indices: bool

    def __init__(
        self,
        args: tuple[Array, Array],
        *,
        shape: Sequence[int],
        indices_sorted: bool = False,
        unique_indices: bool = False,
    ):
        super().__init__(args, shape=shape)
        self.data, self.indices = map(jnp.asarray, args)
        self.indices_sorted = indices_sorted
        self.unique_indices = unique_indices
        layout.validate(self.data, self.indices, self.shape)

    @property
    def nse(self) -> int:
        """The number of elements that are stored for each batch."""
        return self.indices.shape[-2]

    @property
    def n_batch(self) -> int:
        """The number of leading batch dimensions."""
        return self.indices.ndim - 2

    @property
    def n_sparse(self) -> int:
        """The number of sparse dimensions, which the indices address."""
        return self.indices.shape[-1]

    @property
    def n_dense(self) -> int:
        """The number of trailing dense dimensions."""
        return self.data.ndim - 1 - self.n_batch

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
        """The elements of an array that are not zero.

        Args:
          mat: the array.
          nse: the number of elements stored for each batch: the first ones, then padding. By
            default as many as there are; required during tracing.
          index_dtype: the dtype of the indices.
          n_dense, n_batch: the numbers of dense and of batch dimensions.

        Raises:
          ConcretizationTypeError: if ``nse`` is not given and the array is traced.
          ValueError: if the array has fewer dimensions.
        """
        mat = jnp.asarray(mat)
        if n_batch < 0 or n_dense < 0 or n_batch + n_dense > mat.ndim:
            raise ValueError(
                f"BCOO.fromdense: an array of shape {mat.shape} cannot have {n_batch} batch and "
                f"{n_dense} dense dimensions."
            )
        if nse is None:
            count = layout.count_stored_elements(mat, n_batch, n_dense)
            if isinstance(count, Tracer):
                raise ir.ConcretizationTypeError(
                    count,
                    "BCOO.fromdense counts the elements to store, whose number is unknown during "
                    "tracing. Pass nse, the number of them.",
                )
            nse = int(count)
        params = {"n_batch": int(n_batch), "n_dense": int(n_dense)}
        dtype = jnp.dtype(index_dtype)
        data, indices = layout.bcoo_fromdense_p.bind(mat, nse=int(nse), index_dtype=dtype, **params)
        return cls((data, indices), shape=mat.shape, indices_sorted=True, unique_indices=True)

    @classmethod
    def from_scipy_sparse(
        cls, mat: Any, *, index_dtype: DTypeLike | None = None, n_dense: int = 0, n_batch: int = 0
    ) -> Self:
        """A matrix of SciPy.

        Args:
          mat: a sparse matrix or array of ``scipy.sparse``, of any format.
          index_dtype: the dtype of the indices; by default that of the matrix.
          n_dense, n_batch: must be 0.

        Raises:
          NotImplementedError: for dense or batch dimensions.
        """
        if n_dense or n_batch:
            raise NotImplementedError("BCOO.from_scipy_sparse: n_dense and n_batch must be 0.")
        coo = mat.tocoo()
        indices = jnp.column_stack((coo.row, coo.col)).astype(index_dtype or jnp.int32)
        return cls((jnp.asarray(coo.data), indices), shape=mat.shape)

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
        n_sparse = len(shape) - n_dense - n_batch
        if n_sparse < 0 or n_dense < 0 or n_batch < 0 or nse < 0:
            raise ValueError(
                f"BCOO: an array of shape {shape} cannot have {n_batch} batch and {n_dense} dense "
                f"dimensions and {nse} elements."
            )
        batch, sizes, dense = layout.split_shape(shape, n_batch, n_sparse)
        data = jnp.zeros((*batch, nse, *dense), dtype)
        # An index equal to the sizes is out of bounds: padding.
        at = jnp.array(sizes, index_dtype)
        indices = jnp.broadcast_to(at, (*batch, nse, n_sparse))
        return cls((data, indices), shape=shape, indices_sorted=True, unique_indices=True)

    @classmethod
    def _eye(
        cls,
        N: int,
        M: int,
        k: int,
        *,
        dtype: DTypeLike | None = None,
        index_dtype: DTypeLike = "int32",
        n_batch: int = 0,
        n_dense: int = 0,
    ) -> Self:
        if not 0 <= n_batch + n_dense <= 2 or n_batch < 0 or n_dense < 0:
            raise ValueError(
                f"BCOO: a matrix cannot have {n_batch} batch and {n_dense} dense dimensions."
            )
        # The length of diagonal k: rows below it, or columns left of it, are cut off.
        count = max(min(N + min(k, 0), M - max(k, 0)), 0)
        if not count:
            sizes = {"n_batch": n_batch, "n_dense": n_dense, "nse": 0}
            return cls._empty((N, M), dtype=dtype, index_dtype=index_dtype, **sizes)
        if n_batch or n_dense:
            if n_batch == 0:
                nse = count
            else:
                nse = 1
            sizes = {"n_batch": n_batch, "n_dense": n_dense, "nse": nse}
            return cls.fromdense(jnp.eye(N, M, k, dtype), index_dtype=index_dtype, **sizes)
        start = jnp.arange(count, dtype=index_dtype)
        indices = jnp.stack([start + max(-k, 0), start + max(k, 0)], axis=-1)
        data = jnp.ones(count, dtype)
        return cls((data, indices), shape=(N, M), indices_sorted=True, unique_indices=True)

    def todense(self) -> Array:
        """The dense array that it represents."""
        return layout.bcoo_todense_p.bind(self.data, self.indices, spinfo=self.info)

    def sort_indices(self) -> Self:
        """The same array with its indices in lexicographic order."""
        parts = layout.bcoo_sort_indices_p.bind(self.data, self.indices, spinfo=self.info)
        return self._with(parts, self.info._replace(indices_sorted=True))

    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> Self:
        """The same array with each index stored once, in order.

        Args:
          nse: the number of elements stored for each batch: the first ones, then padding. By
            default as many as there are; required during tracing.
          remove_zeros: whether elements that are zero are left out.

        Raises:
          ValueError: if ``nse`` is not given and the indices are traced.
        """
        indices = self.indices
        if remove_zeros:
            zero = self.data == 0
            for _ in range(self.n_dense):
                # With dense dimensions an element is a block, which is zero if all of it is.
                zero = jnp.all(zero, axis=-1)
            _, sizes, _ = layout.split_shape(self.shape, self.n_batch, self.n_sparse)
            outside = jnp.array(sizes, indices.dtype)
            indices = jnp.where(zero[..., None], outside, indices)
        if nse is None:
            count = layout.count_unique_indices(indices, self.shape)
            if isinstance(count, Tracer):
                raise ValueError(
                    "bcoo_sum_duplicates: nse must be specified inside jit, vmap and other "
                    "transformations, where the number of different indices is not known."
                )
            nse = int(count)
        parts = layout.bcoo_sum_duplicates_p.bind(
            self.data, indices, spinfo=self.info, nse=int(nse)
        )
        return self._with(parts, SparseInfo(self.shape, True, True))

    def transpose(self, axes: Sequence[int] | None = None) -> "BCOO":
        """The array with its dimensions in another order.

        Args:
          axes: the dimensions in their new order; reversed by default.

        Raises:
          NotImplementedError: if batch, sparse and dense dimensions would be mixed.
          TypeError: if ``axes`` is not a permutation of the dimensions.
        """
        order = range(self.ndim)[::-1] if axes is None else axes
        permutation = tuple(a + self.ndim if a < 0 else a for a in map(int, order))
        layout.split_permutation(permutation, layout.properties_of(self.indices, self.shape))
        if permutation == tuple(range(self.ndim)):
            return self
        parts = layout.bcoo_transpose_p.bind(
            self.data, self.indices, permutation=permutation, spinfo=self.info
        )
        shape = tuple(self.shape[d] for d in permutation)
        return self._with(parts, SparseInfo(shape, False, self.unique_indices))

    def update_layout(
        self,
        *,
        n_batch: int | None = None,
        n_dense: int | None = None,
        on_inefficient: str | None = "error",
    ) -> "BCOO":
        """The same array with other dimensions as batches or dense: see ``bcoo_update_layout``."""
        return update_layout.call(self, n_batch, n_dense, on_inefficient)

    if TYPE_CHECKING:  # set by _methods

        def __abs__(self) -> "BCOO": ...
        def __truediv__(self, other: ArrayLike) -> "BCOO": ...
        def __rtruediv__(self, other: ArrayLike) -> "BCOO": ...
        def __pow__(self, other: ArrayLike) -> "BCOO": ...
        def __iter__(self) -> Iterator["BCOO"]: ...
        def astype(self, dtype: DTypeLike) -> "BCOO":
            """The array with elements of another dtype."""
            ...

        def reshape(self, *shape: int | Sequence[int], order: str = "C") -> "BCOO":
            """The array in another shape."""
            ...

    def _with(self, parts: Sequence[Array], info: SparseInfo) -> Self:
        """An array with these parts, of the same class."""
        return type(self)((parts[0], parts[1]), **info._asdict())

    def _static(self) -> dict[str, Any]:
        return self.info._asdict()
