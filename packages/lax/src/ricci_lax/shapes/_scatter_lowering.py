"""The lowering of scatters, and the gather that reads the elements that a scatter writes."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_stablehlo import Lowering, Value, combining_region, write_reshape

from . import _dimension_numbers as numbering


def window_reading(
    dims: numbering.ScatterDimensionNumbers,
    updates_shape: ir.Shape,
    operand_ndim: int,
    mode: numbering.GatherScatterMode,
) -> dict[str, Any]:
    """The parameters of the gather that reads the elements that a scatter writes."""
    left_out = {*dims.inserted_window_dims, *dims.operand_batching_dims}
    window = iter(dims.update_window_dims)
    sizes = tuple(1 if d in left_out else updates_shape[next(window)] for d in range(operand_ndim))
    return {
        "dimension_numbers": numbering.GatherDimensionNumbers(*dims),
        "slice_sizes": sizes,
        "unique_indices": False,
        "indices_are_sorted": False,
        "mode": mode,
        "fill_value": 0 if mode is numbering.FILL else None,
    }


def _clip_indices(
    ctx: Lowering,
    operand: Value,
    indices: Value,
    updates: Value,
    dims: numbering.ScatterDimensionNumbers,
) -> Value:
    """Indices moved so that the windows lie within the operand."""
    sizes = window_reading(dims, updates.shape, len(operand.shape), numbering.FILL)["slice_sizes"]
    limit = ir.iinfo(indices.dtype).max
    bounds = [operand.shape[d] - sizes[d] for d in dims.scatter_dims_to_operand_dims]
    # As in gathers, a bound beyond the range of the indices' dtype would wrap around.
    clamped = [b if ir.is_symbolic_dim(b) or b < limit else limit for b in bounds]
    upper = ctx.integers(clamped, indices.dtype)
    upper = ctx.broadcast(upper, indices.shape, [len(indices.shape) - 1])
    lower = ctx.broadcast(ctx.constant(np.zeros((), indices.dtype)), indices.shape, ())
    return ctx.emit("stablehlo.clamp", [lower, indices, upper], indices.aval)


def lower_scatter(
    ctx: Lowering,
    operand: Value,
    indices: Value,
    updates: Value,
    *,
    dimension_numbers: numbering.ScatterDimensionNumbers,
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: numbering.GatherScatterMode,
    update_jaxpr: ir.Jaxpr | None,
    update_consts: Sequence[ir.Array],
) -> Value:
    """The lowering rule of all scatters; ``update_jaxpr`` combines an element with its update."""
    out, dims = ctx.out, dimension_numbers
    # StableHLO has no scatter to a scalar.
    if not operand.shape:
        operand, indices, dims = _as_vector(ctx, operand, indices)
        out = operand.aval
    indices = numbering.comparable_indices(ctx, indices)
    if mode is numbering.GatherScatterMode.CLIP:
        indices = _clip_indices(ctx, operand, indices, updates, dims)
    numbers = numbering.dims_attribute(
        [
            ("update_window_dims", dims.update_window_dims),
            ("inserted_window_dims", dims.inserted_window_dims),
            ("input_batching_dims", dims.operand_batching_dims),
            ("scatter_indices_batching_dims", dims.scatter_indices_batching_dims),
            ("scatter_dims_to_operand_dims", dims.scatter_dims_to_operand_dims),
        ],
        len(indices.shape) - 1,
    )
    attributes = (
        f"indices_are_sorted = {str(indices_are_sorted).lower()}, "
        f"scatter_dimension_numbers = #stablehlo.scatter<{numbers}>, "
        f"unique_indices = {str(unique_indices).lower()}"
    )
    scalars = [ir.ShapedArray((), operand.dtype)] * 2
    if update_jaxpr is None:
        region = ctx.region(scalars, lambda inner, element, update: [update])
    else:
        region = combining_region(ctx, "scatter", scalars, update_jaxpr)
    operands = [operand, indices, updates]
    result = ctx.generic("stablehlo.scatter", operands, [out], attributes, [region])[0]
    return write_reshape(ctx, result, ctx.out)


def _as_vector(
    ctx: Lowering, operand: Value, indices: Value
) -> tuple[Value, Value, numbering.ScatterDimensionNumbers]:
    """A scalar that updates are scattered to, as a vector of one element.

    XLA's simplifier takes all updates of a scalar for one, and fails where there are more.
    """
    vector = write_reshape(ctx, operand, operand.aval.resized((1,)))
    zero = ctx.constant(np.zeros((), indices.dtype))
    places = ctx.broadcast(zero, (*indices.shape[:-1], 1), ())
    return vector, places, numbering.ScatterDimensionNumbers((), (0,), (0,))
