"""Eigenvalues and eigenvectors of square matrices without symmetry."""

import enum

import numpy as np

import ricci_ir as ir
from ricci_autodiff import Zero, not_linear
from ricci_batching import leading_dims
from ricci_lax.contractions._precision import Precision
from ricci_lax.elementwise import (
    abs,
    add,
    complex,
    conj,
    div,
    eq,
    imag,
    mul,
    ne,
    neg,
    rem,
    select_n,
)
from ricci_lax.elementwise import real as real_of
from ricci_lax.elementwise._conversion import converted
from ricci_lax.elementwise._factories import complex_of, filled_like, real_part, scalar_like
from ricci_lax.elementwise._linear import write_complex
from ricci_lax.reductions._arg_extrema import argmax
from ricci_lax.reductions._cumulative import cumsum
from ricci_lax.shapes import pad
from ricci_lax.structure import broadcast_in_dim, broadcasted_iota, reduce_sum, transpose
from ricci_lax.structure._operand_types import array_aval, shape_of
from ricci_stablehlo import Lowering, Value, traced

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
from ._lu import solve
from ._matrices import adjoint, diagonal, is_complex, product
from ._rotations import inverse_gaps, off_diagonal, quotient

__all__ = ["EigImplementation", "eig", "eig_p"]


@ir.exported
class EigImplementation(enum.Enum):
    """The implementation that computes eigenvalues.

    ``LAPACK`` is for CPU, and works from GPU as well; ``MAGMA`` is for GPU; ``CUSOLVER``, without
    left eigenvectors, is for NVIDIA GPUs.
    """

    CUSOLVER = "cusolver"
    MAGMA = "magma"
    LAPACK = "lapack"


_MAGMA = {None: None, EigImplementation.MAGMA: "on", EigImplementation.LAPACK: "off"}


def _eig_aval(
    x: ir.ShapedArray,
    *,
    compute_left_eigenvectors,
    compute_right_eigenvectors,
    enable_eigvec_derivs,
    implementation,
):
    check_matrices("eig", x, square=True)
    dtype = complex_of(x.dtype)
    vectors = compute_left_eigenvectors + compute_right_eigenvectors
    return [x.resized(x.shape[:-1], dtype=dtype), *[x.update(dtype=dtype)] * vectors]


def _eig_lower(
    ctx: Lowering,
    x: Value,
    *,
    compute_left_eigenvectors,
    compute_right_eigenvectors,
    implementation,
    **params,
):
    values, matrix = ctx.outs[0], ir.ShapedArray(x.shape, complex_of(x.dtype))
    batch_rank, is_real = len(x.shape) - 2, not is_complex(x)
    chosen = [compute_left_eigenvectors, compute_right_eigenvectors]
    by_cusolver = ctx.platform == "cuda" and not compute_left_eigenvectors
    if implementation is EigImplementation.CUSOLVER and is_gpu(ctx) and not by_cusolver:
        raise NotImplementedError(
            "eig: cuSOLVER computes no left eigenvectors, and is for NVIDIA GPUs only. Pass "
            "compute_left_eigenvectors=False, or leave implementation out."
        )
    if by_cusolver and implementation in (None, EigImplementation.CUSOLVER):
        return _eig_by_cusolver(ctx, x, compute_right_eigenvectors)
    if is_gpu(ctx):
        target = gpu_kernel(ctx, f"hybrid_eig_{'real' if is_real else 'comp'}", suffix="")
        left, right = map(flag, chosen)
        magma = _MAGMA[implementation] or ir.config.jax_use_magma
        attributes = {"left": left, "magma": f'"{magma}"', "right": right}
    elif ctx.platform == "cpu":
        if implementation not in (None, EigImplementation.LAPACK):
            raise ValueError(
                f"eig: {implementation} is for GPUs; on CPU it is LAPACK that computes "
                "eigenvalues. Leave implementation out."
            )
        target = lapack("geev", x.dtype)
        left, right = (char("V" if compute else "N") for compute in chosen)
        attributes = {"compute_left": left, "compute_right": right}
    else:
        raise NotImplementedError(
            f"eig: {ctx.platform} is not supported, only CPU and GPU. Compute on "
            "another device, or use eigh if the matrices are Hermitian."
        )
    # For real matrices the kernels return the real and the imaginary parts of eigenvalues
    # separately.
    parts = [values.update(dtype=real_part(values.dtype))] * 2 if is_real else [values]
    info = ir.ShapedArray(x.shape[:-2], np.dtype(np.int32))
    outs = [*parts, matrix, matrix, info]
    *values_parts, left, right, failed = call_kernel(ctx, target, [x], outs, batch_rank, attributes)
    first = (
        write_complex(ctx, values_parts[0], values_parts[1], values) if is_real else values_parts[0]
    )
    results = [first, *(v for v, compute in zip((left, right), chosen, strict=True) if compute)]
    return [nan_where_failed(ctx, result, failed, batch_rank) for result in results]


