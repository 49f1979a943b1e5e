"""The LU factorisation with partial pivoting, and linear systems solved by it."""

from collections.abc import Callable
from math import prod
from operator import index

import numpy as np

import ricci_ir as ir
from ricci_autodiff import Zero, not_linear, zero_derivative
from ricci_batching import leading_dims, vmap
from ricci_ir import Array, ArrayLike, composite
from ricci_lax.contractions import Precision, dot_general
from ricci_lax.control_flow._linear_solve import custom_linear_solve
from ricci_lax.elementwise import add, eq, ge, select_n, sub
from ricci_lax.elementwise._factories import filled_like, scalar_like
from ricci_lax.reductions._sorting import sort
from ricci_lax.shapes._counted_loops import at_index, with_index, write_loop
from ricci_lax.shapes._slicing import pad
from ricci_lax.structure._broadcasting import broadcast_in_dim, expand_dims, reduce_sum
from ricci_lax.structure._filling import broadcasted_iota, iota
from ricci_lax.structure._identity import stop_gradient
from ricci_lax.structure._operand_types import array_aval, shape_of
from ricci_lax.structure._reshaping import squeeze
from ricci_stablehlo import Lowering, Value, native_kernel, traced

from . import _matrices as matrices
from ._kernels import call_kernel, check_matrices, gpu_kernel, is_gpu, lapack, nan_where_failed
from ._triangular_solve import triangular_solve

__all__ = ["lu", "lu_p", "lu_pivots_to_permutation", "lu_pivots_to_permutation_p"]

_INT32 = np.dtype(np.int32)

# lu


def _lu_aval(x: ir.ShapedArray) -> list[ir.ShapedArray]:
    check_matrices("lu", x)
    *batch, m, n = x.shape
    pivots = ir.ShapedArray((*batch, ir.min_dim(m, n)), _INT32, x.weak_type)
    return [x, pivots, ir.ShapedArray((*batch, m), _INT32, x.weak_type)]


def _padded(x: ir.ArrayLike, rows: tuple[int, int], columns: tuple[int, int]) -> ir.Array:
    """A batch of matrices with zeros before and after its rows and columns."""
    config = [(0, 0, 0)] * (len(shape_of(x)) - 2) + [(*rows, 0), (*columns, 0)]
    return pad(x, scalar_like(x, 0), config)


def _square_factors(factors: ir.ArrayLike) -> tuple[ir.Array, ir.Array]:
    """The factors ``l`` and ``u``, made square with rows and columns of the identity."""
    aval = array_aval(factors)
    *_, m, n = aval.shape
    # Both factors are inverted in the derivative, hence must be square: the factor on the longer
    # side is completed to an invertible one.
    k = ir.min_dim(m, n)
    lower = matrices.lower_triangle(matrices.part(factors, (0, m), (0, k)), -1)
    lower = _padded(lower, (0, 0), (0, m - k))
    lower = add(lower, matrices.in_batch(matrices.identity(m, m, aval.dtype), aval.ndim))
    corner = _padded(matrices.identity(n - k, n - k, aval.dtype), (k, 0), (k, 0))
    upper = matrices.upper_triangle(matrices.part(factors, (0, k), (0, n)))
    upper = _padded(upper, (0, n - k), (0, 0))
    return lower, add(upper, matrices.in_batch(corner, aval.ndim))


def _lu_jvp(primals, tangents):
    factors, pivots, permutation = lu_p.bind(*primals)
    (t,) = tangents
    discrete = [Zero.from_primal(pivots), Zero.from_primal(permutation)]
    # l⁻¹ p t u⁻¹ is l⁻¹ dl, strictly lower triangular, plus du u⁻¹, upper triangular.
    lower, upper = _square_factors(factors)
    t = triangular_solve(
        lower, matrices.rows_at(t, permutation), left_side=True, lower=True, unit_diagonal=True
    )
    t = triangular_solve(upper, t)
    options = {"precision": Precision.HIGHEST, "preferred_element_type": matrices.dtype_of(factors)}
    # The tangent of the packed factors is dl = l tril(t, -1), strictly lower triangular, plus
    # du = triu(t) u, upper triangular.
    lower_dot = matrices.product(lower, matrices.lower_triangle(t, -1), **options)
    upper_dot = matrices.product(matrices.upper_triangle(t), upper, **options)
    return [factors, pivots, permutation], [add(lower_dot, upper_dot), *discrete]


# The greatest number of rows or columns, and the least number of matrices, for the native kernel.
_MOST_ROWS, _LEAST_BATCH = 32, 4


