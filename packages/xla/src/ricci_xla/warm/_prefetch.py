"""Loading programs ahead, while the main thread imports modules and weights.

The runtime takes about a tenth of a program's compile time to load it.
"""

from collections.abc import Callable, Iterable
from concurrent.futures import Future

from ricci_xla.tracing._background import Background


class Prefetch[R, T]:
    """Applies a function to values, in order, on a thread of its own.

    Args:
      load: the function.
      records: the values; they are told apart by identity.
    """

    def __init__(self, load: Callable[[R], T], records: Iterable[R]):
        self._load = load
        self._background = Background("ricci.warm_start")
        self._futures: dict[int, tuple[R, Future[T]]] = {
            id(record): (record, self._background.submit(lambda record=record: load(record)))
            for record in records
        }

    def get(self, record: R) -> T:
        """The function's result for a value; what was not begun yet is done here and now.

        Raises:
          RuntimeError, ValueError: if the function does.
        """
        _, future = self._futures.get(id(record), (record, None))
        if future is None or future.cancel():
            return self._load(record)
        return future.result()

    def end(self) -> None:
        """Leave out what was not begun, and wait for what was."""
        self._background.end()
