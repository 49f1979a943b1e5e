"""Linear systems with sparse matrices, solved directly."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
import ricci_numpy as jnp
from ricci_autodiff import Zero, add_tangents, instantiate, is_undefined_primal
from ricci_batching import batched_at
from ricci_stablehlo import Lowering, Value, of_function, traced

__all__ = ["spsolve", "spsolve_p"]

_DTYPES = ("float32", "float64", "complex64", "complex128")


def _solve_on_host(
    data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, b: np.ndarray, transpose: bool
) -> np.ndarray:
    """Solve by SciPy's SuperLU."""
    from scipy.sparse import csr_matrix, linalg  # noqa: PLC0415 - lazy: few programs need it

    parts = tuple(map(np.array, (data, indices, indptr)))  # copies: SciPy sorts them in place
    matrix = csr_matrix(parts, shape=(b.size, b.size))
    matrix = (matrix.T if transpose else matrix).tocsc()
    return np.asarray(linalg.spsolve(matrix, np.asarray(b)), dtype=b.dtype)


def _call(
    data: ir.Array,
    indices: ir.Array,
    indptr: ir.Array,
    b: ir.Array,
    *,
    tol: float,
    reorder: int,
    transpose: bool,
) -> ir.Array:
    solve = partial(_solve_on_host, transpose=transpose)
    return lax.pure_callback(solve, b, data, indices, indptr, b, vmap_method="sequential")


def _rows(indptr: ir.Array, nse: int) -> ir.Array:
    """The row of each stored element."""
    # The last row that starts at or before the element.
    return jnp.searchsorted(indptr, jnp.arange(nse, dtype=indptr.dtype), side="right") - 1


def _for_cusolver(
    data: ir.Array, indices: ir.Array, indptr: ir.Array, *, transpose: bool
) -> Sequence[ir.Array]:
    """Return the parts of the matrix or its transpose, with the 32-bit indices of cuSOLVER."""
    if transpose:
        # A stable sort by columns leaves the rows of each column in order.
        order = jnp.argsort(indices, stable=True)
        ends = jnp.cumsum(jnp.bincount(indices, length=indptr.shape[0] - 1))
        data, indices = data[order], _rows(indptr, data.shape[0])[order]
        indptr = jnp.concatenate([jnp.zeros_like(ends[:1]), ends])
    return [data, indices.astype(np.int32), indptr.astype(np.int32)]


def _lower(
    ctx: Lowering,
    data: Value,
    indices: Value,
    indptr: Value,
    b: Value,
    *,
    tol: float,
    reorder: int,
    transpose: bool,
) -> Value:
    params = {"tol": tol, "reorder": reorder, "transpose": transpose}
    if ctx.platform != "cuda" or not b.shape[0]:
        return traced(_call)(ctx, data, indices, indptr, b, **params)
    outs = ctx.outs
    if transpose or {indices.dtype, indptr.dtype} != {np.dtype(np.int32)}:
        parts = traced(_for_cusolver)(ctx, data, indices, indptr, transpose=transpose)
    else:
        parts = [data, indices, indptr]
    return ctx.custom_call(
        "cusolver_csrlsvqr_ffi",
        [*parts, b],
        outs,
        backend_config={"reorder": f"{reorder} : i32", "tol": f"{tol:.17e} : f64"},
        operand_layouts=[[0]] * 4,
        result_layouts=[[0]],
    )[0]


def _jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, transpose: bool, **params: Any
) -> tuple[Any, Any]:
    data, indices, indptr, b = primals
    x = spsolve_p.bind(*primals, transpose=transpose, **params)
    rhs = tangents[3]
    if type(tangents[0]) is not Zero:
        # From A x = b follows A dx = db - dA x: another solve with the same matrix. dA has the
        # sparsity pattern of A, so that dA x is a scatter of one term for each stored element.
        at = _rows(indptr, data.shape[0]), indices
        rows, columns = at[::-1] if transpose else at
        moved = jnp.zeros_like(b).at[rows].add(-instantiate(tangents[0]) * x[columns])
        rhs = add_tangents(rhs, moved)
    if type(rhs) is Zero:
        return x, Zero.from_primal(x)
    return x, spsolve_p.bind(data, indices, indptr, rhs, transpose=transpose, **params)


