"""Processes that are about to end, or have ended, while the others go on."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ricci_ir import config
from ricci_parallel._cluster import cluster
from ricci_xla import Device, process_count, process_index

__all__ = ["ProcessFailureError", "live_devices", "reached_preemption_sync_point"]


def reached_preemption_sync_point(step_id: int) -> bool:
    """Whether all processes must save their state at this step, because one will be preempted.

    A process that gets SIGTERM tells the others by the runtime's preemption service, and all agree
    on a step that none has reached yet. Call it in every step, and save where it is true.

    Args:
      step_id: the number of the step, the same in all processes, growing by 1.

    Returns:
      A bool, the same in all processes.

    Raises:
      RuntimeError: if there are several processes, but the service was switched off by the option
        ``jax_enable_preemption_service`` when ``initialize`` was called.

    Example:
      >>> from ricci.experimental.multihost_utils import reached_preemption_sync_point
      >>> reached_preemption_sync_point(7)
      False
    """
    if cluster.preemption_sync_manager is None:
        if process_count() == 1:
            return False
        raise RuntimeError(
            "reached_preemption_sync_point: the preemption service was not started. Set the option "
            f"jax_enable_preemption_service (it is {config.jax_enable_preemption_service}) to True "
            "before distributed.initialize."
        )
    return cluster.preemption_sync_manager.reached_sync_point(step_id)


class ProcessFailureError(Exception):
    """Processes have failed inside a block of ``live_devices``.

    Args:
      failed_devices: their devices.
    """

    def __init__(self, failed_devices: set[Device]):
        super().__init__(f"Devices failed: {failed_devices}")
        self.failed_devices = failed_devices


@contextmanager
def live_devices(devices: Sequence[Device]) -> Iterator[list[Device]]:
    """Work with those devices whose processes are alive.

    All processes that the devices belong to, and that are alive, must enter the block. At its end
    they look whether all are alive still.

    Args:
      devices: devices, some of them this process's.

    Yields:
      Those of them whose processes are alive.

    Raises:
      ValueError: if none of the devices is this process's.
      ProcessFailureError: at the end of the block, if a process has failed or restarted since.

    Example:
      >>> import ricci
      >>> from ricci.experimental.multihost_utils import live_devices
      >>> with live_devices(ricci.devices()) as alive:
      ...     len(alive) == len(ricci.devices())
      True
    """
    before = _incarnations(devices)
    alive = [device for device in devices if device.process_index in before]
    try:
        yield alive
    except Exception as error:
        _check_alive(alive, before, error)
        raise
    _check_alive(alive, before, None)


def _check_alive(
    devices: Sequence[Device], before: dict[int, int], cause: Exception | None
) -> None:
    """Raise ``ProcessFailureError`` if a process has been replaced or is gone."""
    after = _incarnations(devices)
    changed = {rank for rank, number in before.items() if after.get(rank) != number}
    if changed:
        failed = {device for device in devices if device.process_index in changed}
        raise ProcessFailureError(failed) from cause


def _incarnations(devices: Sequence[Device]) -> dict[int, int]:
    """Return a number for each live process, which differs for a restarted one."""
    ranks = sorted({device.process_index for device in devices})
    if process_index() not in ranks:
        raise ValueError(
            f"live_devices: none of the devices belongs to this process, which is rank "
            f"{process_index()}; they are those of {ranks}."
        )
    if cluster.client is None:
        return dict.fromkeys(ranks, 0)
    with cluster.waiting():
        return cluster.client.get_live_nodes(ranks)
