"""Asynchronous writes of arrays: a thread waits until they are on disk.

``Barriers`` join the processes by jaxlib's coordination service, also in threads.
"""

import abc
import itertools
import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any

from ricci_ir import Array, DTypeLike
from ricci_parallel import cluster
from ricci_xla import JaxRuntimeError, process_count, process_index

from ._arrays import Destination, all_of, async_serialize, run, run_deserialization
from ._specs import Spec, zarr_spec

__all__ = ["AsyncManager", "BarrierTimeoutError", "GlobalAsyncCheckpointManager"]
__all__ += ["GlobalAsyncCheckpointManagerBase", "logger"]


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
        # The counters of all processes agree, as they start the same saves in the same order. So
        # the names of a save's barriers are the same in all of them, and differ from those of other
        # saves.
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
            # jaxlib has one class for all errors of the service; the text alone tells a timeout.
            if "DEADLINE_EXCEEDED" not in str(error):
                raise
            raise BarrierTimeoutError(
                f"process {process_index()} waited {self.timeout_ms / 1000:g} s for the others to "
                "write their parts. Give GlobalAsyncCheckpointManager a longer timeout_secs, or "
                f"see what delays them: {error}"
            ) from error


logger: logging.Logger = logging.getLogger(__name__)


class GlobalAsyncCheckpointManagerBase(abc.ABC):
    """Abstract base class: writes and reads arrays over all processes."""

    @abc.abstractmethod
    def check_for_errors(self) -> None:
        """Raise the error of a previous write, if it failed."""

    @abc.abstractmethod
    def wait_until_finished(self) -> None:
        """Wait until the arrays of ``serialize`` are on disk; raise the error of a failed write."""

    @abc.abstractmethod
    def serialize(
        self,
        arrays: Sequence[Array],
        tensorstore_specs: Sequence[Spec],
        *,
        on_commit_callback: Callable[[], None],
    ) -> None:
        """Start to write arrays."""

    @abc.abstractmethod
    def deserialize(
        self,
        shardings: Sequence[Destination],
        tensorstore_specs: Sequence[Spec],
        global_shapes: Sequence[Sequence[int]] | None = None,
        dtypes: Sequence[DTypeLike] | None = None,
    ) -> list[Array]:
        """Read arrays."""


class AsyncManager:
    """Waits in a thread until futures are done, in all processes, and calls a function then.

    Args:
      timeout_secs: how long processes wait for each other.

    Example:
      >>> from ricci.experimental.array_serialization.serialization import AsyncManager
      >>> manager = AsyncManager()
      >>> manager.wait_until_finished()  # nothing was started
    """

    def __init__(self, timeout_secs: float = 300):
        self._timeout_secs = timeout_secs
        self._futures: list[Any] = []
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    def __del__(self) -> None:
        thread: threading.Thread | None = getattr(self, "_thread", None)
        if thread is not None and thread.is_alive():
            logger.warning("wait_until_finished was not called: arrays may not be on disk yet.")

    def _add_futures(self, futures: Sequence[Any]) -> None:
        """Add futures that the next commit waits for."""
        self._futures.extend(futures)

    def _start_async_commit(self, on_commit_callback: Callable[[], None] | None) -> None:
        """Start a thread that waits, then calls the function in process 0."""
        futures, self._futures = self._futures, []
        arguments = (Barriers(self._timeout_secs), futures, on_commit_callback)
        self._thread = threading.Thread(target=self._commit, args=arguments, daemon=True)
        self._thread.start()

    def _commit(
        self,
        barriers: Barriers,
        futures: Sequence[Any],
        on_commit_callback: Callable[[], None] | None,
    ) -> None:
        try:
            for future in futures:
                future.result()
            logger.info("%d writes of process %d are on disk.", len(futures), process_index())
            # The callback may publish the checkpoint, so it runs only when all parts are on disk.
            # The second barrier lets no process continue before the checkpoint is published.
            barriers.wait("written")
            if process_index() == 0 and on_commit_callback is not None:
                on_commit_callback()
            barriers.wait("done")
        except Exception as error:  # noqa: BLE001 - raised in the thread that waits
            self._error = error

    def check_for_errors(self) -> None:
        """Raise the error of a previous write, if it failed; a second call raises none."""
        error, self._error = self._error, None
        if error is not None:
            raise error

    def wait_until_finished(self) -> None:
        """Wait until all processes have written their arrays and the callback has returned.

        Raises:
          BarrierTimeoutError: if other processes take too long.
        """
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self.check_for_errors()


