"""Traces, types and jaxprs, for interpreters written outside of Ricci."""

import typing as _typing

from ricci_compat.batching import under_vmap as _under_vmap
from ricci_compat.call_primitives import create_call_primitive as create_call_primitive
from ricci_compat.call_primitives import eval_jaxpr_transpose as eval_jaxpr_transpose
from ricci_compat.call_primitives import (
    register_call_primitive_rules as register_call_primitive_rules,
)
from ricci_compat.core import TraceTag as TraceTag
from ricci_compat.core import array_types as array_types
from ricci_compat.core import axis_names as _axis_names
from ricci_compat.core import concrete_or_error as concrete_or_error
from ricci_compat.core import find_top_trace as find_top_trace
from ricci_compat.core import gensym as gensym
from ricci_compat.core import get_opaque_trace_state as get_opaque_trace_state
from ricci_compat.core import mapped_aval as mapped_aval
from ricci_compat.core import new_jaxpr_eqn as new_jaxpr_eqn
from ricci_compat.core import nonempty_axis_env as _nonempty_axis_env
from ricci_compat.core import set_current_trace as set_current_trace
from ricci_compat.core import take_current_trace as take_current_trace
from ricci_compat.core import unmapped_aval as unmapped_aval
from ricci_compat.core import valid_jaxtype as valid_jaxtype
from ricci_ir import AbstractToken as AbstractToken
from ricci_ir import DebugInfo as DebugInfo
from ricci_ir import DropVar as DropVar
from ricci_ir import Effect as Effect
from ricci_ir import Effects as Effects
from ricci_ir import InconclusiveDimensionOperation as InconclusiveDimensionOperation
from ricci_ir import Jaxpr as Jaxpr
from ricci_ir import JaxprEqn as JaxprEqn
from ricci_ir import JaxprTypeError as JaxprTypeError
from ricci_ir import Literal as Literal
from ricci_ir import Primitive as Primitive
from ricci_ir import Token as Token
from ricci_ir import Var as Var
from ricci_ir import check_jaxpr as check_jaxpr
from ricci_ir import guard_public as _guard_public
from ricci_ir import is_recording as _is_recording
from ricci_ir import jaxpr_function as jaxpr_as_fun
from ricci_ir import jaxprs_in_params as jaxprs_in_params
from ricci_ir import lazy_names as _lazy_names
from ricci_ir import no_effects as no_effects
from ricci_ir import subjaxprs as subjaxprs
from ricci_ir import to_tangent_dtype as _to_tangent_dtype

unsafe_am_i_under_a_vmap_DO_NOT_USE = _under_vmap
ClosedJaxpr = Jaxpr
unsafe_get_axis_names_DO_NOT_USE = _axis_names
unsafe_am_i_under_a_jit_DO_NOT_USE = _is_recording
nonempty_axis_env_DO_NOT_USE = _nonempty_axis_env
primal_dtype_to_tangent_dtype = _to_tangent_dtype

if _typing.TYPE_CHECKING:
    from . import primitives as primitives

_guard_public(globals(), classes=False)

if not _typing.TYPE_CHECKING:  # it would tell checkers that every name is there
    __getattr__, __dir__ = _lazy_names(globals(), {"primitives": ".primitives"})
