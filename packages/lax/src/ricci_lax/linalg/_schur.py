"""The Schur decomposition of square matrices, and their reduction to Hessenberg form."""

from collections.abc import Callable

import numpy as np

import ricci_ir as ir
from ricci_autodiff import not_linear
from ricci_batching import leading_dims
from ricci_lax.elementwise._factories import real_part
from ricci_stablehlo import Lowering, Value

from ._kernels import call_kernel, char, check_matrices, lapack, nan_where_failed
from ._matrices import is_complex

__all__ = ["hessenberg", "hessenberg_p", "schur", "schur_p"]


def _on_cpu(ctx: Lowering, name: str) -> None:
    if ctx.platform != "cpu":
        raise NotImplementedError(
            f"{name}: {ctx.platform} is not supported, only CPU. Compute it on a CPU device."
        )


# schur


def _schur_aval(x: ir.ShapedArray, *, compute_schur_vectors, sort_eig_vals, select_callable):
    check_matrices("schur", x, square=True)
    if sort_eig_vals:
        raise NotImplementedError(
            "schur: sort_eig_vals is not supported, because the routine that sorts would have to "
            "call Python for each eigenvalue. Leave it out."
        )
    return [x, x] if compute_schur_vectors else [x]


def _schur_lower(ctx: Lowering, x: Value, *, compute_schur_vectors, **params):
    _on_cpu(ctx, "schur")
    batch_rank, matrix = len(x.shape) - 2, ctx.outs[0]
    # The kernel also returns the eigenvalues, those of real matrices as two parts, and the number
    # of those that were sorted to the front.
    values = ir.ShapedArray(x.shape[:-1], real_part(x.dtype))
    parts = [values.update(dtype=x.dtype)] if is_complex(x) else [values, values]
    number = ir.ShapedArray(x.shape[:-2], np.dtype(np.int32))
    outs = [matrix, matrix, *parts, number, number]
    attributes = {"mode": char("V" if compute_schur_vectors else "N"), "sort": char("N")}
    outputs = call_kernel(ctx, lapack("gees", x.dtype), [x], outs, batch_rank, attributes, {0: 0})
    results = outputs[: 1 + compute_schur_vectors]
    return [nan_where_failed(ctx, result, outputs[-1], batch_rank) for result in results]


_NO_SCHUR_JVP = (
    "the Schur form is not unique, so it has no derivative. Differentiate what depends on "
    "eigenvalues with eig"
)

schur_p: ir.Primitive = ir.define(
    "schur",
    sharding=ir.unsharded_matrices,
    abstract_eval=_schur_aval,
    multiple_results=True,
    memo=False,
    jvp=ir.unsupported(_NO_SCHUR_JVP),
    transpose=not_linear,
    batch=leading_dims,
    lower=_schur_lower,
)


def schur(
    x: ir.ArrayLike,
    *,
    compute_schur_vectors: bool = True,
    sort_eig_vals: bool = False,
    select_callable: Callable[..., ir.ArrayLike] | None = None,
) -> list[ir.Array]:
    """The Schur decomposition ``x == q t qᴴ`` of square matrices, with a unitary ``q``.

    Args:
      x: matrices of shape ``(…, n, n)``, float32, float64, complex64 or complex128.
      compute_schur_vectors: whether to return ``q``, too.
      sort_eig_vals: not supported.
      select_callable: which eigenvalues to sort to the front; of no effect without sorting.

    Returns:
      A list of ``t``, and of ``q`` if requested, like ``x``. Of complex matrices ``t`` is upper
      triangular; of real ones it has 2 by 2 blocks on its diagonal for pairs of complex
      eigenvalues. All NaN where the algorithm did not converge.

    Raises:
      TypeError: if the dtype is another one, or there are fewer than two dimensions.
      ValueError: if the matrices are not square.
      NotImplementedError: for sorting, for derivatives, and on other platforms than CPU.

    Example:
      >>> import numpy as np
      >>> from ricci.lax import linalg
      >>> t, q = linalg.schur(np.float32([[1, 2], [0, 3]]))
      >>> np.asarray(t).round(2).tolist()
      [[1.0, 2.0], [0.0, 3.0]]

    Source: LAPACK ``gees``.
    """
    return schur_p.bind(
        x,
        compute_schur_vectors=bool(compute_schur_vectors),
        sort_eig_vals=bool(sort_eig_vals),
        select_callable=select_callable,
    )


# hessenberg


def _hessenberg_aval(x: ir.ShapedArray) -> list[ir.ShapedArray]:
    check_matrices("hessenberg", x, square=True)
    *batch, size, _ = x.shape
    return [x, x.resized((*batch, max(size - 1, 0)))]


def _hessenberg_lower(ctx: Lowering, x: Value) -> list[Value]:
    _on_cpu(ctx, "hessenberg")
    matrix, factors = ctx.outs
    batch_rank, size = len(x.shape) - 2, x.shape[-1]
    if not size:
        return [x, ctx.constant(np.zeros(factors.shape, factors.dtype), factors)]
    outs = [matrix, factors, ir.ShapedArray(x.shape[:-2], np.dtype(np.int32))]
    if ir.is_symbolic_dim(size):
        raise NotImplementedError(
            f"hessenberg: LAPACK's kernel needs the size of the matrices when it is compiled, "
            f"and {size} is known only when the program runs. Make this dimension static."
        )
    attributes = {"high": f"{size} : i32", "low": "1 : i32"}
    *results, failed = call_kernel(
        ctx, lapack("gehrd", x.dtype), [x], outs, batch_rank, attributes, {0: 0}
    )
    return [nan_where_failed(ctx, result, failed, batch_rank) for result in results]


_NO_HESSENBERG_JVP = (
    "the Hessenberg form is not unique, so it has no derivative. Differentiate what is invariant, "
    "eigenvalues say, with eig"
)

hessenberg_p: ir.Primitive = ir.define(
    "hessenberg",
    sharding=ir.unsharded_matrices,
    abstract_eval=_hessenberg_aval,
    multiple_results=True,
    jvp=ir.unsupported(_NO_HESSENBERG_JVP),
    transpose=not_linear,
    batch=leading_dims,
    lower=_hessenberg_lower,
)


def hessenberg(a: ir.ArrayLike) -> list[ir.Array]:
    """Reduce square matrices to Hessenberg form, ``a == q h qᴴ``, with a unitary ``q``.

    Args:
      a: matrices of shape ``(…, n, n)``, float32, float64, complex64 or complex128.

    Returns:
      A list of two arrays. The first, like ``a``, has ``h`` on and above its first subdiagonal;
      below are, in column ``i`` from row ``i + 2``, the elements of the vector ``vᵢ`` after its
      first ``i + 1`` zeros and a 1. The second has the ``τᵢ``, of shape ``(…, n - 1)``. With
      these ``q`` is the product of ``I - τᵢ vᵢ vᵢᴴ``, as ``householder_product`` computes it.

    Raises:
      TypeError: if the dtype is another one, or there are fewer than two dimensions.
      ValueError: if the matrices are not square.
      NotImplementedError: for derivatives, and on other platforms than CPU.

    Example:
      >>> import numpy as np
      >>> from ricci.lax import linalg
      >>> h, taus = linalg.hessenberg(np.eye(3, dtype=np.float32))
      >>> h.shape, taus.shape
      ((3, 3), (2,))

    Source: LAPACK ``gehrd``.
    """
    return hessenberg_p.bind(a)
