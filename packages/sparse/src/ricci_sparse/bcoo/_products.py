"""Products of BCOO arrays with dense ones and with each other, and at sampled positions."""

from collections.abc import Callable, Sequence
from math import prod

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_batching import vmap
from ricci_ir import Array, DTypeLike, Primitive, config
from ricci_sparse._function_primitives import function_primitive
from ricci_sparse._row_products import Order, row_products
from ricci_sparse.layouts import SparseInfo

from . import _layout as layout
from ._array import BCOO

__all__ = ["bcoo_dot_general_p", "bcoo_dot_general_sampled_p", "bcoo_spdot_general_p"]

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
    n_batch, n_sparse, n_dense, _ = layout.properties_of(indices, shape)
    data, indices = layout.whole_batches(data, indices, shape)
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
        order = _order(rows, columns) if lhs_spinfo.indices_sorted else "none"
        if rows and columns and not n_dense and _is_matrix(data, sizes, rows, columns):
            return _as_matrix(data, indices, rhs, sizes, rows, columns, order)
        return _by_elements(data, indices, rhs, sizes, rows, columns, order == "rows")

    product: Callable[..., Array] = one
    for dim in reversed(mapped):
        product = vmap(product, in_axes=(0, 0, None if dim is None else 0))
    result = product(data, indices, rhs)
    # Contracted batch dimensions were mapped, too: their products remain to be summed.
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


def _order(rows: Dims, columns: Dims) -> Order:
    """The order of elements whose indices are sorted, the first dimension first."""
    if rows == tuple(range(len(rows))):
        return "rows"
    return "columns" if columns == tuple(range(len(columns))) else "none"


def _is_matrix(data: Array, sizes: Dims, rows: Dims, columns: Dims) -> bool:
    """Whether the rows and the columns can each be numbered by an int32."""
    # One below the largest, which is left for positions out of bounds.
    most = max(prod(sizes[d] for d in dims) for dims in (rows, columns))
    return most < 2**31 - 1 and bool(data.size) and bool(prod(sizes))


def _as_matrix(
    data: Array, indices: Array, rhs: Array, sizes: Dims, rows: Dims, columns: Dims, order: Order
) -> Array:
    """The product as one matrix, of free dimensions as rows and contracted ones as columns."""
    n_rows, n_columns = (tuple(sizes[d] for d in dims) for dims in (rows, columns))
    row = layout.linear(indices[:, list(rows)], n_rows)
    column = layout.linear(indices[:, list(columns)], n_columns)
    # Clipped indices are padding, which counts as zero.
    data = jnp.where(layout.is_inside(indices, sizes), data, jnp.zeros((), data.dtype))
    free = rhs.shape[len(columns) :]
    flat = rhs.reshape(prod(n_columns), *([prod(free)] if free else []))
    form = "coo" if config.jax_bcoo_cusparse_lowering else None
    params = {"n_rows": prod(n_rows), "order": order, "cusparse": form}
    result = row_products(data, row, column, flat, **params)
    return result.reshape(*n_rows, *free)


def _by_elements(
    data: Array, indices: Array, rhs: Array, sizes: Dims, rows: Dims, columns: Dims, in_order: bool
) -> Array:
    """The product as a gather, elementwise products and a scatter."""
    # Element i is multiplied by the row of ``rhs`` at its contracted indices, and added to the
    # result at its free ones. Padding gathers zeros and scatters out of bounds.
    dense = data.shape[1:]
    if columns:
        at = tuple(indices[:, d] for d in columns)
        gathered = rhs.at[at].get(mode="fill", fill_value=0)
    else:
        gathered = jnp.broadcast_to(rhs[None], (data.shape[0], *rhs.shape))
    free = gathered.shape[1:]
    if not rows:
        # Without free dimensions all elements go to the same place: the scatter is a dot product.
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


