"""Pipelines inside of kernels: ``emit_pipeline`` and meshes of cores."""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
import ricci_numpy as jnp
from ricci_kernels.blocks._memory_spaces import TPUMemorySpace
from ricci_kernels.blocks._programs import Frame, entered
from ricci_kernels.blocks._specs import BlockSpec, BoundedSlice, Element, Indirect, Squeezed
from ricci_kernels.blocks._tpu_parameters import BufferType
from ricci_kernels.calls._interpreter import uninitialized
from ricci_kernels.primitives._accesses import Reference, masked_store
from ricci_lax.authoring import Window

from ._buffered_refs import BufferedRef
from ._control import run_scoped
from ._copies import sync_copy

__all__: list[str] = []


def emit_pipeline(
    body: Callable[..., Any],
    *,
    grid: Sequence[Any],
    in_specs: BlockSpec | Sequence[BlockSpec] = (),
    out_specs: BlockSpec | Sequence[BlockSpec] = (),
    tiling: object = None,
    core_axis: object = None,
    core_axis_name: object = None,
    dimension_semantics: object = None,
    trace_scopes: bool = True,
    no_pipelining: bool = False,
) -> Callable[..., None]:
    """Make a function of references from one of references to their blocks, inside of a kernel.

    Args:
      body: a function of references to a block of each input and each output, and to scratch
        buffers; it runs once for each step of the grid, the last axis fastest.
      grid: the number of steps along each axis.
      in_specs, out_specs: a ``BlockSpec`` for each input and output. A dimension may be a
        ``BoundedSlice``, whose index is ``ds(start, size)``.
      tiling, core_axis, core_axis_name, dimension_semantics, trace_scopes, no_pipelining: for the
        compiler; of no effect when interpreted.

    Returns:
      A function of the references, with the options ``scratches`` and ``allocations``: for each
      reference a ``BufferedRef``. One of a subclass copies its blocks itself, and its reference may
      be a pytree; others say which of the inputs are written as well.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci.experimental import pallas as pl
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> def double(x, out):
      ...     out[...] = x[...] * 2
      >>> def kernel(x, out):
      ...     blocks = pl.BlockSpec((2,), lambda i: (i,))
      ...     pltpu.emit_pipeline(double, grid=(2,), in_specs=[blocks], out_specs=[blocks])(x, out)
      >>> run = pl.pallas_call(kernel, ricci.ShapeDtypeStruct((4,), np.float32), interpret=True)
      >>> run(np.float32([1, 2, 3, 4]))
      Array([2., 4., 6., 8.], dtype=float32)
    """
    sizes: tuple[Any, ...] = tuple(grid) if isinstance(grid, list | tuple) else (grid,)
    inputs, outputs = _listed(in_specs), _listed(out_specs)

    def pipeline(
        *refs: Any, scratches: Sequence[Any] = (), allocations: Sequence[BufferedRef] | None = None
    ) -> None:
        if len(refs) != len(inputs) + len(outputs):
            raise ValueError(
                f"emit_pipeline: the pipeline has {len(inputs)} in_specs and {len(outputs)} "
                f"out_specs, and is called with {len(refs)} references."
            )

        operands = _operands((*inputs, *outputs), refs, len(inputs), allocations)

        # A loop over the linear number of a step. Copies and computation do not overlap: the result
        # is that of a pipeline, for an interpreter and for a compiler alike.
        def step(linear: Any, carry: Any) -> Any:
            positions: list[Any] = []
            linear = lax.convert_element_type(linear, np.int32)
            for size in reversed(sizes):
                size = np.int32(size) if isinstance(size, int) else size
                positions.insert(0, lax.rem(linear, size))
                linear = lax.div(linear, size)
            static = tuple(size if isinstance(size, int) else None for size in sizes)
            frame = Frame(static, lambda axis: positions[axis], lambda axis: sizes[axis])
            entered(frame, None, lambda: _run(body, positions, operands, scratches))
            return carry

        total: Any = np.int32(prod(sizes)) if all(isinstance(n, int) for n in sizes) else None
        if total is None:
            total = np.int32(1)
            for size in sizes:
                total = lax.mul(total, jnp.asarray(size, np.int32))
        lax.fori_loop(np.int32(0), total, step, ())

    return pipeline


