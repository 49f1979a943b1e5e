"""The rules of reads and writes of references, and of buffers."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_kernels.blocks._memory_spaces import SemaphoreType
from ricci_kernels.body._control import run_scoped_p
from ricci_kernels.calls._batching import example_ref_p
from ricci_kernels.primitives._accesses import (
    VIEW_KINDS,
    Forms,
    masked_load_p,
    masked_store_p,
    optional,
)
from ricci_lax import refs

from ._elementwise import arithmetic, converted
from ._writer import (
    BOOL,
    INT32,
    KeyValue,
    Reference,
    Value,
    Writer,
    bits_of,
    mosaic_rules,
    space_name,
    type_text,
)

_scalar = ir.ShapedArray((), INT32)


class View(ir.TupleRecord):
    """A part of a buffer.

    Attributes:
      starts: the first position along each dimension of the buffer.
      sizes, steps: the number of positions, and the distance between them. A number is a value in
        a view that is copied.
      dims: the dimensions that the part has.
    """

    starts: tuple[int | Value, ...]
    sizes: tuple[Any, ...]
    steps: tuple[int, ...]
    dims: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the part."""
        return tuple([self.sizes[d] for d in self.dims])


def whole_view(ref: Reference) -> View:
    """The view of a whole reference."""
    zeros = (0,) * len(ref.shape)
    return View(zeros, ref.shape, (1,) * len(ref.shape), ref.dims)


def row_view(ref: Reference, place: Value) -> View:
    """The view of the part at a position along the first dimension."""
    rank = len(ref.shape)
    zeros: tuple[Any, ...] = (0,) * (rank - 1)
    return View((place, *zeros), (1, *ref.shape[1:]), (1,) * rank, tuple(range(1, rank)))


def view_of(
    ctx: Writer, ref: Reference, forms: Forms, operands: Sequence[Value]
) -> tuple[Reference, View]:
    """The view at several indices, one after the other; ``operands`` are their positions.

    Returns:
      The buffer, or a view of it in another shape or dtype, and the part of that.
    """
    # The view stays one of the buffer's dimensions, of which each index removes some: an operation
    # on memory takes a position and a size for all of them.
    starts, sizes, steps, dims = (list(part) for part in whole_view(ref))
    positions = iter(operands)
    for form in forms:
        if not form:
            continue
        if form[0].kind in VIEW_KINDS:
            part = View(tuple(starts), tuple(sizes), tuple(steps), tuple(dims))
            ref = _viewed(ctx, part_reference(ctx, ref, part), form[0])
            starts, sizes, steps, dims = (list(part) for part in whole_view(ref))
            continue
        left = []
        for part, d in zip(form, dims, strict=True):
            if part.kind == "array":
                raise ctx.refuse(
                    "it is indexed with an array of positions. Read rows in a loop, each with "
                    "ref[pl.ds(i, 1)], or use jnp.take_along_axis on the value."
                )
            start: Any = next(positions) if part.start is None else part.start
            # A static index may count from the end.
            if isinstance(start, int) and start < 0:
                start += sizes[d]
            # All of a part of traced size, whose window has its bound.
            is_all = isinstance(sizes[d], Value) and part == ("window", 0, part.size, 1)
            # An index into a view with a step counts in steps of the buffer.
            starts[d] = _sum(ctx, starts[d], _scaled(ctx, start, steps[d]))
            if part.kind == "one":
                sizes[d] = steps[d] = 1
                continue
            left.append(d)
            if part.kind == "span":
                sizes[d] = converted(ctx, next(positions), INT32)
            elif not is_all:
                sizes[d], steps[d] = part.size, steps[d] * part.step
        dims = left
    return ref, View(tuple(starts), tuple(sizes), tuple(steps), tuple(dims))


