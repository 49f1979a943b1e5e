"""Linear systems with triangular matrices."""

from math import prod
from typing import Any

import ricci_ir as ir
from ricci_autodiff import Zero, add_tangents, is_undefined_primal, solution
from ricci_batching import batched_at, move_dim
from ricci_lax.contractions._precision import Precision
from ricci_lax.elementwise._linear import neg
from ricci_lax.structure import expand_dims, reshape, squeeze, transpose
from ricci_lax.structure._operand_types import check_dtype, check_same_dtype, inexact, shape_of
from ricci_stablehlo import Lowering, Value, traced

from ._kernels import call_kernel, char, flag, has_kernels, lapack
from ._matrices import conjugate, is_complex, lower_triangle, product, upper_triangle

__all__ = ["triangular_solve", "triangular_solve_p"]


def matmul(x: ir.ArrayLike, y: ir.ArrayLike) -> ir.Array:
    """The products of two batches of matrices, in the highest precision."""
    return product(x, y, precision=Precision.HIGHEST)


def matrix_transpose(x: ir.ArrayLike) -> ir.Array:
    """A batch of matrices, each transposed."""
    rank = len(shape_of(x))
    return transpose(x, (*range(rank - 2), rank - 1, rank - 2))


def _triangular_solve_aval(a: ir.ShapedArray, b: ir.ShapedArray, *, left_side, **params):
    for aval in (a, b):
        check_dtype("triangular_solve", aval, inexact)
    check_same_dtype("triangular_solve", a, b)
    for name, aval in (("a", a), ("b", b)):
        if aval.ndim < 2:
            raise TypeError(
                f"triangular_solve: {name} must have at least two dimensions (a matrix, or a "
                f"batch of them), but its shape is {aval.shape}."
            )
    if a.ndim != b.ndim:
        raise TypeError(
            f"triangular_solve: a is {a.str_short()} and b is {b.str_short()}, which differ in "
            "their number of batch dimensions (all but the last two). Repeat one of them with "
            "broadcast_in_dim."
        )
    if a.shape[-1] != a.shape[-2]:
        raise ValueError(
            f"triangular_solve: the matrices a (the last two dimensions) must be square, but a "
            f"has shape {a.shape}."
        )
    side, size = ("rows", b.shape[-2]) if left_side else ("columns", b.shape[-1])
    if size != a.shape[-1]:
        raise ValueError(
            f"triangular_solve: with left_side={left_side}, b must have as many {side} as a, but "
            f"their shapes are {a.shape} and {b.shape}."
        )
    if a.shape[:-2] != b.shape[:-2]:
        raise ValueError(
            f"triangular_solve: the batch dimensions (all but the last two) differ in size: a is "
            f"{a.str_short()} and b is {b.str_short()}."
        )
    return ir.ShapedArray(b.shape, b.dtype, a.weak_type and b.weak_type)


def _triangle(t: ir.Array, params: dict[str, Any]) -> ir.Array:
    """A tangent of the matrix, with zeros in the part that the solver does not read."""
    skipped = int(params["unit_diagonal"])
    return lower_triangle(t, -skipped) if params["lower"] else upper_triangle(t, skipped)


def _op(t: ir.Array, params: dict[str, Any]) -> ir.Array:
    if params["transpose_a"]:
        t = matrix_transpose(t)
    return conjugate(t) if params["conjugate_a"] else t


def _by_matrix(t: ir.Array, a: ir.Array, x: ir.Array, params: dict[str, Any]) -> ir.Array:
    """The tangent of the solution ``x`` when the matrix ``a`` moves by ``t``: -a⁻¹ t x."""
    t = _op(neg(_triangle(t, params)), params)
    solve = lambda rhs: triangular_solve_p.bind(a, rhs, **params)
    rows, columns = map(ir.typical_size, shape_of(x)[-2:])
    # Solving for the smaller of the two: the matrices, or the right-hand sides.
    if params["left_side"]:
        return solve(matmul(t, x)) if rows > columns else matmul(solve(t), x)
    return solve(matmul(x, t)) if columns > rows else matmul(x, solve(t))


def _jet_product(t: ir.Array, x: ir.Array, **params: Any) -> ir.Array:
    t = _op(_triangle(t, params), params)
    return matmul(t, x) if params["left_side"] else matmul(x, t)


def _triangular_solve_jvp(primals, tangents, **params):
    a, b = primals
    a_dot, b_dot = tangents
    x = triangular_solve_p.bind(a, b, **params)
    tangent = Zero.from_primal(x)
    if type(a_dot) is not Zero:
        tangent = _by_matrix(a_dot, a, x, params)
    if type(b_dot) is not Zero:
        tangent = add_tangents(tangent, triangular_solve_p.bind(a, b_dot, **params))
    return x, tangent


