"""The rules of copies between memories, of semaphores, and of printing."""

import re
from collections.abc import Sequence
from typing import Any

import ricci_ir as ir
from ricci_kernels.blocks._memory_spaces import SemaphoreType
from ricci_kernels.primitives import _copies as copies
from ricci_kernels.primitives._debug_checks import debug_check_p
from ricci_kernels.primitives._memory_constraints import has_memory_space_p
from ricci_kernels.tpu._cores import trace_value_p
from ricci_stablehlo import string

from ._references import part_reference, view_of
from ._writer import INT32, Reference, Value, Writer, kind_of, mosaic_rules, space_name

# The devices whose copies do not add to regular semaphores.
_NO_COUNTED_COPIES = ("TPU v5 lite", "TPU v5e")

# The optional operands that are present: source, target and their semaphore.
_SEGMENTS = "operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0, 0>"


def written_references(
    ctx: Writer, operands: Sequence[Any], forms: copies.Forms
) -> list[Reference]:
    """Write the references, or the parts of them, that some operands are."""
    parts = []
    for (ref, positions), (_, transforms) in zip(
        copies.split_references(operands, forms), forms, strict=True
    ):
        parts.append(part_reference(ctx, *view_of(ctx, ref, transforms, positions)))
    return parts


def _start(
    ctx: Writer, *operands: Value | Reference, forms: copies.Forms, add: bool, priority: int
) -> list[Any]:
    if add:
        raise ctx.refuse("a copy that adds is not supported. Copy to a buffer, and add its value.")
    source, target, semaphore = written_references(ctx, operands, forms)
    if semaphore.kind is not SemaphoreType.REGULAR:
        check_kind(ctx, semaphore, SemaphoreType.DMA)
    elif ctx.device_kind in _NO_COUNTED_COPIES:
        raise ctx.refuse(
            f"its semaphore is of kind SemaphoreType.REGULAR, and copies of a {ctx.device_kind} "
            "add to those of SemaphoreType.DMA only. Pass such a one, and wait for each copy by "
            "its wait()."
        )
    attributes = f"{_SEGMENTS}, priority = {priority} : i32, strict_ordering = false"
    ctx.write("tpu.enqueue_dma", [source, target, semaphore], (), attributes)
    return []


def _wait(ctx: Writer, *operands: Value | Reference, forms: copies.Forms) -> list[Any]:
    source, target, semaphore = written_references(ctx, operands, forms)
    check_kind(ctx, semaphore, SemaphoreType.DMA)
    attributes = f"{_SEGMENTS}, priority = 0 : i32, strict_ordering = false, wait_target = true"
    ctx.write("tpu.wait_dma", [source, target, semaphore], (), attributes)
    return []


def check_kind(ctx: Writer, semaphore: Reference, kind: SemaphoreType) -> None:
    """Refuse a semaphore of another kind."""
    # The kinds have different types in Mosaic; regular ones and those of barriers have the same.
    is_dma = semaphore.kind is SemaphoreType.DMA
    if semaphore.space != "semaphore_mem" or is_dma != (kind is SemaphoreType.DMA):
        raise ctx.refuse(
            f"its semaphore is in memory_space={semaphore.space}, of kind {semaphore.kind}. Pass "
            f"one of pltpu.SemaphoreType.{kind.name}."
        )


def _signal(ctx: Writer, *operands: Value | Reference, forms: copies.Forms) -> list[Any]:
    (semaphore,) = written_references(ctx, operands, forms)
    check_kind(ctx, semaphore, SemaphoreType.REGULAR)
    segments = "operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>"
    ctx.write("tpu.sem_signal", [semaphore, operands[-1]], (), segments)
    return []


def _core_signal(ctx: Writer, *operands: Value | Reference, forms: copies.Forms) -> list[Any]:
    (semaphore,) = written_references(ctx, operands, forms)
    check_kind(ctx, semaphore, SemaphoreType.REGULAR)
    segments = "operandSegmentSizes = array<i32: 1, 1, 0, 1, 0>"
    ctx.write("tpu.sem_signal", [semaphore, *operands[-2:]], (), segments)
    return []


def _trace_value(ctx: Writer, value: Value, *, label: str) -> list[Any]:
    ctx.write("tpu.trace_value", [value], (), f"label = {string(label)}")
    return []


def _semaphore_wait(ctx: Writer, *operands: Value | Reference, forms: copies.Forms) -> list[Any]:
    (semaphore,) = written_references(ctx, operands, forms)
    check_kind(ctx, semaphore, SemaphoreType.REGULAR)
    ctx.write("tpu.sem_wait", [semaphore, operands[-1]])
    return []


def _semaphore_read(ctx: Writer, *operands: Value | Reference, forms: copies.Forms) -> Value:
    (semaphore,) = written_references(ctx, operands, forms)
    return ctx.emit("tpu.sem_read", [semaphore], ir.ShapedArray((), INT32))


def _has_memory_space(ctx: Writer, ref: Reference, *, memory_space: object) -> Value:
    attribute = f"memory_space = #tpu.memory_space<{space_name(memory_space)}>"
    return ctx.emit("tpu.memref_memory_space_is", [ref], ctx.out, attribute)


def _debug_check(ctx: Writer, condition: Value, *, message: str, enabled: bool) -> list[Any]:
    if enabled:
        ctx.write("cf.assert", [condition], (), f"msg = {string(message)}")
    return []


def _debug_print(
    ctx: Writer, *operands: Value, fmt: str, static_args: Sequence[object], **_: object
) -> list[Any]:
    if static_args or any(x.shape for x in operands):
        raise ctx.refuse("only scalars are printed by a kernel. Print ref[i, j], or interpret it.")
    fields = iter(range(len(operands)))

    def field(_: re.Match[str]) -> str:
        i = next(fields)
        return f"${'f' if kind_of(operands[i].dtype) == 'f' else 's'}{i}"

    # Python's fields become the operation's: $f0 for a float, $s1 for an integer.
    tag = re.sub(r"\{[^}]*\}", field, fmt)
    formatted = "true" if operands else "false"
    ctx.write("tpu.log", operands, (), f"formatted = {formatted}, tag = {string(tag)}")
    return []


mosaic_rules.update(
    {
        ir.primitives["debug_print"]: _debug_print,
        debug_check_p: _debug_check,
        copies.core_signal_p: _core_signal,
        copies.dma_start_p: _start,
        copies.dma_wait_p: _wait,
        copies.semaphore_read_p: _semaphore_read,
        copies.semaphore_signal_p: _signal,
        copies.semaphore_wait_p: _semaphore_wait,
        has_memory_space_p: _has_memory_space,
        trace_value_p: _trace_value,
    }
)
