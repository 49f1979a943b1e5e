"""Checks of kernels ahead of a device: the blocks of all steps, and the semaphores at the end.

Index maps are functions of integers, so that they are evaluated for all steps of a grid at once.
An interpreter clamps an index past the end, and a device reads other memory.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_kernels.blocks._grid_mapping import BlockMapping, kernel_name
from ricci_kernels.blocks._memory_spaces import SemaphoreType
from ricci_kernels.blocks._specs import Element
from ricci_kernels.calls._interpreter import semaphore_counts
from ricci_kernels.calls._primitive import pallas_call_p
from ricci_kernels.calls._recorded_calls import (
    RecordedCall,
    block_starts,
    grid_sizes,
    is_computable,
    recorded_call,
    recorded_calls,
)
from ricci_kernels.primitives._copies import indexed_references

from ._first_reads import first_reads

__all__ = ["KernelFinding", "check"]

_MOST_ELEMENTS = 2**24  # of an output whose elements are marked
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


def check(fun: Callable[..., Any], *args: object) -> list[KernelFinding]:
    """Check the kernels that a function calls, without a device.

    It evaluates the index maps for all steps, and finds blocks outside of their arrays, parts of
    outputs that no step writes, blocks of outputs that are left and written again, whose first
    values a TPU loses, blocks that steps of a parallel axis share, and outputs and scratch buffers
    that the first step reads ahead of a write. With arrays as arguments it
    interprets the kernels, and finds traced indices out of bounds, copies that nothing waits for,
    and semaphores that are not 0.

    Args:
      fun: a function that calls kernels, such as ``pallas_call`` returns.
      args: its arguments: arrays or ``ShapeDtypeStruct``. Scalars that index maps read are arrays.

    Returns:
      The first finding of each kind for each operand; an empty list if there are none.

    Raises:
      ValueError: if the function calls no kernel, or the blocks depend on values that are unknown.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci import kernels
      >>> from ricci.experimental import pallas as pl
      >>> def fill(out):
      ...     out[...] = np.ones((8, 4), np.float32)
      >>> shape = ricci.ShapeDtypeStruct((32, 4), np.float32)
      >>> blocks = pl.BlockSpec((8, 4), lambda i: (i, 0))
      >>> run = pl.pallas_call(fill, shape, grid=(3,), out_specs=blocks)
      >>> [(finding.kind, finding.operand) for finding in kernels.check(run)]
      [('not written', 'outputs')]
    """
    calls = recorded_calls(fun, args)
    if not calls:
        name = getattr(fun, "__name__", "the function")
        raise ValueError(f"check: {name} calls no kernel. Pass what pallas_call returns.")
    findings = [finding for call in calls for finding in _findings_of_blocks(call)]
    for call in calls:
        if call.operands is not None:
            findings += _findings_of_indices(call)
            findings += _findings_of_semaphores(call)
    return findings


@ir.kernel_check.provide
def _check_of_call(eqn: ir.JaxprEqn) -> Callable[[Sequence[Any]], list[str]] | None:
    if eqn.primitive is not pallas_call_p:
        return None

    def check(values: Sequence[Any]) -> list[str]:
        call = recorded_call(eqn, values)
        return [finding.text for finding in _findings_of_blocks(call, skip_unknown=True)]

    return check


def _findings_of_blocks(call: RecordedCall, skip_unknown: bool = False) -> Iterator[KernelFinding]:
    """The findings of the blocks of all steps.

    Args:
      call: the call.
      skip_unknown: whether blocks that depend on unknown values are left out, not refused.
    """
    aliased = {output for _, output in call.params["input_output_aliases"]}
    count = call.mapping.num_inputs
    for i, mapping in enumerate(call.mapping.block_mappings):
        if skip_unknown and not is_computable(call, mapping):
            continue
        starts = block_starts(call, mapping)
        yield from _outside(call, mapping, starts)
        if i >= count:
            yield from _revisits(call, mapping, starts)
            if i - count not in aliased:
                yield from _unwritten(call, mapping, starts)
    yield from _unset(call)


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
    return tuple(map(int, np.unravel_index(step, grid))) if grid else ()


def _outside(
    call: RecordedCall, mapping: BlockMapping, starts: np.ndarray
) -> Iterator[KernelFinding]:
    """Blocks that begin before an array, or behind its end."""
    pads = [d.padding if isinstance(d, Element) else (0, 0) for d in mapping.block_shape]
    before = np.array([low for low, _ in pads], int)
    # A block that reaches over the end is padded; one without an element of the array is not meant.
    lengths = np.array(mapping.array_aval.shape, int) + [high for _, high in pads]
    first = starts + before < 0
    last = starts >= np.maximum(lengths, 1)
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
    _, numbers = np.unique(starts, axis=0, return_inverse=True)
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
    for start in np.unique(starts, axis=0):
        ends = [max(a + n, 0) for a, n in zip(start, mapping.sizes, strict=True)]
        written[tuple([slice(max(a, 0), end) for a, end in zip(start, ends, strict=True)])] = True
    if not written.all():
        element = tuple(map(int, np.argwhere(~written)[0]))
        yield _finding(
            call,
            mapping,
            "not written",
            None,
            f"no step of the grid {grid_sizes(call)} writes the element {element}: it is "
            "unspecified. Make the grid larger, or alias an input to the output.",
        )


def _findings_of_indices(call: RecordedCall) -> Iterator[KernelFinding]:
    """The first index out of bounds when the kernel runs."""
    assert call.operands is not None
    if not _has_traced_indices(call.params["jaxpr"]):
        return
    run = lambda *operands: pallas_call_p.bind(*operands, **{**call.params, "interpret": True})
    avals = [ir.argument_aval(x) for x in call.operands]
    jaxpr = ir.trace_to_jaxpr(run, avals, ir.DebugInfo("kernels", call.name))
    error: Any = ir.first_error.call(jaxpr, call.operands, oob=True)
    if error is not None:
        text = f"{error}."
        yield KernelFinding("index out of bounds", call.name, error.operand, error.step, text)


def _has_traced_indices(jaxpr: ir.Jaxpr) -> bool:
    return any(map(indexed_references, jaxpr.eqns)) or any(
        map(_has_traced_indices, ir.subjaxprs(jaxpr))
    )


def _findings_of_semaphores(call: RecordedCall) -> Iterator[KernelFinding]:
    assert call.operands is not None
    jaxpr: ir.Jaxpr = call.params["jaxpr"]
    names, counts = semaphore_counts(call.params, call.operands)
    for (name, kind), count in zip(names, counts, strict=True):
        left = np.flatnonzero(np.asarray(count).ravel())
        if not len(left):
            continue
        place = int(left[0])
        value = int(np.asarray(count).ravel()[place])
        is_copy = kind is SemaphoreType.DMA and value > 0
        what = (
            f"{value} elements of copies that nothing has waited for"
            if is_copy
            else f"the count {value}, of which a next call would begin"
        )
        advice = "Call wait() for each copy that starts." if is_copy else "Wait for each signal."
        text = (
            f"{name}[{place}] of the kernel {jaxpr.debug_info.func_name}: at the end the semaphore "
            f"has {what}. {advice}"
        )
        finding_kind = "copy not waited for" if is_copy else "semaphore left"
        yield KernelFinding(finding_kind, kernel_name(call.params), name, None, text)
