"""Pipelines inside of kernels: ``emit_pipeline`` and meshes of cores."""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
import ricci_numpy as jnp
from ricci_lax.authoring import Window

from ._accesses import masked_store
from ._buffered_refs import BufferedRef
from ._control import run_scoped
from ._copies import sync_copy
from ._interpreter import uninitialized
from ._memory_spaces import TPUMemorySpace
from ._programs import Frame, entered
from ._specs import BlockSpec, BoundedSlice, Element, Indirect, Squeezed
from ._tpu_parameters import BufferType

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
      A function of the references, with the option ``scratches``; ``allocations`` are of no effect.

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

    def pipeline(*refs: Any, scratches: Sequence[Any] = (), allocations: object = None) -> None:
        del allocations  # the blocks are copied to buffers of their own
        if len(refs) != len(inputs) + len(outputs):
            raise ValueError(
                f"emit_pipeline: the pipeline has {len(inputs)} in_specs and {len(outputs)} "
                f"out_specs, and is called with {len(refs)} references."
            )

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
            entered(frame, None, lambda: _run(body, positions, refs, inputs, outputs, scratches))
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


def _run(
    body: Callable[..., Any],
    positions: Sequence[Any],
    refs: Sequence[Any],
    inputs: Sequence[BlockSpec],
    outputs: Sequence[BlockSpec],
    scratches: Sequence[Any],
) -> None:
    """Run the body on the blocks of one step."""
    views = [
        _block(spec, ref, positions) for spec, ref in zip((*inputs, *outputs), refs, strict=True)
    ]
    # Compilers see copies of whole blocks to vector memory. Blocks that may reach over the end are
    # gathered element by element, which only an interpreter does.
    if ir.context.trace.records_references and all(mask is None for _, mask, _ in views):
        _run_on_copies(body, refs, views, len(inputs), scratches)
        return
    blocks = []
    for ref, (index, mask, dropped) in zip(refs, views, strict=True):
        # Positions outside of the array are clipped, and their elements replaced by the value of
        # uninitialized memory.
        value = ref[...].at[index].get(mode="clip") if mask is not None else ref.at[index][...]
        if mask is not None:
            value = jnp.where(mask, value, uninitialized(ir.get_aval(value)))
        blocks.append(lax.refs.new_ref(lax.squeeze(value, dropped) if dropped else value))
    body(*blocks, *scratches)
    written = zip(refs[len(inputs) :], views[len(inputs) :], blocks[len(inputs) :], strict=True)
    for ref, (index, mask, dropped), block in written:
        value = lax.expand_dims(block[...], dropped) if dropped else block[...]
        if mask is None:
            ref.at[index][...] = value
        else:
            masked_store(ref.at[tuple(index)], value, mask)


def _run_on_copies(
    body: Callable[..., Any],
    refs: Sequence[Any],
    views: Sequence[Any],
    num_inputs: int,
    scratches: Sequence[Any],
) -> None:
    """Run the body on copies of whole blocks in vector memory."""

    def run(*blocks: ir.Ref) -> None:
        parts = [
            ref.at[_without(index, dropped)]
            for ref, (index, _, dropped) in zip(refs, views, strict=True)
        ]
        for part, block in zip(parts, blocks, strict=True):
            sync_copy(part, block)
        body(*blocks, *scratches)
        for part, block in list(zip(parts, blocks, strict=True))[num_inputs:]:
            sync_copy(block, part)

    types = []
    for ref, (index, _, dropped) in zip(refs, views, strict=True):
        sizes = [
            ref.shape[d] if isinstance(part, slice) else part.size
            for d, part in enumerate(index)
            if d not in dropped
        ]
        types.append(TPUMemorySpace.VMEM(sizes, ref.dtype))
    run_scoped(run, *types)


def _without(index: Sequence[Any], dropped: Sequence[int]) -> tuple[Any, ...]:
    """The index with a position in place of a window of one element."""
    return tuple([part.start if d in dropped else part for d, part in enumerate(index)])


def _block(spec: BlockSpec, ref: Any, positions: Sequence[Any]) -> tuple[Any, Any, tuple[int, ...]]:
    """The index of a block, the mask of its elements that exist, and its squeezed dimensions."""
    if spec.block_shape is None:
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
