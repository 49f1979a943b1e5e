"""COO matrices: a row, a column and a value for each element."""

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

import ricci_ir as ir
import ricci_numpy as jnp
from ricci_ir import Array, ArrayLike, DTypeLike, Primitive, Tracer
from ricci_pytree import register_pytree_node_class

from ._base import JAXSparse
from ._function_primitives import function_primitive
from ._row_products import Order, row_products

__all__ = ["COO", "COOInfo", "coo_fromdense", "coo_fromdense_p", "coo_matmat", "coo_matmat_p"]
__all__ += ["coo_matvec", "coo_matvec_p", "coo_todense", "coo_todense_p"]


class COOInfo(NamedTuple):
    """The static properties of a COO matrix.

    Attributes:
      shape: its shape.
      rows_sorted: whether its elements are stored row by row.
      cols_sorted: whether they are stored column by column.
    """

    shape: tuple[int, ...]
    rows_sorted: bool = False
    cols_sorted: bool = False


def count_nonzeros(name: str, mat: Array) -> int:
    """The number of elements of an array that are not zero.

    Raises:
      ConcretizationTypeError: if it is traced.
    """
    count = jnp.sum(mat != 0)
    if isinstance(count, Tracer):
        raise ir.ConcretizationTypeError(
            count,
            f"{name} counts the elements to store, whose number is unknown during tracing. "
            "Pass nse, the number of them.",
        )
    return int(count)


def matrix(name: str, mat: ArrayLike) -> Array:
    """Convert to an array of two dimensions.

    Raises:
      ValueError: if it has another number of dimensions than two.
    """
    mat = jnp.asarray(mat)
    if mat.ndim != 2:
        raise ValueError(f"{name} takes a matrix, got shape {mat.shape}.")
    return mat


def check_factor(name: str, shape: Sequence[int], x: Any, transpose: bool, ndim: int) -> Array:
    """Convert and check the right-hand side of a product with a matrix.

    Raises:
      ValueError: if it has another rank, or its first dimension another size.
    """
    x = jnp.asarray(x)
    size = shape[0 if transpose else 1]
    if x.ndim != ndim or x.shape[0] != size:
        kind = "vector" if ndim == 1 else "matrix"
        raise ValueError(
            f"{name}: a matrix of shape {tuple(shape)}{' transposed' * transpose} is multiplied "
            f"with a {kind} of {size} rows, got shape {x.shape}."
        )
    return x


def product(
    data: Array,
    rows: Array,
    columns: Array,
    indptr: Array | None,
    x: Array,
    shape: Sequence[int],
    order: Order,
) -> Array:
    """The product of a matrix, whose elements out of bounds count as zero.

    Args:
      data, rows, columns: the elements, their rows and their columns.
      indptr: the row pointers, the column pointers with the order ``"columns"``, or None.
      x: the right-hand side.
      shape: the shape of the matrix.
      order: the order of the elements, as for ``row_products``.
    """
    n_rows, n_columns = shape
    dtype = jnp.promote_types(data.dtype, x.dtype)
    data, x = data.astype(dtype), x.astype(dtype)
    if not data.size or not x.size or not n_rows:
        return jnp.zeros((n_rows, *x.shape[1:]), dtype)
    numbers = jnp.promote_types(jnp.promote_types(rows.dtype, columns.dtype), jnp.int32)
    # Elements out of bounds are padding. Their value becomes 0 and their indices are moved inside,
    # so that the product needs no bounds.
    inside = [(at >= 0) & (at < size) for at, size in ((rows, n_rows), (columns, n_columns))]
    if indptr is not None:
        # Elements behind the last line are outside. That takes less than their lines, which
        # cuSPARSE does not need.
        positions = jnp.arange(data.shape[0], dtype=indptr.dtype)
        inside[order == "columns"] = positions < indptr[-1]
    data = jnp.where(inside[0] & inside[1], data, jnp.zeros((), dtype))
    rows = jnp.clip(rows.astype(numbers), 0, n_rows - 1)
    columns = jnp.clip(columns.astype(numbers), 0, n_columns - 1)
    if indptr is not None:
        indptr = jnp.clip(indptr.astype(numbers), 0, data.shape[0])
    form = "coo" if indptr is None else "csr"
    params = {"n_rows": n_rows, "order": order, "cusparse": form}
    return row_products(data, rows, columns, x, indptr=indptr, **params)


def _todense(data: Array, row: Array, col: Array, *, spinfo: COOInfo) -> Array:
    # Elements at one position add up, and padding at positions out of bounds is dropped.
    return jnp.zeros(spinfo.shape, data.dtype).at[row, col].add(data, mode="drop")


