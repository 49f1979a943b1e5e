"""The product of a sparse matrix with a dense one.

jaxlib has a kernel for CPUs that goes through a matrix row by row, in several threads. With a dense
matrix of eight columns or more it takes a twentieth of the time of XLA's scatter, by which the
product is computed elsewhere; with a vector the scatter is faster. Measured for a million elements.
On NVIDIA GPUs the product is cuSPARSE's.
"""

from collections.abc import Sequence
from typing import Any, Literal, TypedDict, Unpack

import numpy as np

import ricci_numpy as jnp
from ricci_autodiff import Zero, add_tangents, instantiate, is_undefined_primal
from ricci_batching import batched_at
from ricci_ir import Array, Primitive, ShapedArray, define, unsharded
from ricci_stablehlo import Lowering, Value, of_function, traced

from ._cusparse import cusparse_product

__all__ = ["row_products"]

_KERNEL = "cpu_csr_sparse_dense_ffi"
_DTYPES = frozenset(
    map(np.dtype, (np.int32, np.int64, np.float32, np.float64, np.complex64, np.complex128))
)
_FEWEST_COLUMNS = 8  # with which the kernel is fast
_WORTH_SORTING = 32  # from so many columns on, sorting the elements first costs less than a scatter


type Order = Literal["rows", "columns", "none"]
type Form = Literal["coo", "csr"]

_TRANSPOSED_ORDER: dict[Order, Order] = {"rows": "columns", "columns": "rows", "none": "none"}


class _Params(TypedDict):
    """The parameters of the primitive: see ``row_products``."""

    n_rows: int
    order: Order
    cusparse: Form | None


def _scatter_product(
    data: Array, rows: Array, columns: Array, indptr: Array, x: Array, **params: Unpack[_Params]
) -> Array:
    """The product as gathers and a scatter."""
    terms = _times(data, x.at[columns].get(mode="promise_in_bounds"))
    zeros = jnp.zeros((params["n_rows"], *x.shape[1:]), data.dtype)
    in_order = params["order"] == "rows"
    return zeros.at[rows].add(terms, indices_are_sorted=in_order, mode="promise_in_bounds")


def _times(data: Array, x: Array) -> Array:
    return data * x if x.ndim == 1 else data[:, None] * x


def _padded_product(
    data: Array, rows: Array, columns: Array, indptr: Array, x: Array, **params: Unpack[_Params]
) -> Array:
    """The product, with ``x`` padded to the columns from which the kernel is fast."""
    wide = jnp.pad(x, ((0, 0), (0, _FEWEST_COLUMNS - x.shape[1])))
    result = row_products_p.bind(data, rows, columns, indptr, wide, **params)
    return result[:, : x.shape[1]]


def _sorted_product(
    data: Array, rows: Array, columns: Array, indptr: Array, x: Array, **params: Unpack[_Params]
) -> Array:
    """The product, with the elements sorted by row first."""
    order = jnp.argsort(rows)
    data, rows, columns = data[order], rows[order], columns[order]
    params["order"] = "rows"
    return row_products_p.bind(data, rows, columns, indptr[:0], x, **params)


def _product_with_starts(
    data: Array, rows: Array, columns: Array, indptr: Array, x: Array, **params: Unpack[_Params]
) -> Array:
    """The product of elements in order, after finding each row's first element."""
    numbers = jnp.arange(params["n_rows"] + 1, dtype=rows.dtype)
    starts = jnp.searchsorted(rows, numbers).astype(columns.dtype)
    return row_products_p.bind(data, rows, columns, starts, x, **params)


def _lower(
    ctx: Lowering,
    data: Value,
    rows: Value,
    columns: Value,
    indptr: Value,
    x: Value,
    **params: Unpack[_Params],
) -> Any:
    operands = (data, rows, columns, indptr, x)
    order, form = params["order"], params["cusparse"]
    if ctx.platform == "cuda" and form is not None and order != "none":
        product = cusparse_product(ctx, form, *operands, transpose=order == "columns")
        if product is not None:
            return product
    # jaxlib's kernel for CPUs takes rows in order and several columns. A few columns are padded to
    # the least width; where rows are not in order, sorting them first is worth its cost for many
    # columns.
    width = x.shape[1] if len(x.shape) == 2 else 1
    fits = data.dtype in _DTYPES and ctx.out.size and data.shape[0]
    if ctx.platform != "cpu" or not fits or width == 1:
        rule = _as_scatter
    elif order != "rows":
        rule = _as_scatter if width < _WORTH_SORTING else _as_sorted
    elif width < _FEWEST_COLUMNS:
        rule = _as_wider
    elif not indptr.shape[0]:
        rule = _with_starts
    else:
        return ctx.custom_call(_KERNEL, [data, indptr, columns, x], [ctx.out])[0]
    return rule(ctx, *operands, **params)


