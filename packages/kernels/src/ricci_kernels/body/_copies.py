"""Semaphores, and copies between the memories of a device.

Interpreted, a copy happens when it starts, and semaphores are counters: nothing waits, since the
steps of a kernel run one after the other. Copies between devices are in ``_remote_copies``.
"""

from functools import partial

import numpy as np

import ricci_ir as ir
import ricci_numpy as jnp
from ricci_kernels.blocks._memory_spaces import SemaphoreType
from ricci_kernels.primitives._accesses import Reference
from ricci_kernels.primitives._copies import (
    copy_now,
    core_signal_p,
    count_now,
    counts_copies,
    dma_start_p,
    dma_wait_p,
    dma_wait_read_p,
    flattened,
    semaphore_read_p,
    semaphore_signal_p,
    semaphore_wait_p,
)
from ricci_kernels.primitives._device_numbers import DeviceId, DeviceIdType, device_number
from ricci_kernels.primitives._remote_copies import remote_signal_p
from ricci_lax.refs import are_alike, element_count

from ._control import run_scoped
from ._selected_refs import CopyOperand, with_selected

__all__ = ["semaphore_read", "semaphore_signal", "semaphore_wait"]


def semaphore_read(sem_or_view: Reference) -> ir.Array:
    """The count of a semaphore.

    Args:
      sem_or_view: a reference to one, or a view of one of several.

    Returns:
      An int32 scalar.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci.experimental import pallas as pl
      >>> count = ricci.new_ref(np.int32(0))
      >>> pl.semaphore_signal(count, 2)
      >>> int(pl.semaphore_read(count))
      2
    """
    # Inside of a kernel the operation is recorded, for a compiler. Outside of one, references hold
    # arrays and it is done at once.
    if ir.context.trace.records_references:
        operands, forms = flattened([sem_or_view])
        return semaphore_read_p.bind(*operands, forms=forms)
    return sem_or_view[...]


def semaphore_signal(
    sem_or_view: Reference,
    inc: ir.ArrayLike = 1,
    *,
    device_id: DeviceId = None,
    device_id_type: DeviceIdType = DeviceIdType.MESH,
    core_index: ir.ArrayLike | None = None,
) -> None:
    """Add to a semaphore.

    Args:
      sem_or_view: a reference to it, or a view of one of several.
      inc: how much.
      device_id, device_id_type: the device whose semaphore it is; see ``make_async_remote_copy``.
      core_index: the core whose semaphore it is. Interpreted, cores run one after the other and
        share their semaphores.

    Raises:
      ValueError: if ``device_id`` does not name a device of the mesh.
      NotImplementedError: for a core of another device.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci.experimental import pallas as pl
      >>> count = ricci.new_ref(np.int32(0))
      >>> pl.semaphore_signal(count, 2)
      >>> int(pl.semaphore_read(count))
      2
    """
    if core_index is not None and device_id is not None:
        raise NotImplementedError(
            "semaphore_signal: core_index with device_id, a core of another device, is not "
            "supported. Signal the device, and let its core signal the other one."
        )
    if core_index is not None and ir.context.trace.records_references:
        operands, forms = flattened([sem_or_view])
        numbers = [jnp.asarray(x, np.int32) for x in (inc, core_index)]
        core_signal_p.bind(*operands, *numbers, forms=forms)
        return
    if device_id is None:
        _count(semaphore_signal_p, sem_or_view, inc, 1)
        return
    axes, device = device_number("semaphore_signal", device_id, device_id_type)
    operands, forms = flattened([sem_or_view])
    count = jnp.asarray(inc, np.int32)
    remote_signal_p.bind(*operands, count, device, forms=forms, axes=axes)


def semaphore_wait(
    sem_or_view: Reference, value: int | ir.Array = 1, *, decrement: bool = True
) -> None:
    """Wait for a semaphore, and subtract from it; interpreted, nothing waits.

    Args:
      sem_or_view: a reference to it, or a view of one of several.
      value: the count to wait for.
      decrement: whether to subtract it.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci.experimental import pallas as pl
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> def kernel(out, sem):
      ...     pl.semaphore_signal(sem, 3)
      ...     pl.semaphore_wait(sem, 2)
      ...     out[...] = pl.semaphore_read(sem)
      ...     pl.semaphore_wait(sem, 1)
      >>> count = pl.pallas_call(
      ...     kernel,
      ...     ricci.ShapeDtypeStruct((), np.int32),
      ...     scratch_shapes=[pltpu.SemaphoreType.REGULAR],
      ...     interpret=True,
      ... )
      >>> count()
      Array(1, dtype=int32)
    """
    _count(semaphore_wait_p, sem_or_view, value, -1)
    if not decrement:
        # A device's wait subtracts, so that the count is added again. Nobody sees it in between:
        # only the core itself waits for its semaphores and reads them, and others only add.
        _count(semaphore_signal_p, sem_or_view, value, 1)


def _count(primitive: ir.Primitive, sem: Reference, value: ir.ArrayLike, sign: int) -> None:
    """Record the change of a semaphore, or count it."""
    value = jnp.asarray(value, np.int32)
    if ir.context.trace.records_references:
        operands, forms = flattened([sem])
        primitive.bind(*operands, value, forms=forms)
    else:
        count_now(sem, value * sign)


def _start(
    source: Reference, target: Reference, sem: Reference | None, is_added: bool, priority: int
) -> None:
    # A copy that nothing can wait for ends before this returns.
    if sem is not None and ir.context.trace.records_references:
        operands, forms = flattened([source, target, sem])
        dma_start_p.bind(*operands, forms=forms, add=is_added, priority=priority)
    else:
        copy_now(source, target, sem, is_added)


