"""Functions and equations of square matrices: exponential, square root, Sylvester's equation."""

from collections.abc import Callable
from operator import index
from typing import Literal, cast, overload

import numpy as np

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_autodiff import jvp
from ricci_batching import vmap
from ricci_ir import Array, ArrayLike, composite, dispatched, inlined
from ricci_lax.linalg import schur as schur_of
from ricci_lax.linalg import triangular_solve
from ricci_numpy.authoring import adjoint, check_choice, matrices, promote_dtypes

from ._factors import from_lists, precise_dot, qr
from ._schur import rsf2csf, schur
from ._systems import square_matrices

__all__ = ["expm", "expm_frechet", "funm", "qr_multiply", "solve_sylvester", "sqrtm"]

# By the bits of a real number: for each order of Padé's approximation, the largest 1-norm of a
# matrix for which it is exact to working precision (Higham 2005, table 2.3).
_ORDERS = {
    32: {3: 4.258730016922831e-01, 5: 1.880152677804762, 7: 3.925724783138660},
    64: {
        3: 1.495585217958292e-02,
        5: 2.539398330063230e-01,
        7: 9.504178996162932e-01,
        9: 2.097847961257068,
        13: 5.371920351148152,
    },
}


def _coefficients(order: int) -> list[float]:
    """The coefficients of Padé's numerator, by ascending powers; the last one is scaled to 1."""
    coefficients = [1.0]
    for k in range(order, 0, -1):
        coefficients.append(coefficients[-1] * k * (2 * order - k + 1) / (order - k + 1))
    return coefficients[::-1]


def _pade(order: int) -> Callable[[Array], tuple[Array, Array]]:
    """Return the function of a matrix that computes the odd and even parts of Padé's numerator."""
    c = _coefficients(order)

    def parts(a: Array) -> tuple[Array, Array]:
        one = jnp.eye(a.shape[-1], dtype=a.dtype)
        square = precise_dot(a, a)
        if order < 13:
            powers = [one, square]
            while len(powers) <= order // 2:
                powers.append(precise_dot(powers[-1], square))
            odd = sum(c[2 * i + 1] * p for i, p in enumerate(powers))
            even = cast(Array, sum(c[2 * i] * p for i, p in enumerate(powers)))
            return precise_dot(a, odd), even
        # Degree 13 in six products: the powers from 8 on are a⁶ times lower ones (Higham 2005).
        fourth = precise_dot(square, square)
        low, sixth = (one, square, fourth), precise_dot(fourth, square)
        high = (square, fourth, sixth)
        sums = []
        for first in (1, 0):
            upper = sum(c[8 + first + 2 * i] * p for i, p in enumerate(high))
            lower = sum(c[first + 2 * i] * p for i, p in enumerate((*low, sixth)))
            sums.append(precise_dot(sixth, upper) + lower)
        return precise_dot(a, sums[0]), sums[1]

    return parts


def _expm_of_one(a: Array, upper_triangular: bool, max_squarings: int) -> Array:
    orders = _ORDERS[64 if jnp.finfo(a.dtype).bits == 64 else 32]
    limits = list(orders.values())
    norm = jnp.max(jnp.sum(jnp.abs(a), axis=0), initial=0)
    # Scaling and squaring: exp(a) is the 2^s-th power of exp(a / 2^s), and s is chosen so that
    # Padé's approximation of the highest order is accurate for a / 2^s.
    squarings = jnp.maximum(0, jnp.floor(jnp.log2(norm / limits[-1])) + 1)
    squarings = jnp.where(norm > 0, squarings, 0)
    scaled = a / (2 ** squarings.astype(norm.dtype)).astype(a.dtype)
    choice = jnp.sum((norm >= jnp.asarray(limits[:-1], norm.dtype)).astype(np.int32))
    odd, even = lax.switch(choice, [_pade(order) for order in orders], scaled)
    # Padé's denominator at a is its numerator at -a.
    p, q = odd + even, even - odd
    if upper_triangular:
        result = triangular_solve(q, p, left_side=True)
    else:
        result = jnp.linalg.solve(q, p)

    def square(i: Array, x: Array) -> Array:
        return lax.cond(i < squarings, lambda x: precise_dot(x, x), lambda x: x, x)

    result = lax.fori_loop(0, max_squarings, square, result)
    return jnp.where(squarings > max_squarings, np.nan, result)


