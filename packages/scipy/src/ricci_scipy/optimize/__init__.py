"""Optimization: the API of ``jax.scipy.optimize``."""

from ._minimizing import OptimizeResults as OptimizeResults
from ._minimizing import minimize as minimize

__all__ = ["OptimizeResults", "minimize"]
