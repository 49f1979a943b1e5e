"""Iterative solvers of linear systems whose unknowns are pytrees of arrays."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import Array, ArrayLike, PyTree, eval_shape
from ricci_numpy.authoring import check_choice
from ricci_numpy.flatten_util import ravel_pytree
from ricci_pytree import tree_leaves, tree_map, tree_structure

_dot = partial(jnp.vdot, precision=lax.Precision.HIGHEST)

Operator = Callable[[PyTree], PyTree]


class SupportsMatmul(Protocol):
    """A matrix of any kind: an array, a sparse array, an object of the user's own."""

    def __matmul__(self, other: PyTree, /) -> PyTree: ...


type Matrix = Array | np.ndarray | SupportsMatmul


class _Method(Protocol):
    """An iteration from ``x0`` that solves ``A x = b`` with the preconditioner ``M``."""

    def __call__(
        self,
        A: Operator,
        b: PyTree,
        x0: PyTree,
        *,
        tol: float,
        atol: float,
        maxiter: int,
        M: Operator,
    ) -> PyTree: ...


def _real_dot(x: PyTree, y: PyTree) -> Any:
    """The real part of the inner product of two pytrees."""
    pairs = zip(tree_leaves(x), tree_leaves(y), strict=True)
    return sum(jnp.real(_dot(a, b)) for a, b in pairs)


def _full_dot(x: PyTree, y: PyTree) -> Any:
    """The inner product of two pytrees."""
    return sum(_dot(a, b) for a, b in zip(tree_leaves(x), tree_leaves(y), strict=True))


def _scaled(factor: Array, x: PyTree) -> PyTree:
    return tree_map(lambda a: factor * a, x)


def _add(x: PyTree, y: PyTree) -> PyTree:
    return tree_map(jnp.add, x, y)


def _sub(x: PyTree, y: PyTree) -> PyTree:
    return tree_map(jnp.subtract, x, y)


def _operator(name: str, what: str, a: Operator | Matrix) -> Operator:
    """Return a linear operator, a function or an object with ``@``, as a function."""
    if callable(a):
        return a
    if isinstance(a, list | tuple) or not hasattr(a, "__matmul__"):
        raise TypeError(
            f"{name}: {what} must be a function or a matrix, got {a!r} of type {type(a).__name__}."
        )
    shape = getattr(a, "shape", None)
    if shape is not None and (len(shape) != 2 or shape[0] != shape[1]):
        raise ValueError(f"{name}: {what} must be a square matrix, got shape {shape}.")
    if not isinstance(a, np.ndarray) and not hasattr(type(a), "aval"):
        return lambda x: a @ x
    array: Any = a
    return partial(jnp.matmul, array, precision=lax.Precision.HIGHEST)


def _identity(x: PyTree) -> PyTree:
    return x


def _solved(
    name: str,
    method: _Method,
    A: Operator | Matrix,
    b: PyTree,
    x0: PyTree | None,
    tol: float,
    atol: float,
    maxiter: int | None,
    M: Operator | Matrix | None,
    *,
    is_symmetric: bool,
    has_info: bool = False,
) -> tuple[PyTree, Any]:
    """Check the arguments of a solver, and run its method as a linear solve with derivatives.

    With ``has_info`` the method returns a pair of the solution and of the state of convergence.
    """
    b = tree_map(_as_inexact, b)
    operator = _operator(name, "A", A)
    precondition = _identity if M is None else _operator(name, "M", M)
    x0 = tree_map(jnp.zeros_like, b) if x0 is None else tree_map(_as_inexact, x0)
    structure = tree_structure(b)
    if tree_structure(x0) != structure:
        raise ValueError(
            f"{name}: x0 and b must have one structure, got {tree_structure(x0)} and {structure}."
        )
    shapes = [tuple(np.shape(x) for x in tree_leaves(v)) for v in (x0, b)]
    if shapes[0] != shapes[1]:
        raise ValueError(f"{name}: x0 and b must have one shape, got {shapes[0]} and {shapes[1]}.")
    returned = tree_structure(eval_shape(operator, b))
    if returned != structure:
        raise TypeError(f"{name}: A must return the structure of b, {structure}, got {returned}.")
    if maxiter is None:
        maxiter = 10 * sum(np.size(x) for x in tree_leaves(b))

    def solve(matvec: Operator, rhs: PyTree) -> PyTree:
        return method(matvec, rhs, x0, tol=tol, atol=atol, maxiter=maxiter, M=precondition)

    # The transpose of a Hermitian matrix is its conjugate: only a real one is its own transpose.
    is_real = not any(jnp.iscomplexobj(x) for x in tree_leaves(b))
    symmetric = is_symmetric and is_real
    solution: Any = lax.custom_linear_solve(
        operator, b, solve, transpose_solve=solve, symmetric=symmetric, has_aux=has_info
    )
    return solution if has_info else (solution, None)


