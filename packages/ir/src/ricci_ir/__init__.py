"""The intermediate representation: types, primitives, traces and traced programs."""

from ._array_type import Array as Array
from ._array_type import define_array_methods as define_array_methods
from ._array_type import register_array_type as register_array_type
from ._aval import AbstractToken as AbstractToken
from ._aval import AbstractValue as AbstractValue
from ._aval import ShapedArray as ShapedArray
from ._aval import abstract_token as abstract_token
from ._aval import aval_rules as aval_rules
from ._aval import get_aval as get_aval
from ._aval import shaped_like as shaped_like
from ._aval import type_sharding as type_sharding
from ._backend import Backend as Backend
from ._backend import as_array as as_array
from ._backend import backend as backend
from ._backend import has_backend as has_backend
from ._backend import set_backend as set_backend
from ._backend import use_backend as use_backend
from ._check import check_jaxpr as check_jaxpr
from ._composite import Composite as Composite
from ._composite import Inlined as Inlined
from ._composite import composite as composite
from ._composite import inlined as inlined
from ._config import Config as Config
from ._config import allow_f16_reductions as allow_f16_reductions
from ._config import array_garbage_collection_guard as array_garbage_collection_guard
from ._config import auto_pcast as auto_pcast
from ._config import check_tracer_leaks as check_tracer_leaks
from ._config import checking_leaks as checking_leaks
from ._config import config as config
from ._config import debug_infs as debug_infs
from ._config import debug_key_reuse as debug_key_reuse
from ._config import debug_nans as debug_nans
from ._config import default_device as default_device
from ._config import default_matmul_precision as default_matmul_precision
from ._config import default_prng_impl as default_prng_impl
from ._config import define_option as define_option
from ._config import disable_jit as disable_jit
from ._config import disable_jit_state as disable_jit_state
from ._config import enable_checks as enable_checks
from ._config import enable_custom_prng as enable_custom_prng
from ._config import enable_x64 as enable_x64
from ._config import explain_cache_misses as explain_cache_misses
from ._config import explicit_x64_dtypes as explicit_x64_dtypes
from ._config import from_environment as from_environment
from ._config import jax2tf_associative_scan_reductions as jax2tf_associative_scan_reductions
from ._config import legacy_prng_key as legacy_prng_key
from ._config import log_compiles as log_compiles
from ._config import no_execution as no_execution
from ._config import no_tracing as no_tracing
from ._config import numpy_dtype_promotion as numpy_dtype_promotion
from ._config import numpy_rank_promotion as numpy_rank_promotion
from ._config import remove_size_one_mesh_axis_from_type as remove_size_one_mesh_axis_from_type
from ._config import softmax_custom_jvp as softmax_custom_jvp
from ._config import thread_guard as thread_guard
from ._config import threefry_partitionable as threefry_partitionable
from ._config import traceback_filtering as traceback_filtering
from ._config import transfer_guard as transfer_guard
from ._config import transfer_guard_device_to_device as transfer_guard_device_to_device
from ._config import transfer_guard_device_to_host as transfer_guard_device_to_host
from ._config import transfer_guard_host_to_device as transfer_guard_host_to_device
from ._dtypes import BOOL as BOOL
from ._dtypes import COMPLEXES as COMPLEXES
from ._dtypes import FLOAT4 as FLOAT4
from ._dtypes import FLOAT6 as FLOAT6
from ._dtypes import FLOAT8 as FLOAT8
from ._dtypes import FLOATS as FLOATS
from ._dtypes import INTS as INTS
from ._dtypes import SMALL_INTS as SMALL_INTS
from ._dtypes import UINTS as UINTS
from ._dtypes import ExtendedDType as ExtendedDType
from ._dtypes import array_dtypes as array_dtypes
from ._dtypes import bfloat16 as bfloat16
from ._dtypes import canonicalize_dtype as canonicalize_dtype
from ._dtypes import coerce_to_array_dtype as coerce_to_array_dtype
from ._dtypes import dtype as dtype
from ._dtypes import explicit_dtype as explicit_dtype
from ._dtypes import extended as extended
from ._dtypes import finfo as finfo
from ._dtypes import float0 as float0
from ._dtypes import float4_e2m1fn as float4_e2m1fn
from ._dtypes import float6_e2m3fn as float6_e2m3fn
from ._dtypes import float6_e3m2fn as float6_e3m2fn
from ._dtypes import float8_e3m4 as float8_e3m4
from ._dtypes import float8_e4m3 as float8_e4m3
from ._dtypes import float8_e4m3b11fnuz as float8_e4m3b11fnuz
from ._dtypes import float8_e4m3fn as float8_e4m3fn
from ._dtypes import float8_e4m3fnuz as float8_e4m3fnuz
from ._dtypes import float8_e5m2 as float8_e5m2
from ._dtypes import float8_e5m2fnuz as float8_e5m2fnuz
from ._dtypes import float8_e8m0fnu as float8_e8m0fnu
from ._dtypes import iinfo as iinfo
from ._dtypes import instead_of as instead_of
from ._dtypes import int1 as int1
from ._dtypes import int2 as int2
from ._dtypes import int4 as int4
from ._dtypes import is_array_dtype as is_array_dtype
from ._dtypes import is_extended as is_extended
from ._dtypes import is_wide as is_wide
from ._dtypes import issubdtype as issubdtype
from ._dtypes import itemsize_bits as itemsize_bits
from ._dtypes import prng_key as prng_key
from ._dtypes import python_scalar_dtype as python_scalar_dtype
from ._dtypes import python_scalar_dtypes as python_scalar_dtypes
from ._dtypes import scalar_type_of as scalar_type_of
from ._dtypes import short_name as short_name
from ._dtypes import to_tangent_dtype as to_tangent_dtype
from ._dtypes import uint1 as uint1
from ._dtypes import uint2 as uint2
from ._dtypes import uint4 as uint4
from ._errors import CallbackError as CallbackError
from ._errors import ConcretizationTypeError as ConcretizationTypeError
from ._errors import InconclusiveDimensionOperation as InconclusiveDimensionOperation
from ._errors import JAXIndexError as JAXIndexError
from ._errors import JaxprTypeError as JaxprTypeError
from ._errors import JAXTypeError as JAXTypeError
from ._errors import KeyReuseError as KeyReuseError
from ._errors import NonConcreteBooleanIndexError as NonConcreteBooleanIndexError
from ._errors import TracerArrayConversionError as TracerArrayConversionError
from ._errors import TracerBoolConversionError as TracerBoolConversionError
from ._errors import TracerIntegerConversionError as TracerIntegerConversionError
from ._errors import UnexpectedTracerError as UnexpectedTracerError
from ._errors import api_boundary as api_boundary
from ._errors import boundary as boundary
from ._errors import guard_public as guard_public
from ._errors import hide_frames as hide_frames
from ._errors import is_boundary as is_boundary
from ._errors import leave as leave
from ._errors import unguarded as unguarded
from ._errors import warn_user as warn_user
from ._evaluate import eval_jaxpr as eval_jaxpr
from ._evaluate import eval_jaxpr_p as eval_jaxpr_p
from ._evaluate import jaxpr_as_fun as jaxpr_as_fun
from ._evaluate import run_equations as run_equations
from ._extension import OpaqueTraceState as OpaqueTraceState
from ._extension import ParamDict as ParamDict
from ._extension import TraceTag as TraceTag
from ._extension import Value as Value
from ._extension import apply_primitive as apply_primitive
from ._extension import array_types as array_types
from ._extension import axis_names as axis_names
from ._extension import canonicalize_dtype_handlers as canonicalize_dtype_handlers
from ._extension import concrete_or_error as concrete_or_error
from ._extension import dce_jaxpr as dce_jaxpr
from ._extension import eval_context as eval_context
from ._extension import find_top_trace as find_top_trace
from ._extension import gensym as gensym
from ._extension import get_opaque_trace_state as get_opaque_trace_state
from ._extension import mapped_aval as mapped_aval
from ._extension import max_dim as max_dim
from ._extension import min_dim as min_dim
from ._extension import new_jaxpr_eqn as new_jaxpr_eqn
from ._extension import nonempty_axis_env as nonempty_axis_env
from ._extension import physical_aval as physical_aval
from ._extension import set_current_trace as set_current_trace
from ._extension import take_current_trace as take_current_trace
from ._extension import trace_state_clean as trace_state_clean
from ._extension import trace_to_jaxpr_dynamic as trace_to_jaxpr_dynamic
from ._extension import unmapped_aval as unmapped_aval
from ._extension import valid_jaxtype as valid_jaxtype
from ._jaxpr import Atom as Atom
from ._jaxpr import DebugInfo as DebugInfo
from ._jaxpr import DropVar as DropVar
from ._jaxpr import Effect as Effect
from ._jaxpr import Effects as Effects
from ._jaxpr import Jaxpr as Jaxpr
from ._jaxpr import JaxprEqn as JaxprEqn
from ._jaxpr import Literal as Literal
from ._jaxpr import Var as Var
from ._jaxpr import convert_constvars as convert_constvars
from ._jaxpr import jaxprs_in_params as jaxprs_in_params
from ._jaxpr import join_effects as join_effects
from ._jaxpr import no_effects as no_effects
from ._jaxpr import subjaxprs as subjaxprs
from ._jaxpr import unknown_debug_info as unknown_debug_info
from ._key_checks import key_checks as key_checks
from ._key_checks import register_key_checks as register_key_checks
from ._lazy import lazy_names as lazy_names
from ._leaks import check_leaks as check_leaks
from ._make_jaxpr import check_results as check_results
from ._make_jaxpr import eval_shape as eval_shape
from ._make_jaxpr import make_jaxpr as make_jaxpr
from ._monitoring import clear_event_listeners as clear_event_listeners
from ._monitoring import record_event as record_event
from ._monitoring import record_event_duration_secs as record_event_duration_secs
from ._monitoring import record_event_time_span as record_event_time_span
from ._monitoring import record_scalar as record_scalar
from ._monitoring import (
    register_event_duration_secs_listener as register_event_duration_secs_listener,
)
from ._monitoring import register_event_listener as register_event_listener
from ._monitoring import register_event_time_span_listener as register_event_time_span_listener
from ._monitoring import register_scalar_listener as register_scalar_listener
from ._monitoring import unregister_event_duration_listener as unregister_event_duration_listener
from ._monitoring import unregister_event_listener as unregister_event_listener
from ._monitoring import unregister_event_time_span_listener as unregister_event_time_span_listener
from ._monitoring import unregister_scalar_listener as unregister_scalar_listener
from ._name_stack import Transformation as Transformation
from ._name_stack import is_differentiated as is_differentiated
from ._name_stack import is_transposed as is_transposed
from ._name_stack import named_call as named_call
from ._name_stack import named_scope as named_scope
from ._name_stack import scope_path as scope_path
from ._name_stack import transposed_stack as transposed_stack
from ._name_stack import under_jvp as under_jvp
from ._name_stack import under_vmap as under_vmap
from ._observe import CarryPromoted as CarryPromoted
from ._observe import CondSelected as CondSelected
from ._observe import DonatingCall as DonatingCall
from ._observe import NotReversible as NotReversible
from ._observe import ProgramCompiled as ProgramCompiled
from ._observe import TraceAbandoned as TraceAbandoned
from ._observe import current_source as current_source
from ._observe import is_observed as is_observed
from ._observe import kept_programs as kept_programs
from ._observe import notify as notify
from ._observe import observing as observing
from ._operation import Operation as Operation
from ._primitive import Primitive as Primitive
from ._primitive import RuleTable as RuleTable
from ._primitive import define as define
from ._primitive import derived as derived
from ._primitive import eager_rules as eager_rules
from ._primitive import exact_rules as exact_rules
from ._primitive import primitives as primitives
from ._primitive import rule_table as rule_table
from ._primitive import unsupported as unsupported
from ._print import hides as hides
from ._print import shown_rules as shown_rules
from ._promotion import TypePromotionError as TypePromotionError
from ._promotion import dtype_and_weak_type as dtype_and_weak_type
from ._promotion import is_weakly_typed as is_weakly_typed
from ._promotion import lattice_result_type as lattice_result_type
from ._promotion import promote_types as promote_types
from ._promotion import result_type as result_type
from ._references import AbstractRef as AbstractRef
from ._references import Ref as Ref
from ._references import new_ref as new_ref
from ._scalars import check_index as check_index
from ._scalars import check_item as check_item
from ._scalars import check_number as check_number
from ._scalars import check_truth as check_truth
from ._settings import UNSET as UNSET
from ._settings import Override as Override
from ._settings import State as State
from ._settings import TraceKey as TraceKey
from ._settings import define_context as define_context
from ._settings import follow_trace_key as follow_trace_key
from ._settings import global_trace_key as global_trace_key
from ._settings import make_user_context as make_user_context
from ._settings import trace_key as trace_key
from ._shape_dtype import ShapeDtypeStruct as ShapeDtypeStruct
from ._shape_dtype import argument_aval as argument_aval
from ._shape_dtype import typeof as typeof
from ._source import Source as Source
from ._source import caller_source as caller_source
from ._source import excluded_paths as excluded_paths
from ._source import is_internal_module as is_internal_module
from ._source import no_origin as no_origin
from ._source import register_exclusion as register_exclusion
from ._source import register_internal_module as register_internal_module
from ._source import unknown_source as unknown_source
from ._staged_call import clear_single_equations as clear_single_equations
from ._staged_call import equation_program as equation_program
from ._staged_call import host_rules as host_rules
from ._staged_call import program_rules as program_rules
from ._staged_call import single_equation as single_equation
from ._staged_call import staged_call as staged_call
from ._staging import JaxprTrace as JaxprTrace
from ._staging import StagedTracer as StagedTracer
from ._staging import closes_over_tracers as closes_over_tracers
from ._staging import drop_unused as drop_unused
from ._staging import ensure_compile_time_eval as ensure_compile_time_eval
from ._staging import is_recording as is_recording
from ._staging import staging_switch as staging_switch
from ._staging import trace_to_jaxpr as trace_to_jaxpr
from ._steps import Steps as Steps
from ._steps import non_finite_reports as non_finite_reports
from ._steps import step_rules as step_rules
from ._token import Token as Token
from ._trace import EvalTrace as EvalTrace
from ._trace import Trace as Trace
from ._trace import Tracer as Tracer
from ._trace import axis_size as axis_size
from ._trace import context as context
from ._trace import eval_trace as eval_trace
from ._trace import extend_axes as extend_axes
from ._trace import is_concrete as is_concrete
from ._trace import is_scalar_type as is_scalar_type
from ._trace import is_under as is_under
from ._trace import leaked_tracer as leaked_tracer
from ._trace import set_trace as set_trace
from ._tracer_values import values_of as values_of
from ._typing import ArrayLike as ArrayLike
from ._typing import Axis as Axis
from ._typing import DTypeLike as DTypeLike
from ._typing import Index as Index
from ._typing import PyTree as PyTree
from ._typing import Shape as Shape
from ._typing import ShapeLike as ShapeLike
from ._typing import SupportsDType as SupportsDType
from ._wrapped_function import Store as Store
from ._wrapped_function import StoreException as StoreException
from ._wrapped_function import WrappedFun as WrappedFun
from ._wrapped_function import argnums_partial as argnums_partial
from ._wrapped_function import debug_info as debug_info
from ._wrapped_function import flatten_fun as flatten_fun
from ._wrapped_function import flatten_fun_nokwargs as flatten_fun_nokwargs
from ._wrapped_function import merge_linear_aux as merge_linear_aux
from ._wrapped_function import safe_map as safe_map
from ._wrapped_function import transformation as transformation
from ._wrapped_function import transformation2 as transformation2
from ._wrapped_function import transformation_with_aux as transformation_with_aux
from ._wrapped_function import transformation_with_aux2 as transformation_with_aux2
from ._wrapped_function import wrap_init as wrap_init

