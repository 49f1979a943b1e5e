"""Callbacks: calls of Python functions from executables, to compute, print and debug."""

from ._breakpoint import *
from ._callback import *
from ._debug import *
