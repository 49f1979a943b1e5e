"""Tracing to jaxprs, and partial evaluation of jaxprs."""

import typing as _typing

from ricci_compat.partial_eval import PartialVal as PartialVal
from ricci_compat.partial_eval import abstract_eval_fun as abstract_eval_fun
from ricci_compat.partial_eval import close_jaxpr as close_jaxpr
from ricci_compat.partial_eval import custom_partial_eval_rules as custom_partial_eval_rules
from ricci_compat.partial_eval import dce_called_jaxpr as _dce_called_jaxpr
from ricci_compat.partial_eval import dce_jaxpr as dce_jaxpr
from ricci_compat.partial_eval import dce_jaxpr_consts as dce_jaxpr_consts
from ricci_compat.partial_eval import dce_rules as dce_rules
from ricci_compat.partial_eval import lower_jaxpr_types as _lower_jaxpr_types
from ricci_compat.partial_eval import move_binders_to_back as move_binders_to_back
from ricci_compat.partial_eval import (
    partial_eval_jaxpr_custom_rules as partial_eval_jaxpr_custom_rules,
)
from ricci_compat.partial_eval import partial_eval_jaxpr_nounits as partial_eval_jaxpr_nounits
from ricci_compat.partial_eval import prune_outputs as _prune_outputs
from ricci_compat.partial_eval import trace_to_jaxpr_dynamic as trace_to_jaxpr_dynamic
from ricci_compat.partial_eval import trace_to_jaxpr_nounits as trace_to_jaxpr_nounits
from ricci_ir import StagedTracer as _StagedTracer
from ricci_ir import convert_constvars as _convert_constvars
from ricci_ir import guard_public as _guard_public

DynamicJaxprTracer = _StagedTracer
JaxprTracer = _StagedTracer
Val = _typing.Any
convert_constvars_jaxpr = _convert_constvars
dce_jaxpr_call_rule = _dce_called_jaxpr
dce_jaxpr_closed_call_rule = _dce_called_jaxpr
lower_jaxpr2 = _lower_jaxpr_types
prune_closed_jaxpr_outputs = _prune_outputs

_guard_public(globals(), classes=False)
