"""Line search: how far to go in a direction that leads downwards."""

from collections.abc import Callable
from typing import Any, NamedTuple

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import Array, ArrayLike

_DECREASE, _CURVATURE = 1e-4, 0.9


class Point(NamedTuple):
    """A place on the line: how far it is, the value there, the slope and the gradient."""

    step: Any
    value: Any
    slope: Any
    gradient: Any


class Found(NamedTuple):
    """What a search found: the place, whether both conditions hold there, its evaluations."""

    point: Point
    success: Any
    evaluations: Any


class _State(NamedTuple):
    low: Point
    high: Point
    best: Point
    has_bracket: Any
    done: Any
    count: Any


def _choose(condition: Array, x: Point, y: Point) -> Point:
    return Point(*[jnp.where(condition, a, b) for a, b in zip(x, y, strict=True)])


def _cubic_minimum(a: Point, b: Point) -> Array:
    """Where the cubic through two places, with their slopes, is least; NaN if nowhere."""
    d1 = a.slope + b.slope - 3 * (a.value - b.value) / (a.step - b.step)
    d2 = jnp.sign(b.step - a.step) * jnp.sqrt(d1 * d1 - a.slope * b.slope)
    return b.step - (b.step - a.step) * (b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2)


def _between(low: Point, high: Point) -> Array:
    """A place inside of a bracket: by interpolation, if that lies well inside, else the middle."""
    guess = _cubic_minimum(low, high)
    start, end = jnp.minimum(low.step, high.step), jnp.maximum(low.step, high.step)
    margin = 0.1 * (end - start)
    is_inside = jnp.logical_and(guess > start + margin, guess < end - margin)
    return jnp.where(is_inside, guess, (start + end) / 2)


def line_search(
    fun: Callable[[Any], tuple[Any, Any]],
    x: ArrayLike,
    direction: Any,
    value: Any,
    gradient: Any,
    first_step: Any,
    maxiter: int,
) -> Found:
    """A place in a direction where Wolfe's strong conditions hold.

    Args:
      fun: the value and the gradient at a vector.
      x: where to start, a vector.
      direction: a vector along which the function decreases.
      value, gradient: those at ``x``.
      first_step: the multiple of ``direction`` to try first.
      maxiter: how many places to try at most.

    Returns:
      The place that was found, or, where ``success`` is false, the lowest one seen.

    Source: Nocedal and Wright, "Numerical optimization", algorithms 3.5 and 3.6.
    """
    dot = lambda u, v: jnp.vdot(u, v, precision=lax.Precision.HIGHEST)

    def at(step: Any) -> Point:
        found, slope = fun(x + step * direction)
        return Point(step, found, dot(slope, direction), slope)

    start = Point(jnp.zeros_like(first_step), value, dot(gradient, direction), gradient)

    def advance(state: _State) -> _State:
        low, high = state.low, state.high
        grown = jnp.where(state.count == 0, first_step, 2 * low.step)
        new = at(jnp.where(state.has_bracket, _between(low, high), grown))
        allowed = start.value + _DECREASE * new.step * start.slope
        # A value that is no number is too high, too.
        too_high = jnp.logical_not(jnp.logical_and(new.value <= allowed, new.value < low.value))
        too_high = jnp.where(state.count == 0, jnp.logical_not(new.value <= allowed), too_high)
        is_flat = jnp.abs(new.slope) <= -_CURVATURE * start.slope
        done = jnp.logical_and(jnp.logical_not(too_high), is_flat)
        # In a bracket the slope at its low end points to the high one.
        ahead = jnp.where(state.has_bracket, high.step - low.step, 1)
        passed = jnp.logical_and(jnp.logical_not(too_high), new.slope * ahead >= 0)
        next_high = _choose(too_high, new, _choose(passed, low, high))
        next_low = _choose(too_high, low, new)
        is_better = jnp.logical_and(new.value < state.best.value, new.value <= allowed)
        best = _choose(jnp.logical_or(done, is_better), new, state.best)
        has_bracket = jnp.logical_or(state.has_bracket, jnp.logical_or(too_high, passed))
        return _State(next_low, next_high, best, has_bracket, done, state.count + 1)

    def goes_on(state: _State) -> Array:
        return jnp.logical_and(jnp.logical_not(state.done), state.count < maxiter)

    final = lax.while_loop(goes_on, advance, _State(start, start, start, False, False, 0))
    return Found(final.best, final.done, final.count)
