"""The Cholesky factorisation of positive definite matrices, its update, and symmetric products."""

import numpy as np

import ricci_ir as ir
from ricci_autodiff import not_linear
from ricci_batching import leading_dims
from ricci_lax.elementwise._arithmetic import abs as absolute
from ricci_lax.elementwise._arithmetic import div, mul
from ricci_lax.elementwise._comparison import bitwise_or, eq, gt, select_n
from ricci_lax.elementwise._conversion import converted
from ricci_lax.elementwise._factories import scalar_like
from ricci_lax.elementwise._linear import add, complex, imag, neg, real, sub
from ricci_lax.elementwise._transcendental import sqrt
from ricci_lax.shapes._counted_loops import at_index, with_index, write_loop
from ricci_lax.structure._operand_types import array_aval
from ricci_stablehlo import Lowering, Value, native_kernel, traced

from . import _kernels as kernels
from ._matrices import adjoint, identity, in_batch, lower_triangle
from ._triangular_solve import matmul, matrix_transpose, triangular_solve

__all__ = ["cholesky", "cholesky_p", "cholesky_update", "cholesky_update_p", "symmetric_product"]
__all__ += ["symmetric_product_p"]

# cholesky


def _cholesky_aval(x: ir.ShapedArray) -> ir.ShapedArray:
    kernels.check_square("cholesky", x)
    kernels.check_matrices("cholesky", x)
    return x


# The most rows for the native kernel, which factorizes a matrix by one thread, LAPACK by several.
_MOST_ROWS = 512


def _cholesky_lower(ctx: Lowering, x: Value, *, symmetrizes: bool = False) -> Value:
    # ``symmetrizes`` is a parameter of the form for CPUs alone: the factors of (x + xᵀ) / 2.
    out = ctx.out
    batch_rank = len(x.shape) - 2
    info = ir.ShapedArray(x.shape[:-2], np.dtype(np.int32))
    kernel = native_kernel(ctx, "cholesky", x.aval, batch_rank)
    if kernel is not None and x.shape[-1] <= _MOST_ROWS:
        order = range(len(x.shape))[::-1]
        return ctx.custom_call(
            kernel.target,
            [x],
            [out],
            backend_config={"symmetrizes": str(symmetrizes).lower()},
            operand_layouts=[order],
            result_layouts=[order],
        )[0]
    if symmetrizes:
        x = traced(_symmetrized)(ctx, x)
    if kernels.is_gpu(ctx):
        target, attributes = kernels.gpu_kernel(ctx, "solver_potrf"), {"lower": kernels.flag(True)}
    elif ctx.platform == "cpu":
        target, attributes = kernels.lapack("potrf", x.dtype), {"uplo": kernels.char("L")}
    else:
        factor = ctx.emit("stablehlo.cholesky", [x], out, ", lower = true")
        return traced(lower_triangle)(ctx, factor)
    factor, failed = kernels.call_kernel(
        ctx, target, [x], [out, info], batch_rank, attributes, {0: 0}
    )
    factor = kernels.nan_where_failed(ctx, factor, failed, batch_rank)
    # The kernels leave the upper triangle unchanged.
    return traced(lower_triangle)(ctx, factor)


def _hermitian_of_lower(t: ir.Array) -> ir.Array:
    """The Hermitian matrices that have the lower triangles of ``t``."""
    aval = array_aval(t)
    if not ir.issubdtype(aval.dtype, np.complexfloating):
        return add(lower_triangle(t), matrix_transpose(lower_triangle(t, -1)))
    # The imaginary part of a Hermitian matrix is antisymmetric, which makes its diagonal zero: that
    # of ``t`` is ignored.
    x, y = real(t), imag(t)
    x = add(lower_triangle(x), matrix_transpose(lower_triangle(x, -1)))
    y = sub(lower_triangle(y, -1), matrix_transpose(lower_triangle(y, -1)))
    return complex(x, y)