def _eig_by_cusolver(ctx: Lowering, x: Value, right: bool) -> list[Value]:
    matrix, values = ir.ShapedArray(x.shape, x.dtype), ctx.outs[0]
    info = ir.ShapedArray(x.shape[:-2], np.dtype(np.int32))
    attributes = {"left": flag(False), "right": flag(right)}
    batch_rank = len(x.shape) - 2
    outs = [matrix, values, matrix, matrix, info]
    # The first result is where the kernel overwrites the matrix.
    _, w, _, vectors, failed = call_kernel(
        ctx, "cusolver_geev_ffi", [x], outs, batch_rank, attributes
    )
    results = [w]
    if right:
        results.append(vectors if is_complex(x) else traced(_paired_vectors)(ctx, w, vectors))
    return [nan_where_failed(ctx, result, failed, batch_rank) for result in results]


def _paired_vectors(values: ir.Array, vectors: ir.Array) -> ir.Array:
    """The eigenvectors of real matrices, of which a pair shares two columns as in LAPACK.

    Two conjugate eigenvalues follow each other. The real parts of both vectors are in the first
    one's column, the imaginary parts of the first vector in the other's.
    """
    shape = shape_of(vectors)
    rank = len(shape)
    spread = lambda x: broadcast_in_dim(x, shape, (*range(rank - 2), rank - 1))
    zero, unmoved = scalar_like(vectors, 0), [(0, 0, 0)] * (rank - 1)
    shifted = lambda by: pad(vectors, zero, [*unmoved, (by, -by, 0)])
    parts = imag(values)
    is_paired = ne(parts, scalar_like(parts, 0))
    position = cumsum(converted(is_paired, np.dtype(np.int32)), rank - 2)
    is_first = eq(rem(position, scalar_like(position, 2)), scalar_like(position, 1))
    paired, first = spread(is_paired), spread(is_first)
    real = select_n(first, shifted(1), vectors)
    imaginary = select_n(first, neg(vectors), shifted(-1))
    return complex(
        select_n(paired, vectors, real), select_n(paired, filled_like(vectors, 0), imaginary)
    )


def _vectors_jvp(
    values: ir.ArrayLike, vectors: ir.ArrayLike, t: ir.ArrayLike
) -> tuple[ir.Array, ir.Array]:
    """The tangents of eigenvalues and eigenvectors, from a tangent of the matrices.

    By ``A V = V diag(w)``, the diagonal of ``V⁻¹ dA V`` is ``dw``. Its other elements, each divided
    by ``w[j] - w[i]``, are those of ``V⁻¹ dV``, whose diagonal depends on how vectors are scaled.
    """
    relative = product(solve(vectors, t), vectors, precision=Precision.HIGHEST)
    values_dot = diagonal(relative)
    turn = quotient(off_diagonal(relative), inverse_gaps(values))
    change = product(vectors, turn, precision=Precision.HIGHEST)
    return values_dot, add(change, mul(vectors, _scaling(vectors, change)))


def _scaling(vectors: ir.ArrayLike, change: ir.ArrayLike) -> ir.Array:
    """The multiples of each vector to add: norms stay 1, and the largest element stays real."""
    aval = array_aval(vectors)
    rank, rows = aval.ndim, aval.ndim - 2
    total = lambda x: reduce_sum(x, (rows,))
    spread = lambda x: broadcast_in_dim(
        x, (*aval.shape[:-2], 1, aval.shape[-1]), (*range(rank - 2), rank - 1)
    )
    # LAPACK normalises eigenvectors to Euclidean norm 1 with a real largest element. An eigenvector
    # v is determined up to a factor; its tangent up to a multiple of v, which these two conditions
    # fix.
    largest = argmax(abs(vectors), rows, np.int32)
    places = broadcasted_iota(np.dtype(np.int32), aval.shape, rows)
    chosen = converted(eq(places, spread(largest)), aval.dtype)
    growth = neg(real_of(total(mul(conj(vectors), change))))
    turn = neg(imag(total(mul(chosen, change))))
    angle = div(turn, real_of(total(mul(chosen, vectors))))
    return spread(complex(growth, angle))


