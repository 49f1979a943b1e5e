"""Geometry: the API of ``jax.scipy.spatial``."""

from . import transform as transform

__all__ = ["transform"]
