"""Functions of arrays with symbolic dimensions: the cases, and their evaluation."""

from .both import jax_errors as jax_errors
from .both import recorded_errors as recorded_errors
from .cases import Case as Case
from .cases import cases as cases
from .running import difference as difference
from .running import function_of as function_of
from .running import lowering_error as lowering_error

__all__ = [
    "Case",
    "cases",
    "difference",
    "function_of",
    "jax_errors",
    "lowering_error",
    "recorded_errors",
]
