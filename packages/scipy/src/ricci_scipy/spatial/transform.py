"""Rotations in space: the API of ``jax.scipy.spatial.transform``."""

from ricci_scipy.spatial._rotations import Rotation as Rotation
from ricci_scipy.spatial._rotations import Slerp as Slerp

__all__ = ["Rotation", "Slerp"]
