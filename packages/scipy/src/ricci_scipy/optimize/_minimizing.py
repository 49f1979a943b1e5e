"""Minimisation of functions of vectors by quasi-Newton methods, with a line search."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_autodiff import value_and_grad
from ricci_ir import Array, ArrayLike, PyTree

__all__ = ["OptimizeResults", "minimize"]

# The constants of Wolfe's conditions: sufficient decrease, and curvature.
_DECREASE, _CURVATURE = 1e-4, 0.9


class Point(NamedTuple):
    """A point on the line: the step that leads to it, and the function's value, slope, gradient."""

    step: Array
    value: Array
    slope: Array
    gradient: Array


class LineSearchResult(NamedTuple):
    """A point, whether both conditions hold there, and the number of evaluations."""

    point: Point
    success: Array | bool
    evaluations: Array | int


class _Search(NamedTuple):
    """The state of the search.

    Before there is a bracket, ``low`` is the last point tried. Then a solution lies between
    ``low``, the lowest point so far with enough decrease, and ``high``.
    """

    low: Point
    high: Point
    best: Point
    has_bracket: Array | bool
    done: Array | bool
    tries: Array | int


def _choose(condition: Array, x: Point, y: Point) -> Point:
    return Point(*[jnp.where(condition, a, b) for a, b in zip(x, y, strict=True)])


def _cubic_minimum(a: Point, b: Point) -> Array:
    """The minimum of the cubic with the values and slopes of two points; NaN if there is none."""
    d1 = a.slope + b.slope - 3 * (a.value - b.value) / (a.step - b.step)
    d2 = jnp.sign(b.step - a.step) * jnp.sqrt(d1 * d1 - a.slope * b.slope)
    return b.step - (b.step - a.step) * (b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2)


def _between(low: Point, high: Point) -> Array:
    """A step inside a bracket: the cubic's minimum if it is well inside, else the midpoint."""
    guess = _cubic_minimum(low, high)
    start, end = jnp.minimum(low.step, high.step), jnp.maximum(low.step, high.step)
    margin = 0.1 * (end - start)
    is_inside = jnp.logical_and(guess > start + margin, guess < end - margin)
    return jnp.where(is_inside, guess, (start + end) / 2)


def line_search(
    fun: Callable[[Array], tuple[Array, Array]],
    x: Array,
    direction: Array,
    value: Array,
    gradient: Array,
    first_step: Array,
    maxiter: int,
) -> LineSearchResult:
    """Search a direction for a point where the strong Wolfe conditions hold.

    Args:
      fun: gives the value and the gradient at a vector.
      x: the start, a vector.
      direction: a vector along which the function decreases.
      value, gradient: the function's value and gradient at ``x``.
      first_step: the multiple of ``direction`` to try first.
      maxiter: the limit of the number of evaluations.

    Returns:
      The point found or, where ``success`` is false, the lowest one with enough decrease.

    Source: Nocedal and Wright, "Numerical optimization", algorithms 3.5 and 3.6.
    """
    dot = lambda u, v: jnp.vdot(u, v, precision=lax.Precision.HIGHEST)

    def at(step: Array) -> Point:
        value_at, slope = fun(x + step * direction)
        return Point(step, value_at, dot(slope, direction), slope)

    start = Point(jnp.zeros_like(first_step), value, dot(gradient, direction), gradient)

    def advance(state: _Search) -> _Search:
        low, high = state.low, state.high
        grown = jnp.where(state.tries == 0, first_step, 2 * low.step)
        new = at(jnp.where(state.has_bracket, _between(low, high), grown))
        allowed = start.value + _DECREASE * new.step * start.slope
        # Negated comparisons, so that NaN counts as too high.
        too_high = jnp.logical_not(jnp.logical_and(new.value <= allowed, new.value < low.value))
        too_high = jnp.where(state.tries == 0, jnp.logical_not(new.value <= allowed), too_high)
        is_flat = jnp.abs(new.slope) <= -_CURVATURE * start.slope
        done = jnp.logical_and(jnp.logical_not(too_high), is_flat)
        # In a bracket, a slope that rises towards the high end means that the minimum was passed.
        ahead = jnp.where(state.has_bracket, high.step - low.step, 1)
        passed = jnp.logical_and(jnp.logical_not(too_high), new.slope * ahead >= 0)
        next_high = _choose(too_high, new, _choose(passed, low, high))
        next_low = _choose(too_high, low, new)
        is_better = jnp.logical_and(new.value < state.best.value, new.value <= allowed)
        best = _choose(jnp.logical_or(done, is_better), new, state.best)
        has_bracket = jnp.logical_or(state.has_bracket, jnp.logical_or(too_high, passed))
        return _Search(next_low, next_high, best, has_bracket, done, state.tries + 1)

    def goes_on(state: _Search) -> Array:
        return jnp.logical_and(jnp.logical_not(state.done), state.tries < maxiter)

    final = lax.while_loop(goes_on, advance, _Search(start, start, start, False, False, 0))
    return LineSearchResult(final.best, final.done, final.tries)


