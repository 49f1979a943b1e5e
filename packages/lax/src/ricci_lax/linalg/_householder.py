"""Householder reflectors: LAPACK's forms of the QR decomposition, and products with them."""

import numpy as np

import ricci_ir as ir
from ricci_autodiff import Zero, is_undefined_primal, not_linear
from ricci_batching import leading_dims
from ricci_ir import Array, ArrayLike, Primitive, ShapedArray
from ricci_lax.contractions._precision import Precision
from ricci_lax.elementwise import conj
from ricci_lax.elementwise._factories import scalar
from ricci_lax.shapes import pad
from ricci_lax.structure._operand_types import check_same_dtype, shape_of
from ricci_stablehlo import Lowering, Value, traced

from ._kernels import call_kernel, check_matrices, flag, gpu_kernel, is_gpu, lapack, matrix_dtype
from ._matrices import adjoint, dtype_of, is_complex, part, product

__all__ = ["householder_product", "householder_product_p", "ormqr", "ormqr_p"]

INT32 = np.dtype(np.int32)
_NO_DERIVATIVE = ir.unsupported(
    "the reflectors of a decomposition are its internal form, and have no derivative rule; "
    "differentiate qr, or the product of explicit matrices"
)


def vectors(x: ShapedArray, size: int, dtype: np.dtype | None = None) -> ShapedArray:
    """The type of one vector for each matrix of a batch."""
    return x.resized((*x.shape[:-2], size), dtype=x.dtype if dtype is None else dtype)


def widened(x: ArrayLike, columns: int) -> Array:
    """Matrices with further columns of zeros."""
    rank = len(shape_of(x))
    more = columns - shape_of(x)[-1]
    return pad(x, scalar(0, dtype_of(x)), [*((0, 0, 0),) * (rank - 1), (0, more, 0)])


def _unitary(routine: str, dtype: np.dtype) -> str:
    """LAPACK's name of a routine on orthogonal matrices (``or…``) or unitary ones (``un…``)."""
    return lapack(("un" if dtype.kind == "c" else "or") + routine, dtype)


# geqrf: the matrix R above the diagonal, and below it the reflectors' vectors without their ones.


def _geqrf_aval(x: ShapedArray):
    check_matrices("geqrf", x)
    return [x, vectors(x, ir.min_dim(*x.shape[-2:]))]


def _geqrf_lower(ctx: Lowering, x: Value):
    outs, batch_rank = list(ctx.outs), len(x.shape) - 2
    if ctx.platform == "tpu":
        return ctx.custom_call("Qr", [x], outs, api_version=1)
    target = gpu_kernel(ctx, "solver_geqrf") if is_gpu(ctx) else lapack("geqrf", x.dtype)
    return call_kernel(ctx, target, [x], outs, batch_rank, {}, {0: 0})


geqrf_p: Primitive = ir.define(
    "geqrf",
    sharding=ir.unsharded_matrices,
    abstract_eval=_geqrf_aval,
    multiple_results=True,
    jvp=_NO_DERIVATIVE,
    transpose=not_linear,
    batch=leading_dims,
    lower=_geqrf_lower,
)

# geqp3: the same with columns exchanged; where to, counted from 1, is the second result.


def _geqp3_aval(x: ShapedArray, pivots: ShapedArray, *, use_magma):
    check_matrices("geqp3", x)
    expected = vectors(x, x.shape[-1], INT32)
    if (pivots.shape, pivots.dtype) != (expected.shape, expected.dtype):
        raise TypeError(
            f"geqp3: for matrices {x.str_short()} the pivots must be {expected.str_short()}, but "
            f"they are {pivots.str_short()}."
        )
    return [x, pivots, vectors(x, ir.min_dim(*x.shape[-2:]))]


_MAGMA = {None: None, True: "on", False: "off"}


def _geqp3_lower(ctx: Lowering, x: Value, pivots: Value, *, use_magma):
    outs, batch_rank = list(ctx.outs), len(x.shape) - 2
    if ctx.platform == "tpu":
        raise NotImplementedError(
            "geqp3: QR decomposition with pivoting is not supported on TPU. Use pivoting=False, or "
            "run it on CPU or GPU."
        )
    if is_gpu(ctx):
        target = gpu_kernel(ctx, "hybrid_geqp3").removesuffix("_ffi")
        attributes = {"magma": f'"{_MAGMA[use_magma] or ir.config.jax_use_magma}"'}
    else:
        target, attributes = lapack("geqp3", x.dtype), {}
    return call_kernel(ctx, target, [x, pivots], outs, batch_rank, attributes, {0: 0, 1: 1})


