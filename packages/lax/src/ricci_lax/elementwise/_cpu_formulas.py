"""Formulas for CPUs, by primitive and dtype, in place of functions that XLA calls by element.

XLA vectorises sums, products and comparisons, but has no vectorised form of some functions there,
and calls a scalar function of the C library for each element. A formula is several times as fast,
and at least as accurate. A primitive's lowering looks its formula up in the table below.
"""

import dataclasses
from collections.abc import Callable

import numpy as np

import ricci_ir as ir
from ricci_ir import Array
from ricci_lax.structure import reduce_sum
from ricci_lax.structure._identity import lower_barrier
from ricci_lax.structure._operand_types import array_aval
from ricci_stablehlo import Lowering, LoweringRule, Value, of_function, traced

from . import (
    _cpu_arithmetic,
    _cpu_error_function,
    _cpu_exponentials,
    _cpu_large_angles,
    _cpu_logarithms,
    _cpu_powers,
    _cpu_trigonometry,
    _cpu_wide_logarithms,
    _cpu_wide_trigonometry,
)
from ._accuracy import AccuracyMode
from ._arithmetic import mul
from ._comparison import lt
from ._conversion import converted
from ._factories import scalar_like

# The compiler takes some 20 ms longer for a formula, which saves 5 to 40 µs of 1,000 elements.
_LEAST_SIZE = 16384


@dataclasses.dataclass(frozen=True, slots=True)
class _Formula:
    """A function of arrays of one dtype, equal to a primitive within its rounding errors.

    Args:
      function: the formula.
      domain: whether the formula is right for all elements, where it is not for all numbers.
      general: the formula for all elements if it is not; that of XLA if there is none.
    """

    function: Callable[..., Array]
    domain: Callable[..., Array] | None = None
    general: Callable[..., Array] | None = None


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


_has_short_quotient = _everywhere(_cpu_arithmetic.has_short_quotient)
_is_near_zero = _everywhere(_cpu_wide_trigonometry.is_near_zero)
_is_moderate = _below(_cpu_trigonometry.BOUND)

# Those of float32 serve narrower floats, too.
_FORMULAS = {
    ("acos", "float32"): _Formula(_cpu_trigonometry.acos),
    ("asin", "float32"): _Formula(_cpu_trigonometry.asin),
    ("atan2", "float32"): _Formula(_cpu_trigonometry.atan2),
    ("cbrt", "float32"): _Formula(_cpu_arithmetic.cbrt),
    ("cos", "float32"): _Formula(_cpu_trigonometry.cos, _is_moderate, _cpu_large_angles.cos),
    ("cos", "float64"): _Formula(_cpu_wide_trigonometry.cos, _is_near_zero),
    ("erfc", "float32"): _Formula(_cpu_error_function.erfc),
    ("expm1", "float32"): _Formula(_cpu_exponentials.expm1),
    ("log", "float64"): _Formula(_cpu_wide_logarithms.log),
    ("log1p", "float32"): _Formula(_cpu_logarithms.log1p),
    ("log1p", "float64"): _Formula(_cpu_wide_logarithms.log1p),
    ("pow", "float32"): _Formula(_cpu_powers.pow),
    ("rem", "float32"): _Formula(_cpu_arithmetic.rem, _has_short_quotient),
    ("sin", "float32"): _Formula(_cpu_trigonometry.sin, _is_moderate, _cpu_large_angles.sin),
    ("sin", "float64"): _Formula(_cpu_wide_trigonometry.sin, _is_near_zero),
    ("tan", "float32"): _Formula(_cpu_trigonometry.tan, _is_moderate, _cpu_large_angles.tan),
    ("tan", "float64"): _Formula(_cpu_wide_trigonometry.tan, _is_near_zero),
}


def vectorised_on_cpus(name: str, otherwise: LoweringRule) -> LoweringRule:
    """The lowering of a function by its formula on CPUs, if it has one and that is faster.

    Args:
      name: the function's name.
      otherwise: the lowering for other devices, dtypes, small arrays, and demanded accuracies.
    """

    def lower(ctx: Lowering, *operands: Value, **params: object) -> Value:
        out = ctx.out
        wide = _computed_dtype(out.dtype)
        formula = _FORMULAS.get((name, wide.name))
        if formula is None or ctx.platform != "cpu" or not _is_large(out):
            return otherwise(ctx, *operands, **params)
        if params.get("accuracy") not in (None, AccuracyMode.DEFAULT):
            return otherwise(ctx, *operands, **params)
        # Devices would have to agree on a branch.
        branches = formula.domain is not None and ctx.module.num_partitions == 1
        if formula.domain is not None and formula.general is None and not branches:
            return otherwise(ctx, *operands, **params)

        def by_general(inner: Lowering, *xs: Value) -> Value:
            if formula.general is None:
                return otherwise(inner, *xs, **params)
            return traced(in_wide_dtype(formula.general))(inner, *xs)

        def general(inner: Lowering) -> list[Value]:
            # XLA computes both branches and selects, where they consist of elementwise operations.
            inner.outs = [out]
            return [by_general(inner, *lower_barrier(inner, *operands))]

        def special(inner: Lowering) -> list[Value]:
            inner.outs = [out]
            return [traced(in_wide_dtype(formula.function))(inner, *operands)]

        def in_wide_dtype(function: Callable[..., Array]) -> Callable[..., Array]:
            return lambda *xs: converted(function(*widened(xs)), out.dtype)

        def widened(xs: tuple[Array, ...]) -> list[Array]:
            return [converted(converted(x, out.dtype), wide) for x in xs]

        operands = tuple(ctx.broadcast_to(x, out.shape) for x in operands)
        if formula.domain is None:
            return special(ctx)[0]
        if not branches:
            return by_general(ctx, *operands)
        domain = formula.domain
        is_right = traced(lambda *xs: domain(*widened(xs)))(ctx, *operands)
        regions = [ctx.region([], special), ctx.region([], general)]
        return ctx.generic("stablehlo.if", [is_right], [out], "", regions)[0]

    # Backends without a compiler evaluate the composition, if there is one.
    composition = getattr(otherwise, "function", None)
    return lower if composition is None else of_function(composition, lower)


def _computed_dtype(dtype: np.dtype) -> np.dtype:
    is_narrow = ir.issubdtype(dtype, np.floating) and dtype.itemsize == 2
    return np.dtype("float32") if is_narrow else dtype


def _is_large(aval: ir.ShapedArray) -> bool:
    return ir.is_static_shape(aval.shape) and aval.size >= _LEAST_SIZE
