"""One step of the Runge-Kutta method of Dormand and Prince, and the control of its size.

J. R. Dormand, P. J. Prince: A family of embedded Runge-Kutta formulae (1980) gives the method of
order 5 with an estimate of the error by one of order 4; L. F. Shampine: Some practical Runge-Kutta
formulas (1986) the value half way through a step, which an interpolating polynomial of degree 4
needs; E. Hairer, S. P. Nørsett, G. Wanner: Solving ordinary differential equations I, chapter II.4,
the size of the first step and of the next ones.
"""

from collections.abc import Callable, Sequence
from typing import Any

import ricci_numpy as jnp
from ricci_ir import Array, ArrayLike

__all__ = ["abs2", "fit_4th_order_polynomial", "initial_step_size", "interp_fit_dopri"]
__all__ += ["mean_error_ratio", "optimal_step_size", "runge_kutta_step"]

# The stages: the time of each, as a part of the step, and the weights of the stages before it.
_STAGES: tuple[tuple[float, tuple[float, ...]], ...] = (
    (1 / 5, (1 / 5,)),
    (3 / 10, (3 / 40, 9 / 40)),
    (4 / 5, (44 / 45, -56 / 15, 32 / 9)),
    (8 / 9, (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729)),
    (1.0, (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656)),
    (1.0, (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84)),
)
# The solution of order 5 less that of order 4; the last stage is the start of the next step.
_ERROR = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)
_MIDPOINT = (
    6025192743 / 30085553152 / 2,
    0.0,
    51252292925 / 65400821598 / 2,
    -2691868925 / 45128329728 / 2,
    187940372067 / 1594534317056 / 2,
    -1776094331 / 19743644256 / 2,
    11237099 / 235043384 / 2,
)


def _combined(weights: Sequence[float], slopes: Sequence[Array]) -> Array:
    terms = [w * k for w, k in zip(weights, slopes, strict=True) if w]
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def runge_kutta_step(
    func: Callable[[Array, Any], Array], y0: Array, f0: Array, t0: ArrayLike, dt: ArrayLike
) -> tuple[Array, Array, Array, Array]:
    """A step of order 5.

    Args:
      func: ``func(y, t)`` gives the slope.
      y0, f0: the state at ``t0``, a vector, and the slope there.
      dt: the size of the step.
      t0: the time at the start.

    Returns:
      The state after the step, the slope there, an estimate of the error, and the slopes of all
      seven stages.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental import ode
      >>> y = jnp.array([1.0])
      >>> end, slope, error, k = ode.runge_kutta_step(lambda y, t: -y, y, -y, 0.0, 0.1)
      >>> end.round(4).tolist() == jnp.exp(jnp.array([-0.1])).round(4).tolist(), k.shape
      (True, (7, 1))
    """
    step = _in(y0, dt)
    slopes = [f0]
    state = y0
    for part, weights in _STAGES:
        state = y0 + step * _combined(weights, slopes)
        slopes.append(func(state, t0 + dt * part))
    error = step * _combined(_ERROR, slopes)
    return state, slopes[-1], error, jnp.stack(slopes)


def _in(y: Array, x: ArrayLike) -> Array:
    """A real number in the dtype of a state."""
    return jnp.asarray(x).astype(y.dtype)


def interp_fit_dopri(y0: Array, y1: Array, k: Array, dt: ArrayLike) -> Array:
    """The polynomial through a step: its coefficients, highest first.

    Args:
      y0, y1: the states before and after the step.
      k: the slopes of its stages.
      dt: its size. The polynomial's variable is the part of the step.

    Returns:
      An array of five coefficients for each element of the state.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental import ode
      >>> y, slope = jnp.array([1.0]), lambda y, t: jnp.ones(1)
      >>> end, _, _, k = ode.runge_kutta_step(slope, y, slope(y, 0.0), 0.0, 0.5)
      >>> fitted = ode.interp_fit_dopri(y, end, k, 0.5)
      >>> jnp.polyval(jnp.array(fitted), 0.5).round(4).tolist()
      [1.25]
    """
    middle = y0 + _in(y0, dt) * _combined(_MIDPOINT, list(k))
    return jnp.stack(fit_4th_order_polynomial(y0, y1, middle, k[0], k[-1], dt))


def fit_4th_order_polynomial(
    y0: Array, y1: Array, y_mid: Array, dy0: Array, dy1: Array, dt: ArrayLike
) -> tuple[Array, Array, Array, Array, Array]:
    """The polynomial of degree 4 with given values at 0, 1/2 and 1 and slopes at 0 and 1.

    Args:
      y0, y1, y_mid: the values at 0, at 1 and half way.
      dy0, dy1: the slopes, by a variable of which the interval has the length ``dt``.
      dt: the length of the interval.

    Returns:
      Five coefficients, highest first, of the variable that goes from 0 to 1.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental import ode
      >>> zero, one = jnp.array(0.0), jnp.array(1.0)
      >>> square = ode.fit_4th_order_polynomial(zero, one, one / 4, zero, 2 * one, 1.0)
      >>> [float(c) for c in square]
      [0.0, 0.0, 1.0, 0.0, 0.0]
    """
    step = _in(y0, dt)
    s0, s1 = step * dy0, step * dy1
    a = 2 * (s1 - s0) - 8 * (y1 + y0) + 16 * y_mid
    b = 5 * s0 - 3 * s1 + 18 * y0 + 14 * y1 - 32 * y_mid
    c = s1 - 4 * s0 - 11 * y0 - 5 * y1 + 16 * y_mid
    return a, b, c, s0, y0


