"""Hermitian matrices reduced to real tridiagonal ones."""

import numpy as np

import ricci_ir as ir
from ricci_autodiff import not_linear
from ricci_batching import leading_dims
from ricci_lax.elementwise._factories import real_part
from ricci_lax.rules._law_examples import of_matrices, up_to_phase
from ricci_stablehlo import Lowering, Value

from ._kernels import (
    call_kernel,
    char,
    check_matrices,
    flag,
    gpu_kernel,
    is_gpu,
    lapack,
    nan_where_failed,
)


def _tridiagonal_aval(a: ir.ShapedArray, *, lower):
    check_matrices("tridiagonal", a, square=True)
    *batch, size, _ = a.shape
    if size == 0:
        raise ValueError(
            f"tridiagonal: the matrices must be square and not empty, but they are {a.str_short()}."
        )
    part = real_part(a.dtype)
    diagonal = a.update(shape=(*batch, size), dtype=part)
    beside = a.update(shape=(*batch, size - 1), dtype=part)
    return [a, diagonal, beside, a.update(shape=(*batch, size - 1))]


def _tridiagonal_lower(ctx: Lowering, a: Value, *, lower):
    outs, batch_rank = list(ctx.outs), len(a.shape) - 2
    if ctx.platform == "tpu":
        raise NotImplementedError(
            "tridiagonal: there is no such decomposition on TPU. Run it on CPU or GPU."
        )
    if is_gpu(ctx):
        target, attributes = gpu_kernel(ctx, "solver_sytrd"), {"lower": flag(lower)}
    else:
        target = lapack("hetrd" if a.dtype.kind == "c" else "sytrd", a.dtype)
        attributes = {"uplo": char("L" if lower else "U")}
    info = ir.ShapedArray(a.shape[:-2], np.dtype(np.int32))
    *results, failed = call_kernel(ctx, target, [a], [*outs, info], batch_rank, attributes, {0: 0})
    return [nan_where_failed(ctx, result, failed, batch_rank) for result in results]


tridiagonal_p: ir.Primitive = ir.define(
    "tridiagonal",
    sharding=ir.unsharded_matrices,
    abstract_eval=_tridiagonal_aval,
    multiple_results=True,
    jvp=ir.unsupported(
        "the reflectors and the tridiagonal matrix have no derivative rule; differentiate eigh"
    ),
    transpose=not_linear,
    batch=leading_dims,
    lower=_tridiagonal_lower,
    exempt={**of_matrices, **up_to_phase},
)


def tridiagonal(a: ir.ArrayLike, *, lower: bool = True) -> list[ir.Array]:
    """Reduce Hermitian matrices to real tridiagonal ones, ``T = Qᴴ a Q`` with Q unitary.

    Args:
      a: matrices of shape ``(..., n, n)``, float32, float64, complex64 or complex128.
      lower: whether the lower triangle is used, or the upper one.

    Returns:
      A list of four arrays: matrices of shape ``(..., n, n)`` with T's diagonals, and beyond
      them the reflectors whose product is Q; T's diagonal, real, of shape ``(..., n)``; the
      diagonal beside it, real, of shape ``(..., n - 1)``; the reflectors' factors, of shape
      ``(..., n - 1)``.

    Raises:
      TypeError: if the dtype has no kernels, or there are fewer than two dimensions.
      ValueError: if the matrices are not square, or empty.
      NotImplementedError: on TPU; or if a derivative is requested.

    Example:
      >>> import numpy as np
      >>> from ricci.lax import linalg
      >>> _, diagonal, beside, _ = linalg.tridiagonal(np.float32([[2, 1], [1, 2]]))
      >>> np.allclose(diagonal, 2), np.allclose(beside, 1)
      (True, True)

    Source: LAPACK ``sytrd`` and ``hetrd``.
    """
    return tridiagonal_p.bind(a, lower=bool(lower))
