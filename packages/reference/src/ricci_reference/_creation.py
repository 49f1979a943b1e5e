"""Rules of the primitives that create values, of tokens, and of composite calls."""

import numpy as np

from ricci_ir import Token

from ._elements import numpy_dtype
from ._jaxprs import run_jaxpr_numpy
from ._rule_type import Rule

creation_rules: dict[str, Rule] = {
    "after_all": lambda *tokens: Token(None),
    "composite": lambda *operands, call_jaxpr, **params: run_jaxpr_numpy(call_jaxpr, operands),
    "create_token": lambda: Token(None),
    "dce_sink": lambda x, **params: [],
    "empty": lambda *, shape, dtype, **params: np.zeros(shape, numpy_dtype(dtype)),
    "stage": lambda x: x,
}
