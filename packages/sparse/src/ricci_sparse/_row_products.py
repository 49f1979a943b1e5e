"""The product of a sparse matrix with a dense one.

jaxlib has a kernel for CPUs that goes through a matrix row by row, in several threads. With a dense
matrix of eight columns or more it takes a twentieth of the time of XLA's scatter, by which the
product is computed elsewhere; with a vector the scatter is faster. Measured for a million elements.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

import ricci_numpy as jnp
from ricci_autodiff import Zero, add_tangents, instantiate, is_undefined_primal
from ricci_batching import batched_at
from ricci_ir import Array, Primitive, ShapedArray, define, unsharded
from ricci_stablehlo import Lowering, Value, of_function, traced

__all__ = ["row_products"]

_KERNEL = "cpu_csr_sparse_dense_ffi"
_DTYPES = frozenset(
    map(np.dtype, (np.int32, np.int64, np.float32, np.float64, np.complex64, np.complex128))
)
_FEWEST_COLUMNS = 8  # with which the kernel is fast
_WORTH_SORTING = 32  # from so many columns on, sorting the elements first costs less than a scatter


def _scatter_product(
    data: Array, rows: Array, columns: Array, indptr: Array, x: Array, *, in_order: bool
) -> Array:
    """The product as gathers and a scatter."""
    terms = _times(data, x.at[columns].get(mode="promise_in_bounds"))
    zeros = jnp.zeros((indptr.shape[0] - 1, *x.shape[1:]), data.dtype)
    return zeros.at[rows].add(terms, indices_are_sorted=in_order, mode="promise_in_bounds")


def _times(data: Array, x: Array) -> Array:
    return data * x if x.ndim == 1 else data[:, None] * x


def _padded_product(
    data: Array, rows: Array, columns: Array, indptr: Array, x: Array, *, in_order: bool
) -> Array:
    """The product, with ``x`` padded to the columns from which the kernel is fast."""
    wide = jnp.pad(x, ((0, 0), (0, _FEWEST_COLUMNS - x.shape[1])))
    result = row_products_p.bind(data, rows, columns, indptr, wide, in_order=True)
    return result[:, : x.shape[1]]


def _sorted_product(
    data: Array, rows: Array, columns: Array, indptr: Array, x: Array, *, in_order: bool
) -> Array:
    """The product, with the elements sorted by row first."""
    order = jnp.argsort(rows)
    data, rows, columns = data[order], rows[order], columns[order]
    return row_products_p.bind(data, rows, columns, row_starts(rows, indptr), x, in_order=True)


def row_starts(rows: Array, indptr: Array) -> Array:
    """The position of each row's first element among sorted rows, in the shape of ``indptr``."""
    numbers = jnp.arange(indptr.shape[0], dtype=rows.dtype)
    return jnp.searchsorted(rows, numbers).astype(rows.dtype)


def _lower(
    ctx: Lowering,
    data: Value,
    rows: Value,
    columns: Value,
    indptr: Value,
    x: Value,
    *,
    in_order: bool,
) -> Any:
    # jaxlib's kernel for CPUs takes rows in order and several columns. A few columns are widened to
    # what it needs; where rows are not in order, sorting them first is worth its cost for many
    # columns.
    operands = (data, rows, columns, indptr, x)
    width = x.shape[1] if len(x.shape) == 2 else 1
    fits = data.dtype in _DTYPES and ctx.out.size and data.shape[0]
    if ctx.platform != "cpu" or not fits or width == 1:
        return _as_scatter(ctx, *operands, in_order=in_order)
    if in_order:
        if width < _FEWEST_COLUMNS:
            return _as_wider(ctx, *operands, in_order=True)
        return ctx.custom_call(_KERNEL, [data, indptr, columns, x], [ctx.out])[0]
    rule = _as_scatter if width < _WORTH_SORTING else _as_sorted
    return rule(ctx, *operands, in_order=False)


_as_scatter = traced(_scatter_product)
_as_wider = traced(_padded_product)
_as_sorted = traced(_sorted_product)


