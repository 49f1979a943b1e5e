"""Functions that may still change. See ``ricci_lax``."""

from ricci_ir import guard_public as _guard_public
from ricci_lax import io_callback as io_callback

_guard_public(globals())
