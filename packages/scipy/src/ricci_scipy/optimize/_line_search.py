"""Line search: the length of a step in a direction of descent."""

from collections.abc import Callable
from typing import NamedTuple

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import Array

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


class _State(NamedTuple):
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

    def advance(state: _State) -> _State:
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
        return _State(next_low, next_high, best, has_bracket, done, state.tries + 1)

    def goes_on(state: _State) -> Array:
        return jnp.logical_and(jnp.logical_not(state.done), state.tries < maxiter)

    final = lax.while_loop(goes_on, advance, _State(start, start, start, False, False, 0))
    return LineSearchResult(final.best, final.done, final.tries)
