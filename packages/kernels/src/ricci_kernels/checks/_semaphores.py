"""Semaphores that a kernel leaves at another count than 0, so that its next call begins wrong."""

from collections.abc import Mapping
from typing import Any

import ricci_ir as ir
from ricci_kernels.blocks._memory_spaces import SemaphoreType, TPUMemorySpace
from ricci_kernels.primitives._copies import dma_wait_read_p

__all__: list[str] = []


class Semaphores(ir.TupleRecord):
    """An array of semaphores among the scratch buffers of a kernel.

    Attributes:
      number: its position among the kernel's references.
      name: its name in messages.
      kernel: the kernel's name.
      kind: their kind.
    """

    number: int
    name: str
    kernel: str
    kind: SemaphoreType

    def finding(self, place: int, count: int) -> tuple[str, str]:
        """The kind of finding, and its text, of a count at the end that is not 0."""
        is_copy = self.kind is SemaphoreType.DMA and count > 0
        what = (
            f"{count} elements of copies that nothing has waited for"
            if is_copy
            else f"the count {count}, of which a next call would begin"
        )
        if self.kind is SemaphoreType.DMA:
            advice = "Call wait() once for each copy that starts."
        else:
            advice = "Wait for each signal."
        text = (
            f"{self.name}[{place}] of the kernel {self.kernel}: at the end the semaphore has "
            f"{what}. {advice}"
        )
        return "copy not waited for" if is_copy else "semaphore left", text


def scratch_semaphores(params: Mapping[str, Any]) -> list[Semaphores]:
    """The semaphores among the scratch buffers of a kernel call.

    Args:
      params: the parameters of the call.
    """
    jaxpr, mapping = params["jaxpr"], params["grid_mapping"]
    # A wait for the end of reading the source is of no effect here; on a device it may subtract.
    is_counted = lambda kind: kind is not SemaphoreType.DMA or not _waits_for_reading(jaxpr)
    first = mapping.num_index_operands + len(mapping.block_mappings)
    return [
        Semaphores(i, f"scratch_shapes[{i - first}]", jaxpr.debug_info.func_name, ref.kind)
        for i, ref in enumerate(jaxpr.in_avals)
        if i >= first and ref.memory_space is TPUMemorySpace.SEMAPHORE and is_counted(ref.kind)
    ]


def _waits_for_reading(jaxpr: ir.Jaxpr) -> bool:
    return any(
        eqn.primitive is dma_wait_read_p
        or any(map(_waits_for_reading, ir.jaxprs_in_params(eqn.params)))
        for eqn in jaxpr.eqns
    )