__all__ = [
    "BOOL",
    "COMPLEXES",
    "FLOAT4",
    "FLOAT6",
    "FLOAT8",
    "FLOATS",
    "INTS",
    "SMALL_INTS",
    "UINTS",
    "UNSET",
    "AbstractRef",
    "AbstractToken",
    "AbstractValue",
    "Array",
    "ArrayLike",
    "Atom",
    "Axis",
    "Backend",
    "CallbackError",
    "CarryPromoted",
    "Composite",
    "ConcretizationTypeError",
    "CondSelected",
    "Config",
    "DTypeLike",
    "DebugInfo",
    "DonatingCall",
    "DropVar",
    "Effect",
    "Effects",
    "EvalTrace",
    "ExtendedDType",
    "InconclusiveDimensionOperation",
    "Index",
    "Inlined",
    "JAXIndexError",
    "JAXTypeError",
    "Jaxpr",
    "JaxprEqn",
    "JaxprTrace",
    "JaxprTypeError",
    "KeyReuseError",
    "Literal",
    "NonConcreteBooleanIndexError",
    "NotReversible",
    "OpaqueTraceState",
    "Operation",
    "Override",
    "ParamDict",
    "Primitive",
    "ProgramCompiled",
    "PyTree",
    "Ref",
    "RuleTable",
    "Shape",
    "ShapeDtypeStruct",
    "ShapeLike",
    "ShapedArray",
    "Source",
    "StagedTracer",
    "State",
    "Steps",
    "Store",
    "StoreException",
    "SupportsDType",
    "Token",
    "Trace",
    "TraceAbandoned",
    "TraceKey",
    "TraceTag",
    "Tracer",
    "TracerArrayConversionError",
    "TracerBoolConversionError",
    "TracerIntegerConversionError",
    "Transformation",
    "TypePromotionError",
    "UnexpectedTracerError",
    "Value",
    "Var",
    "WrappedFun",
    "abstract_token",
    "allow_f16_reductions",
    "api_boundary",
    "apply_primitive",
    "argnums_partial",
    "argument_aval",
    "array_dtypes",
    "array_garbage_collection_guard",
    "array_types",
    "as_array",
    "auto_pcast",
    "aval_rules",
    "axis_names",
    "axis_size",
    "backend",
    "bfloat16",
    "boundary",
    "caller_source",
    "canonicalize_dtype",
    "canonicalize_dtype_handlers",
    "check_index",
    "check_item",
    "check_jaxpr",
    "check_leaks",
    "check_number",
    "check_results",
    "check_tracer_leaks",
    "check_truth",
    "checking_leaks",
    "clear_event_listeners",
    "clear_single_equations",
    "closes_over_tracers",
    "coerce_to_array_dtype",
    "composite",
    "concrete_or_error",
    "config",
    "context",
    "convert_constvars",
    "current_source",
    "dce_jaxpr",
    "debug_info",
    "debug_infs",
    "debug_key_reuse",
    "debug_nans",
    "default_device",
    "default_matmul_precision",
    "default_prng_impl",
    "define",
    "define_array_methods",
    "define_context",
    "define_option",
    "derived",
    "disable_jit",
    "disable_jit_state",
    "drop_unused",
    "dtype",
    "dtype_and_weak_type",
    "eager_rules",
    "enable_checks",
    "enable_custom_prng",
    "enable_x64",
    "ensure_compile_time_eval",
    "equation_program",
    "eval_context",
    "eval_jaxpr",
    "eval_jaxpr_p",
    "eval_shape",
    "eval_trace",
    "exact_rules",
    "excluded_paths",
    "explain_cache_misses",
    "explicit_dtype",
    "explicit_x64_dtypes",
    "extend_axes",
    "extended",
    "find_top_trace",
    "finfo",
    "flatten_fun",
    "flatten_fun_nokwargs",
    "float0",
    "float4_e2m1fn",
    "float6_e2m3fn",
    "float6_e3m2fn",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "follow_trace_key",
    "from_environment",
    "gensym",
    "get_aval",
    "get_opaque_trace_state",
    "global_trace_key",
    "guard_public",
    "has_backend",
    "hide_frames",
    "hides",
    "host_rules",
    "iinfo",
    "inlined",
    "instead_of",
    "int1",
    "int2",
    "int4",
    "is_array_dtype",
    "is_boundary",
    "is_concrete",
    "is_differentiated",
    "is_extended",
    "is_internal_module",
    "is_observed",
    "is_recording",
    "is_scalar_type",
    "is_transposed",
    "is_under",
    "is_weakly_typed",
    "is_wide",
    "issubdtype",
    "itemsize_bits",
    "jax2tf_associative_scan_reductions",
    "jaxpr_as_fun",
    "jaxprs_in_params",
    "join_effects",
    "kept_programs",
    "key_checks",
    "lattice_result_type",
    "lazy_names",
    "leaked_tracer",
    "leave",
    "legacy_prng_key",
    "log_compiles",
    "make_jaxpr",
    "make_user_context",
    "mapped_aval",
    "max_dim",
    "merge_linear_aux",
    "min_dim",
    "named_call",
    "named_scope",
    "new_jaxpr_eqn",
    "new_ref",
    "no_effects",
    "no_execution",
    "no_origin",
    "no_tracing",
    "non_finite_reports",
    "nonempty_axis_env",
    "notify",
    "numpy_dtype_promotion",
    "numpy_rank_promotion",
    "observing",
    "physical_aval",
    "primitives",
    "prng_key",
    "program_rules",
    "promote_types",
    "python_scalar_dtype",
    "python_scalar_dtypes",
    "record_event",
    "record_event_duration_secs",
    "record_event_time_span",
    "record_scalar",
    "register_array_type",
    "register_event_duration_secs_listener",
    "register_event_listener",
    "register_event_time_span_listener",
    "register_exclusion",
    "register_internal_module",
    "register_key_checks",
    "register_scalar_listener",
    "remove_size_one_mesh_axis_from_type",
    "result_type",
    "rule_table",
    "run_equations",
    "safe_map",
    "scalar_type_of",
    "scope_path",
    "set_backend",
    "set_current_trace",
    "set_trace",
    "shaped_like",
    "short_name",
    "shown_rules",
    "single_equation",
    "softmax_custom_jvp",
    "staged_call",
    "staging_switch",
    "step_rules",
    "subjaxprs",
    "take_current_trace",
    "thread_guard",
    "threefry_partitionable",
    "to_tangent_dtype",
    "trace_key",
    "trace_state_clean",
    "trace_to_jaxpr",
    "trace_to_jaxpr_dynamic",
    "traceback_filtering",
    "transfer_guard",
    "transfer_guard_device_to_device",
    "transfer_guard_device_to_host",
    "transfer_guard_host_to_device",
    "transformation",
    "transformation2",
    "transformation_with_aux",
    "transformation_with_aux2",
    "transposed_stack",
    "type_sharding",
    "typeof",
    "uint1",
    "uint2",
    "uint4",
    "under_jvp",
    "under_vmap",
    "unguarded",
    "unknown_debug_info",
    "unknown_source",
    "unmapped_aval",
    "unregister_event_duration_listener",
    "unregister_event_listener",
    "unregister_event_time_span_listener",
    "unregister_scalar_listener",
    "unsupported",
    "use_backend",
    "valid_jaxtype",
    "values_of",
    "warn_user",
    "wrap_init",
]
