"""Keeping the garbage collector out of tracing.

A trace makes millions of objects that all live until it ends. The collector would visit them again
and again in vain: at 100,000 equations it took two thirds of the time. So it does not run before
the outermost trace ends.

The collector is stopped by a threshold that is never reached, not by ``gc.disable()``. The traced
function itself may call ``gc.disable()``, and that must hold after the trace as well.
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

    def __exit__(self, *exception: object) -> None:
        with self.lock:
            self.depth -= 1
            if self.depth == 0 and gc.get_threshold() == self.waiting:  # nobody has set another
                gc.set_threshold(*self.before)


paused_collection = _PausedCollection()
