"""The singular value decomposition."""

import enum
from collections.abc import Sequence
from functools import partial
from typing import Literal, overload

import numpy as np

import ricci_ir as ir
from ricci_autodiff import not_linear
from ricci_batching import leading_dims
from ricci_lax.contractions._precision import Precision
from ricci_lax.elementwise import add, mul, real, sub
from ricci_lax.elementwise._factories import real_part, scalar
from ricci_lax.shapes._slicing import slice_in_dim
from ricci_lax.structure._broadcasting import broadcast_in_dim
from ricci_lax.structure._operand_types import shape_of
from ricci_stablehlo import Lowering, Value, traced

from . import _kernels as kernels
from . import _rotations as rotations
from ._eigh import check_in_bounds, check_subset, is_partial
from ._matrices import adjoint, diagonal, dtype_of, identity, is_complex, part, product
from ._polar import svd_by_polar

__all__ = ["SvdAlgorithm", "svd", "svd_p"]


@ir.exported
class SvdAlgorithm(enum.Enum):
    """An algorithm for the singular value decomposition.

    ``DEFAULT`` is the platform's own; ``QR`` is for CPU and GPU, ``JACOBI`` for GPU, ``POLAR`` for
    GPU and TPU, ``DIVIDE_AND_CONQUER`` for CPU and AMD's GPUs.
    """

    DEFAULT = "default"
    QR = "QR"
    JACOBI = "Jacobi"
    POLAR = "polar"
    DIVIDE_AND_CONQUER = "divide_and_conquer"


def _svd_aval(x: ir.ShapedArray, *, full_matrices, compute_uv, subset_by_index, algorithm):
    kernels.check_matrices("svd", x)
    check_subset("svd", subset_by_index)
    *batch, rows, columns = x.shape
    rank = ir.min_dim(rows, columns)
    if full_matrices and is_partial(subset_by_index, rank):
        raise ValueError(
            f"svd: full_matrices=True asks for all singular vectors, and subset_by_index="
            f"{subset_by_index} for a part of them. Give full_matrices=False."
        )
    if subset_by_index is not None:
        rank = min(rank, subset_by_index[1] - subset_by_index[0])
    values = x.resized((*batch, rank), dtype=real_part(x.dtype))
    if not compute_uv:
        return [values]
    left = x.resized((*batch, rows, rows if full_matrices else rank))
    return [values, left, x.resized((*batch, columns if full_matrices else rank, columns))]


_WHERE = {
    SvdAlgorithm.DEFAULT: ("cpu", "cuda", "rocm", "tpu"),
    SvdAlgorithm.QR: ("cpu", "cuda", "rocm"),
    SvdAlgorithm.JACOBI: ("cuda", "rocm"),
    SvdAlgorithm.POLAR: ("cuda", "rocm", "tpu"),
    SvdAlgorithm.DIVIDE_AND_CONQUER: ("cpu", "rocm"),
}


def _svd_lower(ctx: Lowering, x: Value, *, algorithm, subset_by_index, **params):
    *batch, rows, columns = x.shape
    if algorithm is None:
        algorithm = SvdAlgorithm.DEFAULT
    if algorithm not in _WHERE:
        raise NotImplementedError(
            f"svd: {algorithm!r} is not an algorithm. Give one of SvdAlgorithm."
        )
    if ctx.platform not in _WHERE[algorithm]:
        raise NotImplementedError(
            f"svd: {algorithm} does not exist on {ctx.platform}, only on "
            f"{', '.join(_WHERE[algorithm])}. Leave algorithm out for the platform's own."
        )
    some = is_partial(subset_by_index, ir.min_dim(rows, columns))
    if some and ctx.platform != "tpu":
        raise NotImplementedError(
            f"svd: subset_by_index={subset_by_index} is not supported on {ctx.platform}, only on "
            "TPU. Leave it out and take part of the results."
        )
    if not (rows and columns):
        return traced(_svd_of_empty)(ctx, x, **params)
    if ctx.platform == "cpu":
        return _svd_on_cpu(ctx, x, algorithm, **params)
    if kernels.is_gpu(ctx):
        return _svd_on_gpu(ctx, x, algorithm, **params)
    if some:
        check_in_bounds("svd", subset_by_index, ir.min_dim(rows, columns))
        return traced(partial(_some_by_polar, *subset_by_index))(ctx, x, **params)
    return traced(svd_by_polar)(ctx, x, **params)