def abs2(x: ArrayLike) -> Array:
    """The square of the absolute value, without its root.

    Args:
      x: an array of real or complex numbers.

    Returns:
      A real array of the shape of ``x``.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental import ode
      >>> ode.abs2(jnp.array([3 + 4j])).tolist()
      [25.0]
    """
    x = jnp.asarray(x)
    return jnp.square(x.real) + jnp.square(x.imag) if jnp.iscomplexobj(x) else jnp.square(x)


def mean_error_ratio(
    error_estimate: Array, rtol: ArrayLike, atol: ArrayLike, y0: Array, y1: Array
) -> Array:
    """The root mean square of the errors, each relative to its tolerance.

    Args:
      error_estimate: the errors of a step.
      rtol, atol: an error of ``atol + rtol * |y|`` is allowed.
      y0, y1: the states before and after the step, of which the larger counts.

    Returns:
      A scalar array; a step is exact enough up to 1.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental import ode
      >>> y = jnp.array([1.0, 1.0])
      >>> round(float(ode.mean_error_ratio(jnp.array([1e-3, 1e-3]), 0.0, 1e-3, y, y)), 4)
      1.0
    """
    allowed = atol + rtol * jnp.maximum(jnp.abs(y0), jnp.abs(y1))
    return jnp.sqrt(jnp.mean(abs2(error_estimate / allowed)))


def optimal_step_size(
    last_step: ArrayLike,
    mean_error_ratio: ArrayLike,
    safety: float = 0.9,
    ifactor: float = 10.0,
    dfactor: float = 0.2,
    order: float = 5.0,
) -> Array:
    """The size of the next step, for which the expected error equals the tolerance.

    Args:
      last_step: the size of the last step.
      mean_error_ratio: its error, relative to the tolerance; after NaN the step shrinks the most.
      safety: by how much to stay below.
      ifactor, dfactor: the most and the least by which the size changes; it does not shrink after
        a step that was exact enough.
      order: the order of the method.

    Returns:
      A scalar array.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental import ode
      >>> round(float(ode.optimal_step_size(0.1, jnp.array(1.0))), 4)  # as exact as allowed
      0.09
    """
    ratio: Any = jnp.asarray(mean_error_ratio)
    least = jnp.where(ratio < 1, 1.0, dfactor).astype(ratio.dtype)
    some = jnp.where(ratio == 0, jnp.ones_like(ratio), ratio)
    # The error of a step is proportional to a power, the order, of its size.
    factor: Any = jnp.clip(safety * some ** (-1.0 / order), least, ifactor)
    change: Any = jnp.where(ratio == 0, ifactor, factor)
    change = jnp.where(jnp.isnan(ratio), dfactor, change)
    return change.astype(ratio.dtype) * last_step


def initial_step_size(
    fun: Callable[[Array, Any], Array],
    t0: ArrayLike,
    y0: Array,
    order: int,
    rtol: ArrayLike,
    atol: ArrayLike,
    f0: Array,
) -> Array:
    """A size for the first step, from the state's first two derivatives.

    Args:
      fun: ``fun(y, t)`` gives the slope.
      t0, y0, f0: the time, the state and the slope at the start.
      order: the order of the method.
      rtol, atol: the error that is allowed, relative and absolute.

    Returns:
      A scalar array.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental import ode
      >>> y = jnp.array([1.0])
      >>> step = ode.initial_step_size(lambda y, t: -y, 0.0, y, 4, 1e-4, 1e-4, -y)
      >>> 0.0 < float(step) < 1.0
      True
    """
    allowed = atol + rtol * jnp.abs(y0)
    size = lambda x: jnp.sqrt(jnp.sum(abs2(x / allowed)))
    d0, d1 = size(y0), size(f0)
    # Hairer, Nørsett and Wanner, Solving Ordinary Differential Equations I, section II.4.
    tiny = (d0 < 1e-5) | (d1 < 1e-5)
    guess = jnp.where(tiny, 1e-6, 0.01 * d0 / jnp.where(tiny, 1, d1)).astype(d0.dtype)
    slope = fun(y0 + _in(y0, guess) * f0, t0 + guess)
    largest = jnp.maximum(d1, size(slope - f0) / guess)
    flat = largest <= 1e-15
    step = (0.01 / jnp.where(flat, 1, largest)) ** (1.0 / (order + 1.0))
    step = jnp.where(flat, jnp.maximum(1e-6, guess * 1e-3), step)
    # The state of the guess may lie outside of the slope's domain.
    return jnp.minimum(100.0 * guess, jnp.where(jnp.isnan(step), guess, step))
