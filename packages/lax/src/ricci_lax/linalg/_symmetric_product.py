"""Products of matrices with their transposes."""

import ricci_ir as ir
from ricci_autodiff import not_linear
from ricci_batching import leading_dims
from ricci_lax.elementwise._arithmetic import mul
from ricci_lax.elementwise._factories import scalar_like
from ricci_lax.elementwise._linear import add
from ricci_lax.rules._law_examples import of_matrices
from ricci_stablehlo import Lowering, Value, traced

from ._kernels import flag, gpu_kernel
from ._matrices import lower_triangle
from ._triangular_solve import matmul, matrix_transpose


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
        gpu_kernel(ctx, "solver_syrk"),
        [a, c, *factors],
        [out],
        backend_config={"transpose": flag(False)},
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
    exempt=of_matrices,
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
