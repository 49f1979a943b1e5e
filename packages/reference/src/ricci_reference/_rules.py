"""The table of rules: for each primitive, a function of NumPy arrays and its parameters.

A rule is called as ``rule(*operands, **params)`` and returns an array, or a sequence of them for
a primitive of several results, of exactly the primitive's abstract types.
"""

from collections.abc import Callable
from typing import Any

import ricci_lax  # noqa: F401  (defines the primitives)
from ricci_ir import Primitive, primitives

from ._elementwise import elementwise_rules
from ._indexing import indexing_rules
from ._reductions import reduction_rules
from ._sorting import sorting_rules
from ._special import special_rules
from ._structural import structural_rules
from ._windows import window_rules

_by_name: dict[str, Callable[..., Any]] = {
    **structural_rules,
    **elementwise_rules,
    **special_rules,
    **indexing_rules,
    **reduction_rules,
    **window_rules,
    **sorting_rules,
}

rules: dict[Primitive, Callable[..., Any]] = {
    primitives[name]: rule for name, rule in _by_name.items() if name in primitives
}
