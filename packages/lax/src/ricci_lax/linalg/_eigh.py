"""Eigenvalues and eigenvectors of Hermitian matrices."""

import enum

import numpy as np

import ricci_ir as ir
from ricci_autodiff import not_linear
from ricci_batching import leading_dims
from ricci_lax.contractions._precision import Precision
from ricci_lax.elementwise import add, bitwise_or, div
from ricci_lax.elementwise._conversion import converted
from ricci_lax.elementwise._factories import real_part, scalar, scalar_like
from ricci_lax.shapes._slicing import slice_in_dim
from ricci_lax.structure._operand_types import array_aval, shape_of
from ricci_stablehlo import Lowering, Value, traced

from . import _kernels as kernels
from ._matrices import adjoint, dtype_of, product
from ._rotations import inverse_gaps, rotation

__all__ = ["EighImplementation", "eigh", "eigh_p"]


@ir.exported
class EighImplementation(enum.Enum):
    """An algorithm for the eigenvalues of Hermitian matrices.

    ``QR`` is for CPU and GPU, ``JACOBI`` for GPU and TPU, ``QDWH`` for TPU.
    """

    QR = "qr"
    JACOBI = "jacobi"
    QDWH = "qdwh"


def check_subset(name: str, subset: tuple[int, int] | None) -> None:
    """Check that a range of indices has a start and an end, in order.

    Raises:
      ValueError: if it does not.
    """
    if subset is not None and not (len(subset) == 2 and subset[0] <= subset[1]):
        raise ValueError(
            f"{name}: subset_by_index={subset} is not a range of indices. Give (start, end), with "
            "0 <= start < end."
        )


def is_partial(subset: tuple[int, int] | None, size: int) -> bool:
    """Whether a range of indices is not the whole."""
    return subset is not None and tuple(subset) != (0, size)


def check_in_bounds(name: str, subset: tuple[int, int], size: int) -> None:
    """Check that a range of indices is not empty, and lies within ``size``.

    Raises:
      ValueError: if it is not so.
    """
    if not 0 <= subset[0] < subset[1] <= size:
        raise ValueError(
            f"{name}: subset_by_index={subset} is empty, or not within the {size} values there "
            "are. Give (start, end), with 0 <= start < end."
        )


def _eigh_aval(x: ir.ShapedArray, *, lower, sort_eigenvalues, subset_by_index, algorithm):
    kernels.check_square("eigh", x)
    kernels.check_matrices("eigh", x)
    check_subset("eigh", subset_by_index)
    *batch, size, _ = x.shape
    count = size if subset_by_index is None else subset_by_index[1] - subset_by_index[0]
    values = x.resized((*batch, count), dtype=real_part(x.dtype))
    return [x.resized((*batch, size, count)), values]


_GPU_ALGORITHMS = {None: 0, EighImplementation.QR: 1, EighImplementation.JACOBI: 2}
_WHERE = {
    EighImplementation.QR: ("cpu", "cuda", "rocm"),
    EighImplementation.JACOBI: ("cuda", "rocm", "tpu"),
    EighImplementation.QDWH: ("tpu",),
}


def _eigh_lower(ctx: Lowering, x: Value, *, lower, sort_eigenvalues, subset_by_index, algorithm):
    outs, size, batch_rank = list(ctx.outs), x.shape[-1], len(x.shape) - 2
    if algorithm is not None and ctx.platform not in _WHERE[algorithm]:
        raise NotImplementedError(
            f"eigh: {algorithm} does not exist on {ctx.platform}, only on "
            f"{', '.join(_WHERE[algorithm])}. Leave implementation out for the platform's own."
        )
    if ctx.platform == "tpu":
        return _eigh_on_tpu(ctx, x, lower, sort_eigenvalues, subset_by_index)
    if is_partial(subset_by_index, size):
        raise NotImplementedError(
            f"eigh: subset_by_index={subset_by_index} is not supported on {ctx.platform}, only on "
            "TPU. Leave it out and take part of the results."
        )
    info = ir.ShapedArray(x.shape[:-2], np.dtype(np.int32))
    if kernels.is_gpu(ctx):
        target = kernels.gpu_kernel(ctx, "solver_syevd")
        attributes = {
            "algorithm": f"{_GPU_ALGORITHMS[algorithm]} : ui8",
            "lower": kernels.flag(lower),
        }
    else:
        target = kernels.lapack("heevd" if x.dtype.kind == "c" else "syevd", x.dtype)
        attributes = {"mode": kernels.char("V"), "uplo": kernels.char("L" if lower else "U")}
    *results, failed = kernels.call_kernel(
        ctx, target, [x], [*outs, info], batch_rank, attributes, {0: 0}
    )
    return [kernels.nan_where_failed(ctx, result, failed, batch_rank) for result in results]


def _eigh_on_tpu(
    ctx: Lowering, x: Value, lower: bool, sort: bool, subset: tuple[int, int] | None
) -> list[Value]:
    """The compiler's own algorithm, Jacobi's, for all sizes."""
    *batch, size, _ = x.shape
    if size == 0:
        values = ir.ShapedArray((*batch, 0), real_part(x.dtype))
        return [x, ctx.constant(np.zeros(values.shape, values.dtype), values)]
    outs = [x.aval, ir.ShapedArray((*batch, size), real_part(x.dtype))]
    # Lower triangle; ordered; sweeps at most; relative tolerance.
    config = f'backend_config = "{lower:d},{sort:d},100,1e-6"'
    results = ctx.custom_call("Eigh", [x], outs, api_version=1, extra=config)
    if subset is None or not is_partial(subset, size):
        return results
    check_in_bounds("eigh", subset, size)
    cut = lambda x: slice_in_dim(x, *subset, axis=len(shape_of(x)) - 1)
    return [traced(cut)(ctx, result) for result in results]


