"""What users call: ``jit`` and its stages, and single operations outside of programs."""

from ._eager import *
from ._jit import *
from ._stages import *
