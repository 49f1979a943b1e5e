"""Lowering of windowed operations to StableHLO."""

from collections.abc import Sequence

import numpy as np

from ricci_ir import Jaxpr, is_static_shape
from ricci_stablehlo import Lowering, Value, combining_region, dense, int_array


def padding_text(padding: Sequence[tuple[int, int]]) -> str:
    """The attribute ``padding`` of a windowed operation."""
    pads = np.asarray(padding, np.int64).reshape(-1, 2)
    return f"padding = {dense(pads)} : tensor<{len(pads)}x2xi64>"


def lower_reduce_window(
    ctx: Lowering,
    operands: Sequence[Value],
    inits: Sequence[Value],
    jaxpr: Jaxpr,
    *,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    base_dilation: Sequence[int],
    window_dilation: Sequence[int],
) -> list[Value]:
    """Write a reduction over windows.

    Args:
      ctx: its ``outs`` are the results' types.
      inits: the scalar that each accumulator starts from; padding is filled with it.
      jaxpr: combines scalars: an accumulator for each operand, then an element of each.
    """
    outs = list(ctx.outs)
    scalars = [init.aval for init in inits] * 2
    sizes = [window_dimensions, window_strides, base_dilation, window_dilation]
    ends = [n for pair in padding for n in pair]
    if not all(map(is_static_shape, (*sizes, ends))):
        values = [ctx.integers(values, np.int32) for values in sizes]
        pads = ctx.reshape(ctx.integers(ends, np.int32), (len(padding), 2))
        return ctx.custom_call(
            "stablehlo.dynamic_reduce_window",
            [*operands, *inits, *values, pads],
            outs,
            api_version=2,
            extra=f"called_computations = [@{ctx.module.function_for(jaxpr, 'reducer')}]",
            shapes_as_operands=False,
        )
    region = combining_region(ctx, "reduce_window", scalars, jaxpr)
    attributes = ", ".join(
        [
            f"base_dilations = {int_array(base_dilation)}",
            padding_text(padding),
            f"window_dilations = {int_array(window_dilation)}",
            f"window_dimensions = {int_array(window_dimensions)}",
            f"window_strides = {int_array(window_strides)}",
        ]
    )
    return ctx.generic("stablehlo.reduce_window", [*operands, *inits], outs, attributes, [region])


def lower_select_and_scatter(
    ctx: Lowering,
    operand: Value,
    source: Value,
    init: Value,
    select: Jaxpr,
    scatter: Jaxpr,
    *,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
) -> Value:
    """Write ``stablehlo.select_and_scatter``: each window's source goes to its selected element."""
    scalars = [init.aval, init.aval]
    regions = [
        ctx.region(scalars, lambda inner, *xs, jaxpr=jaxpr: inner.inline(jaxpr, xs))
        for jaxpr in (select, scatter)
    ]
    attributes = ", ".join(
        [
            padding_text(padding),
            f"window_dimensions = {int_array(window_dimensions)}",
            f"window_strides = {int_array(window_strides)}",
        ]
    )
    operands = [operand, source, init]
    return ctx.generic(
        "stablehlo.select_and_scatter", operands, [operand.aval], attributes, regions
    )[0]
