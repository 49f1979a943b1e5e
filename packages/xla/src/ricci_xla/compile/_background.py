"""Background thread for compiling and loading, which release the interpreter lock."""

import atexit
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any


class Background:
    """Runs functions one after the other on a thread, which starts with the first of them.

    When the process ends, functions that have not started are cancelled, and the running one is
    waited for: the runtime's threads must not outlive Python.

    Args:
      name: the thread's name.
    """

    def __init__(self, name: str):
        self._name = name
        self._lock = threading.Lock()
        self._queue: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._waiting: list[Future[Any]] = []
        self._thread: threading.Thread | None = None

    def submit[T](self, function: Callable[[], T]) -> Future[T]:
        """Queue a function; the future gets its result, or its RuntimeError or ValueError."""
        future: Future[T] = Future()

        def run() -> None:
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(function())
                except (RuntimeError, ValueError) as error:
                    future.set_exception(error)
            with self._lock:
                if future in self._waiting:  # not once ``end`` has cancelled those
                    self._waiting.remove(future)

        # A daemon thread does not delay the end of the interpreter, which could end it in the
        # middle of a compilation: ``end`` waits for it at exit.
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
                self._thread.start()
                atexit.register(self.end)
            self._waiting.append(future)
            self._queue.put(run)
        return future

    def end(self) -> None:
        """Cancel the functions that have not started, wait for the running one, end the thread."""
        # Joined after the lock is released: the running function may submit others, which takes it.
        with self._lock:
            thread, self._thread = self._thread, None
            waiting, self._waiting = self._waiting, []
        if thread is not None:
            atexit.unregister(self.end)
            for future in waiting:
                future.cancel()
            self._queue.put(None)
            thread.join()

    def _work(self) -> None:
        while (run := self._queue.get()) is not None:
            run()
            del run  # and the result with it, while the thread waits for the next one
