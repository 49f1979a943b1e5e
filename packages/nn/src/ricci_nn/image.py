"""Resampling of images, with the API of ``jax.image``."""

from ._resizing import ResizeMethod as ResizeMethod
from ._resizing import resize as resize
from ._resizing import scale_and_translate as scale_and_translate

__all__ = ["ResizeMethod", "resize", "scale_and_translate"]
