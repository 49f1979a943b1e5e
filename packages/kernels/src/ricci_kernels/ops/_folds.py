"""Kernels that fold the blocks of arrays, written once for devices whose grids differ.

A fold computes blocks of its outputs. For each it begins with a carry, takes a step for each block
of its inputs along one axis, and ends with the values of the outputs. On a TPU, and in the
interpreter, that axis is the last of the grid, whose steps run in order, and the carry is in
scratch buffers. On a GPU, where all steps of a grid run at the same time, it is a loop inside of
the kernel, and the carry is in registers.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
import ricci_numpy as jnp
from ricci_kernels import triton
from ricci_kernels.blocks._integers import align_to, ds
from ricci_kernels.blocks._memory_spaces import TPUMemorySpace
from ricci_kernels.blocks._programs import program_id
from ricci_kernels.blocks._specs import BlockSpec, CostEstimate, PrefetchScalarGridSpec
from ricci_kernels.blocks._tpu_parameters import CompilerParams
from ricci_kernels.body._control import when
from ricci_kernels.calls._calls import pallas_call
from ricci_kernels.primitives._accesses import Reference, masked_store

from ._targets import Target

# A position in a grid, or the number of a block.
type Number = ir.Array | np.int32 | int


class Place(ir.TupleRecord):
    """A step of a fold.

    Attributes:
      position: of the outputs' blocks, along each axis of the grid.
      step: the number of the step.
      scalars: references to the scalars that are read before a kernel begins.
    """

    position: tuple[Number, ...]
    step: Number
    scalars: tuple[Reference, ...]


class Blocks(ir.TupleRecord):
    """The blocks of an array that a fold reads or writes.

    Attributes:
      sizes: of a block; ``None`` for one element of a dimension that the fold does not see.
      index_map: from a step to the number of its block along each dimension.
      is_folded: whether the block depends on the step.
    """

    sizes: tuple[int | None, ...]
    index_map: Callable[[Place], Sequence[Number]]
    is_folded: bool = False


class Carry(ir.TupleRecord):
    """A value that the steps of a fold pass on: its shape and dtype, and its first elements."""

    shape: tuple[int, ...]
    dtype: Any
    initial: float = 0


class Fold(ir.TupleRecord):
    """A fold of blocks.

    Attributes:
      name: the kernel's name.
      grid: the number of the outputs' blocks along each axis.
      length: the number of steps for each; ``None`` without any, where ``finish`` reads the blocks.
      blocks: those of the inputs, which are zeros past the end of their arrays.
      outputs: the type and the blocks of each output.
      carry: what the steps pass on.
      step: from a place, the carry and the values of the blocks to the next carry.
      finish: from a place and the carry to the values of the outputs, each cast to its dtype; or a
        pair of the value and the mask of what is written.
      bounds: from a place to the first step that is taken, and the end, as int32; by default all
        steps are.
      ends: on a TPU, from a place to whether its step is the first of its outputs, and the last.
      semantics: for a TPU, of each axis of the grid and the steps.
      num_warps, num_stages: for a GPU.
      cost: for the compiler's schedule.
    """

    name: str
    grid: tuple[int, ...]
    length: int | None
    blocks: Sequence[Blocks]
    outputs: Sequence[tuple[ir.ShapeDtypeStruct, Blocks]]
    finish: Callable[..., Sequence[Any]]
    step: Callable[..., Sequence[Any]] | None = None
    carry: Sequence[Carry] = ()
    bounds: Callable[[Place], tuple[Number, Number]] | None = None
    ends: Callable[[Place], tuple[ir.Array, ir.Array]] | None = None
    semantics: tuple[str, ...] | None = None
    num_warps: int | None = None
    num_stages: int | None = None
    cost: CostEstimate | None = None


def fold(
    target: Target, spec: Fold, inputs: Sequence[Any], scalars: Sequence[Any] = ()
) -> list[ir.Array]:
    """Call the kernel of a fold.

    Args:
      target: the kind of device.
      spec: the fold.
      inputs: its arrays.
      scalars: integer arrays for ``Place.scalars``.

    Returns:
      A list of the outputs.
    """
    shapes = [x.shape for x in inputs]
    is_stepped = not target.is_gpu and spec.length is not None
    grid = (*spec.grid, spec.length) if is_stepped else spec.grid
    rank = len(spec.grid)

    def place(position: Sequence[Number], refs: Sequence[Reference]) -> Place:
        step = position[rank] if is_stepped else np.int32(0)
        return Place(tuple(position[:rank]), step, tuple(refs))

    def block_spec(blocks: Blocks, shape: tuple[int, ...]) -> BlockSpec:
        if blocks.is_folded and not is_stepped:
            # All blocks: the kernel computes which one it reads.
            whole = [align_to(n, b or 1) for n, b in zip(shape, blocks.sizes, strict=True)]
            return BlockSpec(whole, lambda *_: (0,) * len(shape))

        def number(at: Place) -> tuple[Number, ...]:
            return tuple(blocks.index_map(_clamped(spec, at) if blocks.is_folded else at))

        axes = len(grid)
        return BlockSpec(blocks.sizes, lambda *args: number(place(args[:axes], args[axes:])))

    def kernel(*refs: Reference) -> None:
        at = place([program_id(i) for i in range(len(grid))], refs[: len(scalars)])
        ends = np.cumsum([len(scalars), len(inputs), len(spec.outputs)])
        sources = list(zip(spec.blocks, refs[ends[0] : ends[1]], shapes, strict=True))
        results = refs[ends[1] : ends[2]]
        if spec.length is None:
            _write(results, spec.finish(at, (), *[_read(*source, at) for source in sources]))
        elif is_stepped:
            _stepped(spec, at, sources, results, refs[ends[2] :])
        else:
            _looped(spec, at, sources, results)

    if target.is_gpu:
        params = triton.CompilerParams(spec.num_warps, spec.num_stages)
    else:
        # Only the steps of a fold depend on each other, through the carry: cores may share the
        # other axes.
        semantics = ("parallel",) * rank + ("arbitrary",) * is_stepped
        params = CompilerParams(dimension_semantics=spec.semantics or semantics)
    return pallas_call(
        kernel,
        [struct for struct, _ in spec.outputs],
        grid_spec=PrefetchScalarGridSpec(
            len(scalars),
            grid,
            [block_spec(b, shape) for b, shape in zip(spec.blocks, shapes, strict=True)],
            [block_spec(b, struct.shape) for struct, b in spec.outputs],
            [TPUMemorySpace.VMEM(c.shape, c.dtype) for c in spec.carry] if is_stepped else (),
        ),
        interpret=target.interpret,
        name=spec.name,
        compiler_params=params,
        cost_estimate=spec.cost,
    )(*scalars, *inputs)


type _Source = tuple[Blocks, Reference, tuple[int, ...]]


def _stepped(
    spec: Fold,
    at: Place,
    sources: Sequence[_Source],
    results: Sequence[Reference],
    buffers: Sequence[Reference],
) -> None:
    """One step, as a step of the grid."""
    step: Any = spec.step
    # The number of the step of the grid, not of the last step within bounds: outputs are written
    # even where no step is taken, and then hold what ``finish`` makes of the first carry.
    last = spec.length - 1  # pyright: ignore[reportOptionalOperand]
    is_first, is_last = spec.ends(at) if spec.ends else (at.step == 0, at.step == last)

    @when(is_first)
    def _() -> None:
        for ref, c in zip(buffers, spec.carry, strict=True):
            ref[...] = jnp.full(c.shape, c.initial, c.dtype)

    def advance() -> None:
        carry = [ref[...] for ref in buffers]
        values = step(at, carry, *[_read(*source, at) for source in sources])
        for ref, value in zip(buffers, values, strict=True):
            ref[...] = value

    if spec.bounds is None:
        advance()
    else:
        low, high = spec.bounds(at)
        when((at.step >= low) & (at.step < high))(advance)

    @when(is_last)
    def _() -> None:
        _write(results, spec.finish(at, [ref[...] for ref in buffers]))


def _looped(
    spec: Fold, at: Place, sources: Sequence[_Source], results: Sequence[Reference]
) -> None:
    """All steps, as a loop."""
    step: Any = spec.step
    # A block that does not depend on the step is in registers during the whole loop.
    fixed = [None if source[0].is_folded else _read(*source, at) for source in sources]

    def advance(number: ir.Array, carry: tuple[ir.Array, ...]) -> tuple[ir.Array, ...]:
        current = at._replace(step=number)
        values = [
            _read_part(*source, current) if value is None else value
            for source, value in zip(sources, fixed, strict=True)
        ]
        return tuple(step(current, carry, *values))

    low, high = np.int32(0), np.int32(spec.length or 0)
    if spec.bounds is not None:
        low, high = spec.bounds(at)
    # Values vary along the manual axes of an enclosing shard_map, as all arrays of the kernel do.
    out: Any = results[0]
    axes = ir.varying(out.aval.inner_aval)
    initial = tuple(
        [ir.cast_varying(jnp.full(c.shape, c.initial, c.dtype), axes) for c in spec.carry]
    )
    _write(results, spec.finish(at, lax.fori_loop(low, high, advance, initial)))


def _clamped(spec: Fold, at: Place) -> Place:
    """The nearest step that is taken, so that no block is fetched for the others."""
    if spec.bounds is None:
        return at
    low, high = spec.bounds(at)
    # Bounds without a step may both be past the last one, or before the first.
    last = lax.min(lax.max(at.step, low), high - np.int32(1))
    return at._replace(step=lax.max(last, np.int32(0)))


def _read(blocks: Blocks, ref: Reference, shape: tuple[int, ...], at: Place) -> ir.Array:
    """The value of a block, zeros past the end of its array."""
    return _filled(ref[...], blocks, shape, blocks.index_map(at))


def _read_part(blocks: Blocks, ref: Reference, shape: tuple[int, ...], at: Place) -> ir.Array:
    """The value of a block, read from all of them."""
    index = blocks.index_map(at)
    parts = [i if b is None else ds(i * b, b) for i, b in zip(index, blocks.sizes, strict=True)]
    return _filled(ref[tuple(parts)], blocks, shape, index)


def _filled(
    x: ir.Array, blocks: Blocks, shape: tuple[int, ...], index: Sequence[Number]
) -> ir.Array:
    inside, axis = None, 0
    # Past the end of an array a block holds whatever is in memory there. Zeros do not change sums
    # and products; a fold whose steps need another value masks it itself.
    for size, block, number in zip(shape, blocks.sizes, index, strict=True):
        if block is None:
            continue
        if size % block:
            positions = lax.broadcasted_iota(np.int32, x.shape, axis) + number * block
            is_real = positions < size
            inside = is_real if inside is None else inside & is_real
        axis += 1
    return x if inside is None else jnp.where(inside, x, jnp.zeros_like(x))


def _write(results: Sequence[Reference], values: Sequence[Any]) -> None:
    for ref, value in zip(results, values, strict=True):
        if isinstance(value, tuple):
            masked_store(ref, value[0].astype(ref.dtype), value[1])
        else:
            ref[...] = value.astype(ref.dtype)
