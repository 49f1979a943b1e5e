"""Products of BCOO arrays with dense ones, and of dense arrays at sampled positions."""

from collections.abc import Callable, Sequence
from math import prod

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_batching import vmap
from ricci_ir import Array, DTypeLike, Primitive
from ricci_sparse._function_primitives import function_primitive
from ricci_sparse._row_products import row_products, row_starts
from ricci_sparse.layouts import SparseInfo

from ._layout import is_inside, linear, properties_of, whole_batches

__all__ = ["bcoo_dot_general_p", "bcoo_dot_general_sampled_p"]

type Dims = tuple[int, ...]
type DimensionNumbers = tuple[tuple[Dims, Dims], tuple[Dims, Dims]]


def _dot_general(
    data: Array,
    indices: Array,
    rhs: Array,
    *,
    dimension_numbers: DimensionNumbers,
    preferred_element_type: DTypeLike | None,
    lhs_spinfo: SparseInfo,
) -> Array:
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    shape = lhs_spinfo.shape
    n_batch, n_sparse, n_dense, _ = properties_of(indices, shape)
    data, indices = whole_batches(data, indices, shape)
    data, rhs = _promoted(data, rhs, preferred_element_type)
    # The right-hand side is mapped along the batches that it is multiplied with.
    partner = dict(zip((*lhs_contract, *lhs_batch), (*rhs_contract, *rhs_batch), strict=True))
    mapped = [partner.get(d) for d in range(n_batch)]
    contracted = [d for d in lhs_contract if d >= n_batch]
    moved = [d for d in mapped if d is not None] + [partner[d] for d in contracted]
    free = [d for d in range(rhs.ndim) if d not in moved]
    rhs = jnp.transpose(rhs, (*moved, *free))
    sizes = tuple(shape[n_batch : n_batch + n_sparse])
    columns = tuple(d - n_batch for d in contracted)
    rows = tuple(d for d in range(n_sparse) if d not in columns)

    def one(data: Array, indices: Array, rhs: Array) -> Array:
        in_order = lhs_spinfo.indices_sorted and rows == tuple(range(len(rows)))
        if rows and columns and not n_dense and _is_matrix(data, sizes, rows, columns):
            return _as_matrix(data, indices, rhs, sizes, rows, columns, in_order)
        return _by_elements(data, indices, rhs, sizes, rows, columns, in_order)

    product: Callable[..., Array] = one
    for dim in reversed(mapped):
        product = vmap(product, in_axes=(0, 0, None if dim is None else 0))
    result = product(data, indices, rhs)
    summed = [d for d in lhs_contract if d < n_batch]
    if not summed and list(lhs_batch) == sorted(lhs_batch):
        free_batches = [d for d in range(n_batch) if d not in lhs_batch]
        order = (*lhs_batch, *free_batches)
    else:
        result = jnp.sum(result, axis=tuple(summed))
        remaining = [d for d in range(n_batch) if d not in summed]
        free_batches = [remaining.index(d) for d in remaining if d not in lhs_batch]
        order = (*(remaining.index(d) for d in lhs_batch), *free_batches)
    return jnp.transpose(result, (*order, *range(len(order), result.ndim)))


def _promoted(
    data: Array, rhs: Array, preferred_element_type: DTypeLike | None
) -> tuple[Array, Array]:
    dtype = preferred_element_type
    if dtype is None:
        dtype = jnp.promote_types(data.dtype, rhs.dtype)
    return data.astype(dtype), rhs.astype(dtype)


def _is_matrix(data: Array, sizes: Dims, rows: Dims, columns: Dims) -> bool:
    """Whether the rows and the columns can each be numbered by an int32."""
    most = max(prod(sizes[d] for d in dims) for dims in (rows, columns))
    return most < 2**31 - 1 and bool(data.size) and bool(prod(sizes))


def _as_matrix(
    data: Array, indices: Array, rhs: Array, sizes: Dims, rows: Dims, columns: Dims, in_order: bool
) -> Array:
    """The product as one matrix, of free dimensions as rows and contracted ones as columns."""
    n_rows, n_columns = (tuple(sizes[d] for d in dims) for dims in (rows, columns))
    row = linear(indices[:, list(rows)], n_rows)
    column = linear(indices[:, list(columns)], n_columns)
    # Clipped indices are padding, which counts as zero.
    data = jnp.where(is_inside(indices, sizes), data, jnp.zeros((), data.dtype))
    indptr = jnp.zeros(prod(n_rows) + 1, row.dtype)
    if in_order:
        indptr = row_starts(row, indptr)
    free = rhs.shape[len(columns) :]
    flat = rhs.reshape(prod(n_columns), *([prod(free)] if free else []))
    result = row_products(data, row, column, indptr, flat, in_order=in_order)
    return result.reshape(*n_rows, *free)