def _half_sum_with_adjoint(x: ir.ArrayLike) -> ir.Array:
    total = add(x, adjoint(x))
    return div(total, scalar_like(total, 2))


def _eigh_jvp(primals, tangents, *, lower, sort_eigenvalues, subset_by_index, algorithm):
    """From ``Aᴴ = A`` and ``A V = V diag(w)``: ``dw`` is the diagonal of ``Vᴴ dA V``, and ``Vᴴ dV``
    its other elements divided by differences of eigenvalues.
    """
    (x,), (dx,) = primals, tangents
    params = {"sort_eigenvalues": sort_eigenvalues, "subset_by_index": subset_by_index}
    params |= {"lower": lower, "algorithm": algorithm}
    size = shape_of(x)[-1]
    if is_partial(subset_by_index, size):
        raise NotImplementedError(
            f"eigh: the derivative depends on all {size} eigenvectors, and is not implemented for "
            f"subset_by_index={subset_by_index}, a part of them. Leave it out and take part of the "
            "results."
        )
    # The kernel reads one triangle. The derivative is that of the decomposition of a Hermitian
    # matrix, in which the other triangle follows.
    v, w = eigh_p.bind(_half_sum_with_adjoint(x), **params)
    matmul = lambda a, b: product(a, b, precision=Precision.HIGHEST)
    # The diagonal of Vᴴ dV, imaginary, is a change of phase that the equations leave free; it is
    # zero here.
    dw, turn = rotation(matmul(matmul(adjoint(v), dx), v), inverse_gaps(w))
    dv = matmul(v, turn)
    return [v, w], [dv, dw]


eigh_p: ir.Primitive = ir.define(
    "eigh",
    sharding=ir.unsharded_matrices,
    abstract_eval=_eigh_aval,
    multiple_results=True,
    jvp=_eigh_jvp,
    transpose=not_linear,
    batch=leading_dims,
    lower=_eigh_lower,
)


def _symmetrized(x: ir.ArrayLike) -> ir.Array:
    """The mean of matrices and their adjoints, in a floating dtype."""
    aval = array_aval(x)
    kernels.check_square("eigh", aval)
    if ir.issubdtype(aval.dtype, np.inexact):
        return _half_sum_with_adjoint(x)
    # The sum of booleans is their disjunction, as in NumPy.
    if aval.dtype == np.bool_:
        total = converted(bitwise_or(x, adjoint(x)), ir.canonicalize_dtype(np.float64), True)
    else:
        wide = np.dtype(np.float64 if aval.dtype.itemsize == 8 else np.float32)
        total = converted(add(x, adjoint(x)), wide)
    return div(total, scalar(2, dtype_of(total)))


def eigh(
    x: ir.ArrayLike,
    *,
    lower: bool = True,
    symmetrize_input: bool = True,
    sort_eigenvalues: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    implementation: EighImplementation | None = None,
) -> tuple[ir.Array, ir.Array]:
    """The eigenvectors and eigenvalues of Hermitian matrices, ``x v = v diag(w)``.

    Args:
      x: matrices of shape ``(..., n, n)``, float32, float64, complex64 or complex128.
      lower: whether the lower triangle is used, or the upper one.
      symmetrize_input: whether to use the mean of ``x`` and its adjoint.
      sort_eigenvalues: whether they must be in ascending order; on CPU and GPU they always are.
      subset_by_index: which eigenvalues to compute, of the ordered ones: from a start up to an end,
        which is excluded. Only on TPU, if it is not all of them.
      implementation: the algorithm, by default the platform's own.

    Returns:
      v of shape ``(..., n, n)``, whose columns are the eigenvectors, and w of shape ``(..., n)``
      and a real dtype. NaN where the algorithm did not converge.

    Raises:
      TypeError: if the dtype has no kernels, or there are fewer than two dimensions; if the
        matrices are to be symmetrized and are not square.
      ValueError: if the matrices are not square, or the subset is not a range.
      NotImplementedError: if the platform has no such algorithm or cannot compute a part; if the
        derivative of a part is requested.

    Where eigenvalues are equal up to rounding, gradients of functions of ``v f(w) vᴴ`` are those of
    the matrix function, for ``f`` not zero there. Tangents of vectors are NaN where the tangent of
    ``x`` rotates those of equal values, as are gradients of what depends on their choice.

    Example:
      >>> import numpy as np
      >>> from ricci.lax import linalg
      >>> v, w = linalg.eigh(np.float32([[2, 1], [1, 2]]))
      >>> np.allclose(w, [1, 3])
      True

    Source: LAPACK ``syevd`` and ``heevd``.
    """
    if implementation is not None:
        implementation = EighImplementation(implementation)
    if symmetrize_input:
        x = _symmetrized(x)
    v, w = eigh_p.bind(
        x,
        lower=bool(lower),
        sort_eigenvalues=bool(sort_eigenvalues),
        subset_by_index=None if subset_by_index is None else tuple(subset_by_index),
        algorithm=implementation,
    )
    return v, w
