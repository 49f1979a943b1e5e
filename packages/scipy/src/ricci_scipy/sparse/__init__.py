"""Sparse systems: the API of ``jax.scipy.sparse``."""

from . import linalg as linalg

__all__ = ["linalg"]
