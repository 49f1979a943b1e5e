"""How primitives are applied to values, and values of other libraries become arrays."""

from ricci_ir import apply_primitive as apply_primitive
from ricci_ir import canonicalize_dtype_handlers as canonicalize_dtype_handlers
from ricci_ir import export_names as _export_names
from ricci_xla import Client as _Client

Backend = _Client

_export_names(globals())