@composite("expm")
def _expm(a: Array, *, upper_triangular: bool, max_squarings: int) -> Array:
    fun = lambda a: _expm_of_one(a, upper_triangular, max_squarings)
    for _ in range(a.ndim - 2):
        fun = vmap(fun)
    return fun(a)


@dispatched("upper_triangular", "max_squarings")
def expm(A: ArrayLike, *, upper_triangular: bool = False, max_squarings: int = 16) -> Array:
    """The exponentials of square matrices.

    Args:
      A: matrices of shape ``(..., n, n)``.
      upper_triangular: whether the matrices are upper triangular, which saves time.
      max_squarings: how often the exponential of the scaled matrix may be squared; a matrix that
        needs more squarings gives NaN.

    Returns:
      An array of the shape of ``A``.

    Raises:
      TypeError: if ``A`` is not an array, or has a dtype of 16 bits or less.
      ValueError: if its matrices are not square.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy import linalg
      >>> linalg.expm(np.float32([[0.0, 1.0], [0.0, 0.0]])).tolist()
      [[1.0, 1.0], [0.0, 1.0]]

    Source: Higham, "The scaling and squaring method for the matrix exponential revisited", 2005.
    """
    (a,) = square_matrices("expm", A)
    return _expm(a, upper_triangular=bool(upper_triangular), max_squarings=index(max_squarings))


@overload
def expm_frechet(
    A: ArrayLike, E: ArrayLike, *, method: str | None = None, compute_expm: Literal[True] = True
) -> tuple[Array, Array]: ...
@overload
def expm_frechet(
    A: ArrayLike, E: ArrayLike, *, method: str | None = None, compute_expm: Literal[False]
) -> Array: ...
@overload
def expm_frechet(
    A: ArrayLike, E: ArrayLike, *, method: str | None = None, compute_expm: bool = True
) -> Array | tuple[Array, Array]: ...
@dispatched("method", "compute_expm")
def expm_frechet(
    A: ArrayLike, E: ArrayLike, *, method: str | None = None, compute_expm: bool = True
) -> Array | tuple[Array, Array]:
    """The derivative of the exponential at a matrix in a direction.

    Args:
      A: a matrix of shape ``(n, n)``.
      E: the direction, of the same shape.
      method: ``None``, ``"SPS"`` or ``"blockEnlarge"``, which compute the same here.
      compute_expm: whether to return the exponential, too.

    Returns:
      The exponential of ``A`` and the derivative, or the derivative alone.

    Raises:
      TypeError: if an operand is not an array.
      ValueError: if shapes differ or are not square, or the method is unknown.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy import linalg
      >>> a = np.zeros((2, 2), np.float32)
      >>> linalg.expm_frechet(a, np.eye(2, dtype=np.float32), compute_expm=False).tolist()
      [[1.0, 0.0], [0.0, 1.0]]

    Source: Al-Mohy and Higham, "Computing the Fréchet derivative of the matrix exponential", 2009.
    """
    a, e = promote_dtypes(*square_matrices("expm_frechet", *from_lists("expm_frechet", A, E)))
    if a.ndim != 2 or a.shape != e.shape:
        raise ValueError(
            f"expm_frechet: A and E must be matrices of one shape, got {a.shape} and {e.shape}."
        )
    check_choice("expm_frechet", "method", method, (None, "SPS", "blockEnlarge"))
    value, change = jvp(expm, (a,), (e,))
    return (value, change) if compute_expm else change


