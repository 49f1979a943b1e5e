"""Keeping the garbage collector out of the import.

What is imported stays; the collector would walk it again and again, which took a fifth of the time.
It waits from the import of this module until ``resume`` is called.
"""

import gc

_FROZEN_BY_PYTHON = 1000  # Python 3.12 freezes some hundred objects when it starts
_before = gc.get_threshold()
_waiting = (1 << 30, *_before[1:])

gc.set_threshold(*_waiting)


def resume() -> None:
    """Let the collector run as before, unless somebody has set it otherwise meanwhile.

    All that there is joins the oldest generation, as it would after two collections; these would
    walk it twice. Only collections of all generations look at it then.
    """
    if gc.get_threshold() != _waiting:
        return
    if gc.get_freeze_count() < _FROZEN_BY_PYTHON:  # else somebody keeps objects from the collector
        gc.freeze()
        gc.unfreeze()
    gc.set_threshold(*_before)
