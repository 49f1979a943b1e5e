"""Tools for tests: laws for primitives, gradient checks, and comparisons with real JAX."""

from ricci_ir import export_names as _export_names

from ._check_grads import *
from ._compile_contract import *
from .examples._example import Example as Example
from .examples._rules import ABOVE_ONE as ABOVE_ONE
from .examples._rules import ANY as ANY
from .examples._rules import FRACTION as FRACTION
from .examples._rules import POSITIVE as POSITIVE
from .examples._rules import UNIT as UNIT
from .examples._rules import WHOLE as WHOLE
from .examples._rules import Domain as Domain
from .examples._rules import OverAxes as OverAxes
from .examples._rules import Samples as Samples
from .examples._rules import Topic as Topic
from .examples._rules import example_rules as example_rules
from .examples._rules import exempt_rules as exempt_rules
from .examples._rules import samples as samples
from .examples._rules import without_examples as without_examples
from .examples._slopes import SLOPES as SLOPES
from .examples._slopes import WITHOUT_SLOPES as WITHOUT_SLOPES
from .examples._slopes import Slope as Slope
from .examples._table import cases as cases
from .examples._table import examples as examples
from .examples._variants import variants as variants
from .laws._batching import check_batched_derivatives as check_batched_derivatives
from .laws._batching import check_batching as check_batching
from .laws._batching import check_nested_batching as check_nested_batching
from .laws._derivatives import check_derivatives as check_derivatives
from .laws._derivatives import check_linear_transpose as check_linear_transpose
from .laws._derivatives import check_linearize as check_linearize
from .laws._derivatives import check_second_order as check_second_order
from .laws._jaxprs import check_compiled as check_compiled
from .laws._jaxprs import check_programs as check_programs
from .laws._jaxprs import check_well_formed as check_well_formed
from .laws._jets import check_jets as check_jets
from .laws._laws import LAWS as LAWS
from .laws._laws import check_laws as check_laws
from .laws._references import check_references as check_references
from .laws._slopes import check_slope as check_slope
from .laws._slopes import slope_points as slope_points
from .laws._types import Law as Law
from .laws._types import assert_results_close as assert_results_close
from .laws._types import check_abstract_type as check_abstract_type
from .oracle._client import Leaf as Leaf
from .oracle._client import Oracle as Oracle
from .oracle._client import OracleError as OracleError
from .oracle._client import Raised as Raised
from .oracle._client import Request as Request
from .oracle._client import Result as Result
from .oracle._client import evaluate_with as evaluate_with
from .oracle._client import find_interpreter as find_interpreter
from .oracle._client import shared_oracle as shared_oracle
from .oracle._compare import RTOL as RTOL
from .oracle._compare import assert_same as assert_same
from .oracle._compare import assert_same_jaxpr as assert_same_jaxpr
from .oracle._compare import compare as compare
from .oracle._compare import ricci_namespace as ricci_namespace

_export_names(globals(), "examples")
