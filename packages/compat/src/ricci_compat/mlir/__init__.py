"""MLIR objects for lowering rules: the building functions of ``jax.interpreters.mlir``.

A rule of a library builds operations with jaxlib's bindings of MLIR. This room has the types,
constants, functions and contexts for it. MLIR itself is loaded at the first use.
"""

import typing as _typing

from ricci_ir import export_names as _export_names
from ricci_ir import lazy_names as _lazy_names

from ._constants import *
from ._contexts import *
from ._jaxprs import *
from ._modules import *
from ._run import *
from ._types import *

_export_names(globals())

if _typing.TYPE_CHECKING:
    ir: _typing.Any
    Value: _typing.Any
    Token: _typing.Any
    upstream_dialects: _typing.Any
else:
    __getattr__, __dir__ = _lazy_names(
        globals(),
        {
            "ir": "jaxlib.mlir.ir",
            "Value": "jaxlib.mlir.ir:Value",
            "Token": "jaxlib.mlir.ir:Value",
            "upstream_dialects": "._dialects:upstream_dialects",
        },
    )
