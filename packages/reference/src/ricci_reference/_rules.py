"""The table of rules: for each primitive, a function of NumPy arrays and its parameters.

A rule is called as ``rule(*operands, **params)`` and returns an array, or a sequence of them for
a primitive of several results, of exactly the primitive's abstract types.
"""

from collections.abc import Callable
from typing import Any

import ricci_lax.linalg  # noqa: F401  (defines the primitives)
from ricci_ir import Primitive, exact_rules, primitives

from ._contractions import contraction_rules
from ._control_flow import control_flow_rules
from ._elementwise import elementwise_rules
from ._factorizations import factorization_rules
from ._fourier import fourier_rules
from ._indexing import indexing_rules
from ._making import making_rules
from ._nonsymmetric import nonsymmetric_rules
from ._random_bits import random_bit_rules
from ._reductions import reduction_rules
from ._sorting import sorting_rules
from ._special import special_rules
from ._spectral import spectral_rules
from ._structural import structural_rules
from ._windows import window_rules

_by_name: dict[str, Callable[..., Any]] = {
    **making_rules,
    **contraction_rules,
    **control_flow_rules,
    **structural_rules,
    **elementwise_rules,
    **special_rules,
    **fourier_rules,
    **random_bit_rules,
    **indexing_rules,
    **reduction_rules,
    **window_rules,
    **sorting_rules,
    **factorization_rules,
    **spectral_rules,
    **nonsymmetric_rules,
}

rules: dict[Primitive, Callable[..., Any]] = {
    **exact_rules,
    **{primitives[name]: rule for name, rule in _by_name.items() if name in primitives},
}
