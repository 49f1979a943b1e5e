"""Lowering rules of primitives that are defined outside of Ricci."""

import typing as _typing

from ricci_compat.lowering import emit_python_callback as emit_python_callback
from ricci_compat.lowering import lower_fun as lower_fun
from ricci_compat.lowering import register_lowering as register_lowering
from ricci_ir import guard_public as _guard_public
from ricci_ir import lazy_names as _lazy_names
from ricci_ir import lowerable_effects as lowerable_effects
from ricci_xla import Mesh as Mesh

if _typing.TYPE_CHECKING:
    from ricci_compat.mlir import *
    from ricci_compat.mlir import Token as Token
    from ricci_compat.mlir import Value as Value
    from ricci_compat.mlir import ir as ir

MeshAxisName = _typing.Any
# The kinds of channels, to another device or to the host.
DEVICE_TO_DEVICE_TYPE = 1
SEND_TO_HOST_TYPE = 2
RECV_FROM_HOST_TYPE = 3

_BUILDING = (
    "AxisContext ConstantHandler LoweringParameters LoweringResult LoweringRule "
    "LoweringRuleContext ModuleContext SPMDAxisContext ShapePolyLoweringState ShardingContext "
    "Token TokenSet Value aval_to_ir_type aval_to_ir_types core_call_lowering dense_int_array "
    "dense_int_elements dtype_to_ir_type flatten_ir_types flatten_ir_values i32_attr i64_attr "
    "ir ir_attribute ir_constant ir_constants ir_type_handlers jaxpr_subcomp lower_jaxpr_to_fun "
    "lower_jaxpr_to_module make_ir_context merge_mlir_modules module_to_bytecode module_to_string "
    "register_constant_handler shape_tensor token_type unflatten_ir_values_like_types"
).split()

_guard_public(globals(), classes=False)

if not _typing.TYPE_CHECKING:  # it would tell checkers that every name is there
    # Most libraries register rules that need no MLIR objects.
    __getattr__, __dir__ = _lazy_names(globals(), {n: f"ricci_compat.mlir:{n}" for n in _BUILDING})
