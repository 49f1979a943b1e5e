"""Lowering rules of primitives that are defined outside of Ricci."""

from ricci_ir import export_names as _export_names
from ricci_lax import emit_python_callback as emit_python_callback
from ricci_stablehlo import lower_fun as lower_fun
from ricci_stablehlo import register_lowering as register_lowering

_export_names(globals())
