"""Hypergeometric functions of real arguments."""

from collections.abc import Callable

import numpy as np

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import Array, ArrayLike

from ._elementwise import elementwise
from ._gamma_functions import _sign

__all__ = ["hyp1f1", "hyp2f1"]

_TERMS = 30_000  # a bound, for arguments of 0.999 and for NaN


def _series(ratio: Callable[[Array], Array], like: Array) -> Array:
    """1 + r₀ + r₀ r₁ + …, summed until no term changes the sum.

    Args:
      ratio: of the number k of a term, the quotient of term k + 1 and term k.
      like: an array of the shape and dtype of the result.
    """
    eps = np.finfo(like.dtype).eps / 4

    def goes_on(state):
        k, term, total = state
        return jnp.logical_and(k < _TERMS, jnp.any(jnp.abs(term) > eps * jnp.abs(total)))

    def step(state):
        k, term, total = state
        term = term * ratio(lax.convert_element_type(k, like.dtype))
        return k + 1, term, total + term

    one = jnp.ones_like(like)
    return lax.while_loop(goes_on, step, (np.int32(0), one, one))[2]


def _signed_gamma_ratio(above: tuple[Array, ...], below: tuple[Array, ...]) -> Array:
    """The ratio of products of Γ, over ``above`` and over ``below``; 0 at poles of the latter."""
    log, sign, pole = 0.0, 1.0, False
    for x in above:
        log, sign = log + lax.lgamma(x), sign * _sign(x)
    for x in below:
        at_pole = (x <= 0) & (jnp.floor(x) == x)
        safe = jnp.where(at_pole, 1.0, x)
        log, sign, pole = log - lax.lgamma(safe), sign * _sign(safe), pole | at_pole
    return jnp.where(pole, 0.0, sign * jnp.exp(log))


def _asymptotic(ratio: Callable[[Array], Array], like: Array) -> Array:
    """1 + r₀ + r₀ r₁ + …, up to the smallest term; an asymptotic series diverges after it."""

    def step(k, state):
        term, total = state
        following = term * ratio(lax.convert_element_type(k, like.dtype))
        # A term that would grow becomes 0, and all after it stay 0.
        term = jnp.where(jnp.abs(following) > jnp.abs(term), 0.0, following)
        return term, total + term

    one = jnp.ones_like(like)
    return lax.fori_loop(0, 30, step, (one, one))[1]


def _continued(a: Array, b: Array, t: Array) -> Array:
    """₁F₁(a, b, -t) for t > 0, continued from near 0 along the axis by Taylor series.

    Where a > b, both series of Kummer's transformation have terms of both signs, far larger than
    the sum. The solutions of t w" + (b + t) w' + a w = 0 oscillate there, with one amplitude, or
    the other one falls faster, so that rounding errors do not grow from step to step. A step is
    below the distance to the singularity at 0, a wave, and the decay of exp(-t).
    """
    terms = 34 if t.dtype == np.float64 else 18
    start = jnp.minimum(t, 0.5 * jnp.maximum(1.0, b) / a)
    series = lambda a, b: _series(lambda k: -(a + k) / ((b + k) * (k + 1)) * start, t)
    share = 1 / (3 + jnp.abs(b) / 4)

    def goes_on(state):
        count, place, *_ = state
        return jnp.logical_and(count < _TERMS, jnp.any(place < t))

    def step(state):
        count, place, value, slope = state
        wave = jnp.minimum(2.0, 2 * jnp.sqrt(place / a))
        size = jnp.minimum(t - place, jnp.minimum(place * share, wave))

        def add_term(k, state):
            # Terms k and k + 1 of the Taylor series give the next one.
            term, following, total, slope = state
            n = lax.convert_element_type(k, t.dtype)
            added = (n + 1) * (n + b + place) * following + (n + a) * term * size
            added = -added * size / (place * (n + 1) * (n + 2))
            return following, added, total + added, slope + (n + 2) * added

        first = slope * size
        state = value, first, value + first, first
        *_, total, change = lax.fori_loop(0, terms, add_term, state)
        moves = size > 0
        place = jnp.where(size < t - place, place + size, t)
        slope = jnp.where(moves, change / jnp.where(moves, size, 1.0), slope)
        return count + 1, place, total, slope

    state = np.int32(0), start, series(a, b), -a / b * series(a + 1, b + 1)
    return lax.while_loop(goes_on, step, state)[2]


