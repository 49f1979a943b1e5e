"""The namespaces of ``ricci_scipy.spatial``."""

from . import transform as transform

__all__ = ["transform"]