def _as_inexact(x: ArrayLike) -> Array:
    x = jnp.asarray(x)
    return x if jnp.issubdtype(x.dtype, np.inexact) else x.astype(jnp.result_type(float))


def _limit(b: PyTree, tol: float, atol: float) -> Array:
    """The square of the residual's norm at which to stop."""
    return jnp.maximum(jnp.square(tol) * _real_dot(b, b), jnp.square(atol))


def _cg(
    A: Operator, b: PyTree, x0: PyTree, *, tol: float, atol: float, maxiter: int, M: Operator
) -> PyTree:
    """Conjugate gradients.

    The state is the solution, its residual ``r``, the inner product of ``r`` and ``M r``, the
    direction of the next step and the number of steps.
    """
    limit = _limit(b, tol, atol)

    def goes_on(state: tuple[Any, ...]) -> Array:
        _, r, gamma, _, k = state
        # Without a preconditioner z is r, and gamma is the square of the residual's norm already.
        size = jnp.real(gamma) if M is _identity else _real_dot(r, r)
        return jnp.logical_and(size > limit, k < maxiter)

    def step(state: tuple[Any, ...]) -> tuple[Any, ...]:
        x, r, gamma, p, k = state
        Ap = A(p)
        alpha = gamma / _real_dot(p, Ap).astype(gamma.dtype)
        x, r = _add(x, _scaled(alpha, p)), _sub(r, _scaled(alpha, Ap))
        z = M(r)
        new = _real_dot(r, z).astype(gamma.dtype)
        return x, r, new, _add(z, _scaled(new / gamma, p)), k + 1

    r = _sub(b, A(x0))
    p = M(r)
    return lax.while_loop(goes_on, step, (x0, r, _real_dot(r, p), p, 0))[0]


class _Stabilised(NamedTuple):
    """The state of Bi-CGSTAB, in the letters of its paper.

    Attributes:
      x: the solution so far.
      r: its residual, b - A x.
      p: the direction of the next step.
      rho: the inner product of the first residual and ``r``.
      steps: the number of steps taken.
      is_stuck: whether a coefficient is zero, so that the next direction is undefined.
    """

    x: PyTree
    r: PyTree
    p: PyTree
    rho: Array
    steps: Array | int
    is_stuck: Array | bool


def _bicgstab(
    A: Operator, b: PyTree, x0: PyTree, *, tol: float, atol: float, maxiter: int, M: Operator
) -> PyTree:
    """Bi-CGSTAB, preconditioned from the right.

    A step has two parts: a step of biconjugate gradients along ``p``, with length ``alpha``, and a
    stabilising step along the residual, with the length ``omega`` that makes the residual smallest.
    """
    limit = _limit(b, tol, atol)
    first = _sub(b, A(x0))

    def goes_on(state: _Stabilised) -> Array:
        unfinished = jnp.logical_and(_real_dot(state.r, state.r) > limit, state.steps < maxiter)
        return jnp.logical_and(unfinished, jnp.logical_not(state.is_stuck))

    def step(state: _Stabilised) -> _Stabilised:
        p_hat = M(state.p)
        v = A(p_hat)
        alpha = state.rho / _full_dot(first, v)
        x, s = _add(state.x, _scaled(alpha, p_hat)), _sub(state.r, _scaled(alpha, v))
        s_hat = M(s)
        t = A(s_hat)
        omega = _full_dot(t, s) / _full_dot(t, t)
        # If s is small enough already, t may consist of rounding errors and omega be arbitrary;
        # then the second part is left out.
        stays = partial(jnp.where, _real_dot(s, s) < limit)
        x = tree_map(stays, x, _add(x, _scaled(omega, s_hat)))
        r = tree_map(stays, s, _sub(s, _scaled(omega, t)))
        rho = _full_dot(first, r)
        beta = rho / state.rho * alpha / omega
        p = _add(r, _scaled(beta, _sub(state.p, _scaled(omega, v))))
        is_stuck = jnp.logical_or(state.rho == 0, jnp.logical_or(alpha == 0, omega == 0))
        return _Stabilised(x, r, p, rho, state.steps + 1, is_stuck)

    start = _Stabilised(x0, first, first, _full_dot(first, first), 0, False)
    return lax.while_loop(goes_on, step, start).x