def _by_elements(
    data: Array, indices: Array, rhs: Array, sizes: Dims, rows: Dims, columns: Dims, in_order: bool
) -> Array:
    """The product as a gather, elementwise products and a scatter."""
    dense = data.shape[1:]
    if columns:
        at = tuple(indices[:, d] for d in columns)
        gathered = rhs.at[at].get(mode="fill", fill_value=0)
    else:
        gathered = jnp.broadcast_to(rhs[None], (data.shape[0], *rhs.shape))
    free = gathered.shape[1:]
    if not rows:
        return lax.dot_general(data, gathered, (((0,), (0,)), ((), ())))
    wide = data.reshape(*data.shape, *(1,) * len(free))
    terms = wide * gathered.reshape(data.shape[0], *(1,) * len(dense), *free)
    zeros = jnp.zeros((*(sizes[d] for d in rows), *dense, *free), terms.dtype)
    at = tuple(indices[:, d] for d in rows)
    return zeros.at[at].add(terms, mode="drop", indices_are_sorted=in_order)


bcoo_dot_general_p: Primitive = function_primitive("bcoo_dot_general", _dot_general)


def _dot_general_sampled(
    lhs: Array, rhs: Array, indices: Array, *, dimension_numbers: DimensionNumbers
) -> Array:
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    n_batch, n_sparse = indices.ndim - 2, indices.shape[-1]
    lhs_free = _others(lhs.ndim, (*lhs_contract, *lhs_batch))
    rhs_free = _others(rhs.ndim, (*rhs_contract, *rhs_batch))
    lhs = jnp.transpose(lhs, (*lhs_batch, *lhs_free, *lhs_contract))
    rhs = jnp.transpose(rhs, (*rhs_batch, *rhs_free, *rhs_contract))
    # Batches of the indices are those of the product, then further dimensions of its result.
    further = n_batch - len(lhs_batch)
    of_lhs = min(further, len(lhs_free))
    maps: list[tuple[int | None, int | None, int]] = [(0, 0, 0)] * len(lhs_batch)
    maps += [(0, None, 0)] * of_lhs + [(None, 0, 0)] * (further - of_lhs)
    n_lhs = len(lhs_free) - of_lhs
    n_rhs = len(rhs_free) - (further - of_lhs)
    at_lhs = min(n_lhs, n_sparse)

    def one(lhs: Array, rhs: Array, indices: Array) -> Array:
        split = [tuple(indices[:, d] for d in range(n_sparse))[s] for s in _parts(at_lhs)]
        x = lhs.at[split[0]].get(mode="fill", fill_value=0) if split[0] else lhs
        y = rhs.at[split[1]].get(mode="fill", fill_value=0) if split[1] else rhs
        each_x, each_y = int(bool(split[0])), int(bool(split[1]))
        first_x = each_x + n_lhs - at_lhs
        first_y = each_y + n_rhs - (n_sparse - at_lhs)
        contract = (tuple(range(first_x, x.ndim)), tuple(range(first_y, y.ndim)))
        batch = ((0,), (0,)) if each_x and each_y else ((), ())
        result = lax.dot_general(x, y, (contract, batch))
        if each_y and not each_x:  # the elements' dimension comes after those of lhs
            result = jnp.moveaxis(result, n_lhs, 0)
        if not each_x and not each_y:
            result = jnp.broadcast_to(result[None], (indices.shape[0], *result.shape))
        return result

    product: Callable[..., Array] = one
    for axes in reversed(maps):
        product = vmap(product, in_axes=axes)
    return product(lhs, rhs, indices)


def _others(ndim: int, dims: Sequence[int]) -> Dims:
    return tuple(d for d in range(ndim) if d not in dims)


def _parts(cut: int) -> tuple[slice, slice]:
    return slice(None, cut), slice(cut, None)


bcoo_dot_general_sampled_p: Primitive = function_primitive(
    "bcoo_dot_general_sampled", _dot_general_sampled
)
