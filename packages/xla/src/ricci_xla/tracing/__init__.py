"""Tracing of functions for ``jit``, and the cache of their jaxprs."""

from ._program import *
