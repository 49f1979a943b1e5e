"""Images: the API of ``jax.scipy.ndimage``."""

from ._interpolating import map_coordinates as map_coordinates

__all__ = ["map_coordinates"]
