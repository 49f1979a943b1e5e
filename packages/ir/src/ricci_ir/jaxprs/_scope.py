"""Scope rules: the named axes and settings that an operation's jaxprs are traced under.

An operation such as ``shard_map`` binds named axes for its jaxpr. Whoever traces that jaxpr again,
or derives another from it, does so in the operation's scope. Most operations have none.
"""

import math
from collections.abc import Callable

from ricci_ir.traces._named_axes import axis_sizes
from ricci_ir.traces._primitive import RuleTable, rule_table

from ._jaxpr import JaxprEqn

__all__ = ["call_in_scope", "copies", "scope_rules"]

# ``rule(params, build)`` returns ``build()``, called in the scope.
scope_rules: RuleTable = rule_table("scope", required=False)


def call_in_scope[T](eqn: JaxprEqn, build: Callable[[], T]) -> T:
    """Call a function in the scope of an equation's jaxprs."""
    rule = scope_rules.get(eqn.primitive)
    return build() if rule is None else rule(eqn.params, build)


def copies(eqn: JaxprEqn) -> int:
    """Return the number of times that an equation's jaxprs run at once: on how many devices."""
    if eqn.primitive not in scope_rules:
        return 1
    size = lambda: math.prod(axis_sizes.value.values())
    return call_in_scope(eqn, size) // size()