def _triangular_solve_transpose(ct, a, b, *, transpose_a, **params):
    if is_undefined_primal(a) or not is_undefined_primal(b):
        raise NotImplementedError("triangular_solve is linear in b alone, not in the matrix a")
    # The transpose of b ↦ a⁻¹ b is ct ↦ a⁻ᵀ ct; a conjugation of ``a`` stays.
    return None, triangular_solve_p.bind(a, ct, transpose_a=not transpose_a, **params)


def _triangular_solve_batch(axis, args, dims, *, left_side, **params):
    (a, b), (a_dim, b_dim) = args, dims
    if a_dim is not None:
        a, b = (batched_at(x, d, axis, 0) for x, d in zip(args, dims, strict=True))
        return triangular_solve_p.bind(a, b, left_side=left_side, **params), 0
    # One matrix for the whole batch: its examples are further right-hand sides.
    rank = len(shape_of(b))
    # The mapped axis is moved beside that of the right-hand sides, and a reshape merges the two.
    target = rank - 1 if left_side else rank - 2
    b = move_dim(b, b_dim, target)
    shape = shape_of(b)
    first = target - 1
    merged = (*shape[:first], prod(shape[first : first + 2]), *shape[first + 2 :])
    x = triangular_solve_p.bind(a, reshape(b, merged), left_side=left_side, **params)
    return reshape(x, shape), target


def _triangular_solve_lower(
    ctx: Lowering, a: Value, b: Value, *, left_side, lower, transpose_a, conjugate_a, unit_diagonal
):
    out = ctx.out
    # Neither BLAS nor StableHLO conjugates a matrix without transposing it.
    if conjugate_a and not transpose_a:
        a, conjugate_a = traced(conjugate)(ctx, a), False
    if ctx.platform == "cpu" and has_kernels(a.dtype):
        letter = "N" if not transpose_a else "C" if conjugate_a else "T"
        attributes = {
            "diag": char("U" if unit_diagonal else "N"),
            "side": char("L" if left_side else "R"),
            "trans_x": char(letter),
            "uplo": char("L" if lower else "U"),
        }
        target, batch_rank = lapack("trsm", a.dtype), len(a.shape) - 2
        return call_kernel(ctx, target, [a, b], [out], batch_rank, attributes, {0: 1})[0]
    kind = "NO_TRANSPOSE" if not transpose_a else "ADJOINT" if conjugate_a else "TRANSPOSE"
    attributes = (
        f"left_side = {flag(left_side)}, lower = {flag(lower)}, "
        f"transpose_a = #stablehlo<transpose {kind}>, unit_diagonal = {flag(unit_diagonal)}"
    )
    return ctx.generic("stablehlo.triangular_solve", [a, b], [out], attributes)[0]


triangular_solve_p: ir.Primitive = ir.define(
    "triangular_solve",
    sharding=ir.unsharded_matrices,
    abstract_eval=_triangular_solve_aval,
    jvp=_triangular_solve_jvp,
    jet=solution(_jet_product),
    transpose=_triangular_solve_transpose,
    batch=_triangular_solve_batch,
    lower=_triangular_solve_lower,
)


def triangular_solve(
    a: ir.ArrayLike,
    b: ir.ArrayLike,
    *,
    left_side: bool = False,
    lower: bool = False,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> ir.Array:
    """Solve linear systems whose matrices are triangular.

    Args:
      a: matrices, of shape ``(..., m, m)`` and a floating or complex dtype.
      b: right-hand sides of the same dtype, of shape ``(..., m, n)`` with ``left_side``, else
        ``(..., n, m)``; or of shape ``(..., m)``, one for each matrix.
      left_side: whether to solve ``op(a) x = b`` or ``x op(a) = b``.
      lower: whether ``a`` is its lower triangle or its upper one; the other is not looked at.
      transpose_a: whether ``op`` transposes.
      conjugate_a: whether ``op`` takes the complex conjugate; no effect for real dtypes.
      unit_diagonal: whether the diagonal is assumed to be ones, and not read.

    Returns:
      The solutions ``x``, of the shape and dtype of ``b``.

    Raises:
      TypeError: if the dtypes differ or are not floating, or the numbers of dimensions differ.
      ValueError: if the matrices are not square, or the sizes do not fit.

    Example:
      >>> import numpy as np
      >>> from ricci.lax import linalg
      >>> a = np.array([[2, 0], [1, 1]], np.float32)
      >>> linalg.triangular_solve(a, np.ones((2, 3), np.float32), left_side=True, lower=True).shape
      (2, 3)

    Source: BLAS ``trsm``, StableHLO ``triangular_solve``.
    """
    vector = len(shape_of(b)) == len(shape_of(a)) - 1
    if vector:
        b = expand_dims(b, (-1 if left_side else -2,))
    x = triangular_solve_p.bind(
        a,
        b,
        left_side=left_side,
        lower=lower,
        transpose_a=transpose_a,
        conjugate_a=conjugate_a and is_complex(a),
        unit_diagonal=unit_diagonal,
    )
    return squeeze(x, (-1 if left_side else -2,)) if vector else x