geqp3_p: Primitive = ir.define(
    "geqp3",
    sharding=ir.unsharded_matrices,
    abstract_eval=_geqp3_aval,
    multiple_results=True,
    jvp=_NO_DERIVATIVE,
    transpose=not_linear,
    batch=leading_dims,
    lower=_geqp3_lower,
)

# householder_product, ormqr: reflectors made into a matrix, or applied to one.


def _check_reflectors(name: str, a: ShapedArray, taus: ShapedArray, *others: ShapedArray) -> None:
    check_matrices(name, a)
    matrix_dtype(name, taus)
    for other in others:
        check_matrices(name, other)
    check_same_dtype(name, a, taus, *others)
    batch = a.shape[:-2]
    types = ", ".join(x.str_short() for x in (a, taus, *others))
    batches = [taus.shape[:-1] if taus.shape else None, *(x.shape[:-2] for x in others)]
    if any(b is None or len(b) != len(batch) for b in batches):
        raise TypeError(
            f"{name}: the operands {types} differ in their number of batch dimensions (all but "
            "the last two of matrices, all but the last of taus)."
        )
    if any(b != batch for b in batches):
        raise ValueError(f"{name}: the batch dimensions of the operands {types} differ in size.")
    if taus.shape[-1] > ir.min_dim(*a.shape[-2:]):
        raise ValueError(
            f"{name}: taus has {taus.shape[-1]} reflectors, but the matrices {a.str_short()} hold "
            f"at most {ir.min_dim(*a.shape[-2:])}, the lesser of their sizes."
        )


def _householder_product_aval(a: ShapedArray, taus: ShapedArray) -> ShapedArray:
    _check_reflectors("householder_product", a, taus)
    if a.shape[-2] < a.shape[-1]:
        raise ValueError(
            "householder_product: the matrices must have at least as many rows as columns, but "
            f"they are {a.str_short()}."
        )
    return a.update(weak_type=a.weak_type and taus.weak_type)


def _householder_product_lower(ctx: Lowering, a: Value, taus: Value) -> Value:
    outs, batch_rank = list(ctx.outs), len(a.shape) - 2
    if ctx.platform == "tpu":
        target = "ProductOfElementaryHouseholderReflectors"
        return ctx.custom_call(target, [a, taus], outs, api_version=1)[0]
    target = gpu_kernel(ctx, "solver_orgqr") if is_gpu(ctx) else _unitary("gqr", a.dtype)
    return call_kernel(ctx, target, [a, taus], outs, batch_rank, {}, {0: 0})[0]


householder_product_p: Primitive = ir.define(
    "householder_product",
    sharding=ir.unsharded_matrices,
    abstract_eval=_householder_product_aval,
    jvp=_NO_DERIVATIVE,
    transpose=not_linear,
    batch=leading_dims,
    lower=_householder_product_lower,
)


def householder_product(a: ArrayLike, taus: ArrayLike) -> Array:
    """The first columns of a product of Householder reflectors.

    Args:
      a: matrices of shape ``(..., m, n)`` with ``m >= n``, float32, float64, complex64 or
        complex128. Below the diagonal of column ``i`` is the vector ``v[i]`` of a reflector
        ``1 - taus[i] v[i] v[i]ᴴ``, without the one it begins with.
      taus: vectors of shape ``(..., k)`` with ``k <= n``, of the same dtype.

    Returns:
      The first ``n`` columns of the product of the ``k`` reflectors, of the shape of ``a``.

    Raises:
      TypeError: if the dtypes differ or are others, or the batch dimensions differ in number.
      ValueError: if the sizes do not fit.

    Example:
      >>> import numpy as np
      >>> from ricci.lax import linalg
      >>> a = np.array([[1, 2], [0, 1], [0, 0]], np.float32)
      >>> np.allclose(linalg.householder_product(a, np.float32([2, 0])), [[-1, 0], [0, 1], [0, 0]])
      True

    Source: LAPACK ``orgqr`` and ``ungqr``.
    """
    return householder_product_p.bind(a, taus)


