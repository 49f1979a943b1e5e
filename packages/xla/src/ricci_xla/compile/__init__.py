"""Compiling: placement, passes over jaxprs, lowering, executables and their calls."""

from ._compile import *
from ._compiler import *
from ._dispatch import *
from ._effects import *
from ._executable import *
from ._place import *
