"""The entry points: ``jit`` with its stages, and the backend that runs single operations."""

from ._argument_shardings import *
from ._eager import *
from ._jit import *
from ._jit_function import *
from ._wrapped import *
