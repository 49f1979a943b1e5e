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
from ricci_kernels.primitives._accesses import Reference
from ricci_lax.authoring import Window
from ricci_pytree import PyTreeDef, tree_flatten, tree_unflatten

from ._buffered_refs import BufferedRef
from ._control import run_scoped
from ._copies import sync_copy

__all__: list[str] = []


def emit_pipeline(
    body: Callable[..., Any],
    *,
    grid: Sequence[Any],
    in_specs: object = (),
    out_specs: object = (),
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
      in_specs, out_specs: a ``BlockSpec`` for each input and output, or a pytree of them for a
        pytree of references. A dimension may be a ``BoundedSlice``, whose index is
        ``ds(start, size)``. The body gets ``None`` for a specification that is ``None``.
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
        *refs: Any, scratches: Sequence[Any] = (), allocations: Sequence[Any] | None = None
    ) -> None:
        specs = (*inputs, *outputs)
        if len(refs) != len(specs):
            raise ValueError(
                f"emit_pipeline: the pipeline has {len(inputs)} in_specs and {len(outputs)} "
                f"out_specs, and is called with {len(refs)} references."
            )

        groups = [
            _operands(spec, ref, i >= len(inputs), None if allocations is None else allocations[i])
            for i, (spec, ref) in enumerate(zip(specs, refs, strict=True))
        ]

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
            entered(frame, None, lambda: _run(body, positions, groups, scratches))
            return carry

        total: Any = np.int32(prod(sizes)) if all(isinstance(n, int) for n in sizes) else None
        if total is None:
            total = np.int32(1)
            for size in sizes:
                total = lax.mul(total, jnp.asarray(size, np.int32))
        lax.fori_loop(np.int32(0), total, step, ())

    return pipeline


