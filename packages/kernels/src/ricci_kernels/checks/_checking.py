"""Checks of kernels ahead of a device: the blocks of all steps, and the semaphores at the end.

Index maps are functions of integers, so that they are evaluated for all steps of a grid at once.
An interpreter clamps an index past the end, and a device reads other memory.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_kernels.blocks._grid_mapping import kernel_name
from ricci_kernels.calls._interpreter import final_values
from ricci_kernels.calls._primitive import pallas_call_p
from ricci_kernels.calls._recorded_calls import RecordedCall, recorded_call, recorded_calls
from ricci_kernels.primitives._copies import indexed_references

from ._block_checks import KernelFinding, findings_of_blocks
from ._index_checks import error_ahead
from ._semaphores import scratch_semaphores
from ._static_indices import IndexSurvey

__all__ = ["KernelFinding", "check"]


def check(fun: Callable[..., Any], *args: object) -> list[KernelFinding]:
    """Check the kernels that a function calls, without a device.

    It evaluates the index maps for all steps, and finds blocks outside of their arrays, parts of
    outputs that no step writes, blocks of outputs that are left and written again, whose first
    values a TPU loses, blocks that steps of a parallel axis share, and outputs and scratch buffers
    that the first step reads ahead of a write. Indices within blocks that depend on the position in
    the grid and on counters of loops are evaluated for all steps, too. With arrays as arguments it
    interprets the kernels, and finds indices out of bounds that depend on them, copies that nothing
    waits for, and semaphores that are not 0.

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
    findings = [finding for call in calls for finding in findings_of_blocks(call)]
    for call in calls:
        ahead = list(_findings_of_positions(call))
        findings += ahead
        if call.operands is not None:
            findings += [] if ahead else _findings_of_indices(call)
            findings += _findings_of_semaphores(call)
    return findings


@ir.kernel_check.provide
def _check_of_call(eqn: ir.JaxprEqn) -> Callable[[Sequence[Any]], list[str]] | None:
    if eqn.primitive is not pallas_call_p:
        return None

    def check(values: Sequence[Any]) -> list[str]:
        call = recorded_call(eqn, values)
        findings = [*findings_of_blocks(call, skip_unknown=True), *_findings_of_positions(call)]
        return [finding.text for finding in findings]

    return check


def _findings_of_positions(call: RecordedCall) -> Iterator[KernelFinding]:
    """The first index out of bounds that depends on the position alone."""
    grid = call.mapping.grid
    survey = IndexSurvey(call.params["jaxpr"], grid, call.mapping.vmapped)
    if survey.outside is not None:
        error = error_ahead(call.params, survey.outside)
        text = f"{error}."
        yield KernelFinding("index out of bounds", call.name, error.operand, error.step, text)


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
    semaphores = scratch_semaphores(call.params)
    if not semaphores:
        return
    counts = final_values(call.params, call.operands, [s.number for s in semaphores])
    for semaphore, count in zip(semaphores, counts, strict=True):
        values = np.asarray(count).ravel()
        left = np.flatnonzero(values)
        if len(left):
            place = int(left[0])
            kind, text = semaphore.finding(place, int(values[place]))
            yield KernelFinding(kind, kernel_name(call.params), semaphore.name, None, text)