def _kummer(a: Array, b: Array, x: Array) -> Array:
    ends = _is_polynomial(a) | _is_polynomial(b - a)
    reflected = x < 0
    cancels = reflected & (a > jnp.maximum(b, 0.0) + 1) & ~_is_polynomial(b)
    # A polynomial times exp(x) falls faster than the other solution beyond its last root, and there
    # its terms cancel less.
    cancels = cancels & ~(_is_polynomial(b - a) & (-x > 4 * (a - b) + 2 * jnp.abs(b)))
    cancels = cancels & jnp.isfinite(a) & jnp.isfinite(b) & jnp.isfinite(x)
    # The asymptotic series starts with terms of the sizes 1 and a (a - b + 1) / |x|.
    far = (jnp.abs(x) > 60.0) & ~ends & ~(cancels & (a * (a - b + 1) > -0.5 * x))
    cancels = cancels & ~far
    # Kummer's transformation: for negative x the plain series cancels.
    first = jnp.where(reflected & ~_is_polynomial(a), b - a, a)
    moved = jnp.where(reflected & _is_polynomial(a), x, jnp.abs(x))
    near_x = jnp.where(far | cancels, 1.0, moved)
    near = _series(lambda k: (first + k) / ((b + k) * (k + 1)) * near_x, x)
    # Two factors, since exp(x) alone may underflow.
    decay = jnp.where(reflected & ~_is_polynomial(a), jnp.exp(-0.5 * jnp.abs(near_x)), 1.0)
    near = decay * (decay * near)
    # The others get operands for which the loops end at once.
    harmless = ((a, 0.5), (b, 1.0), (-x, 1e-3))
    used = (jnp.where(cancels, operand, value) for operand, value in harmless)
    near = jnp.where(cancels, _continued(*used), near)
    # For large |x|, by DLMF 13.7.1; for negative x it has no factor exp(x).
    size = jnp.where(far, jnp.abs(x), 100.0)
    p, q = jnp.where(reflected, a, b - a), jnp.where(reflected, a - b + 1, 1 - a)
    total = _asymptotic(lambda k: (p + k) * (q + k) / ((k + 1) * size), x)
    half = jnp.where(reflected, 1.0, jnp.exp(0.5 * size))
    power = jnp.power(size, jnp.where(reflected, -a, a - b))
    scale = _signed_gamma_ratio((b,), (jnp.where(reflected, b - a, a),))
    return _at_borders(a, b, x, jnp.where(far, scale * power * half * (half * total), near))


def _at_borders(a: Array, b: Array, x: Array, value: Array) -> Array:
    """The value where the series is not summed: at poles, zeros and infinite parameters."""
    pole = _is_polynomial(b) & jnp.isfinite(b) & ~(_is_polynomial(a) & (a > b))
    value = jnp.where(pole, np.inf, value)
    value = jnp.where((x == 0) & (b != 0) | jnp.isinf(b) & jnp.isfinite(x), 1.0, value)
    value = jnp.where(a == b, jnp.exp(x), value)
    value = jnp.where(a == 0, 1.0, value)
    return jnp.where(jnp.isnan(a) | jnp.isnan(b) | jnp.isnan(x), np.nan, value)


def _is_polynomial(a: Array) -> Array:
    """Whether a series with this parameter ends."""
    return (a <= 0) & (jnp.floor(a) == a)


_hyp1f1 = lax.custom_jvp(_kummer)


def _central(f: Callable[[Array], Array], x: Array) -> Array:
    """df/dx by a difference of fourth order, for parameters, which have no closed form."""
    # This step balances the error of the formula, of order step⁴, and that of rounding, eps / step.
    step = jnp.finfo(x.dtype).eps ** 0.2 * jnp.maximum(1.0, jnp.abs(x))
    near = f(x + step) - f(x - step)
    far = f(x + 2 * step) - f(x - 2 * step)
    return (8 * near - far) / (12 * step)


@_hyp1f1.defjvp
def _hyp1f1_jvp(primals, tangents):
    (a, b, x), (ta, tb, tx) = primals, tangents
    by_a = _central(lambda a: _hyp1f1(a, b, x), a)
    by_b = _central(lambda b: _hyp1f1(a, b, x), b)
    by_x = a / b * _hyp1f1(a + 1, b + 1, x)
    return _hyp1f1(a, b, x), ta * by_a + tb * by_b + tx * by_x


@elementwise(scalars=False)
def _hyp1f1_step(a: Array, b: Array, x: Array) -> Array:
    return _hyp1f1(a, b, x)