def _gmres(
    A: Operator,
    b: PyTree,
    x0: PyTree,
    *,
    tol: float,
    atol: float,
    maxiter: int,
    M: Operator,
    restart: int,
) -> tuple[PyTree, Array]:
    """GMRES, preconditioned from the left; pytrees are flattened to vectors."""
    flat_b, unravel = ravel_pytree(b)
    start, _ = ravel_pytree(x0)
    apply = lambda v: ravel_pytree(M(A(unravel(v))))[0]
    target = ravel_pytree(M(b))[0]
    restart = min(restart, flat_b.size)
    size = jnp.linalg.norm(flat_b)
    # The preconditioned residual is to be reduced by the same factor as the true one.
    share = jnp.minimum(1.0, jnp.maximum(tol * size, atol) / jnp.where(size == 0, 1, size))
    limit = jnp.linalg.norm(target) * share

    def goes_on(state: tuple[Any, ...]) -> Array:
        _, r, k = state
        return jnp.logical_and(jnp.linalg.norm(r) > limit, k < maxiter)

    def step(state: tuple[Any, ...]) -> tuple[Any, ...]:
        x, r, k = state
        x = x + _best_in_krylov_space(apply, r, restart)
        return x, target - apply(x), k + 1

    x, r, k = lax.while_loop(goes_on, step, (start, target - apply(start), 0))
    left = jnp.linalg.norm(r)
    # Every comparison with NaN is false, and ends the loop.
    info = jnp.where(left <= limit, 0, jnp.where(jnp.isnan(left), -1, jnp.maximum(k, 1)))
    return unravel(x), info


