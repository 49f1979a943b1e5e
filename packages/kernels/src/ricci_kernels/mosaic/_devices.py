"""The rules of copies to other devices, of their semaphores, and of positions in the mesh.

Devices are numbered in the row-major order of the whole mesh, in which XLA numbers partitions.
"""

from collections.abc import Hashable, Sequence
from math import prod
from typing import Any

import ricci_ir as ir
from ricci_kernels.blocks._memory_spaces import SemaphoreType
from ricci_kernels.primitives import _remote_copies as remote
from ricci_kernels.primitives._copies import Forms

from ._copies import check_kind, written_references
from ._writer import INT32, Reference, Value, Writer, mosaic_rules

_scalar = ir.ShapedArray((), INT32)
# The optional operands that are present: source, its semaphore, target, its semaphore, device.
_SEGMENTS = "operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0, 0>, strict_ordering = false"


def _copy_operands(
    ctx: Writer, operands: Sequence[Any], forms: Forms, axes: remote.MeshAxes
) -> list[Any]:
    """The operands of a copy in Mosaic's order."""
    _check_axes(ctx, axes)
    source, target, sent, arrived = written_references(ctx, operands, forms)
    check_kind(ctx, sent, SemaphoreType.DMA)
    check_kind(ctx, arrived, SemaphoreType.DMA)
    return [source, sent, target, arrived, operands[-1]]


def _check_axes(ctx: Writer, axes: remote.MeshAxes) -> None:
    # The kernel's numbers of devices count along its manual axes only.
    if dict(axes) != dict(ctx.mesh):
        raise ctx.refuse(
            f"it names devices along the axes {tuple([name for name, _ in axes])} of a mesh with "
            f"the axes {tuple(ctx.mesh)}. Leave out axis_names of shard_map, so that all are "
            "manual."
        )


def _start(
    ctx: Writer, *operands: Value | Reference, forms: Forms, axes: remote.MeshAxes
) -> list[Any]:
    values = _copy_operands(ctx, operands, forms, axes)
    ctx.write("tpu.enqueue_dma", values, (), f"{_SEGMENTS}, priority = 0 : i32")
    return []


def _wait(
    ctx: Writer, *operands: Value | Reference, forms: Forms, axes: remote.MeshAxes, is_sending: bool
) -> list[Any]:
    values = _copy_operands(ctx, operands, forms, axes)
    target = "false" if is_sending else "true"
    attributes = f"{_SEGMENTS}, priority = 0 : i32, wait_target = {target}"
    ctx.write("tpu.wait_dma", values, (), attributes)
    return []


def _signal(
    ctx: Writer, *operands: Value | Reference, forms: Forms, axes: remote.MeshAxes
) -> list[Any]:
    _check_axes(ctx, axes)
    (semaphore,) = written_references(ctx, operands, forms)
    check_kind(ctx, semaphore, SemaphoreType.REGULAR)
    segments = "operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>"
    ctx.write("tpu.sem_signal", [semaphore, *operands[-2:]], (), segments)
    return []


def _axis_index(ctx: Writer, *, axis_name: Hashable) -> Value:
    names = list(ctx.mesh)
    if axis_name not in names:
        raise ctx.refuse(f"no mesh with the axis {axis_name!r} is around the kernel.")
    # The digit of the device's number: number // (the size of the later axes) % (the size).
    later = prod([ctx.mesh[name] for name in names[names.index(axis_name) + 1 :]])
    number = ctx.emit("tpu.device_id", [], _scalar)
    quotient = ctx.emit("arith.divui", [number, ctx.int32(later)], _scalar)
    size = ctx.int32(ctx.mesh[axis_name])
    return ctx.emit("arith.remui", [quotient, size], _scalar)


def add_axis_rule() -> None:
    """Set the rule of positions along axes, if the package that has them is installed."""
    if "axis_index" in ir.primitives:
        mosaic_rules[ir.primitives["axis_index"]] = _axis_index


mosaic_rules.update(
    {
        remote.remote_copy_start_p: _start,
        remote.remote_copy_wait_p: _wait,
        remote.remote_signal_p: _signal,
    }
)