def hyp1f1(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """Kummer's confluent hypergeometric function ₁F₁.

    Args:
      a, b, x: real numbers; b is not a negative integer. The derivatives by a and b are
        differences, and precise to about half the dtype's digits.

    Returns:
      An array of the shape that the arguments broadcast to, of a float dtype.

    Example:
      >>> from ricci.scipy import special
      >>> round(float(special.hyp1f1(1.0, 2.0, 1.0)), 5)
      1.71828

    Source: DLMF 13.2.2; Pearson, Olver and Porter, Numer. Algorithms 74 (2017) 821.
    """
    return _hyp1f1_step(*map(jnp.asarray, (a, b, x)))


def _gauss_series(a: Array, b: Array, c: Array, x: Array) -> Array:
    return _series(lambda k: (a + k) * (b + k) / ((c + k) * (k + 1)) * x, x)


def _gauss_unit(a: Array, b: Array, c: Array, x: Array) -> Array:
    """₂F₁ for 0 ≤ x < 1."""
    excess = c - a - b
    # At an integer excess the two parts below have poles that cancel.
    whole = jnp.abs(jnp.round(excess) - excess) < 1e-2
    ends = _is_polynomial(a) | _is_polynomial(b)
    close = (x > 0.9) & ~whole & ~ends
    # Euler's transformation makes the terms fall where c < a + b.
    euler = (excess < 0) & ~ends
    first, second = jnp.where(euler, c - a, a), jnp.where(euler, c - b, b)
    factor = jnp.where(euler, jnp.power(1 - x, excess), 1.0)
    direct = factor * _gauss_series(first, second, c, jnp.where(close, 0.0, x))
    # Around 1 (DLMF 15.8.4).
    gap = jnp.where(close, 1 - x, 0.05)
    d = jnp.where(close, excess, 0.5)
    left = _signed_gamma_ratio((c, d), (c - a, c - b)) * _gauss_series(a, b, 1 - d, gap)
    right = _signed_gamma_ratio((c, -d), (a, b)) * jnp.power(gap, d)
    right = right * _gauss_series(c - a, c - b, 1 + d, gap)
    return jnp.where(close, left + right, direct)


def _gauss(a: Array, b: Array, c: Array, x: Array) -> Array:
    ends = _is_polynomial(a) | _is_polynomial(b)
    negative = (x < 0) & ~ends
    # Pfaff's transformation brings the negative axis to [0, 1).
    usable = jnp.where(negative, x / (x - 1), x)
    second = jnp.where(negative, c - b, b)
    inside = (jnp.abs(usable) < 1) | ends
    value = _gauss_unit(a, second, c, jnp.where(inside, usable, 0.0))
    value = jnp.where(negative, jnp.power(1 - jnp.where(negative, x, 0.0), -a), 1.0) * value
    excess = c - a - b
    at_one = jnp.where(
        excess > 0,
        _signed_gamma_ratio((c, jnp.where(excess > 0, excess, 1.0)), (c - a, c - b)),
        np.inf,
    )
    beyond = jnp.where(x > 1, np.inf, np.nan)
    value = jnp.where(inside, value, jnp.where(x == 1, at_one, beyond))
    return jnp.where((a == 0) | (b == 0) | (x == 0), 1.0, value)


_hyp2f1 = lax.custom_jvp(_gauss)


@_hyp2f1.defjvp
def _hyp2f1_jvp(primals, tangents):
    (a, b, c, x), (ta, tb, tc, tx) = primals, tangents
    by_a = _central(lambda a: _hyp2f1(a, b, c, x), a)
    by_b = _central(lambda b: _hyp2f1(a, b, c, x), b)
    by_c = _central(lambda c: _hyp2f1(a, b, c, x), c)
    by_x = a * b / c * _hyp2f1(a + 1, b + 1, c + 1, x)
    return _hyp2f1(a, b, c, x), ta * by_a + tb * by_b + tc * by_c + tx * by_x


@elementwise()
def _hyp2f1_step(a: Array, b: Array, c: Array, x: Array) -> Array:
    return _hyp2f1(a, b, c, x)


def hyp2f1(a: ArrayLike, b: ArrayLike, c: ArrayLike, x: ArrayLike) -> Array:
    """Gauss' hypergeometric function ₂F₁.

    Args:
      a, b, c, x: real numbers; c is not a negative integer; inf results for x > 1, unless the
        series ends. The derivatives by a, b and c are differences, and precise to about half the
        dtype's digits.

    Returns:
      An array of the shape that the arguments broadcast to, of a float dtype.

    Example:
      >>> from ricci.scipy import special
      >>> round(float(special.hyp2f1(1.0, 1.0, 2.0, 0.5)), 5)
      1.38629

    Source: DLMF 15.2.1 and 15.8.
    """
    return _hyp2f1_step(*map(jnp.asarray, (a, b, c, x)))
