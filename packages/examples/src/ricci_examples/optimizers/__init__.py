"""Optimizers as three functions each: make a state, update it with gradients, read the parameters.

``update_fn(i, gradients, state)`` takes the number of the step, which a schedule of step sizes may
depend on. Parameters are any pytree of arrays. An optimizer is written for a single array;
``optimizer`` lifts it to pytrees.
"""

from ricci_ir import export_names as _export_names

from ._methods import *
from ._schedules import *
from ._state import *

_export_names(globals())
