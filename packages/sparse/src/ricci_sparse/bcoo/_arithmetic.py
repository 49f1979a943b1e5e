"""Reductions, elementwise products and the convolution of BCOO arrays."""

from collections.abc import Sequence
from math import prod
from typing import Any

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import Array, ArrayLike, DTypeLike, composite
from ricci_sparse.layouts import SparseInfo, over_batches

from ._array import BCOO
from ._dimensions import bcoo_update_layout
from ._layout import bcoo_extract_p, is_inside, properties_of, split_shape, whole_batches

__all__ = ["bcoo_conv_general_dilated", "bcoo_multiply_dense", "bcoo_multiply_sparse"]
__all__ += ["bcoo_reduce_sum"]


def bcoo_reduce_sum(mat: BCOO, *, axes: Sequence[int]) -> BCOO:
    """Sum over dimensions. Elements with the same resulting index are stored as duplicates.

    Args:
      mat: the array.
      axes: the dimensions to sum over.

    Returns:
      A BCOO array without the dimensions.

    Raises:
      ValueError: if one is not a dimension, or is given twice.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental import sparse
      >>> M = sparse.BCOO.fromdense(jnp.array([[0, 2], [1, 0]]))
      >>> sparse.bcoo_reduce_sum(M, axes=(0,)).todense().tolist()
      [1, 2]
    """
    dims = tuple(sorted(map(int, axes)))
    if len(set(dims)) < len(dims) or any(not 0 <= d < mat.ndim for d in dims):
        raise ValueError(
            f"bcoo_reduce_sum: axes {tuple(axes)} must be distinct axes of shape {mat.shape}."
        )
    data, indices = _reduce_sum(mat.data, mat.indices, shape=mat.shape, axes=dims)
    shape = tuple(size for d, size in enumerate(mat.shape) if d not in dims)
    return BCOO((data, indices), shape=shape)


@composite("bcoo_reduce_sum")
def _reduce_sum(
    data: Array, indices: Array, *, shape: tuple[int, ...], axes: tuple[int, ...]
) -> tuple[Array, Array]:
    n_batch, n_sparse, _, nse = properties_of(indices, shape)
    # In ``data`` one dimension of elements takes the place of all sparse dimensions.
    dense = tuple(d - n_sparse + 1 for d in axes if d >= n_batch + n_sparse)
    if dense:
        data = jnp.sum(data, axis=dense, dtype=data.dtype)
    summed = [d - n_batch for d in axes if n_batch <= d < n_batch + n_sparse]
    if summed:
        # Padding is marked by an index that is removed: its elements become zero.
        inside = is_inside(indices, split_shape(shape, n_batch, n_sparse)[1])
        inside = inside.reshape(*inside.shape, *(1,) * (data.ndim - 1 - n_batch))
        data = jnp.where(inside, data, jnp.zeros((), data.dtype))
        # Dropping a column of the indices sums over it: equal ones are duplicates, which add up.
        indices = indices[..., [d for d in range(n_sparse) if d not in summed]]
    merged = [d for d in axes if d < n_batch]
    if merged:
        # The elements of summed batches join those of one batch, as further stored elements.
        data, indices = whole_batches(data, indices, (*shape[:n_batch],))
        batch_dims = [d for d in range(n_batch) if d not in merged]
        order = (*batch_dims, *merged)
        data = jnp.moveaxis(data, order, range(n_batch))
        indices = jnp.moveaxis(indices, order, range(n_batch))
        batch, count = tuple(shape[d] for d in batch_dims), prod(shape[d] for d in merged) * nse
        data = data.reshape(*batch, count, *data.shape[n_batch + 1 :])
        indices = indices.reshape(*batch, count, indices.shape[-1])
    return data, indices