def _cholesky_jvp(primals, tangents):
    (t,) = tangents
    # The factor depends on the lower triangle alone.
    t = _hermitian_of_lower(t)
    factor = lower_triangle(cholesky_p.bind(*primals))
    aval = array_aval(factor)
    # l⁻¹ t l⁻ᴴ is the sum of l⁻¹ dl, lower triangular, and its conjugate transpose.
    t = triangular_solve(factor, t, lower=True, transpose_a=True, conjugate_a=True)
    t = lower_triangle(triangular_solve(factor, t, left_side=True, lower=True))
    size = aval.shape[-1]
    # The diagonals of the two terms are equal and real, so that of l⁻¹ dl is half of the sum's:
    # dividing by 1 + I halves it (I. Murray, 2016, Differentiation of the Cholesky decomposition).
    both = add(scalar_like(t, 1), identity(size, size, aval.dtype))
    return factor, matmul(factor, div(converted(t, aval.dtype), in_batch(both, aval.ndim)))


cholesky_p: ir.Primitive = ir.define(
    "cholesky",
    sharding=ir.unsharded_matrices,
    abstract_eval=_cholesky_aval,
    jvp=_cholesky_jvp,
    transpose=not_linear,
    batch=leading_dims,
    lower=_cholesky_lower,
)


def _symmetrized(x: ir.ArrayLike) -> ir.Array:
    """``(x + xᴴ) / 2``, floating."""
    aval = array_aval(x)
    kernels.check_square("cholesky", aval)
    transposed = adjoint(x)
    is_bool = aval.dtype == np.bool_
    total = bitwise_or(x, transposed) if is_bool else add(x, transposed)
    if not ir.issubdtype(aval.dtype, np.inexact):
        total = converted(total, ir.python_scalar_dtype(float), is_bool or aval.weak_type)
    return div(total, scalar_like(total, 2))


def cholesky(x: ir.ArrayLike, *, symmetrize_input: bool = True) -> ir.Array:
    """The Cholesky factors of positive definite matrices: ``l`` with ``l lᴴ = x``.

    Args:
      x: matrices, of shape ``(..., n, n)`` and dtype float32, float64, complex64 or complex128.
      symmetrize_input: whether to use ``(x + xᴴ) / 2`` in place of ``x``, so that derivatives
        are symmetric; else the lower triangle alone is looked at. Integers are then converted.

    Returns:
      Lower triangular matrices of the shape and dtype of ``x``. Of a matrix that is not positive
      definite, the lower triangle is NaN.

    Raises:
      TypeError: if the dtype is another, ``x`` has fewer than two dimensions, or the matrices
        are not square while ``symmetrize_input``.
      ValueError: if the matrices are not square.

    Example:
      >>> import numpy as np
      >>> from ricci.lax import linalg
      >>> linalg.cholesky(np.array([[4, 2], [2, 5]], np.float32)).shape
      (2, 2)

    Source: LAPACK ``potrf``, StableHLO ``cholesky``.
    """
    return lower_triangle(cholesky_p.bind(_symmetrized(x) if symmetrize_input else x))


# cholesky_update


def _cholesky_update_aval(r: ir.ShapedArray, w: ir.ShapedArray) -> ir.ShapedArray:
    for name, aval, rank in (("r_matrix", r, 2), ("w_vector", w, 1)):
        if aval.dtype.name not in ("float32", "float64"):
            raise TypeError(
                f"cholesky_update: {name} must be float32 or float64, but it is "
                f"{aval.str_short()}. Convert it first."
            )
        if aval.ndim != rank:
            raise TypeError(
                f"cholesky_update: {name} must have rank {rank}, but it is {aval.str_short()}."
            )
    if r.dtype != w.dtype:
        raise TypeError(
            f"cholesky_update: the operands differ in dtype: {r.str_short()} and "
            f"{w.str_short()}. Convert one of them."
        )
    if r.shape != (w.size, w.size):
        raise ValueError(
            f"cholesky_update: r_matrix must be square and w_vector of its size, but their "
            f"shapes are {r.shape} and {w.shape}."
        )
    return ir.ShapedArray(r.shape, r.dtype, r.weak_type and w.weak_type)


