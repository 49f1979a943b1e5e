"""Keeping the garbage collector out of the import.

What is imported stays; the collector would walk it again and again, which took a fifth of the time.
It waits from the import of this module until ``resume`` is called.
"""

import gc

_before = gc.get_threshold()
_waiting = (1 << 30, *_before[1:])

gc.set_threshold(*_waiting)


def resume() -> None:
    """Let the collector run as before, unless somebody has set it otherwise meanwhile."""
    if gc.get_threshold() == _waiting:
        gc.set_threshold(*_before)