def _viewed(ctx: Writer, ref: Reference, view: Any) -> Reference:
    """Write the view of a whole reference in another shape or dtype."""
    shape = tuple(view.shape_of(ref.shape))
    is_bitcast = view.kind == "bitcast"
    whole = Reference("", shape, view.dtype if is_bitcast else ref.dtype, ref.space, kind=ref.kind)
    operation = "tpu.memref_bitcast" if is_bitcast else "tpu.memref_reshape"
    (whole.name,) = ctx.write(operation, [ref], [whole.type])
    return whole


def _scaled(ctx: Writer, x: int | Value, factor: int) -> int | Value:
    if isinstance(x, int):
        return x * factor
    if factor == 1:
        return converted(ctx, x, INT32)
    return ctx.emit("arith.muli", [converted(ctx, x, INT32), ctx.int32(factor)], _scalar)


def _sum(ctx: Writer, x: int | Value, y: int | Value) -> int | Value:
    if isinstance(x, int) and isinstance(y, int):
        return x + y
    if isinstance(x, int) and x == 0 or isinstance(y, int) and y == 0:
        return y if isinstance(x, int) and x == 0 else x
    return ctx.emit("arith.addi", [ctx.int32(x), ctx.int32(y)], _scalar)


def _check_readable(ctx: Writer, ref: Reference) -> None:
    if ref.space in ("vmem", "smem"):
        return
    if ref.space == "semaphore_mem":
        raise ctx.refuse("a semaphore is read with pl.semaphore_read.")
    raise ctx.refuse(
        f"the reference is in memory_space={ref.space}. Only references in VMEM and SMEM are read "
        "and written: copy the part with pltpu.make_async_copy or pltpu.sync_copy to a scratch "
        "buffer, such as pltpu.VMEM(shape, dtype)."
    )


def _read_key(ctx: Writer, ref: Reference, view: View) -> KeyValue:
    """Write the reads of a key's words."""
    if ref.space != "smem" or view.shape:
        raise ctx.refuse(
            "only single keys are read, from SMEM: give the input "
            "pl.BlockSpec(memory_space=pltpu.SMEM), and read ref[i]."
        )
    key = ir.ShapedArray((), ref.dtype)
    stored = ir.physical_aval(key)
    starts = [ctx.index(start) for start in view.starts]
    words = [
        ctx.emit("memref.load", [ref, *starts, *[ctx.index(i) for i in place]], stored.resized(()))
        for place in np.ndindex(stored.shape)
    ]
    return KeyValue(key, words)


def read(ctx: Writer, ref: Reference, view: View) -> Value:
    """Write the read of a part of a buffer."""
    _check_readable(ctx, ref)
    if ir.is_extended(ref.dtype):
        return _read_key(ctx, ref, view)
    out = ir.ShapedArray(view.shape, ref.dtype)
    stored = out.update(dtype=INT32) if ref.dtype == BOOL else out
    indices = [ctx.index(start) for start in view.starts]
    if ref.space == "smem":
        if view.shape:
            raise ctx.refuse(
                "the reference is in SMEM, whose elements are read one by one: ref[i, j]."
            )
        value = ctx.emit("memref.load", [ref, *indices], stored)
    else:
        # A load has the rank of the buffer; dimensions of one element are removed from the value.
        loaded = stored.resized(view.sizes)
        if all(step == 1 for step in view.steps):
            value = ctx.emit("vector.load", [ref, *indices], loaded)
        else:
            steps = ", ".join(map(str, view.steps))
            attributes = f"strides = array<i32: {steps}>"
            value = ctx.emit("tpu.strided_load", [ref, *indices], loaded, attributes)
        value = ctx.reshape(value, view.shape)
    return ctx.as_bool(value) if ref.dtype == BOOL else value


