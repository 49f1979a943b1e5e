"""The laws that every primitive of Ricci must obey, gradient checks, and real JAX as an oracle."""

from ._check_grads import check_grads as check_grads
from ._compare import RTOL as RTOL
from ._compare import assert_same as assert_same
from ._compare import assert_same_jaxpr as assert_same_jaxpr
from ._compare import compare as compare
from ._compare import ricci_namespace as ricci_namespace
from ._example import Example as Example
from ._examples import examples as examples
from ._laws import assert_results_close as assert_results_close
from ._laws import check_abstract_type as check_abstract_type
from ._laws import check_batching as check_batching
from ._laws import check_derivatives as check_derivatives
from ._laws import check_programs as check_programs
from ._oracle import Leaf as Leaf
from ._oracle import Oracle as Oracle
from ._oracle import OracleError as OracleError
from ._oracle import Raised as Raised
from ._oracle import Request as Request
from ._oracle import Result as Result
from ._oracle import evaluate_with as evaluate_with
from ._oracle import find_interpreter as find_interpreter
from ._oracle import shared_oracle as shared_oracle

__all__ = [
    "RTOL",
    "Example",
    "Leaf",
    "Oracle",
    "OracleError",
    "Raised",
    "Request",
    "Result",
    "assert_results_close",
    "assert_same",
    "assert_same_jaxpr",
    "check_abstract_type",
    "check_batching",
    "check_derivatives",
    "check_grads",
    "check_programs",
    "compare",
    "evaluate_with",
    "examples",
    "find_interpreter",
    "ricci_namespace",
    "shared_oracle",
]
