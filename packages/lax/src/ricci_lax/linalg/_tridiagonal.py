"""Reduction of Hermitian matrices to tridiagonal ones, and tridiagonal linear systems."""

from math import prod

import numpy as np

import ricci_ir as ir
from ricci_autodiff import Zero, add_tangents, instantiate, is_undefined_primal, not_linear
from ricci_batching import batched_at, leading_dims, move_dim
from ricci_ir import Array, ArrayLike, Primitive, ShapedArray
from ricci_lax.elementwise import div, mul, neg, sub
from ricci_lax.elementwise._factories import filled_like, real_part, scalar_like
from ricci_lax.shapes._counted_loops import at_index, with_index, write_loop
from ricci_lax.shapes._dimension_numbers import GatherScatterMode, ScatterDimensionNumbers
from ricci_lax.shapes._joining import concatenate
from ricci_lax.shapes._scatter import scatter_add
from ricci_lax.shapes._slicing import slice
from ricci_lax.structure import broadcast_in_dim, expand_dims, reshape
from ricci_lax.structure._operand_types import shape_of
from ricci_stablehlo import Lowering, Value, traced

from . import _kernels as kernels

__all__ = ["tridiagonal", "tridiagonal_p", "tridiagonal_solve", "tridiagonal_solve_p"]

_NAMES = ("dl", "d", "du", "b")


def _tridiagonal_solve_aval(*avals: ShapedArray, perturb_singular: bool) -> ShapedArray:
    d, b = avals[1], avals[3]
    shown = ", ".join(f"{name}: {x.str_short()}" for name, x in zip(_NAMES, avals, strict=True))
    for name, aval in zip(_NAMES, avals, strict=True):
        kernels.matrix_dtype("tridiagonal_solve", aval)
        if aval.ndim < 1 + (name == "b"):
            raise TypeError(
                f"tridiagonal_solve: {name} must have at least {1 + (name == 'b')} dimensions, "
                f"but it is {aval.str_short()}."
            )
    if any(aval.dtype != d.dtype for aval in avals):
        raise TypeError(f"tridiagonal_solve: the operands must have one dtype, but are {shown}.")
    if any(aval.shape != d.shape for aval in avals[:3]):
        raise TypeError(
            f"tridiagonal_solve: the three diagonals must have one shape, but are {shown}. The "
            "first element of dl and the last of du are there but not looked at."
        )
    if b.shape[:-1] != d.shape:
        raise TypeError(
            f"tridiagonal_solve: b must have the shape of the diagonals and one dimension more, "
            f"for the right-hand sides, but the operands are {shown}."
        )
    return ShapedArray(b.shape, b.dtype, all(aval.weak_type for aval in avals))


def _add_rows(x: Array, rows: Array, start: int) -> Array:
    """``x`` with ``rows`` added to its rows from ``start``."""
    rank = len(shape_of(x))
    numbers = ScatterDimensionNumbers(tuple(range(rank)), (), (rank - 2,))
    at = broadcast_in_dim(np.int32(start), (1,), ())
    return scatter_add(
        x,
        at,
        rows,
        numbers,
        indices_are_sorted=True,
        unique_indices=True,
        mode=GatherScatterMode.FILL_OR_DROP,
    )


def _multiply(dl: ArrayLike, d: Array, du: ArrayLike, x: Array) -> Array:
    """The products of tridiagonal matrices with ``x``."""
    *batch, n = shape_of(d)
    axis = len(batch)
    column = lambda v: expand_dims(v, (axis + 1,))
    product = mul(reshape(d, (*batch, n, 1)), x)
    if n == 1:
        return product
    below = mul(column(_all_but_first(dl)), _part(x, 0, n - 1, axis))
    product = _add_rows(product, below, 1)
    above = mul(column(_all_but_last(du)), _part(x, 1, n, axis))
    return _add_rows(product, above, 0)


