"""Integration: the API of ``jax.scipy.integrate``."""

from ricci_numpy import trapezoid as trapezoid

__all__ = ["trapezoid"]
