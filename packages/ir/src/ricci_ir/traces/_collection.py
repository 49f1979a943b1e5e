"""Keeping the garbage collector out of tracing.

A trace makes millions of objects that all live to its end. The collector would walk them again and
again for nothing: at 100,000 equations it took two thirds of the time. It waits until the outermost
trace is done.
"""

import gc
import threading


class _PausedCollection:
    """A ``with`` block, shared by all threads, in which the collector does not run by itself."""

    __slots__ = ("depth", "lock", "was_enabled")

    def __init__(self):
        self.lock = threading.Lock()
        self.depth = 0
        self.was_enabled = False

    def __enter__(self) -> None:
        with self.lock:
            if self.depth == 0:
                self.was_enabled = gc.isenabled()
                gc.disable()
            self.depth += 1

    def __exit__(self, *exception) -> None:
        with self.lock:
            self.depth -= 1
            if self.depth == 0 and self.was_enabled:
                gc.enable()


paused_collection = _PausedCollection()
