"""LOBPCG: the largest eigenvalues of a symmetric operator, by a block method."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import Array, ArrayLike, eval_shape
from ricci_sparse._base import JAXSparse

__all__ = ["lobpcg_standard"]

_product = partial(jnp.matmul, precision=lax.Precision.HIGHEST)


class _State(NamedTuple):
    """The state of the iteration.

    Attributes:
      step: the number of completed iterations.
      converged: the number of eigenvalues that have converged.
      x: the approximate eigenvectors, with columns of length 1.
      p: the directions of the last step, orthonormal; columns of zeros where there are fewer.
      r: the residuals ``A x - x theta``.
      theta: the approximate eigenvalues, the largest first.
    """

    step: Array
    converged: Array
    x: Array
    p: Array
    r: Array
    theta: Array


def lobpcg_standard(
    A: Array | JAXSparse | Callable[[Array], Array],
    X: Array,
    m: int = 100,
    tol: Array | float | None = None,
) -> tuple[Array, Array, Array]:
    """Compute the largest eigenvalues of a symmetric matrix, and their eigenvectors.

    Each step applies the Rayleigh-Ritz method to the span of the approximate
    eigenvectors, their residuals and the directions of the previous step.

    Args:
      A: a symmetric matrix of shape ``(n, n)``, which may be sparse, or a function that multiplies
        one with a matrix of shape ``(n, k)``.
      X: the first approximation of the ``k`` eigenvectors, of shape ``(n, k)``, where
        ``5 * k < n``. Its columns must be linearly independent.
      m: the maximum number of steps.
      tol: the tolerance: the iteration ends when each residual is shorter than
        ``10 * n * tol`` times the eigenvalue and the length of ``A x``. By default the spacing of
        the dtype's numbers at 1.

    Returns:
      The eigenvalues, the largest first, of shape ``(k,)``; the eigenvectors as columns of a matrix
      of shape ``(n, k)``; and the number of steps.

    Raises:
      ValueError: if the shapes or dtypes do not fit, or ``k`` is too large.

    Example:
      >>> from ricci.experimental.sparse import linalg
      >>> import numpy as np
      >>> X = np.random.default_rng(0).normal(size=(10, 1)).astype(np.float32)
      >>> theta, U, _ = linalg.lobpcg_standard(np.diag(np.arange(1, 11, dtype=np.float32)), X)
      >>> theta.round(2)
      Array([10.], dtype=float32)

    Source: A. Knyazev, "Toward the optimal preconditioned eigensolver", SIAM Journal on Scientific
    Computing 23 (2001).
    """
    X = jnp.asarray(X)
    multiply = _operator(A)
    _check(multiply, X, m)
    n = X.shape[0]
    bound: Any = jnp.finfo(X.dtype).eps if tol is None else tol
    first = _start(multiply, X)
    if isinstance(A, JAXSparse) or not callable(A):
        matrix = A if isinstance(A, JAXSparse) else jnp.asarray(A)
        last = lax.while_loop(_goes_on, _advance, _Iteration(matrix, bound, m, first)).state
    else:
        # Partial applications of equal arguments share their trace, unlike closures.
        last = lax.while_loop(partial(_is_unfinished, m), partial(_step, multiply, n, bound), first)
    return last.theta, last.x, last.step


class _Iteration(NamedTuple):
    """Carry of the loop over a matrix.

    The matrix, the tolerance and the maximum number of steps are carried, so that the functions of
    the loop are the same in each call: it is compiled once for operands of the same types.
    """

    matrix: Array | JAXSparse
    tol: Array | float
    m: Array | int
    state: _State


def _goes_on(loop: _Iteration) -> Array:
    return _is_unfinished(loop.m, loop.state)


def _is_unfinished(m: Array | int, state: _State) -> Array:
    return (state.step < m) & (state.converged < state.x.shape[1])


def _advance(loop: _Iteration) -> _Iteration:
    multiply, n = _operator(loop.matrix), loop.state.x.shape[0]
    return loop._replace(state=_step(multiply, n, loop.tol, loop.state))


def _operator(A: Any) -> Callable[[Array], Array]:
    if isinstance(A, JAXSparse):
        return lambda x: A @ x  # pyright: ignore[reportOperatorIssue]
    if callable(A):
        return A  # pyright: ignore[reportReturnType]
    return partial(_product, jnp.asarray(A))


def _check(multiply: Callable[[Array], Array], X: Array, m: int) -> None:
    if X.ndim != 2:
        raise ValueError(f"lobpcg_standard: X must be a matrix, got shape {X.shape}.")
    n, k = X.shape
    try:
        image = eval_shape(multiply, X)
    except TypeError as error:
        raise ValueError(
            f"lobpcg_standard: A cannot be multiplied with X, which has shape {X.shape}. {error}"
        ) from error
    if image.shape != X.shape:
        raise ValueError(
            f"lobpcg_standard: A must keep the shape of X, {X.shape}, but gives {image.shape}."
        )
    if image.dtype != X.dtype:
        raise ValueError(
            f"lobpcg_standard: A must keep the dtype of X, {X.dtype.name}, but gives "
            f"{image.dtype.name}."
        )
    if k * 5 >= n:
        raise ValueError(
            f"lobpcg_standard: X has {k} columns of length {n}; the method needs that 5 times the "
            "number of columns is less than their length. Use linalg.eigh for so small a matrix."
        )


def _start(multiply: Callable[[Array], Array], X: Array) -> _State:
    x = _orthonormal(X)
    x, theta, image = _ritz(x, multiply(x))
    zero = jnp.zeros((), jnp.int32)
    return _State(zero, zero, x, jnp.zeros_like(x), image - x * theta[None], theta)


def _ritz(x: Array, image: Array) -> tuple[Array, Array, Array]:
    """Rayleigh-Ritz approximations in the span of orthonormal ``x``, given its image."""
    theta, vectors = jnp.linalg.eigh(_symmetric(_product(x.T, image)))
    # eigh sorts ascending; here the largest come first.
    vectors = vectors[:, ::-1]
    return _product(x, vectors), theta[::-1], _product(image, vectors)


def _symmetric(a: Array) -> Array:
    return (a + a.T) / 2


def _step(multiply: Callable[[Array], Array], n: int, tol: Array | float, state: _State) -> _State:
    k = state.x.shape[1]
    # The three blocks of LOBPCG: current vectors x, previous directions p, residuals r. Each new
    # block is made orthogonal to the ones before, so that Rayleigh-Ritz is a standard eigenvalue
    # problem.
    r = _orthonormal_complement(jnp.concatenate([state.x, state.p], axis=1), state.r)
    basis = jnp.concatenate([state.x, state.p, r], axis=1)
    image = multiply_parts(multiply, basis, k)
    gram = _symmetric(_product(basis.T, image))
    # Columns of zeros add no direction: their eigenvalues are put below all others.
    missing = jnp.sum(basis**2, axis=0) < 0.5
    lowest = -2 * jnp.sqrt(jnp.sum(gram**2)) - 1
    gram = gram + jnp.diag(jnp.where(missing, lowest, 0))
    # Rayleigh-Ritz in the span of x, p and r; eigh sorts ascending, and the largest are wanted.
    theta, vectors = jnp.linalg.eigh(gram)
    theta, vectors = theta[::-1][:k], vectors[:, ::-1][:, :k]
    vectors = jnp.where(missing[:, None], 0, vectors)
    x = _orthonormal(_product(basis, vectors))
    # The part of the step that is not along x: the direction of the next iteration.
    p = _orthonormal_complement(x, _product(basis[:, k:], vectors[k:]))
    x, theta, image = _ritz(x, multiply(x))
    new = _State(state.step + 1, state.converged, x, p, image - x * theta[None], theta)
    return new._replace(converged=_count_converged(new, n, tol))


def multiply_parts(multiply: Callable[[Array], Array], basis: Array, k: int) -> Array:
    """The images of a basis, ``k`` vectors at a time, the shape for which A was checked."""
    return jnp.concatenate([multiply(basis[:, i : i + k]) for i in range(0, 3 * k, k)], axis=1)


def _count_converged(state: _State, n: int, tol: ArrayLike) -> Array:
    length = jnp.linalg.norm(state.r, axis=0)
    image = jnp.linalg.norm(state.r + state.x * state.theta[None], axis=0)
    # Relative to ‖A x‖ + |θ|, the size of the two terms whose difference the residual is; n for the
    # growth of rounding errors in a product of length n.
    bound = 10 * n * tol * (jnp.abs(state.theta) + image)
    return jnp.sum(length < bound).astype(jnp.int32)


def _orthonormal(x: Array) -> Array:
    """An orthonormal basis of the span of columns, padded with columns of zeros.

    The columns are scaled first, so that the cut-off does not depend on their lengths. A second
    pass removes the rounding errors of the first one.
    """
    tiny = jnp.finfo(x.dtype).tiny
    x = x / jnp.maximum(jnp.linalg.norm(x, axis=0, keepdims=True), tiny)
    for _ in range(2):
        squares, vectors = jnp.linalg.eigh(_symmetric(_product(x.T, x)))
        significant = squares > x.shape[0] * jnp.finfo(x.dtype).eps * jnp.max(squares)
        factors = jnp.where(significant, 1 / jnp.sqrt(jnp.where(significant, squares, 1)), 0)
        x = _product(x, vectors[:, ::-1] * factors[None, ::-1])
    return x


def _orthonormal_complement(basis: Array, x: Array) -> Array:
    """Orthonormalise columns against an orthonormal basis."""
    tiny = jnp.finfo(x.dtype).tiny
    x = x / jnp.maximum(jnp.linalg.norm(x, axis=0, keepdims=True), tiny)
    for _ in range(2):
        x = x - _product(basis, _product(basis.T, x))
        x = _orthonormal(x)
    return x - _product(basis, _product(basis.T, x))
