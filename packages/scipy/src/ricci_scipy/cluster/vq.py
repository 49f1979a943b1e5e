"""Vector quantization: the API of ``jax.scipy.cluster.vq``."""

from ricci_scipy.cluster._quantizing import vq as vq

__all__ = ["vq"]
