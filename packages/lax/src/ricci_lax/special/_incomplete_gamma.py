"""The incomplete gamma functions: by a series for small x, by a continued fraction for large x."""

from collections.abc import Callable

from ricci_ir import Array, ArrayLike, Primitive, unsupported
from ricci_lax.elementwise._arithmetic import div, mul, reciprocal
from ricci_lax.elementwise._comparison import (
    bitwise_and,
    bitwise_not,
    bitwise_or,
    eq,
    ge,
    gt,
    ne,
    select,
)
from ricci_lax.elementwise._factories import filled_like, nary, repeat_to
from ricci_lax.elementwise._linear import add, neg, sub
from ricci_lax.elementwise._piecewise_linear import is_finite
from ricci_lax.elementwise._transcendental import exp, log
from ricci_lax.structure._operand_types import array_aval, broadcast_result_shape, floating
from ricci_stablehlo import Lowering, Value, traced

from . import _iterations as iterations
from ._functions import digamma, lgamma
from ._large_factors import gamma_factor, is_large_order
from ._small_orders import is_small_order, small_order_q
from ._uniform_gamma import is_uniform, uniform_gamma, uniform_gamma_slope

__all__ = ["igamma", "igamma_grad_a", "igamma_grad_a_p", "igamma_p", "igammac", "igammac_p"]
__all__ += ["random_gamma_grad", "random_gamma_grad_p"]


# P(a, x) = exp(a log x - x - lgamma(a + 1)) * sum of x^n / ((a + 1) ... (a + n)).
_series = iterations.Iteration(
    lambda a, x: (filled_like(a, 1), filled_like(a, 1)),
    lambda n, state, a, x: _next_term(mul(state[0], div(x, add(a, n))), state[1]),
)


def _next_term(term: Array, total: Array) -> iterations.State:
    """The next term of a series, and the sum with it."""
    return term, add(total, term)


def _fraction_start(a, x):
    # The first level has no predecessor: c, the ratio of numerators, starts as a very large number.
    first = reciprocal(iterations.guarded(sub(add(x, iterations.constant(x, 1)), a)))
    return filled_like(x, 1e30), first, first


def _fraction_step(n, state, a, x):
    # Level n has the numerator n (a - n) and the denominator x + 2n + 1 - a.
    denominator = add(sub(add(x, iterations.constant(x, 1)), a), mul(n, iterations.constant(x, 2)))
    return iterations.lentz_step(state, mul(n, sub(a, n)), denominator)


# Q(a, x) = exp(a log x - x - lgamma(a)) / (x + 1 - a - 1 (1 - a) / (x + 3 - a - ...)).
_fraction = iterations.Iteration(_fraction_start, _fraction_step)


def _use_fraction(a: Array, x: Array) -> Array:
    """Whether the continued fraction converges faster than the series, elementwise."""
    return bitwise_and(gt(x, filled_like(x, 1)), gt(x, a))


def _inside(a: Array, x: Array) -> ArrayLike:
    """Whether both arguments are positive and finite, elementwise."""
    zero = filled_like(x, 0)
    return iterations.all_of(gt(a, zero), gt(x, zero), is_finite(a), is_finite(x))


def _for_series(a: Array, x: Array, others: Array) -> list[Array]:
    # The loop runs until the slowest element has converged. Elements that another formula serves,
    # or that lie at an edge, get parameters for which the series ends soon.
    used = iterations.all_of(_inside(a, x), bitwise_not(bitwise_or(_use_fraction(a, x), others)))
    one = filled_like(x, 1)
    return [select(used, a, one), select(used, x, one)]


def _for_fraction(a: Array, x: Array, others: Array) -> list[Array]:
    # Likewise for the fraction.
    used = iterations.all_of(_inside(a, x), _use_fraction(a, x), bitwise_not(others))
    return [select(used, a, filled_like(x, 1)), select(used, x, filled_like(x, 2))]


def _next(a: Array) -> Array:
    return add(a, iterations.constant(a, 1))


def _edges(a: Array, x: Array, low: float, high: float) -> Array:
    """P (or Q) is ``low`` at x = 0 or a = inf, ``high`` at a = 0 or x = inf, and NaN elsewhere."""
    zero, infinite = filled_like(x, 0), filled_like(x, float("inf"))
    at_low, at_high = (
        iterations.any_of(eq(x, zero), eq(a, infinite)),
        iterations.any_of(eq(a, zero), eq(x, infinite)),
    )
    valid = iterations.all_of(ge(x, zero), ge(a, zero), ne(at_low, at_high))
    value = select(at_low, filled_like(x, low), filled_like(x, high))
    return select(valid, value, filled_like(x, float("nan")))