def _wait(source: Reference, target: Reference, sem: Reference | None) -> None:
    if sem is None:
        return
    if counts_copies(sem):
        raise ValueError(
            "dma_wait requires a DMA semaphore, but got a regular semaphore, which counts copies. "
            "Use pl.semaphore_wait(semaphore, count) instead, or pass pltpu.SemaphoreType.DMA."
        )
    if ir.context.trace.records_references:
        operands, forms = flattened([source, target, sem])
        dma_wait_p.bind(*operands, forms=forms)
    else:
        count_now(sem, -element_count(target))


class AsyncCopyDescriptor:
    """A copy between two references.

    Attributes:
      src_ref, dst_ref: the references, or views of them.
      sem: the semaphore that the copy adds to.
    """

    src_ref: CopyOperand
    dst_ref: CopyOperand
    sem: Reference | None

    def __init__(
        self, src_ref: CopyOperand, dst_ref: CopyOperand, sem: Reference | None, add: bool = False
    ):
        if not are_alike(src_ref, dst_ref):  # pyright: ignore[reportArgumentType] - has a shape
            raise ValueError(
                f"a copy from a reference of shape {src_ref.shape} and dtype {src_ref.dtype} to "
                f"one of shape {dst_ref.shape} and dtype {dst_ref.dtype}: they must be the same."
            )
        self.src_ref, self.dst_ref, self.sem, self._add = src_ref, dst_ref, sem, add

    def start(self, priority: int = 0, *, add: bool = False) -> None:
        """Start the copy.

        Args:
          priority: of no effect when interpreted.
          add: whether to add to the destination instead of replacing it.
        """
        run = partial(_start, is_added=add or self._add, priority=priority)
        with_selected([self.src_ref, self.dst_ref, self.sem], run)

    def wait(self) -> None:
        """Wait for the end of the copy.

        Raises:
          ValueError: if its semaphore is a regular one, which ``pl.semaphore_wait`` waits for.
        """
        with_selected([self.src_ref, self.dst_ref, self.sem], _wait)

    def wait_send(self) -> None:
        """Refuse, since a copy within a device has one semaphore, for its end.

        Raises:
          RuntimeError: always.
        """
        raise RuntimeError(
            "wait_send: the copy is within a device. Use wait() for the end of the copy, or "
            "wait_read() for the end of reading its source."
        )

    def wait_read(self) -> None:
        """Wait until the source may be written again; of no effect, as the copy is done then."""
        if self.sem is not None and ir.context.trace.records_references:
            dma_wait_read_p.bind()

    def wait_write(self) -> None:
        """Wait for the end of the copy; see ``wait``."""
        self.wait()

    def wait_recv(self) -> None:
        """Wait for the end of the copy; see ``wait``."""
        self.wait()


def make_async_copy(
    src_ref: CopyOperand, dst_ref: CopyOperand, sem: Reference
) -> AsyncCopyDescriptor:
    """Describe a copy, which its method ``start`` begins and ``wait`` waits for.

    Args:
      src_ref, dst_ref: references of one shape and dtype, or views of them.
      sem: a semaphore for copies, or a regular one, to which each copy adds 1.

    Returns:
      The copy's descriptor.

    Raises:
      ValueError: if shapes or dtypes differ.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci.experimental import pallas as pl
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> def kernel(x, out, sem):
      ...     copy = pltpu.make_async_copy(x.at[pl.ds(1, 2)], out, sem)
      ...     copy.start()
      ...     copy.wait()
      >>> middle = pl.pallas_call(
      ...     kernel,
      ...     ricci.ShapeDtypeStruct((2,), np.float32),
      ...     in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
      ...     scratch_shapes=[pltpu.SemaphoreType.DMA],
      ...     interpret=True,
      ... )
      >>> middle(np.float32([1, 2, 3, 4]))
      Array([2., 3.], dtype=float32)
    """
    return AsyncCopyDescriptor(src_ref, dst_ref, sem)


def async_copy(
    src_ref: CopyOperand,
    dst_ref: CopyOperand,
    sem: Reference,
    *,
    priority: int = 0,
    add: bool = False,
) -> AsyncCopyDescriptor:
    """Start a copy.

    Args:
      src_ref, dst_ref, sem: see ``make_async_copy``.
      priority: of no effect.
      add: whether to add to the destination instead of replacing it.

    Returns:
      Its descriptor, whose method ``wait`` waits for it.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> x, y = ricci.new_ref(np.float32([1, 2])), ricci.new_ref(np.float32([0, 0]))
      >>> pltpu.async_copy(x, y, ricci.new_ref(np.int32(0))).wait()
      >>> y
      Ref([1., 2.], dtype=float32)
    """
    copy = AsyncCopyDescriptor(src_ref, dst_ref, sem, add)
    copy.start(priority)
    return copy


def sync_copy(src_ref: CopyOperand, dst_ref: CopyOperand, *, add: bool = False) -> None:
    """Copy one reference to another, and wait.

    Args:
      src_ref, dst_ref: see ``make_async_copy``.
      add: whether to add to the destination instead of replacing it.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> x, y = ricci.new_ref(np.float32([1, 2])), ricci.new_ref(np.float32([5, 5]))
      >>> pltpu.sync_copy(x, y, add=True)
      >>> y
      Ref([6., 7.], dtype=float32)
    """

    def copy(sem: Reference | None) -> None:
        descriptor = AsyncCopyDescriptor(src_ref, dst_ref, sem, add)
        descriptor.start()
        descriptor.wait()

    if ir.context.trace.records_references:
        run_scoped(copy, SemaphoreType.DMA)
    else:
        copy(None)
