"""jaxlib's bindings of MLIR: its objects, its passes, and StableHLO's portable form."""

import typing as _typing

from ricci._borrowed import SOURCES as _SOURCES
from ricci_ir import export_names as _export_names
from ricci_ir import lazy_names as _lazy_names

from . import dialects as dialects

_FUNCTIONS = (
    "deserialize_portable_artifact",
    "hlo_to_stablehlo",
    "refine_polymorphic_shapes",
    "serialize_portable_artifact",
)

_export_names(globals(), "dialects")

if _typing.TYPE_CHECKING:
    ir: _typing.Any
    passmanager: _typing.Any
else:  # MLIR is loaded when something asks for it
    __getattr__, __dir__ = _lazy_names(
        globals(),
        {
            "ir": _SOURCES["extend.mlir.ir"],
            "passmanager": _SOURCES["extend.mlir.passmanager"],
            **{name: f"jaxlib._jax.mlir:{name}" for name in _FUNCTIONS},
        },
    )
