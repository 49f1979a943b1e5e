"""Loading executables on a thread, while the main thread imports modules and loads weights.

The runtime takes about a tenth of an executable's compile time to load it.
"""

from collections.abc import Callable, Iterable
from concurrent.futures import Future

from ricci_xla.compile._background import Background


class Prefetch[R, T]:
    """Applies a function to records, in order, on a background thread.

    Args:
      load: the function.
      records: the records; they are distinguished by identity.
    """

    def __init__(self, load: Callable[[R], T], records: Iterable[R]):
        self._load = load
        self._background = Background("ricci.warm_start")
        self._futures: dict[int, tuple[R, Future[T]]] = {
            id(record): (record, self._background.submit(lambda record=record: load(record)))
            for record in records
        }

    def get(self, record: R) -> T:
        """Return the function's result for a record, computing it now if it has not begun.

        Raises:
          RuntimeError, ValueError: if the function does.
        """
        _, future = self._futures.get(id(record), (record, None))
        if future is None or future.cancel():
            return self._load(record)
        return future.result()

    def end(self) -> None:
        """Cancel pending records, and wait for the running one."""
        self._background.end()