def _some_by_polar(start: int, stop: int, x: ir.Array, **params: bool) -> list[ir.Array]:
    s, *vectors = svd_by_polar(x, **params)
    cut = lambda x, axis: slice_in_dim(x, start, stop, axis=axis)
    axis = len(shape_of(s)) - 1
    return [cut(s, axis), *(cut(v, axis + 1 - i) for i, v in enumerate(vectors))]


def _svd_of_empty(x: ir.Array, *, full_matrices: bool, compute_uv: bool) -> list[ir.Array]:
    """The decomposition of empty matrices: no values, and identities."""
    *batch, rows, columns = shape_of(x)
    dtype = dtype_of(x)
    values = broadcast_in_dim(scalar(0, real_part(dtype)), (*batch, 0), ())
    if not compute_uv:
        return [values]

    def unit(height: int, width: int) -> ir.Array:
        place = len(batch), len(batch) + 1
        return broadcast_in_dim(identity(height, width, dtype), (*batch, height, width), place)

    left = unit(rows, rows if full_matrices else 0)
    return [values, left, unit(columns if full_matrices else 0, columns)]


class _Shapes:
    """The types of the kernels' results for a batch of matrices."""

    def __init__(self, x: Value, full_matrices: bool):
        *self.batch, self.rows, self.columns = x.shape
        self.dtype = x.dtype
        self.rank = ir.min_dim(self.rows, self.columns)
        self.left = self.rows if full_matrices else self.rank
        self.right = self.columns if full_matrices else self.rank
        self.values = ir.ShapedArray((*self.batch, self.rank), real_part(x.dtype))
        self.info = ir.ShapedArray(tuple(self.batch), np.dtype(np.int32))
        self.nothing = ir.ShapedArray((), x.dtype)

    def matrices(self, rows: int, columns: int) -> ir.ShapedArray:
        return ir.ShapedArray((*self.batch, rows, columns), self.dtype)


def _svd_on_cpu(
    ctx: Lowering, x: Value, algorithm: SvdAlgorithm, *, full_matrices: bool, compute_uv: bool
) -> list[Value]:
    sizes = _Shapes(x, full_matrices)
    routine = "gesvd" if algorithm is SvdAlgorithm.QR else "gesdd"
    # LAPACK's job: no singular vectors, all of them, or as many as there are singular values.
    letter = "N" if not compute_uv else "A" if full_matrices else "S"
    left = sizes.matrices(sizes.rows, sizes.left)
    right = sizes.matrices(sizes.right, sizes.columns)
    outs = [x.aval, sizes.values, left, right, sizes.info]
    rank, attributes = len(sizes.batch), {"mode": kernels.char(letter)}
    target = kernels.lapack(routine, x.dtype)
    _, *results, failed = kernels.call_kernel(ctx, target, [x], outs, rank, attributes, {0: 0})
    return _valid(ctx, results if compute_uv else results[:1], failed)


def _valid(ctx: Lowering, results: Sequence[Value], failed: Value) -> list[Value]:
    return [kernels.nan_where_failed(ctx, x, failed, len(failed.shape)) for x in results]


# Beyond this size Jacobi's method is the slower one on a GPU.
_JACOBI_UP_TO = 1024
# Up to this size the GPU's Jacobi kernel supports batches, and only full matrices.
_JACOBI_IN_BATCHES_UP_TO = 32


def _svd_on_gpu(
    ctx: Lowering, x: Value, algorithm: SvdAlgorithm, *, full_matrices: bool, compute_uv: bool
) -> list[Value]:
    rows, columns = x.shape[-2:]
    if algorithm is SvdAlgorithm.DEFAULT:
        small = ir.max_dim(rows, columns) <= _JACOBI_UP_TO
        algorithm = SvdAlgorithm.JACOBI if small else SvdAlgorithm.QR
    if algorithm in (SvdAlgorithm.QR, SvdAlgorithm.DIVIDE_AND_CONQUER):
        return _svd_by_columns(ctx, x, algorithm, full_matrices, compute_uv)
    jacobi = algorithm is SvdAlgorithm.JACOBI
    full = full_matrices or (jacobi and ir.min_dim(rows, columns) <= _JACOBI_IN_BATCHES_UP_TO)
    sizes = _Shapes(x, full)
    # These kernels return the right singular vectors as columns.
    left = sizes.matrices(rows, sizes.left)
    right = sizes.matrices(columns, sizes.right)
    attributes = {"compute_uv": kernels.flag(compute_uv), "full_matrices": kernels.flag(full)}
    target = kernels.gpu_kernel(ctx, "solver_gesvdj" if jacobi else "solver_gesvdp")
    outs, rank = [x.aval, sizes.values, left, right, sizes.info], len(sizes.batch)
    _, s, u, v, failed = kernels.call_kernel(ctx, target, [x], outs, rank, attributes, {0: 0})
    if not compute_uv:
        return _valid(ctx, [s], failed)
    vh = traced(adjoint)(ctx, v)
    # The kernel for small matrices returned more vectors than were requested.
    if full and not full_matrices:
        u = traced(lambda u: part(u, (0, rows), (0, sizes.rank)))(ctx, u)
        vh = traced(lambda vh: part(vh, (0, sizes.rank), (0, columns)))(ctx, vh)
    return _valid(ctx, [s, u, vh], failed)


