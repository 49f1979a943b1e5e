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
from ricci_lax.structure._identity import lower_barrier
from ricci_lax.structure._operand_types import array_aval
from ricci_stablehlo import Lowering, LoweringRule, Value, of_function, traced

from . import _cpu_arithmetic, _cpu_powers, _cpu_trigonometry, _cpu_wide_trigonometry
from ._accuracy import AccuracyMode
from ._conversion import converted

# The compiler takes some 20 ms longer for a formula, which saves 5 to 40 µs of 1,000 elements.
_LEAST_SIZE = 16384


@dataclasses.dataclass(frozen=True, slots=True)
class _Formula:
    """A function of arrays of one dtype, equal to a primitive within its rounding errors.

    Args:
      function: the formula.
      domain: whether the formula is right, by element, where that is not everywhere. If it is not
        for an element, all are computed by XLA.
    """

    function: Callable[..., Array]
    domain: Callable[..., Array] | None = None


# Those of float32 serve narrower floats, too.
_FORMULAS = {
    ("acos", "float32"): _Formula(_cpu_trigonometry.acos),
    ("asin", "float32"): _Formula(_cpu_trigonometry.asin),
    ("atan2", "float32"): _Formula(_cpu_trigonometry.atan2),
    ("cbrt", "float32"): _Formula(_cpu_arithmetic.cbrt),
    ("cos", "float32"): _Formula(_cpu_trigonometry.cos),
    ("cos", "float64"): _Formula(_cpu_wide_trigonometry.cos, _cpu_wide_trigonometry.is_near_zero),
    ("pow", "float32"): _Formula(_cpu_powers.pow),
    ("rem", "float32"): _Formula(_cpu_arithmetic.rem, _cpu_arithmetic.has_short_quotient),
    ("sin", "float32"): _Formula(_cpu_trigonometry.sin),
    ("sin", "float64"): _Formula(_cpu_wide_trigonometry.sin, _cpu_wide_trigonometry.is_near_zero),
    ("tan", "float32"): _Formula(_cpu_trigonometry.tan),
    ("tan", "float64"): _Formula(_cpu_wide_trigonometry.tan, _cpu_wide_trigonometry.is_near_zero),
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
        if formula.domain is not None and ctx.module.num_partitions > 1:
            return otherwise(ctx, *operands, **params)

        def general(inner: Lowering) -> list[Value]:
            # XLA computes both branches and selects, where they consist of elementwise operations.
            inner.outs = [out]
            return [otherwise(inner, *lower_barrier(inner, *operands), **params)]

        def by_formula(inner: Lowering) -> list[Value]:
            inner.outs = [out]
            return [traced(in_wide_dtype)(inner, *operands)]

        def in_wide_dtype(*xs: Array) -> Array:
            return converted(formula.function(*widened(xs)), out.dtype)

        def widened(xs: tuple[Array, ...]) -> list[Array]:
            return [converted(converted(x, out.dtype), wide) for x in xs]

        def is_everywhere_right(*xs: Array) -> Array:
            assert formula.domain is not None
            right = formula.domain(*widened(xs))
            axes = tuple(range(len(array_aval(right).shape)))
            return ir.primitives["reduce_and"].bind(right, axes=axes)

        operands = tuple(ctx.broadcast_to(x, out.shape) for x in operands)
        if formula.domain is None:
            return by_formula(ctx)[0]
        is_right = traced(is_everywhere_right)(ctx, *operands)
        regions = [ctx.region([], by_formula), ctx.region([], general)]
        return ctx.generic("stablehlo.if", [is_right], [out], "", regions)[0]

    # Backends without a compiler evaluate the composition, if there is one.
    composition = getattr(otherwise, "function", None)
    return lower if composition is None else of_function(composition, lower)


def _computed_dtype(dtype: np.dtype) -> np.dtype:
    is_narrow = ir.issubdtype(dtype, np.floating) and dtype.itemsize == 2
    return np.dtype("float32") if is_narrow else dtype


def _is_large(aval: ir.ShapedArray) -> bool:
    return ir.is_static_shape(aval.shape) and aval.size >= _LEAST_SIZE
