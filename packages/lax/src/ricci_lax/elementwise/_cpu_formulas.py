"""Formulas for CPUs, by primitive and dtype, in place of functions that XLA calls by element.

XLA vectorises sums, products and comparisons, but has no vectorised form of some functions there,
and calls a scalar function of the C library for each element. A formula is several times as fast,
and at least as accurate. A primitive's lowering looks its formula up in
``ricci_lax.cpu_formulas``.
"""

from collections.abc import Callable, Container, Mapping, Sequence
from types import MappingProxyType

import numpy as np

import ricci_ir as ir
from ricci_ir import Array
from ricci_lax.structure._identity import lower_barrier
from ricci_stablehlo import (
    Expansion,
    Lowering,
    LoweringRule,
    Value,
    native_kernel,
    of_function,
    stored,
    traced,
)

from ._accuracy import AccuracyMode
from ._conversion import converted

# The compiler takes some 20 ms longer for a formula, which saves 5 to 40 µs of 1,000 elements.
_LEAST_SIZE = 16384
# A branch keeps its operands and its result in memory, where a fused formula needs neither. Of
# larger arrays the general formula is used, if there is one.
_MOST_BRANCHED = 2**22
_DTYPES = frozenset({"float32", "float64"})


class Formula(ir.TupleRecord):
    """A function of arrays of one dtype, equal to a primitive within its rounding errors.

    Attributes:
      function: the formula.
      domain: whether the formula is right for all elements, where it is not for all numbers.
      general: the formula for all elements if it is not; that of XLA if there is none.
    """

    function: Callable[..., Array]
    domain: Callable[..., Array] | None = None
    general: Callable[..., Array] | None = None


# ``(name, dtype name)``: the formula, or None. Imported with the first large array.
formula_of: ir.Hook[Callable[[str, str], Formula | None]] = ir.Hook(
    "formulas for CPUs", provided_by="ricci_lax"
)


def vectorised_on_cpus(
    name: str, otherwise: LoweringRule, dtypes: Container[str] = _DTYPES
) -> LoweringRule:
    """The lowering of a function by its formula on CPUs, if it has one and that is faster.

    Args:
      name: the function's name.
      otherwise: the lowering for other devices, dtypes, small arrays, and demanded accuracies.
      dtypes: those for which the table is imported.
    """

    def lower(ctx: Lowering, *operands: Value, **params: object) -> Value:
        out = ctx.out
        result = _write_by_kernel(name, ctx, operands, out, params)
        if result is not None:
            return result
        if ctx.platform != "cpu" or not _is_large(out):
            return otherwise(ctx, *operands, **params)
        wide = _computed_dtype(out.dtype)
        formula = formula_of.call(name, wide.name) if wide.name in dtypes else None
        if formula is None:
            return otherwise(ctx, *operands, **params)
        if params.get("accuracy") not in (None, AccuracyMode.DEFAULT):
            return otherwise(ctx, *operands, **params)
        # Devices would have to agree on a branch.
        branches = formula.domain is not None and ctx.module.num_partitions == 1
        branches &= formula.general is None or out.size <= _MOST_BRANCHED
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

        # A loop is not vectorized that contains both a formula and a reduction.
        stores = [x.shape == out.shape and Expansion(ctx, x).reduces for x in operands]
        operands = tuple(
            stored(ctx, x) if is_stored else ctx.broadcast_to(x, out.shape)
            for x, is_stored in zip(operands, stores, strict=True)
        )
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


class ElementwiseKernel:
    """The lowering of a composite of one array to a kernel, where it is all that a module computes.

    Args:
      operation: the name of the kernel.

    Example:
      >>> from ricci_lax.authoring import ElementwiseKernel
      >>> ElementwiseKernel("gelu").operation
      'gelu'
    """

    def __init__(self, operation: str) -> None:
        self.operation = operation

    def __call__(self, ctx: Lowering, *operands: Value) -> list[Value] | None:
        result = _write_by_kernel(self.operation, ctx, operands, ctx.outs[0])
        return None if result is None else [result]


def _write_by_kernel(
    name: str,
    ctx: Lowering,
    operands: Sequence[Value],
    out: ir.AbstractValue,
    params: Mapping[str, object] = MappingProxyType({}),
) -> Value | None:
    """Write a call of a function's kernel if the function is all that a module computes, or None.

    A kernel is not fused with the operations around it, as a formula is.

    Args:
      name: the function's name.
      ctx: the context of the operation.
      operands: arrays of the result's shape, or scalars.
      out: the type of the result.
      params: the parameters of the primitive.
    """
    if ctx.module.only_operation != (name, out) or not isinstance(out, ir.ShapedArray):
        return None
    if not out.ndim:
        return None
    if any(x.shape not in ((), out.shape) or x.aval.dtype != out.dtype for x in operands):
        return None
    if params.get("accuracy") not in (None, AccuracyMode.DEFAULT):
        return None
    kernel = native_kernel(ctx, name, out, 0)
    return None if kernel is None else kernel.write_elements(ctx, operands, out)


def _computed_dtype(dtype: np.dtype) -> np.dtype:
    is_narrow = ir.issubdtype(dtype, np.floating) and dtype.itemsize == 2
    return np.dtype("float32") if is_narrow else dtype


def _is_large(aval: ir.ShapedArray) -> bool:
    return ir.is_static_shape(aval.shape) and aval.size >= _LEAST_SIZE
