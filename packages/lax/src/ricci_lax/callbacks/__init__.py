"""Calls of Python functions from programs, to compute, to print and to debug."""

from ._breakpoint import *
from ._callback import *
from ._debug import *
from ._mlir_callback import *