def _transpose(
    ct: Any, data: Any, indices: Any, indptr: Any, b: Any, *, transpose: bool, **params: Any
) -> Sequence[Any]:
    if not is_undefined_primal(b):
        raise NotImplementedError("spsolve is linear in b alone, not in the matrix")
    # x = A⁻¹ b is linear in b, and its transpose is A⁻ᵀ.
    solution = spsolve_p.bind(data, indices, indptr, ct, transpose=not transpose, **params)
    return [None, None, None, solution]


def _batch(
    axis: Any, args: Sequence[Any], dims: Sequence[int | None], **params: Any
) -> tuple[ir.Array, int]:
    arrays = [batched_at(x, dim, axis, 0) for x, dim in zip(args, dims, strict=True)]
    return lax.map(lambda xs: spsolve_p.bind(*xs, **params), tuple(arrays)), 0


spsolve_p: ir.Primitive = ir.define(
    "spsolve",
    abstract_eval=lambda data, indices, indptr, b, **params: ir.ShapedArray(b.shape, b.dtype),
    sharding=ir.unsharded(),
    jvp=_jvp,
    transpose=_transpose,
    batch=_batch,
    lower=of_function(_call, _lower),
)


def spsolve(
    data: ir.ArrayLike,
    indices: ir.ArrayLike,
    indptr: ir.ArrayLike,
    b: ir.ArrayLike,
    tol: float = 1e-6,
    reorder: int = 1,
) -> ir.Array:
    """Solve the linear system ``A x = b`` with a sparse matrix ``A``, by a decomposition.

    cuSOLVER solves it on NVIDIA GPUs, elsewhere SciPy on the host. It is differentiable with
    respect to ``data`` and ``b``.

    Args:
      data: the stored elements of ``A``, row by row, of shape ``(nse,)``: float32, float64,
        complex64 or complex128.
      indices: the column of each, of shape ``(nse,)``.
      indptr: the position of each row in ``data``, and the end of the last, of shape ``(n + 1,)``.
      b: the right-hand side, of shape ``(n,)`` and the dtype of ``data``.
      tol: the threshold below which a pivot counts as zero; SciPy ignores it.
      reorder: the column order, from 0 to 3; SciPy ignores it.

    Returns:
      The solution, of shape ``(n,)``.

    Raises:
      ValueError: if the shapes or dtypes are incompatible.

    Example:
      >>> from ricci.experimental.sparse import linalg
      >>> import numpy as np
      >>> data, indices = np.float32([2, 4, 1]), np.int32([0, 1, 0])
      >>> linalg.spsolve(data, indices, np.int32([0, 1, 3]), np.float32([2, 9]))
      Array([1., 2.], dtype=float32)

    Source: SciPy ``scipy.sparse.linalg.spsolve``.
    """
    data, indices, indptr, b = map(jnp.asarray, (data, indices, indptr, b))
    if data.dtype.name not in _DTYPES or data.dtype != b.dtype:
        raise ValueError(
            f"spsolve: data and b must have the same dtype, one of {', '.join(_DTYPES)}; got "
            f"{data.dtype.name} and {b.dtype.name}."
        )
    if b.ndim != 1 or data.ndim != 1 or data.shape != indices.shape:
        raise ValueError(
            f"spsolve: data, indices and b must be vectors, the first two of one length; got "
            f"shapes {data.shape}, {indices.shape} and {b.shape}."
        )
    if indptr.shape != (b.shape[0] + 1,):
        raise ValueError(
            f"spsolve: for {b.shape[0]} equations indptr must have shape ({b.shape[0] + 1},), got "
            f"{indptr.shape}."
        )
    params = {"tol": float(tol), "reorder": int(reorder), "transpose": False}
    return spsolve_p.bind(data, indices, indptr, b, **params)
