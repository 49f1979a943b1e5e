"""The cluster that this process belongs to, which ``distributed.initialize`` fills in."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any, final

from ricci_ir import exported

__all__ = ["Cluster", "cluster"]


@exported
@final
class Cluster:
    """The cluster that this process belongs to, if any.

    Attributes:
      client: jaxlib's client of the coordination service.
      service: the service, as rank 0.
      preemption_sync_manager: tells all processes when one gets SIGTERM, if it was started.
      coordinator_address: where the service listens.
      process_id: the number of this process.
      num_processes: the number of processes.
      shutdown_timeout: how long this process waits for the others at its end, in seconds.
      watch: the thread that watches over the processes; ``None`` for one process alone.
      guard: holds up the runtime's aborts.
      main_thread: tells the others of exceptions.
    """

    def __init__(self):
        self.forget()

    def forget(self) -> None:
        """Reset to a process without a cluster."""
        self.client: Any = None
        self.service: Any = None
        self.preemption_sync_manager: Any = None
        self.coordinator_address: str | None = None
        self.process_id: int = 0
        self.num_processes: int = 1
        self.shutdown_timeout: float = 300.0
        # Of the room `processes`, which programs of one process do not import.
        self.watch: Any = None
        self.guard: Any = None
        self.main_thread: Any = None

    def waiting(self) -> AbstractContextManager[None]:
        """Mark this process as waiting for others inside the block."""
        return nullcontext() if self.watch is None else self.watch.observer.waiting()


cluster: Cluster = Cluster()
