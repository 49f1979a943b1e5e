"""The incomplete gamma and beta functions.

Series and continued fractions run in a loop until the last element has converged. The latter are
evaluated by the modified Lentz method (W. Press et al., Numerical Recipes, sections 5.2, 6.2, 6.4).
"""

from collections.abc import Callable
from functools import reduce

import numpy as np

from ricci_autodiff import jvp
from ricci_ir import Array, ArrayLike, Primitive, finfo, unsupported
from ricci_lax.elementwise._arithmetic import abs, div, mul, reciprocal
from ricci_lax.elementwise._comparison import (
    bitwise_and,
    bitwise_not,
    bitwise_or,
    eq,
    ge,
    gt,
    le,
    lt,
    ne,
    select,
)
from ricci_lax.elementwise._factories import filled_like, in_full_shape, nary, scalar_like
from ricci_lax.elementwise._linear import add, neg, sub
from ricci_lax.elementwise._piecewise_linear import is_finite
from ricci_lax.elementwise._transcendental import exp, log, log1p
from ricci_lax.reductions._axis_reductions import reduce_or
from ricci_lax.structure._operand_types import array_aval, floating, shape_of
from ricci_stablehlo import Lowering, Value, traced

from ._functions import digamma, lgamma

__all__ = [
    "betainc",
    "igamma",
    "igamma_grad_a",
    "igamma_grad_a_p",
    "igamma_p",
    "igammac",
    "igammac_p",
    "random_gamma_grad",
    "random_gamma_grad_p",
    "regularized_incomplete_beta_p",
]

_limit = 2000  # steps at most

State = tuple[Array, ...]


def _sum(*terms: ArrayLike) -> ArrayLike:
    return reduce(add, terms)


def _all(*conditions: ArrayLike) -> ArrayLike:
    return reduce(bitwise_and, conditions)


def _any(*conditions: ArrayLike) -> ArrayLike:
    return reduce(bitwise_or, conditions)


def _const(x: ArrayLike, value: float) -> ArrayLike:
    return scalar_like(x, value)


def _eps(x: ArrayLike) -> ArrayLike:
    """The machine epsilon of the dtype of ``x``."""
    return _const(x, float(finfo(array_aval(x).dtype).eps))


