"""Gathering from and scattering to one element of each window: derivatives of windowed extrema."""

from collections.abc import Sequence
from typing import Any

import ricci_ir as ir
from ricci_autodiff import Zero, is_undefined_primal
from ricci_batching import batched_at
from ricci_lax.elementwise import add, ge_p, select_n
from ricci_lax.shapes import pad, stack, unstack
from ricci_lax.shapes import slice as slice_array
from ricci_lax.structure._operand_types import check_dtype, check_same_dtype, numeric, shape_of
from ricci_stablehlo import Lowering, Value, traced

from ._identities import highest, lowest
from ._window_positions import has_few_positions, scatter_by_position
from ._window_shape import (
    Padding,
    batched_window,
    check_window,
    lower_reduce_window,
    lower_select_and_scatter,
    reduce_window_shape_tuple,
)

__all__ = ["select_and_gather_add_p", "select_and_scatter_add_p", "select_and_scatter_p"]


def _worst(select_prim: ir.Primitive, dtype: ir.DTypeLike) -> ir.ArrayLike:
    """The value that is selected only in windows without another."""
    return lowest(dtype) if select_prim is ge_p else highest(dtype)


# select_and_scatter_add


def _scatter_aval(
    source: ir.ShapedArray,
    operand: ir.ShapedArray,
    *,
    select_prim: ir.Primitive,
    window_dimensions: ir.Shape,
    window_strides: ir.Shape,
    padding: Padding,
) -> ir.ShapedArray:
    name = "select_and_scatter_add"
    check_dtype(name, operand, numeric)
    check_same_dtype(name, source, operand)
    ones = (1,) * operand.ndim
    check_window(name, operand.shape, window_dimensions, window_strides, padding, ones, ones)
    windows = reduce_window_shape_tuple(operand.shape, window_dimensions, window_strides, padding)
    if source.shape != windows:
        raise TypeError(
            f"{name}: source must have one element for each window, shape {windows}, got "
            f"{source.str_short()} for operand {operand.str_short()}."
        )
    return operand.strip_weak_type()


def _scatter_jvp(primals, tangents, **params):
    source, operand = primals
    # A small change of the operand selects the same elements, so its tangent has no effect.
    result = select_and_scatter_add_p.bind(source, operand, **params)
    if type(tangents[0]) is Zero:
        return result, Zero.from_primal(result)
    return result, select_and_scatter_add_p.bind(tangents[0], operand, **params)


def _scatter_transpose(ct, source, operand, **params):
    ones = (1,) * len(shape_of(operand))
    # The source of a window was added to its selected element, whose cotangent it gets.
    picked = select_and_gather_add_p.bind(
        ct, operand, base_dilation=ones, window_dilation=ones, **params
    )
    return [picked, None]


def _pair_batch(primitive: ir.Primitive, axis, args, dims, select_prim, window):
    first, second = (batched_at(x, d, axis, 0) for x, d in zip(args, dims, strict=True))
    window = batched_window(0, **window)
    return primitive.bind(first, second, select_prim=select_prim, **window), 0


def _scatter_lower(
    ctx: Lowering,
    source: Value,
    operand: Value,
    *,
    select_prim: ir.Primitive,
    padding: Padding,
    **window: Any,
) -> Value:
    """Pad explicitly with a value that is never selected, so that windows select real elements."""
    dtype = operand.dtype
    config = tuple((low, high, 0) for low, high in padding)
    scalars = [ir.ShapedArray((), dtype)] * 2
    select = ir.trace_to_jaxpr(lambda x, y: [select_prim.bind(x, y)], scalars, origin=ir.no_origin)
    scatter = ir.trace_to_jaxpr(lambda x, y: [add(x, y)], scalars, origin=ir.no_origin)
    shape = operand.shape
    if any(map(any, padding)):
        worst = _worst(select_prim, dtype)
        operand = traced(lambda x: pad(x, worst, config))(ctx, operand)
    if has_few_positions(ctx, operand, window["window_dimensions"]):
        by_position = lambda x, y: scatter_by_position(x, y, select_prim.bind, **window)
        result = traced(by_position)(ctx, operand, source)
    else:
        result = lower_select_and_scatter(
            ctx,
            operand,
            source,
            ctx.constant(0, scalars[0]),
            select,
            scatter,
            padding=((0, 0),) * len(shape),
            **window,
        )
    if result.shape == shape:
        return result
    starts = tuple(low for low, _ in padding)
    limits = tuple(low + n for low, n in zip(starts, shape, strict=True))
    return traced(lambda x: slice_array(x, starts, limits))(ctx, result)


select_and_scatter_add_p: ir.Primitive = ir.define(
    "select_and_scatter_add",
    sharding=ir.factors(ir.same_dimensions),
    abstract_eval=_scatter_aval,
    jvp=_scatter_jvp,
    transpose=_scatter_transpose,
    batch=lambda axis, args, dims, *, select_prim, **window: _pair_batch(
        select_and_scatter_add_p, axis, args, dims, select_prim, window
    ),
    lower=_scatter_lower,
)


# select_and_gather_add


def _gather_aval(
    tangents: ir.ShapedArray,
    operand: ir.ShapedArray,
    *,
    select_prim: ir.Primitive,
    window_dimensions: ir.Shape,
    window_strides: ir.Shape,
    padding: Padding,
    base_dilation: ir.Shape,
    window_dilation: ir.Shape,
) -> ir.ShapedArray:
    name = "select_and_gather_add"
    if tangents.shape != operand.shape:
        raise TypeError(
            f"{name}: tangents and operand must have one shape, got {tangents.str_short()} and "
            f"{operand.str_short()}."
        )
    check_same_dtype(name, tangents, operand)
    window = (window_dimensions, window_strides, padding, base_dilation, window_dilation)
    check_window(name, operand.shape, *window)
    return ir.ShapedArray(reduce_window_shape_tuple(operand.shape, *window), operand.dtype)