def _aval(
    data: Any, rows: Any, columns: Any, indptr: Any, x: Any, *, in_order: bool
) -> ShapedArray:
    return ShapedArray((indptr.shape[0] - 1, *x.shape[1:]), data.dtype)


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], *, in_order: bool) -> tuple[Any, Any]:
    data, *at, x = primals
    result = row_products_p.bind(*primals, in_order=in_order)
    tangent: Any = Zero.from_primal(result)
    if type(tangents[0]) is not Zero:
        tangent = row_products_p.bind(instantiate(tangents[0]), *at, x, in_order=in_order)
    if type(tangents[4]) is not Zero:
        other = row_products_p.bind(data, *at, instantiate(tangents[4]), in_order=in_order)
        tangent = add_tangents(tangent, other)
    return result, tangent


def _transpose(
    ct: Any, data: Any, rows: Array, columns: Array, indptr: Array, x: Any, *, in_order: bool
) -> Sequence[Any]:
    if is_undefined_primal(data):
        at_rows = jnp.asarray(ct).at[rows].get(mode="promise_in_bounds")
        terms = at_rows * x.at[columns].get(mode="promise_in_bounds")
        return [terms if terms.ndim == 1 else jnp.sum(terms, axis=1), None, None, None, None]
    # The transposed matrix: its rows are the columns, which are not sorted.
    starts = jnp.zeros(x.aval.shape[0] + 1, rows.dtype)
    ct_x = row_products_p.bind(data, columns, rows, starts, ct, in_order=False)
    return [None, None, None, None, ct_x]


def _batch(
    axis: Any, args: Sequence[Any], dims: Sequence[int | None], *, in_order: bool
) -> tuple[Array, int]:
    """Batch right-hand sides as further columns, and matrices as one block-diagonal matrix."""
    *matrix, x = args
    if all(dim is None for dim in dims[:4]):
        x = batched_at(x, dims[4], axis, 1)
        shape = x.shape
        flat = x if x.ndim == 2 else x.reshape(shape[0], shape[1] * shape[2])
        result = row_products_p.bind(*matrix, flat, in_order=in_order)
        return result.reshape(result.shape[0], *shape[1:]), 1
    data, rows, columns, indptr, x = (
        batched_at(a, dim, axis, 0) for a, dim in zip(args, dims, strict=True)
    )
    count, nse = data.shape
    n_rows, n_columns = indptr.shape[1] - 1, x.shape[1]
    block = jnp.arange(count, dtype=rows.dtype)[:, None]
    starts = (indptr[:, :-1] + (block * nse).astype(indptr.dtype)).ravel()
    if in_order:
        # Elements stored behind the last row of a block are padding: they count as zero.
        stored = jnp.arange(nse, dtype=indptr.dtype)[None] < indptr[:, -1:]
        data = jnp.where(stored, data, jnp.zeros((), data.dtype))
    result = row_products_p.bind(
        data.ravel(),
        (rows + block * n_rows).ravel(),
        (columns + block.astype(columns.dtype) * n_columns).ravel(),
        jnp.concatenate([starts, jnp.array([count * nse], indptr.dtype)]),
        x.reshape(count * n_columns, *x.shape[2:]),
        in_order=in_order,
    )
    return result.reshape(count, n_rows, *x.shape[2:]), 0


row_products_p: Primitive = define(
    "sparse_row_products",
    abstract_eval=_aval,
    sharding=unsharded(),
    jvp=_jvp,
    transpose=_transpose,
    batch=_batch,
    lower=of_function(_scatter_product, _lower),
)


def row_products(
    data: Array, rows: Array, columns: Array, indptr: Array, x: Array, *, in_order: bool
) -> Array:
    """The product of a sparse matrix with a dense vector or matrix.

    Args:
      data: the stored elements.
      rows: the row of each element, which must be in bounds.
      columns: the column of each element, which must be in bounds: nothing is checked.
      indptr: the position of each row's first element, and the end of the last row: int32 or
        int64, as ``columns``. Only its length is used if the elements are not in order.
      x: a vector, or a matrix, of the dtype of ``data``.
      in_order: whether the elements are stored row by row.
    """
    return row_products_p.bind(data, rows, columns, indptr, x, in_order=in_order)