@dispatched("blocksize")
def sqrtm(A: ArrayLike, blocksize: int = 1) -> Array:
    """The principal square root of a matrix; on CPUs only.

    Args:
      A: a matrix of shape ``(n, n)``.
      blocksize: only 1 is available.

    Returns:
      A complex matrix whose square is ``A``; NaN or infinite if there is none.

    Raises:
      TypeError: if ``A`` is not an array, or has a dtype of 16 bits or less.
      ValueError: if it is not a square matrix.
      NotImplementedError: for another ``blocksize``.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy import linalg
      >>> linalg.sqrtm(np.float32([[4.0, 0.0], [0.0, 9.0]])).real.tolist()
      [[2.0, 0.0], [0.0, 3.0]]

    Source: Björck and Hammarling, "A Schur method for the square root of a matrix", 1983.
    """
    if blocksize > 1:
        raise NotImplementedError(f"sqrtm: blocksize={blocksize} is not available; use 1.")
    (a,) = square_matrices("sqrtm", A)
    return _sqrtm(a)


@inlined("sqrtm")
def _sqrtm(a: Array) -> Array:
    # With a = z t zᴴ, the root is z √t zᴴ.
    t, z = schur(a, output="complex")
    fun = _root_of_triangle
    for _ in range(a.ndim - 2):
        fun = vmap(fun)
    return precise_dot(precise_dot(z, fun(t)), adjoint(z))


def _root_of_triangle(t: Array) -> Array:
    """The square root of an upper triangular matrix, by columns, each from the diagonal up."""
    n = t.shape[0]
    diagonal = jnp.sqrt(jnp.diagonal(t))

    def column(j: Array, root: Array) -> Array:
        def row(step: Array, root: Array) -> Array:
            i = j - 1 - step
            # Elements not computed yet are 0, so that the product sums over those between i and j.
            remainder = t[i, j] - precise_dot(root[i], root[:, j])
            divisor = diagonal[i] + diagonal[j]
            value = jnp.where(remainder == 0, 0, remainder / jnp.where(remainder == 0, 1, divisor))
            return root.at[i, j].set(value)

        return lax.fori_loop(0, j, row, root)

    return lax.fori_loop(0, n, column, jnp.diag(diagonal))


@overload
def funm(A: ArrayLike, func: Callable[[Array], ArrayLike], disp: Literal[True] = True) -> Array: ...
@overload
def funm(
    A: ArrayLike, func: Callable[[Array], ArrayLike], disp: Literal[False]
) -> tuple[Array, Array]: ...
@overload
def funm(
    A: ArrayLike, func: Callable[[Array], ArrayLike], disp: bool = True
) -> Array | tuple[Array, Array]: ...
def funm(
    A: ArrayLike, func: Callable[[Array], ArrayLike], disp: bool = True
) -> Array | tuple[Array, Array]:
    """A function of a square matrix; on CPUs only.

    Args:
      A: a matrix of shape ``(n, n)`` with distinct eigenvalues.
      func: the function of its eigenvalues, elementwise on complex arrays.
      disp: if false, an estimate of the relative error is returned as well.

    Returns:
      A complex matrix of the shape of ``A``; with ``disp=False`` also the estimate, a scalar.

    Raises:
      TypeError: if ``A`` is not an array, or has a dtype of 16 bits or less.
      ValueError: if it is not a square matrix.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy import linalg
      >>> linalg.funm(np.float32([[1.0, 2.0], [0.0, 3.0]]), lambda x: x * x).real.round(3).tolist()
      [[1.0, 8.0], [0.0, 9.0]]

    Source: Parlett, "A recurrence among the elements of functions of triangular matrices", 1976.
    """
    (a,) = square_matrices("funm", *from_lists("funm", A))
    if a.ndim != 2:
        raise ValueError(f"funm: a square matrix is needed, got shape {a.shape}.")
    t, z = rsf2csf(*schur(a))
    values, smallest = _parlett(t, func(jnp.diagonal(t)))
    result = precise_dot(precise_dot(z, values), adjoint(z))
    if disp:
        return result
    eps = float(jnp.finfo(result.dtype).eps)
    smallest = jnp.where(smallest == 0, eps, smallest)
    growth = eps / smallest * jnp.linalg.norm(jnp.triu(t, 1), 1)
    error = jnp.minimum(1, jnp.maximum(eps, growth))
    return result, jnp.where(jnp.all(~jnp.isfinite(result)), np.inf, error)


