"""The dialects of MLIR that jaxlib has bindings of, each a module that builds its operations."""

import typing as _typing

from ricci_ir import export_names as _export_names
from ricci_ir import lazy_names as _lazy_names

_DIALECTS = (
    "arith",
    "builtin",
    "chlo",
    "func",
    "math",
    "memref",
    "mpmd",
    "scf",
    "sdy",
    "sparse_tensor",
    "stablehlo",
    "vector",
)

_export_names(globals())

if not _typing.TYPE_CHECKING:
    __getattr__, __dir__ = _lazy_names(
        globals(), {name: f"jaxlib.mlir.dialects.{name}" for name in _DIALECTS}
    )
else:

    def __getattr__(name: str) -> _typing.Any: ...
