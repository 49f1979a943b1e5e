"""Automatic differentiation: jvp, linearize, transposition, vjp and grad of functions of arrays."""

from ._api import FlatFunction as FlatFunction
from ._api import jvp as jvp
from ._api import linear_transpose as linear_transpose
from ._api import linearize as linearize
from ._api import vjp as vjp
from ._grad import axis_sum as axis_sum
from ._grad import grad as grad
from ._grad import value_and_grad as value_and_grad
from ._inline_custom_rules import ruled_programs as ruled_programs
from ._jet_kinds import JetRule as JetRule
from ._jet_kinds import JetRuleKind as JetRuleKind
from ._jet_kinds import at_once as at_once
from ._jet_kinds import by_derivative as by_derivative
from ._jet_kinds import call_on_series as call_on_series
from ._jet_kinds import composed as composed
from ._jet_kinds import constant_series as constant_series
from ._jet_kinds import given_terms as given_terms
from ._jet_kinds import jet_table as jet_table
from ._jet_kinds import linear_given as linear_given
from ._jet_kinds import quotient as quotient
from ._jet_kinds import series_of as series_of
from ._jet_kinds import solution as solution
from ._jet_kinds import square_rule as square_rule
from ._jet_kinds import term_flags as term_flags
from ._jvp import JVPTrace as JVPTrace
from ._jvp import JVPTracer as JVPTracer
from ._jvp import jvp_flat as jvp_flat
from ._jvp import jvp_jaxpr as jvp_jaxpr
from ._linearize import Linearized as Linearized
from ._linearize import LinearizeTrace as LinearizeTrace
from ._linearize import Tape as Tape
from ._linearize import linearize_call as linearize_call
from ._linearize import linearize_flat as linearize_flat
from ._linearize import linearize_jaxpr as linearize_jaxpr
from ._linearize import rewrite_differentiated as rewrite_differentiated
from ._linearize import split_by_linearizing as split_by_linearizing
from ._linearize import split_call as split_call
from ._linearize import tape_to_jaxpr as tape_to_jaxpr
from ._partial_eval import Split as Split
from ._partial_eval import dependent as dependent
from ._partial_eval import program as program
from ._partial_eval import split_jaxpr as split_jaxpr
from ._partial_eval import with_zeros as with_zeros
from ._references import DidntWant as DidntWant
from ._references import DontWant as DontWant
from ._references import GradRef as GradRef
from ._references import GradValue as GradValue
from ._rules import TransposeRule as TransposeRule
from ._rules import UndefinedPrimal as UndefinedPrimal
from ._rules import bilinear as bilinear
from ._rules import is_undefined_primal as is_undefined_primal
from ._rules import jvp_rules as jvp_rules
from ._rules import linear as linear
from ._rules import linearize_rules as linearize_rules
from ._rules import not_linear as not_linear
from ._rules import per_operand as per_operand
from ._rules import per_operand_with_result as per_operand_with_result
from ._rules import split_rules as split_rules
from ._rules import transpose_rules as transpose_rules
from ._rules import zero_derivative as zero_derivative
from ._tangent import SymbolicZero as SymbolicZero
from ._tangent import Tangent as Tangent
from ._tangent import Zero as Zero
from ._tangent import add_tangents as add_tangents
from ._tangent import has_tangent as has_tangent
from ._tangent import instantiate as instantiate
from ._tangent import join_tangents as join_tangents
from ._tangent import scaled_tangent as scaled_tangent
from ._tangent import tangent_aval as tangent_aval
from ._tangent import tangent_sum as tangent_sum
from ._tangent import with_type as with_type
from ._tangent import zeros_of_type as zeros_of_type
from ._transpose import transpose_call as transpose_call
from ._transpose import transpose_flat as transpose_flat
from ._transpose import transpose_jaxpr as transpose_jaxpr

__all__ = [
    "DidntWant",
    "DontWant",
    "FlatFunction",
    "GradRef",
    "GradValue",
    "JVPTrace",
    "JVPTracer",
    "JetRule",
    "JetRuleKind",
    "LinearizeTrace",
    "Linearized",
    "Split",
    "SymbolicZero",
    "Tangent",
    "Tape",
    "TransposeRule",
    "UndefinedPrimal",
    "Zero",
    "add_tangents",
    "at_once",
    "axis_sum",
    "bilinear",
    "by_derivative",
    "call_on_series",
    "composed",
    "constant_series",
    "dependent",
    "given_terms",
    "grad",
    "has_tangent",
    "instantiate",
    "is_undefined_primal",
    "jet_table",
    "join_tangents",
    "jvp",
    "jvp_flat",
    "jvp_jaxpr",
    "jvp_rules",
    "linear",
    "linear_given",
    "linear_transpose",
    "linearize",
    "linearize_call",
    "linearize_flat",
    "linearize_jaxpr",
    "linearize_rules",
    "not_linear",
    "per_operand",
    "per_operand_with_result",
    "program",
    "quotient",
    "ruled_programs",
    "scaled_tangent",
    "series_of",
    "solution",
    "split_by_linearizing",
    "split_call",
    "split_jaxpr",
    "split_rules",
    "square_rule",
    "tangent_aval",
    "tangent_sum",
    "tape_to_jaxpr",
    "term_flags",
    "transpose_call",
    "transpose_flat",
    "transpose_jaxpr",
    "transpose_rules",
    "value_and_grad",
    "vjp",
    "with_type",
    "zero_derivative",
    "zeros_of_type",
]
