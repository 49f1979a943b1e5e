"""Arrays exchanged with other libraries by the DLPack protocol: the API of ``jax.dlpack``."""

from .arrays._interchange import from_external_array as from_dlpack
from .arrays._interchange import is_supported_dtype as is_supported_dtype

__all__ = ["from_dlpack", "is_supported_dtype"]