_LBFGS = "l-bfgs-experimental-do-not-rely-on-this"

# Values of ``status``; a state that goes on has _UNFINISHED.
_CONVERGED, _OUT_OF_STEPS, _OUT_OF_CALLS, _STUCK = 0, 1, 2, 5
_UNFINISHED = -1


class OptimizeResults(NamedTuple):
    """The result of ``minimize``.

    Attributes:
      x: the solution.
      success: whether it is a minimum to the given tolerance.
      status: why the run ended: 0 for convergence, 1 after ``maxiter`` steps, 2 after ``maxfun`` or
        ``maxgrad`` evaluations, 5 if the line search found no lower value.
      fun, jac: the value and the gradient at the solution.
      hess_inv: an estimate of the inverse of the Hessian, or ``None``.
      nfev, njev, nit: the numbers of values, gradients and steps computed.

    Example:
      >>> import numpy as np
      >>> import ricci.numpy as jnp
      >>> from ricci.scipy import optimize
      >>> bowl = lambda x: jnp.sum((x - 1.0) ** 2)
      >>> found = optimize.minimize(bowl, np.zeros(2, np.float32), method="BFGS")
      >>> found.x.tolist(), bool(found.success)
      ([1.0, 1.0], True)
    """

    x: Array
    success: Array
    status: Array
    fun: Array
    jac: Array
    hess_inv: Array | None
    nfev: Array | int
    njev: Array | int
    nit: Array | int


class _State(NamedTuple):
    """The state of a run; ``memory`` is the method's estimate of the inverse Hessian."""

    x: Array
    value: Array
    gradient: Array
    memory: PyTree
    status: Array
    evaluations: Array | int
    steps: Array | int


