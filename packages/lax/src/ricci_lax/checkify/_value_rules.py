"""Checks of what operations compute: NaN, and division by zero."""

from typing import Any

import numpy as np

from ricci_ir import Primitive, get_aval, primitives
from ricci_lax.elementwise._arithmetic import div_p
from ricci_lax.elementwise._comparison import eq
from ricci_lax.programs._check_rules import check_rules

from ._exceptions import DivisionByZeroError
from ._log import Log, any_of, apply


def _check_nans(log: Log, primitive: Primitive, operands: list, params: dict) -> list[Any]:
    results = apply(primitive, operands, params)
    log.report_nans(primitive, results)
    return results


def _div(log: Log, primitive: Primitive, operands: list, params: dict) -> list[Any]:
    if DivisionByZeroError in log.enabled:
        divisor = operands[1]
        zero = np.zeros((), get_aval(divisor).dtype)[()]  # pyright: ignore
        log.report(DivisionByZeroError, any_of(eq(divisor, zero)))
    return _check_nans(log, primitive, operands, params)


check_rules.define(div_p, _div)

# Those that can make a NaN, or pass one on that came in from outside. Operations that only move
# or select values are not among them.
_computing = """
    acos acosh add add_any asin asinh atan atan2 atanh bessel_i0e bessel_i1e cbrt
    conv_general_dilated cos cosh cumlogsumexp cummax cummin cumprod cumsum custom_linear_solve
    digamma dot_general erf erf_inv erfc exp exp2 expm1 fft igamma igamma_grad_a igammac
    integer_pow lgamma log log1p logistic mul pad pow random_gamma_grad reduce
    reduce_prod reduce_sum reduce_window reduce_window_sum regularized_incomplete_beta rem rsqrt
    sin sinh sqrt sub tan tanh
"""

for _name in _computing.split():
    check_rules.define(primitives[_name], _check_nans)
