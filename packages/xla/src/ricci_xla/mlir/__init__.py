"""MLIR objects for lowering rules that are written outside of Ricci.

A rule of a library builds operations with jaxlib's bindings of MLIR. What is here gives it types,
constants, functions and contexts for that. MLIR itself is loaded when something asks for it.
"""

import typing as _typing

from ricci_ir import export_names as _export_names
from ricci_ir import lazy_names as _lazy_names

from ._constants import *
from ._contexts import *
from ._modules import *
from ._programs import *
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
