"""Recording programs, and splitting them."""

from ricci_autodiff import PartialVal as PartialVal
from ricci_autodiff import trace_to_jaxpr_nounits as trace_to_jaxpr_nounits
from ricci_ir import StagedTracer as _StagedTracer
from ricci_ir import convert_constvars as _convert_constvars
from ricci_ir import dce_jaxpr as dce_jaxpr
from ricci_ir import export_names as _export_names
from ricci_ir import trace_to_jaxpr_dynamic as trace_to_jaxpr_dynamic

DynamicJaxprTracer = _StagedTracer
convert_constvars_jaxpr = _convert_constvars

_export_names(globals())