def _eig_jvp(primals, tangents, *, compute_left_eigenvectors, compute_right_eigenvectors, **params):
    (x,), (t,) = primals, tangents
    left, right = compute_left_eigenvectors, compute_right_eigenvectors
    bind = lambda left, right: eig_p.bind(
        x, compute_left_eigenvectors=left, compute_right_eigenvectors=right, **params
    )
    aval = array_aval(x)
    if not aval.size:
        results = bind(left, right)
        return results, [Zero.from_primal(r) for r in results]
    if (left or right) and not params["enable_eigvec_derivs"]:
        raise NotImplementedError(
            "eig: eigenvectors have a derivative only where the eigenvalues are distinct, which "
            "is not checked, and for their scaling, which functions of them should not depend "
            "on. Pass enable_eigvec_derivs=True if that holds, or ask for eigenvalues alone "
            "(compute_left_eigenvectors=False, compute_right_eigenvectors=False)."
        )
    values, *vectors = bind(left, True)
    t = converted(t, complex_of(aval.dtype))
    if right:
        dots = list(_vectors_jvp(values, vectors[-1], t))
    else:
        # Only the diagonal of V⁻¹ dA V is needed, which takes no second matrix product.
        both = mul(solve(vectors[-1], t), _transposed(vectors[-1]))
        dots = [reduce_sum(both, (len(shape_of(both)) - 1,))]
    if left:
        # The left eigenvectors are the right ones of the adjoint.
        dots.insert(1, _vectors_jvp(conj(values), vectors[0], adjoint(t))[1])
    return [values, *vectors[: left + right]], dots


def _transposed(x: ir.Array) -> ir.Array:
    rank = len(shape_of(x))
    return transpose(x, (*range(rank - 2), rank - 1, rank - 2))


eig_p: ir.Primitive = ir.define(
    "eig",
    sharding=ir.unsharded_matrices,
    abstract_eval=_eig_aval,
    multiple_results=True,
    jvp=_eig_jvp,
    transpose=not_linear,
    batch=leading_dims,
    lower=_eig_lower,
)


def eig(
    x: ir.ArrayLike,
    *,
    compute_left_eigenvectors: bool = True,
    compute_right_eigenvectors: bool = True,
    enable_eigvec_derivs: bool = False,
    implementation: EigImplementation | None = None,
    use_magma: bool | None = None,
) -> list[ir.Array]:
    """The eigenvalues of square matrices, and their left and right eigenvectors.

    Args:
      x: matrices of shape ``(…, n, n)``, float32, float64, complex64 or complex128.
      compute_left_eigenvectors: whether to return ``u`` with ``uᴴ x == diag(w) uᴴ``.
      compute_right_eigenvectors: whether to return ``v`` with ``x v == v diag(w)``.
      enable_eigvec_derivs: whether eigenvectors may be differentiated. Their derivatives are
        right only where the eigenvalues are distinct, and for the scaling that they have here:
        each of norm 1, its largest element real.
      implementation: the implementation to use; by default the platform's.
      use_magma: deprecated: ``True`` is ``EigImplementation.MAGMA``, ``False`` is ``LAPACK``.

    Returns:
      A list of complex arrays: the eigenvalues ``w``, of shape ``(…, n)`` and in no order; then
      ``u`` and ``v``, of shape ``(…, n, n)``, vectors in columns, if requested. All NaN
      where the algorithm did not converge.

    Raises:
      TypeError: if the dtype is another one, or there are fewer than two dimensions.
      ValueError: if the matrices are not square, or the platform lacks the implementation.
      NotImplementedError: on TPU; for derivatives of eigenvectors that were not enabled.

    Example:
      >>> import numpy as np
      >>> from ricci.lax import linalg
      >>> w, v = linalg.eig(np.diag(np.float32([2, 3])), compute_left_eigenvectors=False)
      >>> w.shape, v.shape
      ((2,), (2, 2))

    Source: LAPACK ``geev``; Giles, "An extended collection of matrix derivative results for
    forward and reverse mode algorithmic differentiation", 2008, 3.1.
    """
    if use_magma is not None:
        ir.warn_user(
            "eig: use_magma is deprecated; give implementation=EigImplementation.MAGMA or LAPACK",
            DeprecationWarning,
        )
        implementation = EigImplementation.MAGMA if use_magma else EigImplementation.LAPACK
    if implementation is not None and not isinstance(implementation, EigImplementation):
        raise ValueError(
            f"eig: implementation={implementation!r} is not an EigImplementation; those are "
            f"{', '.join(i.name for i in EigImplementation)}."
        )
    return eig_p.bind(
        x,
        compute_left_eigenvectors=bool(compute_left_eigenvectors),
        compute_right_eigenvectors=bool(compute_right_eigenvectors),
        enable_eigvec_derivs=bool(enable_eigvec_derivs),
        implementation=implementation,
    )
