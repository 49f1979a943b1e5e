"""Application of primitives to values, and conversion of other libraries' values to arrays."""

from ricci._absent import or_advise as _or_advise
from ricci_compat.xla import apply_primitive as apply_primitive
from ricci_compat.xla import canonicalize_dtype_handlers as canonicalize_dtype_handlers
from ricci_ir import guard_public as _guard_public
from ricci_xla import Client as _Client

Backend = _Client

_guard_public(globals(), classes=False)
globals()["__getattr__"] = _or_advise(__name__)  # not seen by checkers, which know the names
