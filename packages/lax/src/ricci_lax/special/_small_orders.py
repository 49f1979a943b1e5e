"""The upper incomplete gamma function of small orders, which is a small part of 1 there.

Q(a, x) = 1 - exp(u) (1 + a S), with u = a log(x) - log Γ(1 + a) and S, the sum of
(-x)^n / (n! (a + n)) from n = 1. Where a is small, so are u and a S.

W. Gautschi: A computational procedure for incomplete gamma functions (1979).
"""

from math import factorial

import numpy as np

from ricci_ir import Array
from ricci_lax.elementwise._arithmetic import div, mul
from ricci_lax.elementwise._comparison import bitwise_and, gt, le, select
from ricci_lax.elementwise._factories import filled_like
from ricci_lax.elementwise._linear import add, neg, sub
from ricci_lax.elementwise._series import polynomial_of
from ricci_lax.elementwise._transcendental import exp, expm1, log

# log Γ(1 + a) by powers of a: -γ, then ζ(k) (-1)^k / k.
_LOG_GAMMA = (
    *(0.0, -0.5772156649015329, 0.8224670334241133, -0.4006856343865313, 0.27058080842778454),
    *(-0.2073855510286741, 0.16955717699740813, -0.14404989676884614, 0.12550966952474307),
    *(-0.11133426586956473, 0.10009945751278182, -0.09095401714582904, 0.08335384054610899),
    *(-0.0769325164113522, 0.07143294629536133, -0.06666870588242048, 0.06250095514121302),
)
_REACH = 0.1


def is_small_order(a: Array, x: Array) -> Array:
    """Whether the expansion is the most accurate formula of Q, elementwise."""
    zero = filled_like(a, 0)
    inside = bitwise_and(gt(a, zero), gt(x, zero))
    near = bitwise_and(le(a, filled_like(a, _REACH)), le(x, filled_like(x, 1)))
    return bitwise_and(inside, near)


def small_order_q(a: Array, x: Array) -> Array:
    """Q(a, x) where ``is_small_order``; finite elsewhere."""
    inside = is_small_order(a, x)
    a, x = select(inside, a, filled_like(a, _REACH)), select(inside, x, filled_like(x, 1))
    u = sub(mul(a, log(x)), polynomial_of(_LOG_GAMMA, a))
    total = filled_like(x, 0)
    for n in range(18 if a.dtype == np.float64 else 11, 0, -1):
        term = div(filled_like(a, 1 / factorial(n)), add(a, filled_like(a, n)))
        total = neg(mul(x, add(term, total)))
    return neg(add(expm1(u), mul(exp(u), mul(a, total))))