def _fromdense(mat: Array, *, nse: int, index_dtype: DTypeLike) -> tuple[Array, Array, Array]:
    # Fillers are indices out of bounds: padding, whose elements are read as 0.
    # Positions that are left over lie just outside of the matrix, and read a 0.
    row, col = jnp.nonzero(mat, size=nse, fill_value=mat.shape)
    data = mat.at[row, col].get(mode="fill", fill_value=0)
    return data, row.astype(index_dtype), col.astype(index_dtype)


def _matmul(
    data: Array, row: Array, col: Array, x: Array, *, spinfo: COOInfo, transpose: bool
) -> Array:
    shape, rows_sorted, cols_sorted = spinfo
    # Transposing exchanges rows and columns; sorted columns then are elements row by row.
    if transpose:
        row, col, rows_sorted, cols_sorted = col, row, cols_sorted, rows_sorted
        shape = shape[::-1]
    order = "rows" if rows_sorted else "columns" if cols_sorted else "none"
    return product(data, row, col, None, x, shape, order)


coo_todense_p: Primitive = function_primitive("coo_todense", _todense)
coo_fromdense_p: Primitive = function_primitive("coo_fromdense", _fromdense, multiple_results=True)
coo_matvec_p: Primitive = function_primitive("coo_matvec", _matmul)
coo_matmat_p: Primitive = function_primitive("coo_matmat", _matmul)


@register_pytree_node_class
class COO(JAXSparse):
    """A matrix as a list of elements with rows and columns. ``BCOO`` supports more operations.

    Args:
      args: the elements, their rows and their columns: vectors of one length. Indices out of
        bounds are padding.
      shape: the shape of the matrix.
      rows_sorted: a promise that the elements are stored row by row.
      cols_sorted: a promise that they are stored column by column.

    Example:
      >>> import numpy as np
      >>> from ricci.experimental import sparse
      >>> M = sparse.COO.fromdense(np.float32([[0, 2, 0], [1, 0, 4]]))
      >>> M @ np.float32([1, 2, 3])
      Array([ 4., 13.], dtype=float32)
    """

    _parts: ClassVar[tuple[str, ...]] = ("data", "row", "col")

    data: Array
    row: Array
    col: Array
    _rows_sorted: bool
    _cols_sorted: bool

    def __init__(
        self,
        args: tuple[Array, Array, Array],
        *,
        shape: Sequence[int],
        rows_sorted: bool = False,
        cols_sorted: bool = False,
    ):
        super().__init__(args, shape=shape)
        self.data, self.row, self.col = map(jnp.asarray, args)
        self._rows_sorted = rows_sorted
        self._cols_sorted = cols_sorted

    @property
    def nse(self) -> int:
        """The number of elements that are stored."""
        return self.data.size

    @property
    def _info(self) -> COOInfo:
        return COOInfo(self.shape, self._rows_sorted, self._cols_sorted)

    @classmethod
    def fromdense(
        cls, mat: ArrayLike, *, nse: int | None = None, index_dtype: DTypeLike = np.int32
    ) -> Self:
        """The elements of a matrix that are not zero: see ``BCOO.fromdense``."""
        mat = matrix("COO.fromdense", mat)
        count = count_nonzeros("COO.fromdense", mat) if nse is None else int(nse)
        parts = coo_fromdense_p.bind(mat, nse=count, index_dtype=jnp.dtype(index_dtype))
        return cls(tuple(parts), shape=mat.shape, rows_sorted=True)

    @classmethod
    def _empty(
        cls,
        shape: Sequence[int],
        *,
        dtype: DTypeLike | None = None,
        index_dtype: DTypeLike = "int32",
    ) -> Self:
        if len(shape) != 2:
            raise ValueError(f"COO must have ndim=2, got shape {tuple(shape)}.")
        data, indices = jnp.zeros(0, dtype), jnp.zeros(0, index_dtype)
        return cls((data, indices, indices), shape=shape, rows_sorted=True, cols_sorted=True)

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
        # Diagonal k begins in column k, or for negative k in row −k, and ends at the nearer edge.
        count = max(min(N + min(k, 0), M - max(k, 0)), 0)
        positions = jnp.arange(count, dtype=index_dtype)
        parts = (jnp.ones(count, dtype), positions + max(-k, 0), positions + max(k, 0))
        return cls(parts, shape=(N, M), rows_sorted=True, cols_sorted=True)

    def _sort_indices(self) -> Self:
        """The same matrix with its elements stored row by row."""
        if self._rows_sorted:
            return self
        # The last key is the primary one.
        order = jnp.lexsort((self.col, self.row))
        parts = tuple(x[order] for x in (self.data, self.row, self.col))
        return type(self)(parts, shape=self.shape, rows_sorted=True)  # pyright: ignore

    def todense(self) -> Array:
        """The dense matrix that it represents."""
        return coo_todense_p.bind(self.data, self.row, self.col, spinfo=self._info)

    def transpose(self, axes: Sequence[int] | None = None) -> "COO":
        """The transposed matrix.

        Raises:
          NotImplementedError: if ``axes`` is given, unless it exchanges the dimensions.
        """
        if axes is not None and tuple(axes) != (1, 0):
            raise NotImplementedError("COO.transpose: axes must be None or (1, 0).")
        sort = {"rows_sorted": self._cols_sorted, "cols_sorted": self._rows_sorted}
        return COO((self.data, self.col, self.row), shape=self.shape[::-1], **sort)

    def __matmul__(self, other: Any) -> Any:
        return matmul(self, other, coo_matvec, coo_matmat)

    def tree_flatten(self) -> tuple[tuple[Array, Array, Array], dict[str, Any]]:
        """The arrays, and the static properties."""
        return (self.data, self.row, self.col), self._info._asdict()

    @classmethod
    def tree_unflatten(cls, aux_data: dict[str, Any], children: Sequence[Any]) -> Self:
        """A container with these contents, which need not be arrays."""
        new = object.__new__(cls)
        new.data, new.row, new.col = children
        new.shape = aux_data["shape"]
        new._rows_sorted = aux_data["rows_sorted"]
        new._cols_sorted = aux_data["cols_sorted"]
        return new