def write(ctx: Writer, ref: Reference, view: View, value: Value, mask: Value | None = None) -> None:
    """Write the store of a value to a part of a buffer."""
    _check_readable(ctx, ref)
    stored = ctx.as_int(value) if ref.dtype == BOOL else converted(ctx, value, ref.dtype)
    indices = [ctx.index(start) for start in view.starts]
    if ref.space == "smem":
        if view.shape or mask is not None:
            raise ctx.refuse(
                "the reference is in SMEM, whose elements are written one by one: ref[i, j] = x."
            )
        ctx.write("memref.store", [stored, ref, *indices])
        return
    stored = ctx.reshape(stored, view.sizes)
    count = len(indices)
    if any(step != 1 for step in view.steps):
        if mask is not None:
            raise ctx.refuse("a masked store has steps. Store without steps.")
        steps = ", ".join(map(str, view.steps))
        attributes = f"strides = array<i32: {steps}>"
        ctx.write("tpu.strided_store", [stored, ref, *indices], (), attributes)
        return
    masks = [] if mask is None else [ctx.reshape(mask, view.sizes)]
    if masks and bits_of(stored.dtype) != 32:
        # Hardware masks stores of 32 bits only.
        old = ctx.emit("vector.load", [ref, *indices], stored.aval)
        stored, masks = ctx.emit("arith.select", [*masks, stored, old], stored.aval), []
    ctx.write(
        "tpu.vector_store",
        [stored, ref, *indices, *masks],
        (),
        f"add = false, operandSegmentSizes = array<i32: 1, 1, {count}, {len(masks)}>, "
        "strides = array<i32>",
    )


def part_reference(ctx: Writer, ref: Reference, view: View) -> Reference:
    """Write the reference to a part of a buffer, for a copy."""
    if any(step != 1 for step in view.steps):
        raise ctx.refuse("a part with steps is not copied. Copy a contiguous part.")
    part = ref
    if view.sizes != ref.shape:
        starts = [ctx.int32(start) for start in view.starts]
        dynamic = [size for size in view.sizes if isinstance(size, Value)]
        part = Reference("", _type_sizes(view.sizes), ref.dtype, ref.space, kind=ref.kind)
        segments = f"operandSegmentSizes = array<i32: 1, {len(starts)}, {len(dynamic)}>"
        operands = [ref, *starts, *dynamic]
        (part.name,) = ctx.write("tpu.memref_slice", operands, [part.type], segments)
    # A slice of a buffer has its rank; the positions that an index selects are dropped afterwards.
    if len(view.dims) != len(view.sizes):
        whole = part
        part = Reference("", _type_sizes(view.shape), ref.dtype, ref.space, kind=ref.kind)
        (part.name,) = ctx.write("tpu.memref_squeeze", [whole], [part.type])
    return part


def _type_sizes(sizes: Sequence[int | Value]) -> tuple[Any, ...]:
    """The sizes as they are written in a type: a question mark for one that is a value."""
    return tuple(["?" if isinstance(size, Value) else size for size in sizes])


def allocate(
    ctx: Writer,
    shape: tuple[int, ...],
    dtype: np.dtype,
    space: str = "vmem",
    kind: SemaphoreType | None = None,
) -> Reference:
    """Write the allocation of a buffer, or of semaphores."""
    ref = Reference("", shape, dtype, space, kind=kind)
    if space == "semaphore_mem":
        (ref.name,) = ctx.write("tpu.sem_alloc", [], [ref.type])
    else:
        attributes = "operandSegmentSizes = array<i32: 0, 0>"
        (ref.name,) = ctx.write("memref.alloca", [], [ref.type], attributes)
    return ref


def _get(ctx: Writer, ref: Reference, *operands: Value, transforms: Forms) -> Value:
    return read(ctx, *view_of(ctx, ref, transforms, operands))


def _swap(ctx: Writer, ref: Reference, value: Value, *operands: Value, transforms: Forms) -> Value:
    ref, view = view_of(ctx, ref, transforms, operands)
    # A store is a swap whose old value nothing uses: reading it would cost a load.
    is_used = not isinstance(ctx.eqn.outvars[0], ir.DropVar)
    old = read(ctx, ref, view) if is_used else value
    write(ctx, ref, view, value)
    return old


