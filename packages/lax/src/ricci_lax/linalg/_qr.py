"""The QR decomposition."""

from collections.abc import Callable
from functools import partial

import numpy as np

import ricci_ir as ir
from ricci_autodiff import Zero, not_linear
from ricci_batching import leading_dims
from ricci_ir import Array, ArrayLike, Primitive, ShapedArray
from ricci_lax.elementwise import add, mul, real, sub
from ricci_lax.elementwise._conversion import converted
from ricci_lax.elementwise._factories import scalar
from ricci_lax.reductions._sorting import sort
from ricci_lax.shapes import concatenate
from ricci_lax.structure import broadcast_in_dim, iota
from ricci_lax.structure._operand_types import shape_of
from ricci_stablehlo import traced

from ._householder import INT32, geqp3_p, geqrf_p, householder_product_p, vectors, widened
from ._kernels import check_matrices
from ._lu import lu
from ._matrices import (
    adjoint,
    columns_at,
    dtype_of,
    identity,
    in_batch,
    is_complex,
    lower_triangle,
    part,
    product,
    rows_at,
    upper_triangle,
)
from ._triangular_solve import triangular_solve

__all__ = ["qr", "qr_p"]


def _qr_aval(x: ShapedArray, *, pivoting, full_matrices, use_magma):
    check_matrices("qr", x)
    *batch, rows, columns = x.shape
    inner = rows if full_matrices else ir.min_dim(rows, columns)
    q, r = x.resized((*batch, rows, inner)), x.resized((*batch, inner, columns))
    return [q, r, vectors(x, columns, INT32)] if pivoting else [q, r]


def _index_dtype() -> np.dtype:
    return ir.canonicalize_dtype(np.int64)


def _qr_from_reflectors(
    x: Array, *, pivoting: bool, full_matrices: bool, use_magma: bool | None
) -> list:
    *batch, rows, columns = shape_of(x)
    dtype = dtype_of(x)
    if not (rows and columns):
        inner = rows if full_matrices else 0
        q = identity(rows, inner, dtype)
        q = broadcast_in_dim(q, (*batch, rows, inner), (len(batch), len(batch) + 1))
        r = broadcast_in_dim(scalar(0, dtype), (*batch, inner, columns), ())
        pivots = broadcast_in_dim(scalar(0, INT32), (*batch, columns), ())
        return [q, r, pivots] if pivoting else [q, r]
    pivots = []
    if pivoting:
        # To LAPACK a zero means that the column is free to move.
        unordered = broadcast_in_dim(scalar(0, INT32), (*batch, columns), ())
        a, order, taus = geqp3_p.bind(x, unordered, use_magma=use_magma)
        pivots = [sub(order, scalar(1, INT32))]
    else:
        a, taus = geqrf_p.bind(x)
    r = a
    # The reflectors make a matrix with as many columns as ``a`` has: the square part of a wide
    # matrix has them all, and columns of zeros ask for a complete basis.
    if rows < columns:
        a = part(a, (0, rows), (0, rows))
    elif full_matrices:
        a = widened(a, rows)
    else:
        r = part(a, (0, columns), (0, columns))
    q = householder_product_p.bind(a, taus)
    return [q, upper_triangle(r, 0, _index_dtype()), *pivots]


def _difference_to_reals(x: Array) -> Array:
    return sub(x, converted(real(x), dtype_of(x)) if is_complex(x) else x)


def _qr_jvp(primals, tangents, *, pivoting, full_matrices, use_magma):
    """From ``Qᴴ dA R⁻¹ = Qᴴ dQ + dR R⁻¹``, an antihermitian matrix plus a triangular one.

    The diagonal of R being real, the first is found from the strictly lower part, and from the
    imaginary parts of the diagonal. Further columns of A give R's by ``Qᴴ A``; further columns of Q
    move as a product of reflectors does.
    """
    (x,), (dx,) = primals, tangents
    options = {"pivoting": pivoting, "full_matrices": full_matrices, "use_magma": use_magma}
    results = qr_p.bind(x, **options)
    q, r, *pivots = results
    *_, rows, columns = shape_of(x)
    size = ir.min_dim(rows, columns)
    if pivots:
        dx = columns_at(dx, pivots[0])
    others = None
    d_rest = None
    if columns > size:
        x = columns_at(x, pivots[0]) if pivots else x
        others = part(x, (0, rows), (size, columns))
        dx, d_rest = part(dx, (0, rows), (0, size)), part(dx, (0, rows), (size, columns))
    q_first, r_first = part(q, (0, rows), (0, size)), part(r, (0, size), (0, size))
    dtype = dtype_of(x)
    matmul = lambda a, b: product(a, b, preferred_element_type=dtype)
    whitened = triangular_solve(r_first, dx)
    both = matmul(adjoint(q_first), whitened)
    below = lower_triangle(both, -1, _index_dtype())
    antihermitian = sub(below, adjoint(below))
    eye = in_batch(identity(size, size, dtype), len(shape_of(x)))
    rotation = add(antihermitian, mul(eye, _difference_to_reals(both)))
    dq = add(matmul(q_first, sub(rotation, both)), whitened)
    dr = matmul(sub(both, rotation), r_first)
    if columns > size:
        moved = add(matmul(adjoint(dq), others), matmul(adjoint(q_first), d_rest))
        dr = concatenate([dr, moved], len(shape_of(x)) - 1)
    if shape_of(q)[-1] > size:
        dq, dr = _completed(q, q_first, dq, dr, matmul)
    return results, [dq, dr, *map(Zero.from_primal, pivots)]