def _tridiagonal_solve_jvp(primals, tangents, **params):
    *diagonals, b = primals
    *diagonals_dot, b_dot = tangents
    x = tridiagonal_solve_p.bind(*primals, **params)
    # From a x = b: a dx = db - da x.
    rhs, rows = b_dot, shape_of(b)[-2]
    # A single row has only its diagonal.
    seen = diagonals_dot if rows > 1 else diagonals_dot[1 : 1 + rows]
    if any(type(t) is not Zero for t in seen):
        dl_dot, d_dot, du_dot = map(instantiate, diagonals_dot)
        moved = _multiply(dl_dot, d_dot, du_dot, x)
        rhs = add_tangents(rhs, neg(moved))
    if type(rhs) is Zero:
        return x, Zero.from_primal(x)
    return x, tridiagonal_solve_p.bind(*diagonals, rhs, **params)


def _part(x: ArrayLike, start: int, stop: int, axis: int) -> Array:
    """The elements of ``x`` from ``start`` to ``stop`` along an axis."""
    shape = shape_of(x)
    starts, limits = [0] * len(shape), list(shape)
    starts[axis], limits[axis] = start, stop
    return slice(x, starts, limits)


def _all_but_first(x: ArrayLike) -> Array:
    axis = len(shape_of(x)) - 1
    return _part(x, 1, shape_of(x)[axis], axis)


def _all_but_last(x: ArrayLike) -> Array:
    axis = len(shape_of(x)) - 1
    return _part(x, 0, shape_of(x)[axis] - 1, axis)


def _zero(x: ArrayLike) -> Array:
    """A zero for each batch of diagonals."""
    return broadcast_in_dim(scalar_like(x, 0), (*shape_of(x)[:-1], 1), ())


def _transposed(dl: ArrayLike, du: ArrayLike) -> tuple[Array, Array]:
    """The lower and upper diagonals of the transposed matrices."""
    axis = len(shape_of(dl)) - 1
    # Row i of a transposed matrix has a[i - 1, i], which is du[i - 1], left of its diagonal.
    lower = concatenate([_zero(du), _all_but_last(du)], axis)
    return lower, concatenate([_all_but_first(dl), _zero(dl)], axis)


def _in_matrix(dl: ArrayLike, du: ArrayLike) -> tuple[Array, Array]:
    """The lower and upper diagonals with zeros where elements lie outside of the matrices."""
    axis = len(shape_of(dl)) - 1
    lower = concatenate([_zero(dl), _all_but_first(dl)], axis)
    return lower, concatenate([_all_but_last(du), _zero(du)], axis)


def _tridiagonal_solve_transpose(ct, dl, d, du, b, **params):
    if not is_undefined_primal(b) or any(map(is_undefined_primal, (dl, d, du))):
        raise NotImplementedError("tridiagonal_solve is linear in b alone, not in the diagonals")
    if not b.aval.shape[-2]:
        return None, None, None, ct
    lower, upper = _transposed(dl, du)
    return None, None, None, tridiagonal_solve_p.bind(lower, d, upper, ct, **params)


def _tridiagonal_solve_batch(axis, args, dims, **params):
    if any(dim is not None for dim in dims[:3]):
        moved = [batched_at(x, d, axis, 0) for x, d in zip(args, dims, strict=True)]
        return tridiagonal_solve_p.bind(*moved, **params), 0
    # One matrix for the whole batch: its examples are further right-hand sides.
    *diagonals, b = args
    target = len(shape_of(b)) - 2
    b = move_dim(b, dims[3], target)
    shape = shape_of(b)
    merged = reshape(b, (*shape[:-2], prod(shape[-2:])))
    return reshape(tridiagonal_solve_p.bind(*diagonals, merged, **params), shape), target