def matmul(mat: Any, other: Any, matvec: Any, matmat: Any, **params: Any) -> Array:
    """The product of a matrix with a dense vector or matrix.

    Raises:
      NotImplementedError: for a sparse operand, or one of another rank.
    """
    if isinstance(other, JAXSparse):
        raise NotImplementedError(
            f"{type(mat).__name__} @ {type(other).__name__}: the product of two sparse matrices. "
            "BCOO arrays have one."
        )
    other = jnp.asarray(other)
    if other.ndim not in (1, 2):
        raise NotImplementedError(
            f"{type(mat).__name__} @ an array of {other.ndim} dimensions: it takes vectors and "
            "matrices."
        )
    return (matvec if other.ndim == 1 else matmat)(mat, other, **params)


def coo_todense(mat: COO) -> Array:
    """The dense matrix that a COO matrix represents.

    Args:
      mat: the matrix.

    Returns:
      A dense matrix.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental import sparse
      >>> M = sparse.COO.fromdense(jnp.array([[0, 2], [1, 0]]))
      >>> sparse.coo_todense(M).tolist()
      [[0, 2], [1, 0]]
    """
    return mat.todense()


def coo_fromdense(mat: Array, *, nse: int | None = None, index_dtype: DTypeLike = np.int32) -> COO:
    """The elements of a matrix that are not zero: see ``COO.fromdense``.

    Args:
      mat: the matrix.
      nse, index_dtype: as for ``COO.fromdense``.

    Returns:
      A COO matrix.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental import sparse
      >>> sparse.coo_fromdense(jnp.array([[0, 2], [1, 0]])).row.tolist()
      [0, 1]
    """
    return COO.fromdense(mat, nse=nse, index_dtype=index_dtype)


def coo_matvec(mat: COO, v: Array, transpose: bool = False) -> Array:
    """The product of a COO matrix and a vector.

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
      >>> M = sparse.COO.fromdense(jnp.array([[0, 2], [1, 0]]))
      >>> sparse.coo_matvec(M, jnp.array([3, 4])).tolist()
      [8, 3]
    """
    v = check_factor("coo_matvec", mat.shape, v, transpose, 1)
    parts = (mat.data, mat.row, mat.col)
    return coo_matvec_p.bind(*parts, v, spinfo=mat._info, transpose=bool(transpose))


def coo_matmat(mat: COO, B: Array, *, transpose: bool = False) -> Array:
    """The product of a COO matrix and a dense one: see ``coo_matvec``.

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
      >>> M = sparse.COO.fromdense(jnp.array([[0, 2], [1, 0]]))
      >>> sparse.coo_matmat(M, jnp.eye(2)).tolist()
      [[0.0, 2.0], [1.0, 0.0]]
    """
    B = check_factor("coo_matmat", mat.shape, B, transpose, 2)
    parts = (mat.data, mat.row, mat.col)
    return coo_matmat_p.bind(*parts, B, spinfo=mat._info, transpose=bool(transpose))
