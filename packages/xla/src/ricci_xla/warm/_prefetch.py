"""Loading programs ahead, on another thread, while the main thread imports modules and weights.

The runtime takes about a tenth of a program's compile time to load it, and does not hold Python's
lock meanwhile.
"""

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future


class Prefetch[R, T]:
    """Applies a function to values, in order, on a thread of its own.

    Args:
      load: the function.
      records: the values; they are told apart by identity.
    """

    def __init__(self, load: Callable[[R], T], records: Iterable[R]):
        self._load = load
        self._futures: dict[int, tuple[R, Future[T]]] = {id(r): (r, Future()) for r in records}
        self._thread = threading.Thread(target=self._work, name="ricci.warm_start", daemon=True)
        if self._futures:
            self._thread.start()

    def _work(self) -> None:
        for record, future in self._futures.values():
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(self._load(record))
                except (RuntimeError, ValueError) as error:  # is raised where the result is needed
                    future.set_exception(error)

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
        for _, future in self._futures.values():
            future.cancel()
        if self._thread.is_alive():
            self._thread.join()
