"""The formulas for CPUs, by primitive and dtype; imported with the first large array."""

from collections.abc import Callable

import ricci_ir as ir
from ricci_ir import Array
from ricci_lax.elementwise._arithmetic import mul
from ricci_lax.elementwise._comparison import lt
from ricci_lax.elementwise._cpu_formulas import Formula, formula_of
from ricci_lax.elementwise._factories import scalar_like
from ricci_lax.structure import reduce_sum
from ricci_lax.structure._operand_types import array_aval

from . import (
    _error_function,
    _exponentials,
    _inverse_trigonometry,
    _large_angles,
    _logarithms,
    _powers,
    _roots_and_remainders,
    _trigonometry,
    _wide_exponentials,
    _wide_logarithms,
    _wide_trigonometry,
)


def _everywhere(is_right: Callable[..., Array]) -> Callable[..., Array]:
    """Whether a condition holds for all elements."""

    def domain(*xs: Array) -> Array:
        flags = is_right(*xs)
        return ir.primitives["reduce_and"].bind(flags, axes=_axes(flags))

    return domain


def _below(bound: float) -> Callable[[Array], Array]:
    """Whether the root of the sum of all squares is below a bound, so that all elements are.

    XLA computes this sum in vectors, while it compares and combines flags one by one.
    """

    def domain(x: Array) -> Array:
        total = reduce_sum(mul(x, x), _axes(x))
        return lt(total, scalar_like(total, bound * bound))

    return domain


def _axes(x: Array) -> tuple[int, ...]:
    return tuple(range(len(array_aval(x).shape)))


_has_short_quotient = _everywhere(_roots_and_remainders.has_short_quotient)
_is_near_zero = _everywhere(_wide_trigonometry.is_near_zero)
_is_moderate = _below(_trigonometry.BOUND)

# Those of float32 serve narrower floats, too.
_FORMULAS = {
    ("acos", "float32"): Formula(_inverse_trigonometry.acos),
    ("asin", "float32"): Formula(_inverse_trigonometry.asin),
    ("atan2", "float32"): Formula(_inverse_trigonometry.atan2),
    ("cbrt", "float32"): Formula(_roots_and_remainders.cbrt),
    ("cos", "float32"): Formula(_trigonometry.cos, _is_moderate, _large_angles.cos),
    ("cos", "float64"): Formula(_wide_trigonometry.cos, _is_near_zero),
    ("erfc", "float32"): Formula(_error_function.erfc),
    ("exp", "float64"): Formula(_wide_exponentials.exp),
    ("expm1", "float32"): Formula(_exponentials.expm1),
    ("log", "float64"): Formula(_wide_logarithms.log),
    ("log1p", "float32"): Formula(_logarithms.log1p),
    ("log1p", "float64"): Formula(_wide_logarithms.log1p),
    ("pow", "float32"): Formula(_powers.pow),
    ("rem", "float32"): Formula(_roots_and_remainders.rem, _has_short_quotient),
    ("sin", "float32"): Formula(_trigonometry.sin, _is_moderate, _large_angles.sin),
    ("sin", "float64"): Formula(_wide_trigonometry.sin, _is_near_zero),
    ("tan", "float32"): Formula(_trigonometry.tan, _is_moderate, _large_angles.tan),
    ("tan", "float64"): Formula(_wide_trigonometry.tan, _is_near_zero),
}


@formula_of.provide
def _formula_of(name: str, dtype: str) -> Formula | None:
    return _FORMULAS.get((name, dtype))
