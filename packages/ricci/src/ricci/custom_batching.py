"""Functions with batching rules of their own. See ``ricci_lax``."""

from ricci_ir import guard_public
from ricci_lax import custom_vmap as custom_vmap
from ricci_lax import sequential_vmap as sequential_vmap

__all__ = ["custom_vmap", "sequential_vmap"]

guard_public(globals(), __all__)