class GlobalAsyncCheckpointManager(AsyncManager, GlobalAsyncCheckpointManagerBase):
    """Writes and reads arrays by their specifications.

    ``serialize`` returns when the arrays have been copied, so that they may be donated; a
    thread writes the copies.

    Args:
      timeout_secs: how long processes wait for each other.

    Example:
      >>> from tempfile import TemporaryDirectory
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental.array_serialization import serialization
      >>> x = jnp.arange(3)
      >>> manager = serialization.GlobalAsyncCheckpointManager()
      >>> with TemporaryDirectory() as folder:
      ...     manager.serialize_with_paths([x], [f"{folder}/x"])
      ...     manager.wait_until_finished()
      ...     manager.deserialize_with_paths([x.sharding], [f"{folder}/x"])
      [Array([0, 1, 2], dtype=int32)]
    """

    def serialize(
        self,
        arrays: Sequence[Array],
        tensorstore_specs: Sequence[Spec],
        *,
        on_commit_callback: Callable[[], None] | None = None,
        transaction: Any | None = None,
    ) -> None:
        """Start to write arrays.

        Args:
          arrays: the arrays.
          tensorstore_specs: the specification of each.
          on_commit_callback: called in the first process when all processes have written.
          transaction: of TensorStore; the arrays are on disk when it is committed, which this
            does not wait for.

        Raises:
          ValueError: if these differ in number, or TensorStore raises.
        """
        if len(arrays) != len(tensorstore_specs):
            raise ValueError(
                f"serialize: {len(arrays)} arrays and {len(tensorstore_specs)} tensorstore_specs; "
                "give one for each."
            )
        self.wait_until_finished()
        futures: list[Any] = []

        async def write() -> None:
            rows = zip(arrays, tensorstore_specs, strict=True)
            await all_of(
                async_serialize(x, spec, futures, transaction=transaction) for x, spec in rows
            )

        run(write())
        # In a transaction, the futures are done only after the caller has committed it. A wait for
        # them before that would never end.
        self._add_futures(futures if transaction is None else [])
        self._start_async_commit(on_commit_callback)

    def serialize_with_paths(
        self,
        arrays: Sequence[Array],
        paths: Sequence[str],
        *,
        on_commit_callback: Callable[[], None] | None = None,
        transaction: Any | None = None,
    ) -> None:
        """Start to write arrays to paths, each a folder in the format zarr.

        Args:
          arrays, on_commit_callback, transaction: as for ``serialize``.
          paths: the path of each.
        """
        self.serialize(
            arrays,
            list(map(zarr_spec, paths)),
            on_commit_callback=on_commit_callback,
            transaction=transaction,
        )

    def deserialize(
        self,
        shardings: Sequence[Destination],
        tensorstore_specs: Sequence[Spec],
        global_shapes: Sequence[Sequence[int]] | None = None,
        dtypes: Sequence[DTypeLike] | None = None,
        concurrent_gb: int = 32,
    ) -> list[Array]:
        """Read arrays, after pending writes have finished.

        Args:
          shardings: the sharding of each, or a format, or a ``ShapeDtypeStruct`` with either.
          tensorstore_specs: the specification of each.
          global_shapes: the shape of each, if not as saved: larger arrays are cut, smaller ones
            padded with zeros.
          dtypes: the dtype of each, if not as saved.
          concurrent_gb: the number of gigabytes that are read at a time.
        """
        self.wait_until_finished()
        return run_deserialization(
            shardings, tensorstore_specs, global_shapes, dtypes, concurrent_gb
        )

    def deserialize_with_paths(
        self,
        shardings: Sequence[Destination],
        paths: Sequence[str],
        global_shapes: Sequence[Sequence[int]] | None = None,
        dtypes: Sequence[DTypeLike] | None = None,
        concurrent_gb: int = 32,
    ) -> list[Array]:
        """Read arrays that ``serialize_with_paths`` has written.

        Args:
          shardings, global_shapes, dtypes, concurrent_gb: as for ``deserialize``.
          paths: the path of each.
        """
        return self.deserialize(
            shardings, list(map(zarr_spec, paths)), global_shapes, dtypes, concurrent_gb
        )
