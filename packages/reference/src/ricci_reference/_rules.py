"""The table of rules: for each primitive, a function of NumPy arrays and its parameters.

A rule is called as ``rule(*operands, **params)`` and returns an array, or a sequence of them for
a primitive of several results, of exactly the primitive's abstract types. Those of ``lax`` that
take more than a call of NumPy are in this package; any block may bring its own with ``reference=``.
"""

from collections.abc import Callable
from typing import Any

import ricci_lax.linalg  # noqa: F401  (defines the primitives)
from ricci_ir import (
    Primitive,
    defined_at,
    exact_rules,
    host_rules,
    primitives,
    program_rules,
    reference_rules,
)

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
from ._widening import widened
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


def rule_for(primitive: Primitive) -> Callable[..., Any] | None:
    """The rule of a primitive: this package's, or the one that its block brings."""
    rule = rules.get(primitive)
    if rule is None and (given := reference_rules.get(primitive)) is not None:
        rule = rules[primitive] = widened(given)
    if rule is None and (given := exact_rules.get(primitive)) is not None:
        rule = rules[primitive] = given
    return rule


def missing_rule(primitive: Primitive) -> str | None:
    """Why the reference backend cannot compute a primitive and what to do; ``None`` if it can."""
    known = primitive.impl is not None or primitive in program_rules or primitive in host_rules
    if known or rule_for(primitive) is not None:
        return None
    place = defined_at(primitive)
    where = f" (defined at {place})" if place else ""
    return (
        f"the reference backend has no rule for the primitive {primitive.name!r}{where}, and it "
        "stands for no program. Give one in its block: reference=, a function of NumPy arrays and "
        "of the parameters. Or compute it with ricci_xla."
    )
