"""Random index expressions, what NumPy makes of them, and what both sides make of many at once."""

from .both import Answer as Answer
from .both import eagerly as eagerly
from .both import request as request
from .both import together as together
from .case import Case as Case
from .expected import numpy_result as numpy_result
from .strategies import broken_cases as broken_cases
from .strategies import cases as cases

__all__ = [
    "Answer",
    "Case",
    "broken_cases",
    "cases",
    "eagerly",
    "numpy_result",
    "request",
    "together",
]
