"""Suspension of the garbage collector during the import.

Imported objects stay; the collector would walk them repeatedly, for a fifth of the time.
It waits from the import of this module until ``resume`` is called.
"""

import gc

_FROZEN_BY_PYTHON = 1000  # Python 3.12 freezes some hundred objects when it starts
_before = gc.get_threshold()
_waiting = (1 << 30, *_before[1:])

gc.set_threshold(*_waiting)


def resume() -> None:
    """Let the collector run as before, unless another caller has set it otherwise meanwhile.

    All objects join the oldest generation, as they would after two collections; these would
    walk them twice. Only collections of all generations look at them then.
    """
    if gc.get_threshold() != _waiting:
        return
    if gc.get_freeze_count() < _FROZEN_BY_PYTHON:  # else another caller has frozen objects
        gc.freeze()
        gc.unfreeze()
    gc.set_threshold(*_before)
