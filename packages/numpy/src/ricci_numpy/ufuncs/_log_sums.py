"""Logarithms of sums of exponentials, without overflow on the way."""

import numpy as np

import ricci_lax as lax
from ricci_ir import Array, inlined
from ricci_lax.authoring import BinaryFunction, UnaryFunction
from ricci_numpy._promotion import constant, constant_like, operands, promote_args_inexact
from ricci_numpy.arrays._selection import select_where

from ._factories import FLOATS, publish


def _log_sum(x1: Array, x2: Array, power: UnaryFunction, scale: float, full_turn: float) -> Array:
    if np.iscomplexobj(x1):
        return _complex_log_sum(x1, x2, power, scale, full_turn)
    largest = lax.max(x1, x2)
    difference = lax.sub(x1, x2)
    # The difference of equal infinities is NaN; the result is that infinity, their sum.
    undefined = lax.ne(difference, difference)
    small = lax.log1p(power(lax.neg(lax.abs(difference))))
    if scale != 1:
        small = lax.mul(constant(small, scale), small)
    return select_where(undefined, lax.add(x1, x2), lax.add(largest, small), "logaddexp")


def _complex_log_sum(
    x1: Array, x2: Array, power: UnaryFunction, scale: float, full_turn: float
) -> Array:
    first = lax.gt(lax.real(x1), lax.real(x2))
    largest = select_where(first, x1, x2, "logaddexp")
    difference = select_where(first, lax.sub(x2, x1), lax.sub(x1, x2), "logaddexp")
    small = lax.mul(constant(difference, scale), lax.log1p(power(difference)))
    total = lax.add(largest, small)
    angle = lax.imag(total)
    turns = lax.round(lax.div(angle, constant(angle, full_turn)))
    return lax.complex(lax.real(total), lax.sub(angle, lax.mul(turns, constant(angle, full_turn))))


def _differentiable(
    name: str, power: UnaryFunction, scale: float, full_turn: float
) -> BinaryFunction:
    """The logarithm of the sum of two powers, with its derivative.

    Args:
      name: the function, for messages.
      power: the exponential function of the base.
      scale: the logarithm of e to the base.
      full_turn: the imaginary part by which logarithms of one number differ.
    """

    def value(x1, x2):
        return _log_sum(x1, x2, power, scale, full_turn)

    value.__name__ = name
    function = lax.custom_jvp(value)

    def weight(x: Array, result: Array) -> Array:
        """The derivative by one operand: the share of its power in the sum."""
        infinite = lax.eq(result, constant_like(result, np.inf))
        # Infinities are replaced first, so that second derivatives hold no NaN.
        finite = [select_where(infinite, constant_like(v, 0), v) for v in (x, result)]
        shares = power(lax.sub(*finite))
        chosen = lax.eq(x, result)
        return select_where(
            infinite, select_where(chosen, constant_like(x, 1), constant_like(x, 0)), shares, name
        )

    @function.defjvp
    def _jvp(primals, tangents):
        x1, x2 = primals
        t1, t2 = tangents
        result = function(x1, x2)
        if np.iscomplexobj(result):
            shares = [power(lax.sub(x, result)) for x in (x1, x2)]
        else:
            shares = [weight(x, result) for x in (x1, x2)]
        return result, lax.add(lax.mul(t1, shares[0]), lax.mul(t2, shares[1]))

    return function


_logaddexp = _differentiable("logaddexp", lax.exp, 1.0, 2 * np.pi)
_logaddexp2 = _differentiable(
    "logaddexp2", lax.exp2, float(1 / np.log(2)), float(2 * np.pi / np.log(2))
)


@inlined("logaddexp")
def _logaddexp_step(x1: Array, x2: Array) -> Array:
    return _logaddexp(*promote_args_inexact("logaddexp", x1, x2))


@inlined("logaddexp2")
def _logaddexp2_step(x1: Array, x2: Array) -> Array:
    return _logaddexp2(*promote_args_inexact("logaddexp2", x1, x2))


logaddexp = publish(
    lambda x1, x2, /: _logaddexp_step(*operands("logaddexp", x1, x2)),
    "logaddexp",
    "The logarithm of the sum of the exponentials.",
    "round(float(jnp.logaddexp(0.0, 0.0)), 4)",
    "0.6931",
    "x1",
    "x2",
    gives=FLOATS,
)
logaddexp2 = publish(
    lambda x1, x2, /: _logaddexp2_step(*operands("logaddexp2", x1, x2)),
    "logaddexp2",
    "The logarithm to base 2 of the sum of the powers of 2.",
    "round(float(jnp.logaddexp2(0.0, 0.0)), 3)",
    "1.0",
    "x1",
    "x2",
    gives=FLOATS,
)
