"""How primitives are applied to values, and values of other libraries become arrays."""

from ricci_ir import apply_primitive as apply_primitive
from ricci_ir import canonicalize_dtype_handlers as canonicalize_dtype_handlers
from ricci_xla import Client as Backend

__all__ = ["Backend", "apply_primitive", "canonicalize_dtype_handlers"]