def emit_pipeline_with_allocations(
    body: Callable[..., Any],
    *,
    grid: Sequence[Any],
    in_specs: BlockSpec | Sequence[BlockSpec] = (),
    out_specs: BlockSpec | Sequence[BlockSpec] = (),
) -> tuple[Callable[..., None], Callable[..., tuple[BufferedRef, ...]]]:
    """Make a pipeline, and a function that describes the buffers of its blocks.

    Args:
      body, grid, in_specs, out_specs: see ``emit_pipeline``.

    Returns:
      The pipeline, and a function from its references to a ``BufferedRef`` for each, which
      ``run_scoped`` allocates.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci.experimental import pallas as pl
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> def double(x, out):
      ...     out[...] = x[...] * 2
      >>> block = pl.BlockSpec((2,), lambda i: (i,))
      >>> pipeline, describe = pltpu.emit_pipeline_with_allocations(
      ...     double, grid=(2,), in_specs=[block], out_specs=[block]
      ... )
      >>> def kernel(x, out):
      ...     run = lambda buffers: pipeline(x, out, allocations=buffers)
      ...     pl.run_scoped(run, describe(x, out))
      >>> run = pl.pallas_call(kernel, ricci.ShapeDtypeStruct((4,), np.float32), interpret=True)
      >>> run(np.float32([1, 2, 3, 4]))
      Array([2., 4., 6., 8.], dtype=float32)
    """
    inputs, outputs = _listed(in_specs), _listed(out_specs)
    kinds = [BufferType.INPUT] * len(inputs) + [BufferType.OUTPUT] * len(outputs)
    rank = len(grid) if isinstance(grid, list | tuple) else 1

    def allocations(*refs: ir.Ref) -> tuple[BufferedRef, ...]:
        rows = zip((*inputs, *outputs), refs, kinds, strict=True)
        return tuple([BufferedRef.create(s, ref.dtype, k, 2, rank) for s, ref, k in rows])

    pipeline = emit_pipeline(body, grid=grid, in_specs=in_specs, out_specs=out_specs)
    return pipeline, allocations


def _listed(specs: BlockSpec | Sequence[BlockSpec]) -> list[BlockSpec]:
    return [specs] if isinstance(specs, BlockSpec) else list(specs)


class _Operand(ir.TupleRecord):
    """A reference of a pipeline, in blocks.

    Attributes:
      spec: the blocks; ``None`` for no operand, for which the body gets ``None``.
      ref: the reference, or what ``buffer`` copies from and to.
      is_written: whether blocks are copied out.
      buffer: the buffer of the blocks, if it copies them itself.
    """

    spec: BlockSpec | None
    ref: Any
    is_written: bool
    buffer: BufferedRef | None


def _operands(
    specs: Sequence[BlockSpec | None],
    refs: Sequence[Any],
    num_inputs: int,
    allocations: Sequence[BufferedRef] | None,
) -> list[_Operand]:
    operands = []
    for i, (spec, ref) in enumerate(zip(specs, refs, strict=True)):
        buffer = None if allocations is None else allocations[i]
        is_written = i >= num_inputs or (buffer is not None and buffer.is_output)
        # The plain class copies what the pipeline copies to buffers of its own.
        custom = None if type(buffer) in (BufferedRef, type(None)) else buffer
        operands.append(
            _Operand(spec, ref, is_written, None if custom is None else custom.initialize_slots())
        )
    return operands


def _run(
    body: Callable[..., Any],
    positions: Sequence[Any],
    operands: Sequence[_Operand],
    scratches: Sequence[Any],
) -> None:
    """Run the body on the blocks of one step."""
    # One step follows the other, so that all blocks of a buffer are in its first slot.
    copied = [(x.buffer, x.ref) for x in operands if x.buffer is not None]
    index = tuple(positions)
    for buffer, ref in copied:
        if buffer.is_input:
            buffer.copy_in(ref, index)
            buffer.wait_in(ref, index)
    plain = [x for x in operands if x.buffer is None and x.spec is not None]

    def run(*blocks: ir.Ref) -> None:
        plain_blocks = iter(blocks)

        def block_of(x: _Operand) -> Reference | None:
            if x.spec is None:
                return None
            return next(plain_blocks) if x.buffer is None else x.buffer.current_ref

        body(*map(block_of, operands), *scratches)

    _run_on_blocks(run, positions, plain)
    for buffer, ref in copied:
        if buffer.is_output:
            buffer.copy_out(ref, index)
            buffer.wait_out(ref, index)


