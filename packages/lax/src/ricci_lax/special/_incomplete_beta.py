"""The regularized incomplete beta function, by a continued fraction."""

from ricci_ir import Array, ArrayLike, Primitive
from ricci_lax.elementwise._arithmetic import div, mul
from ricci_lax.elementwise._comparison import bitwise_and, bitwise_not, eq, ge, gt, le, lt, select
from ricci_lax.elementwise._factories import filled_like, nary, repeat_to
from ricci_lax.elementwise._linear import add, neg, sub
from ricci_lax.elementwise._piecewise_linear import is_finite
from ricci_lax.elementwise._transcendental import exp, log, log1p
from ricci_lax.structure._operand_types import array_aval, broadcast_result_shape, floating
from ricci_stablehlo import Lowering, Value, traced

from . import _iterations as iterations
from ._functions import lgamma
from ._large_factors import has_large_parameter, large_beta_factor

__all__ = ["betainc", "regularized_incomplete_beta_p"]


# I(a, b, x) = x^a (1 - x)^b / (a B(a, b)) / (1 + d1 / (1 + d2 / ...)), for small x, has
# d(2n) = n (b - n) x / ((a + 2n - 1) (a + 2n)) and
# d(2n + 1) = -(a + n) (a + b + n) x / ((a + 2n) (a + 2n + 1)). Two levels at once, as Didonato and
# Morris (1992) write them, add terms of one sign for n < b: of y = 1 - x and the distance
# a - (a + b) x, neither of which is exact if it is taken from a rounded x near 1.
def _beta_start(a, b, x, y, distance):
    one = filled_like(x, 1)
    first = div(add(a, one), iterations.guarded(add(one, distance)))
    # The first numerator has no predecessor, so that its ratio to it is infinite.
    return filled_like(x, float("inf")), first, first


def _beta_step(n, state, a, b, x, y, distance):
    one = filled_like(x, 1)
    odd = add(sub(a, one), add(n, n))
    below = mul(div(mul(n, sub(b, n)), odd), x)
    before = add(a, sub(n, one))
    # The first level is over a, which may be tiny.
    factor = div(select(eq(mul(one, n), one), one, before), odd)
    up = mul(mul(factor, mul(add(b, before), x)), below)
    weight = div(add(a, n), add(odd, add(one, one)))
    level = mul(weight, add(add(one, distance), mul(n, add(one, y))))
    return iterations.lentz_step(state, up, add(add(n, below), level))


_beta_fraction = iterations.Iteration(_beta_start, _beta_step)


def _inside_beta(a, b, x):
    zero, one = filled_like(x, 0), filled_like(x, 1)
    return iterations.all_of(
        gt(a, zero), gt(b, zero), is_finite(a), is_finite(b), gt(x, zero), lt(x, one)
    )


def _mirrored(a, b, x):
    """Whether I(b, a, 1 - x) = 1 - I(a, b, x) converges faster."""
    one = filled_like(x, 1)
    # The fraction converges fast for x < (a + 1) / (a + b + 2), near the mean of the distribution.
    return gt(mul(x, add(add(a, b), add(one, one))), add(a, one))


def _for_beta(a, b, x):
    # As above, the other elements get parameters for which the loop ends soon.
    used = _inside_beta(a, b, x)
    swap = _mirrored(a, b, x)
    zero, half, one = (filled_like(x, value) for value in (0, 0.5, 1))
    other = sub(one, x)
    distance = sub(mul(a, other), mul(b, x))
    parameters = (
        (select(swap, b, a), one),
        (select(swap, a, b), one),
        (select(swap, other, x), half),
        (select(swap, x, other), half),
        (select(swap, neg(distance), distance), zero),
    )
    return [select(used, value, harmless) for value, harmless in parameters]


def _log_beta(a, b):
    return sub(add(lgamma(a), lgamma(b)), lgamma(add(a, b)))


def _beta_factor(a, b, x):
    """x^a (1 - x)^b / B(a, b); only where both parameters are positive and x is between 0 and 1."""
    plain = exp(sub(add(mul(a, log(x)), mul(b, log1p(neg(x)))), _log_beta(a, b)))
    large = _large(a, b, x)
    return select(large, large_beta_factor(*_for_factor(large, a, b, x)), plain)


def _large(a, b, x):
    return bitwise_and(_inside_beta(a, b, x), has_large_parameter(a, b))


def _for_factor(large, a, b, x):
    # The others get parameters of which derivatives are finite.
    ten, half = filled_like(x, 10), filled_like(x, 0.5)
    return select(large, a, ten), select(large, b, ten), select(large, x, half)


def _beta(a, b, x, fraction):
    zero, one, infinite = (filled_like(x, v) for v in (0, 1, float("inf")))
    swap = _mirrored(a, b, x)
    part = div(mul(_beta_factor(a, b, x), fraction), select(swap, b, a))
    value = select(swap, sub(one, part), part)
    # All the mass sits at 0 or at 1 if a parameter is 0 or infinite; not if both are.
    at_zero, at_one = (
        iterations.any_of(eq(a, zero), eq(b, infinite)),
        iterations.any_of(eq(b, zero), eq(a, infinite)),
    )
    left, right = eq(x, zero), eq(x, one)
    valid = iterations.all_of(
        ge(a, zero), ge(b, zero), ge(x, zero), le(x, one), bitwise_not(bitwise_and(at_zero, at_one))
    )
    edge = select(bitwise_and(iterations.any_of(right, at_zero), bitwise_not(left)), one, zero)
    return select(_inside_beta(a, b, x), value, select(valid, edge, filled_like(x, float("nan"))))


def _beta_lower(ctx: Lowering, operands: list[Value]) -> Value:
    (fraction,) = _beta_fraction.lower(ctx, traced(_for_beta)(ctx, *operands))
    return traced(_beta)(ctx, *operands, fraction)


def _beta_density(t, a, b, x):
    shape = broadcast_result_shape("betainc", *map(array_aval, (a, b, x)))
    a, b, x = (repeat_to(operand, shape) for operand in (a, b, x))
    one = iterations.constant(x, 1)
    norm = _log_beta(a, b)
    right = iterations.times_log(sub(b, one), log1p(neg(x)))
    left = iterations.times_log(sub(a, one), log(x))
    plain = exp(sub(add(right, left), norm))
    large = _large(a, b, x)
    p, q, y = _for_factor(large, a, b, x)
    density = div(large_beta_factor(p, q, y), mul(y, sub(filled_like(y, 1), y)))
    return mul(select(large, density, plain), t)


def _no_parameter_derivative(t, a, b, x):
    raise ValueError(
        "betainc cannot be differentiated with respect to its parameters a and b: no formula for "
        "that is known here. Stop the gradient there, or differentiate with respect to x only."
    )


regularized_incomplete_beta_p: Primitive = nary(
    "regularized_incomplete_beta",
    iterations.in_single(_beta_lower),
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