_as_scatter = traced(_scatter_product)
_as_wider = traced(_padded_product)
_as_sorted = traced(_sorted_product)
_with_starts = traced(_product_with_starts)


def _aval(
    data: ShapedArray,
    rows: ShapedArray,
    columns: ShapedArray,
    indptr: ShapedArray,
    x: ShapedArray,
    **params: Unpack[_Params],
) -> ShapedArray:
    return ShapedArray((params["n_rows"], *x.shape[1:]), data.dtype)


def _jvp(
    primals: Sequence[Any], tangents: Sequence[Any], **params: Unpack[_Params]
) -> tuple[Any, Any]:
    data, *at, x = primals
    result = row_products_p.bind(*primals, **params)
    tangent: Any = Zero.from_primal(result)
    if type(tangents[0]) is not Zero:
        tangent = row_products_p.bind(instantiate(tangents[0]), *at, x, **params)
    if type(tangents[4]) is not Zero:
        other = row_products_p.bind(data, *at, instantiate(tangents[4]), **params)
        tangent = add_tangents(tangent, other)
    return result, tangent


def _transpose(
    ct: Any,
    data: Any,
    rows: Array,
    columns: Array,
    indptr: Array,
    x: Any,
    **params: Unpack[_Params],
) -> Sequence[Any]:
    if is_undefined_primal(data):
        at_rows = jnp.asarray(ct).at[rows].get(mode="promise_in_bounds")
        terms = at_rows * x.at[columns].get(mode="promise_in_bounds")
        return [terms if terms.ndim == 1 else jnp.sum(terms, axis=1), None, None, None, None]
    params["n_rows"] = x.aval.shape[0]
    params["order"] = _TRANSPOSED_ORDER[params["order"]]
    ct_x = row_products_p.bind(data, columns, rows, indptr, ct, **params)
    return [None, None, None, None, ct_x]


def _batch(
    axis: Any, args: Sequence[Any], dims: Sequence[int | None], **params: Unpack[_Params]
) -> tuple[Array, int]:
    """Batch right-hand sides as further columns, and matrices as one block-diagonal matrix."""
    *matrix, x = args
    if all(dim is None for dim in dims[:4]):
        x = batched_at(x, dims[4], axis, 1)
        shape = x.shape
        flat = x if x.ndim == 2 else x.reshape(shape[0], shape[1] * shape[2])
        result = row_products_p.bind(*matrix, flat, **params)
        return result.reshape(result.shape[0], *shape[1:]), 1
    data, rows, columns, indptr, x = (
        batched_at(a, dim, axis, 0) for a, dim in zip(args, dims, strict=True)
    )
    count, nse = data.shape
    n_rows, n_columns = params["n_rows"], x.shape[1]
    params["n_rows"] = count * n_rows
    block = jnp.arange(count, dtype=rows.dtype)[:, None]
    if indptr.shape[1]:
        # Elements stored behind the last line of a block are padding: they count as zero.
        stored = jnp.arange(nse, dtype=indptr.dtype)[None] < indptr[:, -1:]
        data = jnp.where(stored, data, jnp.zeros((), data.dtype))
        starts = (indptr[:, :-1] + (block * nse).astype(indptr.dtype)).ravel()
        indptr = jnp.concatenate([starts, jnp.array([count * nse], indptr.dtype)])
    result = row_products_p.bind(
        data.ravel(),
        (rows + block * n_rows).ravel(),
        (columns + block.astype(columns.dtype) * n_columns).ravel(),
        indptr.ravel(),
        x.reshape(count * n_columns, *x.shape[2:]),
        **params,
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
    data: Array,
    rows: Array,
    columns: Array,
    x: Array,
    *,
    n_rows: int,
    order: Order,
    indptr: Array | None = None,
    cusparse: Form | None,
) -> Array:
    """The product of a sparse matrix with a dense vector or matrix.

    Args:
      data: the stored elements.
      rows: the row of each element, which must be in bounds.
      columns: the column of each element, which must be in bounds: nothing is checked.
      x: a vector, or a matrix, of the dtype of ``data``.
      n_rows: the number of rows of the matrix.
      order: the order in which the elements are stored: by rows, by columns or neither.
      indptr: the position of the first element of each row, or with the order ``"columns"`` of each
        column, and the end of the last one: int32 or int64, as ``columns``.
      cusparse: the format in which the matrix is passed to cuSPARSE on NVIDIA GPUs, or ``None`` for
        gathers and a scatter. ``"csr"`` takes ``indptr``.
    """
    starts = jnp.zeros(0, columns.dtype) if indptr is None else indptr
    params: _Params = {"n_rows": n_rows, "order": order, "cusparse": cusparse}
    return row_products_p.bind(data, rows, columns, starts, x, **params)