def _eliminate(
    i: ArrayLike,
    ratio: ArrayLike,
    rhs: Array,
    above: ArrayLike,
    xs: ArrayLike,
    *operands: ArrayLike,
) -> list[Array]:
    """Row ``i`` with the element left of its diagonal eliminated and the diagonal made one."""
    # With c[i] = du[i] / (d[i] - dl[i] c[i - 1]) the system becomes x[i] + c[i] x[i + 1] = y[i],
    # where y[i] = (b[i] - dl[i] y[i - 1]) / (d[i] - dl[i] c[i - 1]).
    axis = len(shape_of(above)) - 1
    dl, d, du, b = (at_index(x, i, axis) for x in operands)
    pivot = sub(d, mul(dl, ratio))
    wide = lambda v: broadcast_in_dim(v, shape_of(b), tuple(range(axis)))
    ratio = div(du, pivot)
    rhs = div(sub(b, mul(wide(dl), rhs)), wide(pivot))
    return [ratio, rhs, with_index(above, ratio, i, axis), with_index(xs, rhs, i, axis)]


def _substitute(i: ArrayLike, x: Array, xs: ArrayLike, above: ArrayLike) -> list[Array]:
    """The solution in row ``n - 1 - i``, given that in the row below."""
    axis = len(shape_of(above)) - 1
    row = sub(np.int32(shape_of(above)[-1] - 1), i)
    wide = broadcast_in_dim(at_index(above, row, axis), shape_of(x), tuple(range(axis)))
    x = sub(at_index(xs, row, axis), mul(wide, x))
    return [x, with_index(xs, x, row, axis)]


def _write_elimination(ctx: Lowering, dl: Value, d: Value, du: Value, b: Value) -> Value:
    """Gaussian elimination without pivoting (the Thomas algorithm)."""
    if not b.aval.size:
        return b
    axis = d.aval.ndim - 1
    dl, du = traced(_in_matrix)(ctx, dl, du)
    zeros = lambda d, b: [
        filled_like(x, 0) for x in (at_index(d, np.int32(0), axis), at_index(b, np.int32(0), axis))
    ]
    ratio, rhs = traced(zeros)(ctx, d, b)
    # Downwards each row is freed of the element left of its diagonal; upwards it is solved.
    carry = write_loop(ctx, d.shape[-1], _eliminate, [ratio, rhs, du, b], [dl, d, du, b])
    return write_loop(ctx, d.shape[-1], _substitute, [rhs, carry[3]], [carry[2]])[1]


def _tridiagonal_solve_lower(ctx: Lowering, *operands: Value, perturb_singular: bool) -> Value:
    out, batch_rank = ctx.out, operands[1].aval.ndim - 1
    if perturb_singular:
        if kernels.is_gpu(ctx):
            target = kernels.gpu_kernel(ctx, "_tridiagonal_solve_perturbed", "")
        elif ctx.platform == "cpu":
            target = "tridiagonal_solve_perturbed_ffi"
        else:
            raise NotImplementedError(
                f"tridiagonal_solve: perturb_singular=True has no kernel on {ctx.platform}."
            )
        return kernels.call_kernel(ctx, target, operands, [out], batch_rank, {})[0]
    if ctx.platform == "cpu":
        # The kernel overwrites all operands: the diagonals with its factors, ``b`` with the
        # solution.
        outs = [*(x.aval for x in operands), ShapedArray(out.shape[:-2], np.dtype(np.int32))]
        target, aliases = kernels.lapack("gtsv", out.dtype), {i: i for i in range(4)}
        results = kernels.call_kernel(ctx, target, operands, outs, batch_rank, {}, aliases)
        return kernels.nan_where_failed(ctx, results[3], results[4], batch_rank)
    # The kernel on GPUs takes no fewer than three rows.
    if kernels.is_gpu(ctx) and out.shape[-2] >= 3:
        target = kernels.gpu_kernel(ctx, "sparse_gtsv2")
        return kernels.call_kernel(ctx, target, operands, [out], batch_rank, {}, {0: 3})[0]
    return _write_elimination(ctx, *operands)


