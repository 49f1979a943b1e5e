"""Interpolation: the API of ``jax.scipy.interpolate``."""

from ._interpolating import RegularGridInterpolator as RegularGridInterpolator

__all__ = ["RegularGridInterpolator"]
