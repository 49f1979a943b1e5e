"""Keeping the garbage collector out of tracing.

A trace makes millions of objects that all live to its end. The collector would walk them again and
again for nothing: at 100,000 equations it took two thirds of the time. It waits until the outermost
trace is done.

It is made to wait by a threshold that is never reached, and not by ``gc.disable()``: whether it is
enabled is for the traced function to say, which may disable it for longer.
"""

import gc
import threading

_NEVER = (1 << 31) - 1  # more objects than are counted between two collections


class _PausedCollection:
    """A ``with`` block, shared by all threads, in which the collector does not run by itself."""

    __slots__ = ("before", "depth", "lock", "waiting")

    def __init__(self):
        self.lock = threading.Lock()
        self.depth = 0
        self.before = self.waiting = gc.get_threshold()

    def __enter__(self) -> None:
        with self.lock:
            if self.depth == 0:
                self.before = gc.get_threshold()
                self.waiting = (_NEVER, *self.before[1:])
                gc.set_threshold(*self.waiting)
            self.depth += 1

    def __exit__(self, *exception) -> None:
        with self.lock:
            self.depth -= 1
            if self.depth == 0 and gc.get_threshold() == self.waiting:  # nobody has set another
                gc.set_threshold(*self.before)


paused_collection = _PausedCollection()