def _lu_lower(ctx: Lowering, x: Value) -> list[Value]:
    outs = list(ctx.outs)
    if ctx.platform == "tpu":
        return ctx.custom_call("LuDecomposition", [x], outs, api_version=2)
    batch_rank = x.aval.ndim - 2
    kernel = native_kernel(ctx, "lu", x.aval, batch_rank)
    if kernel is not None and _has_small_matrices(x.shape):
        # LAPACK takes matrices one by one, and the permutation would be a loop over the pivots.
        orders = [range(len(aval.shape))[::-1] for aval in (x.aval, *outs)]
        operands, results = orders[:1], orders[1:]
        return ctx.custom_call(
            kernel.target, [x], outs, operand_layouts=operands, result_layouts=results
        )
    info = ir.ShapedArray(x.shape[:-2], _INT32)
    target = gpu_kernel(ctx, "solver_getrf") if is_gpu(ctx) else lapack("getrf", x.dtype)
    kernel_outs = [outs[0], outs[1], info]
    factors, pivots, failed = call_kernel(ctx, target, [x], kernel_outs, batch_rank, {}, {0: 0})
    # The kernel counts from 1. A singular matrix (info > 0) is not a failure.
    pivots = traced(lambda p: sub(p, scalar_like(p, 1)))(ctx, pivots)
    factors = nan_where_failed(ctx, factors, failed, batch_rank, ge)
    return [factors, pivots, _permutation(ctx, pivots, outs[2])]


def _has_small_matrices(shape: ir.Shape) -> bool:
    *batch, m, n = shape
    return 0 < n <= _MOST_ROWS and m <= _MOST_ROWS and prod(batch) >= _LEAST_BATCH


lu_p: ir.Primitive = ir.define(
    "lu",
    sharding=ir.unsharded_matrices,
    abstract_eval=_lu_aval,
    multiple_results=True,
    jvp=_lu_jvp,
    transpose=not_linear,
    batch=leading_dims,
    lower=_lu_lower,
)


def lu(x: ir.ArrayLike) -> list[ir.Array]:
    """The LU factorisation of matrices with partial pivoting: ``p x = l u``.

    Args:
      x: matrices, of shape ``(..., m, n)`` and dtype float32, float64, complex64 or complex128.

    Returns:
      The factors in one array of the shape of ``x``: ``u`` in the upper triangles, ``l`` below
      them, its diagonal of ones left out. The int32 pivots, of shape ``(..., min_dim(m, n))``: row
      ``i`` was exchanged with row ``pivots[i]``, one after another. And the same as an int32
      permutation of the rows, of shape ``(..., m)``: ``x[permutation]`` is ``l u``.

    Raises:
      TypeError: if the dtype is another, or ``x`` has fewer than two dimensions.

    Example:
      >>> import numpy as np
      >>> from ricci.lax import linalg
      >>> factors, pivots, permutation = linalg.lu(np.array([[1, 2], [3, 4]], np.float32))
      >>> pivots.shape
      (2,)

    Source: LAPACK ``getrf``.
    """
    factors, pivots, permutation = lu_p.bind(x)
    return [factors, pivots, permutation]


# lu_pivots_to_permutation


def _lu_pivots_to_permutation_aval(pivots: ir.ShapedArray, *, permutation_size) -> ir.ShapedArray:
    if pivots.dtype != _INT32:
        raise TypeError(
            f"lu_pivots_to_permutation: pivots must be int32, but they are {pivots.str_short()}."
        )
    if not pivots.ndim:
        raise TypeError(
            "lu_pivots_to_permutation: pivots must have at least one dimension, but they are a "
            "scalar."
        )
    if permutation_size < pivots.shape[-1]:
        raise ValueError(
            f"lu_pivots_to_permutation: permutation_size={permutation_size} is less than the "
            f"{pivots.shape[-1]} pivots of each matrix; it is the matrix's number of rows."
        )
    return ir.ShapedArray((*pivots.shape[:-1], permutation_size), _INT32)


def _exchange(i: ir.ArrayLike, permutation: ir.ArrayLike, pivots: ir.ArrayLike) -> list[ir.Array]:
    """The permutation with its elements ``i`` and ``pivots[i]`` exchanged."""
    shape = shape_of(permutation)
    axis = len(shape) - 1
    x, j = at_index(permutation, i, axis), at_index(pivots, i, axis)
    if not axis:
        y = at_index(permutation, j, 0)
        return [with_index(with_index(permutation, y, i, 0), x, j, 0)]
    spread = lambda v: broadcast_in_dim(v, shape, tuple(range(axis)))
    # The pivot j differs between the examples of a batch. A mask reads and writes element j of each
    # example without a gather and a scatter in every step.
    chosen = eq(broadcasted_iota(_INT32, shape, axis), spread(j))
    y = reduce_sum(select_n(chosen, filled_like(permutation, 0), permutation), (axis,))
    return [select_n(chosen, with_index(permutation, y, i, axis), spread(x))]