def _ormqr_aval(a: ShapedArray, taus: ShapedArray, c: ShapedArray, *, left, transpose):
    _check_reflectors("ormqr", a, taus, c)
    side, size = ("rows", c.shape[-2]) if left else ("columns", c.shape[-1])
    if size != a.shape[-2]:
        raise ValueError(
            f"ormqr: with left={left}, c must have as many {side} as a has rows, but a is "
            f"{a.str_short()} and c is {c.str_short()}."
        )
    return c.update(weak_type=a.weak_type and taus.weak_type and c.weak_type)


def _ormqr_explicitly(a: Array, taus: ArrayLike, c: Array, *, left: bool, transpose: bool) -> Array:
    """The product with the explicit unitary matrix, for platforms without a kernel."""
    rows = shape_of(a)[-2]
    count = shape_of(taus)[-1]
    # The product of reflectors has as many columns as its operand: with zeros added it is square.
    q = householder_product_p.bind(widened(part(a, (0, rows), (0, count)), rows), taus)
    if transpose:
        q = adjoint(q)
    operands = (q, c) if left else (c, q)
    return product(*operands, precision=Precision.HIGHEST)


def _ormqr_lower(ctx: Lowering, a: Value, taus: Value, c: Value, *, left, transpose) -> Value:
    if taus.shape[-1] == 0:
        return c
    outs, batch_rank = list(ctx.outs), len(a.shape) - 2
    if ctx.platform == "tpu":
        return traced(_ormqr_explicitly)(ctx, a, taus, c, left=left, transpose=transpose)
    target = gpu_kernel(ctx, "solver_ormqr") if is_gpu(ctx) else _unitary("mqr", a.dtype)
    attributes = {"left": flag(left), "transpose": flag(transpose)}
    return call_kernel(ctx, target, [a, taus, c], outs, batch_rank, attributes, {0: 2})[0]


def _ormqr_jvp(primals, tangents, **params):
    a, taus, c = primals
    *fixed, dc = tangents
    if any(type(t) is not Zero for t in fixed):
        raise NotImplementedError(f"ormqr is differentiable by c alone: {_NO_DERIVATIVE.reason}")
    result = ormqr_p.bind(a, taus, c, **params)
    return result, ormqr_p.bind(a, taus, dc, **params)


def _ormqr_transpose(ct, a, taus, c, *, left, transpose):
    if is_undefined_primal(a) or is_undefined_primal(taus):
        raise NotImplementedError("ormqr is linear in c alone, not in the reflectors")
    conjugated = conj if is_complex(ct) else lambda x: x
    # Qᵀ ct is the conjugate of Qᴴ conj(ct), and the kernels compute products with Qᴴ.
    moved = ormqr_p.bind(a, taus, conjugated(ct), left=left, transpose=not transpose)
    return None, None, conjugated(moved)


ormqr_p: Primitive = ir.define(
    "ormqr",
    sharding=ir.unsharded_matrices,
    abstract_eval=_ormqr_aval,
    jvp=_ormqr_jvp,
    transpose=_ormqr_transpose,
    batch=leading_dims,
    lower=_ormqr_lower,
)


def ormqr(
    a: ArrayLike, taus: ArrayLike, c: ArrayLike, *, left: bool = True, transpose: bool = False
) -> Array:
    """Multiply by the unitary matrix of a QR decomposition, represented by its reflectors.

    Args:
      a: matrices of shape ``(..., m, n)`` of reflectors, as in ``householder_product``.
      taus: vectors of shape ``(..., k)`` with ``k <= min_dim(m, n)``.
      c: the matrices to multiply, of shape ``(..., m, p)``, or ``(..., p, m)`` if not ``left``.
      left: whether to compute ``Q c`` or ``c Q``.
      transpose: whether to use the adjoint of ``Q`` instead, which for real dtypes is the
        transpose.

    Returns:
      The products, of the shape and dtype of ``c``.

    Raises:
      TypeError: if the dtypes differ or have no kernels, or the batch dimensions differ in number.
      ValueError: if the sizes do not fit.
      NotImplementedError: if a derivative by anything but ``c`` is requested.

    Example:
      >>> import numpy as np
      >>> from ricci.lax import linalg
      >>> a, c = np.array([[1, 2], [0, 1]], np.float32), np.ones((2, 1), np.float32)
      >>> linalg.ormqr(a, np.float32([2]), c).tolist()
      [[-1.0], [1.0]]

    Source: LAPACK ``ormqr`` and ``unmqr``.
    """
    return ormqr_p.bind(a, taus, c, left=bool(left), transpose=bool(transpose))