def minimize(
    fun: Callable[..., ArrayLike],
    x0: ArrayLike,
    args: tuple[Any, ...] = (),
    *,
    method: str,
    tol: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> OptimizeResults:
    """Find a local minimum of a function of a vector, from a start.

    ``jit`` and ``vmap`` (over starts) apply; reverse-mode differentiation does not.

    Args:
      fun: ``fun(x, *args)`` gives a scalar, and is differentiable in ``x``.
      x0: the start, a vector of floats.
      args: further arguments of ``fun``.
      method: ``"BFGS"``, or ``"l-bfgs-experimental-do-not-rely-on-this"``, which stores no
        matrix.
      tol: ignored; use ``options``.
      options: for both methods ``maxiter``, ``norm`` (the order of the gradient's norm) and
        ``gtol`` (the norm at which to stop); for BFGS ``line_search_maxiter``; for the other
        ``maxcor`` (how many steps to store), ``ftol`` (the relative decrease at which to stop),
        ``maxfun``, ``maxgrad`` and ``maxls``.

    Returns:
      An ``OptimizeResults``.

    Raises:
      TypeError: if ``args`` is not a tuple, an option is unknown, or ``x0`` is not floating.
      ValueError: if the method is unknown, or ``x0`` is not a vector.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy import optimize
      >>> rosenbrock = lambda x: 100.0 * (x[1] - x[0] ** 2) ** 2 + (1.0 - x[0]) ** 2
      >>> optimize.minimize(rosenbrock, np.float32([-1.0, 1.0]), method="BFGS").x.round(2).tolist()
      [1.0, 1.0]

    Source: Nocedal and Wright, "Numerical optimization", algorithms 6.1 and 7.5.
    """
    if not isinstance(args, tuple):
        raise TypeError(f"minimize: args must be a tuple, got {args!r}. For one, write (arg,).")
    run = {"bfgs": _bfgs, _LBFGS: _lbfgs}.get(method.lower())
    if run is None:
        raise ValueError(f"minimize: method={method!r} is unknown; it is 'BFGS' or {_LBFGS!r}.")
    x0 = jnp.asarray(x0)
    if x0.ndim != 1:
        raise ValueError(f"minimize: x0 must be a vector, got shape {x0.shape}.")
    return run(value_and_grad(lambda x: fun(x, *args)), x0, **(options or {}))


def _norm(x: Array, order: float | str | None) -> Array:
    return jnp.linalg.norm(x, ord=order)


def _descend(
    fun: Callable[[Array], tuple[Array, Array]],
    x0: Array,
    memory: PyTree,
    direction_of: Callable[[Array, PyTree], Array],
    remember: Callable[[PyTree, Array, Array, Array | int], PyTree],
    *,
    maxiter: int,
    norm: float | str | None,
    gtol: float,
    maxls: int,
    ftol: float = 0.0,
    maxcalls: float | None = None,
) -> _State:
    """Minimise by line searches, in directions computed from the gradient and the memory.

    ``remember`` updates the memory from the last step, the change of the gradient and the number
    of steps.
    """

    def step(state: _State) -> _State:
        direction = direction_of(state.gradient, state.memory)
        size = jnp.sum(jnp.abs(state.gradient))
        # The function's scale is unknown at first, so the first step has a length of 1 or less.
        first = jnp.where(state.steps == 0, jnp.minimum(1.0, 1.0 / jnp.where(size > 0, size, 1)), 1)
        search = line_search(
            fun, state.x, direction, state.value, state.gradient, first.astype(state.x.dtype), maxls
        )
        new = search.point
        change = new.step * direction
        memory = remember(state.memory, change, new.gradient - state.gradient, state.steps)
        evaluations = state.evaluations + search.evaluations
        decrease = state.value - new.value
        scale = jnp.maximum(jnp.maximum(jnp.abs(state.value), jnp.abs(new.value)), 1)
        is_minimum = _norm(new.gradient, norm) < gtol
        is_flat = jnp.logical_and(ftol > 0, decrease <= ftol * scale)
        status = jnp.where(state.steps + 1 >= maxiter, _OUT_OF_STEPS, _UNFINISHED)
        if maxcalls is not None:
            status = jnp.where(evaluations >= maxcalls, _OUT_OF_CALLS, status)
        status = jnp.where(jnp.logical_and(search.success, is_flat), _CONVERGED, status)
        # If no step satisfies both conditions, the run goes on from a lower point, if there is one.
        status = jnp.where(new.step > 0, status, _STUCK)
        status = jnp.where(is_minimum, _CONVERGED, status)
        x = state.x + change
        return _State(x, new.value, new.gradient, memory, status, evaluations, state.steps + 1)

    value, gradient = fun(x0)
    status = jnp.where(_norm(gradient, norm) < gtol, _CONVERGED, _UNFINISHED)
    state = _State(x0, value, gradient, memory, status, 1, 0)
    return lax.while_loop(lambda s: s.status == _UNFINISHED, step, state)


def _results(state: _State, hess_inv: Array | None) -> OptimizeResults:
    return OptimizeResults(
        x=state.x,
        success=lax.convert_element_type(state.status == _CONVERGED, np.bool_),
        status=state.status,
        fun=state.value,
        jac=state.gradient,
        hess_inv=hess_inv,
        nfev=state.evaluations,
        njev=state.evaluations,
        nit=state.steps,
    )


def _bfgs(
    fun: Callable[[Array], tuple[Array, Array]],
    x0: Array,
    *,
    maxiter: int | None = None,
    norm: float | str | None = np.inf,
    gtol: float = 1e-5,
    line_search_maxiter: int = 20,
) -> OptimizeResults:
    size = x0.shape[0]
    one = jnp.eye(size, dtype=x0.dtype)
    dot = lambda a, b: jnp.dot(a, b, precision=lax.Precision.HIGHEST)

    def remember(h: Array, s: Array, y: Array, steps: Array | int) -> Array:
        product = dot(s, y)
        is_curved = product > 0
        rho = 1 / jnp.where(is_curved, product, 1)
        # The first estimate is scaled by the curvature along the first step (section 6.1).
        scale = product / jnp.where(is_curved, dot(y, y), 1)
        h = jnp.where(jnp.logical_and(steps == 0, is_curved), scale * one, h)
        # Equation 6.17. It preserves positive definiteness only if s·y > 0; other updates are
        # skipped.
        left = one - rho * s[:, None] * y[None, :]
        updated = dot(dot(left, h), left.T) + rho * s[:, None] * s[None, :]
        return jnp.where(is_curved, updated, h)

    state = _descend(
        fun,
        x0,
        one,
        lambda gradient, h: -dot(h, gradient),
        remember,
        maxiter=size * 200 if maxiter is None else maxiter,
        norm=norm,
        gtol=gtol,
        maxls=line_search_maxiter,
    )
    return _results(state, state.memory)


def _lbfgs(
    fun: Callable[[Array], tuple[Array, Array]],
    x0: Array,
    *,
    maxiter: int | None = None,
    norm: float | str | None = np.inf,
    maxcor: int = 10,
    ftol: float = 2.220446049250313e-09,
    gtol: float = 1e-05,
    maxfun: float | None = None,
    maxgrad: float | None = None,
    maxls: int = 20,
) -> OptimizeResults:
    size = x0.shape[0]
    dot = lambda a, b: jnp.dot(a, b, precision=lax.Precision.HIGHEST)
    zeros = jnp.zeros((maxcor, size), x0.dtype)
    # The last steps s, the changes y of the gradient, 1 / (s·y), and the scale of the first
    # estimate. Rows that are not filled yet are 0, and so add nothing below.
    memory = (zeros, zeros, jnp.zeros(maxcor, x0.dtype), jnp.ones((), x0.dtype))

    def remember(
        memory: tuple[Array, ...], s: Array, y: Array, steps: Array | int
    ) -> tuple[Array, ...]:
        product = dot(s, y)
        is_curved = product > 0
        rho = 1 / jnp.where(is_curved, product, 1)
        gamma = product / jnp.where(is_curved, dot(y, y), 1)
        shifted = [
            jnp.concatenate([stored[1:], new[None]])
            for stored, new in zip(memory, (s, y, rho), strict=False)
        ]
        return tuple(
            [jnp.where(is_curved, a, b) for a, b in zip((*shifted, gamma), memory, strict=True)]
        )

    # The product of the estimate and the gradient, by the two loops of algorithm 7.4.
    def direction_of(gradient: Array, memory: tuple[Array, ...]) -> Array:
        steps, changes, rho, gamma = memory

        def backwards(i: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
            q, shares = carry
            j = maxcor - 1 - i
            share = rho[j] * dot(steps[j], q)
            return q - share * changes[j], shares.at[j].set(share)

        def forwards(j: Array, r: Array) -> Array:
            return r + steps[j] * (shares[j] - rho[j] * dot(changes[j], r))

        shares = jnp.zeros(maxcor, x0.dtype)
        q, shares = lax.fori_loop(0, maxcor, backwards, (gradient, shares))
        return -lax.fori_loop(0, maxcor, forwards, gamma * q)

    limits = [n for n in (maxfun, maxgrad) if n is not None]
    state = _descend(
        fun,
        x0,
        memory,
        direction_of,
        remember,
        maxiter=size * 200 if maxiter is None else maxiter,
        norm=norm,
        gtol=gtol,
        maxls=maxls,
        ftol=ftol,
        maxcalls=min(limits) if limits else None,
    )
    return _results(state, None)