def _svd_by_columns(
    ctx: Lowering, x: Value, algorithm: SvdAlgorithm, full_matrices: bool, compute_uv: bool
) -> list[Value]:
    """Call a kernel; wide matrices, which that for ``QR`` does not support, are transposed."""
    sizes = _Shapes(x, full_matrices)
    qr = algorithm is SvdAlgorithm.QR
    transposed = qr and sizes.rows < sizes.columns
    left = sizes.matrices(sizes.rows, sizes.left)
    right = sizes.matrices(sizes.right, sizes.columns)
    vectors = [right, left] if transposed else [left, right]
    if not compute_uv:
        vectors = [sizes.nothing, sizes.nothing]
    attributes = {
        "compute_uv": kernels.flag(compute_uv),
        "full_matrices": kernels.flag(full_matrices),
        "transposed": kernels.flag(transposed),
    }
    _, s, *results, failed = kernels.call_kernel(
        ctx,
        kernels.gpu_kernel(ctx, "solver_gesvd" if qr else "solver_gesdd"),
        [x],
        [x.aval, sizes.values, *vectors, sizes.info],
        len(sizes.batch),
        attributes,
        {0: 0},
        row_major=transposed,
    )
    if not compute_uv:
        return _valid(ctx, [s], failed)
    return _valid(ctx, [s, *(reversed(results) if transposed else results)], failed)


def _svd_jvp(primals, tangents, *, full_matrices, compute_uv, subset_by_index, algorithm):
    """From ``A = U diag(s) Vᴴ``: ``ds`` is the diagonal of ``dS = Uᴴ dA V``; off it, ``Uᴴ dU`` and
    ``Vᴴ dV`` follow from ``dS`` by differences and sums of singular values. The antihermitian
    diagonal of ``dS``, a change of phase, is given to U. What is outside of the span of fewer
    vectors than rows or columns is added at the end.
    """
    (x,), (dx,) = primals, tangents
    params = {"subset_by_index": subset_by_index, "algorithm": algorithm}
    *_, rows, columns = shape_of(x)
    _check_differentiable(rows, columns, full_matrices, compute_uv, subset_by_index)
    s, u, vh = svd_p.bind(x, full_matrices=False, compute_uv=True, **params)
    rank, dtype = shape_of(s)[-1], dtype_of(x)
    matmul = lambda a, b: product(a, b, precision=Precision.HIGHEST, preferred_element_type=dtype)
    uh, v = adjoint(u), adjoint(vh)
    in_basis = matmul(matmul(uh, dx), v)
    if not compute_uv:
        return [s], [diagonal(real(in_basis) if is_complex(x) else in_basis)]
    # Off the diagonal dS = (Uᴴ dU) S - S (Vᴴ dV), where the matrices in brackets are antihermitian.
    # With the Hermitian and the antihermitian part of dS, H and K, and by elements, these are
    # H / (s[j] - s[i]) ± K / (s[j] + s[i]).
    half = lambda x: mul(scalar(0.5, dtype), x)
    hermitian = half(add(in_basis, adjoint(in_basis)))
    antihermitian = half(sub(in_basis, adjoint(in_basis)))
    ds, common = rotations.rotation(hermitian, rotations.inverse_gaps(s))
    between = rotations.off_diagonal(antihermitian)
    opposite = rotations.quotient(between, rotations.inverse_sums(s))
    dv = matmul(v, sub(common, opposite))
    if is_complex(x):
        # The diagonal of K, a change of phase, is given to U.
        phases = rotations.quotient(sub(antihermitian, between), rotations.inverse_columns(s, rank))
        opposite = add(opposite, phases)
    du = matmul(u, add(common, opposite))
    # The part of dU outside of the span of U: (I - U Uᴴ) dA V S⁻¹.
    if rows > columns:
        moved = matmul(dx, v)
        outside = sub(moved, matmul(u, matmul(uh, moved)))
        du = add(du, rotations.quotient(outside, rotations.inverse_columns(s, rows)))
    if columns > rows:
        moved = matmul(adjoint(dx), u)
        outside = sub(moved, matmul(v, matmul(vh, moved)))
        dv = add(dv, rotations.quotient(outside, rotations.inverse_columns(s, columns)))
    return [s, u, vh], [ds, du, adjoint(dv)]