def _rotation(x: ir.Array, y: ir.Array) -> tuple[ir.Array, ir.Array]:
    """The cosine and sine of the Givens rotation that turns ``(x, y)`` into ``(r, 0)``."""
    x_size, y_size = absolute(x), absolute(y)
    # Squares relative to the larger number neither overflow nor both underflow. Where both are zero
    # the quotients are NaN, but ``y == 0`` selects the trivial rotation.
    scale = select_n(gt(x_size, y_size), y_size, x_size)
    x_scaled, y_scaled = div(x, scale), div(y, scale)
    norm = sqrt(add(mul(x_scaled, x_scaled), mul(y_scaled, y_scaled)))
    inverse = div(scalar_like(x, 1), norm)
    zero, one = scalar_like(x, 0), scalar_like(x, 1)
    trivial = eq(y, zero)
    cosine = select_n(trivial, mul(x_scaled, inverse), one)
    return cosine, select_n(trivial, mul(neg(y_scaled), inverse), zero)


def _rotate_row(i: ir.ArrayLike, r: ir.ArrayLike, w: ir.Array) -> list[ir.Array]:
    # Rotating two rows of [r; wᵀ] leaves its square rᵀ r + w wᵀ unchanged. The rotation of row i
    # and w makes w[i] zero, and it stays so: later rows of r are zero at column i.
    row = at_index(r, i, 0)
    cosine, sine = _rotation(at_index(row, i, 0), at_index(w, i, 0))
    rotated = sub(mul(cosine, row), mul(sine, w))
    return [with_index(r, rotated, i, 0), add(mul(cosine, w), mul(sine, row))]


def _cholesky_update_lower(ctx: Lowering, r: Value, w: Value) -> Value:
    if ctx.platform == "cuda":
        return ctx.custom_call(
            kernels.gpu_kernel(ctx, "_cholesky_update"),
            [r, w],
            [ctx.out, w.aval],
            backend_config={},
            operand_layouts=[(1, 0), (0,)],
            result_layouts=[(1, 0), (0,)],
            output_operand_aliases={0: 0, 1: 1},
        )[0]
    if not w.aval.size:
        return r
    return write_loop(ctx, w.aval.size, _rotate_row, [r, w])[0]


cholesky_update_p: ir.Primitive = ir.define(
    "cholesky_update",
    sharding=ir.unsharded_matrices,
    abstract_eval=_cholesky_update_aval,
    jvp=ir.unsupported("updates have no derivative; factorise rᵀ r + w wᵀ with cholesky instead"),
    transpose=not_linear,
    batch=ir.unsupported("updates are of one matrix; factorise rᵀ r + w wᵀ with cholesky instead"),
    lower=_cholesky_update_lower,
)


def cholesky_update(r_matrix: ir.ArrayLike, w_vector: ir.ArrayLike) -> ir.Array:
    """The Cholesky factor after a matrix grew by the square of a vector.

    Args:
      r_matrix: an upper triangular matrix ``r``, of shape ``(n, n)``, float32 or float64.
      w_vector: a vector ``w`` of shape ``(n,)`` and the same dtype.

    Returns:
      The upper triangular matrix whose square ``qᵀ q`` is ``rᵀ r + w wᵀ``.

    Raises:
      TypeError: if the ranks are others, or the dtypes differ or are others.
      ValueError: if the sizes do not fit.
      NotImplementedError: for derivatives and batches.

    Example:
      >>> import numpy as np
      >>> from ricci.lax import linalg
      >>> linalg.cholesky_update(np.eye(2, dtype=np.float32), np.ones(2, np.float32)).shape
      (2, 2)

    Source: Golub and Van Loan, Matrix Computations, 6.5.4.
    """
    return cholesky_update_p.bind(r_matrix, w_vector)


