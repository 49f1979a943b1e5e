"""Special functions in double precision, from their textbook definitions.

Compiled functions are tested against these, so these are simple rather than fast.
Source: the NIST Digital Library of Mathematical Functions, cited by formula as DLMF.
"""

import math
from collections.abc import Callable

import numpy as np

from ._widening import Rule, per_element

_EPS = 2.0**-53
_TINY = 1e-300


def _bernoulli(count: int) -> list[float]:
    """B_2, B_4, … by the recurrence DLMF 24.5.3."""
    numbers = [1.0]
    for n in range(1, 2 * count + 1):
        total = sum(math.comb(n + 1, k) * numbers[k] for k in range(n))
        numbers.append(-total / (n + 1))
    # The odd ones after B_1 are zero.
    return numbers[2::2]


_BERNOULLI = _bernoulli(10)


def _lgamma(x: float) -> float:
    if math.isnan(x):
        return x
    if math.isinf(x) or (x <= 0 and x == math.floor(x)):
        return math.inf
    return math.lgamma(x)


def _digamma(x: float) -> float:
    if math.isnan(x) or x == -math.inf or (x <= 0 and x == math.floor(x)):
        return math.nan
    if x == math.inf:
        return x
    if x < 0:  # reflection, DLMF 5.5.4
        return _digamma(1 - x) - math.pi / math.tan(math.pi * x)
    result = 0.0
    # The recurrence ψ(x) = ψ(x + 1) - 1/x moves the argument to where the series is accurate.
    while x < 10:
        result -= 1 / x
        x += 1
    # DLMF 5.11.2
    series = sum(b / (2 * k * x ** (2 * k)) for k, b in enumerate(_BERNOULLI, 1))
    return result + math.log(x) - 0.5 / x - series


def _zeta(s: float, q: float) -> float:
    """The Hurwitz zeta function, by Euler-Maclaurin summation (DLMF 25.11.5)."""
    if math.isnan(s) or math.isnan(q) or s < 1:
        return math.nan
    if s == 1:
        return math.inf
    if q <= 0:
        if q == math.floor(q):
            return math.inf if s == math.floor(s) and s % 2 == 0 else math.nan
        if s != math.floor(s):
            return math.nan
    # The first terms are added one by one; the formula for the rest is accurate far from 0.
    first = 12
    total = sum((q + k) ** -s for k in range(first))
    a = q + first
    if a <= 0:
        return math.nan
    total += a ** (1 - s) / (s - 1) + 0.5 * a**-s
    rising, power = s, a ** (-s - 1)
    for k, b in enumerate(_BERNOULLI, 1):
        total += b / math.factorial(2 * k) * rising * power
        rising *= (s + 2 * k - 1) * (s + 2 * k)
        power /= a * a
    return total


def _polygamma(m: float, x: float) -> float:
    if m == 0:
        return _digamma(x)
    if m < 0 or m != math.floor(m) or math.isnan(x):
        return math.nan
    sign = 1.0 if m % 2 else -1.0
    return sign * math.exp(math.lgamma(m + 1)) * _zeta(m + 1, x)


def _erf_inv(y: float) -> float:
    if math.isnan(y) or abs(y) > 1:
        return math.nan
    if abs(y) == 1:
        return math.copysign(math.inf, y)
    if y == 0:
        return y
    log_complement = math.log1p(-y * y)
    a = 0.147  # Winitzki's approximation to start with
    half = 2 / (math.pi * a) + log_complement / 2
    x = math.copysign(math.sqrt(math.sqrt(half * half - log_complement / a) - half), y)
    # Newton's method doubles the digits each time, from three or so.
    for _ in range(4):
        x -= (math.erf(x) - y) / (2 / math.sqrt(math.pi) * math.exp(-x * x))
    return x


def _lower_series(a: float, x: float) -> float:
    """P(a, x) by its series (DLMF 8.11.4)."""
    # Terms fall until they no longer change the sum.
    term = total = 1 / a
    n = a
    while abs(term) > abs(total) * _EPS:
        n += 1
        term *= x / n
        total += term
    return total * math.exp(a * math.log(x) - x - math.lgamma(a))


def _upper_fraction(a: float, x: float) -> float:
    """Q(a, x) by its continued fraction (DLMF 8.9.2), with Lentz's algorithm."""
    # Lentz: h is the product of the quotients c d of successive convergents; _TINY replaces a zero
    # denominator.
    b = x + 1 - a
    c, d = 1 / _TINY, 1 / b
    h = d
    for n in range(1, 10_000):
        numerator = -n * (n - a)
        b += 2
        d = 1 / ((numerator * d + b) or _TINY)
        c = b + numerator / c or _TINY
        h *= d * c
        if abs(d * c - 1) < _EPS:
            break
    return h * math.exp(a * math.log(x) - x - math.lgamma(a))