def _completed(
    q: ArrayLike,
    q_first: ArrayLike,
    dq: ArrayLike,
    dr: ArrayLike,
    matmul: Callable[[ArrayLike, ArrayLike], Array],
) -> tuple[Array, Array]:
    """The tangents of a full unitary matrix and of R's rows of zeros, from those of the others.

    A product of n reflectors is ``1 - V T Vᴴ``. So with ``W = Q₂₁ (Q₁₁ - 1)⁻¹``, where Q's first n
    columns are Q₁₁ above Q₂₁, the others are those of the identity plus ``(Q₁ - E₁) Wᴴ``, and
    ``(Q₁ - E₁) (Q₁₁ - 1)⁻ᴴ = -(Q₁ + Q₂ W)``.
    """
    *batch, rows, size = shape_of(q_first)
    rank = len(batch) + 2
    upper, lower = part(q_first, (0, size), (0, size)), part(q_first, (size, rows), (0, size))
    others = part(q, (0, rows), (size, rows))
    d_upper, d_lower = part(dq, (0, size), (0, size)), part(dq, (size, rows), (0, size))
    eye = in_batch(identity(size, size, dtype_of(q)), rank)
    w_adjoint = _solve_adjoint(sub(upper, eye), lower)
    w = adjoint(w_adjoint)
    from_first = matmul(dq, w_adjoint)
    basis = add(q_first, matmul(others, w))
    slope = sub(d_lower, matmul(w, d_upper))
    d_others = sub(from_first, matmul(basis, adjoint(slope)))
    zeros = broadcast_in_dim(scalar(0, dtype_of(q)), (*batch, rows - size, size), ())
    return concatenate([dq, d_others], rank - 1), concatenate([dr, zeros], rank - 2)


def _solve_adjoint(a: Array, b: ArrayLike) -> Array:
    """The solution x of ``aᴴ x = bᴴ``."""
    factors, _, permutation = lu(a)
    return _solve_adjoint_by_lu(factors, permutation, adjoint(b))


@ir.composite("_lu_solve")
def _solve_adjoint_by_lu(factors: ArrayLike, permutation: ArrayLike, b: Array) -> Array:
    solve = partial(triangular_solve, factors, left_side=True, transpose_a=True)
    solve = partial(solve, conjugate_a=is_complex(b))
    # From p a = l u follows aᴴ = uᴴ lᴴ p: two solves, then the inverse permutation, by sorting.
    x = solve(solve(b), lower=True, unit_diagonal=True)
    shape = shape_of(permutation)
    places = iota(INT32, shape[-1])
    if len(shape) > 1:
        places = broadcast_in_dim(places, shape, (len(shape) - 1,))
    _, inverse = sort((permutation, places), len(shape) - 1, num_keys=1)
    return rows_at(x, inverse)


qr_p: Primitive = ir.define(
    "qr",
    sharding=ir.unsharded_matrices,
    abstract_eval=_qr_aval,
    multiple_results=True,
    jvp=_qr_jvp,
    transpose=not_linear,
    batch=leading_dims,
    lower=traced(_qr_from_reflectors),
)


def qr(
    x: ArrayLike,
    *,
    pivoting: bool = False,
    full_matrices: bool = True,
    use_magma: bool | None = None,
) -> tuple[Array, ...]:
    """Decompose matrices into a unitary one times an upper triangular one, ``x = Q R``.

    Args:
      x: matrices of shape ``(..., m, n)``, float32, float64, complex64 or complex128.
      pivoting: whether to order the columns such that those of greatest remainder come first:
        ``x[..., p] = Q R``. Not on TPU.
      full_matrices: whether Q is square, or has only ``k = min_dim(m, n)`` columns.
      use_magma: with pivoting on a GPU, whether to use the library MAGMA; ``None`` uses it for
        large matrices where it is found.

    Returns:
      Q of shape ``(..., m, m)`` or ``(..., m, k)``, R of shape ``(..., m, n)`` or ``(..., k, n)``;
      with pivoting also p, the columns' order, of shape ``(..., n)`` and int32.

    Raises:
      TypeError: if the dtype has no kernels, or there are fewer than two dimensions.

    Example:
      >>> import numpy as np
      >>> from ricci.lax import linalg
      >>> q, r = linalg.qr(np.float32([[3], [4]]), full_matrices=False)
      >>> q.shape, np.allclose(np.abs(r), [[5]])
      ((2, 1), True)

    Source: LAPACK ``geqrf`` and ``geqp3``; for the derivative, Walter and Lehmann, "Algorithmic
    Differentiation of Linear Algebra Functions", arXiv:1001.1654.
    """
    return tuple(
        qr_p.bind(
            x, pivoting=bool(pivoting), full_matrices=bool(full_matrices), use_magma=use_magma
        )
    )