def _best_in_krylov_space(apply: Callable[[Array], Array], r: Array, restart: int) -> Array:
    """The correction in the space of r, A r, A² r, ... that makes the residual smallest.

    Arnoldi's process gives an orthonormal basis of the space and the Hessenberg matrix ``h`` of A
    in it, so that the correction is the solution of a small least squares problem.
    """
    eps = jnp.finfo(r.dtype).eps
    norm = jnp.linalg.norm(r)

    def extend(k: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        basis, h = carry
        w = apply(basis[k])
        before = jnp.linalg.norm(w)
        column = jnp.zeros(restart + 1, r.dtype)
        # Two passes of Gram-Schmidt are orthogonal to working precision (Giraud et al. 2005).
        for _ in range(2):
            shares = jnp.matmul(jnp.conj(basis), w, precision=lax.Precision.HIGHEST)
            w = w - jnp.matmul(shares, basis, precision=lax.Precision.HIGHEST)
            column = column + shares
        length = jnp.linalg.norm(w)
        # Without a new direction the space holds the solution.
        is_done = length <= eps * before
        w = jnp.where(is_done, 0, w / jnp.where(is_done, 1, length).astype(w.dtype))
        column = column.at[k + 1].set(jnp.where(is_done, 0, length).astype(w.dtype))
        # A column of zeros would make the matrix singular.
        column = jnp.where(before == 0, jnp.zeros_like(column).at[k].set(1), column)
        return basis.at[k + 1].set(w), h.at[:, k].set(column)

    basis = jnp.zeros((restart + 1, r.size), r.dtype)
    basis = basis.at[0].set(r / jnp.where(norm == 0, 1, norm).astype(r.dtype))
    h = jnp.zeros((restart + 1, restart), r.dtype)
    basis, h = lax.fori_loop(0, restart, extend, (basis, h))
    right = jnp.zeros(restart + 1, r.dtype).at[0].set(norm.astype(r.dtype))
    shares = jnp.linalg.lstsq(h, right)[0]
    return jnp.matmul(shares, basis[:-1], precision=lax.Precision.HIGHEST)


def cg(
    A: Operator | Matrix,
    b: PyTree,
    x0: PyTree | None = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Operator | Matrix | None = None,
) -> tuple[PyTree, None]:
    """The solution of ``A x = b`` by conjugate gradients, for a positive definite ``A``.

    Derivatives are those of the exact solution, computed by further solves with the same ``A``.

    Args:
      A: a Hermitian matrix, which may be a sparse array or any object with ``@``, or a linear
        function of pytrees like ``b``.
      b: the right-hand side, a pytree of arrays.
      x0: the start, by default zeros.
      tol, atol: the iteration stops when the residual's norm is max(tol · norm(b), atol) or less.
      maxiter: the limit of the number of steps, by default ten times the number of unknowns.
      M: a preconditioner: a matrix or linear function near the inverse of ``A``.

    Returns:
      The solution, like ``b``, and ``None``.

    Raises:
      TypeError: if ``A`` or ``M`` is neither a function nor a matrix, or ``A`` returns another
        structure than that of ``b``.
      ValueError: if a matrix is not square, or ``x0`` is not like ``b``.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy.sparse import linalg
      >>> x, _ = linalg.cg(np.float32([[2.0, 0.0], [0.0, 4.0]]), np.float32([2.0, 4.0]))
      >>> x.round(4).tolist()
      [1.0, 1.0]

    Source: Hestenes and Stiefel, "Methods of conjugate gradients for solving linear systems", 1952.
    """
    return _solved("cg", _cg, A, b, x0, tol, atol, maxiter, M, is_symmetric=True)


def bicgstab(
    A: Operator | Matrix,
    b: PyTree,
    x0: PyTree | None = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Operator | Matrix | None = None,
) -> tuple[PyTree, None]:
    """The solution of ``A x = b`` by stabilised biconjugate gradients, for any ``A``.

    Args:
      A: a matrix, or a linear function of pytrees like ``b``.
      b, x0, tol, atol, maxiter, M: as for ``cg``.

    Returns:
      The solution, like ``b``, and ``None``.

    Raises:
      TypeError, ValueError: as ``cg``.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy.sparse import linalg
      >>> x, _ = linalg.bicgstab(np.float32([[2.0, 1.0], [0.0, 4.0]]), np.float32([3.0, 4.0]))
      >>> x.round(3).tolist()
      [1.0, 1.0]

    Source: van der Vorst, "Bi-CGSTAB: a fast and smoothly converging variant of Bi-CG for the
    solution of nonsymmetric linear systems", 1992.
    """
    return _solved("bicgstab", _bicgstab, A, b, x0, tol, atol, maxiter, M, is_symmetric=False)


def gmres(
    A: Operator | Matrix,
    b: PyTree,
    x0: PyTree | None = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    restart: int = 20,
    maxiter: int | None = None,
    M: Operator | Matrix | None = None,
    solve_method: str = "batched",
) -> tuple[PyTree, Array]:
    """The solution of ``A x = b`` by the generalised minimal residual method, for any ``A``.

    Args:
      A: a matrix, or a linear function of pytrees like ``b``.
      b, x0, tol, atol, M: as for ``cg``.
      restart: the dimension of the Krylov space in which the residual is minimised, before a
        restart with a new space.
      maxiter: the limit of the number of spaces.
      solve_method: ``"batched"`` or ``"incremental"``, which are the same here: the residual is
        checked once for each space.

    Returns:
      The solution, like ``b``, and an integer: 0 if the solver converged, -1 if it met NaN, and
      otherwise the number of spaces, at least 1, after which the residual was too large.

    Raises:
      TypeError, ValueError: as ``cg``; ``ValueError`` also for an unknown ``solve_method`` or a
        ``restart`` that is not positive.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy.sparse import linalg
      >>> x, info = linalg.gmres(np.float32([[2.0, 1.0], [0.0, 4.0]]), np.float32([3.0, 4.0]))
      >>> x.round(3).tolist(), int(info)
      ([1.0, 1.0], 0)

    Source: Saad and Schultz, "GMRES", 1986.
    """
    check_choice("gmres", "solve_method", solve_method, ("batched", "incremental"))
    if restart < 1:
        raise ValueError(f"gmres: restart must be positive, got {restart}.")
    method = partial(_gmres, restart=restart)
    return _solved(
        "gmres", method, A, b, x0, tol, atol, maxiter, M, is_symmetric=False, has_info=True
    )