def _run_on_blocks(
    run: Callable[..., None], positions: Sequence[Any], operands: Sequence[_Operand]
) -> None:
    """Run a function of the blocks of references."""
    views = [_block(x.spec, x.ref, positions) for x in operands]
    # Compilers see copies of whole blocks to vector memory. Blocks that may reach over the end are
    # gathered element by element, which only an interpreter does.
    if ir.context.trace.records_references and all(mask is None for _, mask, _ in views):
        _run_on_copies(run, operands, views)
        return
    blocks = []
    for operand, (index, mask, dropped) in zip(operands, views, strict=True):
        # Positions outside of the array are clipped, and their elements replaced by the value of
        # uninitialized memory.
        ref = operand.ref
        value = ref[...].at[index].get(mode="clip") if mask is not None else ref.at[index][...]
        if mask is not None:
            value = jnp.where(mask, value, uninitialized(ir.get_aval(value)))
        blocks.append(lax.refs.new_ref(lax.squeeze(value, dropped) if dropped else value))
    run(*blocks)
    for operand, (index, mask, dropped), block in zip(operands, views, blocks, strict=True):
        if not operand.is_written:
            continue
        value = lax.expand_dims(block[...], dropped) if dropped else block[...]
        if mask is None:
            operand.ref.at[index][...] = value
        else:
            masked_store(operand.ref.at[tuple(index)], value, mask)


def _run_on_copies(
    run: Callable[..., None], operands: Sequence[_Operand], views: Sequence[Any]
) -> None:
    """Run a function of copies of whole blocks in vector memory."""

    def run_and_copy(*blocks: ir.Ref) -> None:
        parts = [
            x.ref.at[_without(index, dropped)]
            for x, (index, _, dropped) in zip(operands, views, strict=True)
        ]
        for part, block in zip(parts, blocks, strict=True):
            sync_copy(part, block)
        run(*blocks)
        for operand, part, block in zip(operands, parts, blocks, strict=True):
            if operand.is_written:
                sync_copy(block, part)

    types = []
    for operand, (index, _, dropped) in zip(operands, views, strict=True):
        sizes = [
            operand.ref.shape[d] if isinstance(part, slice) else part.size
            for d, part in enumerate(index)
            if d not in dropped
        ]
        types.append(TPUMemorySpace.VMEM(sizes, operand.ref.dtype))
    run_scoped(run_and_copy, *types)


def _without(index: Sequence[Any], dropped: Sequence[int]) -> tuple[Any, ...]:
    """The index with a position in place of a window of one element."""
    return tuple([part.start if d in dropped else part for d, part in enumerate(index)])


def _block(
    spec: BlockSpec | None, ref: Any, positions: Sequence[Any]
) -> tuple[Any, Any, tuple[int, ...]]:
    """The index of a block, the mask of its elements that exist, and its squeezed dimensions."""
    if spec is None or spec.block_shape is None:
        return (slice(None),) * len(ref.shape), None, ()
    index = spec.index_map(*positions) if spec.index_map else (0,) * len(ref.shape)
    is_tuple = isinstance(index, list | tuple) and type(index) is not Window
    places: list[Any] = list(index) if is_tuple else [index]
    starts, counts, sizes, dropped = [], [], [], []
    partial = False
    for axis, (dim, place, length) in enumerate(
        zip(spec.block_shape, places, ref.shape, strict=True)
    ):
        if isinstance(dim, Indirect):
            raise NotImplementedError(
                "emit_pipeline: blocks with an Indirect dimension are not interpreted."
            )
        is_squeezed = dim is None or isinstance(dim, Squeezed)
        size: Any = 1 if is_squeezed else getattr(dim, "block_size", dim)
        if is_squeezed:
            dropped.append(axis)
        count: Any = size
        # Dimensions whose window may leave the array, or be smaller than its buffer, need a mask.
        if isinstance(dim, BoundedSlice):
            start, count, partial = place.start, place.size, True
        elif isinstance(dim, Element):
            start, partial = place, True
        else:
            start = place * size
            partial = partial or bool(length % size)
        starts.append(start)
        counts.append(count)
        sizes.append(size)
    if not partial:
        return (
            tuple([Window(s, n) for s, n in zip(starts, sizes, strict=True)]),
            None,
            tuple(dropped),
        )
    arrays: list[Any] = []
    mask: Any = None
    rank = len(sizes)
    for axis, (start, count, size) in enumerate(zip(starts, counts, sizes, strict=True)):
        shape = [size if i == axis else 1 for i in range(rank)]
        steps = np.arange(size, dtype=np.int32).reshape(shape)
        place = jnp.asarray(start, np.int32) + steps
        inside = (steps < count) & (place < ref.shape[axis]) & (place >= 0)
        arrays.append(jnp.broadcast_to(place, tuple(sizes)))
        mask = inside if mask is None else mask & inside
    return tuple(arrays), jnp.broadcast_to(mask, tuple(sizes)), tuple(dropped)