def _igamma(a: float, x: float) -> float:
    if math.isnan(a) or math.isnan(x) or x < 0 or a <= 0:
        return math.nan
    if x == 0:
        return 0.0
    if math.isinf(x):
        return 1.0 if not math.isinf(a) else math.nan
    # Each form is used where it converges fast; the two functions add up to 1.
    return _lower_series(a, x) if x < a + 1 else 1 - _upper_fraction(a, x)


def _igammac(a: float, x: float) -> float:
    if math.isnan(a) or math.isnan(x) or x < 0 or a <= 0:
        return math.nan
    if x == 0:
        return 1.0
    if math.isinf(x):
        return 0.0 if not math.isinf(a) else math.nan
    return _upper_fraction(a, x) if x >= a + 1 else 1 - _lower_series(a, x)


def _slope(fun: Callable[[float], float], at: float, step: float) -> float:
    """The derivative of a function by central differences of sixth order.

    The function's values must be accurate to full double precision.
    """
    # The weights cancel the errors of second and fourth order.
    weights = ((1, 45.0), (2, -9.0), (3, 1.0))
    total = sum(w * (fun(at + k * step) - fun(at - k * step)) for k, w in weights)
    return total / (60 * step)


def _igamma_grad_a(a: float, x: float) -> float:
    if math.isnan(a) or math.isnan(x) or x < 0 or a <= 0:
        return math.nan
    if x == 0 or math.isinf(x):
        return 0.0
    return _slope(lambda a: _igamma(a, x), a, a * 5e-3)


def _random_gamma_grad(a: float, x: float) -> float:
    """The derivative by ``a`` of a gamma sample at a fixed quantile (implicit differentiation)."""
    if math.isnan(a) or math.isnan(x) or x < 0 or a <= 0:
        return math.nan
    if x == 0 or math.isinf(x):
        return 0.0
    # At a fixed quantile, P(a, x(a)) is constant: dx/da is minus the derivative by ``a`` over the
    # density.
    density = math.exp((a - 1) * math.log(x) - x - math.lgamma(a))
    return -_igamma_grad_a(a, x) / density


def _beta_fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function (DLMF 8.17.22)."""
    c, d = 1.0, 1 / ((1 - (a + b) * x / (a + 1)) or _TINY)
    h = d
    for m in range(1, 10_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        change = 1.0
        # Two steps of Lentz's algorithm, as the numerators alternate.
        for numerator in (even, odd):
            d = 1 / ((1 + numerator * d) or _TINY)
            c = (1 + numerator / c) or _TINY
            change = d * c
            h *= change
        if abs(change - 1) < _EPS:
            break
    return h


def _betainc(a: float, b: float, x: float) -> float:
    if any(map(math.isnan, (a, b, x))) or a <= 0 or b <= 0 or not 0 <= x <= 1:
        return math.nan
    if x in (0, 1):
        return x
    log_beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    front = math.exp(a * math.log(x) + b * math.log1p(-x) - log_beta)
    # The fraction converges fast below the mean; above it the symmetry I(x; a, b) = 1 - I(1 - x; b,
    # a) is used.
    if x < (a + 1) / (a + b + 2):
        return front * _beta_fraction(a, b, x) / a
    return 1 - front * _beta_fraction(b, a, 1 - x) / b


_ANGLES = np.linspace(0, np.pi, 4001)
_COSINES = np.cos(_ANGLES)


def _bessel(order: int, x: float) -> float:
    """exp(-|x|) I_n(x) by the integral DLMF 10.32.3; the trapezoid rule is exact on a period."""
    values = np.exp(x * _COSINES - abs(x)) * np.cos(order * _ANGLES)
    return float(np.mean((values[1:] + values[:-1]) / 2))


_functions: dict[str, Callable[..., float]] = {
    "bessel_i0e": lambda x: _bessel(0, x),
    "bessel_i1e": lambda x: _bessel(1, x),
    "digamma": _digamma,
    "erf": math.erf,
    "erf_inv": _erf_inv,
    "erfc": math.erfc,
    "igamma": _igamma,
    "igamma_grad_a": _igamma_grad_a,
    "igammac": _igammac,
    "lgamma": _lgamma,
    "polygamma": _polygamma,
    "random_gamma_grad": _random_gamma_grad,
    "regularized_incomplete_beta": _betainc,
    "zeta": _zeta,
}

special_rules: dict[str, Rule] = {name: per_element(fun) for name, fun in _functions.items()}
