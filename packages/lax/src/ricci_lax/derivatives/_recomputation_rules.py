"""Applying the recomputation rules of operations in a jaxpr that a checkpoint differentiates."""

from collections.abc import Sequence
from typing import Any

import ricci_ir as ir
from ricci_lax.checkpoint_policies import Policy
from ricci_lax.rules._saving import recomputation_rules


def with_recomputations(jaxpr: ir.Jaxpr, policy: Policy | None) -> ir.Jaxpr:
    """Apply the recomputation rules of a jaxpr's operations, and of those inside of these.

    Args:
      jaxpr: the jaxpr.
      policy: the policy of the checkpoint.

    Returns:
      A jaxpr of the same results, cached in the jaxpr; the jaxpr itself if there are no rules.
    """
    # Users' operations alone have such rules.
    if not ir.hi_values.in_use or not _has_rules(jaxpr):
        return jaxpr
    return jaxpr.derived(("recomputations", policy), lambda: _applied(jaxpr, policy))


def _has_rules(jaxpr: ir.Jaxpr) -> bool:
    return jaxpr.derived(
        "has recomputations",
        lambda: any(
            eqn.primitive in recomputation_rules
            or any(map(_has_rules, ir.jaxprs_in_params(eqn.params)))
            for eqn in jaxpr.eqns
        ),
    )


def _applied(jaxpr: ir.Jaxpr, policy: Policy | None) -> ir.Jaxpr:
    run = lambda *args: _run(jaxpr, policy, args)
    return ir.trace_to_jaxpr(run, jaxpr.in_avals, jaxpr.debug_info)


def _run(jaxpr: ir.Jaxpr, policy: Policy | None, args: tuple[ir.PyTree, ...]) -> list[ir.PyTree]:
    def apply(eqn: ir.JaxprEqn, operands: list[Any]) -> Sequence[Any] | None:
        rule = recomputation_rules.get(eqn.primitive)
        results = None if rule is None else rule(policy, *operands, **eqn.params)
        if results is not None or not any(map(_has_rules, ir.jaxprs_in_params(eqn.params))):
            return results
        params = {name: _in_value(value, policy) for name, value in eqn.params.items()}
        results = eqn.primitive.bind(*operands, **params)
        return results if eqn.primitive.multiple_results else [results]

    return ir.interpret(jaxpr, args, apply)


def _in_value(value: object, policy: Policy | None) -> object:
    if isinstance(value, ir.Jaxpr):
        return with_recomputations(value, policy)
    if type(value) is tuple:
        return tuple(_in_value(item, policy) for item in value)
    return value