tridiagonal_solve_p: Primitive = ir.define(
    "tridiagonal_solve",
    sharding=ir.unsharded(lambda dl, *_, **params: dl.ndim - 1),
    abstract_eval=_tridiagonal_solve_aval,
    jvp=_tridiagonal_solve_jvp,
    transpose=_tridiagonal_solve_transpose,
    batch=_tridiagonal_solve_batch,
    lower=_tridiagonal_solve_lower,
)


def tridiagonal_solve(
    dl: ArrayLike, d: ArrayLike, du: ArrayLike, b: ArrayLike, *, perturb_singular: bool = False
) -> Array:
    """Solve linear systems ``a x = b`` whose matrices ``a`` are tridiagonal.

    Args:
      dl: the diagonals below the main one, of shape ``(..., n)`` and dtype float32, float64,
        complex64 or complex128: ``dl[i]`` is ``a[i, i - 1]``, and ``dl[0]`` is not looked at.
      d: the main diagonals, likewise.
      du: the diagonals above, likewise: ``du[i]`` is ``a[i, i + 1]``, and ``du[-1]`` is not
        looked at.
      b: the right-hand sides, of shape ``(..., n, k)``.
      perturb_singular: whether pivots that are too small to divide by are moved away from zero,
        so that a singular matrix results in large numbers and not NaN. Not on TPUs.

    Returns:
      The solutions, of the shape and dtype of ``b``.

    Raises:
      TypeError: if shapes do not fit, or the dtypes differ or are others.
      NotImplementedError: for ``perturb_singular`` on a platform that has no kernel for it.

    Example:
      >>> import numpy as np
      >>> from ricci.lax import linalg
      >>> off, diagonal = np.ones(3, np.float32), np.full(3, 4, np.float32)
      >>> linalg.tridiagonal_solve(off, diagonal, off, np.ones((3, 2), np.float32)).shape
      (3, 2)

    Source: LAPACK ``gtsv``; ``lagtf`` and ``lagts`` for ``perturb_singular``.
    """
    return tridiagonal_solve_p.bind(dl, d, du, b, perturb_singular=bool(perturb_singular))


def _tridiagonal_aval(a: ShapedArray, *, lower):
    kernels.check_matrices("tridiagonal", a, square=True)
    *batch, size, _ = a.shape
    if size == 0:
        raise ValueError(
            f"tridiagonal: the matrices must be square and not empty, but they are {a.str_short()}."
        )
    part = real_part(a.dtype)
    diagonal = a.resized((*batch, size), dtype=part)
    beside = a.resized((*batch, size - 1), dtype=part)
    return [a, diagonal, beside, a.resized((*batch, size - 1))]


def _tridiagonal_lower(ctx: Lowering, a: Value, *, lower):
    outs, batch_rank = list(ctx.outs), len(a.shape) - 2
    if ctx.platform == "tpu":
        raise NotImplementedError(
            "tridiagonal: there is no such decomposition on TPU. Run it on CPU or GPU."
        )
    if kernels.is_gpu(ctx):
        target, attributes = kernels.gpu_kernel(ctx, "solver_sytrd"), {"lower": kernels.flag(lower)}
    else:
        target = kernels.lapack("hetrd" if a.dtype.kind == "c" else "sytrd", a.dtype)
        attributes = {"uplo": kernels.char("L" if lower else "U")}
    info = ShapedArray(a.shape[:-2], np.dtype(np.int32))
    *results, failed = kernels.call_kernel(
        ctx, target, [a], [*outs, info], batch_rank, attributes, {0: 0}
    )
    return [kernels.nan_where_failed(ctx, result, failed, batch_rank) for result in results]


tridiagonal_p: Primitive = ir.define(
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
)


def tridiagonal(a: ArrayLike, *, lower: bool = True) -> list[Array]:
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