def _check_differentiable(
    rows: int, columns: int, full_matrices: bool, compute_uv: bool, subset: tuple[int, int] | None
) -> None:
    if compute_uv and full_matrices and rows != columns:
        raise NotImplementedError(
            f"svd: with full_matrices=True, matrices of {rows} rows and {columns} columns have "
            "singular vectors that are not determined by them, and no derivative. Give "
            "full_matrices=False."
        )
    if compute_uv and is_partial(subset, ir.min_dim(rows, columns)):
        raise NotImplementedError(
            "svd: the derivative depends on all singular vectors, and is not implemented for "
            f"subset_by_index={subset}, a part of them. Leave it out and take part of the results."
        )


svd_p: ir.Primitive = ir.define(
    "svd",
    sharding=ir.unsharded_matrices,
    abstract_eval=_svd_aval,
    multiple_results=True,
    jvp=_svd_jvp,
    transpose=not_linear,
    batch=leading_dims,
    lower=_svd_lower,
)


@overload
def svd(
    x: ir.ArrayLike,
    *,
    full_matrices: bool = True,
    compute_uv: Literal[True] = True,
    subset_by_index: tuple[int, int] | None = None,
    algorithm: SvdAlgorithm | None = None,
) -> tuple[ir.Array, ir.Array, ir.Array]: ...


@overload
def svd(
    x: ir.ArrayLike,
    *,
    full_matrices: bool = True,
    compute_uv: Literal[False],
    subset_by_index: tuple[int, int] | None = None,
    algorithm: SvdAlgorithm | None = None,
) -> ir.Array: ...


@overload
def svd(
    x: ir.ArrayLike,
    *,
    full_matrices: bool = True,
    compute_uv: bool,
    subset_by_index: tuple[int, int] | None = None,
    algorithm: SvdAlgorithm | None = None,
) -> ir.Array | tuple[ir.Array, ir.Array, ir.Array]: ...


def svd(
    x: ir.ArrayLike,
    *,
    full_matrices: bool = True,
    compute_uv: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    algorithm: SvdAlgorithm | None = None,
) -> ir.Array | tuple[ir.Array, ir.Array, ir.Array]:
    """The singular value decomposition of matrices, ``x = u diag(s) vh``.

    Args:
      x: matrices of shape ``(..., m, n)``, float32, float64, complex64 or complex128.
      full_matrices: whether u and vh are square, or have ``k = min_dim(m, n)`` columns and rows.
      compute_uv: whether to compute u and vh, or s alone.
      subset_by_index: which singular values to compute, of the ordered ones: from a start up to an
        end, which is excluded.
      algorithm: the algorithm, by default the platform's own.

    Returns:
      u, unitary, of shape ``(..., m, m)`` or ``(..., m, k)``; s of shape ``(..., k)``, real, in
      descending order; vh, unitary, of shape ``(..., n, n)`` or ``(..., k, n)``. Without
      ``compute_uv``, s alone. NaN where the algorithm did not converge.

    Raises:
      TypeError: if the dtype has no kernels, or there are fewer than two dimensions.
      ValueError: if full matrices and a part of the values are requested, or an invalid range.
      NotImplementedError: if the platform has no such algorithm or cannot compute a part; if the
        derivative of full matrices that are not square is requested, or of a part of the vectors.

    Where singular values are equal up to rounding, gradients of functions of ``u f(s) vh`` are
    those of the matrix function, for ``f`` not zero there. Tangents of vectors are NaN where the
    tangent of ``x`` rotates those of equal values, as are gradients of what depends on their
    choice.

    Example:
      >>> import numpy as np
      >>> from ricci.lax import linalg
      >>> u, s, vh = linalg.svd(np.float32([[3, 0], [0, 4]]))
      >>> np.allclose(s, [4, 3])
      True

    Source: LAPACK ``gesdd`` and ``gesvd``.
    """
    results = svd_p.bind(
        x,
        full_matrices=bool(full_matrices),
        compute_uv=bool(compute_uv),
        subset_by_index=None if subset_by_index is None else tuple(subset_by_index),
        algorithm=algorithm,
    )
    if not compute_uv:
        return results[0]
    s, u, vh = results
    return u, s, vh
