"""Clustering: the API of ``jax.scipy.cluster``."""

from . import vq as vq

__all__ = ["vq"]