def bcoo_multiply_dense(sp_mat: BCOO, v: ArrayLike) -> Array:
    """The data of the product of a BCOO array and a dense array.

    Args:
      sp_mat: the sparse array.
      v: the dense array, which is broadcast to the shape of the other.

    Returns:
      The data of the product, whose indices are those of ``sp_mat``.

    Raises:
      NotImplementedError: if the product would have another shape.
      TypeError: if the dtypes differ.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental import sparse
      >>> M = sparse.BCOO.fromdense(jnp.array([[0, 2], [1, 0]]))
      >>> sparse.bcoo_multiply_dense(M, jnp.array([10, 20])).tolist()
      [40, 10]
    """
    dense = jnp.asarray(v)
    sizes = (1,) * (sp_mat.ndim - dense.ndim) + dense.shape
    pairs = zip(sizes, sp_mat.shape, strict=False)
    if len(sizes) > sp_mat.ndim or any(n not in (1, size) for n, size in pairs):
        raise NotImplementedError(
            "bcoo_multiply_dense: the product must have the shape of the sparse array; got "
            f"shapes {sp_mat.shape} and {dense.shape}."
        )
    return _multiply_dense(sp_mat.data, sp_mat.indices, dense, spinfo=sp_mat.info)


@composite("bcoo_multiply_dense")
def _multiply_dense(data: Array, indices: Array, v: Array, *, spinfo: SparseInfo) -> Array:
    if not v.ndim:
        return lax.mul(data, lax.broadcast_in_dim(v, data.shape, ()))
    shape = spinfo.shape
    n_batch, n_sparse, n_dense, _ = properties_of(indices, shape)
    v = v.reshape((1,) * (len(shape) - v.ndim) + v.shape)
    # Along a dimension of size 1 every index refers to its only element.
    sizes = v.shape[n_batch : n_batch + n_sparse]
    _, whole, _ = split_shape(shape, n_batch, n_sparse)
    inside = is_inside(indices, whole)
    columns = [
        indices[..., d] if n == m else jnp.zeros_like(indices[..., d])
        for d, (n, m) in enumerate(zip(sizes, whole, strict=True))
    ]
    at = jnp.stack(columns, axis=-1) if columns else indices
    # Padding must stay out of bounds, where the extraction gives zero.
    at = jnp.where(inside[..., None], at, jnp.array(whole, indices.dtype))
    factors = bcoo_extract_p.bind(at, v)
    sizes = jnp.broadcast_shapes(factors.shape, data.shape)
    return lax.mul(jnp.broadcast_to(data, sizes), jnp.broadcast_to(factors, sizes))


def bcoo_multiply_sparse(lhs: BCOO, rhs: BCOO) -> BCOO:
    """The elementwise product of two BCOO arrays.

    Every stored element of one is compared with every one of the other, so that the product stores
    as many elements as there are pairs.

    Args:
      lhs, rhs: the arrays, with the same number of dimensions; those of size 1 are broadcast.

    Returns:
      A BCOO array.

    Raises:
      TypeError: if the numbers of dimensions differ.
      ValueError: if the shapes do not fit.
      NotImplementedError: if the numbers of dense dimensions differ.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental import sparse
      >>> M = sparse.BCOO.fromdense(jnp.array([[0, 2], [1, 0]]))
      >>> sparse.bcoo_multiply_sparse(M, M).todense().tolist()
      [[0, 4], [1, 0]]
    """
    if lhs.ndim != rhs.ndim:
        raise TypeError(
            "bcoo_multiply_sparse: arrays must have the same number of dimensions, got "
            f"{lhs.shape} and {rhs.shape}."
        )
    if lhs.n_dense != rhs.n_dense:
        raise NotImplementedError(
            f"bcoo_multiply_sparse: arrays with {lhs.n_dense} and {rhs.n_dense} dense dimensions. "
            "Use update_layout first."
        )
    shape = jnp.broadcast_shapes(lhs.shape, rhs.shape)
    n_batch = min(lhs.n_batch, rhs.n_batch)
    lhs, rhs = (_with_batches(mat, n_batch) for mat in (lhs, rhs))
    data, indices = _multiply_sparse(
        lhs.data, lhs.indices, rhs.data, rhs.indices, lhs_shape=lhs.shape, rhs_shape=rhs.shape
    )
    index_dtype = jnp.promote_types(lhs.indices.dtype, rhs.indices.dtype)
    return BCOO((data, indices.astype(index_dtype)), shape=shape)


