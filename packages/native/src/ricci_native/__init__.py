"""Compiled kernels for operations for which XLA's CPU backend has no good algorithm.

Nothing has to be called: where the package is installed, jitted functions for CPUs call its
kernels, as far as these are faster.
"""

from ._kernels import library_path as library_path
from ._kernels import register_kernels as register_kernels

__all__ = ["library_path", "register_kernels"]
