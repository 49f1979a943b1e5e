"""StableHLO text: writing it, and lowering jaxprs to it."""

from ._lowering import Lowering as Lowering
from ._lowering import Module as Module
from ._lowering import Value as Value
from ._lowering import extended_lower_rules as extended_lower_rules
from ._lowering import lower_jaxpr as lower_jaxpr
from ._lowering import lower_rules as lower_rules
from ._lowering import traced as traced
from ._types import dense as dense
from ._types import element_type as element_type
from ._types import int_array as int_array
from ._types import int_list as int_list
from ._types import scalar_literal as scalar_literal
from ._types import string as string
from ._types import tensor_type as tensor_type

__all__ = [
    "Lowering",
    "Module",
    "Value",
    "dense",
    "element_type",
    "extended_lower_rules",
    "int_array",
    "int_list",
    "lower_jaxpr",
    "lower_rules",
    "scalar_literal",
    "string",
    "tensor_type",
    "traced",
]