@inlined("parlett")
def _parlett(t: Array, diagonal: ArrayLike) -> tuple[Array, Array]:
    """The function of a triangular matrix by Parlett's recurrence, and its smallest divisor.

    ``diagonal`` holds the function's values at the eigenvalues; the superdiagonals follow in order.
    """
    n = t.shape[0]

    def superdiagonal(p: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        def element(i: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
            f, smallest = carry
            j = i + p
            row, column = f[i].at[i].set(0), f[:, j].at[j].set(0)
            # f commutes with t. Element (i, j) of f t = t f, solved for f[i, j], needs only
            # elements of f nearer to the diagonal.
            between = precise_dot(t[i].at[i].set(0), column)
            between -= precise_dot(row, t[:, j].at[j].set(0))
            total = t[i, j] * (f[j, j] - f[i, i]) + between
            difference = t[j, j] - t[i, i]
            safe = jnp.where(difference == 0, 1, difference)
            value = total / safe
            return f.at[i, j].set(value), jnp.minimum(smallest, jnp.abs(difference))

        return lax.fori_loop(0, n - p, element, carry)

    smallest = jnp.abs(t[0, 0])
    start = (jnp.diag(diagonal).astype(t.dtype), smallest)
    return lax.fori_loop(1, n, superdiagonal, start)


@dispatched("method", "tol")
def solve_sylvester(
    A: ArrayLike, B: ArrayLike, C: ArrayLike, *, method: str = "schur", tol: float = 1e-8
) -> Array:
    """The solution ``X`` of ``A @ X + X @ B = C``.

    Args:
      A: matrices of shape ``(..., m, m)``.
      B: matrices of shape ``(..., n, n)``.
      C: matrices of shape ``(..., m, n)``; leading dimensions are broadcast.
      method: ``"schur"``, by the Schur forms of ``A`` and ``B``, on CPUs; or ``"eigen"``, by their
        eigenvectors, which is less exact.
      tol: eigenvalues of ``A`` and ``-B`` that differ by no more than this count as equal; then
        no unique solution exists, and the result is NaN.

    Returns:
      An array of shape ``(..., m, n)``.

    Raises:
      TypeError: if an operand is not an array.
      ValueError: if shapes do not fit, or the method is unknown.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy import linalg
      >>> a, b = np.float32([[2.0]]), np.float32([[3.0]])
      >>> linalg.solve_sylvester(a, b, np.float32([[10.0]])).tolist()
      [[2.0]]

    Source: Bartels and Stewart, "Solution of the matrix equation AX + XB = C", 1972.
    """
    a, b, c = from_lists("solve_sylvester", A, B, C)
    a, b = square_matrices("solve_sylvester", a, b)
    needed = (a.shape[-1], b.shape[-1])
    if c.shape[-2:] != needed:
        raise ValueError(
            f"solve_sylvester: A of shape {a.shape} and B of shape {b.shape} need a C of shape "
            f"{needed}, or of several such matrices, got {c.shape}."
        )
    check_choice("solve_sylvester", "method", method, ("schur", "eigen"))
    return _sylvester(a, b, c, method=method, tol=float(tol))


@inlined("solve_sylvester")
def _sylvester(a: Array, b: Array, c: Array, *, method: str, tol: float) -> Array:
    is_real = not jnp.iscomplexobj(c)
    dtype = np.promote_types(c.dtype, "complex64")
    a, b, c = (x.astype(dtype) for x in (a, b, c))
    solver = _by_eigenvectors if method == "eigen" else _by_schur

    def solution(a: Array, b: Array, c: Array) -> Array:
        x, sums = solver(a, b, c)
        return jnp.where(jnp.min(jnp.abs(sums), initial=jnp.inf) <= tol, jnp.nan, x)

    x = jnp.vectorize(solution, signature="(m,m),(n,n),(m,n)->(m,n)")(a, b, c)
    return jnp.real(x) if is_real else x


def _by_eigenvectors(a: Array, b: Array, c: Array) -> tuple[Array, Array]:
    """The solution by eigenvectors, and its divisors, sums of eigenvalues."""
    (la, ua), (lb, ub) = jnp.linalg.eig(a), jnp.linalg.eig(b)
    # With a = ua diag(la) ua⁻¹ and b = ub diag(lb) ub⁻¹, the equation for y = ua⁻¹ x ub is
    # diagonal: (la[i] + lb[j]) y[i, j] = (ua⁻¹ c ub)[i, j].
    sums = la[:, None] + lb[None, :]
    y = precise_dot(jnp.linalg.solve(ua, c), ub) / sums
    return precise_dot(precise_dot(ua, y), jnp.linalg.inv(ub)), sums


def _by_schur(a: Array, b: Array, c: Array) -> tuple[Array, Array]:
    """The solution by Schur forms, column by column, and its divisors, sums of eigenvalues."""
    (r, u), (s, v) = schur_of(a), schur_of(b)
    # With a = u r uᴴ and b = v s vᴴ, y = uᴴ x v solves r y + y s = f. As s is upper triangular,
    # column k of y depends only on those before it.
    f = precise_dot(precise_dot(adjoint(u), c), v)
    n, one = s.shape[0], jnp.eye(r.shape[0], dtype=r.dtype)

    def column(k: Array, y: Array) -> Array:
        # The columns of y from k on are still 0, so that the product sums over those before k.
        right = f[:, k] - precise_dot(y, s[:, k])
        solution = triangular_solve(r + s[k, k] * one, right[:, None], left_side=True)
        return y.at[:, k].set(solution[:, 0])

    y = lax.fori_loop(0, n, column, jnp.zeros_like(f))
    sums = jnp.diagonal(r)[:, None] + jnp.diagonal(s)[None, :]
    return precise_dot(precise_dot(u, y), adjoint(v)), sums


def qr_multiply(
    a: ArrayLike,
    c: ArrayLike,
    mode: str = "right",
    pivoting: bool = False,
    conjugate: bool = False,
    overwrite_a: bool = False,
    overwrite_c: bool = False,
) -> tuple[Array, ...]:
    """Products with the ``q`` of the decomposition ``a = q @ r``.

    Args:
      a: a matrix of shape ``(..., m, n)``; ``q`` has k = min(m, n) columns.
      c: a matrix, of shape ``(..., p, m)`` on the left of ``q``, ``(..., k, p)`` on its right; or
        a vector.
      mode: ``"right"`` for ``c @ q``, ``"left"`` for ``q @ c``.
      pivoting: whether to order the columns of ``a``, as in ``qr``.
      conjugate: whether to use the conjugate of ``q``.
      overwrite_a, overwrite_c: ignored; SciPy has them.

    Returns:
      The product and ``r``; with pivoting also the columns' order.

    Raises:
      TypeError: if an operand is not an array.
      ValueError: if shapes do not fit, or the mode is unknown.

    Example:
      >>> import numpy as np
      >>> import ricci.numpy as jnp
      >>> from ricci.scipy import linalg
      >>> product, r = linalg.qr_multiply(np.float32([[3.0], [4.0]]), np.float32([3.0, 4.0]))
      >>> jnp.abs(product).round(3).tolist()
      [5.0]

    Source: scipy.linalg.qr_multiply.
    """
    check_choice("qr_multiply", "mode", mode, ("right", "left"))
    a, c = (jnp.asarray(x) for x in matrices("qr_multiply", a, c))
    q, *factors = qr(a, mode="economic", pivoting=pivoting)
    is_vector = c.ndim == 1
    if is_vector:
        c = c[None, :] if mode == "right" else c[:, None]
    have, need = (c.shape[-1], q.shape[-2]) if mode == "right" else (c.shape[-2], q.shape[-1])
    if have != need:
        side = "columns" if mode == "right" else "rows"
        raise ValueError(
            f"qr_multiply: with mode={mode!r} and a of shape {a.shape}, c must have {need} {side}, "
            f"got shape {c.shape}."
        )
    q = jnp.conj(q) if conjugate else q
    left, right = (c, q) if mode == "right" else (q, c)
    product = precise_dot(left, right)
    if is_vector:
        product = lax.squeeze(product, (-2,) if mode == "right" else (-1,))
    return (product, *factors)