def _addupdate(
    ctx: Writer, ref: Reference, value: Value, *operands: Value, transforms: Forms
) -> list[Value]:
    ref, view = view_of(ctx, ref, transforms, operands)
    old = read(ctx, ref, view)
    write(ctx, ref, view, arithmetic(ctx, ir.primitives["add"], old, value))
    return []


def _masked_load(
    ctx: Writer,
    ref: Reference,
    *operands: Value,
    transforms: Forms,
    has_mask: bool,
    has_other: bool,
    **_: object,
) -> Value:
    (mask, other), positions = optional(operands, has_mask, has_other)
    value = read(ctx, *view_of(ctx, ref, transforms, positions))
    if mask is None or other is None:
        return value
    return ctx.emit("arith.select", [mask, value, other], value.aval)


def _masked_store(
    ctx: Writer,
    ref: Reference,
    value: Value,
    *operands: Value,
    transforms: Forms,
    has_mask: bool,
    **_: object,
) -> list[Value]:
    (mask,), positions = optional(operands, has_mask)
    write(ctx, *view_of(ctx, ref, transforms, positions), value, mask)
    return []


def _new_ref(
    ctx: Writer, value: Value, *, memory_space: object, kind: object, **_: object
) -> Reference:
    space = space_name(memory_space, "vmem" if value.shape else "smem")
    if space == "semaphore_mem":
        # Semaphores begin at 0; the one of barriers belongs to all kernels of one collective_id.
        kind = kind if isinstance(kind, SemaphoreType) else None
        if kind is not SemaphoreType.BARRIER:
            return allocate(ctx, value.shape, value.dtype, space, kind)
        ref = Reference("", value.shape, value.dtype, space, kind=kind)
        (ref.name,) = ctx.write("tpu.sem_barrier", [], [ref.type])
        return ref
    ref = allocate(ctx, value.shape, value.dtype, space)
    write(ctx, ref, whole_view(ref), value)
    return ref


def _example_ref(ctx: Writer, ref: Reference, example: Value) -> Reference:
    return part_reference(ctx, ref, row_view(ref, example))


def _empty_ref(ctx: Writer, *, ty: ir.ShapedArray, memory_space: object, **_: object) -> Reference:
    return allocate(
        ctx, ty.shape, ty.dtype, space_name(memory_space, "vmem" if ty.shape else "smem")
    )


def _freeze(ctx: Writer, ref: Reference, **_: object) -> Value:
    return read(ctx, ref, whole_view(ref))


def _free(ctx: Writer, ref: Reference, **_: object) -> list[Any]:
    return []


def _run_scoped(
    ctx: Writer, *operands: Value | Reference, jaxpr: ir.Jaxpr, **_: object
) -> list[Value]:
    avals: list[Any] = jaxpr.in_avals[len(operands) :]
    outs = ctx.outs

    # The buffers live as long as the region.
    def run(inner: Writer) -> Sequence[Any]:
        buffers = []
        for ref in avals:
            kind = ref.kind if isinstance(ref.kind, SemaphoreType) else None
            space = space_name(ref.memory_space)
            buffers.append(allocate(inner, ref.shape, ref.dtype, space, kind))
        return inner.apply(jaxpr, [*operands, *buffers])

    region = ctx.block([], run, "tpu.yield")
    names = ctx.write("tpu.region", [], [type_text(x) for x in outs], "", [region])
    return [Value(name, aval) for name, aval in zip(names, outs, strict=True)]


mosaic_rules.update(
    {
        example_ref_p: _example_ref,
        masked_load_p: _masked_load,
        masked_store_p: _masked_store,
        refs.addupdate_p: _addupdate,
        refs.empty_ref_p: _empty_ref,
        refs.free_ref_p: _free,
        refs.freeze_p: _freeze,
        refs.get_p: _get,
        refs.new_ref_p: _new_ref,
        refs.swap_p: _swap,
        run_scoped_p: _run_scoped,
    }
)