def _permutation(ctx: Lowering, pivots: Value, out: ir.ShapedArray) -> Value:
    if is_gpu(ctx):
        target = gpu_kernel(ctx, "_lu_pivots_to_permutation", "")
        return call_kernel(ctx, target, [pivots], [out], out.ndim - 1, {})[0]
    order = traced(lambda: broadcasted_iota(_INT32, out.shape, out.ndim - 1))(ctx)
    if not pivots.aval.size:
        return order
    return write_loop(ctx, pivots.shape[-1], _exchange, [order], [pivots])[0]


lu_pivots_to_permutation_p: ir.Primitive = ir.define(
    "lu_pivots_to_permutation",
    sharding=ir.unsharded(lambda x, **params: x.ndim - 1),
    abstract_eval=_lu_pivots_to_permutation_aval,
    jvp=zero_derivative,
    transpose=not_linear,
    batch=leading_dims,
    lower=lambda ctx, pivots, *, permutation_size: _permutation(ctx, pivots, ctx.out),
)


def lu_pivots_to_permutation(pivots: ir.ArrayLike, permutation_size: int) -> ir.Array:
    """The permutation of rows that is the product of the pivots' exchanges.

    Args:
      pivots: int32, of shape ``(..., k)``: row ``i`` is exchanged with row ``pivots[i]``.
      permutation_size: the number of rows, not less than ``k``.

    Returns:
      Int32 permutations, of shape ``(..., permutation_size)``.

    Raises:
      TypeError: if the pivots are not int32, or have no dimension.
      ValueError: if there are more pivots than rows.

    Example:
      >>> import numpy as np
      >>> from ricci.lax import linalg
      >>> linalg.lu_pivots_to_permutation(np.array([2, 2, 2], np.int32), 4).shape
      (4,)

    Source: LAPACK ``getrf``, on its pivots.
    """
    return lu_pivots_to_permutation_p.bind(pivots, permutation_size=index(permutation_size))


@composite("_lu_solve")
def _lu_solve(factors: ArrayLike, permutation: ArrayLike, b: Array, *, transposed: bool) -> Array:
    """The solutions for a batch of vectors, from the LU factors of their matrices."""
    rank = len(shape_of(b))
    x = expand_dims(b, (rank,))
    if not transposed:
        x = matrices.rows_at(x, permutation)
        x = triangular_solve(factors, x, left_side=True, lower=True, unit_diagonal=True)
        x = triangular_solve(factors, x, left_side=True)
    else:
        # From p a = l u follows aᵀ = uᵀ lᵀ p, so that the inverse permutation comes last. Sorting
        # the permutation along with its positions inverts it.
        x = triangular_solve(factors, x, left_side=True, transpose_a=True)
        x = triangular_solve(
            factors, x, left_side=True, lower=True, transpose_a=True, unit_diagonal=True
        )
        shape = shape_of(permutation)
        places = iota(_INT32, shape[-1])
        if rank > 1:
            places = broadcast_in_dim(places, shape, (rank - 1,))
        _, inverse = sort((permutation, places), rank - 1, num_keys=1)
        x = matrices.rows_at(x, inverse)
    return squeeze(x, (rank,))


def solve(a: ArrayLike, b: ArrayLike) -> Array:
    """The solutions ``x`` of ``a @ x == b``.

    Args:
      a: square matrices, of shape ``(…, n, n)``.
      b: matrices of right-hand sides, ``(…, n, k)``, with the same batch and dtype.
    """
    aval = array_aval(a)
    last, batch = aval.ndim - 1, tuple(range(aval.ndim - 2))
    numbers = (((last,), (last - 1,)), (batch, batch))
    # The factorisation is not differentiated: the derivative of the solution is a solve with the
    # same factors, and ``matvec`` supplies the dependence on the matrix.
    factors, _, permutation = lu(stop_gradient(a))

    def solver(transposed: bool) -> Callable[..., Array]:
        return lambda _, y: _lu_solve(factors, permutation, y, transposed=transposed)

    def solve_vectors(y: ArrayLike) -> Array:
        matvec = lambda x: dot_general(a, x, numbers, Precision.HIGHEST)
        return custom_linear_solve(matvec, y, solver(False), solver(True))

    return vmap(solve_vectors, last, last)(b)
