"""Computations manual over some mesh axes, while the compiler shards over the others."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from math import prod

import numpy as np

from ricci_ir import AbstractValue, Jaxpr, Parts, ShapedArray, current_mesh

from ._lowering import Lowering
from ._operations import Region
from ._types import string
from ._values import Value

__all__ = ["axes_left", "mesh_position", "on_each_device", "on_shards", "once_along"]

_UNSIGNED = ShapedArray((), np.dtype("uint32"))
_BOOL = ShapedArray((), np.dtype("bool"))


def axes_left() -> tuple[Hashable, ...]:
    """Return the mesh axes that the current manual computation leaves to the compiler."""
    mesh = current_mesh.value
    # Outside of manual code, there is nothing that could be left.
    if mesh is None or not mesh.manual_axes:
        return ()
    return tuple(name for name in mesh.axis_names if name not in mesh.manual_axes)


def mesh_position(ctx: Lowering, axis_name: Hashable, out: ShapedArray) -> Value:
    """Write the position of the device along an axis. All axes of the mesh must be manual."""
    # Partitions are numbered in the order of the mesh, so the index along an axis is
    # partition_id // (the size of the axes after it) % (its size).
    sizes = ctx.module.axis_sizes
    order = list(sizes)
    minor = prod(sizes[n] for n in order[order.index(axis_name) + 1 :])
    device = ctx.generic("stablehlo.partition_id", [], [_UNSIGNED])[0]
    position = ctx.emit("stablehlo.divide", [device, ctx.constant(minor, _UNSIGNED)], _UNSIGNED)
    size = ctx.constant(sizes[axis_name], _UNSIGNED)
    index = ctx.emit("stablehlo.remainder", [position, size], _UNSIGNED)
    return ctx.emit("stablehlo.convert", [index], out)


def on_each_device(
    ctx: Lowering,
    operands: Sequence[Value],
    outs: Sequence[AbstractValue],
    build: Callable[..., Sequence[Value]],
) -> list[Value]:
    """Write a computation that is also manual over the axes that are left to the compiler.

    Args:
      ctx: the context to write it in.
      operands: the operands, replicated along these axes.
      outs: the types of the results, which must be replicated along these axes.
      build: writes the computation, as for ``Lowering.region``.
    """
    region = ctx.region([x.aval for x in operands], build, "sdy.return")
    # Not sharded over the remaining axes: each device gets all of what its shard is.
    replicated = [[()] * len(aval.shape) for aval in (*[x.aval for x in operands], *outs)]  # pyright: ignore
    return _manual(ctx, current_mesh.value.shape, axes_left(), operands, outs, replicated, region)


def on_shards(
    ctx: Lowering,
    axis_sizes: Mapping[Hashable, int],
    operands: Sequence[Value],
    outs: Sequence[AbstractValue],
    parts: Sequence[Parts],
    jaxpr: Jaxpr,
) -> list[Value]:
    """Write a jaxpr that runs on each device's shards.

    It is manual over the axes that are left to the compiler, outside of manual computations all.

    Args:
      ctx: the context to write it in.
      axis_sizes: the axes of a mesh of all devices.
      operands: the operands.
      outs: the types of the results.
      parts: for each operand and result, the axes that shard each dimension.
      jaxpr: a function of shards.
    """
    module = ctx.module
    outer = module.axis_sizes, module.manual
    module.axis_sizes, module.manual = dict(axis_sizes), True
    try:
        written = lambda inner, *shards: inner.inline(jaxpr, shards)
        region = ctx.region(jaxpr.in_avals, written, "sdy.return")
    finally:
        module.axis_sizes, module.manual = outer
    axes = axes_left() or tuple(axis_sizes)
    return _manual(ctx, axis_sizes, axes, operands, outs, parts, region)


def _manual(
    ctx: Lowering,
    axis_sizes: Mapping[Hashable, int],
    axes: Sequence[Hashable],
    operands: Sequence[Value],
    outs: Sequence[AbstractValue],
    parts: Sequence[Sequence[Sequence[Hashable]]],
    region: Region,
) -> list[Value]:
    symbol = ctx.module.mesh(tuple(axis_sizes.items()))
    names = lambda axes: ", ".join(string(str(name)) for name in axes)

    def shardings(values: Sequence[Sequence[Sequence[Hashable]]]) -> str:
        texts = (
            f"<@{symbol}, [{', '.join(f'{{{names(part)}}}' for part in dims)}]>" for dims in values
        )
        return f"#sdy.sharding_per_value<[{', '.join(texts)}]>"

    attributes = (
        f"in_shardings = {shardings(parts[: len(operands)])}, "
        f"out_shardings = {shardings(parts[len(operands) :])}, "
        f"manual_axes = #sdy<manual_axes{{{names(axes)}}}>"
    )
    return ctx.generic("sdy.manual_computation", operands, outs, attributes, [region])


def once_along(
    ctx: Lowering, operands: Sequence[Value], build: Callable[..., Sequence[Value]]
) -> None:
    """Write operations that one of the devices runs along the axes left to the compiler.

    ``build(ctx, *operands)`` writes them; they have no results.
    """

    def inner(ctx: Lowering, *xs: Value) -> Sequence[Value]:
        first: Value | None = None
        zero = ctx.constant(0, _UNSIGNED)
        # A device is the first one if its position along every axis left is 0.
        for name in axes_left():
            position = mesh_position(ctx, name, _UNSIGNED)
            is_zero = ctx.emit(
                "stablehlo.compare EQ,", [position, zero], _BOOL, ", UNSIGNED", full=True
            )
            first = is_zero if first is None else ctx.emit("stablehlo.and", [first, is_zero], _BOOL)
        assert first is not None, "all mesh axes are manual"
        done = ctx.region([], lambda region: build(region, *xs))
        nothing = ctx.region([], lambda region: [])
        ctx.generic("stablehlo.if", [first], [], regions=[done, nothing])
        return []

    on_each_device(ctx, operands, [], inner)
