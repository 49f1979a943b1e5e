"""Special functions: error, gamma, zeta and Bessel functions."""

from collections.abc import Sequence
from math import pi

import numpy as np

from ricci_ir import Array, ArrayLike, Primitive, finfo
from ricci_lax.elementwise._accuracy import AccurateFunction, accurate_function, shown_accuracy
from ricci_lax.elementwise._arithmetic import abs, div, mul, reciprocal, sign, square
from ricci_lax.elementwise._comparison import gt, le, select
from ricci_lax.elementwise._conversion import converted
from ricci_lax.elementwise._cpu_formulas import vectorised_on_cpus
from ricci_lax.elementwise._factories import (
    UnaryFunction,
    filled_like,
    lower_to,
    nary,
    scalar_like,
    strong_like,
    unary_function,
)
from ricci_lax.elementwise._linear import add, neg, sub
from ricci_lax.elementwise._transcendental import exp, in_wide_floats, log, sqrt
from ricci_lax.structure._operand_types import array_aval, floating
from ricci_stablehlo import traced

from ._log_gamma import log_gamma

__all__ = ["bessel_i0e", "bessel_i0e_p", "bessel_i1e", "bessel_i1e_p", "digamma", "digamma_p"]
__all__ += ["erf", "erf_inv", "erf_inv_p", "erf_p", "erfc", "erfc_p", "lgamma", "lgamma_p"]
__all__ += ["polygamma", "polygamma_p", "zeta", "zeta_p"]

# Error function


@in_wide_floats
def _exp_of_negative_square(x: Array) -> Array:
    return exp(neg(square(x)))


def _gaussian(t, x, factor: float):
    return mul(strong_like(x, factor), mul(t, _exp_of_negative_square(x)))


sqrt_pi = pi**0.5

erf_p: Primitive = nary("erf", "chlo.erf", floating, lambda t, x: _gaussian(t, x, 2 / sqrt_pi))
erfc_p: Primitive = nary(
    "erfc",
    vectorised_on_cpus("erfc", lower_to("chlo.erfc")),
    floating,
    lambda t, x: _gaussian(t, x, -2 / sqrt_pi),
    shown=shown_accuracy,
)
erf_inv_p: Primitive = nary(
    "erf_inv",
    "chlo.erf_inv",
    floating,
    lambda t, y, x: mul(strong_like(x, sqrt_pi / 2), mul(t, exp(square(y)))),
    from_result=True,
)

erf: UnaryFunction = unary_function(
    erf_p, "Elementwise error function.", "round(float(lax.erf(1.0)), 4) -> 0.8427"
)
erfc: AccurateFunction = accurate_function(
    erfc_p,
    "Elementwise ``1 - erf(x)``, accurate where that is small.",
    "round(float(lax.erfc(1.0)), 4) -> 0.1573",
)
erf_inv: UnaryFunction = unary_function(
    erf_inv_p,
    "Elementwise inverse of the error function.",
    "round(float(lax.erf_inv(0.5)), 4) -> 0.4769",
)

# Gamma function

lgamma_p: Primitive = nary("lgamma", traced(log_gamma), floating, lambda t, x: mul(t, digamma(x)))
digamma_p: Primitive = nary(
    "digamma", "chlo.digamma", floating, lambda t, x: mul(t, polygamma(strong_like(x, 1), x))
)


def _no_order_derivative(t, order, x):
    raise ValueError(
        "polygamma cannot be differentiated with respect to its order: no formula for that is "
        "known here. Stop the gradient there, or differentiate with respect to x only."
    )


polygamma_p: Primitive = nary(
    "polygamma",
    "chlo.polygamma",
    floating,
    _no_order_derivative,
    lambda t, order, x: mul(t, polygamma(add(order, scalar_like(order, 1)), x)),
)
# Bernoulli numbers of even order over factorials, B(2k) / (2k)!, from k = 1 on.
_bernoulli_terms = (
    1 / 12,
    -1 / 720,
    1 / 30240,
    -1 / 1209600,
    1 / 47900160,
    -691 / 1307674368000,
    1 / 74724249600,
    -3617 / 10670622842880000,
)


