"""Pausing the garbage collector while tracing.

A trace allocates millions of objects that all live until it ends. The collector would traverse them
repeatedly without freeing any: at 100,000 equations it took two thirds of the time. So it does not
run before the outermost trace ends.

The collector is paused by a threshold that is never reached, not by ``gc.disable()``. The traced
function itself may call ``gc.disable()``, and that must stay in effect after the trace.
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
            # Unless the user has set another threshold meanwhile.
            if self.depth == 0 and gc.get_threshold() == self.waiting:
                gc.set_threshold(*self.before)


paused_collection = _PausedCollection()
