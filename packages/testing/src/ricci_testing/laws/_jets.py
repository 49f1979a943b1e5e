"""The law of jets: power series agree with nested ``jvp``."""

from collections.abc import Callable, Sequence
from functools import partial
from math import factorial
from typing import Any

import numpy as np

from ricci_autodiff import jvp
from ricci_ir import Array, ArrayLike, Primitive, enable_x64, get_aval
from ricci_lax import add, broadcast, convert_element_type, mul
from ricci_lax.jets import jet
from ricci_testing._check_grads import directions, is_inexact
from ricci_testing.examples._example import Example

from ._derivatives import without_double_derivatives
from ._types import assert_results_close, function_of_operands

# Terms of high order are long sums, which nested ``jvp`` adds in another order.
_FACTOR = 1e3


def check_jets(primitive: Primitive, example: Example, order: int = 2) -> str | None:
    """Check that ``jet`` along a curve agrees with nested ``jvp``.

    Args:
      primitive: the primitive.
      example: its operands, which are moved along a random curve in double precision.
      order: the highest order that is compared, unless the example has fewer derivatives.

    Raises:
      AssertionError: if they differ.
    """
    if reason := without_double_derivatives(primitive, example):
        return reason
    if "fwd" not in example.modes:
        return "the primitive has no forward mode"
    order = order if example.order > 1 else 1
    with enable_x64(True):
        example = example.in_double()
        fun, primals = function_of_operands(primitive, example, example.differentiable())
        series = [directions(primals, 11 + k) for k in range(order)]
        expected = _nested(partial(_along, fun, primals, series), order)
        coefficients = jet(fun, primals, list(zip(*series, strict=True)), factorial_scaled=False)
        for k in range(len(expected)):
            terms = coefficients[0] if k == 0 else [terms[k - 1] for terms in coefficients[1]]
            for i, (x, y) in enumerate(zip(terms, expected[k], strict=True)):
                if is_inexact(y):
                    scaled = np.asarray(y) / factorial(k)
                    what = f"result {i}, coefficient {k}"
                    assert_results_close(np.asarray(x), scaled, what, _FACTOR)
    return None


def _along(
    fun: Callable[..., list[Array]],
    primals: Sequence[Any],
    series: Sequence[Sequence[np.ndarray]],
    t: ArrayLike,
) -> list[Array]:
    """The function at a point of the curve: a polynomial in ``t`` with these coefficients."""
    args = list(primals)
    for i, primal in enumerate(primals):
        aval: Any = get_aval(primal)
        step = broadcast(convert_element_type(t, aval.dtype), aval.shape)
        shift = step
        for terms in series:
            args[i] = add(args[i], mul(terms[i], shift))
            shift = mul(shift, step)
    return fun(*args)


def _nested(fun: Callable[..., list[Any]], order: int) -> list[list[Any]]:
    """The function of one number at 0, and its derivatives by nested ``jvp``."""
    at = np.float64(0)
    derivatives = [fun(at)]
    for _ in range(order):
        fun = partial(_derivative, fun)
        try:
            derivatives.append(fun(at))
        except NotImplementedError:  # the derivative has no derivative
            break
    return derivatives


def _derivative(fun: Callable[..., list[Any]], t: ArrayLike) -> list[Any]:
    return jvp(fun, (t,), (np.float64(1),))[1]