def _zeta_by_exponent(t, x, q):
    """Euler-Maclaurin summation (DLMF 25.11.5), each term differentiated by the exponent."""
    first = 12
    # The derivative of the terms (q + k)^-x ahead of the remainder is the negated sum of (q + k)^-x
    # log(q + k).
    total = filled_like(x, 0)
    for k in range(first):
        log_a = log(add(q, scalar_like(q, k)))
        total = add(total, mul(log_a, exp(neg(mul(x, log_a)))))
    a = add(q, scalar_like(q, first))
    log_a, inverse = log(a), reciprocal(a)
    over = reciprocal(sub(x, scalar_like(x, 1)))
    # The derivative of the integral a^(1 - x) / (x - 1), divided by -a^-x.
    integral = mul(mul(a, over), add(log_a, over))
    # The product x (x + 1) ... over the power of a, and the derivative of its logarithm.
    rising, rate = mul(x, inverse), reciprocal(x)
    tail, slope = filled_like(x, 0.5), filled_like(x, 0)
    for k, factor in enumerate(_bernoulli_terms, 1):
        term = mul(scalar_like(x, factor), rising)
        tail, slope = add(tail, term), add(slope, mul(term, rate))
        for j in (2 * k - 1, 2 * k):
            further = add(x, scalar_like(x, j))
            rising, rate = mul(rising, mul(further, inverse)), add(rate, reciprocal(further))
    tail_slope = sub(slope, add(mul(log_a, tail), integral))
    return mul(t, sub(mul(exp(neg(mul(x, log_a))), tail_slope), total))


zeta_p: Primitive = nary(
    "zeta",
    "chlo.zeta",
    floating,
    _zeta_by_exponent,
    lambda t, x, q: mul(t, neg(mul(x, zeta(add(x, scalar_like(x, 1)), q)))),
)

lgamma: UnaryFunction = unary_function(
    lgamma_p,
    "Elementwise logarithm of the absolute value of the gamma function.",
    "round(float(lax.lgamma(5.0)), 4) -> 3.1781",
)
digamma: UnaryFunction = unary_function(
    digamma_p,
    "Elementwise derivative of the logarithm of the gamma function.",
    "round(float(lax.digamma(1.0)), 4) -> -0.5772",
)


def polygamma(m: ArrayLike, x: ArrayLike) -> Array:
    """Elementwise derivative, of order ``m``, of the digamma function at ``x``.

    Args:
      m, x: arrays of floats.

    Returns:
      An array of the operands' shape and dtype.

    Raises:
      TypeError: if the dtypes differ or are not accepted, or the shapes do not fit.

    Example:
      >>> from ricci import lax
      >>> round(float(lax.polygamma(1.0, 1.0)), 4)
      1.6449
    """
    return polygamma_p.bind(m, x)


def zeta(x: ArrayLike, q: ArrayLike) -> Array:
    """Elementwise Hurwitz zeta function with exponent ``x`` and offset ``q``.

    Args:
      x, q: arrays of floats.

    Returns:
      An array of the operands' shape and dtype.

    Raises:
      TypeError: if the dtypes differ or are not accepted, or the shapes do not fit.

    Example:
      >>> from ricci import lax
      >>> round(float(lax.zeta(2.0, 1.0)), 4)
      1.6449
    """
    return zeta_p.bind(x, q)


# Bessel functions