def _with_batches(mat: BCOO, n_batch: int) -> BCOO:
    return mat if mat.n_batch == n_batch else mat.update_layout(n_batch=n_batch)


@composite("bcoo_multiply_sparse")
def _multiply_sparse(
    lhs_data: Array,
    lhs_indices: Array,
    rhs_data: Array,
    rhs_indices: Array,
    *,
    lhs_shape: tuple[int, ...],
    rhs_shape: tuple[int, ...],
) -> tuple[Array, Array]:
    n_batch, n_sparse, _, _ = properties_of(lhs_indices, lhs_shape)
    lhs_sizes, rhs_sizes = (
        split_shape(shape, n_batch, n_sparse)[1] for shape in (lhs_shape, rhs_shape)
    )
    sizes = jnp.broadcast_shapes(lhs_sizes, rhs_sizes)
    dtype = jnp.promote_types(lhs_data.dtype, rhs_data.dtype)

    # All pairs of stored elements are compared: the product has len(x) * len(y) elements, of which
    # those whose indices differ are padding. Along a dimension of size 1 every index matches.
    def one(x: Array, at_x: Array, y: Array, at_y: Array) -> tuple[Array, Array]:
        matched = is_inside(at_x, lhs_sizes)[:, None] & is_inside(at_y, rhs_sizes)[None]
        columns = []
        for d in range(n_sparse):
            of_x, of_y = jnp.broadcast_arrays(at_x[:, None, d], at_y[None, :, d])
            if lhs_sizes[d] == rhs_sizes[d]:
                matched &= of_x == of_y
            columns.append(of_x if lhs_sizes[d] == sizes[d] else of_y)
        at = jnp.stack(columns, axis=-1) if columns else jnp.zeros((*matched.shape, 0), int)
        mask = matched.reshape(*matched.shape, *(1,) * (x.ndim - 1))
        data = jnp.where(mask, x[:, None] * y[None], jnp.zeros((), dtype))
        at = jnp.where(matched[..., None], at, jnp.array(sizes, at.dtype))
        count = matched.size
        return data.reshape(count, *data.shape[2:]), at.reshape(count, n_sparse)

    parts = (lhs_data.astype(dtype), lhs_indices, rhs_data.astype(dtype), rhs_indices)
    return over_batches(one, n_batch, *parts)


