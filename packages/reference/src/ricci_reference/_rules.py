"""The table of rules: for each primitive, a function of NumPy arrays and its parameters.

A rule is called as ``rule(*operands, **params)``. It returns an array, or a sequence of arrays for
a primitive with several results; shapes and dtypes are exactly those of the abstract evaluation.
This package holds the rules of ``lax``'s primitives that need more than one call of NumPy. Any
other primitive defines its rule by ``reference=`` in its block.
"""

from collections.abc import Callable
from typing import Any

import ricci_ir as ir
from ricci_stablehlo import lower_rules

from ._contractions import contraction_rules
from ._control_flow import control_flow_rules, creation_rules
from ._elementwise import elementwise_rules
from ._factorizations import factorization_rules
from ._fourier import fourier_rules
from ._indexing import indexing_rules
from ._random_bits import random_bit_rules
from ._reductions import reduction_rules, sorting_rules
from ._special import special_rules
from ._spectral import nonsymmetric_rules, spectral_rules
from ._structural import structural_rules
from ._widening import Rule, widened
from ._windows import window_rules

__all__ = ["missing_rule", "rule_for", "rules"]

_by_name: dict[str, Rule] = {
    **creation_rules,
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

rules: dict[ir.Primitive, Rule] = {}
"""The rules of the primitives that were evaluated so far."""


def rule_for(primitive: ir.Primitive) -> Rule | None:
    """The rule of a primitive: this package's, or the one in the primitive's block."""
    rule = rules.get(primitive)
    # Kept in the table, so that later look-ups find it at once.
    if rule is None and ir.primitives.get(primitive.name) is primitive:
        rule = _by_name.get(primitive.name)
        if rule is not None:
            rules[primitive] = rule
    if rule is None and (narrow := ir.reference_rules.get(primitive)) is not None:
        rule = rules[primitive] = widened(narrow)
    if rule is None and (exact := ir.exact_rules.get(primitive)) is not None:
        rule = rules[primitive] = exact
    return rule


def composition_of(primitive: ir.Primitive) -> Callable[..., Any] | None:
    """The function of arrays that a primitive is lowered as, or None."""
    return getattr(lower_rules.get(primitive), "function", None)


def missing_rule(primitive: ir.Primitive) -> str | None:
    """The reason why the reference backend cannot evaluate a primitive, or ``None`` if it can."""
    has_other_rule = any(
        primitive in rules
        for rules in (ir.program_rules, ir.host_rules, ir.eager_rules, ir.discharge_rules)
    )
    if has_other_rule or rule_for(primitive) is not None or composition_of(primitive) is not None:
        return None
    place = ir.defined_at(primitive)
    location = f" (defined at {place})" if place else ""
    # Tell whether another backend would help.
    lowering = lower_rules.get(primitive)
    compiled = lowering is not None and not isinstance(lowering, ir.unsupported)
    other = "ricci_xla has" if compiled else "neither has ricci_xla"
    return (
        f"the reference backend has no rule for the primitive {primitive.name!r}{location}; {other}"
        ". A rule is given in the primitive's block: reference=, a function of NumPy arrays and of "
        "the parameters."
    )
