"""Functions with user-defined batching rules. See ``ricci_lax``."""

from ricci_ir import guard_public as _guard_public
from ricci_lax import custom_vmap as custom_vmap
from ricci_lax import sequential_vmap as sequential_vmap

_guard_public(globals())