def _gamma_p(a: Array, x: Array, series: Array, fraction: Array) -> Array:
    factor = gamma_factor(a, x)
    value = select(
        _use_fraction(a, x),
        sub(filled_like(x, 1), mul(mul(a, factor), fraction)),
        mul(factor, series),
    )
    value = select(is_uniform(a, x), uniform_gamma(a, x, upper=False), value)
    return select(_inside(a, x), value, _edges(a, x, 0, 1))


def _gamma_q(a: Array, x: Array, series: Array, fraction: Array) -> Array:
    factor = gamma_factor(a, x)
    value = select(
        _use_fraction(a, x),
        mul(mul(a, factor), fraction),
        sub(filled_like(x, 1), mul(factor, series)),
    )
    value = select(is_uniform(a, x), uniform_gamma(a, x, upper=True), value)
    value = select(is_small_order(a, x), small_order_q(a, x), value)
    return select(_inside(a, x), value, _edges(a, x, 1, 0))


def _log_slope(x, gamma_of, value, slope):
    """The derivative by ``a`` of ``value`` times its factor, over its factor."""
    return add(slope, mul(value, sub(log(x), digamma(gamma_of))))


def _at_edge(a: Array, x: Array, value: Array) -> Array:
    """``value`` inside of the domain, 0 at x = 0, and NaN elsewhere."""
    zero = filled_like(x, 0)
    edge = select(bitwise_and(eq(x, zero), gt(a, zero)), zero, filled_like(x, float("nan")))
    return select(_inside(a, x), value, edge)


def _gamma_grad_a(a, x, series_slope, series, fraction_slope, fraction):
    factor = gamma_factor(a, x)
    slope = select(
        _use_fraction(a, x),
        neg(mul(mul(a, factor), _log_slope(x, a, fraction, fraction_slope))),
        mul(factor, _log_slope(x, _next(a), series, series_slope)),
    )
    slope = select(is_uniform(a, x), uniform_gamma_slope(a, x, sample=False), slope)
    return _at_edge(a, x, slope)


def _sample_slope(a, x, series_slope, series, fraction_slope, fraction):
    # By the implicit function theorem, with dP/dx = a gamma_factor(a, x) / x.
    slope = select(
        _use_fraction(a, x),
        mul(x, _log_slope(x, a, fraction, fraction_slope)),
        neg(mul(div(x, a), _log_slope(x, _next(a), series, series_slope))),
    )
    slope = select(is_uniform(a, x), uniform_gamma_slope(a, x, sample=True), slope)
    return _at_edge(a, x, slope)


def _gamma(finish: Callable[..., Array], derivative: bool = False) -> Callable[..., Value]:
    """The lowering that evaluates the series and the fraction, each where it converges.

    Args:
      finish: ``finish(a, x, series, fraction)`` returns the result; with ``derivative``, the
        derivative by ``a`` stands before each of the two values.
    """

    def lower(ctx: Lowering, operands: list[Value]) -> Value:
        limits = []
        for iteration, prepare in ((_series, _for_series), (_fraction, _for_fraction)):
            others = traced(is_uniform)(ctx, *operands)
            parameters = traced(prepare)(ctx, *operands, others)
            if derivative:
                limits += iteration.with_derivative().lower(ctx, parameters, parts=2)
            else:
                limits += iteration.lower(ctx, parameters)
        return traced(finish)(ctx, *operands, *limits)

    return iterations.in_single(lower)


def _density(a, x):
    """The derivative of P(a, x) by x: x^(a - 1) exp(-x) / Γ(a)."""
    shape = broadcast_result_shape("igamma", array_aval(a), array_aval(x))
    a, x = repeat_to(a, shape), repeat_to(x, shape)
    # By its logarithm, which does not overflow, or by the factor that does not cancel.
    growth = iterations.times_log(sub(a, filled_like(a, 1)), log(x))
    plain = exp(sub(add(neg(x), growth), lgamma(a)))
    inside = bitwise_and(gt(x, filled_like(x, 0)), is_finite(x))
    large = iterations.all_of(is_large_order(a), is_finite(a), inside)
    order, point = select(large, a, filled_like(a, 10)), select(large, x, filled_like(x, 10))
    return select(large, mul(div(order, point), gamma_factor(order, point)), plain)


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
