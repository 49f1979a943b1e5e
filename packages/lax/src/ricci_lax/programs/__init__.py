"""Programs as primitives: the staged call behind ``jit``, composites, and calls written out."""

from ._composite import *
from ._staged_call import *