def _spdot_general(
    lhs_data: Array,
    lhs_indices: Array,
    rhs_data: Array,
    rhs_indices: Array,
    *,
    lhs_spinfo: SparseInfo,
    rhs_spinfo: SparseInfo,
    dimension_numbers: DimensionNumbers,
    preferred_element_type: DTypeLike,
) -> tuple[Array, Array]:
    """Multiply each stored element of one array with each of the other.

    Pairs whose contracted indices differ count as zero. If there are more pairs than the result
    has elements, duplicates are summed.
    """
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    lhs = layout.properties_of(lhs_indices, lhs_spinfo.shape)
    rhs = layout.properties_of(rhs_indices, rhs_spinfo.shape)
    lhs_data, lhs_indices = layout.whole_batches(lhs_data, lhs_indices, lhs_spinfo.shape)
    rhs_data, rhs_indices = layout.whole_batches(rhs_data, rhs_indices, rhs_spinfo.shape)
    lhs_data, rhs_data = (x.astype(preferred_element_type) for x in (lhs_data, rhs_data))
    lhs_sizes = layout.split_shape(lhs_spinfo.shape, lhs.n_batch, lhs.n_sparse)[1]
    rhs_sizes = layout.split_shape(rhs_spinfo.shape, rhs.n_batch, rhs.n_sparse)[1]
    lhs_at = tuple(d - lhs.n_batch for d in lhs_contract)
    rhs_at = tuple(d - rhs.n_batch for d in rhs_contract)
    lhs_free = tuple(d for d in range(lhs.n_sparse) if d not in lhs_at)
    rhs_free = tuple(d for d in range(rhs.n_sparse) if d not in rhs_at)
    sizes = tuple(lhs_sizes[d] for d in lhs_free) + tuple(rhs_sizes[d] for d in rhs_free)

    def one(x: Array, at_x: Array, y: Array, at_y: Array) -> tuple[Array, Array]:
        inside = (
            layout.is_inside(at_x, lhs_sizes)[:, None] & layout.is_inside(at_y, rhs_sizes)[None]
        )
        same = at_x[:, None, list(lhs_at)] == at_y[None, :, list(rhs_at)] if lhs_at else None
        matched = inside if same is None else inside & jnp.all(same, axis=-1)
        # Pairs whose contracted indices differ are zeros at valid positions.
        data = jnp.where(matched, x[:, None] * y[None], jnp.zeros((), x.dtype)).ravel()
        shape = matched.shape
        parts = [
            jnp.broadcast_to(at_x[:, None, list(lhs_free)], (*shape, len(lhs_free))),
            jnp.broadcast_to(at_y[None, :, list(rhs_free)], (*shape, len(rhs_free))),
        ]
        at = jnp.concatenate(parts, axis=-1).reshape(-1, len(sizes))
        outside = jnp.array(sizes, at.dtype)
        return data, jnp.where(inside.reshape(-1, 1), at, outside)

    # The result's batches: those that both have, then the others of lhs, then those of rhs.
    maps = [(d, rhs_batch[lhs_batch.index(d)]) for d in lhs_batch]
    lhs_others = [d for d in range(lhs.n_batch) if d not in lhs_batch]
    rhs_others = [d for d in range(rhs.n_batch) if d not in rhs_batch]
    lhs_data, lhs_indices = (
        jnp.moveaxis(x, (*lhs_batch, *lhs_others), range(lhs.n_batch))
        for x in (lhs_data, lhs_indices)
    )
    rhs_data, rhs_indices = (
        jnp.moveaxis(x, (*rhs_batch, *rhs_others), range(rhs.n_batch))
        for x in (rhs_data, rhs_indices)
    )
    axes = [(0, 0, 0, 0)] * len(maps)
    axes += [(0, 0, None, None)] * len(lhs_others) + [(None, None, 0, 0)] * len(rhs_others)
    product: Callable[..., tuple[Array, Array]] = one
    for in_axes in reversed(axes):
        product = vmap(product, in_axes=in_axes)
    data, indices = product(lhs_data, lhs_indices, rhs_data, rhs_indices)
    batch = data.shape[: len(axes)]
    return reduced(data, indices, SparseInfo((*batch, *sizes)))


def reduced(data: Array, indices: Array, spinfo: SparseInfo) -> tuple[Array, Array]:
    """Sum duplicates if more elements are stored than the sparse dimensions have positions."""
    n_batch, n_sparse, _, nse = layout.properties_of(indices, spinfo.shape)
    # Static: a product of sparse arrays may store each position many times, but a later one must
    # not multiply these numbers without bound.
    places = prod(layout.split_shape(spinfo.shape, n_batch, n_sparse)[1])
    if nse <= places:
        return data, indices
    return layout.bcoo_sum_duplicates_p.bind(data, indices, spinfo=spinfo, nse=places)


bcoo_spdot_general_p: Primitive = function_primitive(
    "bcoo_spdot_general", _spdot_general, multiple_results=True
)


def spdot_general(
    lhs: BCOO,
    rhs: BCOO,
    *,
    dimension_numbers: DimensionNumbers,
    preferred_element_type: DTypeLike | None,
) -> BCOO:
    """The product of two BCOO arrays: see ``bcoo_dot_general``."""
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    check_layouts(lhs, rhs, dimension_numbers)
    lhs_free = [d for d in range(lhs.ndim) if d not in (*lhs_contract, *lhs_batch)]
    rhs_free = [d for d in range(rhs.ndim) if d not in (*rhs_contract, *rhs_batch)]
    shape = (
        *(lhs.shape[d] for d in lhs_batch),
        *(lhs.shape[d] for d in lhs_free),
        *(rhs.shape[d] for d in rhs_free),
    )
    dtype = preferred_element_type
    if dtype is None:
        dtype = jnp.promote_types(lhs.dtype, rhs.dtype)
    data, indices = bcoo_spdot_general_p.bind(
        lhs.data,
        lhs.indices,
        rhs.data,
        rhs.indices,
        lhs_spinfo=lhs.info,
        rhs_spinfo=rhs.info,
        dimension_numbers=dimension_numbers,
        preferred_element_type=jnp.dtype(dtype),
    )
    return BCOO((data, indices), shape=shape)


def check_layouts(lhs: BCOO, rhs: BCOO, dimension_numbers: DimensionNumbers) -> None:
    """Check that the layouts of two BCOO arrays allow their product.

    Raises:
      NotImplementedError: if one has dense dimensions, or contracts over batches.
      ValueError: if batches of the second array would follow sparse dimensions in the result.
    """
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    for mat, contract, batch in ((lhs, lhs_contract, lhs_batch), (rhs, rhs_contract, rhs_batch)):
        if mat.n_dense:
            raise NotImplementedError(
                "bcoo_dot_general: the product of two sparse arrays of which one has dense "
                "dimensions. Use update_layout(n_dense=0) first."
            )
        if any(d >= mat.n_batch for d in batch):
            raise NotImplementedError(
                f"bcoo_dot_general: batch dimensions {batch} must be among the first "
                f"{mat.n_batch} dimensions of a sparse array, which are its batches."
            )
        if any(d < mat.n_batch for d in contract):
            raise NotImplementedError(
                f"bcoo_dot_general: contracting over dimensions {contract} of a sparse array whose "
                f"first {mat.n_batch} are batches. Use update_layout first."
            )
    unused = rhs.n_batch > len(rhs_batch)
    if unused and lhs.n_sparse > len(lhs_contract):
        raise ValueError(
            "bcoo_spdot_general: cannot have unused batch dims on rhs with unused sparse dims on "
            "lhs. Use update_layout first."
        )
