"""The factors of the incomplete beta and gamma functions, of large parameters.

Their logarithms are small differences of large numbers. With e = b x - a (1 - x), u = e / a and
v = -e / b that of x^a (1 - x)^b / B(a, b) is
-a (u - log(1 + u)) - b (v - log(1 + v)) + log(a b / (2π (a + b))) / 2, and the difference of the
remainders of Stirling's series (Didonato and Morris, 1992); with u = (x - a) / a that of
x^a exp(-x) / Γ(a + 1) is -a (u - log(1 + u)) - log(2π a) / 2, and the remainder.
"""

import numpy as np

from ricci_ir import Array, ArrayLike
from ricci_lax.elementwise._arithmetic import abs, div, mul
from ricci_lax.elementwise._comparison import bitwise_or, ge, lt, select
from ricci_lax.elementwise._factories import filled_like
from ricci_lax.elementwise._linear import add, neg, sub
from ricci_lax.elementwise._series import polynomial_of
from ricci_lax.elementwise._transcendental import exp, log, log1p, sqrt

from ._functions import lgamma
from ._uniform_gamma import LOGARITHM

_LEAST = 10.0
# The remainder of Stirling's series for log Γ, over 1/z, by powers of 1/z².
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)


def has_large_parameter(a: Array, b: Array) -> ArrayLike:
    """Whether the logarithms of the gamma functions would cancel, elementwise."""
    least = filled_like(a, _LEAST)
    return bitwise_or(ge(a, least), ge(b, least))


def _stirling_series(z: Array) -> Array:
    """The remainder of Stirling's formula for large numbers."""
    inverse = div(filled_like(z, 1), z)
    return mul(inverse, polynomial_of(_STIRLING, mul(inverse, inverse)))


def _stirling_remainder(z: Array) -> Array:
    large = ge(z, filled_like(z, _LEAST))
    series = _stirling_series(select(large, z, filled_like(z, _LEAST)))
    small = select(large, filled_like(z, 1), z)
    main = sub(mul(sub(small, filled_like(z, 0.5)), log(small)), small)
    main = add(main, filled_like(z, 0.5 * float(np.log(2 * np.pi))))
    return select(large, series, sub(lgamma(small), main))


def _exponent(a: Array, excess: Array, direct: Array) -> Array:
    """a log(1 + u) - excess for u = excess / a; ``direct`` is log(1 + u), less exact near 0."""
    zero = filled_like(a, 0)
    u = div(excess, a)
    medium = select(lt(abs(u), filled_like(a, 0.5)), u, zero)
    small = select(lt(abs(u), filled_like(a, 0.1)), u, zero)
    logarithm = select(lt(abs(u), filled_like(a, 0.5)), log1p(medium), direct)
    near = neg(mul(mul(mul(a, small), small), polynomial_of(LOGARITHM, small)))
    far = sub(mul(a, logarithm), excess)
    return select(lt(abs(u), filled_like(a, 0.1)), near, far)


def large_beta_factor(a: Array, b: Array, x: Array) -> Array:
    """x^a (1 - x)^b / B(a, b) for positive parameters, one of them large, and 0 < x < 1."""
    one, total = filled_like(x, 1), add(a, b)
    mean, other = div(a, total), sub(one, x)
    excess = sub(mul(x, b), mul(a, other))
    # Logarithms of quotients: of small means, the difference of two logarithms cancels.
    left = _exponent(a, excess, log(div(x, mean)))
    right = _exponent(b, neg(excess), log(div(other, div(b, total))))
    remainder = sub(_stirling_remainder(total), _stirling_remainder(a))
    remainder = sub(remainder, _stirling_remainder(b))
    root = sqrt(mul(mul(mean, b), filled_like(x, 0.5 / np.pi)))
    return mul(root, exp(add(add(left, right), remainder)))


def is_large_order(a: ArrayLike) -> ArrayLike:
    """Whether the terms of the logarithm of ``gamma_factor`` would cancel, elementwise."""
    return ge(a, filled_like(a, _LEAST))


def gamma_factor(a: Array, x: Array) -> Array:
    """x^a exp(-x) / Γ(a + 1) for positive arguments."""
    large, one = is_large_order(a), filled_like(a, 1)
    order, small = select(large, a, filled_like(a, _LEAST)), select(large, one, a)
    exponent = _exponent(order, sub(x, order), log(div(x, order)))
    root = sqrt(div(filled_like(a, 0.5 / np.pi), order))
    near = mul(root, exp(sub(exponent, _stirling_series(order))))
    return select(large, near, exp(sub(sub(mul(small, log(x)), x), lgamma(add(small, one)))))