def _symmetric_product_aval(
    a: ir.ShapedArray, c: ir.ShapedArray, *, alpha: float, beta: float
) -> ir.ShapedArray:
    for name, aval in (("a_matrix", a), ("c_matrix", c)):
        if aval.dtype.name not in ("float32", "float64"):
            raise TypeError(
                f"symmetric_product: {name} must be float32 or float64, but it is "
                f"{aval.str_short()}. Convert it first."
            )
        if aval.ndim < 2:
            raise TypeError(
                f"symmetric_product: {name} must have at least two dimensions (a matrix, or a "
                f"batch of them), but its shape is {aval.shape}."
            )
    if a.dtype != c.dtype or a.shape[:-2] != c.shape[:-2]:
        raise TypeError(
            f"symmetric_product: the operands must have one dtype and the same batch dimensions "
            f"(all but the last two), but they are {a.str_short()} and {c.str_short()}."
        )
    if c.shape[-2:] != (a.shape[-2], a.shape[-2]):
        raise ValueError(
            f"symmetric_product: with a_matrix of shape (m, n), c_matrix must be (m, m), but they "
            f"are {a.str_short()} and {c.str_short()}."
        )
    return ir.ShapedArray(c.shape, c.dtype, a.weak_type and c.weak_type)


def _product(a: ir.Array, c: ir.Array, *, alpha: float, beta: float) -> ir.Array:
    product = matmul(a, matrix_transpose(a))
    return add(mul(scalar_like(c, alpha), product), mul(scalar_like(c, beta), c))


def _symmetric_product_lower(
    ctx: Lowering, a: Value, c: Value, *, alpha: float, beta: float
) -> Value:
    if ctx.platform != "cuda":
        return traced(_product)(ctx, a, c, alpha=alpha, beta=beta)
    out = ctx.out
    number = ir.ShapedArray((), c.dtype)
    factors = [ctx.constant(alpha, number), ctx.constant(beta, number)]
    rows = tuple(range(c.aval.ndim - 1, -1, -1))
    return ctx.custom_call(
        kernels.gpu_kernel(ctx, "solver_syrk"),
        [a, c, *factors],
        [out],
        backend_config={"transpose": kernels.flag(False)},
        operand_layouts=[rows, rows, (), ()],
        result_layouts=[rows],
        output_operand_aliases={0: 1},
    )[0]


_NO_DERIVATIVE = "write alpha * a @ a.T + beta * c with matrix products to differentiate it"

symmetric_product_p: ir.Primitive = ir.define(
    "symmetric_product",
    sharding=ir.unsharded_matrices,
    abstract_eval=_symmetric_product_aval,
    jvp=ir.unsupported(_NO_DERIVATIVE),
    transpose=not_linear,
    batch=leading_dims,
    lower=_symmetric_product_lower,
)


def symmetric_product(
    a_matrix: ir.ArrayLike,
    c_matrix: ir.ArrayLike,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
    symmetrize_output: bool = False,
) -> ir.Array:
    """The products ``alpha a aᵀ + beta c``, where ``c`` is symmetric.

    Args:
      a_matrix: matrices ``a``, of shape ``(..., m, n)``, float32 or float64.
      c_matrix: symmetric matrices ``c``, of shape ``(..., m, m)`` and the same dtype.
      alpha, beta: Python numbers.
      symmetrize_output: whether the upper triangles are made of the lower ones; without that,
        only the lower ones are sure to be right.

    Returns:
      Matrices of the shape and dtype of ``c``.

    Raises:
      TypeError: if the dtypes differ or are others, or the batch dimensions differ.
      ValueError: if the matrices' sizes do not fit.
      NotImplementedError: for derivatives.

    Example:
      >>> import numpy as np
      >>> from ricci.lax import linalg
      >>> a, c = np.ones((2, 3), np.float32), np.eye(2, dtype=np.float32)
      >>> linalg.symmetric_product(a, c, alpha=2.0, beta=1.0).shape
      (2, 2)

    Source: BLAS ``syrk``.
    """
    result = symmetric_product_p.bind(a_matrix, c_matrix, alpha=alpha, beta=beta)
    if not symmetrize_output:
        return result
    upper = matrix_transpose(lower_triangle(result, -1))
    return add(lower_triangle(result), upper)