class Iteration:
    """The limit of an iteration.

    Args:
      start: ``start(*parameters)`` returns the first state, a tuple of arrays.
      step: ``step(n, state, *parameters)`` returns the next one; its last array is the
        approximation. ``n`` counts from 1.
    """

    def __init__(self, start: Callable[..., State], step: Callable[..., State]) -> None:
        self.start = start
        self.step = step

    def with_derivative(self) -> "Iteration":
        """The same iteration, whose state also has the derivatives by the first parameter."""

        def start(a, *rest):
            one = filled_like(a, 1)
            state, slope = jvp(lambda a: self.start(a, *rest), (a,), (one,))
            return (*slope, *state)

        def step(n, pair, a, *rest):
            slope, state = pair[: len(pair) // 2], pair[len(pair) // 2 :]
            one = filled_like(a, 1)
            state, slope = jvp(
                lambda state, a: self.step(n, state, a, *rest), (state, a), (slope, one)
            )
            return (*slope, *state)

        return Iteration(start, step)

    def lower(self, ctx: Lowering, parameters: list[Value], parts: int = 1) -> list[Value]:
        """Write the loop, which ends when the approximation has converged.

        Args:
          parts: 2 if the first half of the state is derivatives.

        Returns:
          The approximation; or its derivative, and it.
        """
        count = len(parameters)

        def start(*parameters):
            number = filled_like(_const(parameters[0], 1), 1)
            everywhere = eq(filled_like(parameters[0], 1), number)
            return [number, everywhere, *parameters, *self.start(*parameters)]

        def body(n, active, *values):
            parameters, old = values[:count], values[count:]
            new = self.step(n, old, *parameters)
            moving = [
                gt(abs(sub(new[i], old[i])), mul(_eps(n), abs(new[i])))
                for i in _last_of_parts(len(new), parts)
            ]
            # Further steps would add rounding errors to the elements that have settled.
            new = [select(active, *pair) for pair in zip(new, old, strict=True)]
            return [add(n, _const(n, 1)), bitwise_and(active, _any(*moving)), *parameters, *new]

        def condition(n, active, *values):
            some = reduce_or(active, tuple(range(len(shape_of(active)))))
            return bitwise_and(some, le(n, _const(n, _limit)))

        values = traced(start)(ctx, *parameters)
        avals = [v.aval for v in values]
        regions = [
            ctx.region(avals, lambda inner, *xs: [traced(condition)(inner, *xs)]),
            ctx.region(avals, lambda inner, *xs: traced(body)(inner, *xs)),
        ]
        state = ctx.generic("stablehlo.while", values, avals, regions=regions)[2 + count :]
        return [state[i] for i in _last_of_parts(len(state), parts)]


def _last_of_parts(length: int, parts: int) -> list[int]:
    return [length * (part + 1) // parts - 1 for part in range(parts)]


def _guarded(x: Array) -> Array:
    """``x``, away from zero."""
    tiny = _const(x, 1e-30)
    return select(lt(abs(x), tiny), filled_like(x, 1e-30), x)


def _lentz(state: State, numerator: ArrayLike, denominator: ArrayLike) -> State:
    """One more level of a continued fraction, from ``(c, d, value)``."""
    # The modified method of Lentz: c and d are ratios of successive numerators and denominators of
    # the fraction's convergents, which would overflow themselves. Away from zero they can be
    # divided by.
    c, d, value = state
    d = reciprocal(_guarded(add(mul(numerator, d), denominator)))
    c = _guarded(add(denominator, div(numerator, c)))
    return c, d, mul(value, mul(c, d))


# P(a, x) = exp(a log x - x - lgamma(a + 1)) * sum of x^n / ((a + 1) ... (a + n)).
_series = Iteration(
    lambda a, x: (filled_like(a, 1), filled_like(a, 1)),
    lambda n, state, a, x: _next_term(mul(state[0], div(x, add(a, n))), state[1]),
)


def _next_term(term: Array, total: Array) -> State:
    """The next term of a series, and the sum with it."""
    return term, add(total, term)


def _fraction_start(a, x):
    # The first level has no predecessor: c, the ratio of numerators, starts as a very large number.
    first = reciprocal(_guarded(sub(add(x, _const(x, 1)), a)))
    return filled_like(x, 1e30), first, first


def _fraction_step(n, state, a, x):
    # Level n has the numerator n (a - n) and the denominator x + 2n + 1 - a.
    denominator = add(sub(add(x, _const(x, 1)), a), mul(n, _const(x, 2)))
    return _lentz(state, mul(n, sub(a, n)), denominator)


# Q(a, x) = exp(a log x - x - lgamma(a)) / (x + 1 - a - 1 (1 - a) / (x + 3 - a - ...)).
_fraction = Iteration(_fraction_start, _fraction_step)


def _use_fraction(a: Array, x: Array) -> Array:
    """Whether the continued fraction converges faster than the series, elementwise."""
    return bitwise_and(gt(x, filled_like(x, 1)), gt(x, a))


def _inside(a: Array, x: Array) -> ArrayLike:
    """Whether both arguments are positive and finite, elementwise."""
    zero = filled_like(x, 0)
    return _all(gt(a, zero), gt(x, zero), is_finite(a), is_finite(x))


def _for_series(a, x):
    # The loop runs until the slowest element has converged. Elements that the fraction serves, or
    # that lie at an edge, get parameters for which the series ends soon.
    used = bitwise_and(_inside(a, x), bitwise_not(_use_fraction(a, x)))
    one = filled_like(x, 1)
    return [select(used, a, one), select(used, x, one)]


def _for_fraction(a, x):
    # Likewise for the fraction.
    used = bitwise_and(_inside(a, x), _use_fraction(a, x))
    return [select(used, a, filled_like(x, 1)), select(used, x, filled_like(x, 2))]


def _scale(a: Array, x: Array, gamma_of: Array) -> Array:
    """The factor of the series and of the fraction: exp(a log x - x - lgamma(gamma_of))."""
    return exp(sub(sub(mul(a, log(x)), x), lgamma(gamma_of)))


def _next(a: Array) -> Array:
    return add(a, _const(a, 1))


def _edges(a: Array, x: Array, low: float, high: float) -> Array:
    """P (or Q) is ``low`` at x = 0 or a = inf, ``high`` at a = 0 or x = inf, and NaN elsewhere."""
    zero, infinite = filled_like(x, 0), filled_like(x, float("inf"))
    at_low, at_high = _any(eq(x, zero), eq(a, infinite)), _any(eq(a, zero), eq(x, infinite))
    valid = _all(ge(x, zero), ge(a, zero), ne(at_low, at_high))
    value = select(at_low, filled_like(x, low), filled_like(x, high))
    return select(valid, value, filled_like(x, float("nan")))


def _gamma_p(a: Array, x: Array, series: Array, fraction: Array) -> Array:
    value = select(
        _use_fraction(a, x),
        sub(filled_like(x, 1), mul(_scale(a, x, a), fraction)),
        mul(_scale(a, x, _next(a)), series),
    )
    return select(_inside(a, x), value, _edges(a, x, 0, 1))


def _gamma_q(a: Array, x: Array, series: Array, fraction: Array) -> Array:
    value = select(
        _use_fraction(a, x),
        mul(_scale(a, x, a), fraction),
        sub(filled_like(x, 1), mul(_scale(a, x, _next(a)), series)),
    )
    return select(_inside(a, x), value, _edges(a, x, 1, 0))


def _log_slope(x, gamma_of, value, slope):
    """The derivative by ``a`` of ``_scale * value``, over ``_scale``."""
    return add(slope, mul(value, sub(log(x), digamma(gamma_of))))


def _at_edge(a: Array, x: Array, value: Array) -> Array:
    """``value`` inside of the domain, 0 at x = 0, and NaN elsewhere."""
    zero = filled_like(x, 0)
    edge = select(bitwise_and(eq(x, zero), gt(a, zero)), zero, filled_like(x, float("nan")))
    return select(_inside(a, x), value, edge)


def _gamma_grad_a(a, x, series_slope, series, fraction_slope, fraction):
    slope = select(
        _use_fraction(a, x),
        neg(mul(_scale(a, x, a), _log_slope(x, a, fraction, fraction_slope))),
        mul(_scale(a, x, _next(a)), _log_slope(x, _next(a), series, series_slope)),
    )
    return _at_edge(a, x, slope)


def _sample_slope(a, x, series_slope, series, fraction_slope, fraction):
    # By the implicit function theorem, with dP/dx = _scale(a, x, a) / x.
    slope = select(
        _use_fraction(a, x),
        mul(x, _log_slope(x, a, fraction, fraction_slope)),
        neg(mul(div(x, a), _log_slope(x, _next(a), series, series_slope))),
    )
    return _at_edge(a, x, slope)


def _in_single(lower: Callable[[Lowering, list[Value]], Value]) -> Callable[..., Value]:
    """A lowering that computes in at least single precision, on operands of full shape."""

    def rule(ctx: Lowering, *operands: Value) -> Value:
        out = ctx.out
        full = in_full_shape(ctx, operands)
        if out.dtype.itemsize >= 4:
            return lower(ctx, full)
        single = np.dtype("float32")
        wide = [ctx.emit("stablehlo.convert", [x], x.aval.update(dtype=single)) for x in full]
        return ctx.emit("stablehlo.convert", [lower(ctx, wide)], out)

    return rule


def _gamma(finish: Callable[..., Array], derivative: bool = False) -> Callable[..., Value]:
    """The lowering that evaluates the series and the fraction, each where it converges.

    Args:
      finish: ``finish(a, x, series, fraction)`` returns the result; with ``derivative``, the
        derivative by ``a`` stands before each of the two values.
    """

    def lower(ctx: Lowering, operands: list[Value]) -> Value:
        limits = []
        for iteration, prepare in ((_series, _for_series), (_fraction, _for_fraction)):
            parameters = traced(prepare)(ctx, *operands)
            if derivative:
                limits += iteration.with_derivative().lower(ctx, parameters, parts=2)
            else:
                limits += iteration.lower(ctx, parameters)
        return traced(finish)(ctx, *operands, *limits)

    return _in_single(lower)


# x^(a - 1) exp(-x) / gamma(a), by its logarithm, which does not overflow.
def _density(a: Array, x: Array) -> Array:
    """The derivative of P(a, x) by x."""
    decay = neg(x)
    growth = _times_log(sub(a, filled_like(a, 1)), log(x))
    return exp(sub(add(decay, growth), lgamma(a)))


def _times_log(power: Array, logarithm: Array) -> Array:
    """The logarithm of a power from that of its base; 0 for the power 0, also of 0."""
    product = mul(power, logarithm)
    lowest = _const(logarithm, float("-inf"))
    unity = bitwise_and(eq(power, _const(power, 0)), eq(logarithm, lowest))
    return select(unity, filled_like(product, 0), product)


_not_known = "no formula for this derivative is known here; stop the gradient"

igamma_grad_a_p: Primitive = nary(
    "igamma_grad_a", _gamma(_gamma_grad_a, derivative=True), floating, jvp=unsupported(_not_known)
)
random_gamma_grad_p: Primitive = nary(
    "random_gamma_grad",
    _gamma(_sample_slope, derivative=True),
    floating,
    jvp=unsupported(_not_known),
)
igamma_p: Primitive = nary(
    "igamma",
    _gamma(_gamma_p),
    floating,
    lambda t, a, x: mul(t, igamma_grad_a(a, x)),
    lambda t, a, x: mul(t, _density(a, x)),
)
igammac_p: Primitive = nary(
    "igammac",
    _gamma(_gamma_q),
    floating,
    lambda t, a, x: neg(mul(t, igamma_grad_a(a, x))),
    lambda t, a, x: neg(mul(t, _density(a, x))),
)


def igamma_grad_a(a: ArrayLike, x: ArrayLike) -> Array:
    """Elementwise derivative of ``igamma(a, x)`` by ``a``.

    Args:
      a, x: arrays of floats: the order, and where to evaluate it.

    Returns:
      An array of the operands' shape and dtype.

    Raises:
      TypeError: if the dtypes differ or are not accepted, or the shapes do not fit.

    Example:
      >>> from ricci import lax
      >>> float(lax.igamma_grad_a(1.0, 1.0)) < 0
      True
    """
    return igamma_grad_a_p.bind(a, x)


def random_gamma_grad(a: ArrayLike, x: ArrayLike) -> Array:
    """Elementwise derivative of a sample ``x`` of the gamma distribution by its shape ``a``.

    Args:
      a, x: arrays of floats.

    Returns:
      An array of the operands' shape and dtype.

    Raises:
      TypeError: if the dtypes differ or are not accepted, or the shapes do not fit.

    Example:
      >>> from ricci import lax
      >>> float(lax.random_gamma_grad(1.0, 1.0)) > 0
      True
    """
    return random_gamma_grad_p.bind(a, x)


def igamma(a: ArrayLike, x: ArrayLike) -> Array:
    """Elementwise regularized lower incomplete gamma function.

    Args:
      a, x: arrays of floats: the order, and where to evaluate it.

    Returns:
      An array of the operands' shape and dtype, with values from 0 to 1.

    Raises:
      TypeError: if the dtypes differ or are not accepted, or the shapes do not fit.

    Example:
      >>> from ricci import lax
      >>> round(float(lax.igamma(1.0, 2.0)), 4)
      0.8647
    """
    return igamma_p.bind(a, x)


def igammac(a: ArrayLike, x: ArrayLike) -> Array:
    """Elementwise regularized upper incomplete gamma function.

    Args:
      a, x: arrays of floats: the order, and where to evaluate it.

    Returns:
      An array of the operands' shape and dtype, with values from 0 to 1.

    Raises:
      TypeError: if the dtypes differ or are not accepted, or the shapes do not fit.

    Example:
      >>> from ricci import lax
      >>> round(float(lax.igammac(1.0, 2.0)), 4)
      0.1353
    """
    return igammac_p.bind(a, x)


# The incomplete beta function


def _beta_start(a, b, x):
    one = filled_like(x, 1)
    ratio = div(mul(add(a, b), x), add(a, one))
    first = reciprocal(_guarded(sub(one, ratio)))
    return one, first, first


def _beta_step(n, state, a, b, x):
    # Two levels at once, of d(2n) = n (b - n) x / ((a + 2n - 1) (a + 2n)) and d(2n + 1) = -(a + n)
    # (a + b + n) x / ((a + 2n) (a + 2n + 1)).
    one, even = _const(x, 1), add(a, add(n, n))
    up = div(mul(mul(n, sub(b, n)), x), mul(sub(even, one), even))
    down = neg(div(mul(mul(add(a, n), add(add(a, b), n)), x), mul(even, add(even, one))))
    level = filled_like(x, 1)
    return _lentz(_lentz(state, up, level), down, level)


# I(a, b, x) = x^a (1 - x)^b / (a B(a, b)) / (1 + d1 / (1 + d2 / ...)), for small x.
_beta_fraction = Iteration(_beta_start, _beta_step)


def _inside_beta(a, b, x):
    zero, one = filled_like(x, 0), filled_like(x, 1)
    return _all(gt(a, zero), gt(b, zero), is_finite(a), is_finite(b), gt(x, zero), lt(x, one))


def _mirrored(a, b, x):
    """Whether I(b, a, 1 - x) = 1 - I(a, b, x) converges faster."""
    one = filled_like(x, 1)
    # The fraction converges fast for x < (a + 1) / (a + b + 2), near the mean of the distribution.
    return gt(mul(x, add(add(a, b), add(one, one))), add(a, one))


def _for_beta(a, b, x):
    # As above, the other elements get parameters for which the loop ends soon.
    used, half = _inside_beta(a, b, x), filled_like(x, 0.5)
    swap = _mirrored(a, b, x)
    one = filled_like(x, 1)
    first, second = select(swap, b, a), select(swap, a, b)
    point = select(swap, sub(one, x), x)
    return [select(used, first, one), select(used, second, one), select(used, point, half)]


def _log_beta(a, b):
    return sub(add(lgamma(a), lgamma(b)), lgamma(add(a, b)))


def _beta(a, b, x, fraction):
    zero, one, infinite = (filled_like(x, v) for v in (0, 1, float("inf")))
    swap = _mirrored(a, b, x)
    front = exp(sub(add(mul(a, log(x)), mul(b, log1p(neg(x)))), _log_beta(a, b)))
    part = div(mul(front, fraction), select(swap, b, a))
    value = select(swap, sub(one, part), part)
    # All the mass sits at 0 or at 1 if a parameter is 0 or infinite; not if both are.
    at_zero, at_one = _any(eq(a, zero), eq(b, infinite)), _any(eq(b, zero), eq(a, infinite))
    left, right = eq(x, zero), eq(x, one)
    valid = _all(
        ge(a, zero), ge(b, zero), ge(x, zero), le(x, one), bitwise_not(bitwise_and(at_zero, at_one))
    )
    edge = select(bitwise_and(_any(right, at_zero), bitwise_not(left)), one, zero)
    return select(_inside_beta(a, b, x), value, select(valid, edge, filled_like(x, float("nan"))))


def _beta_lower(ctx: Lowering, operands: list[Value]) -> Value:
    (fraction,) = _beta_fraction.lower(ctx, traced(_for_beta)(ctx, *operands))
    return traced(_beta)(ctx, *operands, fraction)


def _beta_density(t, a, b, x):
    one = _const(x, 1)
    norm = _log_beta(a, b)
    right = _times_log(sub(b, one), log1p(neg(x)))
    left = _times_log(sub(a, one), log(x))
    return mul(exp(sub(add(right, left), norm)), t)


def _no_parameter_derivative(t, a, b, x):
    raise ValueError(
        "betainc cannot be differentiated with respect to its parameters a and b: no formula for "
        "that is known here. Stop the gradient there, or differentiate with respect to x only."
    )


regularized_incomplete_beta_p: Primitive = nary(
    "regularized_incomplete_beta",
    _in_single(_beta_lower),
    floating,
    _no_parameter_derivative,
    _no_parameter_derivative,
    _beta_density,
)


def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """Elementwise regularized incomplete beta function.

    Args:
      a, b: the parameters, not negative.
      x: where to evaluate it, from 0 to 1; of the dtype of the parameters.

    Returns:
      An array of the operands' shape and dtype, with values from 0 to 1.

    Raises:
      TypeError: if the dtypes differ or are not floats, or the shapes do not fit.
      ValueError: if it is differentiated with respect to ``a`` or ``b``.

    Example:
      >>> from ricci import lax
      >>> round(float(lax.betainc(2.0, 3.0, 0.5)), 4)
      0.6875
    """
    return regularized_incomplete_beta_p.bind(a, b, x)
