"""Tracing a function, as ``jit`` calls it, and keeping the program."""

from ._inline import *
