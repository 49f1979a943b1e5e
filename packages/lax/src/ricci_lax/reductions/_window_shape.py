"""Sliding windows: paddings, dilations, the shapes of results, and their lowering."""

from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np

from ricci_ir import Jaxpr, as_size, is_static_shape, max_dim, to_sizes
from ricci_stablehlo import Lowering, Value, combining_region, dense, int_array

__all__ = ["padtype_to_pads", "reduce_window_shape_tuple"]

# Low and high padding of each dimension.
Padding = Sequence[tuple[int, int]]


def dilated(size: int, dilation: int) -> int:
    """The size of a dimension with ``dilation - 1`` gaps between its elements."""
    return 0 if size == 0 else 1 + dilation * (size - 1)


def dilated_shape(shape: Sequence[int], dilation: Sequence[int]) -> tuple[int, ...]:
    """The shape of an array with gaps between its elements."""
    return tuple(dilated(n, d) for n, d in zip(shape, dilation, strict=True))


def strided(size: int, window: int, stride: int) -> int:
    """The number of windows that fit into a dimension."""
    # A window that is longer than the dimension does not fit once.
    return max_dim((size - window) // stride + 1, 0)


def padtype_to_pads(
    in_shape: Sequence[int],
    window_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: str,
) -> list[tuple[int, int]]:
    """The low and high padding of each dimension, from the name of a padding.

    Args:
      in_shape: the sizes of the dimensions, dilated.
      window_shape: the sizes of the window, dilated.
      window_strides: the steps of the window.
      padding: ``"VALID"`` (none), ``"SAME"`` (as many windows as steps fit, the odd padding at
        the end) or ``"SAME_LOWER"`` (at the start); in any case.

    Returns:
      For each dimension, a pair of the low and the high padding.

    Raises:
      RuntimeError: for another name.
      TypeError: if it is not a name.

    Example:
      >>> from ricci import lax
      >>> lax.padtype_to_pads((10, 7), (3, 3), (2, 2), "SAME")
      [(0, 1), (1, 1)]
    """
    if not isinstance(padding, str):
        raise TypeError(
            f"padding: {padding!r} is not a string; give 'VALID', 'SAME' or 'SAME_LOWER'."
        )
    name = padding.upper()
    if name == "VALID":
        return [(0, 0)] * len(in_shape)
    if name not in ("SAME", "SAME_LOWER"):
        raise RuntimeError(
            f"padding={padding!r} is unknown; it is 'VALID', 'SAME' or 'SAME_LOWER'."
        )
    pads = []
    for sizes in zip(in_shape, window_shape, window_strides, strict=False):
        size, window, stride = (int(n) if isinstance(n, np.integer) else n for n in sizes)
        # There are ceil(size / stride) windows; the padding is as much as the last one reaches out.
        count = -(-size // stride)
        total = max_dim((count - 1) * stride + window - size, 0)
        half = total // 2
        pads.append((half, total - half) if name == "SAME" else (total - half, half))
    return pads


def check_positive(name: str, field: str, values: Sequence[int]) -> None:
    """Raise ``TypeError`` unless all values are positive."""
    if any(value <= 0 for value in values):
        raise TypeError(f"{name}: {field}={tuple(values)} holds a number below 1.")


def check_window(
    name: str,
    shape: Sequence[int],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Sequence[object],
    base_dilation: Sequence[int],
    window_dilation: Sequence[int],
) -> None:
    """Raise unless there is one positive entry for each dimension of an operand's shape.

    Raises:
      TypeError: if a length is wrong, or an entry is not positive.
    """
    if len(window_dimensions) != len(shape):
        raise TypeError(
            f"{name}: window_dimensions={tuple(window_dimensions)} does not have one size "
            f"for each dimension of shape {tuple(shape)}."
        )
    for field, values in (
        ("window_strides", window_strides),
        ("padding", padding),
        ("base_dilation", base_dilation),
        ("window_dilation", window_dilation),
    ):
        if len(values) != len(window_dimensions):
            raise TypeError(
                f"{name}: {field}={tuple(values)} and "
                f"window_dimensions={tuple(window_dimensions)} differ in length; give one "
                "number of each for each dimension."
            )
    check_positive(name, "window_dimensions", window_dimensions)
    check_positive(name, "window_strides", window_strides)
    check_positive(name, "base_dilation", base_dilation)
    check_positive(name, "window_dilation", window_dilation)


def reduce_window_shape_tuple(
    operand_shape: Sequence[int],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> tuple[int, ...]:
    """The shape of a reduction over sliding windows.

    Args:
      operand_shape: the operand's shape.
      window_dimensions, window_strides: the window's size and its step in each dimension.
      padding: low and high padding for each dimension.
      base_dilation, window_dilation: the distances of the operand's and of the window's elements,
        by default 1.

    Returns:
      The number of windows in each dimension.

    Example:
      >>> from ricci import lax
      >>> lax.reduce_window_shape_tuple((5, 6), (2, 3), (1, 2), ((0, 1), (0, 1)))
      (5, 3)
    """
    ones = (1,) * len(operand_shape)
    base = dilated_shape(operand_shape, base_dilation or ones)
    window = dilated_shape(window_dimensions, window_dilation or ones)
    return tuple(
        strided(low + size + high, width, stride)
        for size, width, stride, (low, high) in zip(
            base, window, window_strides, padding, strict=True
        )
    )


def canonical_window(
    name: str,
    shape: Sequence[int],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None,
    padding: str | Sequence[tuple[int, int]],
    base_dilation: Sequence[int] | None,
    window_dilation: Sequence[int] | None,
) -> dict[str, tuple]:
    """A window as primitives take it: defaults filled in, a padding's name resolved."""
    ones = (1,) * len(window_dimensions)
    dimensions = to_sizes(window_dimensions)
    strides = tuple(map(index, ones if window_strides is None else window_strides))
    base = tuple(map(index, ones if base_dilation is None else base_dilation))
    window = tuple(map(index, ones if window_dilation is None else window_dilation))
    named = isinstance(padding, str)
    check_window(name, shape, dimensions, strides, ones if named else padding, base, window)
    if named:
        sizes = dilated_shape(shape, base)
        padding = padtype_to_pads(sizes, dilated_shape(dimensions, window), strides, padding)
    return {
        "window_dimensions": dimensions,
        "window_strides": strides,
        "padding": tuple((as_size(low), as_size(high)) for low, high in padding),  # pyright: ignore
        "base_dilation": base,
        "window_dilation": window,
    }


def batched_window(dim: int, **window: Sequence[Any]) -> dict[str, tuple]:
    """A window that does not reach across a batch dimension inserted at ``dim``."""
    return {
        field: (*values[:dim], (0, 0) if field == "padding" else 1, *values[dim:])
        for field, values in window.items()
    }


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
    # The attributes of the static operation must be numbers; symbolic sizes are operands.
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
