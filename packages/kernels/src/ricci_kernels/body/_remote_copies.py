"""Copies to other devices; see ``primitives._remote_copies`` on how they are interpreted."""

from typing import Any

import ricci_ir as ir
from ricci_kernels.blocks._memory_spaces import SemaphoreType
from ricci_kernels.primitives._accesses import Reference
from ricci_kernels.primitives._copies import Forms, flattened
from ricci_kernels.primitives._device_numbers import DeviceId, DeviceIdType, device_number
from ricci_kernels.primitives._remote_copies import (
    MeshAxes,
    remote_copy_start_p,
    remote_copy_wait_p,
)

from ._control import get_global
from ._copies import AsyncCopyDescriptor, make_async_copy
from ._selected_refs import is_selected

__all__: list[str] = []


class AsyncRemoteCopyDescriptor(AsyncCopyDescriptor):
    """A copy from a reference on this device to one on another.

    Attributes:
      src_ref, dst_ref: the references, or views of them.
      sem, recv_sem: the semaphore of the target that the copy adds to when it has arrived.
      send_sem: the semaphore of this device that it adds to when the source may be written.
      device_id, device_id_type: the target.
    """

    send_sem: Reference
    recv_sem: Reference
    device_id: DeviceId
    device_id_type: DeviceIdType

    def __init__(
        self,
        src_ref: Reference,
        dst_ref: Reference,
        send_sem: Reference,
        recv_sem: Reference,
        device_id: DeviceId,
        device_id_type: DeviceIdType,
    ):
        if is_selected([src_ref, dst_ref, send_sem, recv_sem]):
            raise NotImplementedError(
                "make_async_remote_copy: a reference of select_ref is not copied to another "
                "device. Copy the selected one to a buffer, and send that."
            )
        super().__init__(src_ref, dst_ref, recv_sem)
        self.send_sem, self.recv_sem = send_sem, recv_sem
        self.device_id, self.device_id_type = device_id, device_id_type

    def start(self, priority: int = 0, *, add: bool = False) -> None:
        """Start the copy.

        Args:
          priority: of no effect: TPUs have none for copies to other devices.
          add: not supported between devices.

        Raises:
          NotImplementedError: if ``add``.
        """
        if add:
            raise NotImplementedError(
                "make_async_remote_copy: a copy to another device cannot add to the target. Copy "
                "to a buffer, and add it there."
            )
        operands, forms, axes = self._operands()
        remote_copy_start_p.bind(*operands, forms=forms, axes=axes)

    def wait(self) -> None:
        """Wait until the copy was sent, and until one has arrived."""
        self.wait_send()
        self.wait_recv()

    def wait_send(self) -> None:
        """Wait until the source may be written again."""
        self._wait(is_sending=True)

    def wait_read(self) -> None:
        """Wait until the source may be written again; see ``wait_send``."""
        self.wait_send()

    def wait_recv(self) -> None:
        """Wait until a copy has arrived in the target of this device."""
        self._wait(is_sending=False)

    def _operands(self) -> tuple[list[Any], Forms, MeshAxes]:
        """The references, the number of the other device, the forms of indices, and the mesh."""
        name = "make_async_remote_copy"
        axes, device = device_number(name, self.device_id, self.device_id_type)
        references = [self.src_ref, self.dst_ref, self.send_sem, self.recv_sem]
        operands, forms = flattened(references)
        return [*operands, device], forms, axes

    def _wait(self, is_sending: bool) -> None:
        operands, forms, axes = self._operands()
        remote_copy_wait_p.bind(*operands, forms=forms, axes=axes, is_sending=is_sending)


def make_async_remote_copy(
    src_ref: Reference,
    dst_ref: Reference,
    send_sem: Reference,
    recv_sem: Reference,
    device_id: DeviceId,
    device_id_type: DeviceIdType = DeviceIdType.MESH,
) -> AsyncCopyDescriptor:
    """Describe a copy to another device of the mesh of a ``shard_map``.

    Interpreted, all devices run in lockstep: a copy must not be in a branch or a loop whose
    condition depends on data or on the device.

    Args:
      src_ref: a reference on this device, or a view of one.
      dst_ref: the reference on the other device, as this device names it, of the same type.
      send_sem: a semaphore of this device for the end of the sending.
      recv_sem: a semaphore of the other device for the arrival.
      device_id: the other device: by ``MESH`` a tuple of positions along the axes of the mesh, a
        dict of some of them, or a position along the single axis; by ``LOGICAL`` its number.
        ``None`` is this device.
      device_id_type: how it is named.

    Returns:
      The copy's descriptor, with the methods ``start``, ``wait``, ``wait_send`` and ``wait_recv``.

    Raises:
      ValueError: if shapes or dtypes differ; when it starts, if the mesh has no such axes.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci import lax
      >>> from ricci.experimental import pallas as pl
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> def send_right(x, out, sent, arrived):
      ...     count = lax.axis_size("i")
      ...     right = (lax.axis_index("i") + 1) % count
      ...     copy = pltpu.make_async_remote_copy(x, out, sent, arrived, (right,))
      ...     copy.start()
      ...     copy.wait()
      >>> kernel = pl.pallas_call(
      ...     send_right,
      ...     ricci.ShapeDtypeStruct((2,), np.float32),
      ...     scratch_shapes=[pltpu.SemaphoreType.DMA] * 2,
      ...     interpret=True,
      ... )
      >>> mesh = ricci.make_mesh((1,), ("i",), axis_types=(ricci.sharding.AxisType.Auto,))
      >>> rotate = ricci.shard_map(
      ...     kernel, mesh=mesh, in_specs=ricci.P("i"), out_specs=ricci.P("i"), check_vma=False
      ... )
      >>> rotate(np.float32([1, 2]))
      Array([1., 2.], dtype=float32)
    """
    if device_id is None:
        return make_async_copy(src_ref, dst_ref, recv_sem)
    return AsyncRemoteCopyDescriptor(
        src_ref, dst_ref, send_sem, recv_sem, device_id, device_id_type
    )


def async_remote_copy(
    src_ref: Reference,
    dst_ref: Reference,
    send_sem: Reference,
    recv_sem: Reference,
    device_id: DeviceId,
    device_id_type: DeviceIdType = DeviceIdType.MESH,
) -> AsyncCopyDescriptor:
    """Start a copy to another device.

    Args:
      src_ref, dst_ref, send_sem, recv_sem, device_id, device_id_type: see
        ``make_async_remote_copy``.

    Returns:
      Its descriptor.

    Example:
      See ``make_async_remote_copy``.

      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> pltpu.async_remote_copy.__name__
      'async_remote_copy'
    """
    copy = make_async_remote_copy(src_ref, dst_ref, send_sem, recv_sem, device_id, device_id_type)
    copy.start()
    return copy


def get_barrier_semaphore(tag: object = None) -> ir.Ref:
    """Return a semaphore that the devices of a kernel share, for a barrier.

    Args:
      tag: of no effect.

    Returns:
      A reference to it.

    Example:
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> pltpu.get_barrier_semaphore()
      Ref(0, dtype=int32)
    """
    del tag
    return get_global(SemaphoreType.BARRIER)
