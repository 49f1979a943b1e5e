"""Functions to convert, sort, extract and multiply BCOO arrays."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import Array, ArrayLike, DTypeLike

from ._array import BCOO
from ._layout import bcoo_extract_p, first_of_duplicates
from ._products import bcoo_dot_general_p, bcoo_dot_general_sampled_p, spdot_general

__all__ = ["bcoo_dot_general", "bcoo_dot_general_sampled", "bcoo_eliminate_zeros", "bcoo_extract"]
__all__ += ["bcoo_fromdense", "bcoo_sort_indices", "bcoo_sum_duplicates", "bcoo_todense"]
__all__ += ["bcoo_transpose"]


def bcoo_todense(mat: BCOO) -> Array:
    """The dense array that a BCOO array represents.

    Args:
      mat: the array.

    Returns:
      A dense array of the shape of ``mat``.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental import sparse
      >>> M = sparse.BCOO.fromdense(jnp.array([[0, 2], [1, 0]]))
      >>> sparse.bcoo_todense(M).tolist()
      [[0, 2], [1, 0]]
    """
    return mat.todense()


def bcoo_fromdense(
    mat: Array,
    *,
    nse: int | None = None,
    n_batch: int = 0,
    n_dense: int = 0,
    index_dtype: DTypeLike = np.int32,
) -> BCOO:
    """The elements of an array that are not zero: see ``BCOO.fromdense``.

    Args:
      mat: the array.
      nse, n_batch, n_dense, index_dtype: as for ``BCOO.fromdense``.

    Returns:
      A BCOO array.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental import sparse
      >>> sparse.bcoo_fromdense(jnp.array([[0, 2], [1, 0]])).data.tolist()
      [2, 1]
    """
    return BCOO.fromdense(mat, nse=nse, n_batch=n_batch, n_dense=n_dense, index_dtype=index_dtype)


def bcoo_sort_indices(mat: BCOO) -> BCOO:
    """The same array with its indices in lexicographic order.

    Args:
      mat: the array.

    Returns:
      A BCOO array.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental import sparse
      >>> M = sparse.BCOO((jnp.array([1, 2]), jnp.array([[1, 0], [0, 1]])), shape=(2, 2))
      >>> sparse.bcoo_sort_indices(M).data.tolist()
      [2, 1]
    """
    return mat.sort_indices()


def bcoo_sum_duplicates(mat: BCOO, nse: int | None = None) -> BCOO:
    """Sum elements with the same index: see ``BCOO.sum_duplicates``.

    Elements that are zero are not removed.

    Args:
      mat: the array.
      nse: the number of stored elements: see ``BCOO.sum_duplicates``.

    Returns:
      A BCOO array.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental import sparse
      >>> M = sparse.BCOO((jnp.array([1, 2]), jnp.array([[0, 1], [0, 1]])), shape=(2, 2))
      >>> sparse.bcoo_sum_duplicates(M).data.tolist()
      [3]
    """
    return mat.sum_duplicates(nse, remove_zeros=False)


def bcoo_eliminate_zeros(mat: BCOO, nse: int | None = None) -> BCOO:
    """The same array without elements that are zero, and each index stored once.

    Args:
      mat: the array.
      nse: the number of stored elements: see ``BCOO.sum_duplicates``.

    Returns:
      A BCOO array.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental import sparse
      >>> M = sparse.BCOO((jnp.array([2, 0]), jnp.array([[0, 1], [1, 0]])), shape=(2, 2))
      >>> sparse.bcoo_eliminate_zeros(M).nse
      1
    """
    return mat.sum_duplicates(nse)


def bcoo_transpose(mat: BCOO, *, permutation: Sequence[int]) -> BCOO:
    """A BCOO array with its dimensions in another order: see ``BCOO.transpose``.

    Args:
      mat: the array.
      permutation: for each dimension of the result, the corresponding one of ``mat``.

    Returns:
      A BCOO array.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental import sparse
      >>> M = sparse.BCOO.fromdense(jnp.array([[0, 2], [1, 0]]))
      >>> sparse.bcoo_transpose(M, permutation=(1, 0)).todense().tolist()
      [[0, 1], [2, 0]]
    """
    return mat.transpose(permutation)


def bcoo_extract(sparr: BCOO, arr: ArrayLike, *, assume_unique: bool | None = None) -> BCOO:
    """The elements of a dense array at the indices of a sparse one.

    Args:
      sparr: the sparse array, of which only the indices are used.
      arr: the dense array, of the same shape.
      assume_unique: whether no index occurs twice. If it is not so, an element is stored for the
        first occurrence of its index, and zero for the others. By default as promised by ``sparr``.

    Returns:
      A BCOO array with the indices of ``sparr``.

    Raises:
      TypeError: if ``sparr`` is not a BCOO array.
      ValueError: if the shapes differ.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental import sparse
      >>> M = sparse.BCOO.fromdense(jnp.array([[0, 2], [1, 0]]))
      >>> sparse.bcoo_extract(M, jnp.array([[5, 6], [7, 8]])).todense().tolist()
      [[0, 6], [7, 0]]
    """
    if not isinstance(sparr, BCOO):
        raise TypeError(f"bcoo_extract: sparr must be a BCOO array, got {type(sparr).__name__}.")
    dense = jnp.asarray(arr)
    if dense.shape != sparr.shape:
        raise ValueError(
            f"bcoo_extract: the shapes must be the same, got {sparr.shape} and {dense.shape}."
        )
    data = bcoo_extract_p.bind(sparr.indices, dense)
    unique = sparr.unique_indices if assume_unique is None else assume_unique
    if not unique:
        # Only the first element of an index takes its value: summed, they are the dense element.
        first = first_of_duplicates(sparr.indices, sparr.shape)
        mask = first.reshape(*first.shape, *(1,) * sparr.n_dense)
        data = jnp.where(mask, data, jnp.zeros((), data.dtype))
    return BCOO((data, sparr.indices), **sparr.info._asdict())


def as_numbers(dimension_numbers: Any) -> Any:
    """Dimension numbers as tuples of ints."""
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    ints = lambda dims: tuple(map(int, dims))
    return ((ints(lhs_contract), ints(rhs_contract)), (ints(lhs_batch), ints(rhs_batch)))


def bcoo_dot_general(
    lhs: BCOO | Array,
    rhs: BCOO | Array,
    *,
    dimension_numbers: lax.DotDimensionNumbers,
    precision: None = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: Any = None,
) -> BCOO | Array:
    """The product of two arrays, of which any may be sparse: see ``lax.dot_general``.

    Args:
      lhs, rhs: the arrays.
      dimension_numbers: which dimensions are summed over, and which are batches. Batch dimensions
        must be batch dimensions of the sparse arrays; dense dimensions cannot be summed over.
      precision: not used.
      preferred_element_type: the dtype of the result.
      out_sharding: not used.

    Returns:
      A BCOO array if both operands are, else an array.

    Raises:
      TypeError: if the shapes are incompatible.
      NotImplementedError: for dimension numbers that the layout of the operands does not allow.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental import sparse
      >>> M = sparse.BCOO.fromdense(jnp.array([[0, 2], [1, 0]]))
      >>> contract = (((1,), (0,)), ((), ()))
      >>> sparse.bcoo_dot_general(M, jnp.array([3, 4]), dimension_numbers=contract).tolist()
      [8, 3]
    """
    numbers = as_numbers(dimension_numbers)
    kinds = {"preferred_element_type": preferred_element_type}
    if isinstance(lhs, BCOO) and isinstance(rhs, BCOO):
        check_product_shapes(lhs.shape, rhs.shape, numbers)
        return spdot_general(lhs, rhs, dimension_numbers=numbers, **kinds)
    if isinstance(lhs, BCOO):
        dense: Any = rhs
        return _times_dense(lhs, jnp.asarray(dense), numbers, preferred_element_type)
    if isinstance(rhs, BCOO):
        return _dense_times(jnp.asarray(lhs), rhs, numbers, preferred_element_type)
    x, y = jnp.asarray(lhs), jnp.asarray(rhs)  # pyright: ignore[reportArgumentType]
    return lax.dot_general(x, y, numbers, precision=precision, **kinds)


def _times_dense(lhs: BCOO, rhs: Array, numbers: Any, dtype: DTypeLike | None) -> Array:
    (lhs_contract, _), (lhs_batch, _) = numbers
    check_product_shapes(lhs.shape, rhs.shape, numbers)
    if any(d >= lhs.n_batch for d in lhs_batch):
        raise NotImplementedError(
            f"bcoo_dot_general: batch dimensions {lhs_batch} must be among the first "
            f"{lhs.n_batch} dimensions of the sparse array, which are its batches."
        )
    if any(d >= lhs.n_batch + lhs.n_sparse for d in lhs_contract):
        raise NotImplementedError(
            f"bcoo_dot_general: contracting over dense dimensions: {lhs_contract} of an array "
            f"whose last {lhs.n_dense} dimensions are dense. Use update_layout first."
        )
    out_dtype = jnp.promote_types(lhs.dtype, rhs.dtype) if dtype is None else jnp.dtype(dtype)
    # The one primitive has the sparse operand on the left; see ``_dense_times`` for the other
    # order.
    return bcoo_dot_general_p.bind(
        lhs.data,
        lhs.indices,
        rhs,
        dimension_numbers=numbers,
        lhs_spinfo=lhs.info,
        preferred_element_type=out_dtype,
    )


def _dense_times(lhs: Array, rhs: BCOO, numbers: Any, dtype: DTypeLike | None) -> Array:
    """The product with its operands exchanged, and its result transposed accordingly."""
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = numbers
    swapped = (rhs_contract, lhs_contract), (rhs_batch, lhs_batch)
    result = _times_dense(rhs, lhs, swapped, dtype)
    n_batch = len(lhs_batch)
    n_lhs = lhs.ndim - n_batch - len(lhs_contract)
    n_rhs = rhs.ndim - n_batch - len(rhs_contract)
    # The sparse operand's free dimensions came first; those of the left operand have to.
    batch = range(n_batch)
    of_rhs = range(n_batch, n_batch + n_rhs)
    of_lhs = range(n_batch + n_rhs, n_batch + n_rhs + n_lhs)
    return jnp.transpose(result, (*batch, *of_lhs, *of_rhs))


def check_product_shapes(lhs: Sequence[int], rhs: Sequence[int], numbers: Any) -> None:
    """Raise ``TypeError`` unless the contracting and batch dimensions of two shapes match."""
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = numbers
    for what, ours, others in (
        ("contracting", lhs_contract, rhs_contract),
        ("batch", lhs_batch, rhs_batch),
    ):
        for dims, shape in ((ours, lhs), (others, rhs)):
            if any(not 0 <= d < len(shape) for d in dims) or len(set(dims)) < len(dims):
                raise TypeError(
                    f"dot_general: {what} dimensions {dims} are not those of shape {tuple(shape)}."
                )
        sizes = tuple(lhs[d] for d in ours), tuple(rhs[d] for d in others)
        if sizes[0] != sizes[1]:
            raise TypeError(
                f"dot_general requires {what} dimensions to have the same shape, got {sizes[0]} "
                f"and {sizes[1]}."
            )


def bcoo_dot_general_sampled(
    A: Array, B: Array, indices: Array, *, dimension_numbers: lax.DotDimensionNumbers
) -> Array:
    """Elements of the product of two dense arrays, at indices of a BCOO array.

    Args:
      A, B: the arrays.
      indices: the indices, integers of shape ``(*batch, nse, n_sparse)``, as a BCOO array has them.
      dimension_numbers: which dimensions are summed over, and which are batches.

    Returns:
      The elements, of shape ``(*batch, nse, *dense)``; zero for indices out of bounds.

    Raises:
      TypeError: if the shapes are incompatible.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental import sparse
      >>> a, b = jnp.array([[1, 2], [3, 4]]), jnp.array([[5, 6], [7, 8]])
      >>> places = jnp.array([[0, 1], [1, 0]])
      >>> contract = (((1,), (0,)), ((), ()))
      >>> sparse.bcoo_dot_general_sampled(a, b, places, dimension_numbers=contract).tolist()
      [22, 43]
    """
    A, B, indices = map(jnp.asarray, (A, B, indices))
    numbers = as_numbers(dimension_numbers)
    check_product_shapes(A.shape, B.shape, numbers)
    return bcoo_dot_general_sampled_p.bind(A, B, indices, dimension_numbers=numbers)
