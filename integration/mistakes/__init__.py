"""Mistakes that users make, as small programs, and the words in the errors.

``tools/measure_errors.py`` measures the errors beside JAX's; ``test_mistakes.py`` checks them.
"""

from . import (
    derivatives,
    devices,
    keys_and_callbacks,
    loops,
    shapes,
    traced_values,
    transformations,
)
from ._mistake import Mistake

TOPICS: dict[str, list[Mistake]] = {
    "traced values": traced_values.MISTAKES,
    "shapes, dtypes and names": shapes.MISTAKES,
    "jit and vmap": transformations.MISTAKES,
    "derivatives": derivatives.MISTAKES,
    "loops, branches and trees": loops.MISTAKES,
    "keys, callbacks and checks": keys_and_callbacks.MISTAKES,
    "devices and memory": devices.MISTAKES,
}
