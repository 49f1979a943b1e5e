"""Tools for tests: laws for primitives, gradient checks, and comparisons with real JAX."""

from ._check_grads import check_grads as check_grads
from ._compare import RTOL as RTOL
from ._compare import assert_same as assert_same
from ._compare import assert_same_jaxpr as assert_same_jaxpr
from ._compare import compare as compare
from ._compare import ricci_namespace as ricci_namespace
from ._compile_contract import CompileContractError as CompileContractError
from ._compile_contract import CompileContractWarning as CompileContractWarning
from ._compile_contract import compile_contract as compile_contract
from ._example import Example as Example
from ._examples import cases as cases
from ._examples import examples as examples
from ._law_batching import check_batched_derivatives as check_batched_derivatives
from ._law_batching import check_batching as check_batching
from ._law_batching import check_nested_batching as check_nested_batching
from ._law_derivatives import check_derivatives as check_derivatives
from ._law_derivatives import check_linear_transpose as check_linear_transpose
from ._law_derivatives import check_linearize as check_linearize
from ._law_derivatives import check_second_order as check_second_order
from ._law_programs import check_compiled as check_compiled
from ._law_programs import check_programs as check_programs
from ._law_programs import check_well_formed as check_well_formed
from ._law_types import Law as Law
from ._law_types import assert_results_close as assert_results_close
from ._law_types import check_abstract_type as check_abstract_type
from ._laws import LAWS as LAWS
from ._laws import check_laws as check_laws
from ._oracle import Leaf as Leaf
from ._oracle import Oracle as Oracle
from ._oracle import OracleError as OracleError
from ._oracle import Raised as Raised
from ._oracle import Request as Request
from ._oracle import Result as Result
from ._oracle import evaluate_with as evaluate_with
from ._oracle import find_interpreter as find_interpreter
from ._oracle import shared_oracle as shared_oracle
from ._variants import variants as variants

__all__ = [
    "LAWS",
    "RTOL",
    "CompileContractError",
    "CompileContractWarning",
    "Example",
    "Law",
    "Leaf",
    "Oracle",
    "OracleError",
    "Raised",
    "Request",
    "Result",
    "assert_results_close",
    "assert_same",
    "assert_same_jaxpr",
    "cases",
    "check_abstract_type",
    "check_batched_derivatives",
    "check_batching",
    "check_compiled",
    "check_derivatives",
    "check_grads",
    "check_laws",
    "check_linear_transpose",
    "check_linearize",
    "check_nested_batching",
    "check_programs",
    "check_second_order",
    "check_well_formed",
    "compare",
    "compile_contract",
    "evaluate_with",
    "examples",
    "find_interpreter",
    "ricci_namespace",
    "shared_oracle",
    "variants",
]
