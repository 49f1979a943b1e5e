"""Primitives that call a jaxpr: the staged call behind ``jit``, composites; and inlining."""

from ._composite import *
from ._staged_call import *
