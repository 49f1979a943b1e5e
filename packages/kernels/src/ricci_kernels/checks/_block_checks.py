"""Mistakes in the blocks of all steps of a call, and in reads ahead of any write.

Blocks that depend on the position alone are known ahead. Index maps are integer programs, which
NumPy evaluates for all steps at once.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_kernels.blocks._grid_mapping import BlockMapping, GridMapping
from ricci_kernels.blocks._specs import Element
from ricci_kernels.calls._carried_scratch import is_overwritten
from ricci_kernels.calls._recorded_calls import (
    RecordedCall,
    block_starts,
    grid_sizes,
    is_computable,
)

from ._first_reads import first_reads
from ._static_indices import IndexSurvey
from ._step_values import StepValue

__all__: list[str] = []

_MOST_ELEMENTS = 2**24  # of an output whose elements are marked
_MOST_STEPS = 2**16  # of grids whose blocks are compared with each other by default
# The steps of an axis of such a kind run in any order, or at the same time.
_UNORDERED = ("parallel", "core_parallel", "subcore_parallel")


class KernelFinding(ir.TupleRecord):
    """A mistake of a kernel that an interpreter does not notice.

    Attributes:
      kind: ``"negative index"``, ``"past the end"``, ``"not written"``, ``"written again"``,
        ``"parallel writes"``, ``"read before written"``, ``"index out of bounds"``,
        ``"copy not waited for"`` or ``"semaphore left"``.
      kernel: the kernel's name.
      operand: the name of the operand, such as ``"outputs[0]"``.
      step: the position in the grid, or ``None``.
      text: a message, which names the block and the line.
    """

    kind: str
    kernel: str
    operand: str
    step: tuple[int, ...] | None
    text: str

    def __str__(self) -> str:
        return self.text


def findings_of_blocks(call: RecordedCall, skip_unknown: bool = False) -> Iterator[KernelFinding]:
    """The findings of the blocks of all steps.

    Args:
      call: the call.
      skip_unknown: whether blocks that depend on unknown values are left out, not refused.
    """
    for i, mapping in enumerate(call.mapping.block_mappings):
        if skip_unknown and not is_computable(call, mapping):
            continue
        yield from _findings_of_block(call, i, mapping, block_starts(call, mapping))
    yield from _unset(call)


def _findings_of_block(
    call: RecordedCall, i: int, mapping: BlockMapping, starts: np.ndarray
) -> Iterator[KernelFinding]:
    """The findings of the blocks of an input or output, the operand of number ``i``."""
    output = i - call.mapping.num_inputs
    aliased = {output for _, output in call.params["input_output_aliases"]}
    yield from _outside(call, mapping, starts)
    if output >= 0:
        yield from _revisits(call, mapping, starts)
        if output not in aliased:
            yield from _unwritten(call, mapping, starts)


def _unset(call: RecordedCall) -> Iterator[KernelFinding]:
    """Outputs and scratch buffers that the first step reads ahead of any write."""
    jaxpr: ir.Jaxpr = call.params["jaxpr"]
    mapping = call.mapping
    if 0 in mapping.grid:
        return
    aliased = {output for _, output in call.params["input_output_aliases"]}
    start = mapping.num_index_operands + mapping.num_inputs
    blocks = mapping.block_mappings[mapping.num_inputs :]
    names = {start + i: m.origin for i, m in enumerate(blocks) if i not in aliased}
    end = start + len(blocks)
    names |= {i: f"scratch_shapes[{i - end}]" for i in range(end, len(jaxpr.invars))}
    for name, eqn in first_reads(jaxpr, names):
        text = (
            f"{name} of the kernel {jaxpr.debug_info.func_name}: the first step reads it, at "
            f"{eqn.source}, and nothing was written to it. Write it in the first step: "
            "@pl.when(pl.program_id(axis) == 0)."
        )
        yield KernelFinding("read before written", call.name, name, None, text)


def _finding(
    call: RecordedCall, mapping: BlockMapping, kind: str, step: int | None, text: str
) -> KernelFinding:
    position = None if step is None else _position(call, step)
    place = call.params["jaxpr"].debug_info.func_name
    blocks = f"blocks of {list(mapping.sizes)} of {mapping.array_aval.str_short()}"
    message = f"{mapping.origin} of the kernel {place}, {blocks}: {text}"
    return KernelFinding(kind, call.name, mapping.origin, position, message)


def _position(call: RecordedCall, step: int) -> tuple[int, ...]:
    grid = grid_sizes(call)
    position = tuple(map(int, np.unravel_index(step, grid))) if grid else ()
    return position[call.mapping.vmapped :]


def _outside(
    call: RecordedCall, mapping: BlockMapping, starts: np.ndarray
) -> Iterator[KernelFinding]:
    """Blocks that begin before an array, or behind its end."""
    # A block that reaches over the end is padded; one without an element of the array is not meant.
    first = starts < 0
    last = starts >= np.array(mapping.ends, int)
    for kind, wrong in (("negative index", first), ("past the end", last)):
        if not wrong.any():
            continue
        step, dim = map(int, np.argwhere(wrong)[0])
        side = "before its first element" if kind == "negative index" else "behind its end"
        yield _finding(
            call,
            mapping,
            kind,
            step,
            f"in step {_position(call, step)} the block begins at {tuple(starts[step].tolist())}, "
            f"which is {side} along dimension {dim}. The index map is "
            f"{mapping.index_map_jaxpr.debug_info.func_name}.",
        )


def _revisits(
    call: RecordedCall, mapping: BlockMapping, starts: np.ndarray
) -> Iterator[KernelFinding]:
    """Blocks of an output that are written in steps that do not follow each other."""
    if not len(starts):
        return
    # Equal numbers are equal blocks.
    offsets = starts - starts.min(0)
    _, numbers = np.unique(_linear(offsets), return_inverse=True)
    numbers = numbers.reshape(-1)
    semantics = getattr(call.params["compiler_params"], "dimension_semantics", None) or ()
    unordered = [
        axis + call.mapping.vmapped
        for axis, kind in enumerate(semantics)
        if getattr(kind, "value", kind) in _UNORDERED
    ]
    shared = _shared_steps(call, numbers, unordered)
    if shared is not None:
        yield _finding(
            call,
            mapping,
            "parallel writes",
            shared[1],
            f"the steps {_position(call, shared[0])} and {_position(call, shared[1])} write the "
            f"block at {tuple(starts[shared[0]].tolist())}, and differ along a parallel axis: they "
            'may run at the same time. Declare the axis "arbitrary", or write different blocks.',
        )
    # The steps of a block follow each other if the block changes before its first step only.
    changed = np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1]))
    runs = numbers[changed]
    _, firsts = np.unique(runs, return_index=True)
    again = np.setdiff1d(np.arange(len(runs)), firsts)
    if len(again):
        step = int(changed[again[0]])
        earlier = int(np.flatnonzero(numbers[:step] == numbers[step])[-1])
        yield _finding(
            call,
            mapping,
            "written again",
            step,
            f"in step {_position(call, step)} the block at {tuple(starts[step].tolist())} is "
            f"written again, after others since step {_position(call, earlier)}: what was in it is "
            "lost on a TPU. Let the last axes of the grid be those that the block does not "
            "depend on.",
        )


def _linear(starts: np.ndarray) -> np.ndarray:
    """A number for each row of nonnegative integers, the same for equal rows."""
    linear = np.zeros(len(starts), np.int64)
    for column in starts.T:
        linear = linear * (int(column.max()) + 1) + column
    return linear


def _shared_steps(
    call: RecordedCall, numbers: np.ndarray, unordered: Sequence[int]
) -> tuple[int, int] | None:
    """Two steps of one block that differ along an unordered axis."""
    grid = grid_sizes(call)
    table = numbers.reshape(grid) if grid else numbers
    for axis in unordered:
        if table.shape[axis] < 2:
            continue
        # For each number, the lowest and the highest position along the axis.
        positions = np.indices(grid)[axis].ravel()
        order = np.argsort(numbers, kind="stable")
        groups = np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1)
        for steps in groups:
            other = np.flatnonzero(positions[steps] != positions[steps[0]])
            if len(other):
                return int(steps[0]), int(steps[other[0]])
    return None


def _unwritten(
    call: RecordedCall, mapping: BlockMapping, starts: np.ndarray
) -> Iterator[KernelFinding]:
    """Elements of an output that are in no block."""
    shape = mapping.array_aval.shape
    if np.prod(shape) > _MOST_ELEMENTS:
        return
    written = np.zeros(shape, bool)
    blocks = np.unique(_linear(starts - starts.min(0)), return_index=True)[1] if len(starts) else ()
    padded = np.array([low for low, _ in mapping.declared_padding], int)
    for start in starts[list(blocks)] - padded:
        ends = [max(a + n, 0) for a, n in zip(start, mapping.sizes, strict=True)]
        written[tuple([slice(max(a, 0), end) for a, end in zip(start, ends, strict=True)])] = True
    if not written.all():
        element = tuple(map(int, np.argwhere(~written)[0]))
        yield _finding(
            call,
            mapping,
            "not written",
            None,
            f"no step of the grid {grid_sizes(call)[call.mapping.vmapped :]} writes the element "
            f"{element}: it is unspecified. Make the grid larger, or alias an input to the output.",
        )


def index_values(block: BlockMapping, grid: Sequence[int | None]) -> list[StepValue]:
    """The index of a block along each dimension for all steps; ``None`` if it depends on data.

    Args:
      block: the block.
      grid: the number of steps along each axis.
    """
    return IndexSurvey(block.index_map_jaxpr, grid, 0, is_map=True).results


def is_known(block: BlockMapping, grid: Sequence[int | None]) -> bool:
    """Whether the blocks of an input or output depend on the position alone."""
    return all(index is not None for index in index_values(block, grid))


def first_mistake(params: Mapping[str, Any]) -> KernelFinding | None:
    """The first mistake in an interpreted call whatever its data are.

    A block that is written again is one only if a step may depend on what was in it.

    Args:
      params: the parameters of the call.
    """
    mapping: GridMapping = params["grid_mapping"]
    if None in mapping.grid or 0 in mapping.grid:
        return None
    call = RecordedCall(dict(params), [None] * mapping.num_index_operands, [], None)
    few = int(np.prod(mapping.grid)) <= _MOST_STEPS  # pyright: ignore
    start = mapping.num_index_operands
    for i, block in enumerate(mapping.block_mappings):
        index = index_values(block, mapping.grid)
        if any(x is None for x in index) or not (few or _leaves(block, index)):
            continue
        starts = _starts_of(block, index, mapping.grid)
        for finding in _findings_of_block(call, i, block, starts):
            again = finding.kind == "written again"
            if not (again and is_overwritten(params["jaxpr"], params["jaxpr"].invars[start + i])):
                return finding
    return next(_unset(call), None)


def _leaves(block: BlockMapping, index: Sequence[Any]) -> bool:
    """Whether a block of some step has no element of its array."""
    for i, dim, size, end in zip(index, block.block_shape, block.sizes, block.ends, strict=True):
        start = i.astype(np.int64) * (1 if isinstance(dim, Element) else size)
        if ((start < 0) | (start >= end)).any():
            return True
    return False


def _starts_of(block: BlockMapping, index: Sequence[Any], grid: Sequence[Any]) -> np.ndarray:
    """The first element of a block along each dimension, for each step in order."""
    steps = int(np.prod(grid))
    counts = [
        1 if isinstance(d, Element) else n
        for d, n in zip(block.block_shape, block.sizes, strict=True)
    ]
    columns = [np.broadcast_to(i, grid).reshape(steps).astype(np.int64) for i in index]
    rank = len(block.block_shape)
    return np.stack(columns, 1) * np.array(counts) if rank else np.zeros((steps, 0), int)


def outside_text(
    block: BlockMapping, kernel: str, axis: int, start: int, step: tuple[int, ...]
) -> str:
    """The message of a block without an element of its array.

    Args:
      block: the block.
      kernel: the kernel's name and place.
      axis: the dimension along which it is outside.
      start: its first element along that dimension.
      step: the position in the grid.
    """
    side = "before the first element" if start < 0 else "behind the end"
    return (
        f"{block.origin} of the kernel {kernel}, blocks of {list(block.sizes)} of "
        f"{block.array_aval.str_short()}: in step {step} the block begins at {start} along "
        f"dimension {axis}, which is {side}. The index map is "
        f"{block.index_map_jaxpr.debug_info.func_name}."
    )
