"""Barriers between processes, also in threads, by jaxlib's coordination service."""

import itertools

from ricci_parallel import cluster
from ricci_xla import JaxRuntimeError, process_count, process_index


class BarrierTimeoutError(Exception):
    """Other processes have not written their parts in time."""


class Barriers:
    """The points at which all processes wait during one save.

    Create it in the main thread, as every process starts the same saves in the same order; ``wait``
    may be called in any thread.

    Args:
      timeout_secs: how long processes wait for each other.
    """

    _saves = itertools.count()

    def __init__(self, timeout_secs: float = 300):
        self.key = f"ricci/storage/{next(self._saves)}"
        self.timeout_ms = int(timeout_secs * 1000)

    def wait(self, point: str) -> None:
        """Wait until all processes are at a point.

        Raises:
          BarrierTimeoutError: if others take too long.
        """
        if process_count() == 1:
            return
        try:
            cluster.client.wait_at_barrier(f"{self.key}/{point}", self.timeout_ms)
        except JaxRuntimeError as error:
            if "DEADLINE_EXCEEDED" not in str(error):
                raise
            raise BarrierTimeoutError(
                f"process {process_index()} waited {self.timeout_ms / 1000:g} s for the others to "
                "write their parts. Give GlobalAsyncCheckpointManager a longer timeout_secs, or "
                f"see what delays them: {error}"
            ) from error
