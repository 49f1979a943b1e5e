"""Contexts of lowering rules that build MLIR objects; see ``interpreters.mlir``."""

import typing as _typing

from ricci_ir import guard_public as _guard_public
from ricci_ir import lazy_names as _lazy_names

_guard_public(globals())

if _typing.TYPE_CHECKING:
    from ricci_compat.mlir import LoweringRuleContext as LoweringRuleContext

    JaxIrContext: _typing.Any
    upstream_dialects: _typing.Any
else:  # MLIR is loaded when something asks for it
    __getattr__, __dir__ = _lazy_names(
        globals(),
        {
            "JaxIrContext": "jaxlib.mlir.ir:Context",
            "LoweringRuleContext": "ricci_compat.mlir:LoweringRuleContext",
            "upstream_dialects": "ricci_compat.mlir:upstream_dialects",
        },
    )
