"""Primitives that call a jaxpr: the staged call behind ``jit``, composites; and inlining."""

from ._call_primitives import *
from ._composite import *
from ._staged_call import *