def emit_pipeline_with_allocations(
    body: Callable[..., Any], *, grid: Sequence[Any], in_specs: object = (), out_specs: object = ()
) -> tuple[Callable[..., None], Callable[..., tuple[Any, ...]]]:
    """Make a pipeline, and a function that describes the buffers of its blocks.

    Args:
      body, grid, in_specs, out_specs: see ``emit_pipeline``.

    Returns:
      The pipeline, and a function from its references to a ``BufferedRef`` for each, in the same
      pytrees, which ``run_scoped`` allocates.

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

    def allocations(*refs: object) -> tuple[Any, ...]:
        def described(spec: object, ref: object, kind: BufferType) -> object:
            leaves, tree = tree_flatten(spec, is_leaf=_is_spec)
            rows = zip(leaves, tree.flatten_up_to(ref), strict=True)
            create = lambda s, r: s and BufferedRef.create(s, r.dtype, kind, 2, rank)
            return tree_unflatten(tree, [create(s, r) for s, r in rows])

        return tuple(map(described, (*inputs, *outputs), refs, kinds))

    pipeline = emit_pipeline(body, grid=grid, in_specs=in_specs, out_specs=out_specs)
    return pipeline, allocations


def _listed(specs: object) -> list[Any]:
    return list(specs) if isinstance(specs, list | tuple) else [specs]


def _is_spec(x: object) -> bool:
    return x is None or isinstance(x, BlockSpec)


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
    specs: object, refs: object, is_output: bool, allocations: object
) -> tuple[list[_Operand], PyTreeDef]:
    """The operands of a pytree of specifications, and the pytree."""
    leaves, tree = tree_flatten(specs, is_leaf=_is_spec)
    buffers = [None] * len(leaves) if allocations is None else tree.flatten_up_to(allocations)
    operands = []
    for spec, ref, buffer in zip(leaves, tree.flatten_up_to(refs), buffers, strict=True):
        is_written = is_output or (buffer is not None and buffer.is_output)
        # The plain class copies what the pipeline copies to buffers of its own.
        custom = None if type(buffer) in (BufferedRef, type(None)) else buffer
        operands.append(
            _Operand(spec, ref, is_written, None if custom is None else custom.initialize_slots())
        )
    return operands, tree


def _run(
    body: Callable[..., Any],
    positions: Sequence[Any],
    groups: Sequence[tuple[list[_Operand], PyTreeDef]],
    scratches: Sequence[Any],
) -> None:
    """Run the body on the blocks of one step."""
    operands = [x for group, _ in groups for x in group]
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

        arguments = [tree_unflatten(tree, [block_of(x) for x in group]) for group, tree in groups]
        body(*arguments, *scratches)

    _run_on_copies(run, plain, [_block(x.spec, x.ref, positions) for x in plain])
    for buffer, ref in copied:
        if buffer.is_output:
            buffer.copy_out(ref, index)
            buffer.wait_out(ref, index)


class _Block(ir.TupleRecord):
    """The part of a reference that is a block.

    Attributes:
      part: its index in the reference.
      inside: the index in the buffer of the block of what is copied, or None for all.
      sizes: the shape of the buffer.
    """

    part: tuple[Any, ...]
    inside: tuple[Any, ...] | None
    sizes: tuple[int, ...]


def _run_on_copies(
    run: Callable[..., None], operands: Sequence[_Operand], blocks: Sequence[_Block]
) -> None:
    """Run a function of copies of blocks in vector memory."""

    def run_and_copy(*buffers: ir.Ref) -> None:
        pairs = [
            (x.ref.at[block.part], buffer if block.inside is None else buffer.at[block.inside])
            for x, block, buffer in zip(operands, blocks, buffers, strict=True)
        ]
        for part, buffer in pairs:
            sync_copy(part, buffer)
        run(*buffers)
        for operand, (part, buffer) in zip(operands, pairs, strict=True):
            if operand.is_written:
                sync_copy(buffer, part)

    pairs = zip(operands, blocks, strict=True)
    run_scoped(run_and_copy, *[TPUMemorySpace.VMEM(b.sizes, x.ref.dtype) for x, b in pairs])


def _block(spec: BlockSpec | None, ref: Any, positions: Sequence[Any]) -> _Block:
    """The block of a reference at a position in the grid."""
    if spec is None or spec.block_shape is None:
        return _Block((slice(None),) * len(ref.shape), None, tuple(ref.shape))
    index = spec.index_map(*positions) if spec.index_map else (0,) * len(ref.shape)
    is_tuple = isinstance(index, list | tuple) and type(index) is not Window
    places: list[Any] = list(index) if is_tuple else [index]
    parts: list[Any] = []
    inside: list[Any] = []
    sizes: list[int] = []
    for dim, place, length in zip(spec.block_shape, places, ref.shape, strict=True):
        if isinstance(dim, Indirect):
            raise NotImplementedError(
                "emit_pipeline: blocks with an Indirect dimension are not interpreted."
            )
        if dim is None or isinstance(dim, Squeezed):
            parts.append(place)
            continue
        size: Any = getattr(dim, "block_size", dim)
        sizes.append(size)
        part, buffered = _part(dim, size, place, length)
        parts.append(part)
        inside.append(buffered)
    is_partial = any(isinstance(part, Window) for part in inside)
    return _Block(tuple(parts), tuple(inside) if is_partial else None, tuple(sizes))


def _part(dim: object, size: int, place: Any, length: int) -> tuple[Any, Any]:
    """The positions of a block along a dimension, and where in its buffer they are copied."""
    if isinstance(dim, BoundedSlice):
        return place, Window(np.int32(0), place.size)
    if isinstance(dim, Element):
        low, high = dim.padding
        start = place - low if low else place
        if not (low or high):
            return Window(start, size), slice(None)
    else:
        start = place * size
        if not length % size:
            return Window(start, size), slice(None)
    # A block that reaches over the ends: elements of the array alone are copied.
    start = jnp.asarray(start, np.int32)
    before = jnp.maximum(-start, 0)
    count = jnp.clip(np.int32(length) - start, 0, size) - jnp.minimum(before, size)
    first = jnp.maximum(start, 0)
    return Window(first, count), Window(before, count)  # pyright: ignore - a traced size