def _gather_jvp(primals, tangents, **params):
    t, operand = primals
    result = select_and_gather_add_p.bind(t, operand, **params)
    if type(tangents[0]) is Zero:
        return result, Zero.from_primal(result)
    return result, select_and_gather_add_p.bind(tangents[0], operand, **params)


def _gather_transpose(
    ct, tangents, operand, *, select_prim, padding, base_dilation, window_dilation, **window
):
    if any(d != 1 for d in window_dilation):
        raise NotImplementedError(
            f"max pooling with window_dilation={window_dilation} has no reverse-mode "
            "derivative here; the windows must be dense."
        )
    if not is_undefined_primal(tangents) or is_undefined_primal(operand):
        raise NotImplementedError("select_and_gather_add is linear in its first operand only.")
    params = {"select_prim": select_prim, "padding": padding, **window}
    if all(d == 1 for d in base_dilation):
        return [select_and_scatter_add_p.bind(ct, operand, **params), None]
    worst = _worst(select_prim, tangents.aval.dtype)
    # Elements between those of the operand are never selected; they are cut out again.
    spread = pad(operand, worst, tuple((0, 0, d - 1) for d in base_dilation))
    result = select_and_scatter_add_p.bind(ct, spread, **params)
    shape = shape_of(spread)
    return [slice_array(result, (0,) * len(shape), shape, base_dilation), None]


def _gather_lower(
    ctx: Lowering, tangents: Value, operand: Value, *, select_prim: ir.Primitive, **window: Any
) -> Value:
    """Reduce windows of pairs: the operand's elements decide which tangent is selected."""
    scalar = ir.ShapedArray((), operand.dtype)

    def choose(x: ir.Array, t: ir.Array, y: ir.Array, u: ir.Array) -> list[ir.Array]:
        # The tangent that belongs to the selected element is carried beside it, as a second operand
        # of the reduction.
        first = select_prim.bind(x, y)
        return [select_n(first, y, x), select_n(first, u, t)]

    jaxpr = ir.trace_to_jaxpr(choose, [scalar] * 4, origin=ir.no_origin)
    inits = [ctx.constant(_worst(select_prim, operand.dtype), scalar), ctx.constant(0, scalar)]
    ctx.outs = [ctx.out, ctx.out]
    return lower_reduce_window(ctx, [operand, tangents], inits, jaxpr, **window)[1]


select_and_gather_add_p: ir.Primitive = ir.define(
    "select_and_gather_add",
    sharding=ir.factors(ir.same_dimensions),
    abstract_eval=_gather_aval,
    jvp=_gather_jvp,
    transpose=_gather_transpose,
    batch=lambda axis, args, dims, *, select_prim, **window: _pair_batch(
        select_and_gather_add_p, axis, args, dims, select_prim, window
    ),
    lower=_gather_lower,
)


# select_and_scatter, with any computations


def _general_aval(
    operand: ir.ShapedArray,
    source: ir.ShapedArray,
    init_value: ir.ShapedArray,
    *,
    window_dimensions: ir.Shape,
    window_strides: ir.Shape,
    padding: Padding,
    **params: object,
) -> ir.ShapedArray:
    name = "select_and_scatter"
    check_same_dtype(name, operand, source, init_value)
    if init_value.shape:
        raise TypeError(f"{name}: init_value must be a scalar, got {init_value.str_short()}.")
    ones = (1,) * operand.ndim
    check_window(name, operand.shape, window_dimensions, window_strides, padding, ones, ones)
    windows = reduce_window_shape_tuple(operand.shape, window_dimensions, window_strides, padding)
    if source.shape != windows:
        raise TypeError(
            f"{name}: source must have one element for each window, shape {windows}, got "
            f"{source.str_short()} for operand {operand.str_short()}."
        )
    return operand.strip_weak_type()


def _general_batch(axis, args, dims, *, window_dimensions, window_strides, padding, **params):
    operand, source = (batched_at(x, d, axis, 0) for x, d in zip(args[:2], dims, strict=False))
    window = {"window_dimensions": window_dimensions, "window_strides": window_strides}
    window["padding"] = padding
    if dims[2] is None:
        window = batched_window(0, **window)
        return select_and_scatter_p.bind(operand, source, args[2], **window, **params), 0
    # StableHLO takes one initial value for the whole array, so each example is computed separately.
    results = [
        select_and_scatter_p.bind(x, s, init, **window, **params)
        for x, s, init in zip(unstack(operand), unstack(source), unstack(args[2]), strict=True)
    ]
    return stack(results), 0


def _general_lower(
    ctx: Lowering,
    operand: Value,
    source: Value,
    init_value: Value,
    *,
    select_jaxpr: ir.Jaxpr,
    select_consts: Sequence[ir.Array],
    scatter_jaxpr: ir.Jaxpr,
    scatter_consts: Sequence[ir.Array],
    **window: Any,
) -> Value:
    return lower_select_and_scatter(
        ctx, operand, source, init_value, select_jaxpr, scatter_jaxpr, **window
    )


select_and_scatter_p: ir.Primitive = ir.define(
    "select_and_scatter",
    sharding=ir.factors(ir.same_dimensions),
    abstract_eval=_general_aval,
    memo=False,
    jvp=ir.unsupported(
        "its scatter function is arbitrary, so it has no derivative here; "
        "select_and_scatter_add has one"
    ),
    transpose=ir.unsupported("its scatter function is arbitrary and need not be linear"),
    batch=_general_batch,
    lower=_general_lower,
)
