"""What may still change. See ``ricci_lax``."""

from ricci_ir import guard_public
from ricci_lax import io_callback as io_callback

__all__ = ["io_callback"]

guard_public(globals(), __all__)