def bcoo_conv_general_dilated(
    lhs: BCOO | Array,
    rhs: BCOO | Array,
    *,
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: Any = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: Any = None,
) -> BCOO:
    """The convolution of one signal with one filter, both of one dimension.

    Args:
      lhs: the signal, of shape ``(1, 1, n)`` in the order of ``dimension_numbers``.
      rhs: the filter, of shape ``(1, 1, m)``.
      window_strides, lhs_dilation, rhs_dilation: must be 1.
      padding: the numbers of zeros before and after the signal, or ``"SAME"`` or ``"VALID"``.
      dimension_numbers: which dimension is which: see ``lax.conv_general_dilated``.
      feature_group_count, batch_group_count: must be 1.
      precision, out_sharding: not used.
      preferred_element_type: the dtype of the result.

    Returns:
      The convolution, with as many stored elements as there are pairs of elements.

    Raises:
      NotImplementedError: for strides, dilations, groups or several batches and features.
      ValueError: if the signal has not exactly one spatial dimension.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental import sparse
      >>> signal = sparse.BCOO.fromdense(jnp.array([[[1.0, 0.0, 2.0]]]))
      >>> kernel = sparse.BCOO.fromdense(jnp.array([[[1.0, 1.0]]]))
      >>> result = sparse.bcoo_conv_general_dilated(
      ...     signal, kernel, window_strides=(1,), padding="VALID"
      ... )
      >>> result.todense().tolist()
      [[[1.0, 2.0]]]
    """
    numbers = lax.conv_dimension_numbers(lhs.shape, rhs.shape, dimension_numbers)
    if lhs.ndim != 3 or rhs.ndim != 3:
        raise ValueError(
            "bcoo_conv_general_dilated: signals have one spatial dimension; got shapes "
            f"{lhs.shape} and {rhs.shape}."
        )
    for name, value in (
        ("window_strides", window_strides),
        ("lhs_dilation", lhs_dilation),
        ("rhs_dilation", rhs_dilation),
        ("feature_group_count", [feature_group_count]),
        ("batch_group_count", [batch_group_count]),
    ):
        if value is not None and any(n != 1 for n in value):
            raise NotImplementedError(f"bcoo_conv_general_dilated: {name} must be 1, got {value}.")
    lhs, rhs = _in_order(lhs, numbers.lhs_spec), _in_order(rhs, numbers.rhs_spec)
    lhs, rhs = (bcoo_update_layout(x, n_batch=2, n_dense=0) for x in (lhs, rhs))
    if lhs.shape[:2] != (1, 1) or rhs.shape[:2] != (1, 1):
        raise NotImplementedError(
            "bcoo_conv_general_dilated: one signal with one feature, and one filter; got shapes "
            f"{lhs.shape} and {rhs.shape}."
        )
    if isinstance(padding, str):
        padding = lax.padtype_to_pads(lhs.shape[2:], rhs.shape[2:], window_strides, padding)
    # XLA's convolution does not flip the filter: result i sums signal[i + j − before] · filter[j].
    ((before, after),) = padding
    size = lhs.shape[2] + before + after - rhs.shape[2] + 1
    if size < 0:
        raise ValueError(
            f"bcoo_conv_general_dilated: the filter of size {rhs.shape[2]} is larger than the "
            f"signal of size {lhs.shape[2]} with its padding."
        )
    dtype = preferred_element_type
    if dtype is None:
        dtype = jnp.promote_types(lhs.dtype, rhs.dtype)
    data, indices = _convolve(
        lhs.data,
        lhs.indices,
        rhs.data,
        rhs.indices,
        n=lhs.shape[2],
        m=rhs.shape[2],
        before=int(before),
        size=int(size),
        dtype=jnp.dtype(dtype),
    )
    out = BCOO((data, indices), shape=(1, 1, size))
    order = numbers.out_spec
    return out.transpose([order.index(d) for d in range(3)]) if order != (0, 1, 2) else out


def _in_order(x: BCOO | Array, order: Sequence[int]) -> BCOO:
    """A signal with its spatial dimension last; a dense signal stores every element."""
    if isinstance(x, BCOO):
        return x.transpose(order)
    dense = jnp.transpose(jnp.asarray(x), order)
    at = jnp.arange(dense.shape[-1], dtype=jnp.int32)[:, None]
    return BCOO((dense, jnp.broadcast_to(at, (*dense.shape, 1))), shape=dense.shape)


@composite("bcoo_conv_general_dilated")
def _convolve(
    lhs_data: Array,
    lhs_indices: Array,
    rhs_data: Array,
    rhs_indices: Array,
    *,
    n: int,
    m: int,
    before: int,
    size: int,
    dtype: Any,
) -> tuple[Array, Array]:
    # Each pair of stored elements adds one term, at the difference of their indices; pairs outside
    # of the result get the index ``size``, which is padding.
    x, y = lhs_data[0, 0].astype(dtype), rhs_data[0, 0].astype(dtype)
    at_x, at_y = lhs_indices[0, 0], rhs_indices[0, 0]
    at = at_x[:, None, 0] - at_y[None, :, 0] + before
    stored = is_inside(at_x, (n,))[:, None] & is_inside(at_y, (m,))[None]
    in_bounds = stored & (at >= 0) & (at < size)
    data = jnp.where(stored, x[:, None] * y[None], jnp.zeros((), dtype))
    at = jnp.where(in_bounds, at, size)
    return data.reshape(1, 1, -1), at.reshape(1, 1, -1, 1)