# Chebyshev coefficients of exp(-x) I0(x) on [0, 8] in x / 2 - 2, and of its product with sqrt(x)
# on [8, inf) in 32 / x - 2, highest order first (S. Moshier, Cephes Math Library, i0.c).
_i0e_near = (
    -4.4153416464793395e-18, 3.3307945188222384e-17, -2.4312798465479549e-16,
    1.7153912855551331e-15, -1.1685332877993451e-14, 7.6761854986049361e-14, -4.856446783111929e-13,
    2.9550526631296399e-12, -1.7268262914415559e-11, 9.6758090353732369e-11,
    -5.1897956016352627e-10, 2.6598237246823866e-9, -1.300025009986248e-8, 6.0469950225419186e-8,
    -2.6707938539406119e-7, 1.1173875391201037e-6, -4.4167383584587505e-6, 1.6448448070728896e-5,
    -5.754195010082104e-5, 1.8850288509584165e-4, -5.7637557453858236e-4, 0.0016394756169413357,
    -0.0043243099950505759, 0.010546460394594998, -0.023737414805899471, 0.049305284239670712,
    -0.094901097048047639, 0.17162090152220877, -0.3046826723431984, 0.67679527440947607,
)  # fmt: skip
_i0e_far = (
    -7.2331804878747538e-18, -4.8305044859441819e-18, 4.4656214202967598e-17,
    3.4612228676974612e-17, -2.8276239805165836e-16, -3.425485619677219e-16, 1.7725601330565263e-15,
    3.8116806693526224e-15, -9.5548466988283073e-15, -4.1505693472872222e-14, 1.54008621752141e-14,
    3.8527783827421426e-13, 7.180124451383666e-13, -1.7941785315068062e-12, -1.3215811840447713e-11,
    -3.1499165279632416e-11, 1.1889147107846439e-11, 4.9406023882249701e-10, 3.3962320257083865e-9,
    2.266668990498178e-8, 2.0489185894690638e-7, 2.8913705208347567e-6, 6.8897583469168245e-5,
    0.0033691164782556943, 0.80449041101410879,
)  # fmt: skip
# The numbers of coefficients that matter in single precision.
_single = (18, 7)


def _chebyshev(x: ArrayLike, coefficients: Sequence[float]) -> Array:
    """The sum of a Chebyshev series at ``x / 2``, by Clenshaw's recurrence."""
    b0 = b1 = b2 = filled_like(x, 0)
    for coefficient in coefficients:
        b0, b1, b2 = add(sub(mul(x, b0), b1), scalar_like(x, coefficient)), b0, b1
    return mul(scalar_like(x, 0.5), sub(b0, b2))


def _i0e(x: ArrayLike) -> ArrayLike:
    dtype = array_aval(x).dtype
    if dtype.itemsize < 4:
        return converted(_i0e(converted(x, np.dtype("float32"))), dtype)
    near, far = _i0e_near, _i0e_far
    if dtype.itemsize == 4:
        # The coefficients are in descending order: the last ones are of the lowest order.
        near, far = near[-_single[0] :], far[-_single[1] :]
    x = abs(x)
    two = scalar_like(x, 2)
    small = _chebyshev(sub(mul(scalar_like(x, 0.5), x), two), near)
    large = div(_chebyshev(sub(div(scalar_like(x, 32), x), two), far), sqrt(x))
    return select(le(x, scalar_like(x, 8)), small, large)


# From I1'(x) = I0(x) - I1(x) / x, and the factor exp(-|x|) differentiated.
def _i1e_derivative(t, y, x):
    # I1(x) / x tends to 1/2 where the formula divides by zero.
    tiny = float(finfo(array_aval(x).dtype).eps)
    away = gt(abs(x), scalar_like(x, tiny))
    safe = select(away, x, filled_like(x, tiny))
    slope = sub(bessel_i0e(safe), mul(y, add(sign(safe), reciprocal(safe))))
    return mul(t, select(away, slope, filled_like(x, 0.5)))


bessel_i0e_p: Primitive = nary(
    "bessel_i0e",
    traced(_i0e),
    floating,
    lambda t, y, x: mul(t, sub(bessel_i1e(x), mul(sign(x), y))),
    from_result=True,
)
bessel_i1e_p: Primitive = nary(
    "bessel_i1e", "chlo.bessel_i1e", floating, _i1e_derivative, from_result=True
)

bessel_i0e: UnaryFunction = unary_function(
    bessel_i0e_p,
    "Elementwise ``exp(-|x|) I0(x)``, the modified Bessel function of order 0, scaled.",
    "round(float(lax.bessel_i0e(1.0)), 4) -> 0.4658",
)
bessel_i1e: UnaryFunction = unary_function(
    bessel_i1e_p,
    "Elementwise ``exp(-|x|) I1(x)``, the modified Bessel function of order 1, scaled.",
    "round(float(lax.bessel_i1e(1.0)), 4) -> 0.2079",
)
